"""The fourteen pipelines of the paper, each on groups that it must find."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import v_measure_score

from builders.errors import UsageError
from builders.evaluation import pipelines
from builders.evaluation.pipelines import PIPELINES, Reduction

REDUCTIONS: tuple[Reduction, ...] = ("none", "pca", "umap", "pca+umap")
LABELS = np.repeat(np.arange(3), 50)


def quick_first(names: Iterable[str]) -> list[object]:
    """Leave to the long run what waits for UMAP to be compiled."""
    return [pytest.param(one, marks=pytest.mark.long if "umap" in one else ()) for one in names]


@pytest.fixture(scope="module")
def blobs() -> NDArray[np.float32]:
    """Three groups of fifty vectors, far apart in length and direction."""
    centres = 4 * np.eye(3, 60)
    noise = np.random.default_rng(0).standard_normal((len(LABELS), 60))
    return (centres[LABELS] + 0.05 * noise).astype(np.float32)


@pytest.fixture(scope="module")
def reduced(blobs: NDArray[np.float32]) -> Callable[[Reduction], NDArray[np.float32]]:
    return functools.cache(lambda reduction: pipelines.reduce(blobs, reduction, seed=42))


def test_they_are_those_of_the_paper() -> None:
    assert next(iter(PIPELINES)) == "minibatch-kmeans"
    assert set(PIPELINES) == {
        "minibatch-kmeans",
        "pca+minibatch-kmeans",
        "umap+minibatch-kmeans",
        "pca+umap+minibatch-kmeans",
        "agglomerative",
        "pca+agglomerative",
        "umap+agglomerative",
        "pca+umap+agglomerative",
        "pca+hdbscan",
        "umap+hdbscan",
        "pca+umap+hdbscan",
        "pca+dbstream",
        "umap+dbstream",
        "pca+umap+dbstream",
    }
    assert PIPELINES["pca+umap+hdbscan"] == pipelines.Pipeline("pca+umap", "hdbscan")


@pytest.mark.parametrize("name", quick_first(PIPELINES))
def test_each_finds_three_groups(name: str, reduced: Callable[[Reduction], NDArray[np.float32]]) -> None:
    pipeline = PIPELINES[name]
    clusters = pipelines.cluster(reduced(pipeline.reduction), pipeline.algorithm, 3, seed=42)
    assert clusters.shape == LABELS.shape
    assert clusters.dtype == np.int64
    assert v_measure_score(LABELS, clusters) > 0.9


@pytest.mark.parametrize("reduction", quick_first(REDUCTIONS[1:]))
def test_a_reduction_leaves_two_dimensions_and_depends_on_its_seed_alone(
    reduction: Reduction, blobs: NDArray[np.float32], reduced: Callable[[Reduction], NDArray[np.float32]]
) -> None:
    assert reduced(reduction).shape == (len(LABELS), 2)
    assert reduced(reduction).dtype == np.float32
    again = pipelines.reduce(blobs, reduction, seed=42)
    np.testing.assert_array_equal(again, reduced(reduction))
    if "umap" in reduction:
        assert not np.array_equal(pipelines.reduce(blobs, reduction, seed=1), again)


@functools.cache
def of_few(rows: int, reduction: Reduction, *, alike: bool) -> NDArray[np.float32]:
    """Few vectors, reduced: drawn ones, or the same one in every row."""
    drawn = np.random.default_rng(rows).standard_normal((rows, 8)).astype(np.float32)
    return pipelines.reduce(np.ones_like(drawn) if alike else drawn, reduction, seed=42)


@pytest.mark.parametrize("name", quick_first(PIPELINES))
@pytest.mark.parametrize("rows", [2, 4, 17])
def test_small_sets_and_equal_vectors_pass(name: str, rows: int) -> None:
    pipeline = PIPELINES[name]
    for alike in (False, True):
        reduced = of_few(rows, pipeline.reduction, alike=alike)
        assert pipelines.cluster(reduced, pipeline.algorithm, 2, seed=42).shape == (rows,)


def test_names_are_chosen_once_and_unknown_ones_refused() -> None:
    chosen = pipelines.choose(["pca+hdbscan", "minibatch-kmeans", "pca+hdbscan"])
    assert [pipeline.name for pipeline in chosen] == ["pca+hdbscan", "minibatch-kmeans"]
    with pytest.raises(UsageError, match="no pipeline k-medoids"):
        pipelines.choose(["minibatch-kmeans", "k-medoids"])


@pytest.mark.parametrize(
    ("module", "name", "library"),
    [("umap", "pca+umap+hdbscan", "umap-learn"), ("river", "pca+dbstream", "river")],
)
def test_a_missing_library_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, module: str, name: str, library: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    pipelines.choose(["minibatch-kmeans", "pca+agglomerative", "pca+hdbscan"])
    with pytest.raises(UsageError, match=f"needs {library}") as raised:
        pipelines.choose([name])
    assert raised.value.hint == "From a checkout: pip install -c constraints.txt -e '.[clustering]'"


def test_a_set_too_large_for_all_distances_is_refused() -> None:
    both = pipelines.choose(["minibatch-kmeans", "pca+agglomerative"])
    pipelines.check_rows(both, 32_768, "blurbs-clustering-s2s, set 1")
    pipelines.check_rows(both[:1], 32_769, "blurbs-clustering-s2s, set 1")
    with pytest.raises(UsageError, match=r"blurbs-clustering-s2s, set 1: 32,769 rows .* pca\+agglomerative"):
        pipelines.check_rows(both, 32_769, "blurbs-clustering-s2s, set 1")
