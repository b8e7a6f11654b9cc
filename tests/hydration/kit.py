"""A whole small world: a Reddit on loopback, an upstream's list, and folders of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pytest

from builders.build import Options as BuildOptions
from builders.build import build
from builders.cli.output import Lines
from builders.configs.subreddit import CONFIG
from builders.hydration import Options
from builders.hydration.run import dated_ledger, private_ledger
from builders.lock.model import Lock
from builders.sources.reddit.ledger import Ledger
from builders.sources.reddit.model import Submission
from builders.tables import Kind, published_path
from tests.fixtures.submissions import DAY, posts, write_list
from tests.reddit_server import Server, serve

QUIET = Lines(quiet=True)


@dataclass(frozen=True)
class World:
    """Where things lie, and the server that answers."""

    server: Server
    sources: Path
    home: Path
    dist: Path
    out: Path

    def options(self, **changes: object) -> Options:
        plain = Options(
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
        return build(CONFIG, options, QUIET).lock

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
        return private_ledger(CONFIG, self.home)

    def known(self) -> dict[str, Submission]:
        return Ledger(self.private).latest()

    def sentences(self) -> set[str]:
        """Every text that lies in the folder of texts."""
        return self.sentences_of(Kind.CLUSTERING_P2P)

    def sentences_of(self, kind: Kind) -> set[str]:
        """Every text of one variant."""
        return set(self.table(kind)["sentences"].explode())


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
