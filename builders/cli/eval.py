"""`mteb-de eval`."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from builders.cli import options as opt
from builders.cli.output import Lines, emit, say, say_table
from builders.errors import Refused, StorageError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from builders.built import Built
    from builders.checks.finding import Finding
    from builders.evaluation.jobs import Evaluation
    from builders.evaluation.published import Compared
    from builders.evaluation.results import Result
    from builders.lock.lock import Lock
    from builders.spec import ConfigSpec


_WIDEST, _WIDEST_CELL = 200, 100


@click.command("eval")
@opt.CONFIGS
@opt.dist("--out", "Folder that was built into.")
@click.option(
    "--encoder",
    "encoders",
    multiple=True,
    metavar="NAME|PATH|REPO@REVISION",
    help="offline, e5, bm25, hashing, a folder, or a commit on the Hub; may be given several times.  "
    "[default: what mined, hashing and bm25]",
)
@opt.value(
    "--split",
    click.Choice(["train", "dev", "test", "all"]),
    "Of the queries; all is their union, as GermanDPR's published scores have it.",
    "test",
)
@click.option(
    "--pipeline",
    "pipelines",
    multiple=True,
    metavar="NAME",
    help="How vectors are clustered; may be given several times, all for the paper's 14.  "
    "[default: minibatch-kmeans]",
)
@opt.OFFLINE
@opt.WORKERS
@opt.value(
    "--hydrated", opt.FOLDER_THERE, "Folder of hydrated texts.  [default: OUT/hydrated, where it is there]"
)
@opt.value("--report", opt.FOLDER, "Folder for the HTML and Markdown report.")
@opt.flag("--overwrite", "Write over a report that holds more, or that is not ours.")
@opt.flag("--cite", "Have the card of the next plan cite these scores.")
@opt.committed_folder("locks and citations")
@opt.AS_JSON
@opt.flag("--markdown as_markdown", "Print Markdown tables.")
@opt.QUIET
def command(
    configs: tuple[str, ...],
    out: Path,
    encoders: tuple[str, ...],
    split: str,
    pipelines: tuple[str, ...],
    offline: bool,
    workers: int | None,
    hydrated: Path | None,
    report: Path | None,
    overwrite: bool,
    cite: bool,
    locks: Path,
    as_json: bool,
    as_markdown: bool,
    quiet: bool,
) -> None:
    """Score encoders on built configs (default: all), and hold the scores against published ones.

    Texts of subreddit are evaluated once `mteb-de hydrate` has written them.

    \b
    Examples:
      mteb-de eval
      mteb-de eval jobs --encoder offline --encoder bm25
      mteb-de eval germandpr --split all --encoder minishlab/potion-multilingual-128M@38ebd7f1
      mteb-de eval blurbs --encoder intfloat/multilingual-e5-small@fd1525a9fd
      mteb-de eval blurbs --encoder my-model/ --pipeline all --report report/
      mteb-de eval subreddit --hydrated dist/hydrated

    A published score is comparable where the build is of the whole real upstream, the model was asked for as
    OWNER/NAME@COMMIT at the revision that was scored, and mteb prompts it as we do (no instructions);
    germandpr only with --split all and on the same revision of the dataset; clustering only by
    minibatch-kmeans. A folder, offline, hashing and bm25 never compare.

    Exit codes: 0 fine; 1 a score lies outside its tolerance, or a rule about scores found an error; 2 could
    not run, or something could not be scored: the rest is shown all the same.
    """
    from builders.cli.texts import hydrated_texts
    from builders.evaluation.candidates import candidate, default_names, require_citable
    from builders.evaluation.jobs import EvalOptions, evaluate, failed
    from builders.evaluation.metrics import differences
    from builders.evaluation.pipelines import PIPELINES
    from builders.evaluation.published import compare
    from builders.evaluation.report import coverage, planned, require_wider
    from builders.evaluation.sanity import check
    from builders.lock.lock import all_locks

    if as_json and as_markdown:
        raise UsageError("--json and --markdown contradict each other", hint="Pass one of them.")
    if report is not None:
        _require_writable(report)
    lines, built = Lines(quiet=quiet or as_json), all_locks(out)
    texts = hydrated_texts(out, hydrated, built)
    specs = _specs(configs, out, texts, lines)
    names = encoders or default_names(built)
    if cite:
        require_citable(names)
        _refuse_stand_ins(specs, built)
    candidates = [candidate(name, offline=offline, workers=workers) for name in dict.fromkeys(names)]
    chosen = tuple(PIPELINES) if "all" in pipelines else pipelines or ("minibatch-kmeans",)
    options = EvalOptions(out=out, split=split, pipelines=chosen, texts=texts)
    if report is not None and not overwrite:
        require_wider(report, planned(specs, candidates, split=split, pipelines=chosen))
    evaluation = evaluate(specs, candidates, options, lines)
    compared = compare(evaluation.results, evaluation.configs)
    findings = check(evaluation.results, evaluation.baselines, evaluation.chances)
    if as_json:
        emit({
            "results": [result.model_dump(mode="json") for result in evaluation.results],
            "baselines": [result.model_dump(mode="json") for result in evaluation.baselines],
            "chances": {place: dict(scores) for place, scores in evaluation.chances.items()},
            "differences": [
                one.model_dump(mode="json") | {"verdict": one.verdict}
                for one in differences(evaluation.results)
            ],
            "compared": [line.model_dump(mode="json") for line in compared],
            "findings": [asdict(finding) for finding in findings],
            "failures": [
                {"encoder": one.encoder, "message": one.error.message, "hint": one.error.hint}
                for one in evaluation.failures
            ],
        })
    else:
        _show(evaluation.results, findings, compared, as_markdown=as_markdown)
    if report is not None:
        from builders.evaluation.report import ReportContent, write_report
        from builders.evaluation.statistics import read_statistics

        if not overwrite:
            require_wider(report, coverage(evaluation.results))
        tables = map(read_statistics, evaluation.configs.values())
        content = ReportContent(evaluation.results, tuple(compared), tuple(findings), tuple(tables))
        lines.step("report", *map(str, write_report(content, report)))
    bad = any(one.verdict == "differs" for one in compared) or any(f.severity == "error" for f in findings)
    if cite:
        unsound = "the scores are not sound" if bad else "not all was scored" if evaluation.failures else ""
        told = [f"nothing: {unsound}"] if unsound else map(str, _cite(evaluation, locks))
        lines.step("cite", *told)
    if evaluation.failures:
        raise failed(evaluation.failures)
    if bad:
        raise click.exceptions.Exit(1)


def _show(
    results: Sequence[Result], findings: Sequence[Finding], compared: Sequence[Compared], *, as_markdown: bool
) -> None:
    from builders.describe.markdown import escape, table
    from builders.evaluation import views
    from builders.evaluation.published import summary_line
    from builders.printable import counted, label

    tables = {
        "Retrieval": views.retrieval([one for one in results if one.kind == "retrieval"], brief=True),
        "Differences between encoders": views.apart(results),
        "Clustering": views.clustering([one for one in results if one.kind == "clustering"]),
        "Beside published scores": views.summary(compared),
    }
    for title, frame in tables.items():
        if not frame.height:
            continue
        rows = [[label(cell, _WIDEST_CELL) for cell in row] for row in views.cells(frame)]
        if as_markdown:
            say(f"## {title}\n\n{table(frame.columns, rows)}\n")
        else:
            say(title)
            say_table(frame.columns, rows)
            say("")
    worded = [list(finding.lines()) for finding in findings]
    worded += [[_outside(one)] for one in compared if one.verdict == "differs"]
    for lines in worded:
        say(f"- {escape(' '.join(' '.join(lines).split()))}" if as_markdown else "\n".join(lines))
    last = f"{summary_line(compared)}; {counted(len(findings), 'finding')}"
    say(f"\n{escape(last)}" if as_markdown else last)


def _outside(one: Compared) -> str:
    from builders.printable import label

    where = "/".join(filter(None, (one.config, one.split)))
    why = f"; {label(one.why, _WIDEST)}" if one.why else ""
    return (
        f"{where}: {label(one.encoder)} {one.metric} {one.ours:.5f}, published {one.published:.5f} "
        f"({one.difference:+.5f}, tolerance {one.tolerance:.3f}{why})"
    )


def _require_writable(folder: Path) -> None:
    """Make sure, before hours of work, that a report can be written; the folder is made when it is there."""
    place = folder.absolute()
    nearest = next(one for one in (place, *place.parents) if one.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        hint = "Choose another folder with --report."
        raise StorageError(f"{folder}: {nearest} is no folder that can be written", hint=hint)


def _specs(configs: tuple[str, ...], out: Path, texts: Mapping[str, Built], lines: Lines) -> list[ConfigSpec]:
    """Return the configs asked for, or all that were built or hydrated."""
    from builders import registry
    from builders.lock.lock import work_folder
    from builders.spec import Ids

    if configs:
        return [registry.load(name) for name in dict.fromkeys(configs)]
    found = []
    for spec in map(registry.load, registry.names()):
        built = (work_folder(out, spec.name) / "lock.json").exists()
        if spec.name in texts or (built and not isinstance(spec, Ids)):
            found.append(spec)
        elif built:
            lines.step(spec.name, "no hydrated texts: left out")
    if not found:
        raise StorageError(f"{out}: nothing was built there", hint=f"Run: mteb-de build --out {out}")
    return found


def _refuse_stand_ins(specs: Sequence[ConfigSpec], locks: Sequence[Lock]) -> None:
    from builders.lock.committed import stand_ins

    asked = {spec.name for spec in specs}
    reasons = [reason for lock in locks if lock.config in asked for reason in stand_ins(lock)]
    if reasons:
        raise Refused(
            "--cite is for builds that may be published:\n" + "\n".join(reasons),
            hint="Build from the real upstreams with the pinned encoder, then evaluate with --cite.",
        )


def _cite(evaluation: Evaluation, locks: Path) -> Iterator[Path]:
    from builders.evaluation.jobs import cited_scores
    from builders.lock.beside import citations_path, cite_scores

    for config, scores in cited_scores(evaluation.results, evaluation.configs).items():
        path = citations_path(locks, config)
        cite_scores(path, scores)
        yield path
