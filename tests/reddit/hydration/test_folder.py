"""What consumers find in the folder of texts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from builders.configs.subreddit import CONFIG
from builders.errors import StorageError
from builders.files import sha256
from builders.reddit.folder import NAME, read_record, sets_in
from builders.reddit.hydrate import hydrate
from builders.tables import Kind
from tests.fixtures.submissions import posts
from tests.reddit.hydration.kit import QUIET, World, dump

_LOAD = """
import json, sys
import mteb
from datasets import load_dataset
from mteb.abstasks.clustering_legacy import AbsTaskClusteringLegacy

path, *configs = sys.argv[1:]
told = {}
for config in configs:

    class Probe(AbsTaskClusteringLegacy):
        metadata = mteb.TaskMetadata(
            name="Probe", description="German clustering", type="Clustering", category="t2c",
            main_score="v_measure", eval_splits=["test"], eval_langs=["deu-Latn"],
            dataset={"path": path, "revision": "main", "name": config},
        )

    rows = load_dataset(path, config, split="test").to_list()
    result = mteb.evaluate(mteb.get_model("mteb/baseline-random-encoder"), Probe(), cache=None)
    (scores,) = result.task_results[0].scores["test"]
    told[config] = {"rows": rows, "v_measure": scores["v_measure"]}
print(json.dumps(told))
"""


@pytest.mark.long
def test_datasets_load_it_and_the_unmodified_mteb_scores_both_tasks(world: World, tmp_path: Path) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    kinds = (Kind.CLUSTERING_S2S, Kind.CLUSTERING_P2P)
    configs = [f"subreddit-{kind}" for kind in kinds]
    settings = {
        "HF_HOME": str(tmp_path / "hub"),
        "HF_HUB_OFFLINE": "1",
        "MTEB_CACHE": str(tmp_path / "mteb"),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, str(world.out), *configs],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    for config, kind in zip(configs, kinds, strict=True):
        assert told[config]["rows"] == world.table(kind).to_dicts()
        assert 0 < told[config]["v_measure"] < 1


def test_the_card_says_that_texts_stay_here(world: World) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    text = (world.out / "README.md").read_text(encoding="utf-8")
    assert "do not publish them" in text and "mteb-de recheck subreddit" in text
    assert not any(data["title"] in text for data in world.server.submissions.values())


def test_the_card_says_which_texts_are_of_a_stand_in(world: World, tmp_path: Path) -> None:
    path = dump(tmp_path, posts())
    known = replace(CONFIG, archives={sha256(path): "RS_2026-01"})
    of_dump = world.options(reddit=None, dumps=(path,), home=tmp_path / "other")
    for spec, options, made_up in (
        (CONFIG, world.options(), True), (CONFIG, of_dump, True), (known, of_dump, False),
    ):  # fmt: skip
        assert hydrate(spec, options, QUIET).stand_in is made_up
        assert ("they tell nothing of" in (world.out / "README.md").read_text(encoding="utf-8")) is made_up


def test_the_record_tells_what_is_there(world: World) -> None:
    assert read_record(world.out) is None and sets_in(world.out, "subreddit") is None
    record = hydrate(CONFIG, world.options(), QUIET)
    assert read_record(world.out) == record
    document = json.loads((world.out / NAME).read_text(encoding="utf-8"))
    assert (document["schema_version"], document["date"]) == (1, "2026-01-05")
    assert set(document["sets"][0]) == {
        "number", "published", "there", "share", "comparable", "left_out", "gone",
    }  # fmt: skip


@pytest.mark.parametrize("data", [b"{}", b"kein JSON", b'{"schema_version": 1, "config": 3}'])
def test_a_damaged_record_is_told(tmp_path: Path, data: bytes) -> None:
    (tmp_path / NAME).write_bytes(data)
    with pytest.raises(StorageError, match="not the record of hydrated texts"):
        read_record(tmp_path)
