"""The repository, version and date under which a release is published."""

import datetime
import re
from dataclasses import dataclass
from typing import NamedTuple

from builders.errors import UsageError
from builders.hub import HUB, check_repo

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


def version_of(tag: str) -> Version | None:
    """Return the version that a tag names, None where it names none."""
    match = _TAG.fullmatch(tag)
    return Version(*map(int, match.groups())) if match else None


def parse_version(text: str) -> Version:
    """Return the version of three numbers, "1.0.0".

    Raises:
        UsageError: The text is something else.
    """
    version = version_of(f"v{text}")
    if version is None:
        raise UsageError(f"{text!r} is not a version", hint='Write three numbers without a "v": 1.0.0.')
    return version


@dataclass(frozen=True, slots=True)
class Target:
    """The Hub repository "OWNER/NAME", version "1.0.0" and date of a release, for card and Croissant."""

    repo: str
    version: str
    date: datetime.date
    private: bool = False

    def __post_init__(self) -> None:
        """Check repository and version."""
        check_repo(self.repo)
        parse_version(self.version)

    @property
    def tag(self) -> str:
        """The Git tag of the version: "v1.0.0"."""
        return f"v{self.version}"

    @property
    def owner(self) -> str:
        """The account that publishes."""
        return self.repo.partition("/")[0]

    @property
    def url(self) -> str:
        """The repository's page."""
        return f"{HUB}/datasets/{self.repo}"

    def file_url(self, path: str) -> str:
        """Return where a published file is downloaded from, at this version."""
        return f"{self.url}/resolve/{self.tag}/{path}"
