from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from builders.errors import SourceSchema
from builders.reddit.submission import Status, Submission, submission
from tests.reddit import kit


def read(origin: Any = "api", **fields: Any) -> Any:
    return submission(kit.submission("abc12", **fields), origin=origin, checked=kit.TODAY)


def test_what_is_kept_of_a_submission() -> None:
    found = read()
    assert found.model_dump() == {
        "id": "abc12",
        "status": Status.OK,
        "checked": kit.TODAY,
        "origin": "api",
        "subreddit": "fahrplan",
        "title": "Frage abc12 zur Straßenbahn",
        "body": "Fährt Linie abc12 & Co. auch nachts?",
        "archive": "",
        "recheck_open": False,
    }
    assert "fahrgast" not in found.model_dump_json()


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"selftext": "[removed]"}, "removed"),
        ({"selftext": "[deleted]"}, "deleted"),
        ({"selftext": " [Removed]\n"}, "removed"),
        ({"title": "[ Removed by Reddit ]"}, "removed"),
        ({"title": "[ Removed by Moderator ]"}, "removed"),
        ({"title": "[removed by reddit]", "selftext": ""}, "removed"),
        (
            {
                "selftext": "[ Removed by Reddit on account of violating the "
                "[content policy](/help/contentpolicy). ]"
            },
            "removed",
        ),
        ({"selftext": "[ Removed by Reddit in response to a copyright notice. ]"}, "removed"),
        ({"title": "[deleted by user]", "selftext": ""}, "deleted"),
        ({"title": "[deleted by user]", "selftext": "[removed]"}, "deleted"),
        ({"removed_by_category": "moderator"}, "removed"),
        ({"removed_by_category": "automod_filtered"}, "removed"),
        ({"removed_by_category": "copyright_takedown"}, "removed"),
        ({"removed_by_category": "deleted"}, "deleted"),
        ({"removed_by_category": "author"}, "deleted"),
        ({"removed_by_category": "moderator", "selftext": "", "is_self": False}, "removed"),
        ({"selftext": "[deleted]", "removed_by_category": "moderator"}, "deleted"),
        ({"title": "[ Removed by Reddit ]", "selftext": "[deleted]"}, "deleted"),
        ({"_meta": {"was_deleted_later": True}}, "deleted"),
        ({"_meta": {"was_deleted_later": True, "removal_type": "removed"}}, "removed"),
        ({"_meta": {"removal_type": "deleted"}}, "deleted"),
        ({"title": None, "selftext": "[removed]"}, "removed"),
    ],
)
def test_what_is_gone_leaves_no_text(fields: dict[str, Any], status: str) -> None:
    found = read(**fields)
    assert (found.status, found.title, found.body) == (status, "", "")
    assert found.subreddit == "fahrplan"


@pytest.mark.parametrize(
    "fields",
    [
        {"author": None},
        {"author": "[deleted]"},
        {"removed_by_category": ""},
        {"selftext": "", "is_self": False},
        {"selftext": "NA"},
        {"selftext": "null"},
        {"selftext": "NaN"},
        {"title": "None"},
        {"selftext": "Der Beitrag war [removed], schade"},
        {"title": "[removed] – was heißt das?"},
        {"selftext": "[deleted by user] steht bei mir überall"},
        {"_meta": {"was_deleted_later": False}},
        {"_meta": None},
        {"selftext": "[" + "removed " * 50_000},
    ],
)
def test_what_is_there_stays_word_for_word(fields: dict[str, Any]) -> None:
    found = read(**fields)
    wanted = kit.submission("abc12", **fields)
    assert (found.status, found.title, found.body) == (Status.OK, wanted["title"], wanted["selftext"])


def test_fields_that_a_dump_lacks_are_taken_as_empty() -> None:
    found = submission({"id": "abc12", "title": "Nur ein Titel"}, origin="dump", checked=kit.TODAY)
    assert (found.status, found.body, found.subreddit) == (Status.OK, "", "")


def test_entities_of_a_dump_are_unescaped_once_and_those_of_the_api_never() -> None:
    text = "A &amp; B &amp;lt; &lt;c&gt; &amp;#x200B; &nbsp; &quot;"
    assert read("dump", selftext=text).body == "A & B &lt; <c> &#x200B; &nbsp; &quot;"
    assert read("api", selftext=text).body == text


@pytest.mark.parametrize(
    "name", ["u_fahrgast", "U_fahrgast", "", None, 7, "zwei worte", "a\tb", "ü" * 5, "x" * 22]
)
def test_what_names_a_user_or_nothing_is_no_subreddit(name: Any) -> None:
    assert not read(subreddit=name).subreddit


def test_a_lone_surrogate_goes_and_all_else_stays() -> None:
    assert read(selftext="Gr\ud800üße 🚋\x00").body == "Grüße 🚋\x00"


@pytest.mark.parametrize(
    "fields",
    [
        {"title": None},
        {"title": ""},
        {"title": " \n"},
        {"title": ["x"]},
        {"selftext": 7},
        {"title": "\ud800"},
    ],
)
@pytest.mark.parametrize("origin", ["api", "dump"])
def test_what_cannot_be_read_is_missing_and_blocks_nothing(origin: str, fields: dict[str, Any]) -> None:
    found = read(origin, **fields)
    assert (found.status, found.title, found.body) == (Status.MISSING, "", "")
    assert (found.subreddit, found.origin) == ("fahrplan", origin)


@pytest.mark.parametrize("name", ["ABC12", None, 7, ""])
def test_what_has_no_id_is_no_submission(name: Any) -> None:
    with pytest.raises(SourceSchema, match="id is"):
        read(id=name)


@pytest.mark.parametrize("name", ["zwei worte", "a\tb", "ü" * 5, "x" * 22, "r/bahn"])
def test_no_other_subreddit_can_be_noted(name: str) -> None:
    with pytest.raises(ValidationError, match="not the name of a subreddit"):
        Submission(id="abc12", status=Status.OK, checked=kit.TODAY, origin="api", subreddit=name)
