"""What tests of bad days share: small upstreams, whole builds to compare with, ways to look at a tree."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from tests.end_to_end.driver import Driver, Fate, Ran

JOBS = ("jobs", "--limit", "24", "--encoder", "offline", "--workers", "1")
GERMANDPR = "datasets/mteb/GermanDPR"
POSTINGS = "datasets/mischeiwiller/german-job-postings"


@dataclass(frozen=True)
class Bench:
    """A driver, the bundled sample laid out as upstreams are, and undisturbed builds of it.

    Attributes:
        germandpr: A folder that holds a build of germandpr.
        jobs: A folder that holds a build of `JOBS`.
        home: The caches that both were built with.
    """

    driver: Driver
    upstreams: Path
    germandpr: Path
    jobs: Path
    home: Path

    def build(self, *words: str | Path, out: Path, fate: Fate | None = None) -> Ran:
        return self.driver.run("build", *words, "--out", out, fate=fate)

    def starting_from(self, tree: Path, folder: Path) -> Path:
        """Return a folder with a copy of a built tree."""
        return shutil.copytree(tree, folder / "dist")


def contents(out: Path) -> dict[str, bytes]:
    """Return what a build is judged by: every file of the release, and the locks."""
    paths = [path for path in out.glob("mteb-de/**/*") if not path.is_dir()]
    paths += out.glob("work/*/lock.json")
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(paths)}


def tables(out: Path) -> dict[str, bytes]:
    """Return the published tables alone; a lock also tells where its upstreams came from."""
    return {name: data for name, data in contents(out).items() if name.endswith(".parquet")}


def from_hub(endpoint: str, folder: Path) -> Fate:
    """Return the fate of a run whose upstreams are on a Hub, and whose caches lie in `folder`."""
    return Fate({
        "MTEB_DE_SOURCES": "",
        "MTEB_DE_HOME": str(folder / "home"),
        "HF_HOME": str(folder / "clients"),
        "HF_ENDPOINT": endpoint,
        "NO_PROXY": "127.0.0.1",
    })


def left_behind(*folders: Path) -> list[Path]:
    """Return temporary files, which no build may leave."""
    return [path for folder in folders for path in folder.rglob(".*.tmp")]


def processes_with(word: str) -> list[int]:
    """Return the ids of the processes that have `word` in their environment."""
    needle, found = word.encode(), []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if needle in environment.read_bytes():
                found.append(int(environment.parent.name))
        except OSError:  # it has ended by now
            continue
    return found


def wait_until_gone(word: str, seconds: float = 60.0) -> None:
    """Wait for the end of all processes that have `word` in their environment."""
    end = time.monotonic() + seconds
    while (left := processes_with(word)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not left, f"processes {left} outlive the build that started them"
