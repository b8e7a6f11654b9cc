"""Where published ids are read from."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from builders import files
from builders.configs.subreddit import CONFIG
from builders.errors import SourceMissing, StorageError, UsageError
from builders.reddit.hydrate import hydrate
from builders.reddit.published import read_published
from builders.tables import SCHEMAS, Kind, frame_bytes, published_path
from tests.reddit.hydration.kit import QUIET, World
from tests.release.kit import api_of, loopback

PATH = published_path("subreddit", Kind.CLUSTERING_IDS, "test")
REPO = "verein/tecb-de"


def sets(*ids: str | None, labels: tuple[str | None, ...] = ("Beete", "Teich")) -> pl.DataFrame:
    return pl.DataFrame(
        [(list(ids), list(labels))], schema=pl.Schema(SCHEMAS[Kind.CLUSTERING_IDS]), orient="row"
    )


def write(folder: Path, frame: pl.DataFrame) -> Path:
    files.write_bytes(
        folder / PATH, frame_bytes(Kind.CLUSTERING_IDS, frame.cast(pl.Schema(SCHEMAS[Kind.CLUSTERING_IDS])))
    )
    return folder


@pytest.mark.parametrize("below", ["", "tecb-de"])
def test_a_release_folder_or_the_folder_of_releases_is_read(tmp_path: Path, below: str) -> None:
    write(tmp_path / below, sets("abcde", "12345"))
    found = read_published(CONFIG, str(tmp_path))
    assert found.ids.equals(sets("abcde", "12345")) and found.origin == "a release folder"
    assert found.named() == ["12345", "abcde"]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (sets("abcde", "Wie geht das?"), "'Wie geht das?' is not the id of a submission"),
        (sets("abcde", "ABCDE"), "'ABCDE' is not the id"),
        (sets("abcde", "12345\n"), "is not the id"),
        (sets("abcde"), "ids and labels do not agree"),
        (sets("abcde", "12345").clear(), "there is no set"),
        (pl.concat([sets("abcde", "12345"), sets().with_columns(labels=None)]), "one is null"),
        (sets(labels=()), "ids and labels do not agree"),
        (sets("abcde", "12345", labels=("Beete", "<b>")), "'<b>' is not the name of a subreddit"),
        (sets("abcde", "12345", labels=("Beete", "Teich\u202e")), "is not the name of a subreddit"),
        (sets("abcde", "12345", labels=("Beete", "U_schreiberin")), "is not the name of a subreddit"),
        (sets("abcde", "12345", labels=("Beete", None)), "null is not the name of a subreddit"),
        (sets("abcde", None), "null is not the id"),
        (sets("abcde", "abcde"), "abcde stands in set 1 more than once"),
    ],
)
def test_foreign_values_are_told(tmp_path: Path, frame: pl.DataFrame, message: str) -> None:
    write(tmp_path, frame)
    with pytest.raises(UsageError) as error:
        read_published(CONFIG, str(tmp_path))
    assert message in error.value.message


def test_a_damaged_or_foreign_file_is_told(tmp_path: Path) -> None:
    files.write_bytes(tmp_path / PATH, frame_bytes(Kind.CLUSTERING_IDS, pl.DataFrame({"text": ["Hallo"]})))
    with pytest.raises(StorageError, match="not a table of submission_ids, labels"):
        read_published(CONFIG, str(tmp_path))
    files.write_bytes(tmp_path / PATH, b"PAR1 und dann nichts")
    with pytest.raises(StorageError, match="not a parquet file"):
        read_published(CONFIG, str(tmp_path))


def test_a_tag_on_the_hub_is_read_and_hydrated(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    before = hydrate(CONFIG, world.options(offline=False), QUIET)
    world.build()
    with loopback(monkeypatch) as hub:
        hub.store.add_folder("dataset", REPO, world.release)
        api_of(hub).create_tag(REPO, tag="v1.0.0", repo_type="dataset")
        record = hydrate(CONFIG, world.options(origin=f"{REPO}@v1.0.0", offline=False), QUIET)
        commit = api_of(hub).repo_info(REPO, repo_type="dataset").sha
        assert record.origin == f"{REPO}@v1.0.0 ({commit})" and record.sets == before.sets
        with pytest.raises(SourceMissing, match="no such revision"):
            hydrate(CONFIG, world.options(origin=f"{REPO}@v2.0.0", offline=False), QUIET)
        with pytest.raises(SourceMissing, match="no such repository"):
            hydrate(CONFIG, world.options(origin="verein/anderes@v1.0.0", offline=False), QUIET)


@pytest.mark.parametrize("revision", ["main", "b800bb2", "b" * 40, "v1.0.0/../main", "v1", "v1.0.0\n", ""])
def test_only_the_tag_of_a_release_is_taken(revision: str) -> None:
    with pytest.raises(UsageError, match="neither a folder nor OWNER/NAME@TAG"):
        read_published(CONFIG, f"{REPO}@{revision}")


def test_offline_does_not_ask_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(monkeypatch) as hub:
        with pytest.raises(SourceMissing, match="--offline does not ask"):
            read_published(CONFIG, f"{REPO}@v1.0.0", offline=True)
        assert not hub.log


@pytest.mark.parametrize("place", ["x" * 300, "a\0b", f"{'x' * 300}/name@v1"])
def test_a_place_that_no_file_can_have_is_told_in_a_few_words(place: str) -> None:
    with pytest.raises(UsageError) as error:
        read_published(CONFIG, place)
    assert "neither a folder nor" in error.value.message and len(error.value.message) < 150
