
"use strict";
(() => {
  const { head, items, fold } = JSON.parse(document.getElementById("data").textContent);
  const key = `mteb-de-audit:${head.sample}`;
  const at = (id) => document.getElementById(id);
  const buttons = [...document.querySelectorAll("[data-verdict]")];
  const words = (verdict) => verdict.replace("_", " ");
  const blank = { auditor: "", place: 0, advance: true, highlight: false, verdicts: {} };
  let state = restored();
  let unfolded = false;

  function restored() {
    try {
      const kept = JSON.parse(localStorage.getItem(key));
      const sound = kept && typeof kept.verdicts === "object" && Number.isInteger(kept.place);
      return sound ? { ...blank, ...kept, place: Math.min(Math.max(kept.place, 0), items.length - 1) } : { ...blank };
    } catch {
      return { ...blank };
    }
  }

  function save() {
    try {
      localStorage.setItem(key, JSON.stringify(state));
      at("warning").hidden = true;
    } catch {
      warn("This browser does not keep anything: download your verdicts before you leave the page.");
    }
  }

  function warn(text) {
    at("warning").textContent = text;
    at("warning").hidden = false;
  }

  const entry = (item) => state.verdicts[item.item] || {};
  const judged = () => items.filter((item) => entry(item).verdict).length;

  function show({ focus = true } = {}) {
    const item = items[state.place];
    const { verdict, note = "" } = entry(item);
    at("position").textContent = `Item ${state.place + 1} of ${items.length}`;
    at("state").textContent = verdict ? `· ${words(verdict)}` : "";
    at("query").textContent = item.query;
    at("title").textContent = item.title;
    at("title").hidden = !item.title;
    showText(item);
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.verdict === verdict));
    at("told").textContent = verdict ? item.told : "";
    if (at("note") !== document.activeElement || at("note").value !== note) at("note").value = note;
    at("previous").disabled = state.place === 0;
    at("next").disabled = state.place === items.length - 1;
    at("bar").value = judged();
    at("judged").textContent = `${judged()} of ${items.length} judged`;
    if (focus) at("query").focus({ preventScroll: false });
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
    showList(false);
    save();
    show(options);
  }

  function goToOpen() {
    const order = items.map((_, step) => (state.place + 1 + step) % items.length);
    const open = order.find((place) => !entry(items[place]).verdict);
    if (open === undefined) say("Every item is judged. Download your verdicts.");
    else go(open);
  }

  function judge(verdict) {
    const place = state.place;
    const item = items[place];
    state.verdicts[item.item] = { ...entry(item), verdict, at: new Date().toISOString() };
    save();
    say(`Item ${place + 1}: ${words(verdict)}. ${item.told}`);
    if (judged() === items.length) say("Every item is judged. Download your verdicts.");
    if (state.advance && place < items.length - 1) go(place + 1);
    else show({ focus: false });
  }

  function takeBack() {
    const item = items[state.place];
    if (!entry(item).verdict) return;
    state.verdicts[item.item] = { note: entry(item).note };
    save();
    say(`Item ${state.place + 1}: taken back.`);
    show({ focus: false });
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
    const verdict = entry(item).verdict;
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
    const auditor = state.auditor.normalize("NFC").trim().replace(/\s+/g, " ");
    if (!auditor) {
      say("Type your name first: verdicts are told apart by auditor.");
      at("auditor").focus();
      return;
    }
    const given = items.filter((item) => entry(item).verdict);
    if (!given.length) {
      say("Nothing is judged yet.");
      return;
    }
    const lines = given.map((item) => JSON.stringify({
      schema_version: 1, config: head.config, build: head.build, sample: head.sample, item: item.item,
      "query-id": item["query-id"], "corpus-id": item["corpus-id"], verdict: entry(item).verdict,
      note: entry(item).note || "", auditor, at: entry(item).at,
    }) + "\n");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
    const name = auditor.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-");
    link.download = `${head.config}-${head.sample}-${name}.verdicts.jsonl`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    say(`${given.length} verdicts in ${link.download}. Next: mteb-de audit import ${link.download}`);
  }

  const shortcuts = {
    ...Object.fromEntries(buttons.map((button, place) => [String(place + 1), () => judge(button.dataset.verdict)])),
    0: takeBack,
    j: () => go(state.place + 1),
    k: () => go(state.place - 1),
    u: goToOpen,
    n: () => at("note").focus(),
    h: () => at("highlight").click(),
    f: () => { if (!at("unfold").hidden) at("unfold").click(); },
    l: () => at("show-list").click(),
    "?": showHelp,
  };
  const inList = new Set(["l", "?"]);

  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("textarea, input[type=text]");
    if (typing && event.key === "Escape") at("query").focus();
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
    state.verdicts[item.item] = { ...entry(item), note: at("note").value };
    save();
  });
  at("auditor").addEventListener("input", () => {
    state.auditor = at("auditor").value;
    save();
  });
  at("advance").addEventListener("change", () => {
    state.advance = at("advance").checked;
    save();
  });

  at("auditor").value = state.auditor;
  at("advance").checked = state.advance;
  if (items.length) show({ focus: false });
  else warn("This sample holds no item.");
})();
