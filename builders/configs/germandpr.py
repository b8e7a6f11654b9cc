"""GermanDPR: questions and Wikipedia passages; upstream ids are kept, every upstream pair is a positive."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from builders.configs._rows import read_rows, refuse_bad_ids, refuse_rows
from builders.personal.kinds import CONTACT
from builders.sources.schema import first_column
from builders.spec import Files, HubSource, Part, Records, Retrieval

_NUMBER = (pa.int64(), pa.int32(), pa.int16(), pa.int8(), pa.float64(), pa.float32())


def read(files: Files) -> Records:
    """Read corpus, queries and qrels.

    The id column may be ``_id`` or ``id``, and a corpus may lack ``title``. A score other than 1 is refused:
    published qrels all score 1, so another score would be lost.

    Raises:
        SourceSchema: A column is missing or has the wrong type.
        SourceError: An id is null or stands there twice, or a score is not 1; it names file and row.
    """
    return Records(
        queries=_texts(files, "queries").select("upstream_id", "text"),
        passages=_texts(files, "corpus").select("upstream_id", "title", "text"),
        pairs=_qrels(files),
    )


def _texts(files: Files, part: str) -> pl.DataFrame:
    key = first_column(files[part], ("_id", "id"))
    columns = {key: pa.string(), "title": pa.string(), "text": pa.string()}
    rows = read_rows(files[part], columns, optional=("title",))
    refuse_bad_ids(rows, key)
    return rows.rename({key: "upstream_id"})


def _qrels(files: Files) -> pl.DataFrame:
    rows = read_rows(files["qrels"], {"query-id": pa.string(), "corpus-id": pa.string(), "score": _NUMBER})
    for column in ("query-id", "corpus-id"):
        refuse_rows(rows, pl.col(column).is_null(), f"column {column!r} is empty")
    refuse_rows(rows, pl.col("score").ne_missing(1), "column 'score' is not 1")
    return rows.select(query="query-id", passage="corpus-id")


CONFIG = Retrieval(
    name="germandpr",
    release="mteb-de",
    title="GermanDPR: questions and passages from the German Wikipedia",
    licence="cc-by-4.0",
    languages=("deu",),
    sources=(
        HubSource(
            repo="mteb/GermanDPR",
            revision="64a4860e55ba6d8fcb923d5306d08e08b1c72794",
            licence="cc-by-4.0",
            parts=(
                Part("corpus", ("corpus",)),
                Part("queries", ("queries",)),
                Part("qrels", ("default", "qrels")),
            ),
        ),
    ),
    read=read,
    ids="upstream",
    personal=CONTACT,
    notes=(
        "The train split holds questions of mteb's public GermanDPR test set: a model trained on it must not "
        "report that task.",
        "The split is by question, not by passage: nearly every passage that is relevant to a test question "
        "is relevant to a train question too.",
        "For a comparison with published GermanDPR scores, evaluate on the union of the three splits.",
        "The passages come from Wikipedia, whose texts are CC BY-SA; the upstream declares CC BY 4.0.",
    ),
)
