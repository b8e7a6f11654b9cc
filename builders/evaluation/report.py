"""The report of an evaluation: one Markdown file, and one HTML page that loads nothing.

Both are made from the same blocks, and the same content gives the same bytes.
"""

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
from builders.errors import UsageError
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

_FILES = ("evaluation.md", "evaluation.html")
_RECORD = re.compile(r"<!-- holds((?: [a-z0-9_-]{1,80}:[0-9a-f]{16}){0,100000}) -->")
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,]{0,30}(?: %)?(?: to [0-9][0-9.,]{0,30})?|[<>] [0-9.]{1,8} %")


@dataclass(frozen=True, slots=True)
class ReportContent:
    """What a report is made from; any part may be empty."""

    results: tuple[Result, ...] = ()
    compared: tuple[Compared, ...] = ()
    findings: tuple[Finding, ...] = ()
    statistics: tuple[ConfigStatistics, ...] = ()


def write_report(content: ReportContent, folder: Path) -> list[Path]:
    """Write evaluation.md and evaluation.html over those that are there, and return their paths."""
    holds = "".join(f" {key}" for key in sorted(coverage(content.results)))
    texts = (f"{markdown(content)}\n<!-- holds{holds} -->\n", html(content))
    paths = [folder / name for name in _FILES]
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
    header = ("Config", "Finding", "Kind", "Count", "What", "Accepted because, or what to do")
    rows = [
        (one.config or None, one.code, str(one.severity), one.count, one.message,
         one.waived or one.hint or None)
        for one in found
    ]  # fmt: skip
    text = "" if rows else "The checks of this evaluation found nothing."
    yield Block(pl.DataFrame(rows, schema=header, orient="row") if rows else pl.DataFrame(), text=text)


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
    return {_key(builder_of(one), one.encoder.name, one.split or one.pipeline) for one in results}


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


def require_wider(folder: Path, keys: set[str]) -> None:
    """Make sure that nothing is lost where a report that need not exist is written over by one of these keys.

    Raises:
        UsageError: The report holds other results too, or no record of its results.
    """
    report, page = (folder / name for name in _FILES)
    if not (report.exists() or page.exists()):
        return
    hint = "Name another folder with --report, evaluate all of it again, or pass --overwrite."
    with files.readable(report):
        text = report.read_text(encoding="utf-8", errors="replace") if report.exists() else ""
    held = _RECORD.search(text)
    if held is None:
        raise UsageError(f"{report}: a file is there that does not say what it holds", hint=hint)
    if lost := set(held[1].split()) - keys:
        configs = ", ".join(sorted({key.partition(":")[0] for key in lost}))
        message = f"{report} holds {len(lost):,} results that this evaluation lacks, of {configs}"
        raise UsageError(message, hint=hint)


def _key(config: str, encoder: str, way: str) -> str:
    return f"{config}:{digest(way + ' ' + encoder)}"
