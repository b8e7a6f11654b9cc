"""The kinds of personal data that are found and replaced."""

from __future__ import annotations

from enum import StrEnum


class PersonalKind(StrEnum):
    """A kind; its placeholder in a text is the value in capitals, ``<EMAIL>``."""

    URL = "url"
    EMAIL = "email"
    PHONE = "phone"

    @property
    def placeholder(self) -> str:
        """What replaces a span of this kind."""
        return f"<{self.value.upper()}>"


CONTACT: tuple[PersonalKind, ...] = (PersonalKind.URL, PersonalKind.EMAIL, PersonalKind.PHONE)
ALL_KINDS: tuple[PersonalKind, ...] = tuple(PersonalKind)
