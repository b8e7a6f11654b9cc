"""Reading published ids: from the folder of a release, or from the Hub by its tag."""

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builders import hub
from builders.errors import SourceMissing, UsageError
from builders.reddit.folder import checked_sets, sets_in
from builders.reddit.submission import PROFILE, SUBMISSION_ID, SUBREDDIT
from builders.spec import Ids
from builders.tables import Kind, published_path

_RELEASE = re.compile(r"([^/@]{1,96}/[^/@]{1,96})@(v[0-9]{1,6}\.[0-9]{1,6}\.[0-9]{1,6})", re.ASCII)
_SHOWN = 80
_ADVICE = hub.Advice(SourceMissing, "Name a release of this config.")
_LOOK = "Look whether it is a release of this command."


@dataclass(frozen=True, slots=True)
class Sets:
    """The sets of ids that texts are put into.

    Attributes:
        ids: ``submission_ids``, ``labels``: lists of str, one row per set.
        origin: Source of the sets, as in `Hydrated`.
        compared: Whether the sets were there before this run.
    """

    ids: pl.DataFrame
    origin: str
    compared: bool = True

    def named(self) -> list[str]:
        """Return every id once, in order."""
        return self.ids["submission_ids"].explode().unique().sort().to_list()


def read_published(spec: Ids, place: str, *, offline: bool = False) -> Sets:
    """Return the published sets of a config.

    Args:
        spec: The config.
        place: A folder that holds its table, or OWNER/NAME@TAG on the Hub.
        offline: Read folders only.

    Raises:
        UsageError: The table holds what is no id or label, or an id twice in a set.
    """
    folder = Path(place)
    found = _in_folder(spec, folder) if _is_folder(folder) else _from_hub(spec, place, offline=offline)
    problem = next(_problems(found.ids), None)
    if problem is not None:
        raise UsageError(f"{place[:_SHOWN]}: {problem}", hint=_LOOK)
    return found


def _is_folder(place: Path) -> bool:
    try:
        return place.is_dir()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _in_folder(spec: Ids, folder: Path) -> Sets:
    for place in (folder, folder / spec.release):
        found = sets_in(place, spec.name)
        if found is not None:
            return Sets(found, "a release folder")
    path = published_path(spec.name, Kind.CLUSTERING_IDS, "test")
    raise SourceMissing(f"{folder}: no {path} there", hint="Name the folder of a release.")


def _from_hub(spec: Ids, place: str, *, offline: bool) -> Sets:
    named = _RELEASE.fullmatch(place)
    if named is None:
        hint = "Name a folder that exists, or a repository with the tag of a release: OWNER/NAME@v1.0.0."
        raise UsageError(f"{place[:_SHOWN]!r} is neither a folder nor OWNER/NAME@TAG", hint=hint)
    if offline:
        hint = "Leave out --offline, or name a folder that holds the release."
        raise SourceMissing(f"{place[:_SHOWN]}: on the Hub, which --offline does not ask", hint=hint)
    repo, tag = named.groups()
    api = hub.client()
    commit = hub.resolve(api, repo, tag, advice=_ADVICE)
    path = published_path(spec.name, Kind.CLUSTERING_IDS, "test")
    with tempfile.TemporaryDirectory(prefix="mteb-de-ids-") as folder:
        sets = checked_sets(hub.download(api, repo, path, commit, Path(folder), advice=_ADVICE))
    return Sets(sets, f"{repo}@{tag} ({commit})")


def _problems(sets: pl.DataFrame) -> Iterator[str]:
    """Yield what is wrong with sets, whose ids are to be asked for and whose labels enter other tables."""
    if sets.is_empty() or any(sets.null_count().row(0)):
        yield "there is no set, or one is null"
        return
    lengths = sets.select(ids=pl.col("submission_ids").list.len(), labels=pl.col("labels").list.len())
    if lengths.filter((pl.col("ids") != pl.col("labels")) | (pl.col("ids") == 0)).height:
        yield "ids and labels do not agree"
        return
    each = sets.with_row_index("set", offset=1).rename({"submission_ids": "id", "labels": "label"})
    each = each.explode("id", "label")
    profile = pl.col("label").str.contains(PROFILE.pattern)
    for name, right, what in (
        ("id", _is_like("id", SUBMISSION_ID.pattern), "the id of a submission"),
        ("label", _is_like("label", SUBREDDIT.pattern) & ~profile, "the name of a subreddit"),
    ):
        for value in each.filter(~right.fill_null(value=False))[name].head(1):
            shown = "null" if value is None else f"{value[:_SHOWN]!a}"
            yield f"{shown} is not {what}"
    for number, twice in each.filter(pl.struct("set", "id").is_duplicated()).select("set", "id").iter_rows():
        yield f"{twice} stands in set {number} more than once"


def _is_like(column: str, pattern: str) -> pl.Expr:
    return pl.col(column).str.contains(rf"\A(?:{pattern})\z")
