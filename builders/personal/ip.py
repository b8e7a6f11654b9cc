"""IP addresses of versions 4 and 6 that are one's own; those of any home network and of no host stay.

They are found from a mark in their middle, a dot or a colon.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_network

from builders.personal.scan import Scan, Span
from builders.spec import PersonalKind

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_V4 = re.compile(rf"\.(?<=[0-9]\.){_OCTET}\.{_OCTET}\.{_OCTET}(?![\w-]|[./][0-9])")
_OCTET_BACKWARDS = re.compile(r"[0-9]{1,3}(?![\w/+-]|\.[0-9\s.,])")
_V6 = re.compile(r":(?=:|[0-9A-Fa-f]{1,4}:[0-9A-Fa-f:])(?:[0-9A-Fa-f]{0,4}:){1,7}[0-9A-Fa-f]{0,4}(?![\w:])")
_GROUP_BACKWARDS = re.compile("[0-9A-Fa-f]{1,4}")
_SHARED = tuple(
    map(
        ip_network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.168.0.0/16", "224.0.0.0/3", "::/127", "fe80::/10", "fc00::/7", "ff00::/8"),
        ),
    )
)
"""Networks of homes, of the host itself, of many hosts at once, and masks (RFC 6890)."""
_WORDS = re.compile(
    r"\bIP|\bv[46]\b|server|\bhost|\bping|\bDNS\b|adresse|router|netz|\blog|zugriff|angemeldet|rechner|verbindung",
    re.IGNORECASE,
)
_VERSION = re.compile(
    r"(?:versionen|version|vers\.|\bver\.?|\bv\.?|release|build|firmware|update|patch|treiber|kapitel|abschnitt|ziffer|"
    r"punkt|nummer|\bnr\.?|\bnrn\.|§|tabelle|abbildung|"
    r"\babb\.|anlage|anhang|\boid|\bdin|\biso|\ben)[ \u00a0:]{0,2}\Z",
    re.IGNORECASE,
)
_SURE, _GROUPS = 100, 3


def find(scan: Scan) -> Iterator[Span]:
    """Yield spans of IP addresses.

    Four small numbers with dots are a section or a version, unless a word about networks stands near them.
    """
    for dot, end, rest in scan.everywhere(_V4):
        start = scan.start_of(_OCTET_BACKWARDS, dot, 5)
        number = scan.text[start:dot] + rest
        if start == dot or _VERSION.search(scan.before(start, 24)):
            continue
        large = max(map(int, number.split("."))) >= _SURE
        if (large or scan.near(start, end, _WORDS, 40)) and _is_own(number):
            yield Span(start, end, PersonalKind.IP_ADDRESS, "ip_address.v4")
    for match in _V6.finditer(scan.text):
        start = scan.start_of(_GROUP_BACKWARDS, match.start(), 4)
        before = scan.text[start - 1 : start]
        number = scan.text[start : match.end()]
        if not before.isalnum() and before not in {":", "_"} and _tells_much(number) and _is_own(number):
            yield Span(start, match.end(), PersonalKind.IP_ADDRESS, "ip_address.v6")


def _tells_much(number: str) -> bool:
    """Say whether groups of a sixth version's form are no times, no hours and no names in code."""
    groups = [group for group in number.split(":") if group]
    return (
        len(groups) >= _GROUPS and any(map(str.isdigit, number)) and any(len(group) > 2 for group in groups)
    )


def _is_own(number: str) -> bool:
    try:
        address = IPv6Address(number) if ":" in number else IPv4Address(number)
    except AddressValueError:
        return False
    return not any(address in network for network in _SHARED)
