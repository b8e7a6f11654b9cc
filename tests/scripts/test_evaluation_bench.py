"""The bench of clustering evaluation, on a small world, and on the results that are committed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import builders
from builders.files import sha256
from scripts.bench import evaluation
from scripts.bench.evaluation_world import make

ROOT = Path(builders.__file__).parents[1]
_MEASURE = (
    "import json; from scripts.bench.evaluation import measure; print(json.dumps(measure(0, encode=False)))"
)


def test_the_note_is_what_the_results_make() -> None:
    results = json.loads(evaluation.RESULTS.read_bytes())
    assert evaluation.NOTE.read_text(encoding="utf-8") == evaluation.note(results)


def test_the_results_keep_what_is_promised() -> None:
    results = json.loads(evaluation.RESULTS.read_bytes())
    rows = {line["config"]: (line["sets"], line["rows"], line["unique"]) for line in results["configs"]}
    assert results["scale"] == 1
    assert rows["blurbs-clustering-p2p"] == (28, 174_637, 18_084)
    assert rows["tenkgnad-clustering-p2p"] == (10, 45_914, 10_275)
    assert len(rows) == 6
    bare = results["sums"]["k_means"]
    for clock in ("cpu", "wall"):
        assert results["ours_over_k_means"][clock] <= 1.2, clock
        assert results["evaluate"]["next"][clock] < results["evaluate"]["cold"][clock] <= 2 * bare[clock]
    assert results["mteb_over_ours_given_vectors"] >= 5
    assert results["mteb_over_ours_with_encoding"] >= 5


def test_sets_have_the_real_proportions(tmp_path: Path) -> None:
    subjects = make(tmp_path, 0.02)
    assert [subject.sets for subject in subjects] == [28, 28, 10, 10, 10, 10]
    for subject in subjects:
        assert subject.path.is_file()
        assert subject.file.sha256 == sha256(subject.path)
        assert subject.texts.n_unique() == len(subject.texts) == len(subject.vectors)
    assert 9 < subjects[0].rows / len(subjects[0].texts) < 11


@pytest.mark.long
def test_a_small_world_is_measured_and_agrees_with_mteb() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    assert [line["mteb"]["encoded"] for line in results["configs"]] == [
        line["rows"] for line in results["configs"]
    ]
    assert "| all | 96 |" in evaluation.note(results)
    assert results["evaluate"].keys() == {"cold", "next", "again"}
