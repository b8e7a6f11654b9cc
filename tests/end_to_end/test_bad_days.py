"""Bad days of a build: a clear error, the right exit code, and nothing half-written."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders.rehearsal import Store, serve
from tests.end_to_end.bad_days import (
    GERMANDPR,
    JOBS,
    POSTINGS,
    Bench,
    contents,
    from_hub,
    left_behind,
    tables,
)
from tests.end_to_end.driver import Fate, Ran
from tests.end_to_end.kit import with_upstreams, without_network
from tests.marks import long_after

CORPUS = f"{GERMANDPR}/corpus/corpus-00000-of-00001.parquet"
QUERIES = f"{GERMANDPR}/queries/queries-00000-of-00001.parquet"
QRELS = f"{GERMANDPR}/data/test-00000-of-00001.parquet"
TRAIN = f"{POSTINGS}/data/train-00000-of-00001.parquet"


def assert_told(ran: Ran, code: int, *words: str) -> None:
    """The run ended with `code`, and its last lines are an error with these words and a hint."""
    assert ran.code == code, ran.err
    assert ran.out == ""
    error = ran.err.partition("error: ")[2]
    for word in words:
        assert word in error
    assert "should not have happened" not in error
    assert any(line.startswith("       ") for line in error.splitlines()), "there is no hint"


def cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def overwrite_inside(path: Path) -> None:
    data = path.read_bytes()
    start, end = len(data) // 8, len(data) // 3
    path.write_bytes(data[:start] + b"\xff" * (end - start) + data[end:])


def without(column: str) -> Callable[[Path], None]:
    return lambda path: pl.read_parquet(path).drop(column).write_parquet(path)


def null_in_row_5(column: str) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        kept = pl.when(pl.int_range(pl.len()) != 4).then(column).alias(column)
        pl.read_parquet(path).with_columns(kept).write_parquet(path)

    return spoil


def empty(path: Path) -> None:
    pl.read_parquet(path).clear().write_parquet(path)


@pytest.mark.parametrize(
    ("spoil", "file", "code", "words"),
    [
        (cut, CORPUS, 2, (CORPUS, "not a whole parquet file")),
        (overwrite_inside, CORPUS, 2, (CORPUS, "damaged parquet")),
        (cut, TRAIN, 2, (TRAIN, "not a whole parquet file")),
        (without("text"), QUERIES, 2, (QUERIES, "column 'text' is missing (expected string)")),
        (without("kldb_2010"), TRAIN, 2, (TRAIN, "column 'kldb_2010' is missing (expected string)")),
        (empty, QUERIES, 1, ("germandpr", "empty-split")),
        (Path.unlink, CORPUS, 2, ("mteb/GermanDPR", "config 'corpus'", "corpus/corpus-*")),
        (Path.unlink, f"{GERMANDPR}/README.md", 2, (f"{GERMANDPR}/README.md", "no such file")),
    ],
)
def test_a_damaged_upstream_is_named_and_the_earlier_build_stays(
    bench: Bench, tmp_path: Path, spoil: Callable[[Path], None], file: str, code: int, words: tuple[str, ...]
) -> None:
    upstreams = shutil.copytree(bench.upstreams, tmp_path / "upstreams")
    spoil(upstreams / file)
    config = JOBS if file == TRAIN else ("germandpr",)
    earlier = bench.jobs if file == TRAIN else bench.germandpr
    out = bench.starting_from(earlier, tmp_path)
    ran = bench.build(*config, out=out, fate=Fate({"MTEB_DE_SOURCES": str(upstreams)}))
    assert_told(ran, code, *words)
    assert contents(out) == contents(earlier)
    assert not left_behind(tmp_path)


@pytest.mark.parametrize(("column", "file"), [("_id", QUERIES), ("corpus-id", QRELS), ("id", TRAIN)])
def test_a_row_without_an_id_is_dropped_and_noted(
    bench: Bench, tmp_path: Path, column: str, file: str
) -> None:
    upstreams = shutil.copytree(bench.upstreams, tmp_path / "upstreams")
    null_in_row_5(column)(upstreams / file)
    config = JOBS if file == TRAIN else ("germandpr",)
    out = tmp_path / "dist"
    ran = bench.build(*config, out=out, fate=Fate({"MTEB_DE_SOURCES": str(upstreams)}))
    assert (ran.code, "rows-without-id" in ran.err) in {(0, True), (1, True)}, ran.err
    dropped = pl.read_parquet(next(out.glob("work/*/dropped.parquet")))
    assert dropped.filter(pl.col("reason") == "no_id")["id"].to_list() == [f"{Path(file).name}, row 5"]


def test_an_unknown_revision(bench: Bench, tmp_path: Path) -> None:
    store = Store()
    store.add_folder("dataset", "mteb/GermanDPR", bench.upstreams / GERMANDPR, "0" * 40)
    with serve(store) as hub:
        ran = bench.build("germandpr", out=tmp_path / "dist", fate=from_hub(hub.endpoint, tmp_path))
    assert_told(ran, 2, "mteb/GermanDPR at 64a4860e55ba6d8fcb923d5306d08e08b1c72794: no such revision")
    assert contents(tmp_path / "dist") == {}


@pytest.mark.parametrize(
    "config", [("jobs", "--encoder", "offline"), pytest.param(("germandpr",), marks=pytest.mark.long)]
)
def test_no_network(bench: Bench, tmp_path: Path, config: tuple[str, ...]) -> None:
    fate = from_hub(without_network()["HF_ENDPOINT"], tmp_path)
    ran = bench.build(*config, out=tmp_path / "dist", fate=fate)
    assert_told(ran, 2, "cannot be reached", "Connection refused", "HF_ENDPOINT", "--offline")
    assert contents(tmp_path / "dist") == {}


def test_no_network_for_the_model(bench: Bench, tmp_path: Path) -> None:
    settings = {"HF_HOME": str(tmp_path), "MTEB_DE_HOME": str(tmp_path)}
    ran = bench.build("jobs", "--limit", "40", out=tmp_path / "dist", fate=Fate(settings))
    assert_told(ran, 2, "intfloat/multilingual-e5-base@d128750597", "--encoder offline")
    assert contents(tmp_path / "dist") == {}


def test_a_damaged_file_of_the_cache_is_fetched_again(bench: Bench, tmp_path: Path) -> None:
    out = tmp_path / "dist"
    with serve(with_upstreams(bench.upstreams)) as hub:
        fate = from_hub(hub.endpoint, tmp_path)
        assert bench.build("germandpr", out=out, fate=fate).code == 0
        built = contents(out)
        view = next((tmp_path / "home").rglob("corpus-00000-of-00001.parquet"))
        found = view.resolve()
        found.chmod(0o644)
        overwrite_inside(found)

        offline = bench.build("germandpr", "--offline", out=out, fate=fate)
        assert_told(offline, 2, "corpus-00000-of-00001.parquet (is damaged in the cache", "--offline")
        assert contents(out) == built

        asked = len(hub.log)
        assert bench.build("germandpr", out=out, fate=fate).code == 0
    assert contents(out) == built
    assert {Path(request.path).name for request in hub.log[asked:]} >= {view.name}
    assert bench.build("germandpr", "--offline", out=out, fate=fate).code == 0


def test_the_disk_is_full_when_a_file_arrives(bench: Bench, tmp_path: Path) -> None:
    out = tmp_path / "dist"
    with serve(with_upstreams(bench.upstreams)) as hub:
        fate = from_hub(hub.endpoint, tmp_path)
        ran = bench.build("germandpr", out=out, fate=replace(fate, largest_file=3_000))
        assert_told(ran, 2, "mteb/GermanDPR", "corpus-00000-of-00001.parquet", "File too large", "Free some")
        assert contents(out) == {}
        assert not left_behind(tmp_path)
        assert bench.build("germandpr", out=out, fate=fate).code == 0
    assert tables(out) == tables(bench.germandpr)


def test_damaged_vectors_are_encoded_again(bench: Bench, tmp_path: Path) -> None:
    home = shutil.copytree(bench.home, tmp_path / "home")
    overwrite_inside(next((home / "vectors").rglob("passage-*.npy")))
    out = tmp_path / "dist"
    ran = bench.build(*JOBS, out=out, fate=Fate({"MTEB_DE_HOME": str(home)}))
    assert ran.code == 0, ran.err
    assert "is damaged and was removed" in ran.err
    assert "0 from the cache" in ran.err.partition("encode passage")[2].splitlines()[0]
    assert contents(out) == contents(bench.jobs)


@pytest.mark.parametrize("room", long_after(2, [600, 4_000, 1_500, 2_500, 6_000]))
def test_a_disk_that_is_full(bench: Bench, tmp_path: Path, room: int) -> None:
    out = tmp_path / "dist"
    ran = bench.build("germandpr", "--quiet", out=out, fate=Fate(largest_file=room))
    assert_told(ran, 2, f"{out}/", "cannot be written (File too large)", "Free some space")
    assert_cut_short(bench, out)


@pytest.mark.parametrize("kilobytes", long_after(1, [48, 4, 24, 64]))
def test_a_small_disk_that_is_full(bench: Bench, tmp_path: Path, kilobytes: int) -> None:
    with disk(tmp_path, kilobytes) as out:
        ran = bench.build("germandpr", out=out)
        assert_told(ran, 2, f"{out}/", "No space left on device")
        subprocess.run(["mount", "-o", "remount,size=4m", str(out)], check=True)
        assert_cut_short(bench, out)


def test_a_disk_that_may_only_be_read(bench: Bench, tmp_path: Path) -> None:
    with disk(tmp_path, 64) as out:
        subprocess.run(["mount", "-o", "remount,ro", str(out)], check=True)
        ran = bench.build("germandpr", out=out)
    assert_told(ran, 2, f"{out}/", "Read-only file system", "--out")


@contextmanager
def disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """Mount a disk of that size, where this process may."""
    out = folder / "disk"
    out.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(out)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a small disk; files of limited size stand in for it elsewhere")
    try:
        yield out
    finally:
        subprocess.run(["umount", str(out)], check=True)


def assert_cut_short(bench: Bench, out: Path) -> None:
    """Nothing under `out` is half-written or taken for a release; a build goes through as if nothing was."""
    assert not left_behind(out)
    assert bench.driver.run("check", "--dist", out).code != 0
    assert bench.build("germandpr", out=out).code == 0
    assert contents(out) == contents(bench.germandpr)


def test_the_disk_is_full_when_the_log_is_written(bench: Bench, tmp_path: Path) -> None:
    out = bench.starting_from(bench.germandpr, tmp_path)
    log = out / "work/germandpr/build.log"
    log.write_bytes(b"\n" * 8_000)
    ran = bench.build("germandpr", out=out, fate=Fate(largest_file=8_000))
    assert_told(ran, 2, f"{log}: cannot be written (File too large)")
    assert contents(out) == contents(bench.germandpr)


@pytest.mark.long
def test_the_disk_is_full_when_vectors_are_kept(bench: Bench, tmp_path: Path) -> None:
    out, settings = tmp_path / "dist", {"MTEB_DE_HOME": str(tmp_path / "home")}
    ran = bench.build(*JOBS, out=out, fate=Fate(settings, largest_file=30_000))
    assert_told(ran, 2, f"{tmp_path}/home/vectors/", ".npy: cannot be written", "MTEB_DE_HOME")
    assert not left_behind(tmp_path)
    assert contents(out) == {}
    assert bench.build(*JOBS, out=out, fate=Fate(settings)).code == 0
    assert contents(out) == contents(bench.jobs)


@pytest.mark.parametrize(
    ("taken", "out", "home"),
    [
        ("dist", "dist", None),
        ("dist", "dist/deeper", None),
        ("dist/mteb-de", "dist", None),
        ("dist/work", "dist", None),
        ("home", "dist", "home"),
        ("home", "dist", "home/deeper"),
    ],
)
def test_a_file_in_the_place_of_a_folder(
    bench: Bench, tmp_path: Path, taken: str, out: str, home: str | None
) -> None:
    (tmp_path / taken).parent.mkdir(exist_ok=True)
    (tmp_path / taken).write_bytes(b"mine")
    settings = {"MTEB_DE_HOME": str(tmp_path / home if home else bench.home)}
    ran = bench.build(*JOBS, out=tmp_path / out, fate=Fate(settings))
    words = ("cannot be written", "a file, not a folder", "--out", "MTEB_DE_HOME")
    assert_told(ran, 2, f"{tmp_path}/{taken}/", *words)
    assert (tmp_path / taken).read_bytes() == b"mine"
    assert not left_behind(tmp_path)


def test_a_folder_in_the_place_of_the_lock_file(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "dist/.lock").mkdir(parents=True)
    ran = bench.build("germandpr", out=tmp_path / "dist")
    assert_told(ran, 2, f"{tmp_path}/dist: not a folder that can be written (Is a directory)", "--out")


def test_sources_that_are_not_there(bench: Bench, tmp_path: Path) -> None:
    settings = {"MTEB_DE_SOURCES": f"{bench.upstreams},{tmp_path / 'nowhere'}"}
    ran = bench.build("germandpr", out=tmp_path / "dist", fate=Fate(settings))
    assert_told(ran, 2, f"{tmp_path}/nowhere: not a folder", "MTEB_DE_SOURCES")


@pytest.mark.parametrize("words", [("germandrp",), ("germandpr", "germandrp", "--sample")])
def test_an_unknown_config_stops_everything_before_it_begins(
    bench: Bench, tmp_path: Path, words: tuple[str, ...]
) -> None:
    ran = bench.build(*words, out=tmp_path / "dist")
    assert_told(ran, 2, "unknown config 'germandrp'", "Did you mean germandpr?")
    assert not (tmp_path / "dist").exists()


def test_what_an_earlier_build_left_is_removed(bench: Bench, tmp_path: Path) -> None:
    out = bench.starting_from(bench.germandpr, tmp_path)
    release = out / "mteb-de"
    kept = {"README.md": b"# Karte", "jobs/queries/test.parquet": b"of another config"}
    stale = (
        "germandpr/hard_negatives/test.parquet",
        "germandpr/qrels/validation.parquet",
        "germandpr/old/x/y",
    )
    for name, data in kept.items() | dict.fromkeys((*stale, ".manifest.json.x.tmp"), b"stale").items():
        (release / name).parent.mkdir(parents=True, exist_ok=True)
        (release / name).write_bytes(data)
    (release / "germandpr/link").symlink_to(tmp_path)
    for taken in ("corpus/corpus.parquet", "queries"):  # a folder for a file, a file for a folder
        path = release / "germandpr" / taken
        if path.is_dir():
            shutil.rmtree(path)
            path.write_bytes(b"stale")
        else:
            path.unlink()
            (path / "deeper").mkdir(parents=True)
    assert bench.build("germandpr", out=out).code == 0
    wanted = contents(bench.germandpr) | {f"mteb-de/{name}": data for name, data in kept.items()}
    assert contents(out) == wanted
    assert not [path for path in release.rglob("*") if path.is_symlink() or path.name in {"old", "deeper"}]
