"""Audits on the stand-in `jobs`."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders.audit.sample import Pairs, read_pairs, suspect_sample
from builders.audit.suspects import opinions_for, rank_suspects
from builders.built import read_built
from builders.encoders import encode_cached, load_encoder
from builders.mining import mine
from builders.rehearsal import Hub
from builders.spec import PAIR, RECIPES
from builders.text.merge import encoded_text
from tests.audit.kit import jobs
from tests.end_to_end.kit import ROWS, Tree, build, run

pytestmark = pytest.mark.upstream
PLANTED = 20
FIRST = 60
FOUND = 18
MANY = 1_000
"""Postings of which so many are taken away, mined and found again; `ROWS` of them in the short form."""


@pytest.fixture(scope="module")
def tree(built: Tree) -> Pairs:
    return read_pairs(built.out, jobs())


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


def hidden_twins(tree: Pairs, draw: random.Random) -> pl.DataFrame:
    """Take one positive of a query away of those whose core another positive has too."""
    twins = with_core(tree, tree.positives).filter(pl.len().over("query_id", "core") > 1).sort(PAIR)
    order = pl.Series([draw.random() for _ in range(twins.height)])
    return twins.with_columns(order=order).sort("order").unique("query_id", keep="first").sort(PAIR)


def mined_without_equivalence(tree: Pairs, out: Path, positives: pl.DataFrame) -> pl.DataFrame:
    """Mine by v1 with these positives, and take equivalent passages too."""
    spec, built = jobs(), read_built(out, jobs())
    assert spec.mining is not None
    encoder = load_encoder(spec.mining.encoder, "offline")
    undecided = built.beside("undecided", dict.fromkeys(PAIR, pl.String))
    assert undecided is not None
    mined = mine(
        tree.queries.select("query_id", text="query"),
        tree.corpus,
        positives.select(PAIR),
        undecided,
        encode_cached(encoder, tree.queries["query"], "query").vectors,
        encode_cached(encoder, encoded_text(tree.corpus), "passage").vectors,
        replace(RECIPES["v1"], equivalence=False),
    )
    score, guard = (pl.col(name).cast(pl.Float64) for name in ("score", "positive_score"))
    return (
        mined.negatives
        .join(mined.scale, on="query_id")
        .join(tree.queries.select("query_id", "split"), on="query_id")
        .with_columns(deviations=(score - pl.col("mean")) / pl.col("deviation"), gap=guard - score)
        .select(*PAIR, "split", "rank", "deviations", "gap")
    )


@pytest.fixture(scope="module")
def larger(built: Tree, upstream_hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """More postings than in `built`, mined alike."""
    folder = tmp_path_factory.mktemp("larger")
    return build(upstream_hub, folder, "jobs", "--limit", str(MANY), home=built.home)


@pytest.mark.parametrize(
    ("place", "times"), [("built", 6), pytest.param("larger", 3, marks=pytest.mark.long)]
)
def test_planted_false_negatives_are_found_among_the_first(
    place: str, times: int, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Positives that were taken away are mined as negatives, where no equivalence keeps them out."""
    where: Tree = request.getfixturevalue(place)
    monkeypatch.setenv("MTEB_DE_HOME", str(where.home))
    tree, mining = read_pairs(where.out, jobs()), jobs().mining
    assert mining is not None
    counts, found = [], []
    for seed in range(times):
        draw = random.Random(seed)
        hidden = hidden_twins(tree, draw)
        mined = mined_without_equivalence(tree, where.out, tree.positives.join(hidden, on=PAIR, how="anti"))
        taken = mined.join(hidden, on=PAIR, how="semi").select(PAIR).sort(PAIR)
        # fewer where there are few postings, and as many times fewer to look at
        count = PLANTED if place == "larger" else min(taken.height, PLANTED // 4)
        planted = taken[sorted(draw.sample(range(taken.height), count))]
        spoilt = replace(
            tree,
            positives=tree.positives.join(planted, on=PAIR, how="anti"),
            negatives=mined.join(taken.join(planted, on=PAIR, how="anti"), on=PAIR, how="anti"),
        )
        ranked = rank_suspects(spoilt, opinions_for("lexical", spoilt, mining))
        drawn = suspect_sample(spoilt, ranked, FIRST * count // PLANTED, 0, "lexical")[0]
        named = {(item.query_id, item.passage_id) for item in drawn.items}
        counts.append(count)
        found.append(len(named & set(planted.rows())))
    if place == "larger":
        assert min(found) >= FOUND, found
    assert sum(counts) >= 4, counts
    assert sum(found) >= FOUND * sum(counts) // PLANTED, (counts, found)


def test_the_verb_samples_suspects_and_the_positives_that_the_miner_doubts(
    built: Tree, tmp_path: Path
) -> None:
    words = (
        "--suspects",
        "--dist",
        str(built.out),
        "--notes",
        str(tmp_path),
        "--out",
        str(tmp_path / "p.html"),
    )
    done = run("audit", "sample", "jobs", *words, env={"PATH": ""}, home=built.home, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "200 hard negatives, 50 labelled positives, 0 controls" in done.stdout
    assert 0 < (tmp_path / "p.html").stat().st_size < 10_000_000
