"""Versions: which are published, and which must follow a change. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

Bump = Literal["none", "patch", "minor", "major"]
BUMPS: tuple[Bump, ...] = ("none", "patch", "minor", "major")
"""From the least to the greatest."""

_NUMBER = "(0|[1-9][0-9]{0,5})"
_TAG = re.compile(rf"v{_NUMBER}\.{_NUMBER}\.{_NUMBER}")


class Version(NamedTuple):
    """Three numbers, compared from the left."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        """Return "1.0.0"."""
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def tag(self) -> str:
        """The Git tag: "v1.0.0"."""
        return f"v{self}"


FIRST = Version(1, 0, 0)


def of_tag(tag: str) -> Version | None:
    """Return the version that a tag names, None where it names none."""
    match = _TAG.fullmatch(tag)
    return Version(*map(int, match.groups())) if match else None


def of_tags(tags: Iterable[str]) -> list[Version]:
    """Return the versions among tags, the highest first; tags that name none are passed over."""
    return sorted(filter(None, map(of_tag, tags)), reverse=True)


def least(published: Version | None, bump: Bump) -> Version:
    """Return the lowest version that may follow the highest published one after changes of that weight.

    Publishing again where nothing has changed takes a patch.
    """
    if published is None or published < FIRST:
        return FIRST
    major, minor, patch = published
    if bump == "major":
        return Version(major + 1, 0, 0)
    return Version(major, minor + 1, 0) if bump == "minor" else Version(major, minor, patch + 1)
