"""Audits on the stand-in `jobs`, mined by recipe v1."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders.audit.sample import Pairs, _banded, read_pairs, suspect_sample
from builders.audit.suspects import opinion_for, rank_suspects
from builders.spec import PAIR
from tests.audit.kit import jobs
from tests.end_to_end.kit import ROWS, Tree, run

pytestmark = pytest.mark.upstream
PLANTED = 6
FIRST = 18


@pytest.fixture(scope="module")
def tree(by_v1: Tree) -> Pairs:
    return read_pairs(by_v1.out, jobs())


def with_core(tree: Pairs, pairs: pl.DataFrame) -> pl.DataFrame:
    """Add ``core``: the profile without what a title cannot tell, region and seniority."""
    core = (
        pl
        .col("text")
        .str.replace(r" Region: [^.]*(?:\.[^.]*)?\.", "")
        .str.replace(r" Seniority: [^.]*\.", "")
    )
    return pairs.join(tree.corpus.select("passage_id", core=core), on="passage_id")


def test_profiles_of_a_positives_core_are_never_negatives(tree: Pairs) -> None:
    positives = with_core(tree, tree.positives).select("query_id", "core").unique()
    assert tree.negatives.height > 2 * ROWS
    assert with_core(tree, tree.negatives).join(positives, on=["query_id", "core"]).is_empty()


@pytest.mark.parametrize("seed", range(3))
def test_planted_false_negatives_are_found_among_the_first(tree: Pairs, seed: int) -> None:
    draw = random.Random(seed)
    # A false negative is what a positive of the query is too, but for what a title cannot tell.
    twins = with_core(tree, tree.positives).filter(pl.len().over("query_id", "core") > 1)
    one_each = twins.sort(PAIR).unique("query_id", keep="first", maintain_order=True)
    rows = draw.sample(range(one_each.height), PLANTED)
    planted = one_each[sorted(rows)].select(*PAIR, "split")
    gaps = draw.choices(tree.negatives["gap"].sort().to_list(), k=PLANTED)
    mined = tree.negatives.drop("gap_band", "rank_band")
    wrong = planted.with_columns(rank=pl.lit(20, pl.Int32), gap=pl.Series(gaps)).select(mined.columns)
    spoilt = replace(
        tree,
        positives=tree.positives.join(planted, on=PAIR, how="anti"),
        negatives=_banded(pl.concat([mined, wrong])),
    )
    opinion = opinion_for("lexical", spoilt, jobs())
    drawn = suspect_sample(spoilt, rank_suspects(spoilt, opinion), FIRST, 0, "lexical")[0]
    found = {(item.query_id, item.passage_id) for item in drawn.items}
    assert set(planted.select(PAIR).iter_rows()) <= found


def test_the_verb_samples_suspects_and_the_positives_that_the_miner_doubts(
    by_v1: Tree, tmp_path: Path
) -> None:
    words = (
        "--suspects",
        "--dist",
        str(by_v1.out),
        "--notes",
        str(tmp_path),
        "--out",
        str(tmp_path / "p.html"),
    )
    done = run("audit", "sample", "jobs", *words, env={"PATH": ""}, home=by_v1.home, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "200 hard negatives, 50 labelled positives, 0 controls" in done.stdout
    assert 0 < (tmp_path / "p.html").stat().st_size < 10_000_000
