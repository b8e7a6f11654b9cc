"""From submissions to the texts of documents: cleaned, normalised, without personal data. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from builders.lock.lock import PersonalReport
from builders.prepare.retrieval import each, scrubbed
from builders.reddit.submission import Status, Submission
from builders.spec import Ids
from builders.text.normalise import normalise_frame

NO_TITLE = "no_title"
"""The reason of a submission whose title is empty once it is cleaned."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of submissions.

    Attributes:
        documents: ``id``, ``s2s`` (the title), ``p2p`` (title, space, body; without a body the title).
        dropped: ``id``, ``reason`` of submissions that are there and have no text.
        personal: What was replaced.
    """

    documents: pl.DataFrame
    dropped: pl.DataFrame
    personal: PersonalReport


def texts_of(spec: Ids, submissions: Iterable[Submission]) -> Texts:
    """Turn submissions into documents; those that are not there are passed over.

    Args:
        spec: Says how texts are cleaned, and which personal data is replaced.
        submissions: In any order; the result does not depend on it.
    """
    there = [entry for entry in submissions if entry.status is Status.OK]
    raw = pl.DataFrame(
        [(entry.id, entry.title, entry.body) for entry in there],
        schema={"upstream_id": pl.String, "title": pl.String, "text": pl.String},
        orient="row",
    )
    cleaned = raw.with_columns(each(raw[name], spec.clean) for name in ("title", "text"))
    clean, personal = scrubbed(normalise_frame(cleaned, keep=["upstream_id"]), spec.personal)
    body = pl.when(pl.col("text").is_not_null()).then(pl.format(" {}", "text")).otherwise(pl.lit(""))
    return Texts(
        documents=clean.drop_nulls("title").select(
            id="upstream_id", s2s="title", p2p=pl.concat_str("title", body)
        ),
        dropped=clean.filter(pl.col("title").is_null()).select(id="upstream_id", reason=pl.lit(NO_TITLE)),
        personal=personal,
    )
