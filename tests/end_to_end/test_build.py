"""From the pinned upstreams on a loopback Hub to published tables."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from builders import registry
from builders.lock.lock import Lock, read_lock, read_manifest
from builders.personal import scrub
from builders.prepare.retrieval import prepare
from builders.rehearsal import Hub, serve
from builders.spec import ALL_KINDS
from builders.tables import Kind
from tests.cli.kit import call
from tests.end_to_end.kit import ROWS, Tree, build, run, with_upstreams, without_network
from tests.fixtures import upstream

pytestmark = pytest.mark.upstream


def lock_of(tree: Tree, config: str) -> Lock:
    return read_lock(tree.out / "work" / config / "lock.json")


def test_germandpr_has_the_known_sizes(built: Tree) -> None:
    lock = lock_of(built, "germandpr")
    assert built.table("germandpr", Kind.CORPUS, "corpus").height == 240
    assert lock.splits == {"train": 944, "dev": 118, "test": 119}
    queries = next(funnel for funnel in lock.funnels if funnel.table == "queries")
    assert (queries.read, queries.merged, queries.dropped, queries.out) == (1190, 9, {}, 1181)


def test_sources_are_locked_at_full_hashes(built: Tree) -> None:
    for config, pin in (("germandpr", "64a4860e55ba6d8fcb923d5306d08e08b1c72794"), ("jobs", "d49f1e4243")):
        (source,) = lock_of(built, config).sources
        assert source.kind == "hub"
        assert source.revision == pin
        assert len(source.resolved) == 40
        assert source.resolved.startswith(pin)


def test_all_rows_of_jobs_are_accounted_for(built: Tree) -> None:
    lock = lock_of(built, "jobs")
    rows = next(funnel for funnel in lock.funnels if funnel.table == "rows")
    dropped = pl.read_parquet(built.out / "work/jobs/dropped.parquet")
    provenance = pl.read_parquet(built.out / "work/jobs/provenance.parquet").filter(
        pl.col("table") == "queries"
    )
    raw = pl.read_parquet(list(upstream.jobs()["postings"]))
    chosen = raw.filter(pl.col("id").is_in([*dropped["id"], *provenance["upstream_id"]]))
    assert rows.read == ROWS == chosen.height
    assert rows.dropped.get("empty_query", 0) == chosen.filter(pl.col("title").str.strip_chars() == "").height
    assert rows.dropped == dict(
        dropped.filter(pl.col("table") == "rows").group_by("reason").len().iter_rows()
    )


@pytest.mark.long
def test_every_planted_fault_of_all_rows_is_accounted_for() -> None:
    planted = json.loads((upstream.upstream() / "planted.json").read_text(encoding="utf-8"))
    spec = registry.load_retrieval("jobs")
    records = spec.read(upstream.jobs())
    prepared = prepare(spec, records)
    rows = next(funnel for funnel in prepared.funnels if funnel.table == "rows")
    assert rows.read == planted["jobs.rows"]
    assert rows.dropped["empty_query"] == planted["jobs.empty_titles"]
    shown = prepared.queries["text"]
    assert not shown.str.contains("&amp;|&lt;|&quot;|&#").any()
    assert shown.str.contains(" & Co", literal=True).any()
    assert not shown.str.contains("[\u0300-\u036f]").any()
    assert not shown.str.contains("  |^ | $").any()
    for texts in (shown, prepared.corpus["text"]):
        assert scrub(texts, ALL_KINDS).spans.is_empty()


def test_no_contact_of_the_upstream_is_left_in_a_published_text(built: Tree) -> None:
    texts = pl.concat([
        built.all_splits("jobs", Kind.QUERIES)["text"],
        built.table("jobs", Kind.CORPUS, "corpus")["text"],
    ])
    assert not texts.str.contains("@|https?://|www\\.").any()
    assert not texts.str.contains(r"\+49|\b0\d{2,4}[ /-]\d{4,}").any()
    assert sum(lock_of(built, "jobs").personal["queries"].values()) > 0


def test_a_second_run_asks_and_encodes_nothing_and_gives_the_same_tree(
    built: Tree, upstream_hub: Hub, tmp_path: Path
) -> None:
    seen = len(upstream_hub.log)
    words = ("build", "germandpr", "--offline", "--out", str(tmp_path / "dist"))
    env = without_network() | {"HF_ENDPOINT": upstream_hub.endpoint}  # caches are kept apart by endpoint
    assert run(*words, env=env, home=built.home).returncode == 0
    jobs = build(upstream_hub, tmp_path, "jobs", "--limit", str(ROWS), home=built.home)
    assert "encode query    0 encoded" in jobs.printed
    assert "encode passage  0 encoded" in jobs.printed
    assert len(upstream_hub.log) == seen
    assert jobs.bytes_by_path() == built.bytes_by_path()
    for config in ("germandpr", "jobs"):
        locks = [(tree.out / "work" / config / "lock.json").read_bytes() for tree in (built, jobs)]
        assert locks[0] == locks[1]
    manifests = [(tree.out / "mteb-de/manifest.json").read_bytes() for tree in (built, jobs)]
    assert manifests[0] == manifests[1]


def test_shuffled_rows_and_other_threads_give_the_same_bytes(
    built: Tree, shuffled_upstream: Path, tmp_path: Path
) -> None:
    with serve(with_upstreams(shuffled_upstream)) as hub:
        other = build(hub, tmp_path, "germandpr", threads=3)
    assert other.bytes_by_path().items() < built.bytes_by_path().items()


@pytest.mark.long
def test_shuffled_rows_other_threads_and_cold_caches_give_the_same_bytes(
    built: Tree, shuffled_upstream: Path, tmp_path: Path
) -> None:
    with serve(with_upstreams(shuffled_upstream)) as hub:
        build(hub, tmp_path, "germandpr", threads=3)
        other = build(hub, tmp_path, "jobs", "--limit", str(ROWS), threads=3, home=tmp_path / "home")
    assert other.bytes_by_path() == built.bytes_by_path()
    hashes = [
        {file.path: file.content for file in read_manifest(tree.out / "mteb-de/manifest.json").files}
        for tree in (built, other)
    ]
    assert hashes[0] == hashes[1]


def test_offline_names_what_is_missing_in_the_cache(upstream_hub: Hub, tmp_path: Path) -> None:
    words = ("build", "germandpr", "--offline", "--out", str(tmp_path / "dist"))
    before = len(upstream_hub.log)
    env = without_network() | {"HF_ENDPOINT": upstream_hub.endpoint}
    cold = run(*words, env=env, home=tmp_path / "cold")
    assert len(upstream_hub.log) == before
    assert cold.returncode == 2
    assert "mteb/GermanDPR" in cold.stderr
    assert "64a4860e55" in cold.stderr
    assert "Traceback" not in cold.stderr


def test_check_finds_no_error_in_what_was_built(built: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, "check", "--dist", str(built.out))
    assert done.code == 0, done.out
    assert "0 of them errors" in done.out
    path = built.out / "mteb-de/jobs/queries/test.parquet"
    kept = path.read_bytes()
    try:
        pl.read_parquet(path).with_columns(text=pl.lit("Ruf an: 0221 4710815")).write_parquet(path)
        spoiled = call(capsys, "check", "--dist", str(built.out))
    finally:
        path.write_bytes(kept)
    assert spoiled.code == 1
    assert "personal-data" in spoiled.out


def test_a_build_fits_one_screen(built: Tree) -> None:
    for printed in built.printed.split("jobs\n  fetch"):
        assert printed.count("\n") <= 34
        assert max(map(len, printed.splitlines())) <= 120
