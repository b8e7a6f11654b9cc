from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from builders import registry
from builders.configs.subreddit import CONFIG, LIST, read
from builders.errors import SourceSchema, UsageError
from builders.prepare.sets import draw
from builders.reddit.dated_ledger import statuses
from builders.reddit.sets import prepare_ids
from builders.reddit.submission import Status, Submission
from builders.spec import RELEASES, SEED, Ids
from tests.fixtures.submissions import DAY, entry, write_list
from tests.fixtures.upstream import upstream


def test_repeats_are_counted_and_taken_once(tmp_path: Path) -> None:
    path = write_list(tmp_path, ["abcde", "12345", "abcde", "zz9zz9", "abcde"])
    found = read({LIST: [path]})
    assert (found.ids, found.lines, found.repeated) == (("abcde", "12345", "zz9zz9"), 5, 2)


def test_mangled_ids_are_told_with_their_line(tmp_path: Path) -> None:
    path = write_list(tmp_path, ["abcde", "1,23E+05"])
    with pytest.raises(SourceSchema, match="line 3"):
        read({LIST: [path]})


def test_the_upstream_is_pinned_to_a_commit_and_by_its_hash() -> None:
    assert len(CONFIG.listed.sha256) == 64 and CONFIG.listed.size == 353_400
    assert "/75e180b184fa6e14128936dc2b15f1e6b3ecd6de/" in CONFIG.listed.url
    assert CONFIG.licence in RELEASES[CONFIG.release].admits


def test_it_is_found_by_name_as_what_it_is() -> None:
    assert registry.load("subreddit") is CONFIG
    assert isinstance(CONFIG, Ids) and registry.load_ids("subreddit") is CONFIG
    with pytest.raises(UsageError, match="blurbs publishes its texts"):
        registry.load_ids("blurbs")


def test_the_draw_of_eighty_subreddits_is_that_of_the_published_benchmark() -> None:
    rows = pl.DataFrame({"subreddit": [f"Thema{number:02}" for number in range(80)]})
    drawn = draw(rows, CONFIG.sets, seed=42)
    assert [len(one.rows) for one in drawn] == [50, 44, 20, 37, 25, 45, 32, 40, 40, 20]


@pytest.mark.upstream
def test_the_stand_in_is_accounted_for_line_by_line() -> None:
    path = upstream() / "reddit" / LIST
    lines = path.read_text(encoding="utf-8").split()[1:]
    found = read({LIST: [path]})
    assert found.lines == len(lines) and set(found.ids) == set(lines) and len(found.ids) == len(set(lines))
    kinds = (Status.OK, Status.OK, Status.REMOVED, Status.DELETED, Status.MISSING)
    entries = [_answer(number, name, kinds[number % 5]) for number, name in enumerate(found.ids)]
    prepared = prepare_ids(CONFIG, found, statuses(entries))
    fifth = len([entry for entry in entries if entry.status is Status.REMOVED])
    assert prepared.funnel.read == len(lines)
    assert prepared.funnel.merged == len(lines) - len(set(lines))
    assert prepared.funnel.dropped["removed"] == fifth
    assert prepared.funnel.out == sum(entry.status is Status.OK for entry in entries)
    assert len(draw(prepared.submissions, CONFIG.sets, seed=SEED)) == 10


def _answer(number: int, name: str, status: Status) -> Submission:
    return entry(name, status, subreddit=f"Thema{number % 80:02}", checked=DAY)
