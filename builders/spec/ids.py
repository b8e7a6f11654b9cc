"""A clustering config of which ids and labels alone may be published."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from builders.personal.kinds import PersonalKind
from builders.prepare.sets import Grouped
from builders.reddit.id_list import IdsFile
from builders.sources.model import HttpSource, LocalFile
from builders.spec.common import Files, Waiver


@dataclass(frozen=True, slots=True)
class Ids:
    """A clustering dataset of which ids and labels alone may be published: everyone fetches the texts.

    Attributes:
        name: As the file in `builders/configs`.
        release: "tecb-de".
        title: One line for people.
        licence: SPDX-like Hub licence id, lower case: of the published ids.
        languages: ISO 639-3 codes.
        listed: The upstream's list of ids.
        ledger: What became of each id, and its label: made on this machine by `mteb-de hydrate`.
        read: Fetched files in, the ids out. Raises `SourceError`.
        sets: How sets are drawn.
        clean: Text as its author wrote it in, text without mark-up, links and user names out.
        personal: The kinds of personal data that are replaced in texts on the user's own machine.
        archives: Names, by their sha256, of dumps that a maintainer knows as archives of Reddit. What any
            other dump gave is a stand-in, and can be rehearsed only.
        waivers: Findings that are accepted.
        notes: Facts about meaning that the card prints as limitations.
    """

    name: str
    release: str
    title: str
    licence: str
    languages: tuple[str, ...]
    listed: HttpSource
    ledger: LocalFile
    read: Callable[[Files], IdsFile]
    sets: tuple[Grouped, ...]
    clean: Callable[[str], str]
    personal: tuple[PersonalKind, ...]
    archives: Mapping[str, str] = field(default_factory=dict)
    waivers: tuple[Waiver, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[HttpSource | LocalFile, ...]:
        """All sources, fetched in order."""
        return (self.listed, self.ledger)
