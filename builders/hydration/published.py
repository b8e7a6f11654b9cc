"""Reading published ids: from the folder of a release, or from the Hub by its tag."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl

from builders.errors import SourceMissing, UsageError
from builders.hydration.folder import checked_sets, sets_in
from builders.sources import client
from builders.sources.reddit.model import SUBMISSION_ID
from builders.spec import Ids
from builders.tables import Kind, published_path


def read_published(spec: Ids, place: str) -> pl.DataFrame:
    """Return the published sets of a config: ``submission_ids``, ``labels``, lists of str, one row per set.

    Args:
        spec: The config.
        place: A folder that holds its table, or OWNER/NAME@TAG on the Hub.

    Raises:
        UsageError: It is neither; or the table holds what is no id.
        SourceMissing: The folder, repository, tag or table is not there.
        StorageError: The table is damaged.
        RemoteError: The Hub refused, failed, or was not reachable.
    """
    folder = Path(place)
    if folder.is_dir():
        found = sets_in(folder, spec.name)
        if found is None:
            found = sets_in(folder / spec.release, spec.name)
        if found is None:
            path = published_path(spec.name, Kind.CLUSTERING_IDS, "test")
            raise SourceMissing(f"{folder}: no {path} there", hint="Name the folder of a release.")
    else:
        found = _from_hub(spec, place)
    _refuse_foreign(place, found)
    return found


def _from_hub(spec: Ids, place: str) -> pl.DataFrame:
    from huggingface_hub import HfApi

    repo, at, tag = place.partition("@")
    if not (at and tag and repo.count("/") == 1 and all(repo.split("/"))):
        hint = "Name a folder that exists, or a repository with its tag: OWNER/NAME@v1.0.0."
        raise UsageError(f"{place!r} is neither a folder nor OWNER/NAME@TAG", hint=hint)
    api = HfApi()
    commit = client.resolve(api, repo, tag)
    path = published_path(spec.name, Kind.CLUSTERING_IDS, "test")
    with tempfile.TemporaryDirectory(prefix="mteb-de-ids-") as folder:
        return checked_sets(client.download(api, repo, commit, path, Path(folder)))


def _refuse_foreign(place: str, sets: pl.DataFrame) -> None:
    ids = sets["submission_ids"].explode()
    wrong = ids.filter(~ids.str.contains(rf"^(?:{SUBMISSION_ID.pattern})$").fill_null(value=False))
    uneven = sets.filter(pl.col("submission_ids").list.len() != pl.col("labels").list.len())
    if len(wrong) or uneven.height or sets.is_empty():
        what = f"{wrong[0]!a} is not the id of a submission" if len(wrong) else "ids and labels do not agree"
        raise UsageError(f"{place}: {what}", hint="Look whether it is a release of this command.")
