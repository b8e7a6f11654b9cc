from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders.audit.sample import Pairs, read_pairs
from builders.audit.suspects import Float64s, _Opinion, opinion_for, rank_suspects
from builders.errors import UsageError
from builders.spec import PAIR
from tests.audit.kit import build, jobs


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    return read_pairs(build(tmp_path_factory.mktemp("built")), jobs())


def fixed(likes: str) -> _Opinion:
    """An opinion that likes passages by a word in them, and else only those that are a positive's twins."""

    def scores(role: str, texts: pl.Series, passages: pl.Series) -> Float64s:
        found = passages.str.contains(likes, literal=True) if role == "query" else texts == passages
        return found.cast(pl.Float64).to_numpy()

    return scores


def test_what_the_second_judge_finds_close_comes_first(tree: Pairs) -> None:
    ranked = rank_suspects(tree, fixed("Tomate")).join(tree.corpus, on="passage_id", maintain_order="left")
    liked = ranked["text"].str.contains("Tomate").to_list()
    assert 0 < sum(liked) < len(liked)
    assert liked == sorted(liked, reverse=True)
    assert ranked.height == tree.negatives.height


def test_ties_go_by_gap_and_then_by_id(tree: Pairs) -> None:
    ranked = rank_suspects(tree, fixed("kommt nicht vor"))
    expected = tree.negatives.sort("gap", *PAIR).select(PAIR)
    assert ranked.select(PAIR).equals(expected)


def test_the_order_of_the_rows_does_not_matter(tree: Pairs) -> None:
    shuffled = replace(tree, negatives=tree.negatives.reverse(), positives=tree.positives.reverse())
    opinion = opinion_for("lexical", tree, jobs())
    assert rank_suspects(tree, opinion).equals(rank_suspects(shuffled, opinion))


def test_a_passage_that_says_what_a_positive_says_leads(tree: Pairs) -> None:
    victim = tree.negatives.sort("gap", descending=True).row(0, named=True)
    positive = tree.positives.filter(pl.col("query_id") == victim["query_id"])["passage_id"][0]
    text = tree.corpus.filter(pl.col("passage_id") == positive)["text"][0]
    twin = pl.when(pl.col("passage_id") == victim["passage_id"]).then(pl.lit(text)).otherwise(pl.col("text"))
    planted = replace(tree, corpus=tree.corpus.with_columns(text=twin))
    for opinion in (fixed("kommt nicht vor"), opinion_for("lexical", planted, jobs())):
        first = rank_suspects(planted, opinion).head(3)
        assert (victim["query_id"], victim["passage_id"]) in set(first.select(PAIR).iter_rows())


def test_nothing_mined_gives_no_suspects(tree: Pairs) -> None:
    nothing = replace(tree, negatives=tree.negatives.clear())
    assert rank_suspects(nothing, opinion_for("lexical", nothing, jobs())).is_empty()


def test_another_encoder_gives_its_opinion_and_keeps_its_vectors(
    tree: Pairs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = replace(
        tree,
        miner="sentence-transformers",
        negatives=tree.negatives.head(4),
        corpus=tree.corpus.with_columns(pl.col("text").str.slice(0, 60)),
    )
    monkeypatch.setenv("MTEB_DE_HOME", str(tmp_path))
    opinion = opinion_for("offline", few, jobs())
    ranked = rank_suspects(few, opinion)
    assert ranked.height == 4
    assert ranked["suspicion"].is_between(0, 1).all()
    assert list(tmp_path.rglob("*.npy"))
    same = opinion("passage", few.corpus["text"].head(2), few.corpus["text"].head(2))
    assert same == pytest.approx(np.ones(2), abs=1e-6)


def test_the_miner_cannot_give_a_second_opinion(tree: Pairs) -> None:
    with pytest.raises(UsageError, match="the encoder that mined"):
        opinion_for("offline", tree, jobs())
    with pytest.raises(UsageError, match="the encoder that mined"):
        opinion_for("e5", replace(tree, miner="sentence-transformers"), jobs())
