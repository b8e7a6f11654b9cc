"""The upstream's file of submission ids, the submissions that sets are drawn from, and the published sets."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builders.errors import SourceMissing, SourceSchema
from builders.lock.lock import Funnel
from builders.prepare.funnels import Space, in_space
from builders.prepare.sets import DrawnSet, fill
from builders.printable import shortened
from builders.reddit.submission import PROFILE, SUBMISSION_ID
from builders.spec import Ids, IdsFile
from builders.tables import SCHEMAS, Kind
from builders.text.merge import digest
from builders.text_files import source_lines

_HEADER = "id"
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class _PreparedIds:
    """The submissions that sets are drawn from, and the status of the other ids.

    Attributes:
        submissions: ``id``, ``subreddit``; by id.
        statuses: What the ledger knows of every id of the upstream; by id.
        dropped: ``table``, ``id``, ``space``, ``reason``; see `builders.prepare.funnels.Space`.
        funnel: The way of the lines of the upstream.
    """

    submissions: pl.DataFrame
    statuses: pl.DataFrame
    dropped: pl.DataFrame
    funnel: Funnel


def read_ids(path: Path) -> IdsFile:
    """Read a file of submission ids.

    Args:
        path: UTF-8 text with or without a byte order mark, LF or CRLF. Its first line is `id`.

    Raises:
        SourceSchema: The header is missing, or a line is no id: what a spreadsheet has made a number, an id
            in capitals, with a prefix or with blanks. Nothing is guessed.
    """
    form = "Save it as plain text in UTF-8, one id a line."
    lines = source_lines(path, absent="Name a file of submission ids.", form=form)
    first, header = lines[0] if lines else (1, "")
    if header != _HEADER:
        hint = "The first line names the column, `id`; one id a line follows."
        problem = f"the header is {header[:40]!r}, not {_HEADER!r}"
        raise SourceSchema(f"{path}, line {first}: {problem}", hint=hint)
    for number, line in lines[1:]:
        if not SUBMISSION_ID.fullmatch(line):
            problem = f"{line[:40]!r} is not the id of a submission"
            raise SourceSchema(f"{path}, line {number}: {problem}", hint=_why(line))
    found = [line for _, line in lines[1:]]
    return IdsFile(ids=tuple(dict.fromkeys(found)), lines=len(found))


def limit_ids(read: IdsFile, rows: int) -> IdsFile:
    """Keep `rows` ids, chosen by their hash and so whatever their order."""
    kept = tuple(sorted(read.ids, key=digest)[:rows])
    return IdsFile(kept, len(kept))


def prepare_ids(spec: Ids, read: IdsFile, ledger: pl.DataFrame) -> _PreparedIds:
    """Judge every id by the ledger, and account for every line of the upstream.

    Reddit's names ignore case: a subreddit that is spelt in several ways gets the most frequent
    one, and of equally frequent ones the first by code point.

    Raises:
        SourceMissing: The ledger, as `statuses` returns it, does not tell what became of an id.
    """
    listed = pl.DataFrame({"id": read.ids}, schema={"id": pl.String})
    statuses = _spelt_alike(listed.join(ledger, on="id", how="left").sort("id"))
    unanswered = statuses.filter(pl.col("status").fill_null("error") == "error")["id"].to_list()
    if unanswered:
        raise SourceMissing(
            f"{spec.name}: the ledger does not tell what became of {len(unanswered):,} ids: "
            f"{', '.join(shortened(unanswered, _SHOWN))}",
            hint=f"Run mteb-de hydrate {spec.name}: it asks for what is missing.",
        )
    subreddit = pl.col("subreddit").fill_null("")
    nameless = (subreddit == "") | subreddit.str.contains(PROFILE.pattern)
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
    return _PreparedIds(kept, statuses, in_space(dropped.sort("reason", "id"), Space.UPSTREAM), funnel)


def id_table(submissions: pl.DataFrame, drawn: Sequence[DrawnSet]) -> pl.DataFrame:
    """Return the published table: ``submission_ids`` and ``labels``, lists of str, one row per set."""
    filled = fill(submissions, drawn, "id").select("labels", submission_ids="sentences")
    return filled.select(SCHEMAS[Kind.CLUSTERING_IDS].names).cast(pl.Schema(SCHEMAS[Kind.CLUSTERING_IDS]))


def _spelt_alike(statuses: pl.DataFrame) -> pl.DataFrame:
    name = pl.col("subreddit")
    usual = name.sort_by("times", name, descending=[True, False]).first().over(name.str.to_lowercase())
    return statuses.with_columns(times=pl.len().over(name)).with_columns(subreddit=usual).drop("times")


def _why(line: str) -> str:
    if re.fullmatch(r"[0-9]{1,20}[.,]?[0-9]{0,20}[eE][+-]?[0-9]{1,4}", line.strip()[:60]):
        return "A spreadsheet has read the ids as numbers; take the file as it was before."
    if line.startswith("t3_"):
        return "Remove the prefix t3_ from all lines."
    return "An id is 5 to 8 lower-case letters and digits, without blanks, quotes or prefix."
