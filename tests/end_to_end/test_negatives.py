"""The whole way to both tables of hard negatives, and their rows mined again from what is published."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from builders.configs.jobs import CONFIG
from builders.encoders import encode_cached, load_encoder
from builders.lock.lock import Lock, read_lock
from builders.rehearsal import Hub
from builders.tables import MINED, Kind, inside
from builders.text.merge import encoded_text
from tests.cli.kit import call
from tests.end_to_end.kit import ROWS, Tree, build
from tests.mining.test_remine import World, expected

pytestmark = pytest.mark.upstream

LIMIT = ("--limit", str(ROWS))


def lock_of(tree: Tree) -> Lock:
    return read_lock(tree.out / "work/jobs/lock.json")


def sets(keys: pl.Series, pairs: pl.DataFrame, key: str, value: str) -> dict[str, set[str]]:
    grouped = pairs.group_by(key).agg(value).iter_rows()
    return {each: set() for each in keys} | {each: set(values) for each, values in grouped}


@pytest.mark.parametrize("kind", MINED)
def test_every_published_row_is_mined_again_in_float64(built: Tree, kind: Kind) -> None:
    tree = built
    work = tree.out / "work/jobs"
    corpus = tree.table("jobs", Kind.CORPUS, "corpus")
    queries = tree.all_splits("jobs", Kind.QUERIES).sort("query_id")
    assert CONFIG.mining is not None
    encoder = load_encoder(CONFIG.mining.encoder, "offline")
    asked = encode_cached(encoder, queries["text"], "query", root=tree.home / "vectors")
    told = encode_cached(encoder, encoded_text(corpus), "passage", root=tree.home / "vectors")
    assert asked.encoded == told.encoded == 0
    qrels = tree.all_splits("jobs", Kind.QRELS)
    undecided = inside("undecided", pl.read_parquet(work / "undecided.parquet"))
    classes = inside("classes", pl.read_parquet(work / "classes.parquet"))
    occupations = inside("occupations", pl.read_parquet(work / "occupations.parquet"))
    world = World(
        queries=dict(queries.iter_rows()),
        passages={row[0]: (row[1], row[2]) for row in corpus.iter_rows()},
        positives=sets(queries["query_id"], qrels, "query_id", "passage_id"),
        undecided=sets(queries["query_id"], undecided, "query_id", "passage_id"),
        query_vectors=asked.vectors,
        passage_vectors=told.vectors,
        classes=sets(corpus["passage_id"], classes, "passage_id", "class"),
        occupations=dict(occupations.iter_rows()),
    )
    wanted = expected(world, CONFIG.mining.recipes[kind.value])
    found = tree.all_splits("jobs", kind).sort("query_id", "rank").rows()
    assert len(wanted) > {Kind.HARD_NEGATIVES: ROWS, Kind.HARD_NEGATIVES_V0: 1}[kind]
    assert [row[:3] for row in found] == [row[:3] for row in wanted]
    np.testing.assert_allclose([row[3:] for row in found], [row[3:] for row in wanted], atol=1e-6)


def test_no_negative_has_the_code_of_a_positive_or_was_observed_with_a_twin(built: Tree) -> None:
    code = pl.col("text").str.extract(r"KldB 2010: (\d+)\.$")
    codes = built.table("jobs", Kind.CORPUS, "corpus").select("passage_id", code=code).drop_nulls()
    qrels, negatives = (built.all_splits("jobs", kind) for kind in (Kind.QRELS, Kind.HARD_NEGATIVES))
    positive = qrels.join(codes, on="passage_id").select("query_id", "code").unique()
    coded = negatives.join(codes, on="passage_id")
    assert coded.height > 0.9 * negatives.height
    assert coded.join(positive, on=["query_id", "code"], how="semi").is_empty()
    queries = built.all_splits("jobs", Kind.QUERIES).select(
        "query_id",
        group=pl.col("text").map_elements(
            lambda text: CONFIG.relevance_key(CONFIG.query_key(text)), return_dtype=pl.String
        ),
    )
    observed = qrels.join(queries, on="query_id").select("group", "passage_id").unique()
    assert (
        negatives
        .join(queries, on="query_id")
        .join(observed, on=["group", "passage_id"], how="semi")
        .is_empty()
    )


def test_the_yield_is_what_the_recipe_was_chosen_for(built: Tree) -> None:
    mining = lock_of(built).mining
    assert mining is not None and mining.serving.recipe["name"] == "v1"
    report = mining.serving.report
    assert report.yield_.any >= 0.65 * report.queries
    assert report.yield_.full >= 0.55 * report.queries
    heard = report.queries - report.suspicious["queries"]
    assert report.yield_.any >= 0.95 * heard
    least = report.distance_from_mean.deviations["min"]
    assert least is not None and least >= 1.5 - 1e-6
    assert report.looked_at == report.negatives + sum(report.dropped.values())


def test_suspicious_positives_lie_in_the_work_folder(built: Tree) -> None:
    listed = pl.read_parquet(built.out / "work/jobs/suspicious_positives.parquet")
    assert listed.columns == ["query-id", "corpus-id", "score", "deviations"]
    listed = inside("suspicious_positives", listed)
    assert 0 < listed["query_id"].n_unique() < 0.4 * ROWS
    assert (listed["deviations"] < 2).all()
    silent = built.all_splits("jobs", Kind.HARD_NEGATIVES).join(listed, on="query_id", how="semi")
    assert silent.is_empty()


@pytest.mark.long
def test_one_thread_gives_the_same_bytes(built: Tree, upstream_hub: Hub) -> None:
    again = build(upstream_hub, built.out.parent / "one", "jobs", *LIMIT, home=built.home, threads=1)
    assert again.bytes_by_path().items() <= built.bytes_by_path().items()
    for name in ("lock.json", "scale.parquet", "suspicious_positives.parquet"):
        assert (again.out / "work/jobs" / name).read_bytes() == (built.out / "work/jobs" / name).read_bytes()


def test_no_more_than_two_negatives_of_a_query_share_an_occupation(built: Tree) -> None:
    occupations = inside("occupations", pl.read_parquet(built.out / "work/jobs/occupations.parquet"))
    negatives = built.all_splits("jobs", Kind.HARD_NEGATIVES).join(occupations, on="passage_id")
    counts = negatives.group_by("query_id", "occupation").len()["len"]
    assert counts.max() == 2


def test_check_finds_nothing_but_notes(built: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, "check", "--dist", str(built.out))
    assert done.code == 0, done.out
    assert "gate" not in done.out and "published-yield" in done.out
