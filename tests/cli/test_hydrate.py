"""`mteb-de hydrate` and `mteb-de recheck`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.kit import call
from tests.fixtures.submissions import posts
from tests.reddit.hydration import kit
from tests.reddit_server import CLIENT_SECRET


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[kit.World]:
    with kit.world(tmp_path, monkeypatch) as made:
        yield made


def test_the_whole_way_by_command(world: kit.World, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "build", "subreddit", "--offline")
    assert said.code == 2
    assert "mteb-de hydrate subreddit" in said.err and "praw_client_id" in said.err

    said = call(capsys, "hydrate", "subreddit", "--offline")
    assert said.code == 0, said.err
    assert said.out.splitlines()[0] == "set 1: 70 texts"
    assert "no published sets to compare with" in said.out and "%" not in said.out
    assert said.out.splitlines()[-1] == "subreddit: texts in dist/hydrated"

    said = call(capsys, "build", "subreddit", "--offline")
    assert said.code == 0 and "8 merged" not in said.err and "7 merged" in said.err
    said = call(capsys, "check")
    assert said.code == 0, said.out

    world.server.delete(list(posts())[:20])
    said = call(capsys, "recheck", "subreddit")
    assert said.code == 0
    assert said.out.splitlines()[0] == "subreddit: 71 submissions asked for; gone: 20 deleted; edited: 0"
    assert "set 1: 50 of 70 (71.4%)  not comparable" in said.out
    assert "published ids to take down: 20, in dist/hydrated/takedown.txt" in said.out

    said = call(capsys, "hydrate", "subreddit", "--from", "dist/tecb-de", "--json")
    document = json.loads(said.out)
    assert said.code == 0 and document["gone"] == {"deleted": 20}
    assert document["sets"][0]["comparable"] is False
    said = call(capsys, "recheck", "subreddit", "--json")
    assert json.loads(said.out)["asked"] == 51  # and leer001, which was missing


def test_missing_credentials_are_told_and_no_secret_ever(
    world: kit.World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("praw_client_secret", "ein-falsches-Geheimnis")
    said = call(capsys, "hydrate", "subreddit", "--offline")
    assert said.code == 2 and "ein-falsches-Geheimnis" not in said.out + said.err
    assert "praw_client_secret" in said.err
    monkeypatch.delenv("praw_client_secret")
    said = call(capsys, "hydrate", "subreddit", "--offline")
    assert said.code == 2 and "client_secret is missing" in said.err
    assert CLIENT_SECRET not in said.out + said.err
    assert not (world.out / "hydrated.json").exists()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("hydrate", "blurbs"), "publishes its texts"),
        (("hydrate", "subredit"), "Did you mean subreddit?"),
        (("hydrate", "subreddit", "--from", "nirgends"), "OWNER/NAME@v1.0.0"),
        (("hydrate", "subreddit", "--dump", "nirgends.zst"), "mteb-de hydrate --help"),
        (("recheck", "jobs"), "publishes its texts"),
        (("hydrate", "subreddit", "--from", "dist/tecb-de", "--new-sets"), "Give one of them"),
        (("recheck", "subreddit"), "mteb-de hydrate subreddit"),
    ],
)
def test_bad_usage_says_what_to_do(
    world: kit.World, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], hint: str
) -> None:
    said = call(capsys, *words)
    assert said.code == 2 and said.out == ""
    assert hint in said.err and "Traceback" not in said.err


def test_texts_are_kept_out_of_a_release(world: kit.World, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, "hydrate", "subreddit", "--offline", "-q")
    call(capsys, "build", "subreddit", "--offline", "-q")
    said = call(capsys, "hydrate", "subreddit", "--offline", "--out", "dist/tecb-de")
    assert said.code == 2 and "texts must never be published" in said.err


def test_bad_lines_of_a_dump_are_told_and_too_many_stop_unless_they_may_be(
    world: kit.World, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = kit.dump(tmp_path, {**posts(), "": {"title": "ohne"}, "-": {"title": "auch ohne"}})
    words = ("hydrate", "subreddit", "--offline", "--dump", str(path))
    said = call(capsys, *words)
    assert said.code == 2
    assert "2 of 72 lines are no submissions: line 71 (without an id), line 72 (without an id)" in said.err
    said = call(capsys, *words, "--bad-lines")
    assert said.code == 0, said.err
    assert "without an id); passed over" in said.err
    assert said.out.startswith("set 1: 70 texts")
