"""Hydrating and rechecking against a Reddit on loopback that the real client talks to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.configs.subreddit import CONFIG
from builders.errors import RemoteError, SourceMissing, UsageError
from builders.hydration import hydrate, recheck
from builders.hydration.folder import NAME, TAKEDOWN
from builders.sources.reddit.model import Status
from builders.sources.reddit.statuses import read_statuses
from builders.tables import Kind
from tests.fixtures.submissions import post, posts, write_list
from tests.hydration.kit import QUIET, World
from tests.reddit_server import refuses

GONE = [f"p{label:02}x{number:02}" for label in range(14) for number in range(4)][:50]


def test_ids_become_texts_in_the_published_layout(world: World) -> None:
    record = hydrate(CONFIG, world.options(), QUIET)
    assert len(record.sets) == 10 and all(one.comparable and one.share == 1 for one in record.sets)
    s2s, p2p, ids = (
        world.table(kind) for kind in (Kind.CLUSTERING_S2S, Kind.CLUSTERING_P2P, Kind.CLUSTERING_IDS)
    )
    assert s2s.columns == p2p.columns == ["sentences", "labels", "level"]
    assert set(s2s["level"]) == {"subreddit"}
    made = posts()
    for titles, texts, labels, names in zip(
        s2s["sentences"], p2p["sentences"], ids["labels"], ids["submission_ids"], strict=True
    ):
        assert titles.to_list() == [made[name]["title"] for name in names]
        assert texts.to_list() == [f"{made[name]['title']} {made[name]['selftext']}" for name in names]
        assert labels.to_list() == [made[name]["subreddit"] for name in names]


def test_the_build_draws_the_very_sets_that_were_hydrated(world: World) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    lock = world.build()
    path = "subreddit/clustering-ids/test.parquet"
    assert (world.release / path).read_bytes() == (world.out / path).read_bytes()
    assert lock.funnels[0].dropped == {"missing": 1} and lock.funnels[0].merged == 7
    assert lock.sources[1].revision == lock.sources[1].files[0].sha256


def test_duplicates_are_asked_once_and_a_second_run_asks_nothing(world: World) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    assert sorted(world.server.answered) == sorted([*posts(), "leer001"])
    first = {path: path.read_bytes() for path in world.out.rglob("*.parquet")}
    world.server.log.clear()
    hydrate(CONFIG, world.options(), QUIET)
    assert world.server.log == []
    assert first == {path: path.read_bytes() for path in world.out.rglob("*.parquet")}


def test_what_is_answered_needs_no_credentials(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    record = hydrate(CONFIG, world.options(), QUIET)
    for name in ("praw_client_id", "praw_client_secret"):
        monkeypatch.delenv(name)
    assert hydrate(CONFIG, world.options(), QUIET) == record


def test_published_ids_are_hydrated_with_a_ledger_of_ones_own(world: World, tmp_path: Path) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    world.build()
    whole = world.table(Kind.CLUSTERING_P2P)
    world.server.log.clear()
    other = world.options(origin=str(world.release), out=tmp_path / "hers", home=tmp_path / "her home")
    record = hydrate(CONFIG, other, QUIET)
    assert pl.read_parquet(tmp_path / "hers/subreddit/clustering-p2p/test.parquet").equals(whole)
    assert record.origin == "a release folder"
    assert "leer001" not in world.server.answered
    assert not (tmp_path / "her home/reddit/subreddit.ledger.tsv").exists()


def test_what_is_gone_is_told_for_each_set(world: World, tmp_path: Path) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    world.build()
    world.server.delete(GONE[:10])
    world.server.vanish(GONE[10:12])
    other = world.options(origin=str(world.release), out=tmp_path / "hers", home=tmp_path / "her home")
    record = hydrate(CONFIG, other, QUIET)
    assert record.gone == {"deleted": 10, "missing": 2}
    sets = world.table(Kind.CLUSTERING_IDS)["submission_ids"].to_list()
    for one, ids in zip(record.sets, sets, strict=True):
        assert one.published - one.there == len(set(ids) & set(GONE[:12])) == sum(one.gone.values())
        assert one.comparable is (one.there >= 0.9 * len(ids))
    assert not all(one.comparable for one in record.sets)


def test_nothing_of_a_text_or_a_name_enters_the_release(world: World) -> None:
    for name, data in world.server.submissions.items():
        data["title"] = f"Überschrift {name} geheim"
    hydrate(CONFIG, world.options(), QUIET)
    world.build()
    hydrate(CONFIG, world.options(origin=str(world.release)), QUIET)
    told = _told(world.release)
    assert b"submission_ids" in told and b"p03x02" in told  # what is searched holds what is published
    assert any(text.encode() in _told(world.out) for text in world.sentences())
    for data in world.server.submissions.values():
        for field in ("title", "selftext", "author"):
            assert data[field].encode() not in told
    for text in world.sentences():
        assert text.encode() not in told


def _told(folder: Path) -> bytes:
    """Every byte under a folder, and every value of its tables in plain text."""
    parts = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        parts += [path.name.encode(), path.read_bytes()]
        if path.suffix == ".parquet":
            parts.append(json.dumps(pl.read_parquet(path).to_dicts(), ensure_ascii=False).encode())
    return b"\n".join(parts)


@pytest.mark.parametrize("below", ["", "texte"])
def test_texts_are_never_written_into_a_release(world: World, below: str) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    world.build()
    before = sorted(world.release.rglob("*"))
    for verb in (hydrate, recheck):
        with pytest.raises(UsageError, match="texts must never be published"):
            verb(CONFIG, world.options(out=world.release / below), QUIET)
    assert sorted(world.release.rglob("*")) == before


def test_the_ledger_with_texts_is_its_owners_alone_and_the_dated_one_has_none(world: World) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    assert world.private.stat().st_mode & 0o077 == 0
    dated = world.dated.read_text(encoding="utf-8")
    for data in world.server.submissions.values():
        assert data["title"] not in dated and data["author"] not in dated
    assert len(read_statuses(world.dated)) == len(posts()) + 1
    assert b"schreiberin" not in world.private.read_bytes()


def test_a_recheck_purges_texts_marks_sets_and_lists_ids_to_take_down(world: World) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    world.build()
    gone = [world.server.submissions[name] for name in GONE]
    world.server.delete(GONE[:30])
    world.server.remove(GONE[30:45])
    world.server.vanish(GONE[45:])
    found = recheck(CONFIG, world.options(), QUIET)

    assert found.gone == {"deleted": 30, "missing": 5, "removed": 15}
    ledger, texts = world.private.read_text(encoding="utf-8"), "\n".join(world.sentences())
    for data in gone:
        assert data["title"] not in ledger and data["title"] not in texts
    assert all(world.known()[name].title == "" for name in GONE)
    published = set(world.table(Kind.CLUSTERING_IDS)["submission_ids"].explode())
    assert (world.out / TAKEDOWN).read_text(encoding="utf-8").split() == sorted(published & set(GONE))
    assert found.takedown == tuple(sorted(published & set(GONE))) and len(found.takedown) == 50
    record = json.loads((world.out / NAME).read_text(encoding="utf-8"))
    assert not any(
        one["comparable"] for one in record["sets"] if sum(one["gone"].values()) > 0.1 * one["published"]
    )
    assert record["sets"][0]["there"] == record["sets"][0]["published"] - 50

    lock = world.build()
    assert lock.funnels[0].dropped == {"deleted": 30, "missing": 6, "removed": 15}
    assert not set(pl.read_parquet(world.release / "subreddit/clustering-ids/test.parquet")["submission_ids"]
                   .explode()) & set(GONE)  # fmt: skip


@pytest.mark.parametrize(("status", "error"), [(404, RemoteError), (403, UsageError)])
def test_a_recheck_that_breaks_off_purges_what_it_found_until_then(
    world: World, status: int, error: type[Exception]
) -> None:
    made = posts() | {f"q{number:04}": post(f"q{number:04}", "Thema03") for number in range(150)}
    world.server.submissions = made
    write_list(world.sources, made)
    hydrate(CONFIG, world.options(), QUIET)
    recheck(CONFIG, world.options(), QUIET)
    first, last = (
        batch[0] for batch in world.server.asked[-3:-1]
    )  # a recheck asks in the same batches again
    world.server.delete([first, last])
    world.server.faults.extend([None, refuses(status), refuses(status)])
    with pytest.raises(error):
        recheck(CONFIG, world.options(), QUIET)
    assert made[first]["title"] not in "\n".join(world.sentences())
    assert made[last]["title"] in world.sentences_of(Kind.CLUSTERING_S2S)
    world.server.faults.clear()
    found = recheck(CONFIG, world.options(), QUIET)
    assert made[last]["title"] not in world.sentences_of(Kind.CLUSTERING_S2S)
    assert found.gone == {"deleted": 1} and found.takedown == tuple(sorted([first, last]))


def test_an_edited_text_is_held_in_its_new_form(world: World) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    world.server.submissions["p01x01"]["selftext"] = "Ganz anders."
    found = recheck(CONFIG, world.options(), QUIET)
    assert (found.edited, found.gone) == (1, {})
    assert "Frage p01x01 zum Beet Ganz anders." in world.sentences()
    assert "Im Beet p01x01" not in world.private.read_text(encoding="utf-8")


def test_a_recheck_needs_something_to_check(world: World) -> None:
    with pytest.raises(UsageError, match="no submission there") as error:
        recheck(CONFIG, world.options(), QUIET)
    assert "mteb-de hydrate subreddit" in error.value.hint
    assert world.server.log == []


def test_without_text_tables_a_recheck_still_purges_the_ledger(world: World, tmp_path: Path) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    world.server.delete(GONE[:3])
    found = recheck(CONFIG, world.options(out=tmp_path / "nirgends"), QUIET)
    assert found.record is None and found.gone == {"deleted": 3}
    assert not (tmp_path / "nirgends" / TAKEDOWN).exists()


def dump(folder: Path, made: dict[str, dict[str, Any]]) -> Path:
    import zstandard

    lines = "".join(json.dumps(data) + "\n" for data in made.values())
    path = folder / "RS_2026-01.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(lines.encode()))
    return path


def test_a_dump_needs_no_network_and_what_it_lacks_is_asked_later(world: World, tmp_path: Path) -> None:
    made = posts()
    held = {name: made[name] for name in list(made)[:-10]}
    record = hydrate(CONFIG, world.options(dumps=(dump(tmp_path, held),), reddit="http://127.0.0.1:9"), QUIET)
    assert world.server.log == []
    assert sum(entry.status is Status.MISSING for entry in world.known().values()) == 11
    assert record.sets[0].published == len(held)
    hydrate(CONFIG, world.options(), QUIET)
    assert sorted(world.server.answered) == sorted([*list(made)[-10:], "leer001"])
    world.server.log.clear()
    hydrate(CONFIG, world.options(), QUIET)
    assert world.server.log == []


def test_what_a_dump_lacks_is_not_taken_down(world: World, tmp_path: Path) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    world.build()
    made = posts()
    absent, deleted = list(made)[:2]
    held = {name: data for name, data in made.items() if name != absent}
    hers = world.options(origin=str(world.release), out=tmp_path / "hers", home=tmp_path / "her home")
    record = hydrate(CONFIG, replace(hers, dumps=(dump(tmp_path, held),)), QUIET)
    assert record.gone == {"missing": 1}
    world.server.delete([deleted])
    assert recheck(CONFIG, hers, QUIET).takedown == (deleted,)


def test_a_post_on_a_users_profile_is_never_a_label(world: World) -> None:
    world.server.submissions["p01x01"] = post("p01x01", "u_schreiberin")
    hydrate(CONFIG, world.options(), QUIET)
    assert "schreiberin" not in world.dated.read_text(encoding="utf-8")
    assert "p01x01" not in set(world.table(Kind.CLUSTERING_IDS)["submission_ids"].explode())


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        ("gibt/es/nicht", UsageError, "neither a folder nor OWNER/NAME@TAG"),
        ("verein/tecb-de", UsageError, "neither a folder nor"),
        ("leer", SourceMissing, r"no subreddit/clustering-ids/test\.parquet there"),
    ],
)
def test_a_wrong_place_is_told_before_anything_is_asked(
    world: World, place: str, error: type[Exception], message: str
) -> None:
    Path("leer").mkdir()
    with pytest.raises(error, match=message):
        hydrate(CONFIG, world.options(origin=place), QUIET)
    assert world.server.log == []
