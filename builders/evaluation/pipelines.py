"""Cluster vectors: by mteb's k-means, and by the thirteen other pipelines of Wehrli et al. 2024.

Settings are those of the paper's evaluator (ClimSocAna/tecb-de), and a seed reaches everything that draws.
"""

import importlib.util
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from builders.errors import UsageError

Reduction = Literal["none", "pca", "umap", "pca+umap"]
_Algorithm = Literal["minibatch-kmeans", "agglomerative", "hdbscan", "dbstream"]
Vectors = NDArray[np.float32]

MTEB = "minibatch-kmeans"
"""The pipeline of mteb's own tasks."""
_AGGLOMERATIVE_ROWS = 32_768
"""The largest set that is clustered agglomeratively: all its distances, twice in float64, fill 8 GiB."""
_NEIGHBOURS = 15
_FEWEST = 3
"""Rows that UMAP needs; fewer stay as they are."""
_MIN_CLUSTER = 5
_EXTRAS = {"umap": ("umap", "umap-learn"), "dbstream": ("river", "river")}
"""Module and library that a part of a pipeline needs."""
_EXTRA = "From a checkout: pip install -c constraints.txt -e '.[clustering]'"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A reduction of the vectors of a set ("pca+umap" to 50 dimensions, then 2), and a clustering of them."""

    reduction: Reduction
    algorithm: _Algorithm

    @property
    def name(self) -> str:
        """Name of the pipeline: "minibatch-kmeans", "pca+umap+hdbscan"."""
        return self.algorithm if self.reduction == "none" else f"{self.reduction}+{self.algorithm}"


PIPELINES: dict[str, Pipeline] = {
    pipeline.name: pipeline
    for algorithm, reduction in product(get_args(_Algorithm), get_args(Reduction))
    if algorithm not in {"hdbscan", "dbstream"} or reduction != "none"
    for pipeline in [Pipeline(reduction, algorithm)]
}
"""The fourteen of the paper by name, mteb's first."""


def choose(names: Sequence[str]) -> tuple[Pipeline, ...]:
    """Return pipelines by name, once each.

    Raises:
        UsageError: A pipeline is not known, or its library is not installed.
    """
    if unknown := [name for name in names if name not in PIPELINES]:
        raise UsageError(f"no pipeline {', '.join(unknown)}", hint=f"There are {', '.join(PIPELINES)}.")
    for name in names:
        for part, (module, library) in _EXTRAS.items():
            if part in name and importlib.util.find_spec(module) is None:
                raise UsageError(f"{name} needs {library}, which is not installed", hint=_EXTRA)
    return tuple(PIPELINES[name] for name in dict.fromkeys(names))


def check_rows(pipelines: Sequence[Pipeline], rows: int, place: str) -> None:
    """Refuse a set that is too large for one of the pipelines, before any work is done on it."""
    for pipeline in pipelines:
        if pipeline.algorithm == "agglomerative" and rows > _AGGLOMERATIVE_ROWS:
            raise UsageError(
                f"{place}: {rows:,} rows are too many for {pipeline.name}, which keeps the distances of all "
                f"pairs in memory and takes {_AGGLOMERATIVE_ROWS:,} rows at most",
                hint="Leave out the agglomerative pipelines.",
            )


def reduce(vectors: Vectors, reduction: Reduction, *, seed: int) -> Vectors:
    """Return the vectors of a set in two dimensions, or fewer where it has fewer rows or dimensions."""
    match reduction:
        case "none":
            return vectors
        case "pca":
            return _pca(vectors, 2, seed)
        case "umap":
            return _umap(vectors, seed)
        case "pca+umap":
            return _umap(_pca(vectors, 50, seed), seed)


def cluster(vectors: Vectors, algorithm: _Algorithm, clusters: int, *, seed: int) -> NDArray[np.int64]:
    """Return the cluster of each row as int64 of shape (rows,), -1 for points that HDBSCAN gives none.

    They count as one cluster, as in the paper's evaluator. "hdbscan" and "dbstream" find the number of
    clusters out by themselves; k-means alone draws by the seed.
    """
    from sklearn.cluster import HDBSCAN, AgglomerativeClustering, MiniBatchKMeans

    match algorithm:
        case "minibatch-kmeans":
            model = MiniBatchKMeans(n_clusters=clusters, batch_size=500, n_init="auto", random_state=seed)
        case "agglomerative":
            model = AgglomerativeClustering(n_clusters=clusters)
        case "hdbscan":
            # The paper's library does not count a point as its own neighbour, scikit-learn does.
            samples = min(_MIN_CLUSTER + 1, len(vectors))
            model = HDBSCAN(min_cluster_size=_MIN_CLUSTER, min_samples=samples, copy=True)
        case "dbstream":
            return _dbstream(vectors)
    with _ignore_warnings_of_few_points():
        return np.asarray(model.fit(vectors).labels_, dtype=np.int64)


def _pca(vectors: Vectors, dimensions: int, seed: int) -> Vectors:
    from sklearn.decomposition import PCA

    model = PCA(n_components=min(dimensions, *vectors.shape), random_state=seed)
    with np.errstate(invalid="ignore", divide="ignore"):  # equal vectors have no variance to explain
        return np.asarray(model.fit_transform(vectors), dtype=np.float32)


def _umap(vectors: Vectors, seed: int) -> Vectors:
    rows = len(vectors)
    if rows < _FEWEST:
        return vectors
    with warnings.catch_warnings():
        # The part of UMAP that needs Tensorflow is not used.
        warnings.filterwarnings("ignore", "Tensorflow not installed", ImportWarning)
        from umap import UMAP

    model = UMAP(
        metric="cosine",
        n_neighbors=min(_NEIGHBOURS, rows - 1),
        init="spectral" if rows > _NEIGHBOURS else "random",  # too few rows have no spectrum
        random_state=seed,
        n_jobs=1,  # a seed allows no more
    )
    return np.asarray(model.fit_transform(vectors), dtype=np.float32)


def _dbstream(vectors: Vectors) -> NDArray[np.int64]:
    from river.cluster import DBSTREAM

    model: Any = DBSTREAM()  # its methods have no types
    points = [dict(enumerate(row)) for row in vectors.tolist()]
    for point in points:
        model.learn_one(point)
    return np.fromiter((model.predict_one(point) for point in points), dtype=np.int64, count=len(points))


@contextmanager
def _ignore_warnings_of_few_points() -> Iterator[None]:
    # Fewer clusters than labels show in the score; two points in two dimensions are no matrix of distances.
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Number of distinct clusters", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The symmetric non-negative hollow observation matrix")
        yield
