"""Import verdicts into the history, and derive the decisions that the next build applies."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import polars as pl
from pydantic import Field

from builders import registry
from builders.audit import history
from builders.audit.history import Audit, Item, Judgement, NoVerdict, PairKind, Verdict
from builders.audit.sheet import read_csv
from builders.built import Built, read_all
from builders.errors import Refused, UsageError
from builders.lock.committed import FOLDER
from builders.lock.lock import Frozen
from builders.personal import scrub
from builders.prepare.decisions import Decision, Reason, decisions_path, read_decisions, write_decisions
from builders.printable import counted, listed, printable
from builders.spec import CONTACT, Retrieval


class _Imported(Frozen):
    """The result of an import for one sample; without the number of its items it is what ``--json`` prints.

    Of the lines `read`, the history did not have those that are `new`; of these, `withdrawn` take a verdict
    back. Items `judged` have a verdict that holds, and `auditors` gave those. `decisions` is the number of
    decisions of the config now; `decisions_path` is None where they were not written.
    """

    config: str
    sample: str
    items: int = Field(exclude=True)
    read: int
    new: int
    withdrawn: int
    judged: int
    auditors: tuple[str, ...]
    history: Path
    decisions: int
    decisions_path: Path | None
    remarks: tuple[str, ...]


class _Line(NamedTuple):
    """A line of an imported file: its place, and whether it holds the time at which it was written."""

    where: str
    judgement: Judgement
    dated: bool


def import_verdicts(
    paths: Sequence[Path],
    *,
    dist: Path,
    notes: Path,
    locks: Path | None = None,
    auditor: str = "",
    replace: bool = False,
) -> list[_Imported]:
    """Add the verdicts of files to the history, all of them or none, and bring the decisions up to date.

    Files are those of the page, or CSVs with verdicts typed in by `auditor`, whose rows replace other
    verdicts of that auditor where `replace` is given. The history lies under the ``audits`` of `notes`, the
    decisions in `locks`, by default beside the configs; there, none of a build from stand-ins is written.
    """
    built = {one.spec.name: one for one in read_all(dist, registry.load) if isinstance(one.spec, Retrieval)}
    lines = _lines(paths, built, dist, notes, auditor)
    histories = {
        config: {audit[0].head.sample: audit for audit in history.audits_of(notes, config)}
        for config, _ in lines
    }
    kept = {config: read_decisions(decisions_path(locks or FOLDER, config)) for config in histories}
    added = {}
    for (config, name), read in lines.items():
        folder = history.sample_folder(dist, config)
        audit = histories[config].get(name) or (history.find_sample(name, [folder]), [])
        added[config, name] = _new(audit, read, replace=replace)
        histories[config][name] = audit[0], [*audit[1], *added[config, name]]
    for config, name in added:  # from here on it is written: all of it is sound
        sample, judgements = histories[config][name]
        history.write_sample(history.kept_folder(notes, config), sample)
        history.write_judgements(history.verdicts_path(notes, sample), judgements)
    decided = {
        config: _decide(built[config], list(audits.values()), kept[config], locks)
        for config, audits in histories.items()
    }
    imported = []
    for config, name in sorted(added, key=lambda key: key[::-1]):
        sample, judgements = histories[config][name]
        new, holding = added[config, name], [one for one, _ in history.standing(judgements)]
        decisions, path, remarks = decided[config]
        imported.append(
            _Imported(
                config=config,
                sample=name,
                items=len(sample.items),
                read=len(lines[config, name]),
                new=len(new),
                withdrawn=sum(one.verdict is NoVerdict.WITHDRAWN for one in new),
                judged=len({one.item for one in holding}),
                auditors=tuple(sorted({one.who: one.auditor for one in holding}.values())),
                history=history.verdicts_path(notes, sample),
                decisions=decisions,
                decisions_path=path,
                remarks=remarks,
            )
        )
    return imported


def _lines(
    paths: Sequence[Path], built: Mapping[str, Built], dist: Path, notes: Path, auditor: str
) -> dict[tuple[str, str], list[_Line]]:
    """Read the lines of files by config and sample; all are verdicts of what is built now."""
    builds = {name: one.rows_id for name, one in built.items()}  # reads all tables: once
    folders = [history.sample_folder(dist, name) for name in built]
    folders += [history.kept_folder(notes, name) for name in built]
    lines: defaultdict[tuple[str, str], list[_Line]] = defaultdict(list)
    for path in paths:
        for line in _read(path, folders, auditor):
            config, build = line.judgement.config, line.judgement.build
            if config not in builds:
                raise UsageError(
                    f"{line.where}: nothing was built of {config[:60]!r} there",
                    hint="Pass the folder that was audited with --dist.",
                )
            if build != builds[config]:
                raise Refused(
                    f"{line.where}: the verdict is of build {build}, and {config} is {builds[config]} now",
                    hint="Import into the build that was audited, or draw a new sample: rows have changed.",
                )
            lines[config, line.judgement.sample].append(line)
    return lines


def _read(path: Path, folders: Sequence[Path], auditor: str) -> list[_Line]:
    dated = path.suffix.lower() != ".csv"
    if dated:
        judged = history.read_judgements(path)
    elif not auditor:
        raise UsageError(f"{path}: a CSV does not say who judged", hint="Pass --auditor NAME.")
    else:
        judged = read_csv(path, folders, auditor)
    if not judged:
        raise UsageError(f"{path}: no verdict in it", hint="Judge some items first, then download again.")
    return [_Line(f"{path}, line {number}", one, dated) for number, one in judged]


def _require_item(line: _Line, items: Mapping[str, Item]) -> None:
    one, hint = line.judgement, "The file was edited: download it again from the page."
    item = items.get(one.item)
    if item is None:
        raise UsageError(f"{line.where}: item {one.item} is not in the sample {one.sample}", hint=hint)
    if (item.query_id, item.passage_id) != (one.query_id, one.passage_id):
        ids = printable(f"{one.query_id[:60]}, {one.passage_id[:60]}")
        pair = f"the pair {item.query_id}, {item.passage_id}"
        raise UsageError(f"{line.where}: item {one.item} is {pair}, and the line says {ids}", hint=hint)


def _scrubbed(lines: Sequence[_Line]) -> list[_Line]:
    """Replace contact data in notes, which are going to be committed; a placeholder may be longer than it."""
    given = pl.Series([line.judgement.note for line in lines], dtype=pl.String)
    notes = (" ".join(note.split())[: history.NOTE_LENGTH] for note in scrub(given, CONTACT).texts)
    return [
        line._replace(judgement=line.judgement.model_copy(update={"note": note}))
        for line, note in zip(lines, notes, strict=True)
    ]


def _new(audit: Audit, read: Sequence[_Line], *, replace: bool) -> list[Judgement]:
    """Return the lines of a sample that its history does not have, with scrubbed notes.

    A CSV does not hold when its verdicts were given, and a copy of it bears another time: a row of it is new
    only where the last verdict of its auditor on the item is another, and then it needs `replace`.
    """
    sample, before = audit
    items = {item.item: item for item in sample.items}
    for line in read:
        _require_item(line, items)
    lines = _scrubbed(read)
    _refuse_equal_times(before, lines)
    last = {_subject(one): one for one in sorted(before, key=lambda one: one.at)}
    new: dict[Judgement, str] = {}
    replaced = []
    for where, one, dated in sorted(lines, key=lambda line: (not line.dated, line.judgement.at)):
        latest = last.get(_subject(one))
        if not dated and latest is not None:
            if (latest.verdict, latest.note) == (one.verdict, one.note):
                continue
            if latest.verdict != one.verdict and latest.at <= one.at:
                replaced.append(f"{where}: {one.item} {latest.verdict.words} → {one.verdict.words}")
        new.setdefault(one, where)
        if latest is None or latest.at <= one.at:
            last[_subject(one)] = one
    if replaced and not replace:
        raise Refused(
            f"{counted(len(replaced), 'row')} would replace verdicts of the auditor:\n{listed(replaced)}",
            hint="An old copy of a CSV brings back what was changed since. If this is what holds now, pass "
            "--replace.",
        )
    for one in before:
        new.pop(one, None)
    _refuse_copied(before, new)
    return list(new)


def _subject(one: Judgement) -> tuple[str, str, bool]:
    return one.item, one.who, one.verdict is NoVerdict.NOTED


def _refuse_equal_times(before: Sequence[Judgement], lines: Sequence[_Line]) -> None:
    """Refuse a line whose auditor gave the item another verdict at the same moment: neither is the last."""
    kept = [_Line("the history", one, dated=True) for one in before]
    first: dict[tuple[str, str, datetime], _Line] = {}
    for line in (*kept, *lines):
        one = line.judgement
        if one.verdict is NoVerdict.NOTED:
            continue
        other = first.setdefault((one.item, one.who, one.at), line)
        if other.judgement.verdict != one.verdict:
            raise UsageError(
                f"{line.where}: {one.auditor} finds item {one.item} {one.verdict.words}, and "
                f"{other.judgement.verdict.words} at the same moment ({other.where})",
                hint="Leave out the line that does not hold.",
            )


def _refuse_copied(before: Sequence[Judgement], new: Mapping[Judgement, str]) -> None:
    """Refuse lines that bear the time of another auditor's on the item: one person's work under two names."""
    names: defaultdict[tuple[str, datetime], dict[str, str]] = defaultdict(dict)
    for one in (*before, *new):
        names[_moment(one)].setdefault(one.who, one.auditor)
    copied = [one for one in new if next(iter(names[_moment(one)])) != one.who]
    if copied:
        both = sorted({name for one in copied for name in names[_moment(one)].values()})
        items = sorted({one.item for one in copied})
        more = f" and {len(items) - 3} more" if len(items) > 3 else ""
        raise Refused(
            f"{new[copied[0]]}: verdicts of {' and '.join(both)} on the same items bear the same times, to "
            f"the millisecond ({', '.join(items[:3])}{more})",
            hint="These are one person's verdicts under two names. Let everyone judge under their own name: "
            "Start as another auditor, on the page. CSVs that were copied together: save one of them again.",
        )


def _moment(one: Judgement) -> tuple[str, datetime]:
    return one.item, one.at.replace(microsecond=one.at.microsecond // 1000 * 1000)


def _decide(
    built: Built, audits: Sequence[Audit], kept: Sequence[Decision], locks: Path | None
) -> tuple[int, Path | None, tuple[str, ...]]:
    """Write the decisions of a config; return their number, their file where it was written, and remarks."""
    name, stand_ins = built.spec.name, built.stand_ins
    counting = audits if locks or stand_ins else of_real_builds(audits)
    decisions = merged(kept, decide(counting, registry.load_retrieval(name).audit.auditors))
    if stand_ins and locks is None:
        remark = f"decisions not written: {stand_ins[0]}; pass --locks FOLDER to try them"
        return len(decisions), None, (remark,)
    path = decisions_path(locks or FOLDER, name)
    if decisions or path.exists():
        write_decisions(path, decisions)
    return len(decisions), path if path.exists() else None, ()


def of_real_builds(audits: Iterable[Audit]) -> list[Audit]:
    """Return the audits whose decisions may get beside the configs: those of builds from no stand-in."""
    return [audit for audit in audits if not audit[0].head.stand_in]


_Votes = dict[str, tuple[datetime, Verdict, str]]
"""The last verdict on a pair by auditor: when it was given, and in which sample."""


def decide(audits: Sequence[Audit], needed: int) -> list[Decision]:
    """Return what the audits of a config decide, where as many auditors as `needed` agree.

    A hard negative is *relevant* when as many auditors as needed found it so, more than found it related, and
    none found it not relevant. Else it is *excluded* when as many as needed found it relevant or related, or
    where one found it not relevant, at least half of all. A positive is *excluded* when as many as needed
    found it not relevant and none relevant; one that is related stays. The unsure and controls do not count.

    A pair that was a hard negative and became a positive is judged as both. As a positive it can only be
    doubted: who finds it not relevant there counts against what was found before, and who confirms it adds
    nothing, so that a confirmation never takes a decision away.
    """
    kinds = {(sample.head.sample, item.item): item.kind for sample, _ in audits for item in sample.items}
    holding = [entry for _, judgements in audits for entry in history.standing(judgements)]
    votes: defaultdict[tuple[str, str], defaultdict[PairKind, _Votes]]
    votes = defaultdict(lambda: defaultdict(dict))
    for one, verdict in sorted(holding, key=lambda entry: (entry[0].at, entry[1])):
        kind = kinds.get((one.sample, one.item), "control")
        votes[one.query_id, one.passage_id][kind][one.who] = one.at, verdict, one.sample
    decisions = []
    for (query, passage), by in sorted(votes.items()):
        reason, agreed = _reason(by["negative"], by["positive"], needed)
        if reason is not None:
            document = {
                "query-id": query,
                "corpus-id": passage,
                "decision": "relevant" if reason == "false_negative" else "excluded",
                "reason": reason,
                "auditors": _counted(agreed).total(),
                "sample": max(agreed.values())[2],
            }
            decisions.append(Decision.model_validate(document))
    return decisions


def _reason(as_negative: _Votes, as_positive: _Votes, needed: int) -> tuple[Reason | None, _Votes]:
    """Return why there is a decision on a pair, None where there is none, and the votes that count."""
    said = _counted(as_positive)
    if said[Verdict.NOT_RELEVANT] >= needed and not said[Verdict.ALSO_RELEVANT]:
        return "false_positive", as_positive
    doubts = {
        who: vote
        for who, vote in as_positive.items()
        if vote[1] is Verdict.NOT_RELEVANT and (who not in as_negative or as_negative[who][0] < vote[0])
    }
    votes = as_negative | doubts
    if as_negative:  # a confirmation weighs against doubts about what the audits made a positive
        confirming = {who: vote for who, vote in as_positive.items() if vote[1] is Verdict.ALSO_RELEVANT}
        votes = confirming | votes
    said = _counted(votes)
    relevant, related, wrong = said[Verdict.ALSO_RELEVANT], said[Verdict.RELATED], said[Verdict.NOT_RELEVANT]
    if wrong:
        return ("disputed" if relevant + related >= wrong else None), votes
    if relevant >= needed and relevant > related:
        return "false_negative", votes
    return ("related" if relevant + related >= needed else None), votes


def _counted(votes: _Votes) -> Counter[Verdict]:
    """Count the auditors by their verdict on a pair, those who could decide."""
    return Counter(verdict for _, verdict, _ in votes.values() if verdict in history.DECIDED)


def merged(kept: Iterable[Decision], found: Iterable[Decision]) -> list[Decision]:
    """Return decisions by hand and, of all other pairs, what the audits decide now."""
    by_pair = {decision.pair: decision for decision in found}
    by_pair |= {decision.pair: decision for decision in kept if decision.reason == "by_hand"}
    return [by_pair[pair] for pair in sorted(by_pair)]
