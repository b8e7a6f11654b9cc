from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from builders import registry
from builders.built import has_texts, read_hydrated
from builders.encoders import Role
from builders.errors import Refused, StorageError
from builders.evaluation.candidates import Candidate, candidate
from builders.evaluation.jobs import EvalOptions, Evaluation, evaluate
from builders.evaluation.published import Published, compare
from builders.evaluation.results import ClusteringResult
from builders.lock.lock import work_folder
from tests.encoders.hashing import HashEncoder
from tests.evaluation.built import Told
from tests.evaluation.hydrated import WORDS, write_hydrated

SPEC = registry.load("subreddit")
CONFIGS = ["subreddit-clustering-s2s", "subreddit-clustering-p2p"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_hydrated(tmp_path / "hydrated")


def run(folder: Path, *ones: Candidate, told: Told | None = None, obstacle: str = "") -> Evaluation:
    texts = {"subreddit": read_hydrated(folder, SPEC, not_comparable=obstacle)}
    options = EvalOptions(out=folder.parent / "dist", texts=texts)
    return evaluate([SPEC], ones or [candidate("hashing")], options, told or Told())


def test_hydrated_texts_are_clustered_as_built_ones_are(folder: Path) -> None:
    found = run(folder)
    assert [one.config for one in found.results] == CONFIGS
    assert [len(one.sets) for one in found.results if isinstance(one, ClusteringResult)] == [2, 2]
    assert not found.chances and [one.encoder.name for one in found.baselines] == ["random"] * 2


def test_rules_that_need_labels_are_not_clustered_and_this_is_told(folder: Path) -> None:
    told = Told()
    for name in ("oracle", "constant"):
        assert run(folder, candidate(name), told=told).results == ()
        assert f"{name}: gives no vectors: left out of clustering" in told.lines


def test_results_are_kept_by_the_rows_of_the_texts(folder: Path) -> None:
    first, told = run(folder), Told()
    assert run(folder, told=told) == first
    assert [line for line in told.lines if line.endswith("hashing minibatch-kmeans kept")] == [
        f"{config}: hashing minibatch-kmeans kept" for config in CONFIGS
    ]
    write_hydrated(folder, there=0.5)  # another record of the same texts
    told = Told()
    assert run(folder, told=told).results == first.results
    assert sum("hashing" in line and "kept" in line for line in told.lines) == 2
    write_hydrated(folder, mark="neu")
    told = Told()
    run(folder, told=told)
    assert not any("kept" in line for line in told.lines)


def test_no_text_is_kept(folder: Path) -> None:
    run(folder)
    kept = list(work_folder(folder.parent / "dist", "subreddit").rglob("*.json"))
    words = [word for words in WORDS.values() for word in words.split()]
    assert kept and not [path for path in kept if any(word in path.read_text("utf-8") for word in words)]


def test_a_score_of_what_is_left_is_not_compared(folder: Path) -> None:
    found = run(folder, obstacle="zu wenig übrig")
    (fact,) = [
        Published(
            task="RedditClusteringS2S(de)",
            model="verein/modell",
            model_revision="",
            dataset_revision="",
            mteb_version="1",
            pipeline="minibatch-kmeans",
            metric="v_measure",
            value=0.9,
            source="a test",
        )
    ]
    facts = {"name": "verein/modell@abcdef1", "model": "verein/modell", "revision": "abcdef1"}
    result = found.results[0]
    ours = result.model_copy(update={"encoder": result.encoder.model_copy(update=facts)})
    (line,) = compare([ours], found.configs, (fact,))
    assert (line.verdict, line.why) == ("not comparable", "zu wenig übrig")


def test_texts_that_change_meanwhile_are_noticed(folder: Path) -> None:
    class Meddling(HashEncoder):
        def truncate(self, texts: Sequence[str], role: Role) -> list[str]:
            write_hydrated(folder, mark="neu")
            return super().truncate(texts, role)

    encoder = Meddling(max_length=4_000)
    one = Candidate("x", "dense", lambda _: encoder, lambda: encoder, cached=False)
    with pytest.raises(Refused, match="other texts are there since"):
        run(folder, one)
    assert not list(work_folder(folder.parent / "dist", "subreddit").rglob("*.json"))


def test_a_config_of_ids_without_texts_says_what_to_do(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(StorageError, match="no texts to evaluate") as caught:
        evaluate([SPEC], [candidate("hashing")], EvalOptions(out=tmp_path), Told())
    assert "mteb-de hydrate subreddit" in caught.value.hint
    assert has_texts(folder, "subreddit")
    table = folder / "subreddit/clustering-p2p/test.parquet"
    table.write_bytes(b"PAR1")
    with pytest.raises(StorageError, match="not a parquet file"):
        run(folder)
    table.unlink()
    assert not has_texts(folder, "subreddit")
    with pytest.raises(StorageError, match="no texts to evaluate"):
        run(folder)
