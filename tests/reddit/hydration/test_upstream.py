"""The stand-in of Reddit, whole: texts, a build, a recheck, and not a word in what is published."""

from __future__ import annotations

import datetime
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from builders.configs.subreddit import CONFIG
from builders.describe import Target
from builders.reddit.folder import TAKEDOWN
from builders.reddit.hydrate import hydrate
from builders.reddit.recheck import recheck
from builders.release.plan import make_plan
from builders.tables import Kind
from tests.fixtures.upstream import upstream
from tests.reddit.hydration.kit import QUIET, World, told
from tests.reddit_server import load, serve
from tests.release.kit import api_of, loopback

pytestmark = pytest.mark.upstream
TARGET = Target("verein/tecb-de", "1.0.0", datetime.date(2026, 1, 5))
_SHORT = 12
"""A shorter value may stand within a word; the first so many characters of a longer one find it fast."""
_NO_SECRETS = {"", "NA", "nan", "null", "[removed]", "[deleted]"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The stand-in, hydrated and built once."""
    folder, reddit = tmp_path_factory.mktemp("reddit"), upstream() / "reddit"
    with pytest.MonkeyPatch.context() as patch, serve(load(reddit / "submissions.jsonl.gz")) as server:
        for name, value in server.environment().items():
            patch.setenv(name, value)
        made = World(server, reddit, folder / "home", folder / "dist", folder / "hydrated")
        hydrate(CONFIG, made.options(), QUIET)
        yield made


@pytest.fixture(scope="module")
def planted() -> dict[str, int]:
    counts: dict[str, int] = json.loads((upstream() / "planted.json").read_text(encoding="utf-8"))
    return counts


@pytest.mark.long
def test_every_id_has_an_answer_and_the_planted_counts_come_out(
    world: World, planted: dict[str, int]
) -> None:
    lines = (world.sources / CONFIG.listed.name).read_text(encoding="utf-8").split()[1:]
    (funnel,) = world.build().funnels
    assert sorted(world.server.answered) == sorted(set(lines))
    assert (funnel.read, funnel.merged) == (len(lines), len(lines) - len(set(lines)))
    assert funnel.out == planted["reddit.ok"]
    assert funnel.dropped["missing"] == planted["reddit.missing"]
    assert funnel.dropped["removed"] + funnel.dropped["deleted"] == planted["reddit.gone"]


def test_no_title_body_or_user_name_stands_in_a_published_byte(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.build()
    with loopback(monkeypatch) as hub:
        make_plan(world.dist, CONFIG.release, TARGET, api=api_of(hub))
    paths = [path for path in sorted(world.release.rglob("*")) if path.is_file()]
    assert {"README.md", "croissant.jsonld", "manifest.json", "test.parquet"} <= {path.name for path in paths}
    published = "\n".join(map(told, paths))
    assert min(world.table(Kind.CLUSTERING_IDS)["submission_ids"][0]) in published
    secrets = _secrets(world)
    assert sum(len(secret) < _SHORT for secret in secrets) > 1_300
    assert sum(len(secret) >= _SHORT for secret in secrets) > 10_000
    assert not _standing_in(published, secrets)
    planted = [min(secrets, key=len), max(secrets, key=len), *sorted(secrets)[::1_500]]
    assert set(planted) <= set(_standing_in(" … ".join([published[:1_000], *planted, ""]), secrets))


def _secrets(world: World) -> set[str]:
    """Titles, bodies, user names, and texts as they were cleaned."""
    fields = {
        data[field] for data in world.server.submissions.values() for field in ("title", "selftext", "author")
    }
    return {text for text in fields | world.sentences() if isinstance(text, str)} - _NO_SECRETS


def _standing_in(text: str, secrets: set[str]) -> list[str]:
    """Look for long values everywhere, and for short ones, which may be a part of another word, as words.

    Of long ones the first characters are looked for at once, and what has them is looked for whole.
    """
    heads: dict[str, list[str]] = {}
    for secret in secrets:
        if len(secret) >= _SHORT:
            heads.setdefault(secret[:_SHORT], []).append(secret)
    seen = {text[start : start + _SHORT] for start in range(len(text))} & heads.keys()
    words = _words(text)
    known = {
        *words,
        *map(" ".join, itertools.pairwise(words)),
        *map(" ".join, zip(words, words[1:], words[2:], strict=False)),
    }
    short = [one for one in secrets if len(one) < _SHORT and " ".join(_words(one)) in known]
    return short + [secret for head in seen for secret in heads[head] if secret in text]


def _words(text: str) -> list[str]:
    return re.findall(r"[\w-]+", text)


def test_personal_data_of_the_texts_is_replaced(world: World, planted: dict[str, int]) -> None:
    titles, texts = (
        "\n".join(world.sentences_of(kind)) for kind in (Kind.CLUSTERING_S2S, Kind.CLUSTERING_P2P)
    )
    there = _there(world)
    raw = "\n".join(f"{data['title']}\n{data['selftext']}" for data in there.values())
    planted_here = re.findall(r"Schreibt mir: (\S+@example\.com) oder (0171 \d{7})", raw)
    assert planted["reddit.pii"] // 2 < len(planted_here) <= planted["reddit.pii"]
    for mail, number in planted_here:
        assert mail not in texts + titles and number not in texts + titles
    assert texts.count("<EMAIL>") >= len(planted_here) and texts.count("<PHONE>") >= len(planted_here)
    names = set(re.findall(r"(?<![\w/])u/([\w-]{3,20})", raw))
    assert len(names) > 50
    assert not re.search(r"(?<![\w/])/?u/[\w-]{3,20}", texts + titles)
    assert not names & set(_words(texts + titles))


def _there(world: World) -> dict[str, dict[str, Any]]:
    """Submissions whose texts are in a set."""
    named = set(world.table(Kind.CLUSTERING_IDS)["submission_ids"].explode())
    return {name: data for name, data in world.server.submissions.items() if name in named}


@pytest.mark.long
def test_fifty_deletions_are_purged_everywhere(world: World) -> None:
    world.build()
    sets = world.table(Kind.CLUSTERING_IDS)["submission_ids"].to_list()
    before = {name for ids in sets for name in ids}
    gone = sorted(before)[:50]
    texts = _texts_of_their_own(world, gone)
    assert len(texts) > 120
    before_that = "\n".join(world.told().values())
    assert all(text in before_that for text in texts)
    world.server.delete(gone)
    found, record, takedown = recheck(CONFIG, world.options(), QUIET)
    assert Counter(found.gone.values()) == {"deleted": 50} and takedown == tuple(gone)
    held = world.told()
    assert any(path.endswith("clustering-p2p/test.parquet") for path in held)
    assert not [(path, text) for path, whole in held.items() for text in texts if text in whole]
    assert record is not None
    for one, ids in zip(record.sets, sets, strict=True):
        assert one.gone.get("deleted", 0) == len(set(ids) & set(gone))
    assert (world.out / TAKEDOWN).read_text(encoding="utf-8").split() == gone
    world.build()
    after = pl.read_parquet(world.release / "subreddit/clustering-ids/test.parquet")["submission_ids"]
    assert set(after.explode()) == before - set(gone)


def _texts_of_their_own(world: World, names: list[str]) -> list[str]:
    """Titles, bodies and cleaned texts that no other submission has too."""
    ids = world.table(Kind.CLUSTERING_IDS)["submission_ids"].explode().to_list()
    cleaned = {
        kind: dict(zip(ids, world.table(kind)["sentences"].explode(), strict=True))
        for kind in (Kind.CLUSTERING_S2S, Kind.CLUSTERING_P2P)
    }
    found = {
        name: {data["title"], data["selftext"], *(texts.get(name, "") for texts in cleaned.values())}
        for name, data in world.server.submissions.items()
    }
    others = "\n".join(text for name, texts in found.items() if name not in names for text in texts)
    own = {text for name in names for text in found[name] if len(text) >= _SHORT}
    return sorted(text for text in own if text not in others)
