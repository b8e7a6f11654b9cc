"""A small release: two datasets of our own German texts, as parquet files with locks."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from builders.describe import Target
from builders.lock.lock import (
    EncoderIdentity,
    Funnel,
    Lock,
    LockedFinding,
    LockedMining,
    LockedSource,
    MiningReport,
    SourceFile,
)
from builders.mining import mine
from builders.spec import (
    ALL_KINDS,
    CONTACT,
    RELEASES,
    EncoderSpec,
    Files,
    HubSource,
    Mining,
    Part,
    Recipe,
    Records,
    Retrieval,
)
from builders.tables import Kind, Table, encode, rowless
from tests.mining.samples import both_tables

RELEASE = RELEASES["mteb-de"]
TARGET = Target("verein/mteb-de", "1.0.0", datetime.date(2026, 1, 5))
REVISIONS = {"germandpr": "64a4860e55ba6d8fcb923d5306d08e08b1c72794", "jobs": "d49f1e4243"}
_SPLITS = {"train": range(5), "dev": range(5, 7), "test": range(7, 10)}
_QUESTIONS = (
    "Wann wurde die alte Brücke gebaut?", "Wer pflanzte die Linde?", "Wie tief ist der Weiher?",
    "Woraus besteht das Dach?", "Wo steht die Mühle?", "Wann fährt die Fähre?", "Wer malte das Tor?",
    "Wie heißt der Bach?", "Wie alt ist der Turm?", "Wozu diente der Speicher?",
)  # fmt: skip
_TITLES = (
    "Bäcker (m/w/d)", "Schlosser", "Gärtnerin in Teilzeit", "Fahrer | Nachtschicht", "Köchin",
    "Elektriker, Tel. <PHONE>", "Maler", "Tischler & Zimmerer", "Buchhalterin", "Pfleger `Station 3`",
)  # fmt: skip


@dataclass(frozen=True)
class Built:
    """The release under `root`, with the specs and locks behind it."""

    root: Path
    locks: tuple[Lock, ...]
    specs: Mapping[str, Retrieval] = field(default_factory=dict)

    def tables(self) -> Iterator[tuple[str, str, Path]]:
        """Config, split and parquet file of everything that has rows."""
        for lock in self.locks:
            for file in lock.files:
                if file.rows:
                    yield file.config, file.split, self.root / file.path


def build(root: Path, *, dev_negatives: bool = True, margin: float = 0.0) -> Built:
    """Build both datasets; without `dev_negatives` one split has no rows."""
    locks = (_germandpr(root), _jobs(root, dev_negatives=dev_negatives, margin=margin))
    return Built(root, locks, {"germandpr": spec("germandpr"), "jobs": spec("jobs")})


def spec(name: str, **changes: Any) -> Retrieval:
    """A spec whose upstream is never read."""

    def read(files: Files) -> Records:
        raise NotImplementedError

    encoder = EncoderSpec("intfloat/multilingual-e5-base", "d128750597", 512, "query: ", "passage: ")
    common = Retrieval(
        name=name,
        release="mteb-de",
        title="Fragen und Absätze" if name == "germandpr" else "Stellentitel und Berufsprofile",
        licence="cc-by-4.0",
        languages=("deu",) if name == "germandpr" else ("deu", "eng"),
        sources=(HubSource(f"verein/{name}", REVISIONS[name], "cc-by-4.0", (Part("rows", ("default",)),)),),
        read=read,
        ids="upstream",
        personal=CONTACT if name == "germandpr" else ALL_KINDS,
        mining=Mining(encoder, Recipe()) if name == "jobs" else None,
        notes=("Ein Hinweis über <Bedeutung> | Grenze.",),
    )
    return replace(common, **changes)


def _germandpr(root: Path) -> Lock:
    corpus = pl.DataFrame({
        "passage_id": [f"p{number}" for number in range(12)],
        "title": ["Die alte Brücke", "", *(f"Ort {number}" for number in range(2, 12))],
        "text": [f"Absatz {number}: Über den Fluss führt ein Weg. | Zeile" for number in range(12)],
    })
    queries = pl.DataFrame({"query_id": [f"f{number}" for number in range(10)], "text": list(_QUESTIONS)})
    qrels = pl.DataFrame({"query_id": queries["query_id"], "passage_id": [f"p{n % 4}" for n in range(10)]})
    return _lock("germandpr", root, corpus, queries, qrels, None, None)


def _jobs(root: Path, *, dev_negatives: bool, margin: float) -> Lock:
    corpus = pl.DataFrame({
        "passage_id": [f"d-{number:016x}" for number in range(15)],
        "title": [""] * 15,
        "text": [f"Beruf {number}. Skills: rühren; messen. Region: Köln." for number in range(15)],
    })
    queries = pl.DataFrame({"query_id": [f"q-{number:016x}" for number in range(10)], "text": list(_TITLES)})
    pairs = [(query, passage) for query in range(10) for passage in (query, query + 1)]
    qrels = pl.DataFrame({
        "query_id": [queries["query_id"][query] for query, _ in pairs],
        "passage_id": [corpus["passage_id"][passage] for _, passage in pairs],
    })
    random = np.random.default_rng(42)
    vectors = random.normal(size=(25, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    recipe = Recipe(margin=margin)
    mined = mine(queries, corpus, qrels, qrels.clear(), vectors[:10], vectors[10:], recipe)
    negatives = mined.negatives
    if not dev_negatives:
        negatives = negatives.filter(
            ~pl.col("query_id").is_in([queries["query_id"][n] for n in _SPLITS["dev"]])
        )
    encoder = EncoderIdentity(
        backend="sentence-transformers",
        model="intfloat/multilingual-e5-base",
        revision="d128750597" + "0" * 30,
        dimensions=768,
        max_length=512,
        pooling="mean",
        query_prefix="query: ",
        passage_prefix="passage: ",
    )
    mining = LockedMining(encoder=encoder, tables=both_tables(recipe, mined.report))
    return _lock("jobs", root, corpus, queries, qrels, negatives, mining)


def _lock(
    name: str,
    root: Path,
    corpus: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    negatives: pl.DataFrame | None,
    mining: LockedMining | None,
) -> Lock:
    files = []
    scored = qrels.with_columns(score=pl.lit(1, dtype=pl.Int32))
    tables = [Table(name, Kind.CORPUS, "corpus", corpus)]
    for split, numbers in _SPLITS.items():
        ids = [queries["query_id"][number] for number in numbers]
        tables.append(Table(name, Kind.QUERIES, split, queries.filter(pl.col("query_id").is_in(ids))))
        tables.append(Table(name, Kind.QRELS, split, scored.filter(pl.col("query_id").is_in(ids))))
        if negatives is not None:
            mine_ = negatives.filter(pl.col("query_id").is_in(ids))
            tables.append(Table(name, Kind.HARD_NEGATIVES, split, mine_))
    for table in tables:
        assert table.frame.columns == rowless(table.kind).columns
        data, lock = encode(table)
        path = root / table.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        files.append(lock)
    upstream = SourceFile(part="rows", path="data/train.parquet", sha256="0" * 64, size=1234)
    revision = REVISIONS[name]
    return Lock(
        config=name,
        release="mteb-de",
        licence="cc-by-4.0",
        sources=(
            LockedSource(
                kind="hub", name=f"verein/{name}", revision=revision, resolved=revision.ljust(40, "0"),
                licence="cc-by-4.0", files=(upstream,),
            ),
        ),
        parameters={"seed": 42, "encoder": None, "limit": None},
        tools={"polars": "2.1.0", "pyarrow": "26.0.1", "python": "3.11"},
        funnels=(
            Funnel(table="queries", read=14, dropped={"empty_query": 2, "no_positive": 1}, merged=1, out=10),
            Funnel(table="passages", read=corpus.height + 1, merged=1, out=corpus.height),
        ),
        splits={split: len(numbers) for split, numbers in _SPLITS.items()},
        facts={
            "groups": 9, "passages_never_relevant": 4, "positives_per_query_max": 2,
            "positives_per_query_median": 1, "qrels": qrels.height, "qrels_extended": 3,
            "qrels_observed": qrels.height - 3, "queries_with_extension": 2,
            "test_queries_sharing_positives_with_train": 2, "undecided_pairs": 5,
        },
        personal={"queries": {"phone": 1}, "corpus": {}},
        mining=mining,
        findings=(
            LockedFinding(
                code="query-is-passage", severity="note", count=1, message="eine | Frage <b>ist</b>"
            ),
        ),
        files=tuple(sorted(files, key=lambda file: file.path)),
    )  # fmt: skip


def unseparated(card: str) -> list[str]:
    """The lines that begin a paragraph, heading, table, quotation or code and follow on another one."""
    found, before, in_code = [], "", False
    for line in card.partition("\n---\n")[2].splitlines():
        fence = line.startswith("```")
        if not in_code and before.strip():
            begins = fence or re.match(r"#|<details>|\*\*[^*]+\.\*\*", line)
            table = line.startswith("|") and not before.startswith("|")
            quotation = line.startswith(">") and not before.startswith(">")
            after_table = before.startswith("|") and line.strip() and not line.startswith("|")
            if begins or table or quotation or after_table:
                found.append(line)
        in_code ^= fence
        before = "" if fence else line
    return found


def starved(report: MiningReport, full: int) -> MiningReport:
    """Give a report two of 300 queries with hard negatives, so many of them with all five."""
    by_count = {"0": 298, "1": 2 - full, "5": full}
    found = report.yield_.model_copy(update={"any": 2, "full": full})
    return report.model_copy(update={"queries": 300, "yield_": found, "by_count": by_count})
