"""Search the parameters of recipe v1: a grid over margin, floor, guard and equivalence, and BM25 candidates.

    MTEB_DE_SOURCES=FOLDER python -m scripts.bench.recipe_search

Writes scripts/bench/results/recipe_search.json; `scripts.bench.recipe_note` makes the note of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.files import write_json
from builders.mining import mine
from builders.mining import recipe as rules
from builders.spec import PAIR, RECIPES, Recipe
from builders.text.merge import encoded_text
from scripts.bench.recipe_world import Float32s, World, load

RESULTS = Path(__file__).parent / "results"
MARGINS = (0.0, 0.25, 0.5, 0.75, 1.0)
FLOORS = (1.0, 1.5, 2.0)
GUARDS: tuple[Literal["highest", "lowest"], ...] = ("highest", "lowest")
QUERIES = 500
Row = dict[str, Any]


class Lexical:
    """Scores by words and by characters, for some queries and all passages; each float32 (q, n)."""

    def __init__(self, queries: list[str], passages: list[str]) -> None:
        self.bm25 = _bm25(queries, passages)
        self.grams = _character_grams(queries, passages)


def _bm25(queries: list[str], passages: list[str]) -> Float32s:
    import bm25s
    import Stemmer

    def words(texts: list[str]) -> list[list[str]]:
        stemmer = Stemmer.Stemmer("german")
        found: list[list[str]] = bm25s.tokenize(
            texts, stopwords=None, stemmer=stemmer, return_ids=False, show_progress=False
        )
        return found

    index = bm25s.BM25()
    index.index(words(passages), show_progress=False)
    known = index.vocab_dict
    scores = np.zeros((len(queries), len(passages)), np.float32)
    for row, query in enumerate(words(queries)):
        if found := [word for word in query if word in known]:
            scores[row] = index.get_scores(found)
    return scores


def _character_grams(queries: list[str], passages: list[str]) -> Float32s:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, dtype=np.float32)
    told = vectorizer.fit_transform(passages)
    return np.asarray((vectorizer.transform(queries) @ told.T).todense(), np.float32)


class Bench:
    """A world, some of its queries, and what is measured of negatives."""

    def __init__(self, world: World, queries: int) -> None:
        self.world, self.ids = world, world.ids(queries)
        texts = world.prepared.queries["text"].gather(world.rows(self.ids)).to_list()
        self.lexical = Lexical(texts, encoded_text(world.prepared.corpus).to_list())
        self.excluded = {
            flag: world.excluded(self.ids, equivalence=flag)
            for flag in ((True, False) if world.prepared.relations.classes is not None else (False,))
        }
        relations = world.prepared.relations
        self.positives = relations.qrels.select(PAIR)
        self.codes = _codes(relations.classes)

    def measure(self, kept: pl.DataFrame, recipe: Recipe) -> Row:
        """Return yield, hardness, false-negative signals and reuse of negatives."""
        counts = kept.group_by("query_id").len()["len"]
        scaled = kept.join(self.world.scale, on="query_id").with_columns(
            z=(pl.col("score") - pl.col("mean")) / pl.col("deviation")
        )
        times = kept.group_by("passage_id").len()["len"]
        heard = self.world.guarded(self.ids).filter(~rules.is_suspicious(recipe)).height
        return {
            "any": _share(len(counts), len(self.ids)),
            "five": _share(int((counts == recipe.keep).sum()), len(self.ids)),
            "any_of_heard": _share(len(counts), heard),
            "deviations_median": _number(scaled["z"].median()),
            "deviations_p05": _number(scaled["z"].quantile(0.05)),
            "rank_median": _number(kept["rank"].median()),
            "bm25_relevant": self._called_relevant(kept, self.lexical.bm25),
            "grams_relevant": self._called_relevant(kept, self.lexical.grams),
            "same_kldb_group": self._same_code(kept, 3),
            "reuse_most": max(times.to_list(), default=0),
            "reuse_mean": _number(times.mean()),
            "others_positives": _share(
                kept.join(self.positives, on="passage_id", how="semi").height, kept.height
            ),
        }

    def _called_relevant(self, kept: pl.DataFrame, scores: Float32s) -> float:
        """Share of negatives that a scorer puts at its best positive or above it, where it knows one."""
        rows, columns = self._places(kept)
        own, passages = self._places(self.positives.filter(pl.col("query_id").is_in(self.ids.implode())))
        best = np.zeros(len(self.ids), np.float32)
        np.maximum.at(best, own, scores[own, passages])
        known = best[rows] > 0
        return _share(int((scores[rows, columns] >= best[rows])[known].sum()), int(known.sum()))

    def _same_code(self, kept: pl.DataFrame, digits: int) -> float | None:
        if self.codes is None:
            return None
        cut = self.codes.select("passage_id", code=pl.col("code").str.head(digits))
        own = self.positives.join(cut, on="passage_id").select("query_id", "code").unique()
        same = kept.join(cut, on="passage_id").join(own, on=["query_id", "code"], how="semi")
        return _share(same.select(PAIR).n_unique(), kept.height)

    def _places(self, pairs: pl.DataFrame) -> tuple[NDArray[Any], NDArray[Any]]:
        corpus = self.world.prepared.corpus["passage_id"]
        return (
            self.ids.search_sorted(pairs["query_id"]).to_numpy(),
            corpus.search_sorted(pairs["passage_id"]).to_numpy(),
        )

    def grid(self) -> Iterator[Row]:
        """Measure every recipe of the grid."""
        for equivalence, guard, floor, margin in product(self.excluded, GUARDS, FLOORS, MARGINS):
            parameters = {"margin": margin, "floor": floor, "guard": guard, "equivalence": equivalence}
            recipe = replace(
                RECIPES["v1"],
                margin=margin,
                floor=floor,
                guard=guard,
                equivalence=equivalence,
                suspicious_below=floor,  # so that nothing but margin and floor decides
            )
            kept = self.world.kept(self.ids, recipe, self.excluded[equivalence])
            yield parameters | self.measure(kept, recipe)

    def by_bm25(self) -> Row:
        """Take BM25's first five below v1's ceiling and at its floor or above it, beside the dense ones."""
        recipe = RECIPES["v1"]
        equivalence = max(self.excluded)
        excluded = self.excluded[equivalence]
        guarded = self.world.guarded(self.ids).filter(~rules.is_suspicious(recipe))
        limits = guarded.select(low=rules.floor(recipe), high=rules.ceiling(recipe))
        rows = self.ids.search_sorted(guarded["query_id"]).to_numpy()
        dense = self.world.query_vectors[self.world.rows(guarded["query_id"])] @ self.world.passage_vectors.T
        free = (dense >= limits["low"].to_numpy()[:, None]) & (dense <= limits["high"].to_numpy()[:, None])
        places = guarded.select("query_id").with_row_index("row")
        out = excluded.join(places, on="query_id")
        corpus = self.world.prepared.corpus["passage_id"]
        free[out["row"].to_numpy(), corpus.search_sorted(out["passage_id"]).to_numpy()] = False
        scores = np.where(free, self.lexical.bm25[rows], 0)
        order = np.argsort(-scores, axis=1, kind="stable")[:, : recipe.keep]
        row, place = np.nonzero(np.take_along_axis(scores, order, axis=1) > 0)
        found = pl.DataFrame({
            "query_id": guarded["query_id"].gather(pl.Series(row)),
            "passage_id": corpus.gather(pl.Series(order[row, place])),
            "rank": (dense[row] > dense[row, order[row, place]][:, None]).sum(axis=1) + 1,
            "score": dense[row, order[row, place]].astype(np.float64),
        })
        ours = self.world.kept(self.ids, recipe, excluded)
        both = found.join(ours, on=PAIR, how="semi").height
        return self.measure(found, recipe) | {"also_dense": _share(both, found.height)}


def _codes(classes: pl.DataFrame | None) -> pl.DataFrame | None:
    if classes is None:
        return None
    coded = classes.filter(pl.col("class").str.starts_with("kldb "))
    return coded.select("passage_id", code=pl.col("class").str.strip_prefix("kldb "))


def _whole(world: World) -> Row:
    """Mine all queries by both recipes, as the build does."""
    prepared = world.prepared
    found = {}
    for name, recipe in RECIPES.items():
        mined = mine(
            prepared.queries.select("query_id", "text"),
            prepared.corpus,
            prepared.relations.qrels,
            prepared.relations.undecided,
            world.query_vectors,
            world.passage_vectors,
            recipe,
            classes=prepared.relations.classes,
        )
        found[name] = mined.report
    return found


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _number(value: object) -> float | None:
    return round(float(value), 3) if isinstance(value, int | float) else None


def main() -> None:
    """Run the search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=QUERIES, help="Queries of the grid.")
    parser.add_argument("--out", type=Path, default=RESULTS / "recipe_search.json")
    arguments = parser.parse_args()
    document: Row = {"queries": arguments.queries, "configs": {}}
    for name in ("jobs", "germandpr"):
        world = load(name)
        bench = Bench(world, arguments.queries)
        print(f"{name}: {len(bench.ids)} queries")
        document["configs"][name] = {
            "queries": len(bench.ids),
            "passages": world.prepared.corpus.height,
            "grid": list(bench.grid()),
            "bm25": bench.by_bm25(),
            "whole": _whole(world),
        }
        write_json(arguments.out, document)


if __name__ == "__main__":
    main()
