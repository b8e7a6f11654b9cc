"""What the demo builds from the sample, with the encoder that needs no download."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders import registry
from builders.build.order import Options, build
from builders.cli.output import Lines
from builders.configs import jobs
from builders.demo.walk import walk
from builders.lock.lock import Lock
from builders.spec import HubSource, Part
from builders.tables import SPLITS, Kind, inside, published_path
from tests.vectors import sharing_vectors


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def built(out: Path, sample: Path) -> Lock:
    options = Options(
        out=out / "dist",
        encoder="offline",
        offline=True,
        sources=(str(sample),),
        home=sharing_vectors(out / "home"),
        committed=out / "none",
    )
    return build(jobs.CONFIG, options, Lines(quiet=True))


def table(out: Path, kind: Kind, split: str) -> pl.DataFrame:
    return inside(kind, pl.read_parquet(out / "dist" / "mteb-de" / published_path("jobs", kind, split)))


def test_every_split_has_hard_negatives(built: Lock, out: Path) -> None:
    queries = {split: table(out, Kind.QUERIES, split) for split in SPLITS}
    negatives = {split: table(out, Kind.HARD_NEGATIVES, split) for split in SPLITS}
    for split in SPLITS:
        asked = negatives[split].join(queries[split], on="query_id", how="semi")
        assert asked.height == negatives[split].height
        # Two, so that a score that is a hair different on another machine empties no split.
        assert asked["query_id"].n_unique() >= 2, split
    share = sum(frame["query_id"].n_unique() for frame in negatives.values()) / sum(
        frame.height for frame in queries.values()
    )
    assert share > 0.5
    assert built.mining is not None


def test_no_gate_is_shut(built: Lock) -> None:
    assert {finding.code for finding in built.findings if finding.severity != "note"} == set()
    assert "published-yield" in {finding.code for finding in built.findings}


def test_negatives_fill_up_to_five_and_stay_fewer(built: Lock) -> None:
    assert built.mining is not None
    for table in built.mining.tables.values():
        by_count = table.report.by_count
        assert by_count["0"] > 0 and by_count["5"] > 0
        assert sum(by_count[str(number)] for number in range(1, 5)) > 0
        assert all(table.report.dropped[reason] > 0 for reason in ("positive", "margin", "beyond_keep"))
    assert built.mining.serving.report.dropped["occupation"] > 0


def test_the_lock_counts_every_reason(built: Lock) -> None:
    reasons = {reason for funnel in built.funnels for reason in funnel.dropped}
    assert reasons == {"empty_profile", "empty_query", "no_query_words", "row_dropped"}
    assert all(sum(funnel.dropped.values()) + funnel.merged > 0 for funnel in built.funnels)


def test_relations_reach_beyond_what_was_observed(built: Lock) -> None:
    assert built.facts["qrels_extended"] > 0
    assert built.facts["undecided_pairs"] > 0


def test_nothing_of_the_employer_is_published(built: Lock, out: Path) -> None:
    corpus = table(out, Kind.CORPUS, "corpus")
    assert corpus.height == next(f.out for f in built.funnels if f.table == "passages")
    assert not corpus["text"].str.contains("Muster|Beispiel|Probe|GmbH").any()


@pytest.mark.long
def test_the_demo_shows_both_releases_without_a_config_that_has_no_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {name: registry.load(name) for name in ("germandpr", "subreddit")}
    source = HubSource("verein/neu", "0123456789", "cc-by-4.0", (Part("rows", ("default",)),))
    known["neu"] = replace(registry.load_retrieval("germandpr"), name="neu", sources=(source,))
    monkeypatch.setattr("builders.registry.names", lambda: tuple(sorted(known)))
    monkeypatch.setattr("builders.registry.load", known.__getitem__)
    locks, _, _ = walk(tmp_path, Lines(quiet=False))
    assert [lock.config for lock in locks] == ["germandpr", "subreddit"]
    assert "the bundled sample holds nothing of verein/neu" in capsys.readouterr().err
