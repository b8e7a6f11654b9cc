
"use strict";
(() => {
  const { head, items, fold } = JSON.parse(document.getElementById("data").textContent);
  const shelf = `mteb-de-audit:${head.sample}`;
  const at = (id) => document.getElementById(id);
  const buttons = [...document.querySelectorAll("[data-verdict]")];
  const known = new Set(buttons.map((button) => button.dataset.verdict));
  const aheadAtMost = 60000; // milliseconds
  const words = (verdict) => verdict.replace("_", " ");
  const states = new Map(); // of all who judged since the page was opened, for a browser that keeps nothing
  const blank = { place: 0, advance: true, highlight: false, verdicts: {} };
  let auditor = "";
  let state = null; // of the auditor who judges; null until there is a name
  let unfolded = false;
  let just = null; // the item just judged, while the next one is shown because of that
  let returnTo = null; // where to go on after a note to the item just judged

  // State belongs to a sample and an auditor: nobody sees, or downloads, what another judged.
  const key = () => `${shelf}:${auditor.toLowerCase()}`;

  function restored() {
    try {
      const kept = JSON.parse(localStorage.getItem(key()));
      const sound = kept && kept.verdicts && typeof kept.verdicts === "object" && Number.isInteger(kept.place);
      if (!sound) return { ...blank, verdicts: {} };
      const verdicts = Object.fromEntries(Object.entries(kept.verdicts).filter(([, one]) => isEvent(one)));
      return { ...blank, ...kept, verdicts, place: Math.min(Math.max(kept.place, 0), items.length - 1) };
    } catch {
      return { ...blank, verdicts: {} };
    }
  }

  function isEvent(one) {
    return one && typeof one.note === "string" && !Number.isNaN(Date.parse(one.at))
      && (known.has(one.verdict) || one.verdict === "withdrawn" || one.verdict === "noted");
  }

  function save() {
    try {
      localStorage.setItem(key(), JSON.stringify(state));
      at("warning").hidden = true;
    } catch {
      warn("This browser does not keep anything: download your verdicts before you leave the page.");
    }
  }

  // The tab remembers who judges, so that a reload goes on; whoever opens the page anew is asked.
  function remembered() {
    try {
      return sessionStorage.getItem(shelf) || "";
    } catch {
      return "";
    }
  }

  function remember(name) {
    try {
      sessionStorage.setItem(shelf, name);
    } catch {
      // The name is asked for again after a reload.
    }
  }

  function begin(typed) {
    const name = typed.normalize("NFC").trim().replace(/\s+/g, " ");
    const most = at("auditor").maxLength;
    if (!name || [...name].length > most || /[\p{C}\p{Zl}\p{Zp}]/u.test(name)) {
      say(`Type your name first, in up to ${most} printable characters: verdicts are told apart by auditor.`);
      at("auditor").focus();
      return;
    }
    if (/\S@\S/.test(name)) {
      say("Type a name and no e-mail address: it is published with your verdicts.");
      at("auditor").focus();
      return;
    }
    auditor = name;
    state = states.get(key()) || restored();
    states.set(key(), state);
    remember(name);
    at("who").textContent = name;
    at("advance").checked = state.advance;
    showStarted(true);
    const kept = judged();
    say(kept ? `Kept in this browser for ${name}: ${counted(kept)}. Not you? Start as another auditor, below.` : "");
    go(state.place);
  }

  function startAsAnother() {
    state = null;
    auditor = "";
    just = null;
    remember("");
    at("auditor").value = "";
    say("");
    showStarted(false);
    at("auditor").focus();
  }

  function showStarted(started) {
    at("start").hidden = started;
    for (const id of ["one", "progress", "judging"]) at(id).hidden = !started;
    for (const id of ["show-list", "download"]) at(id).disabled = !started;
    if (started) return;
    at("list").hidden = true;
    at("just").hidden = true;
    at("items").replaceChildren();
  }

  function warn(text) {
    at("warning").textContent = text;
    at("warning").hidden = false;
  }

  // What was last done with an item: a verdict, "withdrawn", or "noted" where a note came before any verdict.
  const entry = (item) => state.verdicts[item.item] || { verdict: "", note: "", at: "" };
  const verdictOn = (item) => (known.has(entry(item).verdict) ? entry(item).verdict : "");
  const judged = () => items.filter(verdictOn).length;
  const counted = (count) => `${count} ${count === 1 ? "verdict" : "verdicts"}`;

  function record(item, verdict, note) {
    // Later than what it replaces: the last event on an item holds.
    const moment = Math.max(Date.now(), (Date.parse(entry(item).at) || 0) + 1);
    state.verdicts[item.item] = { verdict, note, at: new Date(moment).toISOString() };
    save();
  }

  // The clock was ahead when these were recorded: they could never be taken back, and no import takes them.
  function moveToPresent() {
    const early = Object.values(state.verdicts).filter((one) => Date.parse(one.at) > Date.now() + aheadAtMost);
    for (const one of early) one.at = new Date().toISOString();
    if (early.length) save();
  }

  function show({ focus = true } = {}) {
    const item = items[state.place];
    const verdict = verdictOn(item);
    const { note } = entry(item);
    at("position").textContent = `Item ${state.place + 1} of ${items.length}`;
    at("state").textContent = verdict ? `· ${words(verdict)}` : "";
    at("query").textContent = item.query;
    at("title").textContent = item.title;
    at("title").hidden = !item.title;
    showText(item);
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.verdict === verdict));
    at("told").textContent = verdict ? item.told : "";
    at("take-back").hidden = !verdict;
    showJust();
    at("note-label").textContent = `Note on item ${state.place + 1}`;
    if (at("note") !== document.activeElement || at("note").value !== note) at("note").value = note;
    at("previous").disabled = state.place === 0;
    at("next").disabled = state.place === items.length - 1;
    at("bar").value = judged();
    at("judged").textContent = `${judged()} of ${items.length} judged`;
    if (focus) at("query").focus({ preventScroll: false });
  }

  function showJust() {
    at("just").hidden = just === null;
    at("note-key").hidden = just !== null;
  }

  function showText(item) {
    const long = item.text.length > fold;
    const text = long && !unfolded ? item.text.slice(0, fold).replace(/[\uD800-\uDBFF]$/, "") + " …" : item.text;
    at("text").replaceChildren(...(state.highlight ? highlighted(text, item.query) : [text]));
    if (item.cut && (unfolded || !long)) at("text").append(` … (${item.cut.toLocaleString("en")} more characters)`);
    at("unfold").hidden = !long;
    at("unfold").textContent = unfolded ? "Fold" : `Show all ${item.text.length.toLocaleString("en")} characters`;
    at("unfold").setAttribute("aria-expanded", String(unfolded));
    at("highlight").setAttribute("aria-pressed", String(state.highlight));
  }

  function highlighted(text, query) {
    const found = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}]{3,40}/gu) || [])].slice(0, 40);
    if (!found.length) return [text];
    found.sort((one, other) => other.length - one.length);
    return text.split(new RegExp(`(${found.join("|")})`, "giu")).map((part, place) => {
      if (place % 2 === 0) return part;
      const mark = document.createElement("mark");
      mark.textContent = part;
      return mark;
    });
  }

  function go(place, options) {
    if (place < 0 || place >= items.length) return;
    state.place = place;
    unfolded = false;
    just = null;
    returnTo = null;
    showList(false);
    save();
    show(options);
  }

  function goToOpen() {
    const order = items.map((_, step) => (state.place + 1 + step) % items.length);
    const open = order.find((place) => !verdictOn(items[place]));
    if (open === undefined) say("Every item is judged. Download your verdicts.");
    else go(open);
  }

  function judge(verdict) {
    const place = state.place;
    const item = items[place];
    record(item, verdict, entry(item).note);
    say(`Item ${place + 1}: ${words(verdict)}. ${item.told}`);
    if (judged() === items.length) say("Every item is judged. Download your verdicts.");
    if (!state.advance || place === items.length - 1) {
      show({ focus: false });
      return;
    }
    go(place + 1);
    just = place;
    showJust();
  }

  function takeBack() {
    if (just !== null) go(just);
    const item = items[state.place];
    if (!verdictOn(item)) {
      say(`Item ${state.place + 1} has no verdict to take back.`);
      return;
    }
    record(item, "withdrawn", entry(item).note);
    say(`Item ${state.place + 1}: taken back.`);
    show();
  }

  function writeNote() {
    if (just !== null) {
      const open = state.place;
      go(just);
      returnTo = open;
    }
    at("note").focus();
  }

  function leaveNote() {
    if (returnTo === null) at("query").focus();
    else go(returnTo);
  }

  function say(text) {
    at("said").textContent = text;
  }

  function showList(wanted) {
    at("list").hidden = !wanted;
    at("one").hidden = wanted;
    at("show-list").setAttribute("aria-expanded", String(wanted));
    if (!wanted) return;
    at("items").replaceChildren(...items.map(row));
    at("items").children[state.place].firstChild.focus();
  }

  function showHelp() {
    at("help").showModal();
    at("help-title").focus();
    at("help").scrollTop = 0;
  }

  function row(item, place) {
    const button = document.createElement("button");
    button.type = "button";
    const verdict = verdictOn(item);
    const parts = { number: String(place + 1), excerpt: item.query.slice(0, 200), verdict: verdict ? words(verdict) : "open" };
    for (const [name, text] of Object.entries(parts)) {
      const span = document.createElement("span");
      span.className = name;
      span.textContent = text;
      button.append(span);
    }
    if (place === state.place) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => go(place));
    const line = document.createElement("li");
    line.append(button);
    return line;
  }

  function download() {
    moveToPresent();
    const done = items.filter((item) => entry(item).at);
    if (!done.length) {
      say("Nothing is judged yet.");
      return;
    }
    const lines = done.map((item) => JSON.stringify({
      schema_version: 1, config: head.config, build: head.build, sample: head.sample, item: item.item,
      "query-id": item["query-id"], "corpus-id": item["corpus-id"], verdict: entry(item).verdict,
      note: entry(item).note, auditor, at: entry(item).at,
    }) + "\n");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
    const name = auditor.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-");
    link.download = `${head.config}-${head.sample}-${name}.verdicts.jsonl`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    const other = (verdict) => done.filter((item) => entry(item).verdict === verdict).length;
    const withdrawn = other("withdrawn") ? `, ${other("withdrawn")} taken back` : "";
    const noted = other("noted") ? `, ${other("noted")} noted without a verdict` : "";
    const file = link.download;
    say(`${counted(judged())}${withdrawn}${noted} in ${file}. Next: mteb-de audit import ${file}`);
  }

  const shortcuts = {
    ...Object.fromEntries(buttons.map((button, place) => [String(place + 1), () => judge(button.dataset.verdict)])),
    0: takeBack,
    j: () => go(state.place + 1),
    k: () => go(state.place - 1),
    u: goToOpen,
    n: writeNote,
    h: () => at("highlight").click(),
    f: () => { if (!at("unfold").hidden) at("unfold").click(); },
    l: () => at("show-list").click(),
    "?": showHelp,
  };
  const inList = new Set(["l", "?"]);

  document.addEventListener("keydown", (event) => {
    if (event.target === at("auditor") && event.key === "Enter" && !event.isComposing) begin(at("auditor").value);
    if (!state) return;
    const typing = event.target.matches("textarea, input[type=text]");
    if (event.target === at("note") && event.key === "Escape") leaveNote();
    if (typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat || at("help").open) return;
    if (!at("list").hidden) {
      moveInList(event);
      if (!inList.has(event.key)) return;
    }
    const action = Object.hasOwn(shortcuts, event.key) ? shortcuts[event.key] : undefined;
    if (!action) return;
    event.preventDefault();
    action();
  });

  function moveInList(event) {
    if (event.key === "Escape") go(state.place);
    const step = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    const line = document.activeElement.closest("li");
    const next = step && line ? at("items").children[[...at("items").children].indexOf(line) + step] : undefined;
    if (!next) return;
    event.preventDefault();
    next.firstChild.focus();
  }

  for (const button of buttons) button.addEventListener("click", () => judge(button.dataset.verdict));
  at("previous").addEventListener("click", () => go(state.place - 1));
  at("next").addEventListener("click", () => go(state.place + 1));
  at("open").addEventListener("click", goToOpen);
  at("download").addEventListener("click", download);
  at("show-help").addEventListener("click", showHelp);
  at("close-help").addEventListener("click", () => at("help").close());
  at("show-list").addEventListener("click", () => (at("list").hidden ? showList(true) : go(state.place)));
  at("highlight").addEventListener("click", () => {
    state.highlight = !state.highlight;
    save();
    showText(items[state.place]);
  });
  at("unfold").addEventListener("click", () => {
    unfolded = !unfolded;
    showText(items[state.place]);
  });
  at("note").addEventListener("input", () => {
    const item = items[state.place];
    record(item, entry(item).verdict || "noted", at("note").value);
  });
  at("begin").addEventListener("click", () => begin(at("auditor").value));
  at("switch").addEventListener("click", startAsAnother);
  at("add-note").addEventListener("click", writeNote);
  at("undo").addEventListener("click", takeBack);
  at("take-back").addEventListener("click", takeBack);
  at("advance").addEventListener("change", () => {
    state.advance = at("advance").checked;
    save();
  });

  if (!items.length) warn("This sample holds no item.");
  else if (remembered()) begin(remembered());
  else at("auditor").focus();
})();
