from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders import files, registry
from builders.errors import Refused, StorageError, UsageError
from builders.evaluation.candidates import Candidate, candidate
from builders.evaluation.clustering import read_sets, unique_texts
from builders.evaluation.model import ClusteringResult, RetrievalResult
from builders.evaluation.run import Evaluation, Options, evaluate
from builders.lock.manifest import work_folder
from builders.lock.model import read_lock
from builders.spec import Clustering
from tests.encoders.hashing import HashEncoder
from tests.evaluation.built import Told, build_sample

ROOT = Path(__file__).parents[2]
CONFIGS = ("germandpr", "tenkgnad")
SPECS = [registry.load(name) for name in CONFIGS]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    build_sample(folder, *CONFIGS)
    evaluate(SPECS, [], Options(out=folder / "dist"), Told())  # what needs no encoder is kept
    return folder / "dist"


@pytest.fixture
def out(shared: Path, tmp_path: Path) -> Path:
    """A copy of the built tree that a test may change."""
    import shutil

    shutil.copytree(shared, tmp_path / "dist")
    return tmp_path / "dist"


def run(
    out: Path,
    *names: str,
    told: Told | None = None,
    split: str = "test",
    pipelines: tuple[str, ...] = ("minibatch-kmeans",),
    resamples: int = 1000,
) -> Evaluation:
    options = Options(out=out, split=split, pipelines=pipelines, resamples=resamples)
    return evaluate(SPECS, [candidate(name) for name in names], options, told or Told())


def kept(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.glob("work/*/eval/*"))}


def test_every_config_variant_and_pipeline_has_a_result(out: Path) -> None:
    found = run(out, "hashing", "bm25", pipelines=("minibatch-kmeans", "pca+minibatch-kmeans"))
    searched = [one for one in found.results if isinstance(one, RetrievalResult)]
    clustered = [one for one in found.results if isinstance(one, ClusteringResult)]
    assert [(one.config, one.encoder.name) for one in searched] == [
        ("germandpr", "hashing"),
        ("germandpr", "bm25"),
    ]
    assert len({(one.config, one.pipeline) for one in clustered}) == len(clustered) == 4
    assert {one.encoder.name for one in clustered} == {"hashing"}
    assert [one.encoder.dimensions for one in searched] == [2048, 0]
    rules = {(one.config, one.encoder.name) for one in found.baselines}
    assert len(rules) == 4 + 2 * 3 and set(found.chances) == {"germandpr/test"} | {
        one.config for one in clustered
    }


def test_a_second_run_computes_nothing(out: Path) -> None:
    first = run(out, "hashing", "bm25", "oracle")
    before, told = kept(out), Told()
    times = {path: path.stat().st_mtime_ns for path in out.glob("work/*/eval/*")}
    for path in out.rglob("*.parquet"):
        path.unlink()  # nothing of it is read again
    for spec in SPECS:
        (work_folder(out, spec.name) / "classes.parquet").unlink(missing_ok=True)
    second = run(out, "hashing", "bm25", "oracle", told=told)
    assert second == first
    assert kept(out) == before
    assert times == {path: path.stat().st_mtime_ns for path in out.glob("work/*/eval/*")}
    assert not any("nDCG" in line or " V " in line for line in told.lines)
    assert "germandpr/test: hashing kept" in told.lines


def test_other_parameters_are_other_results(out: Path) -> None:
    tests = run(out, "hashing").results
    everything = run(out, "hashing", split="all").results
    assert isinstance(tests[0], RetrievalResult) and isinstance(everything[0], RetrievalResult)
    assert tests[0].queries < everything[0].queries
    assert tests[1:] == everything[1:]
    before = kept(out)
    assert run(out, "hashing", resamples=50).results != tests
    assert before.items() < kept(out).items()


def test_each_text_is_encoded_once_for_all_configs(out: Path, tmp_path: Path) -> None:
    encoder = HashEncoder(max_length=4_000)
    one = Candidate("gezählt", "dense", lambda _: encoder, lambda: encoder)
    sets = [read_sets(out, spec, v) for spec in SPECS if isinstance(spec, Clustering) for v in ("s2s", "p2p")]
    clustering = [spec for spec in SPECS if isinstance(spec, Clustering)]
    options = Options(
        out=out, vectors=tmp_path / "vectors", pipelines=("minibatch-kmeans", "pca+agglomerative")
    )
    evaluate(clustering, [one], options, Told())
    assert encoder.asked == 2 * len(unique_texts(sets))  # cut and encoded
    assert len(unique_texts(sets)) < sum(len(unique_texts([one])) for one in sets) + 1


def test_raw_vectors_are_searched_by_cosine_and_clustered_raw(out: Path, tmp_path: Path) -> None:
    class Long(HashEncoder):
        normalised = False

        def vector(self, text: str, role: str) -> np.ndarray:
            return super().vector(text, "query") * np.float32(1 + len(text))

    class Unit(HashEncoder):
        def vector(self, text: str, role: str) -> np.ndarray:
            return super().vector(text, "query")

    long, unit = Long(max_length=4_000, revision="long"), Unit(max_length=4_000, revision="unit")
    options = Options(out=out, vectors=tmp_path / "vectors")
    found = evaluate(
        SPECS,
        [
            Candidate("long", "dense", lambda _: long, lambda: long),
            Candidate("unit", "dense", lambda _: unit, lambda: unit),
        ],
        options,
        Told(),
    ).results
    searched = [one for one in found if isinstance(one, RetrievalResult)]
    clustered = {one.encoder.name: one for one in found if one.config == "tenkgnad-clustering-p2p"}
    assert searched[0].scores == searched[1].scores
    assert clustered["long"] != clustered["unit"].model_copy(update={"encoder": clustered["long"].encoder})


def test_a_killed_run_goes_on(out: Path, tmp_path: Path) -> None:
    """The process is killed after its second result of three; the results are those of a run that was not."""
    program = (
        "import os, signal, sys; from pathlib import Path; from tests.evaluation import test_run as t\n"
        "class Fatal(t.Told):\n"
        "    def step(self, name, *lines):\n"
        "        super().step(name, *lines)\n"
        "        len(self.lines) == 2 and os.kill(os.getpid(), signal.SIGKILL)\n"
        "t.run(Path(sys.argv[1]), 'hashing', told=Fatal())\n"
    )
    at_first = kept(out)
    done = subprocess.run([sys.executable, "-c", program, str(out)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    before, told = kept(out), Told()
    assert len(before) == len(at_first) + 2
    again = run(out, "hashing", told=told)
    assert before.items() <= kept(out).items()
    assert sum("hashing" in line and line.endswith("kept") for line in told.lines) == 2
    assert len(kept(out)) == len(at_first) + 3
    assert again == run(out, "hashing")


def test_a_damaged_result_is_computed_again(out: Path) -> None:
    first = run(out, "hashing")
    for path in out.glob("work/*/eval/*"):
        path.write_bytes(path.read_bytes()[:-20])
    assert run(out, "hashing") == first


def test_a_config_that_was_not_built_is_told_with_the_command(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as caught:
        run(tmp_path, "hashing")
    assert caught.value.hint == f"Run: mteb-de build germandpr --out {tmp_path}"


def test_what_there_is_not_is_refused(out: Path) -> None:
    with pytest.raises(UsageError, match="validation"):
        run(out, "hashing", split="validation")
    with pytest.raises(UsageError, match="k-modes"):
        run(out, "hashing", pipelines=("k-modes",))


def swap_a_file(out: Path) -> None:
    path = next(out.glob("mteb-de/germandpr/queries/test.parquet"))
    pl.read_parquet(path).head(2).write_parquet(path)


def test_rows_that_are_not_those_of_the_lock_are_refused(out: Path) -> None:
    swap_a_file(out)
    with pytest.raises(StorageError, match=r"test\.parquet: not the file that was built"):
        run(out, "hashing")


def test_other_rows_are_other_results(out: Path) -> None:
    """A build that publishes other queries replaces the files and their hashes in the lock."""
    first = run(out, "hashing").results
    swap_a_file(out)
    path = work_folder(out, "germandpr") / "lock.json"
    lock = read_lock(path)
    rows = out / "mteb-de/germandpr/queries/test.parquet"
    new = {"sha256": files.sha256(rows), "content": "0" * 64}
    changed = tuple(
        one.model_copy(update=new if one.path.endswith("queries/test.parquet") else {}) for one in lock.files
    )
    files.write_json(path, lock.model_copy(update={"files": changed}).model_dump(mode="json"))
    second = run(out, "hashing").results
    assert isinstance(second[0], RetrievalResult) and second[0].queries == 2
    assert second[1:] == first[1:]


def test_a_build_meanwhile_is_noticed(out: Path) -> None:
    class Meddling(HashEncoder):
        def encode(self, texts: list[str], role: str) -> np.ndarray:  # type: ignore[override]
            (work_folder(out, "germandpr") / "lock.json").unlink(missing_ok=True)
            return super().encode(texts, role)  # type: ignore[arg-type]

    before, encoder = kept(out), Meddling(max_length=4_000)
    making: Callable[..., HashEncoder] = lambda *_: encoder  # noqa: E731
    with pytest.raises(Refused, match="another build"):
        evaluate(SPECS, [Candidate("x", "dense", making, making, cached=False)], Options(out=out), Told())
    assert kept(out) == before
