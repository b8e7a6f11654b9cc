from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.hub import retry_after

NOW = datetime.datetime(2024, 5, 17, 12, 0, 0, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("7.5", 7.5),
        ("0", 0.0),
        ("Fri, 17 May 2024 12:01:30 GMT", 90.0),
        ("Fri, 17 May 2024 14:01:30 +0200", 90.0),
        ("Fri, 17 May 2024 12:00:05", 5.0),
        ("Fri, 17 May 2024 11:00:00 GMT", 0.0),
        ("Sun, 19 May 2024 12:00:00 GMT", 2 * 86_400.0),
        ("Fri, 17 May 2124 11:00:00 GMT", 30 * 86_400.0),
        ("1e12", 30 * 86_400.0),
        ("-3", None),
        ("nan", None),
        ("inf", None),
        ("bald", None),
        ("", None),
        ("Fri, 99 May 2024 12:01:30 GMT", None),
    ],
)
def test_seconds_and_dates_are_understood(value: str, seconds: float | None) -> None:
    assert retry_after(value, now=NOW) == seconds


@given(
    st.text() | st.from_regex(r"(Mon|Fri), [0-9]{1,3} (May|Mai) [0-9]{1,9} [0-9:]{5,9} (GMT|[+-][0-9]{4})")
)
def test_no_value_does_harm(value: str) -> None:
    seconds = retry_after(value, now=NOW)
    assert seconds is None or 0 <= seconds <= 86_400
