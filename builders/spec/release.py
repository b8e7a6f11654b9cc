"""The dataset repositories on the Hub."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Release:
    """A dataset repository on the Hub: configs whose licences allow one licence for the whole.

    Attributes:
        name: "mteb-de".
        title: The card's pretty name.
        licence: Licence of the whole.
        admits: Licences of configs that it may contain.
        languages: ISO 639-1 codes for the card.
    """

    name: str
    title: str
    licence: str
    admits: tuple[str, ...]
    languages: tuple[str, ...]


RELEASES: dict[str, Release] = {
    "mteb-de": Release(
        name="mteb-de",
        title="mteb-de: German retrieval with mined hard negatives",
        licence="cc-by-4.0",
        admits=("cc-by-4.0", "cc0-1.0"),
        languages=("de", "en"),
    ),
    "tecb-de": Release(
        name="tecb-de",
        title="tecb-de: German text clustering",
        licence="cc-by-nc-sa-4.0",
        admits=("cc-by-nc-sa-4.0", "cc-by-nc-4.0", "cc-by-4.0", "cc0-1.0"),
        languages=("de",),
    ),
}
