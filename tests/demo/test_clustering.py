"""The clustering part of the sample: its texts, and its release from plan to receipt."""

from __future__ import annotations

import datetime
import random
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import HfApi

from builders import registry
from builders.build.order import Options, build
from builders.cli.output import Lines
from builders.configs import blurbs, tenkgnad
from builders.describe import Target
from builders.errors import Refused
from builders.lock.lock import Lock
from builders.rehearsal import WRITE_TOKEN, Store, serve
from builders.release.plan import Plan, make_plan
from builders.release.rehearse import rehearse
from builders.spec import Clustering
from scripts.make_sample.books_and_news import archive, articles, books, database
from tests.cli.kit import call

TARGET = Target("verein/tecb-de", "1.0.0", datetime.date(2026, 1, 5))


@pytest.fixture(scope="module")
def out(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clustering") / "dist"


@pytest.fixture(scope="module")
def locks(out: Path, sample: Path) -> dict[str, Lock]:
    options = Options(out=out, offline=True, sources=(str(sample),), committed=out / "none")
    return {name: build(registry.load(name), options, Lines(quiet=True)) for name in ("blurbs", "tenkgnad")}


def plan(out: Path, release: str, target: Target) -> Plan:
    with serve(Store(orgs=[target.owner])) as hub:
        return make_plan(out, release, target, api=HfApi(endpoint=hub.endpoint, token=WRITE_TOKEN))


def test_the_sample_shows_every_reason_and_every_kind_of_set(locks: dict[str, Lock]) -> None:
    reasons = {name: set(lock.funnels[0].dropped) for name, lock in locks.items()}
    assert reasons == {
        "blurbs": {"many_topics", "no_text", "no_title", "no_topic", "several_genres"},
        "tenkgnad": {"no_text", "no_title", "not_newsroom", "user_page"},
    }
    assert locks["blurbs"].funnels[0].read == 120
    assert locks["tenkgnad"].funnels[0].out == 90
    assert locks["blurbs"].facts["labels_genre"] == 4
    assert locks["tenkgnad"].facts["labels_section"] == 9
    assert locks["blurbs"].personal["documents"]["url"] > 0


def test_the_sample_needs_no_waiver(locks: dict[str, Lock]) -> None:
    assert {finding.severity for lock in locks.values() for finding in lock.findings} <= {"note"}


def test_the_generator_decides_everything() -> None:
    assert books(random.Random(1)) != books(random.Random(2))
    assert articles(random.Random(1)) != articles(random.Random(2))
    assert archive(["a"]) == archive(["a"])
    assert database([]).startswith(b"SQLite format 3\0")


def test_the_formats_have_the_quirks_of_the_real_ones(sample: Path) -> None:
    with zipfile.ZipFile(sample / blurbs.ARCHIVE) as target:
        assert target.namelist() == list(blurbs.MEMBERS)
        text = target.read("blurbs_train.txt").decode()
    assert re.search(r">[^<]* & [^<]*<", text)
    assert "<root>" not in text and "%0A</url>" in text
    pages = [body for *_, body in articles(random.Random(1))]
    assert any(re.search(r"<p>\([^<]+, \d+\.3\.2016\)</p></div>", body) for body in pages)


def test_the_release_is_planned_and_read_back_equal(locks: dict[str, Lock], out: Path) -> None:
    made = plan(out, "tecb-de", TARGET)
    assert made.gates == ()
    assert made.stand_ins
    _, receipt = rehearse(out, "tecb-de")
    assert receipt.rows == {
        "blurbs-clustering-s2s": {"test": 24}, "blurbs-clustering-p2p": {"test": 24},
        "tenkgnad-clustering-s2s": {"test": 10}, "tenkgnad-clustering-p2p": {"test": 10},
    }  # fmt: skip
    assert set(receipt.files) == {file.path for file in made.files}


@pytest.mark.parametrize(
    ("config", "licence"),
    [(blurbs.CONFIG, "'cc-by-nc-4.0'"), (tenkgnad.CONFIG, "'cc-by-nc-sa-4.0'")],
    ids=["blurbs", "tenkgnad"],
)
def test_the_other_release_refuses_the_configs_by_name(
    config: Clustering, licence: str, sample: Path, tmp_path: Path
) -> None:
    options = Options(out=tmp_path, offline=True, sources=(str(sample),), committed=tmp_path / "none")
    with pytest.raises(Refused, match="does not admit its licence") as error:
        build(replace(config, release="mteb-de"), options, Lines(quiet=True))
    assert config.name in error.value.message and licence in error.value.message


def test_the_command_builds_from_the_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "build", "blurbs", "tenkgnad", "--sample", "--offline", "--out", str(tmp_path))
    assert said.code == 0
    assert re.fullmatch(
        r"blurbs: 48 rows in .*tecb-de/blurbs \(\d+ s\)\ntenkgnad: 20 rows in .*tenkgnad \(\d+ s\)\n",
        said.out,
    )
    assert "10 coarse 13-96 rows, 4 within 24-28 rows, 10 fine 13-87 rows" in said.err
