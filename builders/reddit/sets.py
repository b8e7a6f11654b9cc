"""The submissions that sets of ids are drawn from, and the published table of those sets. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from builders.errors import SourceMissing
from builders.lock.lock import Funnel
from builders.prepare.funnels import Space, in_space
from builders.prepare.sets import DrawnSet, draw, fill
from builders.spec import SEED, Ids, IdsFile
from builders.tables import SCHEMAS, Kind
from builders.text.digest import digest

_SHOWN = 5
_USERS_OWN = "u_"
"""A subreddit of such a name is a user's profile, and the rest of it is the user's name."""


@dataclass(frozen=True, slots=True)
class PreparedIds:
    """The submissions that sets are drawn from, and the status of the other ids.

    Attributes:
        submissions: ``id``, ``subreddit``; by id.
        statuses: ``id``, ``status``, ``subreddit``, ``checked``, ``origin`` str of every id of the upstream;
            by id.
        dropped: ``table``, ``id``, ``space``, ``reason``; see `builders.prepare.funnels.Space`.
        funnel: The way of the lines of the upstream.
    """

    submissions: pl.DataFrame
    statuses: pl.DataFrame
    dropped: pl.DataFrame
    funnel: Funnel


def limit_ids(read: IdsFile, rows: int) -> IdsFile:
    """Keep `rows` ids, chosen by their hash and so whatever their order."""
    kept = tuple(sorted(read.ids, key=digest)[:rows])
    return IdsFile(kept, len(kept))


def prepare_ids(spec: Ids, read: IdsFile, ledger: pl.DataFrame) -> PreparedIds:
    """Judge every id by the ledger, and account for every line of the upstream.

    Reddit's names ignore case: a subreddit that is spelt in several ways gets the most frequent
    one, and of equally frequent ones the first by code point.

    Args:
        spec: The config.
        read: The ids of the upstream.
        ledger: ``id``, ``status``, ``subreddit``, ``checked``, ``origin``, ``archive`` str.

    Raises:
        SourceMissing: An id has no answer in the ledger.
    """
    listed = pl.DataFrame({"id": read.ids}, schema={"id": pl.String})
    columns = ["id", "status", "subreddit", "checked", "origin", "archive"]
    known = ledger.select(pl.col(columns).cast(pl.String))
    statuses = _spelt_alike(listed.join(known, on="id", how="left").sort("id"))
    _refuse_unanswered(spec, statuses.filter(pl.col("status").is_null() | (pl.col("status") == "error")))
    nameless = (pl.col("subreddit").fill_null("") == "") | (
        pl.col("subreddit").str.to_lowercase().str.starts_with(_USERS_OWN)
    )
    reason = pl.when(pl.col("status") != "ok").then("status").when(nameless).then(pl.lit("no_subreddit"))
    judged = statuses.with_columns(reason=reason)
    kept = judged.filter(pl.col("reason").is_null()).select("id", "subreddit")
    dropped = judged.drop_nulls("reason").select(table=pl.lit("submissions"), id="id", reason="reason")
    reasons = dropped.group_by("reason").len().sort("reason")
    funnel = Funnel(
        table="submissions",
        read=read.lines,
        dropped=dict(reasons.iter_rows()),
        merged=read.lines - listed.height,
        out=kept.height,
    )
    return PreparedIds(kept, statuses, in_space(dropped.sort("reason", "id"), Space.UPSTREAM), funnel)


def draw_ids(spec: Ids, prepared: PreparedIds) -> list[DrawnSet]:
    """Draw the sets of a config of ids.

    Raises:
        FindingsError: There is no submission to draw.
    """
    return draw(prepared.submissions, spec.sets, seed=SEED)


def id_table(submissions: pl.DataFrame, drawn: Sequence[DrawnSet]) -> pl.DataFrame:
    """Return the published table: ``submission_ids`` and ``labels``, lists of str, one row per set."""
    filled = fill(submissions, drawn, "id").select("labels", submission_ids="sentences")
    return filled.select(SCHEMAS[Kind.CLUSTERING_IDS].names).cast(pl.Schema(SCHEMAS[Kind.CLUSTERING_IDS]))


def _spelt_alike(statuses: pl.DataFrame) -> pl.DataFrame:
    folded = pl.col("subreddit").str.to_lowercase().alias("folded")
    spellings = statuses.drop_nulls("subreddit").group_by(folded, "subreddit").len()
    usual = (
        spellings
        .sort(["len", "subreddit"], descending=[True, False])
        .unique("folded", keep="first", maintain_order=True)
        .select("folded", usual="subreddit")
    )
    return (
        statuses
        .with_columns(folded)
        .join(usual, on="folded", how="left", maintain_order="left")
        .with_columns(subreddit=pl.coalesce("usual", "subreddit"))
        .drop("folded", "usual")
    )


def _refuse_unanswered(spec: Ids, unanswered: pl.DataFrame) -> None:
    if unanswered.is_empty():
        return
    shown = ", ".join(unanswered["id"].head(_SHOWN).to_list())
    more = f" and {unanswered.height - _SHOWN:,} more" if unanswered.height > _SHOWN else ""
    raise SourceMissing(
        f"{spec.name}: the ledger does not tell what became of {unanswered.height:,} ids: {shown}{more}",
        hint=_hint(spec),
    )


def _hint(spec: Ids) -> str:
    return f"Run mteb-de hydrate {spec.name}: it asks for what is missing, and goes on where it stopped."
