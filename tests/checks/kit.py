"""A small healthy config, and ways to plant one fault in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from hypothesis import settings

from builders import files
from builders.checks import run
from builders.checks.finding import Finding, Severity
from builders.checks.subject import Pairs, Subject
from builders.lock.lock import (
    EncoderIdentity,
    Funnel,
    Lock,
    LockedMining,
    MinedTable,
    MiningReport,
    Yield,
    work_folder,
    write_manifest,
)
from builders.prepare.scrub_merges import SCRUB_MERGES
from builders.spec import CONTACT, ConfigSpec, EncoderSpec, Files, Mining, Recipe, Records, Retrieval
from builders.tables import MINED, Kind, Table, encode, frame_bytes, rowless
from tests.mining.samples import nothing_mined, with_serving

unhurried = settings(deadline=None, max_examples=40)
"""For property tests: a shared machine may be slow at any time."""

Spec = TypeVar("Spec", bound=ConfigSpec)
Change = Callable[[Pairs], Pairs]
Negative = tuple[str, str, int, float, float]

_PASSAGES = {
    "d01": ("Tomaten", "Tomaten brauchen viel Sonne und einen Schutz vor Regen."),
    "d02": ("", "Möhren keimen langsam; der Boden darf dabei nicht austrocknen."),
    "d03": ("", "Radieschen sind nach vier Wochen reif."),
    "d04": ("Kompost", "Ein Kompost reift in etwa einem Jahr und riecht dann nach Waldboden."),
    "d05": ("", "Schnecken meiden rauen Sand und trockenes Sägemehl."),
    "d06": ("Rosen", "Rosen werden geschnitten, wenn die Forsythien blühen."),
    "d07": ("", "Der Rasen wird im Sommer selten, aber gründlich gewässert."),
    "d08": ("", "Apfelbäume tragen besser, wenn zwei Sorten nebeneinander stehen."),
    "d09": ("", "Zwiebeln werden geerntet, sobald das Laub umfällt."),
    "d10": ("", "Ein Frühbeet verlängert das Gartenjahr um zwei Monate."),
    "d11": ("", "Gegen Braunfäule hilft ein Dach über den Pflanzen."),
    "d12": ("Saat", "Feine Samen mischt man vor dem Säen mit Sand."),
}
_QUERIES = {
    "q01": "Was brauchen Tomaten?",
    "q02": "Wie sät man Möhren?",
    "q03": "Wann sind Radieschen reif?",
    "q04": "Wie lange dauert Kompost?",
    "q05": "Was hilft gegen Schnecken?",
    "q06": "Wann schneidet man Rosen?",
    "q07": "Wie oft gießt man den Rasen?",
    "q08": "Warum zwei Apfelbäume?",
    "q09": "Wann erntet man Zwiebeln?",
    "q10": "Wozu dient ein Frühbeet?",
}
_SPLITS = {"train": ("q01", "q08"), "dev": ("q09", "q09"), "test": ("q10", "q10")}
_POSITIVES = [*((f"q{n:02}", f"d{n:02}") for n in range(1, 11)), ("q01", "d11"), ("q02", "d12")]
_NEGATIVES = [
    ("q01", "d05", 3, 0.80, 0.90),
    ("q01", "d06", 5, 0.75, 0.90),
    ("q02", "d04", 2, 0.84, 0.89),
    ("q03", "d02", 4, 0.70, 0.95),
    ("q04", "d12", 10, 0.60, 0.88),
    ("q05", "d03", 3, 0.79, 0.86),
    ("q06", "d08", 2, 0.81, 0.87),
    ("q09", "d10", 2, 0.77, 0.90),
    ("q10", "d07", 3, 0.71, 0.85),
]
_E5 = EncoderSpec("intfloat/multilingual-e5-base", "d128750597", 512, "query: ", "passage: ")


def _never_read(_: Files) -> Records:
    raise AssertionError("a check reads nothing")


def without_evening(key: str) -> str:
    """The kit's group key: a question asked in the evening is the question."""
    return key.removesuffix(" am abend?").removesuffix("?")


SPEC = Retrieval(
    name="garten",
    release="mteb-de",
    title="Fragen an den Garten",
    licence="cc-by-4.0",
    languages=("deu",),
    sources=(),
    read=_never_read,
    ids="upstream",
    personal=CONTACT,
    query_key=str.casefold,
    relevance_key=without_evening,
    mining=Mining(_E5, Recipe()),
)


@dataclass(frozen=True)
class Plant:
    """A fault, and what must be found of it.

    Attributes:
        code: Of the finding.
        severity: Of the finding.
        count: Of the finding.
        example: A text that one of its examples holds; empty where it has none.
        change: Plants the fault.
        also: Codes that this fault cannot help.
        recounted: Whether funnels and report are those of the changed tables.
    """

    code: str
    severity: Severity
    count: int
    example: str
    change: Change
    also: frozenset[str] = frozenset()
    recounted: bool = True


def healthy() -> Pairs:
    """Return a subject without a finding."""
    corpus = pl.DataFrame(
        [(passage, title, text) for passage, (title, text) in _PASSAGES.items()],
        schema=rowless(Kind.CORPUS).schema,
        orient="row",
    )
    queries = _frame(Kind.QUERIES, sorted(_QUERIES.items()))
    qrels = _frame(Kind.QRELS, [(query, passage, 1) for query, passage in sorted(_POSITIVES)])
    negatives = _frame(Kind.HARD_NEGATIVES, _NEGATIVES)
    tables = {
        Kind.CORPUS: {"corpus": corpus},
        Kind.QUERIES: _by_split(queries, "query_id"),
        Kind.QRELS: _by_split(qrels, "query_id"),
        Kind.HARD_NEGATIVES: _by_split(negatives, "query_id"),
        Kind.HARD_NEGATIVES_V0: _by_split(negatives, "query_id"),
    }
    undecided = pl.DataFrame({"query_id": ["q02"], "passage_id": ["d03"]})
    beside = {"undecided": undecided, "scrub_merges": pl.DataFrame(schema=SCRUB_MERGES)}
    return recount(Subject(SPEC, tables, (), beside=beside))


def _frame(
    kind: Kind, rows: list[tuple[str, str]] | list[tuple[str, str, int]] | list[Negative]
) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=rowless(kind).schema, orient="row")


def _by_split(frame: pl.DataFrame, column: str) -> dict[str, pl.DataFrame]:
    return {
        split: frame.filter(pl.col(column).is_between(pl.lit(ends[0]), pl.lit(ends[1])))
        for split, ends in _SPLITS.items()
    }


def with_beside(subject: Subject[Spec], **tables: pl.DataFrame | None) -> Subject[Spec]:
    """Put tables beside the lock, or take them away."""
    beside = {**subject.beside, **tables}
    return replace(subject, beside={name: frame for name, frame in beside.items() if frame is not None})


def recount(subject: Pairs) -> Pairs:
    """Give a subject the funnels and the mining report that its tables have."""
    queries = [row for frame in subject.tables[Kind.QUERIES].values() for row in frame["query_id"]]
    rows = {
        "queries": len(queries),
        "passages": sum(frame.height for frame in subject.tables[Kind.CORPUS].values()),
    }
    funnels = tuple(
        Funnel(table=table, read=out + 3, dropped={"empty_text": 2}, merged=1, out=out)
        for table, out in rows.items()
    )
    pairs = sum(frame.height for frame in subject.tables[Kind.QRELS].values())
    funnels += (Funnel(table="pairs", read=pairs + 1, dropped={"row_dropped": 1}, out=pairs),)
    if Kind.HARD_NEGATIVES not in subject.tables:
        return replace(subject, funnels=funnels)
    mined = {
        str(kind): MinedTable(recipe=asdict(Recipe()), report=_counted(subject.tables.get(kind, {}), queries))
        for kind in MINED
    }
    encoder = EncoderIdentity(
        backend="e5",
        model=_E5.model,
        revision="d" * 40,
        dimensions=768,
        max_length=_E5.max_length,
        pooling="mean",
        query_prefix=_E5.query_prefix,
        passage_prefix=_E5.passage_prefix,
    )
    return replace(subject, funnels=funnels, mining=LockedMining(encoder=encoder, tables=mined))


def _counted(negatives: Mapping[str, pl.DataFrame], queries: list[str]) -> MiningReport:
    owners = [row for frame in negatives.values() for row in frame["query_id"]]
    numbers = Counter(Counter(owners)[query] for query in queries)
    return nothing_mined(
        queries=len(queries),
        negatives=len(owners),
        yield_=Yield(any=len(queries) - numbers[0], full=0, any_share=0.0, full_share=0.0),
        by_count={str(number): numbers[number] for number in range(max(numbers, default=0) + 1)},
    )


def table(subject: Pairs, where: str) -> pl.DataFrame:
    """Return the frame at "qrels/train"."""
    kind, split = where.split("/")
    return subject.tables[Kind(kind)][split]


def with_table(subject: Pairs, where: str, frame: pl.DataFrame | None) -> Pairs:
    """Put a frame at "qrels/train", or take the one there away."""
    name, split = where.split("/")
    kind = Kind(name)
    splits = {**subject.tables.get(kind, {}), split: frame}
    kept = {each: value for each, value in splits.items() if value is not None}
    return replace(subject, tables={**subject.tables, kind: kept})


def put(where: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Change:
    """Change one table."""
    return lambda subject: with_table(subject, where, change(table(subject, where)))


def put_value(where: str, row: str, column: str, value: object) -> Change:
    """Set a column in the rows whose first column is `row`."""

    def change(frame: pl.DataFrame) -> pl.DataFrame:
        new = pl.lit(value, dtype=frame.schema[column])
        there = pl.col(frame.columns[0]) == row
        return frame.with_columns(pl.when(there).then(new).otherwise(pl.col(column)).alias(column))

    return put(where, change)


def append(where: str, *rows: tuple[object, ...]) -> Change:
    """Add rows to a table."""
    return put(where, lambda frame: frame.vstack(pl.DataFrame(rows, schema=frame.schema, orient="row")))


def remove(where: str, row: str) -> Change:
    """Remove the rows whose first column is `row`."""
    return put(where, lambda frame: frame.filter(pl.col(frame.columns[0]) != row))


def chain(*changes: Change) -> Change:
    """Apply changes one after the other."""

    def change(subject: Pairs) -> Pairs:
        for each in changes:
            subject = each(subject)
        return subject

    return change


def respec(**fields: Any) -> Change:
    """Change the config."""
    return lambda subject: replace(subject, spec=replace(subject.spec, **fields))


def recipe(**fields: Any) -> Change:
    """Change the recipe of config and lock alike."""

    def change(subject: Pairs) -> Pairs:
        changed = replace(Recipe(), **fields)
        assert subject.mining is not None
        mining = with_serving(subject.mining, recipe=asdict(changed))
        spec = replace(subject.spec, mining=Mining(_E5, changed))
        return replace(subject, spec=spec, mining=mining)

    return change


def found(subject: Pairs, *, committed: pl.DataFrame | None = None) -> dict[str, Finding]:
    """Run all rules; a code is reported once at most."""
    findings = run(replace(subject, committed=committed))
    by_code = {finding.code: finding for finding in findings}
    assert len(by_code) == len(findings)
    return by_code


def assert_found(plant: Plant) -> None:
    """Plant a fault and demand that it is found, and nothing else."""
    subject = plant.change(healthy())
    if plant.recounted:
        original = subject.mining
        subject = recount(subject)
        if subject.mining and original:
            subject = replace(subject, mining=with_serving(subject.mining, recipe=original.serving.recipe))
    findings = found(subject)
    assert set(findings) == {plant.code, *plant.also}
    finding = findings[plant.code]
    assert (finding.severity, finding.count, finding.config) == (
        plant.severity,
        plant.count,
        subject.spec.name,
    )
    assert any(plant.example in example for example in finding.examples) or not plant.example
    assert finding.message and finding.hint and len(finding.examples) <= 5


def lock_of(subject: Pairs, tables: list[Table]) -> Lock:
    """Return a lock as a build would write it."""
    return Lock(
        config=subject.spec.name,
        release=subject.spec.release,
        licence=subject.spec.licence,
        sources=(),
        parameters={"seed": 42},
        tools={},
        funnels=subject.funnels,
        splits={},
        facts={},
        personal={},
        mining=subject.mining,
        files=tuple(encode(table)[1] for table in sorted(tables, key=lambda table: table.path)),
    )


def tables_of(subject: Pairs) -> list[Table]:
    """Return the published tables."""
    name = subject.spec.name
    return [
        Table(name, kind, split, frame)
        for kind, splits in subject.tables.items()
        for split, frame in splits.items()
    ]


def write_tree(out: Path, subject: Pairs) -> None:
    """Write a subject as a build would."""
    tables = tables_of(subject)
    for each in tables:
        files.write_bytes(out / subject.spec.release / each.path, encode(each)[0])
    work = work_folder(out, subject.spec.name)
    for name in subject.beside.keys() - {"scale", "classes"}:
        files.write_bytes(work / f"{name}.parquet", frame_bytes(name, subject.beside[name]))
    write_lock(out, lock_of(subject, tables))


def write_lock(out: Path, lock: Lock) -> None:
    """Write a lock and the manifest of its release."""
    files.write_json(work_folder(out, lock.config) / "lock.json", lock.model_dump(mode="json"))
    write_manifest(out, lock.release)
