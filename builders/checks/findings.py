"""Codes, and how rows that break a rule become a finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import polars as pl

from builders.checks.model import Finding, Severity

MOST_EXAMPLES = 5
_WIDEST = 60
_ORDER = {Severity.ERROR: 0, Severity.GATE: 1, Severity.NOTE: 2}


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of finding. A run reports a code at most once, whatever number of tables it touches.

    Attributes:
        name: Stable name, in kebab case.
        severity: See `Severity`.
        meaning: What is counted, as a noun phrase: "qrels rows whose query is in no split".
        hint: What to do next.
    """

    name: str
    severity: Severity
    meaning: str
    hint: str

    def counted(self, count: int, examples: Iterable[str] = (), *, message: str = "") -> Iterator[Finding]:
        """Yield the finding, unless nothing was counted.

        Args:
            count: How many.
            examples: Texts to show, in order; the first five are kept.
            message: One line that replaces "{meaning}: {count}" where a figure more is needed.
        """
        if count:
            kept = tuple(examples)[:MOST_EXAMPLES]
            text = message or f"{self.meaning}: {count}"
            yield Finding(self.name, self.severity, count, text, kept, self.hint)

    def rows(self, bad: pl.DataFrame, example: pl.Expr, *, message: str = "") -> Iterator[Finding]:
        """Yield the finding of a frame that holds one row per fault; examples are taken in sorted order."""
        if bad.height:
            # Formatting columns whose chunks differ panics in polars 2.1.
            examples = bad.rechunk().select(example.alias("example"))["example"].sort().head(MOST_EXAMPLES)
            yield from self.counted(bad.height, examples.to_list(), message=message)


def shown(column: str | pl.Expr) -> pl.Expr:
    """Return a value as an example may print it: no control characters, at most 60 characters."""
    value = pl.col(column) if isinstance(column, str) else column
    text = value.cast(pl.String).fill_null("null").str.replace_all(r"\p{C}", "\N{REPLACEMENT CHARACTER}")
    clipped = text.str.slice(0, _WIDEST - 1) + pl.lit("…")
    return pl.when(text.str.len_chars() > _WIDEST).then(clipped).otherwise(text)


def line(template: str, *columns: str) -> pl.Expr:
    """Return an example as a template with ``{}`` for each column, every value fit to print."""
    return pl.format(template, *(shown(column) for column in columns))


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings: errors, gates, notes; then by code and config."""
    return sorted(findings, key=lambda finding: (_ORDER[finding.severity], finding.code, finding.config))
