from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from builders.audit.sample import Pairs, read_pairs
from builders.audit.suspects import Float64s, _Closeness, opinions_for, overlap, rank_suspects
from builders.errors import UsageError
from builders.spec import PAIR, Mining
from tests.audit.kit import build, jobs


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    return read_pairs(build(tmp_path_factory.mktemp("built")), jobs())


def mining() -> Mining:
    found = jobs().mining
    assert found is not None
    return found


def liking(word: str) -> _Closeness:
    """An opinion that finds passages with a word in them close to any positive, and others only to twins."""

    def scores(texts: pl.Series, left: NDArray[np.uint32], right: NDArray[np.uint32]) -> Float64s:
        liked = texts.str.contains(word, literal=True)
        one, other = (texts.gather(pl.Series(places)) for places in (left, right))
        return (liked.gather(pl.Series(left)) | (one == other)).cast(pl.Float64).to_numpy()

    return scores


def test_what_is_close_to_a_positive_comes_first(tree: Pairs) -> None:
    ranked = rank_suspects(tree, {"one": liking("Tomate")})
    liked = ranked.join(tree.corpus, on="passage_id", maintain_order="left")["text"].str.contains("Tomate")
    assert 0 < liked.sum() < liked.len()
    assert liked.to_list() == sorted(liked, reverse=True)
    assert ranked.height == tree.negatives.height


def test_suspicion_is_the_mean_of_the_standings(tree: Pairs) -> None:
    ranked = rank_suspects(tree, {"one": liking("Tomate"), "two": liking("Sommer")})
    assert ranked["suspicion"].to_list() == pytest.approx(((ranked["one"] + ranked["two"]) / 2).to_list())
    assert ranked["suspicion"].is_between(0, 1, closed="right").all()
    both = ranked.join(tree.corpus, on="passage_id", maintain_order="left")["text"]
    liked = (both.str.contains("Tomate") & both.str.contains("Sommer")).to_list()
    assert any(liked) and liked == sorted(liked, reverse=True)


def test_ties_go_by_deviations_and_then_by_id(tree: Pairs) -> None:
    ranked = rank_suspects(tree, {"one": liking("kommt nicht vor")})
    expected = tree.negatives.sort("deviations", *PAIR, descending=[True, False, False]).select(PAIR)
    assert ranked.select(PAIR).equals(expected)


def test_the_order_of_the_rows_does_not_matter(tree: Pairs) -> None:
    shuffled = replace(
        tree,
        negatives=tree.negatives.reverse(),
        positives=tree.positives.reverse(),
        corpus=tree.corpus.reverse(),
    )
    words = {"lexical": opinions_for("lexical", tree, mining())["lexical"]}
    assert rank_suspects(tree, words).equals(rank_suspects(shuffled, words))


def test_a_passage_that_says_what_a_positive_says_leads_whatever_it_says_to_the_query(tree: Pairs) -> None:
    victim = tree.negatives.sort("deviations").row(0, named=True)
    positive = tree.positives.filter(pl.col("query_id") == victim["query_id"])["passage_id"][0]
    text = tree.corpus.filter(pl.col("passage_id") == positive)["text"][0]
    twin = pl.when(pl.col("passage_id") == victim["passage_id"]).then(pl.lit(text)).otherwise(pl.col("text"))
    planted = replace(tree, corpus=tree.corpus.with_columns(text=twin))
    for opinion in (liking("kommt nicht vor"), opinions_for("lexical", planted, mining())["lexical"]):
        first = rank_suspects(planted, {"one": opinion}).head(1)
        assert first.select(PAIR).row(0) == (victim["query_id"], victim["passage_id"])
    asked = replace(planted, queries=planted.queries.with_columns(query=pl.lit("ganz anderes")))
    words = {"lexical": opinions_for("lexical", planted, mining())["lexical"]}
    assert rank_suspects(asked, words).equals(rank_suspects(planted, words))


def test_nothing_mined_gives_no_suspects(tree: Pairs) -> None:
    nothing = replace(tree, negatives=tree.negatives.clear())
    opinions = opinions_for("lexical", nothing, mining())
    ranked = rank_suspects(nothing, opinions)
    assert ranked.is_empty()
    assert overlap(ranked, 60, *opinions).model_dump() == {"correlation": None, "first": 0, "both": 0}


def test_two_encoders_give_their_opinions_and_keep_their_vectors(
    tree: Pairs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = replace(
        tree,
        negatives=tree.negatives.head(4),
        corpus=tree.corpus.with_columns(pl.col("text").str.slice(0, 60)),
    )
    monkeypatch.setenv("MTEB_DE_HOME", str(tmp_path))
    opinions = opinions_for("lexical", few, mining())
    assert list(opinions) == ["offline", "lexical"]
    ranked = rank_suspects(few, opinions)
    assert ranked.height == 4
    assert list(tmp_path.rglob("passage-*.npy")) and not list(tmp_path.rglob("query-*.npy"))
    texts, twice = few.corpus["text"].head(2), np.array([0, 1], np.uint32)
    for opinion in opinions.values():
        assert opinion(texts, twice, twice) == pytest.approx(np.ones(2), abs=1e-6)


@given(st.permutations(range(12)), st.integers(1, 20))
def test_the_overlap_is_spearmans_and_counts_the_first_of_both(order: list[int], first: int) -> None:
    rows = {"query_id": ["q"] * 12, "passage_id": [f"d{n:02}" for n in range(12)]}
    ranked = pl.DataFrame(rows).with_columns(one=pl.Series(range(12)) / 12, two=pl.Series(order) / 12)
    found = overlap(ranked, first, "one", "two")
    apart = sum((place - other) ** 2 for place, other in enumerate(order))
    assert found.correlation == pytest.approx(1 - 6 * apart / (12 * 143), abs=1e-4)
    most = min(first, 12)
    assert found.both == sum(order[place] >= 12 - most for place in range(12 - most, 12))


def test_the_overlap_of_an_opinion_that_finds_all_alike_is_not_defined() -> None:
    rows = {"query_id": ["q"] * 3, "passage_id": ["d1", "d2", "d3"], "one": [1.0] * 3, "two": [0.3, 0.6, 1.0]}
    assert overlap(pl.DataFrame(rows), 2, "one", "two").correlation is None


def test_two_opinions_by_chance_do_not_correlate() -> None:
    draw = random.Random(4)
    columns = {name: [draw.random() for _ in range(2000)] for name in ("one", "two")}
    rows = {"query_id": ["q"] * 2000, "passage_id": [f"d{n}" for n in range(2000)], **columns}
    found = overlap(pl.DataFrame(rows), 200, "one", "two")
    assert found.correlation == pytest.approx(0, abs=0.05)
    assert found.both == pytest.approx(20, abs=15)


def test_the_miner_cannot_give_a_second_opinion(tree: Pairs) -> None:
    with pytest.raises(UsageError, match="the encoder that mined"):
        opinions_for("offline", tree, mining())
    with pytest.raises(UsageError, match="the encoder that mined"):
        opinions_for("e5", replace(tree, miner="sentence-transformers"), mining())
