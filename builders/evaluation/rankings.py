"""Rank the passages of judged queries: by vectors, by words, and by rules that read no text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.built import Built
from builders.errors import StorageError
from builders.evaluation.results import EncoderFacts
from builders.mining.scan import Progress, exact_topk
from builders.prepare.splits import read_splits
from builders.spec import PAIR
from builders.tables import SPLITS, Kind, config_name
from builders.text.merge import encoded_text

if TYPE_CHECKING:
    from bm25s import BM25

_ALL = "all"
"""The union of the splits."""
RULES = ("random", "constant", "oracle")
BM25_FACTS = EncoderFacts(
    name="bm25",
    kind="lexical",
    model="mteb/baseline-bm25s",
    revision=f"bm25s {version('bm25s')}, PyStemmer {version('PyStemmer')}",
)
_DEPTH = 1000
"""Passages per query that mteb keeps."""
_BLOCK = 512
"""Queries that are ranked and measured together. With 1,000 passages each, and classes, searching and
measuring took 340 MB for 4,000 queries and 310 MB for 1,000; all at once 1.8 GB and .5 GB."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Queries with qrels, and the passages they are searched in.

    Attributes:
        queries: ``query_id``, ``text`` of the queries that have qrels, as in mteb, sorted by id.
        corpus: ``passage_id``, ``title``, ``text`` of all passages, sorted by id.
        qrels: ``query_id``, ``passage_id``, ``score`` of those queries, sorted by both ids; a pair of a
            passage that is not in the corpus stays, and nothing can find it.
        classes: ``passage_id``, ``class``: equivalent passages; None where the config knows none.
        groups: ``query_id``, ``group`` str: queries dealt together; None where each is a group of its own.
        undecided: ``query_id``, ``passage_id`` of pairs kept from mining; None where the build keeps none.
    """

    config: str
    split: str
    queries: pl.DataFrame
    corpus: pl.DataFrame
    qrels: pl.DataFrame
    classes: pl.DataFrame | None = None
    groups: pl.DataFrame | None = None
    undecided: pl.DataFrame | None = None

    def query_texts(self) -> pl.Series:
        """Return what is encoded of the queries, in their order."""
        return self.queries.get_column("text")

    def passage_texts(self) -> pl.Series:
        """Return what is encoded of the passages, in their order: title and text, as for mining."""
        return encoded_text(self.corpus)

    def parts(self) -> Iterator[Judged]:
        """Yield blocks of its queries in their order, each with all passages."""
        for queries in self.queries.iter_slices(_BLOCK):
            qrels = self.qrels.join(queries, on="query_id", how="semi")
            yield replace(self, queries=queries, qrels=qrels)


Rankings = Iterator[tuple[Judged, pl.DataFrame]]
"""Parts of the judged queries in their order, one at a time in memory, each with its run: ``query_id`` str,
``passage_id`` str, ``score`` float32, best first, query by query."""


def read_judged(built: Built, split: str) -> Judged:
    """Read the queries of a split, or of all, and the passages."""
    splits = SPLITS if split == _ALL else (split,)
    queries = _stacked(built, Kind.QUERIES, splits, ["query_id"])
    qrels = _stacked(built, Kind.QRELS, splits, PAIR)
    return Judged(
        config=built.spec.name,
        split=split,
        queries=queries.join(qrels, on="query_id", how="semi").sort("query_id"),
        corpus=_stacked(built, Kind.CORPUS, ("corpus",), ["passage_id"]),
        qrels=qrels.join(queries, on="query_id", how="semi").sort(PAIR),
        classes=built.beside("classes", {"passage_id": pl.String, "class": pl.String}),
        groups=_groups(built),
        undecided=built.beside("undecided", dict.fromkeys(PAIR, pl.String)),
    )


def _groups(built: Built) -> pl.DataFrame | None:
    path = built.work and built.work / "splits.tsv"
    if path is None or not path.exists():
        return None
    return read_splits(path).select("query_id", group="group_hash")


def search(
    judged: Judged,
    queries: NDArray[np.float32],
    passages: NDArray[np.float32],
    k: int = _DEPTH,
    *,
    progress: Progress | None = None,
) -> Rankings:
    """Find the k most similar passages of each query, exactly.

    mteb multiplies in float32, whose last digit depends on the machine; here scores are computed in float64
    and rounded to float32 once, and of equal scores, in either, the larger id comes first. So scores are
    mteb's wherever passages near the top differ by more than float32's error, about 1e-6. Passages of nearly
    equal vectors (the same text twice, the same words in another order under a bag of words) are tied here;
    in mteb the error of its product orders them.

    Vectors are float32 of length 1, (q, d) in the order of `Judged.query_texts` and (n, d) in that of
    `Judged.passage_texts`; `progress` gets the number of queries that are done, and of all.
    """
    done = 0
    for part in judged.parts():
        asked = slice(done, done + part.queries.height)
        # `exact_topk` breaks ties by index, ascending; ids descend in the reversed passages.
        found = exact_topk(queries[asked], passages[::-1], k)
        yield part, _run(part, found.row, judged.corpus.height - 1 - found.index, found.score)
        done = asked.stop
        if progress is not None:
            progress(done, judged.queries.height)


def bm25(judged: Judged, k: int = _DEPTH) -> Rankings:
    """Rank passages by BM25 over German word stems: the baseline that knows words and no meaning.

    Method: Lucene's form of BM25 with k1 1.5 and b 0.75, by bm25s (Lù 2024, arXiv 2407.03618), set up as
    mteb's "mteb/baseline-bm25s" is for German tasks: words of two and more characters, lower case, without
    the German stop words of bm25s, stemmed by Snowball; compounds stay whole. Unlike there, a passage that
    shares no word with the query is not found at all, and ties are broken by id, descending, also at the
    k-th passage: mteb fills up to 1000 with passages of score 0, in no stated order.
    """
    words = _stems(judged.passage_texts())
    index = _index(words) if any(words) else None
    for part in judged.parts():
        found = [_best(index, stems, k) for stems in _stems(part.query_texts())] if index else []
        rows = np.repeat(np.arange(len(found)), [len(indices) for indices, _ in found])
        indices = np.concatenate([np.empty(0, np.int64), *(indices for indices, _ in found)])
        yield part, _run(part, rows, indices, np.concatenate([np.empty(0), *(scores for _, scores in found)]))


def rank_by_rule(judged: Judged, rule: str, k: int = _DEPTH, *, seed: int = 42) -> Rankings:
    """Rank at most k passages by a rule that reads no text: a dataset that rewards it is broken.

    "random": each query's own random order; it must score near `metrics.chance`. "constant": all passages
    have one score, so that ids alone, descending, decide; at chance too, unless ids or their order tell what
    is relevant. "oracle": a query's positives in the corpus and nothing else; its nDCG@10 and MRR@10 are 1,
    unless positives are not in the corpus.
    """
    rng, passages = np.random.default_rng(seed), judged.corpus.height
    width = min(k, passages)
    for part in judged.parts():
        queries = part.queries.height
        rows = np.repeat(np.arange(queries), width)
        if rule == "oracle":
            yield part, _positives(part, k)
        elif rule == "random":
            drawn = np.concatenate([rng.choice(passages, width, replace=False) for _ in range(queries)])
            yield part, _run(part, rows, drawn, np.tile(np.arange(width, 0, -1), queries))
        else:
            last = np.tile(np.arange(passages - 1, passages - 1 - width, -1), queries)
            yield part, _run(part, rows, last, np.ones(len(rows)))


def _stacked(built: Built, kind: Kind, splits: tuple[str, ...], key: list[str]) -> pl.DataFrame:
    if missing := set(splits) - set(built.splits(kind)):
        raise StorageError(
            f"{config_name(built.spec.name, kind)}: there is no {min(missing)} split", hint=built.again
        )
    return pl.concat([built.table(kind, split) for split in splits]).sort(key)


def _run(
    judged: Judged, rows: NDArray[np.integer], indices: NDArray[np.integer], scores: NDArray[np.number]
) -> pl.DataFrame:
    """Return the run of row numbers of queries and passages."""
    return pl.DataFrame({
        "query_id": judged.queries.get_column("query_id").gather(rows),
        "passage_id": judged.corpus.get_column("passage_id").gather(indices),
        "score": scores.astype(np.float32),
    })


def _positives(judged: Judged, k: int) -> pl.DataFrame:
    within = judged.qrels.filter(pl.col("score") > 0).join(judged.corpus, on="passage_id", how="semi")
    order = within.sort("query_id", "score", "passage_id", descending=[False, True, True])
    best = order.group_by("query_id", maintain_order=True).head(k)
    return best.select(*PAIR, pl.col("score").cast(pl.Float32))


def _stems(texts: pl.Series) -> list[list[str]]:
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("german")
    stems: list[list[str]] = bm25s.tokenize(
        texts.to_list(), stopwords="de", stemmer=stemmer, return_ids=False, show_progress=False
    )
    return stems


def _index(words: list[list[str]]) -> BM25:
    import bm25s

    # The numpy backend is named, so that no library that happens to be installed changes the sums.
    index = bm25s.BM25(method="lucene", k1=1.5, b=0.75, backend="numpy", csc_backend="numpy")
    index.index(words, show_progress=False)
    return index


def _best(index: BM25, stems: list[str], k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the passages of a query and their scores, best first; later passages first among equals."""
    scores = np.asarray(index.get_scores_from_ids(index.get_tokens_ids(stems)), np.float32)
    indices = np.flatnonzero(scores > 0)
    order = np.lexsort((-indices, -scores[indices]))[:k]
    return indices[order], scores[indices[order]]
