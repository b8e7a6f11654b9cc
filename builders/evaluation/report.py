"""The report of an evaluation: one Markdown file, and one HTML page that loads nothing.

Both are made from the same blocks, and the same content gives the same bytes.
"""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builders import files
from builders.checks.finding import Finding
from builders.describe.templates import render_page, render_template
from builders.errors import StorageError, UsageError
from builders.evaluation import views
from builders.evaluation.candidates import Candidate
from builders.evaluation.pipelines import MTEB
from builders.evaluation.published import Compared
from builders.evaluation.results import Result, builder_of
from builders.evaluation.statistics import ConfigStatistics
from builders.evaluation.views import Block
from builders.printable import NOTHING
from builders.spec import ConfigSpec, Retrieval
from builders.text.merge import digest

_RECORD = re.compile(r"<!-- holds((?: [a-z0-9_-]{1,80}:[0-9a-f]{16}){0,100000}) -->")
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,]{0,30}(?: %)?(?: to [0-9][0-9.,]{0,30})?|[<>] [0-9.]{1,8} %")


@dataclass(frozen=True, slots=True)
class ReportContent:
    """What a report is made from; any part may be empty."""

    results: tuple[Result, ...] = ()
    compared: tuple[Compared, ...] = ()
    findings: tuple[Finding, ...] = ()
    statistics: tuple[ConfigStatistics, ...] = ()


def report_paths(folder: Path) -> list[Path]:
    """Return the files of a report, Markdown first."""
    return [folder / "evaluation.md", folder / "evaluation.html"]


def write_report(content: ReportContent, folder: Path) -> list[Path]:
    """Write evaluation.md and evaluation.html over those that are there, and return their paths."""
    paths = report_paths(folder)
    texts = (f"{markdown(content)}\n{record(content.results)}", html(content))
    for path, text in zip(paths, texts, strict=True):
        files.write_bytes(path, text.encode(errors="replace"))
    return paths


def markdown(content: ReportContent) -> str:
    """Return a report as GitHub-flavoured Markdown without pictures; every value is escaped. Pure."""
    text = render_template("evaluation/report.md.j2", blocks=_blocks(content), cells=views.cells)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


def html(content: ReportContent) -> str:
    """Return a report as one HTML page. Pure."""
    return render_page(
        "evaluation/report.html.j2",
        images=True,
        blocks=_blocks(content),
        cells=views.cells,
        numeric=_numeric,
        image=_image,
    )


def _blocks(content: ReportContent) -> dict[str, list[Block]]:
    """Return the blocks of every section, by its key in the templates."""
    results, compared, statistics = content.results, content.compared, content.statistics
    found = {
        "what-was-evaluated": views.evaluated(results, statistics),
        "retrieval-scores": views.retrieval_scores(results, compared),
        "clustering-scores": views.clustering_scores(results, compared),
        "beside-published-scores": views.published_scores(compared),
        "v-measure-against-set-size-and-number-of-labels": views.set_scores(results),
        "score-against-query-length": views.query_lengths(results),
        "yield-of-mining": views.mining_yield(statistics),
        "lengths-of-texts": views.text_lengths(statistics),
        "balance-of-labels": [*views.positives(statistics), *views.balance(statistics)],
        "overlap-of-queries-and-corpus": views.word_overlap(statistics),
        "findings": _findings(content.findings),
    }
    return {key: list(blocks) for key, blocks in found.items()}


def _findings(found: Sequence[Finding]) -> Iterator[Block]:
    rows = [
        (
            one.config or None,
            one.code,
            str(one.severity),
            one.count,
            one.message,
            one.waived or one.hint or None,
        )
        for one in found
    ]
    header = ["Config", "Finding", "Kind", "Count", "What", "Accepted because, or what to do"]
    frame = pl.DataFrame(rows, schema=header, orient="row") if rows else pl.DataFrame()
    yield Block(frame, text="" if rows else "The checks of this evaluation found nothing.")


def _image(block: Block) -> str:
    """Return a plot as the address of an image that holds it."""
    from builders.plots.svg import svg

    assert block.draw is not None
    return f"data:image/svg+xml;base64,{base64.b64encode(svg(block.draw, title=block.alt)).decode()}"


def _numeric(rows: Sequence[Sequence[str]]) -> list[bool]:
    """Say which columns hold nothing but numbers."""
    return [
        any(cell != NOTHING for cell in column)
        and all(cell == NOTHING or _NUMBER.fullmatch(cell) for cell in column)
        for column in zip(*rows, strict=True)
    ]


def coverage(results: Iterable[Result]) -> set[str]:
    """Return a key for every result: its config, and a hash of its encoder with its split or pipeline."""
    return {
        _key(builder_of(one), one.encoder.name, one.split if one.kind == "retrieval" else one.pipeline)
        for one in results
    }


def planned(
    specs: Sequence[ConfigSpec], candidates: Sequence[Candidate], *, split: str, pipelines: Sequence[str]
) -> set[str]:
    """Return the keys of all results that an evaluation may have, see `coverage`."""
    return {
        _key(spec.name, one.name, way)
        for spec, one in itertools.product(specs, candidates)
        # Random vectors are clustered by mteb's pipeline, whatever is asked for.
        for way in ((split,) if isinstance(spec, Retrieval) else pipelines if one.clustering else (MTEB,))
    }


def record(results: Iterable[Result]) -> str:
    """Return the comment by which a report in Markdown says what it holds."""
    return f"<!-- holds{''.join(f' {key}' for key in sorted(coverage(results)))} -->\n"


def require_wider(report: Sequence[Path], keys: set[str]) -> None:
    """Make sure that nothing is lost where a report, which need not exist, is written over.

    Args:
        report: The files of the report, Markdown first.
        keys: Keys of the results that the new report has or may have.

    Raises:
        UsageError: The report holds other results too, or no record of its results.
        StorageError: The report cannot be read.
    """
    if not any(path.exists() for path in report):
        return
    hint = "Name another folder with --report, evaluate all of it again, or pass --overwrite."
    try:
        text = report[0].read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        text = ""
    except OSError as error:
        raise StorageError(f"{report[0]}: cannot be read ({error.strerror or error})") from error
    held = _RECORD.search(text)
    if held is None:
        raise UsageError(f"{report[0]}: a file is there that does not say what it holds", hint=hint)
    lost = set(held[1].split()) - keys
    if lost:
        configs = ", ".join(sorted({key.partition(":")[0] for key in lost}))
        raise UsageError(
            f"{report[0]} holds {len(lost):,} results that this evaluation lacks, of {configs}", hint=hint
        )


def _key(config: str, encoder: str, way: str) -> str:
    return f"{config}:{digest(way + ' ' + encoder)}"
