"""The submissions of the sample: their list, their dump, and the ledger that both give."""

from __future__ import annotations

import json
import random
import re
import socket
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders import registry
from builders.build.order import Options, build
from builders.cli.output import Lines
from builders.configs.subreddit import CONFIG, LEDGER, LIST
from builders.demo.bundled import CHECKED, DUMP
from builders.demo.walk import walk
from builders.lock.lock import Lock
from builders.reddit.hydrate import HydrateOptions, hydrate
from builders.reddit.ledger import dated_ledger
from builders.reddit.sets import read_ids
from builders.spec import HubSource, Part
from builders.tables import Kind, published_path
from scripts.make_sample.submissions import MISSING, PER_SUBREDDIT, dump, ids, posts
from tests.cli.kit import call

QUIET = Lines(quiet=True)


def hydration(sample: Path, folder: Path) -> HydrateOptions:
    return HydrateOptions(
        out=folder / "hydrated", today=CHECKED, dumps=(sample / DUMP,), offline=True, sources=(str(sample),),
        home=folder / "home",
    )  # fmt: skip


@pytest.fixture(scope="module")
def lock(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Lock:
    out = tmp_path_factory.mktemp("reddit")
    options = Options(out=out, offline=True, sources=(str(sample),), committed=out / "none")
    return build(CONFIG, options, QUIET)


def test_the_sample_shows_every_reason_and_sets_of_many_sizes(lock: Lock, sample: Path) -> None:
    (funnel,) = lock.funnels
    assert set(funnel.dropped) == {"deleted", "missing", "no_subreddit", "removed"}
    assert funnel.dropped["missing"] == MISSING and funnel.merged > 0
    assert lock.clustering is not None
    labels = [one.labels for one in lock.clustering.sets]
    assert len(set(labels)) >= 5 and min(labels) >= 10
    assert lock.facts["labels_subreddit"] == 36
    assert {finding.severity for finding in lock.findings} <= {"note"}
    listed = read_ids(sample / LIST)
    assert listed.lines == funnel.read and listed.repeated == funnel.merged


def test_the_ledger_is_what_the_dump_gives(sample: Path, tmp_path: Path) -> None:
    record = hydrate(CONFIG, hydration(sample, tmp_path), QUIET)
    assert dated_ledger(CONFIG, tmp_path / "home").read_bytes() == (sample / LEDGER).read_bytes()
    assert record.gone == {"no_title": record.sets[0].published - record.sets[0].there}
    assert record.personal.kinds["email"] > 0
    texts = pl.read_parquet(tmp_path / "hydrated" / published_path("subreddit", Kind.CLUSTERING_P2P, "test"))
    every = set(texts["sentences"].explode())
    assert any("<EMAIL> & Co" in text for text in every)
    assert not any(re.search(r"hilft_gern|https?:|\*\*|&amp;|\]\(|removed|deleted", text) for text in every)


def test_the_generator_decides_everything() -> None:
    first, second = posts(random.Random(1)), posts(random.Random(1))
    assert first == second != posts(random.Random(2))
    assert dump(first) == dump(second)
    assert ids(first, random.Random(3)) == ids(first, random.Random(3))
    assert len({post["subreddit"] for post in first}) == 37  # 36, and a user's profile
    assert len(first) == 36 * PER_SUBREDDIT + 1


def test_the_demo_walks_from_a_dump_to_a_release_and_back_to_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who adds a config has no sample of it yet; the others are shown all the same."""
    source = HubSource("verein/neu", "0123456789", "cc-by-4.0", (Part("rows", ("default",)),))
    new = replace(registry.load_retrieval("germandpr"), name="neu", sources=(source,))
    known = {"neu": new, "subreddit": registry.load("subreddit")}
    monkeypatch.setattr(registry, "names", lambda: tuple(known))
    monkeypatch.setattr(registry, "load", known.__getitem__)
    reached = set()
    connect = socket.socket.connect

    def noted(self: socket.socket, address: tuple[str, int]) -> None:
        reached.add(address[0])
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", noted)
    locks, receipts, hydrated = walk(tmp_path, Lines(quiet=False))
    assert "the bundled sample holds nothing of verein/neu" in capsys.readouterr().err
    assert reached <= {"127.0.0.1", "::1", "localhost"}
    (lock,), (receipt,) = locks, receipts
    assert receipt.rows == {"subreddit-clustering-ids": {"test": 10}}
    assert [one.published for one in hydrated.sets] == [
        one.rows for one in (lock.clustering.sets if lock.clustering else ())
    ]
    assert hydrated.origin == "a release folder"
    told = b"".join(path.read_bytes() for path in (tmp_path / "tecb-de").rglob("*") if path.is_file())
    for made in posts(random.Random(1)):
        assert made["title"].encode() not in told and made["author"].encode() not in told


def test_the_command_builds_it_from_the_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "build", "subreddit", "--sample", "--offline", "--out", str(tmp_path), "--json")
    assert said.code == 0
    lock = json.loads(said.out)["locks"]["subreddit"]
    ledger = lock["parameters"]["ledger"]
    assert (ledger["first"], ledger["last"]) == (str(CHECKED), str(CHECKED))
    assert ledger["origins"] == {"stand-in": 262}
    assert [name.partition("@")[0] for name in ledger["archives"]] == ["RS_sample.zst"]
