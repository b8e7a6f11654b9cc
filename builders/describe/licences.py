"""Licences by their Hub id: names, addresses, and the texts that lie beside the data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from builders.describe.templates import licence_text
from builders.errors import UsageError


@dataclass(frozen=True, slots=True)
class Licence:
    """A licence.

    Attributes:
        name: Its full name.
        spdx: Its SPDX identifier.
        url: Where it is explained, as Croissant names it.
        legal_code: Where its binding text stands.
    """

    name: str
    spdx: str
    url: str
    legal_code: str

    @property
    def path(self) -> str:
        """Where its text lies in the release."""
        return f"LICENSE-{self.spdx}.txt"


def _creative_commons(hub_id: str, name: str, path: str, version: str) -> Licence:
    url = f"https://creativecommons.org/{path}/"
    return Licence(f"Creative Commons {name} {version}", hub_id.upper(), url, f"{url}legalcode")


LICENCES: dict[str, Licence] = {
    hub_id: _creative_commons(hub_id, name, path, "1.0 Universal" if path[0] == "p" else "4.0 International")
    for hub_id, name, path in (
        ("cc0-1.0", "Zero", "publicdomain/zero/1.0"),
        ("cc-by-4.0", "Attribution", "licenses/by/4.0"),
        ("cc-by-sa-4.0", "Attribution-ShareAlike", "licenses/by-sa/4.0"),
        ("cc-by-nc-4.0", "Attribution-NonCommercial", "licenses/by-nc/4.0"),
        ("cc-by-nc-sa-4.0", "Attribution-NonCommercial-ShareAlike", "licenses/by-nc-sa/4.0"),
    )
}


def licence(hub_id: str) -> Licence:
    """Return the licence with that Hub id.

    Raises:
        UsageError: It is not one that a config or release of ours may have.
    """
    try:
        return LICENCES[hub_id]
    except KeyError:
        known = ", ".join(sorted(LICENCES))
        raise UsageError(f"unknown licence {hub_id!r}", hint=f"Licences: {known}.") from None


def licence_files(hub_ids: Iterable[str]) -> dict[str, bytes]:
    """Return the licence files of a release by path.

    A file holds the legal code where the project carries it, else the licence's name and the address of
    the legal code: no text is made up.

    Raises:
        UsageError: A licence is unknown.
    """
    needed = [licence(hub_id) for hub_id in sorted(set(hub_ids))]
    return {entry.path: (licence_text(entry.spdx) or _notice(entry)).encode() for entry in needed}


def upstream_licences(datasets: Iterable[str]) -> dict[str, bytes]:
    """Return the licences of upstreams, by path, whose text has to go along with what is made of them.

    Args:
        datasets: Names of configs; most have none.
    """
    names = [f"upstream-{name}" for name in sorted(set(datasets))]
    texts = {name: licence_text(name) for name in names}
    return {f"LICENSE-{name}.txt": text.encode() for name, text in texts.items() if text is not None}


def _notice(entry: Licence) -> str:
    return f"{entry.name}\n\nSPDX-License-Identifier: {entry.spdx}\nLegal code: {entry.legal_code}\n"
