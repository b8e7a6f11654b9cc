"""Licences by their Hub id: names, addresses, and the texts that lie beside the data."""

from collections.abc import Iterable
from typing import NamedTuple

from builders.describe.templates import card_text
from builders.errors import UsageError


class Licence(NamedTuple):
    """A licence: its full name, its SPDX identifier, and the page that explains it, as Croissant names it."""

    name: str
    spdx: str
    url: str


_4 = "4.0 International"
LICENCES = {
    spdx.lower(): Licence(f"Creative Commons {name}", spdx, f"https://creativecommons.org/{path}/")
    for spdx, name, path in (
        ("CC0-1.0", "Zero 1.0 Universal", "publicdomain/zero/1.0"),
        ("CC-BY-4.0", f"Attribution {_4}", "licenses/by/4.0"),
        ("CC-BY-SA-4.0", f"Attribution-ShareAlike {_4}", "licenses/by-sa/4.0"),
        ("CC-BY-NC-4.0", f"Attribution-NonCommercial {_4}", "licenses/by-nc/4.0"),
        ("CC-BY-NC-SA-4.0", f"Attribution-NonCommercial-ShareAlike {_4}", "licenses/by-nc-sa/4.0"),
    )
}


def licence(hub_id: str) -> Licence:
    """Return the licence with that Hub id.

    Raises:
        UsageError: It is not one that a config or release of ours may have.
    """
    if hub_id not in LICENCES:
        raise UsageError(f"unknown licence {hub_id!r}", hint=f"Licences: {', '.join(sorted(LICENCES))}.")
    return LICENCES[hub_id]


def licence_files(hub_ids: Iterable[str], configs: Iterable[str]) -> dict[str, bytes]:
    """Return the licence files of a release by path.

    A file holds the legal code, or the address of one that the project does not carry. The licence of a
    config's upstream lies there where it has to go along with the data.
    """
    notices = {
        spdx: f"{name}\n\nSPDX-License-Identifier: {spdx}\nLegal code: {url}legalcode\n"
        for name, spdx, url in map(licence, set(hub_ids))
    }
    notices |= {f"upstream-{config}": "" for config in configs}
    texts = {name: card_text(f"licences/{name}.txt") or notice for name, notice in notices.items()}
    return {f"LICENSE-{name}.txt": text.encode() for name, text in texts.items() if text}
