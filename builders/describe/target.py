"""Where and as what a release is published."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass

from builders.errors import UsageError
from builders.hub import HUB, check_repo

_NUMBER = r"(?:0|[1-9][0-9]{0,5})"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}")


@dataclass(frozen=True, slots=True)
class Target:
    """The Hub repository "OWNER/NAME", version "1.0.0" and date of a release, for card and Croissant.

    Raises:
        UsageError: `repo` or `version` is malformed.
    """

    repo: str
    version: str
    date: datetime.date
    private: bool = False

    def __post_init__(self) -> None:
        """Check repository and version."""
        check_repo(self.repo)
        if not _VERSION.fullmatch(self.version):
            raise UsageError(
                f"{self.version!r} is not a version", hint='Write three numbers without a "v": 1.0.0.'
            )

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
