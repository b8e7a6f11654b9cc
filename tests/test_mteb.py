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
from builders.build.order import Options, build
from builders.cli.output import Lines
from builders.demo.bundled import lay_out
from builders.describe import render
from builders.files import write_bytes
from builders.lock.lock import locks_of
from builders.spec import RELEASES
from tests.describe.test_sets import TARGET

_SCORE = """
import json, sys
import mteb
from mteb.abstasks.clustering_legacy import AbsTaskClusteringLegacy

path, *configs = sys.argv[1:]
told = {"version": mteb.__version__}
for config in configs:

    class Task(AbsTaskClusteringLegacy):
        metadata = mteb.TaskMetadata(
            name="Probe", description="German clustering", type="Clustering", category="t2c",
            main_score="v_measure", eval_splits=["test"], eval_langs=["deu-Latn"],
            dataset={"path": path, "revision": "v1.0.0", "name": config},
        )

    task = Task()
    task.load_data()
    result = mteb.evaluate(mteb.get_model("mteb/baseline-random-encoder"), Task(), cache=None)
    (scores,) = result.task_results[0].scores["test"]
    told[config] = {"rows": list(task.dataset["test"]), "v_measure": scores["v_measure"]}
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release, as it would be published."""
    out = tmp_path_factory.mktemp("mteb")
    lay_out(out / "sample")
    options = Options(out=out, offline=True, sources=(str(out / "sample"),), committed=out / "none")
    for name in ("blurbs", "tenkgnad"):
        build(registry.load(name), options, Lines(quiet=True))
    for path, data in render(RELEASES["tecb-de"], tuple(locks_of(out, "tecb-de").values()), TARGET).items():
        write_bytes(out / "tecb-de" / path, data)
    return out / "tecb-de"


def test_mteb_loads_and_scores_configs_from_the_published_folder(release: Path, tmp_path: Path) -> None:
    configs = ("blurbs-clustering-s2s", "tenkgnad-clustering-p2p")
    settings = {
        "HF_HOME": str(tmp_path / "hub"),
        "HF_HUB_OFFLINE": "1",
        "MTEB_CACHE": str(tmp_path / "mteb"),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", _SCORE, str(release), *configs],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["version"] == "2.26.24"
    for config in configs:
        name, _, kind = config.partition("-")
        assert told[config]["rows"] == pl.read_parquet(release / name / kind / "test.parquet").to_dicts()
        assert 0 < told[config]["v_measure"] < 1
