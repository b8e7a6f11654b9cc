"""The stand-in of Reddit, whole: texts, a build, a recheck, and not a word in what is published."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.configs.subreddit import CONFIG
from builders.hydration import hydrate, recheck
from builders.tables import Kind
from tests.fixtures.upstream import upstream
from tests.hydration.kit import QUIET, World
from tests.reddit_server import load, serve

pytestmark = pytest.mark.upstream
_LEAST = 12
"""A shorter title may be the name of a subreddit, or a word of a file's metadata."""


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


def test_no_title_body_or_user_name_stands_in_a_published_byte(world: World) -> None:
    world.build()
    told = "\n".join(_told(path) for path in sorted(world.release.rglob("*")) if path.is_file())
    assert "submission_ids" in told and min(world.table(Kind.CLUSTERING_IDS)["submission_ids"][0]) in told
    secrets = {
        value
        for data in world.server.submissions.values()
        for value in (data["title"], data["selftext"], data["author"])
        if isinstance(value, str) and len(value) >= _LEAST
    } | {text for text in world.sentences() if len(text) >= _LEAST}
    assert len(secrets) > 10_000
    assert not _standing_in(told, secrets)


def _told(path: Path) -> str:
    table = (
        json.dumps(pl.read_parquet(path).to_dicts(), ensure_ascii=False) if path.suffix == ".parquet" else ""
    )
    return path.read_bytes().decode("utf-8", errors="replace") + table


def _standing_in(told: str, secrets: set[str]) -> list[str]:
    """Look for the first twelve characters of each at once; what has them is looked for whole."""
    heads: dict[str, list[str]] = {}
    for secret in secrets:
        heads.setdefault(secret[:_LEAST], []).append(secret)
    seen = {told[start : start + _LEAST] for start in range(len(told))} & heads.keys()
    return [secret for head in seen for secret in heads[head] if secret in told]


def test_what_is_looked_for_would_be_found(world: World) -> None:
    title = next(data["title"] for data in world.server.submissions.values() if len(data["title"]) > _LEAST)
    assert _standing_in(f"submission_ids … {title} …", {title, "etwas ganz anderes"}) == [title]


def test_personal_data_of_the_texts_is_replaced(world: World, planted: dict[str, int]) -> None:
    texts = "\n".join(world.sentences())
    assert texts.count("<EMAIL>") + texts.count("<PHONE>") >= planted["reddit.pii"] // 4
    assert not re.search(r"[\w.]{2,30}@[\w-]{2,30}\.[a-z]{2,10}", texts)


def test_fifty_deletions_are_purged_everywhere(world: World, tmp_path: Path) -> None:
    world.build()
    before = set(world.table(Kind.CLUSTERING_IDS)["submission_ids"].explode())
    gone = sorted(before)[:50]
    titles = _unique_titles(world.server.submissions, gone)
    world.server.delete(gone)
    found = recheck(CONFIG, world.options(), QUIET)
    assert found.gone == {"deleted": 50} and found.takedown == tuple(gone)
    kept = world.private.read_text(encoding="utf-8")
    assert not [title for title in titles if json.dumps(title, ensure_ascii=False) in kept]
    assert {one.number for one in found.record.sets if one.gone} if found.record else False
    world.build()
    after = pl.read_parquet(world.release / "subreddit/clustering-ids/test.parquet")["submission_ids"]
    assert not set(after.explode()) & set(gone) and set(after.explode()) == before - set(gone)


def _unique_titles(submissions: dict[str, dict[str, Any]], ids: list[str]) -> list[str]:
    others = {data["title"] for name, data in submissions.items() if name not in ids}
    return [submissions[name]["title"] for name in ids if submissions[name]["title"] not in others]
