"""Import verdicts into the history, and derive the decisions that the next build applies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl
from pydantic import Field

from builders import registry
from builders.audit.history import (
    NOTE_LENGTH,
    Audit,
    Item,
    Judgement,
    NoVerdict,
    PairKind,
    Verdict,
    auditor_name,
    find_sample,
    history_folder,
    read_history,
    read_judgements,
    sample_folder,
    standing,
    verdicts_path,
    write_judgements,
    write_sample,
)
from builders.audit.sheet import read_csv, sample_of
from builders.built import read_built
from builders.errors import Refused, UsageError
from builders.lock.committed import FOLDER
from builders.lock.lock import Frozen, all_locks
from builders.personal import scrub
from builders.prepare.decisions import Decision, Reason, decisions_path, read_decisions, write_decisions
from builders.printable import counted, listed, printable
from builders.spec import CONTACT, Retrieval


class _Imported(Frozen):
    """The result of an import, for one sample; without `items` it is what ``--json`` prints.

    Attributes:
        items: Number of items of the sample.
        read: Number of lines in the files.
        new: Number of lines that the history did not have, `withdrawn` of which take a verdict back.
        judged: Number of items with a verdict that holds.
        auditors: Names of all whose verdicts hold, sorted.
        history: The file of the verdicts.
        decisions: Number of decisions of the config now.
        decisions_path: The file of the decisions; None where they were not written.
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


def import_verdicts(
    paths: Sequence[Path],
    *,
    dist: Path,
    notes: Path,
    locks: Path | None = None,
    auditor: str = "",
    replace: bool = False,
    specs: Mapping[str, Retrieval] | None = None,
) -> list[_Imported]:
    """Add the verdicts of files to the history, all of them or none, and bring the decisions up to date.

    Decisions of a build from stand-ins are written only where a folder is named: they must not get beside the
    configs by accident.

    Args:
        paths: Files of the page, or CSVs with verdicts typed in.
        dist: The folder that was audited.
        notes: The folder of notes; the history lies under its ``audits``.
        locks: Folder of committed locks and decisions; None for the one beside the configs.
        auditor: Name of the auditor of CSVs.
        replace: Whether rows of a CSV replace other verdicts of the auditor that hold.
        specs: Configs by name; None for those of the registry that were built under `dist`.
    """
    specs = _built(dist) if specs is None else specs
    built = {name: read_built(dist, spec) for name, spec in specs.items()}
    builds = {name: one.rows_id for name, one in built.items()}  # reads all tables: once
    for name in specs:
        read_decisions(decisions_path(locks or FOLDER, name))  # a fault there shows before a file is written
    folders = {name: (sample_folder(dist, name), history_folder(notes, name)) for name in specs}
    lines: defaultdict[tuple[str, str], list[_Line]] = defaultdict(list)
    for path in paths:
        for line in _read(path, folders, auditor):
            _require_build(line, builds)
            lines[line.judgement.sample, line.judgement.config].append(line)
    merged = []
    for (name, config), read in sorted(lines.items()):
        sample = find_sample(name, folders[config])
        items = {item.item: item for item in sample.items}
        for line in read:
            _require_item(line, items)
        path = verdicts_path(notes, sample)
        before = [one for _, one in read_judgements(path)] if path.exists() else []
        merged.append((sample, len(read), path, before, _new(before, _scrubbed(read), replace=replace)))
    for sample, _, path, before, new in merged:
        write_sample(path.parent, sample)
        write_judgements(path, [*before, *new])
    imported = []
    for sample, count, path, before, new in merged:
        config = sample.head.config
        holding = [one for one, _ in standing([*before, *new])]
        decisions, written, remarks = _decide(specs[config], built[config].stand_ins, notes, locks)
        imported.append(
            _Imported(
                config=config,
                sample=sample.head.sample,
                items=len(sample.items),
                read=count,
                new=len(new),
                withdrawn=sum(one.verdict is NoVerdict.WITHDRAWN for one in new),
                judged=len({one.item for one in holding}),
                auditors=tuple(sorted({one.who: one.auditor for one in holding}.values())),
                history=path,
                decisions=decisions,
                decisions_path=written,
                remarks=remarks,
            )
        )
    return imported


def _built(dist: Path) -> dict[str, Retrieval]:
    found = {lock.config for lock in all_locks(dist)}
    specs = (registry.load(name) for name in registry.names() if name in found)
    return {spec.name: spec for spec in specs if isinstance(spec, Retrieval)}


class _Line(NamedTuple):
    """A line of an imported file: its place, and whether it tells itself when it was written."""

    where: str
    judgement: Judgement
    dated: bool


def _read(path: Path, folders: Mapping[str, tuple[Path, Path]], auditor: str) -> list[_Line]:
    dated = path.suffix.lower() != ".csv"
    if dated:
        judged = read_judgements(path)
    else:
        if not auditor:
            raise UsageError(f"{path}: a CSV does not say who judged", hint="Pass --auditor NAME.")
        try:
            auditor_name(auditor)
        except ValueError as error:
            raise UsageError(f"--auditor: {error}", hint="Pass --auditor NAME.") from error
        sample = find_sample(sample_of(path), [folder for both in folders.values() for folder in both])
        at = datetime.fromtimestamp(path.stat().st_mtime_ns // 1_000_000 / 1000, UTC)
        judged = read_csv(path, sample, auditor, at)
    if not judged:
        raise UsageError(f"{path}: no verdict in it", hint="Judge some items first, then download again.")
    return [_Line(f"{path}, line {number}", one, dated) for number, one in judged]


def _require_build(line: _Line, builds: Mapping[str, str]) -> None:
    config, build = line.judgement.config, line.judgement.build
    if config not in builds:
        raise UsageError(
            f"{line.where}: nothing was built of {config[:60]!r} there",
            hint="Pass the folder that was audited with --dist.",
        )
    if build != builds[config]:
        raise Refused(
            f"{line.where}: the verdict is of build {build}, and {config} is {builds[config]} now",
            hint="Rows have changed since. Import into the build that was audited, or draw a new sample.",
        )


def _require_item(line: _Line, items: Mapping[str, Item]) -> None:
    one = line.judgement
    item = items.get(one.item)
    if item is not None and (item.query_id, item.passage_id) == (one.query_id, one.passage_id):
        return
    fault = f"item {one.item} is not in the sample {one.sample}"
    if item is not None:
        ids = printable(f"{one.query_id[:60]}, {one.passage_id[:60]}")
        fault = f"item {one.item} is the pair {item.query_id}, {item.passage_id}, and the line says {ids}"
    raise UsageError(f"{line.where}: {fault}", hint="The file was edited: download it again from the page.")


def _scrubbed(lines: Sequence[_Line]) -> list[_Line]:
    """Replace contact data in notes, which are going to be committed; a placeholder may be longer than it."""
    given = pl.Series([line.judgement.note for line in lines], dtype=pl.String)
    notes = (" ".join(note.split())[:NOTE_LENGTH] for note in scrub(given, CONTACT).texts)
    return [
        line._replace(judgement=line.judgement.model_copy(update={"note": note}))
        for line, note in zip(lines, notes, strict=True)
    ]


def _new(before: Sequence[Judgement], lines: Sequence[_Line], *, replace: bool) -> list[Judgement]:
    """Return the lines that the history does not have.

    A CSV does not tell when its verdicts were given, and a copy of it bears another time: a row of it is new
    only where the last verdict of its auditor on the item is another, and then it needs `replace`.
    """
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
                replaced.append(f"{where}: {one.item} {latest.verdict} → {one.verdict}")
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


def _refuse_equal_times(before: Sequence[Judgement], lines: Sequence[_Line]) -> None:
    """Refuse a line whose auditor gave the item another verdict at the same moment: neither is the last."""
    first = {(one.item, one.who, one.at): ("the history", one) for one in before if _is_last_word(one)}
    for where, one, _ in lines:
        if not _is_last_word(one):
            continue
        other, known = first.setdefault((one.item, one.who, one.at), (where, one))
        if known.verdict != one.verdict:
            raise UsageError(
                f"{where}: {one.auditor} finds item {one.item} {one.verdict}, and {known.verdict} at the "
                f"same moment ({other})",
                hint="Leave out the line that does not hold.",
            )


def _is_last_word(one: Judgement) -> bool:
    return one.verdict is not NoVerdict.NOTED


def _subject(one: Judgement) -> tuple[str, str, bool]:
    return one.item, one.who, one.verdict is NoVerdict.NOTED


def _refuse_copied(before: Sequence[Judgement], new: Mapping[Judgement, str]) -> None:
    """Refuse lines that bear the time of another auditor's on the item: one person's work under two names."""
    names: defaultdict[tuple[str, datetime], dict[str, str]] = defaultdict(dict)
    for one in (*before, *new):
        names[_moment(one)].setdefault(one.who, one.auditor)
    copied = [one for one in new if next(iter(names[_moment(one)])) != one.who]
    if not copied:
        return
    both = sorted({name for one in copied for name in names[_moment(one)].values()})
    items = sorted({one.item for one in copied})
    more = f" and {len(items) - 3} more" if len(items) > 3 else ""
    raise Refused(
        f"{new[copied[0]]}: verdicts of {' and '.join(both)} on the same items bear the same times, to the "
        f"millisecond ({', '.join(items[:3])}{more})",
        hint="These are one person's verdicts under two names. Let everyone judge under their own name: "
        "Start as another auditor, on the page. CSVs that were copied together: save one of them again.",
    )


def _moment(one: Judgement) -> tuple[str, datetime]:
    return one.item, one.at.replace(microsecond=one.at.microsecond // 1000 * 1000)


def _decide(
    spec: Retrieval, stand_ins: tuple[str, ...], notes: Path, locks: Path | None
) -> tuple[int, Path | None, tuple[str, ...]]:
    """Write the decisions of a config; return their number, their file where it was written, and remarks."""
    path = decisions_path(locks or FOLDER, spec.name)
    audits = read_history(history_folder(notes, spec.name))
    if locks is None and not stand_ins:
        audits = of_real_builds(audits)
    decisions = merged(read_decisions(path), decide(audits, spec.audit.auditors))
    if stand_ins and locks is None:
        remark = f"decisions not written: {stand_ins[0]}; pass --locks FOLDER to try them"
        return len(decisions), None, (remark,)
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

    A hard negative is *relevant* when as many auditors as needed found it so and none found it not relevant;
    it is *excluded* when two or more judged it and at least half found it relevant. A positive is *excluded*
    when as many as needed found it not relevant and none found it relevant. Auditors who were unsure do not
    count. Controls decide nothing.

    A pair that was a hard negative and became a positive is judged as both. As a positive it can only be
    doubted: who finds it not relevant there counts against what was found before, and who confirms it adds
    nothing, so that a confirmation never takes a decision away.
    """
    kinds = {(sample.head.sample, item.item): item.kind for sample, _ in audits for item in sample.items}
    holding = [entry for _, judgements in audits for entry in standing(judgements)]
    votes: defaultdict[tuple[str, str], defaultdict[PairKind, _Votes]]
    votes = defaultdict(lambda: defaultdict(dict))
    for one, verdict in sorted(holding, key=lambda entry: (entry[0].at, entry[1])):
        kind = kinds.get((one.sample, one.item), "control")
        votes[one.query_id, one.passage_id][kind][one.who] = one.at, verdict, one.sample
    found = (_decision(pair, by["negative"], by["positive"], needed) for pair, by in sorted(votes.items()))
    return [decision for decision in found if decision is not None]


def _decision(
    pair: tuple[str, str], as_negative: _Votes, as_positive: _Votes, needed: int
) -> Decision | None:
    doubts = {
        who: vote
        for who, vote in as_positive.items()
        if vote[1] is Verdict.NOT_RELEVANT and (who not in as_negative or as_negative[who][0] < vote[0])
    }
    confirmed, wrong = _counted(as_positive)
    if wrong >= needed and not confirmed:
        return _of(pair, "excluded", "false_positive", as_positive)
    votes = as_negative | doubts
    if as_negative:  # a confirmation weighs against doubts about what the audits made a positive
        confirming = {who: vote for who, vote in as_positive.items() if vote[1] is Verdict.ALSO_RELEVANT}
        votes |= {who: vote for who, vote in confirming.items() if who not in votes}
    relevant, wrong = _counted(votes)
    if relevant >= needed and not wrong:
        return _of(pair, "relevant", "false_negative", votes)
    if relevant >= wrong > 0:
        return _of(pair, "excluded", "disputed", votes)
    return None


def _counted(votes: _Votes) -> tuple[int, int]:
    """Count the auditors who found a pair relevant, and those who did not."""
    verdicts = [verdict for _, verdict, _ in votes.values()]
    return verdicts.count(Verdict.ALSO_RELEVANT), verdicts.count(Verdict.NOT_RELEVANT)


def _of(
    pair: tuple[str, str], decision: Literal["relevant", "excluded"], reason: Reason, votes: _Votes
) -> Decision:
    query, passage = pair
    return Decision.model_validate(
        {
            "query_id": query,
            "passage_id": passage,
            "decision": decision,
            "reason": reason,
            "auditors": sum(_counted(votes)),
            "sample": max(votes.values())[2],
        },
        by_name=True,
    )


def merged(kept: Iterable[Decision], found: Iterable[Decision]) -> list[Decision]:
    """Return decisions by hand and, of all other pairs, what the audits decide now."""
    by_pair = {decision.pair: decision for decision in found}
    by_pair |= {decision.pair: decision for decision in kept if decision.reason == "by_hand"}
    return [by_pair[pair] for pair in sorted(by_pair)]
