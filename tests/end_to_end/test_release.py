"""From built tables to a release that the real clients read back."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from builders.rehearsal import Hub, Store, serve
from builders.tables import Kind, published_path
from tests.end_to_end.kit import Tree, build, run

pytestmark = pytest.mark.upstream

_LOAD = """
import json, sys
from datasets import load_dataset
repo, config, split, tag = sys.argv[1:]
print(json.dumps(load_dataset(repo, config, split=split, revision=tag).to_list()))
"""


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    """An empty Hub to publish to."""
    with serve(Store(orgs=["verein"])) as empty:
        yield empty


@pytest.fixture(scope="module")
def germandpr_alone(upstream_hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return build(upstream_hub, tmp_path_factory.mktemp("alone"), "germandpr")


@pytest.mark.long
def test_a_rehearsal_reads_every_row_back_over_the_wire(built: Tree, hub: Hub, tmp_path: Path) -> None:
    env, out = hub.environment(tmp_path), str(built.out)
    planned = run(
        "release", "plan", "mteb-de", "--repo", "verein/probe", "--out", out, env=env, home=built.home
    )
    assert planned.returncode == 0, planned.stderr
    assert not [request for request in hub.log if request.method not in {"GET", "HEAD"}]
    done = run("release", "rehearse", "mteb-de", "--out", out, "--json", env=env, home=built.home)
    assert done.returncode == 0, done.stderr
    receipt = json.loads(done.stdout)["receipt"]
    assert receipt["rows"]["jobs-qrels"]["test"] == built.table("jobs", Kind.QRELS, "test").height
    assert receipt["rows"]["germandpr-queries"] == {"train": 944, "dev": 118, "test": 119}


@pytest.mark.long
def test_no_gate_of_a_build_by_default_keeps_it_from_a_hub(built: Tree, hub: Hub, tmp_path: Path) -> None:
    words = ("release", "apply", "mteb-de", "--yes", "--out", str(built.out))
    done = run(*words, env=hub.environment(tmp_path), home=built.home)
    assert done.returncode == 0, done.stderr
    assert ("dataset", "verein/probe") in hub.store.repos


@pytest.mark.long
def test_a_release_is_applied_loaded_and_verified(germandpr_alone: Tree, hub: Hub, tmp_path: Path) -> None:
    tree, env = germandpr_alone, hub.environment(tmp_path)
    out = ("--out", str(tree.out))

    def release(*words: str) -> subprocess.CompletedProcess[str]:
        return run("release", *words, env=env, home=tree.home)

    assert release("plan", "mteb-de", "--repo", "verein/eins", *out).returncode == 0
    assert release("rehearse", "mteb-de", *out).returncode == 0
    applied = release("apply", "mteb-de", "--yes", *out)
    assert applied.returncode == 0, applied.stderr
    again = release("apply", "mteb-de", "--yes", *out)
    assert (again.returncode, "already" in again.stdout + again.stderr) == (0, True)

    before = len(hub.log)
    loaded = subprocess.run(
        [sys.executable, "-c", _LOAD, "verein/eins", "germandpr-qrels", "test", "v1.0.0"],
        env=hub.environment(tmp_path / "consumer"),
        capture_output=True,
        text=True,
        check=True,
    )
    published = tree.out / "mteb-de" / published_path("germandpr", Kind.QRELS, "test")
    assert json.loads(loaded.stdout) == pl.read_parquet(published).to_dicts()
    commit = json.loads(
        release("verify", "verein/eins@v1.0.0", "--dist", str(tree.out / "mteb-de"), "--json").stdout
    )["commit"]
    asked = [request.path for request in hub.log[before:] if request.method == "GET"]
    assert any(f"/resolve/{commit}/germandpr/qrels/test.parquet" in path or commit in path for path in asked)


@pytest.mark.long
def test_a_stale_parent_is_refused(germandpr_alone: Tree, hub: Hub, tmp_path: Path) -> None:
    tree, env = germandpr_alone, hub.environment(tmp_path)
    out = ("--out", str(tree.out))
    assert (
        run("release", "plan", "mteb-de", "--repo", "verein/zwei", *out, env=env, home=tree.home).returncode
        == 0
    )
    assert run("release", "rehearse", "mteb-de", *out, env=env, home=tree.home).returncode == 0
    hub.store.add_files("dataset", "verein/zwei", {"fremd.txt": b"x"})
    done = run("release", "apply", "mteb-de", "--yes", *out, env=env, home=tree.home)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert hub.store.repo("dataset", "verein/zwei").tags == {}
