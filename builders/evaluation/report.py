"""The report of an evaluation: one Markdown file, and one HTML page that loads nothing.

Both are made from the same sections, and the same content gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from builders import files
from builders.checks.finding import Finding
from builders.describe.markdown import escape
from builders.describe.markdown import table as markdown_table
from builders.evaluation import cluster_blocks, score_blocks, search_blocks, table_blocks
from builders.evaluation.blocks import NOTHING, Block, Plot, Section, Table, table
from builders.evaluation.coverage import record
from builders.evaluation.figures import ConfigFigures, read_figures
from builders.evaluation.published import Compared
from builders.evaluation.results import Result

__all__ = ["ReportContent", "html", "markdown", "read_figures", "report_paths", "sections", "write_report"]

NAME = "evaluation"
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,]{0,30}(?: %)?(?: to [0-9][0-9.,]{0,30})?|[<>] [0-9.]{1,8} %")


@dataclass(frozen=True, slots=True)
class ReportContent:
    """What a report is made from; any part may be empty.

    Attributes:
        results: What was measured.
        compared: Scores beside published ones.
        findings: What the checks of the evaluation found.
        figures: Of the tables, by config.
    """

    results: tuple[Result, ...] = ()
    compared: tuple[Compared, ...] = ()
    findings: tuple[Finding, ...] = ()
    figures: tuple[ConfigFigures, ...] = ()


def report_paths(folder: Path) -> list[Path]:
    """Return the files of a report, Markdown first."""
    return [folder / f"{NAME}.md", folder / f"{NAME}.html"]


def write_report(content: ReportContent, folder: Path) -> list[Path]:
    """Write evaluation.md and evaluation.html, over those that are there; see `coverage.require_wider`.

    Args:
        content: What the report is made from.
        folder: Where the two files go; it is made.

    Returns:
        The two paths, Markdown first.

    Raises:
        StorageError: A file cannot be written.
    """
    told = sections(content)
    paths = report_paths(folder)
    texts = (f"{markdown(told)}\n{record(content.results)}", html(told))
    for path, text in zip(paths, texts, strict=True):
        files.write_bytes(path, text.encode(errors="replace"))
    return paths


def sections(content: ReportContent) -> tuple[Section, ...]:
    """Return the sections of a report that have something to say. Pure."""
    results, figures = content.results, content.figures
    found = (
        table_blocks.evaluated(results, figures),
        search_blocks.retrieval_scores(results, content.compared),
        cluster_blocks.clustering_scores(results, content.compared),
        score_blocks.published(content.compared),
        cluster_blocks.by_set(results),
        search_blocks.by_length(results),
        table_blocks.mining(figures),
        table_blocks.text_lengths(figures),
        table_blocks.balance(figures),
        table_blocks.word_overlap(figures),
        _findings(content.findings),
    )
    return tuple(section for section in found if section.blocks)


def markdown(told: Iterable[Section]) -> str:
    """Return a report as GitHub-flavoured Markdown without pictures; every value is escaped. Pure."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=False,  # the output is Markdown: `finalize` escapes
        finalize=escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["table"] = lambda of: markdown_table(of.header, of.rows)
    text = environment.from_string(_asset("report.md.j2")).render(sections=list(told))
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def html(told: Iterable[Section]) -> str:
    """Return a report as one HTML page; its content-security policy admits its own style alone. Pure."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    style = _asset("report.css")
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= {"cell": _cell, "numeric": _numeric, "drawn": _drawn}
    return environment.from_string(_asset("report.html.j2")).render(
        sections=list(told), style=Markup(style), style_hash=Markup(_csp_hash(style))
    )


def _findings(found: Iterable[Finding]) -> Section:
    rows = [
        (
            one.config or NOTHING,
            one.code,
            str(one.severity),
            one.count,
            one.message,
            one.waived or one.hint or NOTHING,
        )
        for one in found
    ]
    told = table(("Config", "Finding", "Kind", "Count", "What", "Accepted because, or what to do"), rows)
    block = Block(table=told) if rows else Block(text="The checks of this evaluation found nothing.")
    return Section("Findings", "An error or a gate needs an answer, a note does not.", (block,))


def _drawn(plot: Plot) -> str:
    """Return a plot as the address of an image that holds it."""
    from builders.plots.svg import svg

    return f"data:image/svg+xml;base64,{base64.b64encode(svg(plot.draw, title=plot.alt)).decode()}"


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _numeric(of: Table) -> list[bool]:
    """Say which columns hold nothing but numbers."""
    return [
        any(cell != NOTHING for cell in cells)
        and all(cell == NOTHING or _NUMBER.fullmatch(_cell(cell)) for cell in cells)
        for cells in zip(*of.rows, strict=True)
    ]


def _csp_hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _asset(name: str) -> str:
    return (resources.files("builders.evaluation") / name).read_text(encoding="utf-8")
