"""Hydrating and rechecking against a Reddit on loopback that the real client talks to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders import files
from builders.configs.subreddit import CONFIG
from builders.errors import Refused, SourceMissing, UsageError
from builders.lock.committed import commit, stand_ins
from builders.lock.lock import LockedSource
from builders.reddit import hydrate as hydration
from builders.reddit.dated_ledger import is_stand_in, read_statuses
from builders.reddit.folder import TAKEDOWN
from builders.reddit.hydrate import hydrate
from builders.reddit.recheck import recheck
from builders.reddit.submission import Status
from builders.sources import Fetched
from builders.tables import Kind
from tests.fixtures.submissions import post, posts, write_list
from tests.reddit.hydration.kit import GONE, QUIET, World, dump


def test_ids_become_texts_in_the_published_layout(world: World) -> None:
    record = hydrate(CONFIG, world.options(), QUIET)
    assert len(record.sets) == 10 and all(one.share == 1 for one in record.sets)
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
    assert lock.parameters["ledger"]["origins"] == {"stand-in": len(posts()) + 1}


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
    assert hydrate(CONFIG, world.options(), QUIET) == record.model_copy(update={"compared": True})


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
    assert recheck(CONFIG, hers, QUIET)[2] == (deleted,)


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


def test_sets_that_are_held_stay_the_measure(world: World) -> None:
    first = hydrate(CONFIG, world.options(), QUIET)
    assert not first.compared
    before = world.table(Kind.CLUSTERING_IDS)
    world.server.delete(GONE[:30])
    world.server.vanish(GONE[30:])
    _, marked, listed = recheck(CONFIG, world.options(), QUIET)
    assert marked is not None and not all(one.comparable for one in marked.sets)
    again = hydrate(CONFIG, world.options(), QUIET)
    assert again.compared and again.sets == marked.sets
    assert world.table(Kind.CLUSTERING_IDS).equals(before)
    _, _, last = recheck(CONFIG, world.options(), QUIET)
    assert last == listed == tuple(sorted(GONE))
    assert (world.out / TAKEDOWN).read_text(encoding="utf-8").split() == sorted(GONE)


def test_new_sets_are_drawn_when_asked_for_and_no_id_leaves_the_takedown_list(world: World) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    world.server.delete(GONE)
    recheck(CONFIG, world.options(), QUIET)
    record = hydrate(CONFIG, world.options(new_sets=True), QUIET)
    assert not record.compared and record.sets[0].published == len(posts()) - len(GONE)
    assert not set(GONE) & set(world.table(Kind.CLUSTERING_IDS)["submission_ids"].explode())
    assert recheck(CONFIG, world.options(), QUIET)[2] == tuple(sorted(GONE))
    world.build()
    hydrate(CONFIG, world.options(origin=str(world.release)), QUIET)
    assert (world.out / TAKEDOWN).read_text(encoding="utf-8") == ""  # this release holds none of them


def test_texts_of_ids_that_the_list_lacks_stay(world: World, tmp_path: Path) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    before = world.sentences()
    write_list(tmp_path / "others", [one.replace("p", "q", 1) for one in posts()])
    record = hydrate(CONFIG, world.options(sources=(str(tmp_path / "others"),)), QUIET)
    assert record.gone == {} and world.sentences() == before


def test_sets_of_which_nothing_is_known_are_refused_and_no_text_is_lost(world: World, tmp_path: Path) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    before = world.sentences()
    made = {f"q{name[1:]}": data | {"id": f"q{name[1:]}"} for name, data in posts().items()}
    other = world.options(home=tmp_path / "other home", dumps=(dump(tmp_path, made),))
    with pytest.raises(UsageError, match=r"none of the \d+ ids of the sets .* was found") as refused:
        hydrate(CONFIG, other, QUIET)
    assert "--new-sets" in refused.value.hint and world.sentences() == before


def test_posts_that_went_before_the_first_run_are_told_by_published_sets_alone(world: World) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    world.build()
    world.server.delete(GONE)
    hers = world.options(out=world.dist / "hers", home=world.dist / "her home")
    assert not hydrate(CONFIG, hers, QUIET).compared
    record = hydrate(CONFIG, replace(hers, origin=str(world.release)), QUIET)
    assert record.compared and record.sets[0].there == record.sets[0].published - len(GONE)
    assert not record.sets[0].comparable


def test_a_dump_brings_nothing_back_that_a_recheck_has_purged(world: World, tmp_path: Path) -> None:
    made = posts()
    hydrate(CONFIG, world.options(), QUIET)
    world.server.delete(GONE[:20])
    world.server.vanish(GONE[20:])
    recheck(CONFIG, world.options(), QUIET)
    whole = world.options(dumps=(dump(tmp_path, made),))
    hydrate(CONFIG, whole, QUIET)
    hydrate(CONFIG, replace(whole, dumps=(dump(tmp_path, {"q0001": post("q0001")}),)), QUIET)
    for name in GONE:
        assert world.known()[name].status is not Status.OK
        assert not world.files_with(made[name]["title"])
    assert recheck(CONFIG, world.options(), QUIET)[2] == tuple(sorted(GONE))


@pytest.mark.parametrize("name", ["README.md", "notizen.txt", "subreddit/lock.json"])
def test_a_folder_of_other_files_is_left_alone(world: World, tmp_path: Path, name: str) -> None:
    foreign = tmp_path / "meins" / name
    foreign.parent.mkdir(parents=True)
    foreign.write_text("Mein eigenes", encoding="utf-8")
    with pytest.raises(UsageError, match="not a folder for them"):
        hydrate(CONFIG, world.options(out=tmp_path / "meins"), QUIET)
    assert [path for path in (tmp_path / "meins").rglob("*") if path.is_file()] == [foreign]
    assert foreign.read_text(encoding="utf-8") == "Mein eigenes" and world.server.log == []


def test_a_link_into_a_release_or_a_releases_name_is_refused(world: World, tmp_path: Path) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    world.build()
    before = sorted(world.release.rglob("*"))
    (tmp_path / "link").symlink_to(world.release / "subreddit")
    (tmp_path / "anders").mkdir()
    (tmp_path / "tecb-de").mkdir()
    (tmp_path / "anders/mteb-de").symlink_to(tmp_path / "tecb-de")
    for place in ("link", "link/tief", "tecb-de", "anders/mteb-de"):
        for verb in (hydrate, recheck):
            with pytest.raises(UsageError, match="texts must never be published"):
                verb(CONFIG, world.options(out=tmp_path / place), QUIET)
    assert sorted(world.release.rglob("*")) == before and not list((tmp_path / "tecb-de").iterdir())


def test_the_folder_of_texts_is_its_owners_alone(world: World) -> None:
    world.out.mkdir(parents=True, mode=0o755)
    hydrate(CONFIG, world.options(), QUIET)
    assert world.out.stat().st_mode & 0o777 == 0o700


def test_a_ledger_of_a_stand_in_is_never_committed(world: World) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    lock = world.build()
    listed, ledger = lock.sources
    pinned = listed.model_copy(update={"kind": "http", "resolved": CONFIG.listed.sha256})
    lock = lock.model_copy(update={"sources": (pinned, ledger)})
    assert ledger.revision == "" and len(stand_ins(lock)) == 2
    with pytest.raises(Refused, match="a stand-in for Reddit gave 71 answers"):
        commit(world.dist, lock, world.dist / "none")
    by_hash = ledger.model_copy(update={"revision": ledger.files[0].sha256})
    real = {"ledger": {"origins": {"api": 71}}}
    assert not stand_ins(lock.model_copy(update={"sources": (pinned, by_hash), "parameters": real}))


def test_answers_of_reddit_and_of_a_stand_in_are_kept_apart(world: World, tmp_path: Path) -> None:
    real = world.options(reddit=None)
    hydrate(CONFIG, world.options(), QUIET)
    for verb in (hydrate, recheck):
        with pytest.raises(UsageError, match="holds answers of a stand-in, and Reddit would be asked"):
            verb(CONFIG, real, QUIET)
    other = tmp_path / "andere"
    whole = replace(real, home=other, out=tmp_path / "texte", dumps=(dump(tmp_path, posts()),))
    hydrate(CONFIG, whole, QUIET)
    with pytest.raises(UsageError, match="holds answers of Reddit, and a stand-in would be asked"):
        recheck(CONFIG, world.options(home=other, out=tmp_path / "texte"), QUIET)


@pytest.mark.parametrize("published", [False, True])
def test_a_text_that_a_later_dump_shows_deleted_leaves_ledgers_and_tables(
    world: World, tmp_path: Path, published: bool
) -> None:
    made = posts()
    first = world.options(dumps=(dump(tmp_path, made),))
    hydrate(CONFIG, first, QUIET)
    world.build()
    origin = str(world.release) if published else ""
    title = made["p03x02"]["title"]
    assert len(world.files_with(title)) == 3
    later = dump(tmp_path, {"p03x02": made["p03x02"] | {"title": "[deleted]", "selftext": "[deleted]"}})
    record = hydrate(CONFIG, replace(first, dumps=(later,), origin=origin), QUIET)
    assert record.gone == {"deleted": 1}
    assert world.files_with(title) == []
    assert (world.out / TAKEDOWN).read_text(encoding="utf-8").split() == ["p03x02"]
    hydrate(CONFIG, replace(first, dumps=(dump(tmp_path, made),), origin=origin), QUIET)
    assert world.files_with(title) == []
    dated = read_statuses(world.dated).filter(pl.col("id") == "p03x02")
    assert dated.select("status", "subreddit").rows() == [("deleted", made["p03x02"]["subreddit"])]


def test_what_a_hand_made_dump_gave_can_be_rehearsed_only(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = dump(tmp_path, posts())
    (world.sources / CONFIG.listed.name).replace(tmp_path / "list")
    named = f"RS_2026-01.zst@{files.sha256(path)}"
    real = world.options(reddit=None, dumps=(path,), sources=())
    known = replace(CONFIG, archives={files.sha256(path): "RS_2026-01"})
    fetched = Fetched(
        {CONFIG.listed.name: (tmp_path / "list",)}, (LockedSource(kind="http", name="list", files=()),)
    )
    monkeypatch.setattr(hydration, "fetch", lambda *_, **__: fetched)
    for spec, origin, made_up in ((CONFIG, "stand-in", True), (known, "dump", False)):
        record = hydrate(spec, real, QUIET)
        told = read_statuses(world.dated)
        assert set(told["origin"]) == {origin} and set(told["archive"]) == {named}
        assert record.stand_in is made_up
        assert is_stand_in(world.dated, spec.archives) is made_up


def test_a_folder_below_anothers_manifest_takes_texts(world: World, tmp_path: Path) -> None:
    for number, held in enumerate(['{"name": "app", "icons": []}', "[]", "kein JSON"]):
        web = tmp_path / f"web{number}"
        web.mkdir()
        (web / "manifest.json").write_text(held, encoding="utf-8")
        assert hydrate(CONFIG, world.options(out=web / "texte"), QUIET).sets
