"""What the benches of recipes work on: a config with its vectors, exclusions and scale."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.configs import germandpr, jobs
from builders.encoders import encode_cached, load_encoder
from builders.mining import recipe as rules
from builders.mining.mine import Mined, choose_within, mine
from builders.mining.scores import score_moments, score_pairs
from builders.prepare.retrieval import Prepared, limit, prepare
from builders.sources import fetch
from builders.spec import PAIR, Recipe
from builders.text.merge import digest, encoded_text

Float32s = NDArray[np.float32]
SEED = 42


@dataclass(frozen=True)
class World:
    """A config, encoded.

    Attributes:
        prepared: Queries and corpus, sorted by id, and relations.
        query_vectors: float32 (queries, d).
        passage_vectors: float32 (passages, d).
        scale: ``query_id``, ``mean``, ``deviation``.
        positives: ``query_id``, ``passage_id``, ``score`` float64.
    """

    name: str
    prepared: Prepared
    query_vectors: Float32s
    passage_vectors: Float32s
    scale: pl.DataFrame
    positives: pl.DataFrame

    def ids(self, queries: int | None) -> pl.Series:
        """Return the ids of all queries, or of some that the hash of the id draws; sorted."""
        ids = self.prepared.queries["query_id"]
        if queries is None or queries >= len(ids):
            return ids
        order = pl.Series([digest(f"{SEED}:{each}") for each in ids.to_list()])
        return ids.gather(order.arg_sort().head(queries)).sort()

    def rows(self, ids: pl.Series) -> NDArray[Any]:
        """Return the rows of queries."""
        return self.prepared.queries["query_id"].search_sorted(ids).to_numpy()

    def guarded(self, ids: pl.Series) -> pl.DataFrame:
        """Return the guards of queries, with their scale; suspicious ones stay in."""
        found = rules.guards(self.positives).join(self.scale, on="query_id").sort("query_id")
        return found.filter(pl.col("query_id").is_in(ids.implode()))

    def excluded(self, ids: pl.Series, *, equivalence: bool) -> pl.DataFrame:
        """Return the pairs that are never taken, of these queries."""
        chosen = pl.DataFrame({"query_id": ids})
        relations = self.prepared.relations
        return rules.exclusions(
            relations.qrels.select(PAIR).join(chosen, on="query_id", how="semi"),
            relations.undecided.join(chosen, on="query_id", how="semi"),
            self.prepared.queries.filter(pl.col("query_id").is_in(ids.implode())),
            self.prepared.corpus,
            relations.classes if equivalence else None,
        )

    def mined(self, recipe: Recipe) -> Mined:
        """Mine all queries by a recipe."""
        relations = self.prepared.relations
        return mine(
            self.prepared.queries.select("query_id", "text"),
            self.prepared.corpus,
            relations.qrels,
            relations.undecided,
            self.query_vectors,
            self.passage_vectors,
            recipe,
            classes=relations.classes,
            occupations=relations.occupations,
        )

    def kept(self, ids: pl.Series, recipe: Recipe, excluded: pl.DataFrame) -> pl.DataFrame:
        """Return the negatives of queries by a recipe of unbounded depth, scores in float64."""
        guarded = self.guarded(ids)
        if recipe.floor is not None:
            guarded = guarded.filter(~rules.is_suspicious(recipe))
        vectors = self.query_vectors[self.rows(guarded["query_id"])]
        return choose_within(
            guarded, self.prepared.corpus, excluded, vectors, self.passage_vectors, recipe
        ).kept


def load(name: str, folder: Path | None = None, rows: int | None = None) -> World:
    """Prepare and encode a config, or so many of its rows, from a folder or ``MTEB_DE_SOURCES``."""
    spec = {"jobs": jobs.CONFIG, "germandpr": germandpr.CONFIG}[name]
    sources = tuple(filter(None, (str(folder or os.environ.get("MTEB_DE_SOURCES", ""))).split(",")))
    records = spec.read(fetch(spec.sources, offline=True, sources_from=sources).files)
    if rows is not None:
        records = limit(records, rows, whole=spec.rows == "pair")
    return encoded(name, prepare(spec, records))


def encoded(name: str, prepared: Prepared) -> World:
    """Encode what is prepared with the encoder of `jobs`, by its offline weights."""
    mining = jobs.CONFIG.mining
    assert mining is not None
    encoder = load_encoder(mining.encoder, "offline")
    asked = encode_cached(encoder, prepared.queries["text"], "query").vectors
    told = encode_cached(encoder, encoded_text(prepared.corpus), "passage").vectors
    queries = prepared.queries.select("query_id").with_row_index("query")
    corpus = prepared.corpus.select("passage_id").with_row_index("passage")
    pairs = prepared.relations.qrels.join(queries, on="query_id").join(corpus, on="passage_id")
    scores = score_pairs(asked, told, pairs["query"].to_numpy(), pairs["passage"].to_numpy())
    mean, deviation = score_moments(asked, told)
    return World(
        name=name,
        prepared=prepared,
        query_vectors=asked,
        passage_vectors=told,
        scale=pl.DataFrame({"query_id": queries["query_id"], "mean": mean, "deviation": deviation}),
        positives=pairs.select(*PAIR, score=pl.Series(scores)),
    )
