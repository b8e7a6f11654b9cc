from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.describe.target import Version, version_of
from builders.release.diff import _BUMPS, FIRST, Bump, least_after
from builders.release.tree import Remote

NUMBERS = st.integers(0, 999_999)
VERSIONS = st.builds(Version, NUMBERS, NUMBERS, NUMBERS)


@pytest.mark.parametrize(
    "tag",
    ["1.0.0", "v1.0", "v1.0.0.0", "v01.0.0", "v1.0.0-rc1", "v1.0.0\n", "v1.٠.0", "v1.0.1000000", "", "main"],
)
def test_what_names_no_version(tag: str) -> None:
    assert version_of(tag) is None


@given(VERSIONS)
def test_a_version_is_read_back_from_its_tag(version: Version) -> None:
    assert version_of(version.tag) == version


def test_the_highest_version_is_by_number_not_by_text() -> None:
    assert Remote("", False, dict.fromkeys(["v1.9.0", "alt", "v1.10.0", "v01.99.0"], ""), {}).versions == [
        (1, 10, 0),
        (1, 9, 0),
    ]


@pytest.mark.parametrize(("published", "bump", "expected"), [
    (None, "none", "1.0.0"),
    (None, "major", "1.0.0"),
    ((0, 9, 9), "major", "1.0.0"),
    ((1, 2, 3), "none", "1.2.4"),
    ((1, 2, 3), "patch", "1.2.4"),
    ((1, 2, 3), "minor", "1.3.0"),
    ((1, 2, 3), "major", "2.0.0"),
])  # fmt: skip
def test_the_least_version(published: tuple[int, int, int] | None, bump: Bump, expected: str) -> None:
    assert str(least_after(Version(*published) if published else None, bump)) == expected


@given(VERSIONS)
def test_a_greater_bump_never_asks_for_less_and_always_for_more_than_there_is(published: Version) -> None:
    following = [least_after(published, bump) for bump in _BUMPS]
    assert following == sorted(following)
    assert all(version > published and version >= FIRST for version in following)
