"""A whole small world: a Reddit on loopback, an upstream's list, and folders of one's own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.build.order import Options as BuildOptions
from builders.build.order import build
from builders.cli.output import Lines
from builders.configs.subreddit import CONFIG
from builders.lock.lock import Lock
from builders.reddit.hydrate import HydrateOptions
from builders.reddit.ledger import Ledger, dated_ledger, private_ledger
from builders.reddit.submission import Submission
from builders.tables import Kind, published_path
from tests.fixtures.submissions import DAY, posts, write_list
from tests.reddit_server import Server, serve

QUIET = Lines(quiet=True)
GONE = [f"p{label:02}x{number:02}" for label in range(14) for number in range(4)][:50]
"""Ids of the fixture that tests let go."""


@dataclass(frozen=True)
class World:
    """Where things lie, and the server that answers."""

    server: Server
    sources: Path
    home: Path
    dist: Path
    out: Path

    def options(self, **changes: object) -> HydrateOptions:
        plain = HydrateOptions(
            out=self.out, today=DAY, offline=True, sources=(str(self.sources),), home=self.home,
            reddit=self.server.url,
        )  # fmt: skip
        return replace(plain, **changes)  # type: ignore[arg-type]

    def build(self) -> Lock:
        """Build the config of ids from the ledger of this world."""
        options = BuildOptions(
            out=self.dist,
            offline=True,
            sources=(str(self.sources),),
            home=self.home,
            committed=self.dist / "none",
        )
        return build(CONFIG, options, QUIET)

    def table(self, kind: Kind) -> pl.DataFrame:
        return pl.read_parquet(self.out / published_path("subreddit", kind, "test"))

    @property
    def release(self) -> Path:
        return self.dist / CONFIG.release

    @property
    def dated(self) -> Path:
        return dated_ledger(CONFIG, self.home)

    @property
    def private(self) -> Path:
        return private_ledger(CONFIG, self.home).path

    def known(self) -> Mapping[str, Submission]:
        return Ledger(self.private).latest()

    def told(self) -> dict[str, str]:
        """Every file of this world by its path, temporary ones too, with its values in plain text."""
        folders = {self.home, self.dist, self.out}
        found = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
        return {str(path): told(path) for path in sorted(found)}

    def files_with(self, text: str) -> list[str]:
        """The files in which a text stands."""
        return [path for path, held in self.told().items() if text in held]

    def sentences(self) -> set[str]:
        """Every text that lies in the folder of texts."""
        return self.sentences_of(Kind.CLUSTERING_P2P)

    def sentences_of(self, kind: Kind) -> set[str]:
        """Every text of one variant."""
        return set(self.table(kind)["sentences"].explode())


def dump(folder: Path, made: dict[str, dict[str, Any]]) -> Path:
    """Write a dump that holds these submissions."""
    import zstandard

    lines = "".join(json.dumps(data) + "\n" for data in made.values())
    path = folder / "RS_2026-01.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(lines.encode()))
    return path


def told(path: Path) -> str:
    """The bytes of a file, and the values in it, which a table packs and JSON escapes."""
    data = path.read_bytes()
    text = data.decode("utf-8", errors="replace")
    if data[:4] == data[-4:] == b"PAR1":
        return f"{text}\n" + "\n".join(dict.fromkeys(_values(pl.read_parquet(path).to_dicts())))
    return text


def _values(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _values(one)
    else:
        yield str(value)


@contextmanager
def world(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Serve the fixture's submissions, all of them there."""
    made = posts()
    write_list(folder / "sources", [*made, *list(made)[:7], "leer001"])
    with serve(made) as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("MTEB_DE_HOME", str(folder / "home"))
        monkeypatch.setenv("MTEB_DE_SOURCES", str(folder / "sources"))
        monkeypatch.chdir(folder)
        yield World(server, folder / "sources", folder / "home", folder / "dist", folder / "dist/hydrated")
