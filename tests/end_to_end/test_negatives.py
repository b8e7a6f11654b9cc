"""The whole way to both tables of hard negatives."""

from __future__ import annotations

import polars as pl
import pytest

from builders.configs.jobs import CONFIG
from builders.lock.lock import Lock, read_lock
from builders.rehearsal import Hub
from builders.tables import Kind, inside
from tests.cli.kit import call
from tests.end_to_end.kit import ROWS, Tree, build

pytestmark = pytest.mark.upstream

LIMIT = ("--limit", str(ROWS))


def lock_of(tree: Tree) -> Lock:
    return read_lock(tree.out / "work/jobs/lock.json")


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
