"""`mteb-de scrub`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from builders.cli import options as opt
from builders.cli.output import emit, say, say_table, tell
from builders.errors import FindingsError, UsageError
from builders.printable import counted, printable

if TYPE_CHECKING:
    from builders.personal.tables import FileReport


@click.command("scrub")
@click.argument("file", type=opt.FILE_THERE)
@opt.value("--out", opt.FILE, "The copy.  [default: NAME.scrubbed.EXT]")
@click.option(
    "--column", "columns", multiple=True, help="Look at this column only; may be repeated.  [default: all]"
)
@opt.flag("--contact-only", "Leave names, dates of birth, postal addresses, IP addresses and licence plates.")
@click.option("--separator", help="Between the values of a CSV file.  [default: comma; tab in .tsv]")
@click.option("--quote", default='"', help="Around the values of a CSV file; '' where there is none.")
@opt.flag("--no-header", "The first row of a CSV file holds values, not names.")
@opt.value("--workers", opt.AT_LEAST_1, "Processes.  [default: one per core]")
@opt.flag("--overwrite", "Replace a file that is there, FILE itself included.")
@opt.AS_JSON
def command(
    file: Path,
    out: Path | None,
    columns: tuple[str, ...],
    contact_only: bool,
    separator: str | None,
    quote: str,
    no_header: bool,
    workers: int | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Copy a table (CSV, JSON lines, parquet) without the personal data in it.

    \b
    Examples:
      mteb-de scrub postings.csv --column title
      mteb-de scrub news.parquet --contact-only --out clean.parquet

    Names of columns, keys and the metadata of a file are scrubbed as well; a number of JSON becomes the
    placeholder's text. With --no-header, columns of a CSV file are called 1, 2, 3 and so on.

    Exit codes: 0 written; 1 written, but what may hold personal data stays: bytes, numbers of parquet that
    look personal, or a named --column of neither text nor numbers; 2 the file or column is missing or broken.
    """
    from builders.personal.tables import scrub_file
    from builders.spec import ALL_KINDS, CONTACT

    _require_dialect(separator, quote)
    target = out or file.with_name(f"{file.stem}.scrubbed{file.suffix}")
    if target.exists() and not overwrite:
        raise UsageError(f"{target} is there already", hint="Pass --overwrite, or another --out.")
    kinds = CONTACT if contact_only else ALL_KINDS
    report = scrub_file(
        file, target, columns, kinds, separator=separator, quote=quote, named=not no_header, workers=workers
    )
    if as_json:
        emit({"out": str(target), "report": report.model_dump(mode="json")})
    else:
        _tell(report, target)
    if report.unread:
        raise FindingsError(
            f"left as it was, though it may hold personal data: {', '.join(map(printable, report.unread))}",
            hint="Take it out or store it as text; or name with --column what is to be looked at.",
        )


def _require_dialect(separator: str | None, quote: str) -> None:
    for name, value in (("--separator", separator), ("--quote", quote or None)):
        if value is not None and (len(value) != 1 or value in "\r\n\0"):
            raise UsageError(f"{name} {value!r}: one character is needed")
    if separator is not None and separator == quote:
        raise UsageError(f"--separator and --quote are both {quote!r}", hint="Name two characters.")


def _tell(report: FileReport, target: Path) -> None:
    counts = report.personal.kinds
    if any(counts.values()):
        say_table(("kind", "replaced"), [(kind, f"{count:,}") for kind, count in counts.items() if count])
    if report.header:
        tell("names of columns or keys held personal data; if the first row is none of names: --no-header")
    if report.left:
        tell(f"not looked at: {', '.join(map(printable, report.left))}")
    rows, replaced = counted(report.rows, "row"), counted(sum(counts.values()), "replacement")
    say(f"{rows}, {replaced}; written to {target}")
