"""From the rows of a clustering upstream to documents: normalise, compose, scrub, drop. Pure."""

from dataclasses import dataclass

import polars as pl

from builders.errors import SourceError
from builders.lock.lock import Funnel, PersonalReport
from builders.prepare.funnels import Space, in_space
from builders.prepare.retrieval import scrubbed
from builders.spec import Clustering, Documents
from builders.text.merge import digest
from builders.text.normalise import normalise_frame

_WAIVER = "row-malformed"
"""The code of the finding whose waiver lets a build pass over places that cannot be read."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The documents that sets are drawn from, and the rows that were dropped.

    Attributes:
        documents: ``upstream_id``, ``s2s`` (the title), ``p2p`` (title, space, text), and the columns of
            labels; ordered as the spec says.
        dropped: ``table``, ``id``, ``space``, ``reason``; see `builders.prepare.funnels.Space`.
        personal: What was replaced, by table.
    """

    documents: pl.DataFrame
    dropped: pl.DataFrame
    funnel: Funnel
    personal: dict[str, PersonalReport]


def prepare_documents(spec: Clustering, read: Documents) -> _Prepared:
    """Turn upstream rows into documents, and account for every row on the way."""
    _refuse_malformed(spec, read.malformed)
    _refuse_bad_ids(spec, read.rows)
    composed = spec.compose(normalise_frame(read.rows, keep=["upstream_id", *spec.order]))
    clean, personal = scrubbed(composed, spec.personal)
    reason = (
        pl
        .when(pl.col("reason").is_not_null())
        .then("reason")
        .when(pl.col("title").is_null())
        .then(pl.lit("no_title"))
        .when(pl.col("text").is_null())
        .then(pl.lit("no_text"))
    )
    judged = clean.with_columns(reason.alias("reason"))
    kept = judged.filter(pl.col("reason").is_null()).drop("reason")
    dropped = pl.concat([
        in_space(_as_dropped(judged.drop_nulls("reason"), "upstream_id", pl.col("reason")), Space.UPSTREAM),
        in_space(_as_dropped(read.malformed, "id", pl.lit("malformed")), Space.PLACE),
    ])
    reasons = dropped.group_by("reason").len().sort("reason")
    funnel = Funnel(
        table="documents",
        read=read.rows.height + read.malformed.height,
        dropped=dict(reasons.iter_rows()),
        out=kept.height,
    )
    texts = kept.with_columns(s2s="title", p2p=pl.concat_str("title", "text", separator=" "))
    return _Prepared(
        documents=texts.drop("title", "text").sort(spec.order),
        dropped=dropped.sort("table", "reason", "id"),
        funnel=funnel,
        personal={"documents": personal},
    )


def limit_documents(read: Documents, rows: int) -> Documents:
    """Keep `rows` documents, chosen by the hash of their id and so whatever their order."""
    hashes = pl.Series([digest(upstream_id) for upstream_id in read.rows["upstream_id"].to_list()])
    return Documents(read.rows.sort(hashes).head(rows), read.malformed)


def _as_dropped(rows: pl.DataFrame, key: str, reason: pl.Expr) -> pl.DataFrame:
    return rows.select(table=pl.lit("documents"), id=pl.col(key), reason=reason).cast(pl.String)


def _refuse_malformed(spec: Clustering, malformed: pl.DataFrame) -> None:
    allowed = max((waiver.at_most for waiver in spec.waivers if waiver.code == _WAIVER), default=0)
    if malformed.height <= allowed:
        return
    shown = malformed.head(_SHOWN)
    lines = [f"  {where}: {problem}" for where, problem in shown.select("id", "problem").iter_rows()]
    if malformed.height > _SHOWN:
        lines.append(f"  … and {malformed.height - _SHOWN} more")
    message = f"{spec.name}: places of the upstream that cannot be read: {malformed.height}, waived {allowed}"
    raise SourceError(
        "\n".join([message, *lines]),
        hint=f"Look at them; a waiver of {_WAIVER} with reason and largest count passes them over.",
    )


def _refuse_bad_ids(spec: Clustering, rows: pl.DataFrame) -> None:
    ids = rows["upstream_id"]
    bad = ids.filter(ids.is_null() | ids.is_duplicated() | (ids == ""))
    if len(bad):
        raise SourceError(
            f"{spec.name}: {len(bad)} documents have no id of their own, such as {bad[0]!r}",
            hint="Ids must be unique upstream; look whether a file was read twice.",
        )
