from __future__ import annotations

import datetime
import functools
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from builders.reddit.submission import GONE, Status, Submission, merged
from tests.reddit import kit

OK, REMOVED, DELETED, MISSING, ERROR = Status
DAYS = (kit.TODAY, kit.TOMORROW)


def answer(
    status: Status = OK, origin: str = "dump", day: datetime.date = kit.TODAY, **more: Any
) -> Submission:
    texts = {"title": "Ein Titel"} if status is OK else {}
    plain = {"id": "abc12", "status": status, "checked": day, "origin": origin, "subreddit": "bahn"}
    return Submission.model_validate(plain | texts | more)


ANSWERS = some.builds(
    answer,
    some.sampled_from([OK, REMOVED, DELETED, MISSING]),
    day=some.sampled_from(DAYS),
    subreddit=some.sampled_from(["", "bahn"]),
)


@given(some.lists(ANSWERS, min_size=1, max_size=4))
def test_in_whatever_order_dumps_are_read_the_same_is_known(answers: list[Submission]) -> None:
    found = [functools.reduce(merged, order[1:], order[0]) for order in itertools.permutations(answers)]
    gone = any(one.status in GONE for one in answers)
    assert {one.status in GONE for one in found} == {gone}
    assert {bool(one.title) for one in found} == {not gone and any(one.status is OK for one in answers)}
    assert len({(one.checked, one.subreddit) for one in found}) == 1


@given(some.lists(ANSWERS, min_size=1, max_size=4), some.sampled_from([OK, REMOVED, DELETED, MISSING]))
def test_reddit_has_the_last_word(answers: list[Submission], status: Status) -> None:
    known = functools.reduce(merged, answers[1:], answers[0])
    assert merged(known, answer(status, "api", kit.TOMORROW)).status is status


@pytest.mark.parametrize(
    ("known", "told", "status"),
    [
        (answer(OK, "api"), answer(DELETED, day=kit.TOMORROW), DELETED),
        (answer(OK, "api"), answer(DELETED), DELETED),
        (answer(OK, "api", kit.TOMORROW), answer(DELETED), OK),  # Reddit showed it after that dump was made
        (answer(OK, "api"), answer(MISSING, day=kit.TOMORROW), OK),
        (answer(MISSING, "api"), answer(OK, day=kit.TOMORROW), MISSING),
        (answer(MISSING, "api"), answer(ERROR, "api", kit.TOMORROW), MISSING),
        (answer(DELETED), answer(ERROR, "api", kit.TOMORROW), DELETED),
        (answer(ERROR, "api"), answer(OK), OK),
        (answer(ERROR, "api"), answer(MISSING), MISSING),
    ],
)
def test_which_of_two_answers_counts(known: Submission, told: Submission, status: Status) -> None:
    assert merged(known, told).status is status


@pytest.mark.parametrize("origin", ["api", "dump"])
@pytest.mark.parametrize("status", list(Status))
def test_a_subreddit_once_known_is_kept(status: Status, origin: str) -> None:
    for known in (answer(ERROR, "api"), answer(OK, "dump"), answer(DELETED, "api")):
        assert merged(known, answer(status, origin, kit.TOMORROW, subreddit="")).subreddit == "bahn"


def test_of_two_texts_in_dumps_the_later_one_is_kept() -> None:
    before, after = answer(title="Vorher"), answer(title="Nachher", day=kit.TOMORROW)
    assert merged(before, after).title == merged(after, before).title == "Nachher"
    assert merged(answer(OK, "api", title="Reddits"), after).title == "Reddits"
