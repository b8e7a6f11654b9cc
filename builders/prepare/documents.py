"""From the rows of a clustering upstream to documents: normalise, compose, scrub, drop. Pure."""

from dataclasses import dataclass

import polars as pl

from builders.errors import SourceError
from builders.lock.lock import Funnel, PersonalReport
from builders.prepare.funnels import Space, by_reason, in_space
from builders.prepare.retrieval import refuse_bad_ids, scrubbed
from builders.spec import Clustering, Documents, first_reason
from builders.text.merge import digest
from builders.text.normalise import each, normalise_frame

_WAIVER = "row-malformed"
"""The code of the finding whose waiver lets a build pass over places that cannot be read."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The documents that sets are drawn from, and the rows that were dropped.

    Attributes:
        documents: ``upstream_id``, ``s2s`` (the title), ``p2p`` (title, space, text), labels; in order.
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
    refuse_bad_ids(spec, "documents", read.rows)
    composed = spec.compose(normalise_frame(read.rows, keep=["upstream_id", *spec.order]))
    clean, personal = scrubbed(composed, spec.personal)
    textless = first_reason({"no_title": pl.col("title").is_null(), "no_text": pl.col("text").is_null()})
    judged = clean.with_columns(reason=pl.coalesce("reason", textless))
    kept = judged.filter(pl.col("reason").is_null()).drop("reason")
    dropped = pl.concat([
        in_space(_as_dropped(judged.drop_nulls("reason"), "upstream_id", pl.col("reason")), Space.UPSTREAM),
        in_space(_as_dropped(read.malformed, "id", pl.lit("malformed")), Space.PLACE),
    ])
    texts = kept.with_columns(s2s="title", p2p=pl.concat_str("title", "text", separator=" "))
    return _Prepared(
        documents=texts.drop("title", "text").sort(spec.order),
        dropped=dropped.sort("table", "reason", "id"),
        funnel=Funnel(
            table="documents",
            read=read.rows.height + read.malformed.height,
            dropped=by_reason(dropped),
            out=kept.height,
        ),
        personal={"documents": personal},
    )


def limit_documents(read: Documents, rows: int) -> Documents:
    """Keep `rows` documents, chosen by the hash of their id and so whatever their order."""
    return Documents(read.rows.sort(each(read.rows["upstream_id"], digest)).head(rows), read.malformed)


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
