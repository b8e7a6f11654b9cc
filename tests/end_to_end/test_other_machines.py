"""The same bytes on a second maintainer's machine, and none that tells of the machine or of the day."""

from __future__ import annotations

import datetime
import getpass
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.end_to_end.bad_days import contents
from tests.end_to_end.kit import without_network

WORDS = ("build", "germandpr", "jobs", "--sample", "--limit", "20", "--encoder", "offline", "--offline")
HERE = {
    "PYTHONHASHSEED": "1",
    "TZ": "Pacific/Kiritimati",
    "LC_ALL": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
}
THERE = {
    "PYTHONHASHSEED": "4711",
    "TZ": "America/Adak",
    "LC_ALL": "POSIX",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
    "OMP_NUM_THREADS": "2",
    "POLARS_MAX_THREADS": "3",
}


@contextmanager
def building(folder: Path, out: str, workers: int, umask: int, settings: dict[str, str]) -> Iterator[Path]:
    """Build in a folder of its own, with cold caches; the block runs meanwhile."""
    folder.mkdir()
    root = Path(__file__).parents[2]
    environment = without_network() | {"PYTHONPATH": str(root), "MTEB_DE_HOME": str(folder / "home")}
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "builders", *WORDS, "--workers", str(workers), "--out", out],
        env=environment | settings,
        cwd=folder,
        umask=umask,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as build:
        yield folder / out
        _, said = build.communicate()
    assert build.returncode == 0, said.decode(errors="replace")


@pytest.fixture(scope="module")
def outs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("machines")
    with (
        building(folder / "hier", "dist", 1, 0o022, HERE) as here,
        building(folder / "ganz woanders", "tief/unten/die ausgabe", 2, 0o077, THERE) as there,
    ):
        pass
    return here, there


@pytest.mark.long
def test_a_second_machine_gives_the_same_bytes(outs: tuple[Path, Path]) -> None:
    here, there = map(contents, outs)
    assert here.keys() == there.keys()
    assert [name for name in here if here[name] != there[name]] == []
    of_v0 = [name for name in here if "/hard_negatives_v0/" in name]  # splits without rows are not there
    assert len(here) == 7 + 10 + len(of_v0) + len(["manifest", "lock of germandpr", "lock of jobs"])


@pytest.mark.long
def test_no_byte_tells_of_the_day_the_place_or_the_maintainer(outs: tuple[Path, Path]) -> None:
    now = datetime.datetime.now(datetime.UTC)
    days = [now + datetime.timedelta(hours=hours) for hours in (-36, -12, 0, 14)]  # all zones, any hour
    words = {day.strftime(form) for day in days for form in ("%Y-%m-%d", "%Y%m%d", "%d.%m.%Y", "%d/%m/%Y")}
    words |= {str(out) for out in outs} | {"ausgabe", "Kiritimati", "Adak", f"/{getpass.getuser()}/"}
    for out in outs:
        for name, data in contents(out).items():
            plain = data
            if name.endswith(".parquet"):  # its pages are compressed
                plain += repr(pq.read_table(out / name).to_pydict()).encode()
            assert [word for word in words if word.encode() in plain] == [], name
