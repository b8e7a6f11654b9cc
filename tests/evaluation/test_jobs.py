from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from builders import files, registry
from builders.encoders import Role
from builders.errors import EncoderError, Refused, StorageError, UsageError
from builders.evaluation.candidates import Candidate, candidate
from builders.evaluation.jobs import EvalOptions, Evaluation, evaluate, failed
from builders.evaluation.results import ClusteringResult, RetrievalResult
from builders.evaluation.sanity import check
from builders.evaluation.vmeasure import read_sets, score_pipelines, unique_texts
from builders.lock.lock import read_lock, work_folder
from tests.encoders.hashing import HashEncoder
from tests.evaluation.built import Told, build_sample

ROOT = Path(__file__).parents[2]
CONFIGS = ("germandpr", "tenkgnad")
SLOW = ("agglomerative", "pca+minibatch-kmeans")
SPECS = [registry.load(name) for name in CONFIGS]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    build_sample(folder, *CONFIGS)
    evaluate(SPECS, [], EvalOptions(out=folder / "dist"), Told())  # what needs no encoder is kept
    return folder / "dist"


@pytest.fixture
def out(shared: Path, tmp_path: Path) -> Path:
    """A copy of the built tree that a test may change."""
    shutil.copytree(shared, tmp_path / "dist")
    return tmp_path / "dist"


@pytest.fixture(scope="module")
def _scored(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = shutil.copytree(shared, tmp_path_factory.mktemp("scored") / "dist")
    run(folder, "hashing")
    return folder


@pytest.fixture
def scored(_scored: Path, tmp_path: Path) -> Path:
    """A copy of the built tree with the results of one encoder."""
    return Path(shutil.copytree(_scored, tmp_path / "scored"))


def copy_of(out: Path) -> Path:
    return Path(shutil.copytree(out, out.parent / "copy" / "dist"))


def sets_of(out: Path, variant: str) -> pl.DataFrame:
    return read_sets(out / f"tecb-de/tenkgnad/clustering-{variant}/test.parquet")


def run(
    out: Path,
    *names: str,
    told: Told | None = None,
    split: str = "test",
    pipelines: tuple[str, ...] = ("minibatch-kmeans",),
    resamples: int = 1000,
) -> Evaluation:
    options = EvalOptions(out=out, split=split, pipelines=pipelines, resamples=resamples)
    return evaluate(SPECS, [candidate(name) for name in names], options, told or Told())


def kept(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.glob("work/*/eval/*"))}


def dumped(found: Evaluation) -> list[str]:
    return [one.model_dump_json() for one in (*found.results, *found.baselines)]


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
    assert len(rules) == 4 + 2 and set(found.chances) == {"germandpr/test"}


def test_a_second_run_computes_nothing(out: Path) -> None:
    first = run(out, "hashing", "bm25", "oracle")
    before, told = kept(out), Told()
    times = {path: path.stat().st_mtime_ns for path in out.glob("work/*/eval/*")}
    second = run(out, "hashing", "bm25", "oracle", told=told)
    assert dumped(second) == dumped(first)  # the order of scores and levels too
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
    assert run(out, "hashing", resamples=3).results != tests
    assert before.items() < kept(out).items()


def test_each_text_is_encoded_once_for_all_configs(out: Path, tmp_path: Path) -> None:
    encoder = HashEncoder(max_length=4_000)
    one = Candidate("gezählt", "dense", lambda _: encoder, lambda: encoder)
    sets = [sets_of(out, variant) for variant in ("s2s", "p2p")]
    options = EvalOptions(
        out=out, vectors=tmp_path / "vectors", pipelines=("minibatch-kmeans", "pca+agglomerative")
    )
    evaluate(SPECS[1:], [one], options, Told())
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
    options = EvalOptions(out=out, vectors=tmp_path / "vectors")
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
        "import os, signal, sys; from pathlib import Path; from tests.evaluation import test_jobs as t\n"
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


def test_a_killed_run_keeps_single_sets(out: Path) -> None:
    """The process is killed when two sets of the first table are scored; these are not scored again."""
    program = (
        "import os, signal, sys; from pathlib import Path; from tests.evaluation import test_jobs as t\n"
        "class Fatal(t.Told):\n"
        "    def tick(self, name, done, total):\n"
        "        name.startswith('cluster') and done == 2 and os.kill(os.getpid(), signal.SIGKILL)\n"
        "t.run(Path(sys.argv[1]), 'hashing', told=Fatal(), pipelines=t.SLOW)\n"
    )
    before = kept(out)
    done = subprocess.run([sys.executable, "-c", program, str(out)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    parts = [
        path
        for path in kept(out).keys() - before.keys()
        if path.startswith("work/tenkgnad") and len(json.loads((out / path).read_bytes())) == 2
    ]
    assert len(parts) == 1
    whole = copy_of(out)
    (whole / parts[0]).unlink()
    marked = json.loads((out / parts[0]).read_bytes())
    (out / parts[0]).write_text(json.dumps([marked[0] | {"v_measure": 0.5}, marked[1]]), encoding="utf-8")
    changed, fresh = (
        run(out, "hashing", pipelines=SLOW).results,
        run(whole, "hashing", pipelines=SLOW).results,
    )
    values = [
        ([score.v_measure for score in one.sets], [score.v_measure for score in other.sets])
        for one, other in zip(changed, fresh, strict=True)
        if isinstance(one, ClusteringResult) and isinstance(other, ClusteringResult)
    ]
    unequal = [(ours, theirs) for ours, theirs in values if ours != theirs]
    assert len(values) == 4 and len(unequal) == 1
    ((ours, theirs),) = unequal
    assert ours[0] == 0.5 and ours[1:] == theirs[1:]


def test_sets_scored_one_by_one_are_those_scored_together(out: Path) -> None:
    sets = sets_of(out, "s2s")
    texts = unique_texts([sets])
    encoder = candidate("hashing").clustering
    assert encoder is not None
    vectors = encoder().encode(texts.to_list(), "passage")
    found = {
        one.pipeline: one
        for one in run(out, "hashing", pipelines=SLOW).results
        if "s2s" in one.config and isinstance(one, ClusteringResult)
    }
    for one in score_pipelines(
        sets, texts, vectors, found[SLOW[0]].encoder, config="tenkgnad-clustering-s2s", pipelines=SLOW
    ):
        assert found[one.pipeline].model_dump() == one.model_dump()


def test_a_damaged_result_is_computed_again(scored: Path) -> None:
    first = run(scored, "hashing")
    for path in scored.glob("work/*/eval/*"):
        path.write_bytes(path.read_bytes()[:-20])
    assert run(scored, "hashing") == first


@pytest.mark.parametrize("gone", ["scores", "sets", "ami", "ndcg_at_10", "ndcg_at_10_shared_error"])
def test_what_lacks_something_is_computed_again(scored: Path, gone: str) -> None:
    """Valid JSON, and for some a valid result, but not all that is needed of it."""
    first, before, changed = run(scored, "hashing"), kept(scored), 0
    for path in scored.glob("work/*/eval/*"):
        document = json.loads(path.read_bytes())
        if isinstance(document, list):
            if gone == "sets":
                document = document[:-1]
            elif gone in document[0]:
                del document[-1][gone]
            else:
                continue
        elif gone == "scores" and gone in document:
            document = document | {"scores": {}}
        elif gone in document:
            del document[gone]
        elif gone in document.get("scores", {}):
            del document["scores"][gone]
        else:
            continue
        changed += 1
        path.write_text(json.dumps(document), encoding="utf-8")
    assert changed and run(scored, "hashing") == first and kept(scored) == before


def test_a_config_that_was_not_built_is_told_with_the_command(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as caught:
        run(tmp_path, "hashing")
    assert caught.value.hint == f"Run: mteb-de build germandpr --out {tmp_path}"


def test_what_there_is_not_is_refused(out: Path) -> None:
    with pytest.raises(StorageError, match="validation"):
        run(out, "hashing", split="validation")
    with pytest.raises(UsageError, match="k-modes"):
        run(out, "hashing", pipelines=("k-modes",))


CHANGES = ["mteb-de/germandpr/queries/test.parquet", "tecb-de/tenkgnad/clustering-p2p/test.parquet"]


@pytest.mark.parametrize("path", CHANGES)
@pytest.mark.parametrize("tree", ["scored", "out"])
def test_rows_that_are_not_those_of_the_lock_are_refused(
    request: pytest.FixtureRequest, path: str, tree: str
) -> None:
    """Also where everything was scored before, so that no row would be read again."""
    out: Path = request.getfixturevalue(tree)
    rows = pl.read_parquet(out / path)
    rows.head(2).write_parquet(out / path)
    with pytest.raises(StorageError, match=r"test\.parquet: not the file that was built") as caught:
        run(out, "hashing")
    assert caught.value.hint.endswith(f"--out {out}")
    (out / path).unlink()
    with pytest.raises(StorageError, match=r"test\.parquet: not the file that was built"):
        run(out, "hashing")


def test_other_rows_are_other_results(scored: Path) -> None:
    """A build that publishes other queries replaces the files and their hashes in the lock."""
    out = scored
    first = run(out, "hashing").results
    relock(out, "queries", pl.read_parquet(out / "mteb-de/germandpr/queries/test.parquet").head(2))
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
        evaluate(SPECS, [Candidate("x", "dense", making, making, cached=False)], EvalOptions(out=out), Told())
    assert kept(out) == before


class Broken(HashEncoder):
    """Its vectors are of no use for one role."""

    def __init__(self, role: str, value: float) -> None:
        super().__init__(max_length=4_000, revision=f"{role} {value}")
        self.role, self.value = role, value

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        vectors = super().encode(texts, role)
        if role == self.role:
            vectors[0] = self.value
        return vectors


def broken(name: str, role: str, value: float) -> Candidate:
    encoder = Broken(role, value)
    return Candidate(name, "dense", lambda _: encoder, lambda: encoder, cached=False)


@pytest.mark.parametrize(
    ("role", "value", "scored"), [("query", np.nan, 2), ("passage", 1e30, 1), ("passage", np.nan, 0)]
)
def test_what_one_encoder_cannot_do_keeps_no_other_from_being_scored(
    out: Path, role: str, value: float, scored: int
) -> None:
    ones = [candidate("hashing"), broken("kaputt", role, value), candidate("bm25")]
    found = evaluate(SPECS, ones, EvalOptions(out=out), Told())
    names = [one.encoder.name for one in found.results]
    assert (names.count("hashing"), names.count("bm25"), names.count("kaputt")) == (3, 1, scored)
    assert found.failures and {one.encoder for one in found.failures} == {"kaputt"}
    assert all(one.error.message.startswith("kaputt: ") for one in found.failures)
    assert failed(found.failures).exit_code == 2 and "kaputt: " in failed(found.failures).message
    assert len(found.baselines) == 4 + 2


def test_an_encoder_that_is_alone_and_fails_is_the_error(out: Path) -> None:
    with pytest.raises(EncoderError, match="kaputt: "):
        evaluate(SPECS[1:], [broken("kaputt", "passage", np.nan)], EvalOptions(out=out), Told())


def test_a_config_that_cannot_be_scored_keeps_no_other_from_being_scored(out: Path) -> None:
    """A build of few rows may have a split without pairs."""
    relock(out, "qrels", pl.read_parquet(out / "mteb-de/germandpr/qrels/test.parquet").clear())
    found = run(out, "hashing", "bm25")
    assert {one.config for one in found.results} == {"tenkgnad-clustering-s2s", "tenkgnad-clustering-p2p"}
    assert ["no query" in one.error.message for one in found.failures] == [True]
    assert not found.chances
    assert check(found.results, found.baselines, found.chances) == []


def relock(out: Path, kind: str, rows: pl.DataFrame) -> None:
    """Replace a table of the test split as another build would."""
    table = out / f"mteb-de/germandpr/{kind}/test.parquet"
    rows.write_parquet(table)
    path = work_folder(out, "germandpr") / "lock.json"
    lock = read_lock(path)
    new = {"sha256": files.sha256(table), "content": "0" * 64}
    changed = tuple(
        one.model_copy(update=new if one.path.endswith(f"{kind}/test.parquet") else {}) for one in lock.files
    )
    files.write_json(path, lock.model_copy(update={"files": changed}).model_dump(mode="json"))
