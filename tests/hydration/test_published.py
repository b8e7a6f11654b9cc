"""Where published ids are read from."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from builders import files
from builders.configs.subreddit import CONFIG
from builders.errors import SourceMissing, StorageError, UsageError
from builders.hydration import hydrate
from builders.hydration.published import read_published
from builders.parquet import encode, frame_bytes
from builders.tables import SCHEMAS, Kind, Table, published_path
from tests.hydration.kit import QUIET, World
from tests.release.kit import api_of, loopback

PATH = published_path("subreddit", Kind.CLUSTERING_IDS, "test")
REPO = "verein/tecb-de"


def sets(*ids: str, labels: tuple[str, ...] = ("Beete", "Teich")) -> pl.DataFrame:
    return pl.DataFrame(
        [(list(ids), list(labels))], schema=pl.Schema(SCHEMAS[Kind.CLUSTERING_IDS]), orient="row"
    )


def write(folder: Path, frame: pl.DataFrame) -> Path:
    data, _ = encode(Table("subreddit", Kind.CLUSTERING_IDS, "test", frame))
    files.write_bytes(folder / PATH, data)
    return folder


@pytest.mark.parametrize("below", ["", "tecb-de"])
def test_a_release_folder_or_the_folder_of_releases_is_read(tmp_path: Path, below: str) -> None:
    write(tmp_path / below, sets("abcde", "12345"))
    assert read_published(CONFIG, str(tmp_path)).equals(sets("abcde", "12345"))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (sets("abcde", "Wie geht das?"), "'Wie geht das?' is not the id of a submission"),
        (sets("abcde", "ABCDE"), "'ABCDE' is not the id"),
        (sets("abcde", "12345\n"), "is not the id"),
        (sets("abcde"), "ids and labels do not agree"),
        (sets("abcde", "12345").clear(), "ids and labels do not agree"),
    ],
)
def test_foreign_values_are_told(tmp_path: Path, frame: pl.DataFrame, message: str) -> None:
    write(tmp_path, frame)
    with pytest.raises(UsageError) as error:
        read_published(CONFIG, str(tmp_path))
    assert message in error.value.message


def test_a_damaged_or_foreign_file_is_told(tmp_path: Path) -> None:
    files.write_bytes(tmp_path / PATH, frame_bytes(pl.DataFrame({"text": ["Hallo"]})))
    with pytest.raises(StorageError, match="not a table of submission_ids, labels"):
        read_published(CONFIG, str(tmp_path))
    files.write_bytes(tmp_path / PATH, b"PAR1 und dann nichts")
    with pytest.raises(StorageError, match="not a parquet file"):
        read_published(CONFIG, str(tmp_path))


def test_a_tag_on_the_hub_is_read_and_hydrated(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    before = hydrate(CONFIG, world.options(), QUIET)
    world.build()
    with loopback(monkeypatch) as hub:
        hub.store.add_folder("dataset", REPO, world.release)
        api_of(hub).create_tag(REPO, tag="v1.0.0", repo_type="dataset")
        record = hydrate(CONFIG, world.options(origin=f"{REPO}@v1.0.0"), QUIET)
        assert record.origin == f"{REPO}@v1.0.0" and record.sets == before.sets
        with pytest.raises(SourceMissing, match="no revision v2"):
            hydrate(CONFIG, world.options(origin=f"{REPO}@v2.0.0"), QUIET)
        with pytest.raises(SourceMissing, match="no such dataset"):
            hydrate(CONFIG, world.options(origin="verein/anderes@v1.0.0"), QUIET)
