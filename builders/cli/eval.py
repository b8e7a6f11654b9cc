"""`mteb-de eval`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from builders.cli.output import Lines, emit, say, say_table
from builders.errors import Refused, StorageError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from builders.checks.model import Finding
    from builders.evaluation.compare import Compared
    from builders.evaluation.run import Evaluation
    from builders.evaluation.scoreboard import Scoreboard
    from builders.lock.model import Lock
    from builders.spec import ConfigSpec


@click.command("eval")
@click.argument("configs", nargs=-1, metavar="[CONFIG]...")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("dist"),
    show_default=True,
    help="Folder that was built into.",
)
@click.option(
    "--encoder",
    "encoders",
    multiple=True,
    metavar="NAME|PATH|REPO@REVISION",
    help="offline, e5, bm25, hashing, a folder, or a commit on the Hub; may be given several times.  "
    "[default: what mined, hashing and bm25]",
)
@click.option(
    "--split",
    type=click.Choice(["train", "dev", "test", "all"]),
    default="test",
    show_default=True,
    help="Of the queries; all is their union, as GermanDPR's published scores have it.",
)
@click.option(
    "--pipeline",
    "pipelines",
    multiple=True,
    metavar="NAME",
    help="How vectors are clustered; may be given several times, all for the paper's 14.  "
    "[default: minibatch-kmeans]",
)
@click.option("--offline", is_flag=True, help="Never touch the network; fail on what is not in the cache.")
@click.option("--workers", type=click.IntRange(min=1), help="Encoding processes.  [default: one per core]")
@click.option("--report", type=click.Path(path_type=Path), help="Folder for the HTML and Markdown report.")
@click.option("--cite", is_flag=True, help="Have the card of the next build cite these scores.")
@click.option(
    "--locks",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of committed locks and cited scores.  [default: beside the configs]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown tables.")
@click.option("-q", "--quiet", is_flag=True, help="Print results and errors only.")
def command(
    configs: tuple[str, ...],
    out: Path,
    encoders: tuple[str, ...],
    split: str,
    pipelines: tuple[str, ...],
    offline: bool,
    workers: int | None,
    report: Path | None,
    cite: bool,
    locks: Path | None,
    as_json: bool,
    as_markdown: bool,
    quiet: bool,
) -> None:
    """Score encoders on built configs (default: all), and hold the scores against published ones.

    \b
    Examples:
      mteb-de eval
      mteb-de eval jobs --encoder offline --encoder bm25
      mteb-de eval germandpr --split all --encoder intfloat/multilingual-e5-small@fd1525a9fd
      mteb-de eval blurbs --encoder my-model/ --pipeline all --report report/

    Exit codes: 0 fine; 1 a score lies outside its tolerance, or a rule about scores found an error; 2 could
    not run.
    """
    from builders.evaluation.candidates import candidate, default_names
    from builders.evaluation.compare import compare
    from builders.evaluation.pipelines import PIPELINES
    from builders.evaluation.run import Options, evaluate
    from builders.evaluation.sanity import check
    from builders.evaluation.scoreboard import scoreboards

    if as_json and as_markdown:
        raise UsageError("--json and --markdown contradict each other", hint="Pass one of them.")
    lines = Lines(quiet=quiet or as_json)
    specs = _specs(configs, out, lines)
    names = encoders or default_names(_locks(specs, out))
    candidates = [candidate(name, offline=offline, workers=workers) for name in dict.fromkeys(names)]
    chosen = tuple(PIPELINES) if "all" in pipelines else pipelines or ("minibatch-kmeans",)
    if cite:
        _refuse_stand_ins(specs, out)
    evaluation = evaluate(specs, candidates, Options(out=out, split=split, pipelines=chosen), lines)
    compared = compare(evaluation.results, evaluation.locks)
    findings = check(evaluation.results, evaluation.baselines, evaluation.chances)
    if report is not None:
        lines.step("report", *map(str, _report(report, specs, out, evaluation, compared, findings)))
    bad = any(one.verdict == "differs" for one in compared) or any(f.severity == "error" for f in findings)
    if cite:
        told = ["nothing: the scores are not sound"] if bad else map(str, _cite(evaluation, locks))
        lines.step("cite", *told)
    if as_json:
        emit({
            "results": [result.model_dump(mode="json") for result in evaluation.results],
            "baselines": [result.model_dump(mode="json") for result in evaluation.baselines],
            "chances": {place: dict(scores) for place, scores in evaluation.chances.items()},
            "compared": [line.model_dump(mode="json") for line in compared],
            "findings": [asdict(finding) for finding in findings],
        })
    else:
        _show(scoreboards(evaluation.results, compared), findings, compared, as_markdown=as_markdown)
    if bad:
        raise click.exceptions.Exit(1)


def _show(
    boards: Sequence[Scoreboard],
    findings: Sequence[Finding],
    compared: Sequence[Compared],
    *,
    as_markdown: bool,
) -> None:
    from builders.describe.markdown import escape, table

    for board in boards:
        if as_markdown:
            say(f"## {board.title}\n\n{table(board.headings, board.rows)}\n")
        else:
            say(board.title)
            say_table(board.headings, board.rows)
            say("")
    for finding in findings:
        line = f"{finding.severity} {finding.code}: {finding.message} ({'; '.join(finding.examples)})"
        say(f"- {escape(line)}" if as_markdown else line)
        if finding.hint and not as_markdown:
            say(f"      → {finding.hint}")
    comparable = [one for one in compared if one.verdict != "not comparable"]
    outside = [one for one in comparable if one.verdict == "differs"]
    for one in outside:
        where = "/".join(filter(None, (one.config, one.split)))
        told = (
            f"{where}: {one.encoder} {one.metric} {one.ours:.5f}, published {one.published:.5f} "
            f"({one.difference:+.5f}, tolerance {one.tolerance:.3f})"
        )
        say(f"- {escape(told)}" if as_markdown else told)
    say(
        f"{len(compared)} published scores beside ours, {len(comparable)} comparable, {len(outside)} outside "
        f"the tolerance; {len(findings)} findings"
    )


def _specs(configs: tuple[str, ...], out: Path, lines: Lines) -> list[ConfigSpec]:
    """Return the configs asked for, or all that were built and whose texts are published."""
    from builders import registry
    from builders.lock.manifest import work_folder
    from builders.spec import Clustering, Retrieval

    asked = [registry.load(name) for name in dict.fromkeys(configs)]
    for spec in asked:
        if not isinstance(spec, Retrieval | Clustering):
            raise UsageError(
                f"{spec.name} publishes no texts to evaluate", hint="Run mteb-de hydrate, then its mteb task."
            )
    if asked:
        return asked
    known = map(registry.load, registry.names())
    built = [spec for spec in known if (work_folder(out, spec.name) / "lock.json").exists()]
    if not built:
        raise StorageError(f"{out}: nothing was built there", hint=f"Run: mteb-de build --out {out}")
    for spec in built:
        if not isinstance(spec, Retrieval | Clustering):
            lines.step(spec.name, "publishes no texts: left out")
    return [spec for spec in built if isinstance(spec, Retrieval | Clustering)]


def _locks(specs: Sequence[ConfigSpec], out: Path) -> list[Lock]:
    from builders.lock.manifest import work_folder
    from builders.lock.model import read_lock

    paths = (work_folder(out, spec.name) / "lock.json" for spec in specs)
    return [read_lock(path) for path in paths if path.exists()]


def _refuse_stand_ins(specs: Sequence[ConfigSpec], out: Path) -> None:
    from builders.lock.committed import stand_ins

    reasons = [reason for lock in _locks(specs, out) for reason in stand_ins(lock)]
    if reasons:
        raise Refused(
            "--cite is for builds that may be published:\n" + "\n".join(reasons),
            hint="Build from the real upstreams with the pinned encoder, then evaluate with --cite.",
        )


def _cite(evaluation: Evaluation, locks: Path | None) -> list[Path]:
    from builders.evaluation.citation import scores_path, write_citation
    from builders.evaluation.cite import citations
    from builders.lock.committed import FOLDER

    paths = []
    for config, citation in citations(evaluation.results, evaluation.locks).items():
        path = scores_path(locks or FOLDER, config)
        write_citation(path, citation)
        paths.append(path)
    return paths


def _report(
    folder: Path,
    specs: Sequence[ConfigSpec],
    out: Path,
    evaluation: Evaluation,
    compared: Sequence[Compared],
    findings: Sequence[Finding],
) -> list[Path]:
    from builders.evaluation.figures import read_figures
    from builders.evaluation.report import ReportContent, write_report

    content = ReportContent(
        results=evaluation.results,
        compared=tuple(compared),
        findings=tuple(findings),
        figures=read_figures(out, specs),
    )
    return write_report(content, folder)
