"""Texts in, texts without personal data out: batches, rounds, overlaps, offsets.

The rows of a batch are joined into one working text, so that each pattern runs once for thousands of rows.
Those with findings are looked at again, as they will be read next time, until nothing more is found.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, groupby
from operator import itemgetter

import polars as pl

from builders.personal.scan import OPAQUE, ROW_END, Scan, Span, View, is_plain
from builders.spec import ALL_KINDS, PersonalKind

_SPAN_SCHEMA = {"row": pl.UInt32, "kind": pl.String, "start": pl.Int64, "end": pl.Int64, "rule": pl.String}
_BATCH = 1 << 20
_ROUNDS = 8
_REACH = 200
"""More characters than a detector looks back or ahead of what it finds, and twice as many as most do."""
_PLACEHOLDERS = {kind: kind.placeholder for kind in PersonalKind}
_PRIORITY = {kind: order for order, kind in enumerate(PersonalKind)}


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """What `scrub` returns.

    Attributes:
        texts: The rows with each span replaced by its kind's placeholder.
        spans: One row per replacement, disjoint, by row and start: ``row`` u32, ``kind`` str, ``start`` and
            ``end`` i64 (characters of the row, end exclusive), ``rule`` str.
    """

    texts: pl.Series
    spans: pl.DataFrame


def scrub(texts: pl.Series, kinds: Collection[PersonalKind] = ALL_KINDS, *, titles: bool = False) -> Scrubbed:
    """Replace personal data by placeholders.

    Scrubbing a scrubbed text again, with the same kinds and titles, changes nothing.

    Args:
        texts: Strings; nulls stay null.
        kinds: What is replaced.
        titles: Whether the texts are titles of jobs. There, behind a role, a degree or "Fr.", only full names
            that begin with a listed first name are names ("Projektleiter: Chemie" stays); plates need a word.
    """
    rows, spans = scrub_rows(texts.cast(pl.String).to_list(), kinds, titles=titles)
    return Scrubbed(pl.Series(texts.name, rows, dtype=pl.String), spans)


def scrub_rows(
    texts: Sequence[str | None], kinds: Collection[PersonalKind] = ALL_KINDS, *, titles: bool = False
) -> tuple[list[str | None], pl.DataFrame]:
    """Replace personal data in strings that a column of polars may not be able to hold: see `scrub`."""
    rows = list(texts)
    spans: list[tuple[int, str, int, int, str]] = []
    wanted = dict.fromkeys(kind for kind in PersonalKind if kind in kinds)
    for first, batch in _batches(rows):
        for offset, found in enumerate(_find(batch, wanted, titles=titles)):
            if found:
                text, row = batch[offset], first + offset
                rows[row] = _replace(text, found)
                spans.extend((row, span.kind.value, span.start, span.end, span.rule) for span in found)
    columns = zip(*spans, strict=True) if spans else ()
    return rows, pl.DataFrame(list(map(list, columns)), schema=_SPAN_SCHEMA, orient="col")


def _batches(rows: Sequence[str | None]) -> Iterator[tuple[int, list[str]]]:
    """Yield runs of rows of about `_BATCH` characters, each with the number of its first row."""
    batch: list[str] = []
    first, size = 0, 0
    for number, text in enumerate(rows):
        batch.append(text or "")
        size += len(batch[-1])
        if size >= _BATCH:
            yield first, batch
            batch, first, size = [], number + 1, 0
    if batch:
        yield first, batch


def _find(rows: Sequence[str], kinds: Collection[PersonalKind], *, titles: bool) -> list[list[Span]]:
    """Return the spans of each row, in order."""
    plain = list(map(is_plain, rows))
    views = {
        row: View(text, plain=plain[row]) for row, text in enumerate(rows) if not plain[row] or "<" in text
    }
    found: list[list[Span]] = [[] for _ in rows]
    open_rows: Sequence[int] = range(len(rows))
    for _ in range(_ROUNDS):
        working = [views[row].text if row in views else rows[row] for row in open_rows]
        changed: dict[int, list[Span]] = {}
        for place, span in _located(working, kinds, titles=titles):
            row = open_rows[place]
            start, end = views[row].original(span.start, span.end) if row in views else span[:2]
            changed.setdefault(row, []).append(Span(start, end, span.kind, span.rule))
        for row, spans in changed.items():
            found[row] = _apart(found[row] + spans)
            views[row] = View(rows[row], [span[:2] for span in found[row]], plain=plain[row])
        around = [_around_cuts(views[row].text) for row in changed]
        again = {place for place, _ in _located(around, kinds, titles=titles)}
        open_rows = [row for place, row in enumerate(changed) if place in again]
        if not open_rows:
            break
    return found


def _located(
    rows: Sequence[str], kinds: Collection[PersonalKind], *, titles: bool
) -> Iterator[tuple[int, Span]]:
    """Yield spans, places counted from the begin of their row, each with the place of its row."""
    starts = [0, *accumulate(len(text) + 1 for text in rows)]
    for span in _disjoint(_candidates(Scan(ROW_END.join(rows), titles=titles), kinds)):
        row = bisect_right(starts, span.start) - 1
        yield row, span._replace(start=span.start - starts[row], end=span.end - starts[row])


def _around_cuts(text: str) -> str:
    """Return the part of a text that can be read in another way since something in it was replaced."""
    return text[max(0, text.find(OPAQUE) - _REACH) : text.rfind(OPAQUE) + _REACH]


def _apart(spans: Sequence[Span]) -> list[Span]:
    """Sort the spans of a row; two that share an entity must not overlap."""
    kept: list[Span] = []
    for span in sorted(spans):
        free_from = kept[-1].end if kept else 0
        if span.end > free_from:
            kept.append(span if span.start >= free_from else span._replace(start=free_from))
    return kept


def _candidates(scan: Scan, kinds: Collection[PersonalKind]) -> Iterator[Span]:
    text = scan.text
    for detector in dict.fromkeys(_detectors()[kind] for kind in kinds):
        for span in detector(scan):
            covered = text[span.start : span.end]
            if span.kind in kinds and covered and OPAQUE not in covered and ROW_END not in covered:
                yield _with_marks(text, span)


@cache
def _detectors() -> Mapping[PersonalKind, Callable[[Scan], Iterator[Span]]]:
    """Return which detector finds which kind; patterns are compiled when first needed."""
    from builders.personal import address, contact, names, numbers, phone

    return {
        PersonalKind.URL: contact.find_urls,
        PersonalKind.EMAIL: contact.find_mail,
        PersonalKind.HANDLE: contact.find_mail,
        PersonalKind.IP_ADDRESS: contact.find_ip,
        PersonalKind.IBAN: numbers.find_iban,
        PersonalKind.PAYMENT_CARD: numbers.find_payment_card,
        PersonalKind.BANK_ACCOUNT: numbers.find_bank_account,
        PersonalKind.VAT_ID: numbers.find_vat_id,
        PersonalKind.SOCIAL_SECURITY: numbers.find_social_security,
        PersonalKind.HEALTH_INSURANCE: numbers.find_health_insurance,
        PersonalKind.TAX_ID: numbers.find_tax_id,
        PersonalKind.TAX_NUMBER: numbers.find_tax_number,
        PersonalKind.ID_CARD: numbers.find_id_card,
        PersonalKind.BIRTH_DATE: address.find_birth,
        PersonalKind.PHONE: phone.find_phones,
        PersonalKind.ADDRESS: address.find_address,
        PersonalKind.PLATE: numbers.find_plates,
        PersonalKind.PERSON: names.find_announced,
        PersonalKind.FULL_NAME: names.find_full,
    }


def _with_marks(text: str, span: Span) -> Span:
    """Move a span's end past combining marks: left behind, they would change the placeholder."""
    end = span.end
    while end < len(text) and text[end] > "\u02ff" and unicodedata.category(text[end])[0] == "M":
        end += 1
    return span if end == span.end else span._replace(end=end)


def _disjoint(candidates: Iterable[Span]) -> list[Span]:
    """Keep of overlapping spans the one of the first kind; of one kind, the first, the longest, by rule."""
    kept: list[Span] = []
    by_kind = sorted(set(candidates), key=lambda one: (_PRIORITY[one.kind], one.start, -one.end, one.rule))
    for _, group in groupby(by_kind, key=lambda span: span.kind):
        starts = [span.start for span in kept]
        free_from, accepted = 0, []
        for span in group:
            start, end = span.start, span.end
            following = bisect_left(starts, start)
            if (
                start >= free_from
                and (not following or start >= kept[following - 1].end)
                and (following == len(starts) or end <= starts[following])
            ):
                accepted.append(span)
                free_from = end
        kept = sorted(kept + accepted, key=itemgetter(0))  # they are disjoint: their starts differ
    return kept


def _replace(text: str, spans: Sequence[Span]) -> str:
    pieces, position = [], 0
    for span in spans:
        pieces += [text[position : span.start], _PLACEHOLDERS[span.kind]]
        position = span.end
    return "".join([*pieces, text[position:]])
