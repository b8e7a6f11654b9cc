"""Which detector finds which kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from builders.personal import phone, web
from builders.personal.kinds import PersonalKind
from builders.personal.scan import Scan, Span

DETECTORS: Mapping[PersonalKind, Callable[[Scan], Iterator[Span]]] = {
    PersonalKind.URL: web.find,
    PersonalKind.EMAIL: web.find,
    PersonalKind.HANDLE: web.find,
    PersonalKind.PHONE: phone.find,
}
