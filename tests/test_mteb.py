"""The unmodified mteb loads and scores the published configs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from builders import registry
from builders.build import Options, build
from builders.cli.output import Lines
from builders.demo.sample_clustering import lay_out
from builders.describe import Target, render
from builders.lock.manifest import locks_of
from builders.spec import RELEASES
from tests.describe.test_sets import TARGET

_SCORE = """
import json, sys
import numpy as np, mteb
from mteb.abstasks.clustering_legacy import AbsTaskClusteringLegacy
from mteb.models.model_meta import ModelMeta

path, config = sys.argv[1:]


class Task(AbsTaskClusteringLegacy):
    metadata = mteb.TaskMetadata(
        name="Probe", description="German clustering", type="Clustering", category="t2c",
        main_score="v_measure", eval_splits=["test"], eval_langs=["deu-Latn"],
        dataset={"path": path, "revision": "v1.0.0", "name": config},
    )


task = Task()
task.load_data()
rows = task.dataset["test"]
result = mteb.evaluate(mteb.get_model("mteb/baseline-random-encoder"), Task(), cache=None)
(scores,) = result.task_results[0].scores["test"]
print(json.dumps({
    "rows": len(rows), "sentences": [len(row["sentences"]) for row in rows],
    "first": [rows[0]["sentences"][0], rows[0]["labels"][0]], "v_measure": scores["v_measure"],
    "each": scores["v_measures"] if "v_measures" in scores else None, "version": mteb.__version__,
}))
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release, as it would be published."""
    out = tmp_path_factory.mktemp("mteb")
    lay_out(out / "sample")
    options = Options(out=out, offline=True, sources=(str(out / "sample"),), committed=out / "none")
    for name in ("blurbs", "tenkgnad"):
        build(registry.load(name), options, Lines(quiet=True))
    target: Target = TARGET
    for path, data in render(RELEASES["tecb-de"], tuple(locks_of(out, "tecb-de").values()), target).items():
        (out / "tecb-de" / path).write_bytes(data)
    return out / "tecb-de"


@pytest.mark.parametrize("config", ["blurbs-clustering-s2s", "tenkgnad-clustering-p2p"])
def test_mteb_loads_and_scores_a_config_from_the_published_folder(
    config: str, release: Path, tmp_path: Path
) -> None:
    settings = {
        "HF_HOME": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1", "MTEB_CACHE": str(tmp_path / "mteb"),
        "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", _SCORE, str(release), config],
        env=os.environ | settings, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    name, _, kind = config.partition("-")
    table = pl.read_parquet(release / name / kind / "test.parquet")
    assert told["version"] == "2.26.24"
    assert told["rows"] == table.height
    assert told["sentences"] == table["sentences"].list.len().to_list()
    assert told["first"] == [table["sentences"][0][0], table["labels"][0][0]]
    assert 0 < told["v_measure"] < 1
