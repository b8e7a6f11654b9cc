"""The command in processes of their own, against a Hub on loopback that serves the stand-in upstreams."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builders import registry
from builders.rehearsal import Hub, Store
from builders.spec import HubSource
from builders.tables import Kind, inside, published_path

_CLIENTS_OWN = "ignore:Use 'content=:DeprecationWarning"
"""A warning that the Hub's client raises about its own upload."""
ROWS = 200
"""Queries that the suite builds of `jobs`; scripts/acceptance builds all."""


@dataclass(frozen=True)
class Tree:
    """A folder that was built into, the caches used, and what the builds printed."""

    out: Path
    home: Path
    printed: str = ""

    def table(self, dataset: str, kind: Kind, split: str) -> pl.DataFrame:
        return inside(kind, pl.read_parquet(self.out / "mteb-de" / published_path(dataset, kind, split)))

    def all_splits(self, dataset: str, kind: Kind) -> pl.DataFrame:
        return pl.concat([self.table(dataset, kind, split) for split in ("train", "dev", "test")])

    def bytes_by_path(self) -> dict[str, bytes]:
        folder = self.out / "mteb-de"
        return {
            str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.parquet"))
        }


def with_upstreams(folder: Path) -> Store:
    """Return a Hub that holds the pinned datasets of all configs, taken from ``folder/datasets``."""
    store = Store(orgs=["verein"])
    for name in registry.names():
        for source in registry.load(name).sources:
            if isinstance(source, HubSource):
                store.add_folder("dataset", source.repo, folder / "datasets" / source.repo, source.revision)
    return store


def run(
    *words: str, env: Mapping[str, str], home: Path, threads: int = 2, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `mteb-de` with the clients' settings in `env` and caches in `home`."""
    settings = {
        "MTEB_DE_HOME": str(home),
        "OMP_NUM_THREADS": str(threads),
        "OPENBLAS_NUM_THREADS": str(threads),
    }
    kept = {name: value for name, value in env.items() if not name.startswith("MTEB_DE_")}
    return subprocess.run(
        [sys.executable, "-W", "error", "-W", _CLIENTS_OWN, "-m", "builders", *words],
        env=kept | settings,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=900,
        cwd=cwd,
        check=False,
    )


def build(hub: Hub, folder: Path, *words: str, home: Path | None = None, threads: int = 2) -> Tree:
    """Build under ``folder/dist`` from the Hub, with cold caches unless `home` is given."""
    home = home or folder / "home"
    tree = Tree(folder / "dist", home)
    done = run(
        "build", *words, "--encoder", "offline", "--workers", str(threads), "--out", str(tree.out),
        env=hub.environment(folder / "clients"), home=home, threads=threads,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return Tree(tree.out, home, done.stderr + done.stdout)


def without_network() -> dict[str, str]:
    """Return an environment in which every client would fail to connect."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    return kept | {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_DISABLE_XET": "1"}
