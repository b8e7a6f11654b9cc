"""What whole builds do with the encoders: without network, and with texts that are too long."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl
import pytest

from builders import registry
from builders.build.order import Options, build
from builders.demo.bundled import lay_out
from builders.encoders.offline import OfflineE5
from builders.lock.committed import stand_ins
from builders.lock.lock import read_lock
from builders.rehearsal import Hub, serve
from tests.encoders.dequantise import tiny_weights, write_model
from tests.encoders.probe import BASE

MISSING = f"{BASE.model}@{BASE.revision}: offline, and the cache lacks its commit"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """A Hub with a tiny model under the name and revision that are pinned."""
    folder = tmp_path_factory.mktemp("model")
    write_model(tiny_weights(positions=BASE.max_length), folder)
    with serve() as running:
        running.store.add_folder("model", BASE.model, folder, BASE.revision)
        yield running


def build_jobs(hub: Hub, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    words = ("build", "jobs", "--sample", "--limit", "40", "--out", str(folder / "dist"), *words)
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "builders", *words],
        env=hub.environment(folder / "clients", token=None) | {"MTEB_DE_HOME": str(folder / "home")},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def files(folder: Path) -> dict[str, bytes]:
    paths = [*(folder / "dist/mteb-de").rglob("*.parquet"), folder / "dist/work/jobs/lock.json"]
    return {path.name if path.suffix == ".json" else str(path): path.read_bytes() for path in paths}


@pytest.mark.long
def test_an_offline_build_with_e5_never_asks_the_network(hub: Hub, tmp_path: Path) -> None:
    cold = build_jobs(hub, tmp_path, "--offline")
    assert (cold.returncode, hub.log) == (2, [])
    assert MISSING in " ".join(cold.stderr.split())

    online = build_jobs(hub, tmp_path)
    assert online.returncode == 0, online.stderr
    built, asked = files(tmp_path), len(hub.log)
    assert asked > 0
    lock = read_lock(tmp_path / "dist/work/jobs/lock.json")
    assert lock.mining is not None and set(lock.mining.encoder.files) > {"config.json", "model.safetensors"}
    assert f"jobs: {BASE.model} came from a stand-in for the Hub" in stand_ins(lock)
    assert not list((tmp_path / "clients/hub").rglob("*.safetensors")), "the Hub's cache is the Hub's"

    shutil.rmtree(tmp_path / "home")
    cached_model = build_jobs(hub, tmp_path, "--offline")
    assert cached_model.returncode == 0, cached_model.stderr
    assert ", 0 from the cache" in cached_model.stderr
    assert files(tmp_path) == built

    shutil.rmtree(tmp_path / "clients")
    cached_vectors = build_jobs(hub, tmp_path, "--offline")
    assert cached_vectors.returncode == 0, cached_vectors.stderr
    assert " 0 encoded" in cached_vectors.stderr
    assert files(tmp_path) == built
    assert len(hub.log) == asked


@dataclass
class Told:
    """Progress that keeps the steps."""

    steps: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def title(self, text: str) -> None:
        pass

    def step(self, name: str, *lines: str) -> None:
        self.steps[name] = lines

    def tick(self, name: str, done: int, total: int) -> None:
        pass


def test_texts_that_were_cut_are_told_and_kept_in_the_lock(tmp_path: Path) -> None:
    limit = 40
    spec = registry.load_retrieval("jobs")
    assert spec.mining is not None
    encoder = replace(spec.mining.encoder, max_length=limit)
    lay_out(tmp_path / "sample")
    options = Options(
        out=tmp_path / "dist",
        encoder="offline",
        offline=True,
        sources=(str(tmp_path / "sample"),),
        limit=20,
        workers=1,
        home=tmp_path / "home",
    )
    told = Told()
    lock = build(replace(spec, mining=replace(spec.mining, encoder=encoder)), options, told)

    passages = pl.read_parquet(tmp_path / "dist/mteb-de/jobs/corpus/corpus.parquet")["text"].to_list()
    again = OfflineE5(limit, workers=1)
    cut = sum(
        text != short for text, short in zip(passages, again.truncate(passages, "passage"), strict=True)
    )
    again.close()
    assert 0 < cut < len(passages)
    assert lock.mining is not None
    assert lock.mining.truncated == {"query": 0, "passage": cut}
    assert f"{cut} cut to {limit} tokens" in told.steps["encode passage"][0]
    assert "cut" not in told.steps["encode query"][0]
    kept = json.loads((tmp_path / "dist/work/jobs/mining.json").read_bytes())
    assert kept["truncated"]["passage"] == cut
