"""`mteb-de audit`: sample, import, report."""

from pathlib import Path
from typing import Literal

import click

from builders import registry
from builders.cli import options as opt
from builders.cli.output import emit, say, tell
from builders.spec import Retrieval
from builders.tables import MINED, Kind

_notes = opt.value("--notes", opt.FOLDER, "Folder of notes; audits are kept in its audits/.", "notes")
_locks = opt.value("--locks", opt.FOLDER, "Folder of what is committed.  [default: beside the configs]")
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.group("audit")
def command() -> None:
    """Find out how many hard negatives and positives are wrong, and let it flow back into the build.

    \b
    sample  draws pairs and writes them as one page and as CSV; open the page and judge
    import  takes in the verdicts that the page has you download
    report  rates with their intervals, to be cited in the card
    """


@command.command()
@click.argument("config")
@opt.value("--n negatives", click.IntRange(min=0), "Hard negatives.  [default: 200, or what --bound takes]")
@opt.value(
    "--table",
    click.Choice([kind.value for kind in MINED]),
    "Whose hard negatives.",
    Kind.HARD_NEGATIVES.value,
)
@opt.value("--bound", _SHARE, "Where the interval of the false-negative rate shall end, such as 0.05.")
@opt.value("--expected", _SHARE, "Share of the hard negatives that are expected to be relevant.", 0.02)
@opt.value("--positives", click.IntRange(min=0), "Labelled positives.  [default: a quarter of --n]")
@opt.value("--seed", int, "Of the draw and the order.", 42)
@opt.flag("--suspects", "The likeliest false negatives first, instead of a random sample.")
@opt.value(
    "--second",
    click.Choice(["lexical", "offline", "e5"]),
    "Who ranks suspects beside the encoder that mined.  [default: lexical]",
)
@opt.value(
    "--controls",
    opt.FILE_THERE,
    "Pairs confirmed by hand, as jsonl.  [default: audits/CONFIG.controls.jsonl in --notes]",
)
@opt.DIST
@opt.value(
    "--out", opt.FILE, "The page; the CSV lies beside it.  [default: DIST/work/CONFIG/audit/SAMPLE.html]"
)
@_notes
@opt.AS_JSON
def sample(
    config: str,
    negatives: int | None,
    table: str,
    bound: float | None,
    expected: float,
    positives: int | None,
    seed: int,
    suspects: bool,
    second: Literal["lexical", "offline", "e5"] | None,
    controls: Path | None,
    dist: Path,
    out: Path | None,
    notes: Path,
    as_json: bool,
) -> None:
    """Draw pairs of a built config, and write them as one HTML page and as CSV.

    Hard negatives are drawn by their deviations above the query's mean and by split, one of each group of
    queries that mean the same; labelled positives and pairs that were confirmed by hand are mixed in blind.
    Page and CSV hold texts: keep them out of git.

    --suspects takes the hard negatives that come closest to a positive of their query, by the encoder that
    mined and by a second opinion in the mean, and says how far the two agree.

    \b
    Examples:
      mteb-de audit sample jobs
      mteb-de audit sample jobs --bound 0.05
      mteb-de audit sample jobs --n 60 --suspects --out suspects.html

    Exit codes: 0 written; 2 could not run.
    """
    from builders.audit.page import draw
    from builders.printable import counted, percent

    drawn = draw(
        registry.load_retrieval(config),
        negatives,
        positives,
        dist=dist,
        notes=notes,
        table=Kind(table),
        bound=bound,
        expected=expected,
        seed=seed,
        suspects=suspects,
        second=second,
        controls=controls,
        page=out,
    )
    counts = {kind: len(drawn.sample.of_kind(kind)) for kind in ("negative", "positive", "control")}
    if as_json:
        emit({
            "sample": drawn.sample.head.sample,
            "table": drawn.sample.head.table,
            "build": drawn.sample.head.build,
            "counts": counts,
            "remarks": list(drawn.remarks),
            "page": str(drawn.page),
            "csv": str(drawn.csv),
            "needed": {f"{share:g}": count for share, count in drawn.needed.items()},
            "reach": drawn.reach,
            "overlap": drawn.sample.head.overlap and drawn.sample.head.overlap.model_dump(),
        })
        return
    if bound is not None:
        counts_by_share = (f"{count:,} at {percent(share)}" for share, count in drawn.needed.items())
        say(f"hard negatives for an interval that ends at {percent(bound)}: {', '.join(counts_by_share)}")
    for remark in drawn.remarks:
        tell(f"note: {remark}")
    say(
        f"sample {drawn.sample.head.sample} of {config}: {counted(counts['negative'], 'hard negative')}, "
        f"{counted(counts['positive'], 'labelled positive')}, {counted(counts['control'], 'control')}"
    )
    if drawn.reach is not None:
        ends = f"the interval of the false-negative rate ends at {percent(drawn.reach)}"
        say(f"if {percent(expected)} are relevant and all is judged, {ends}")
    if overlap := drawn.sample.head.overlap:
        correlation = "none" if overlap.correlation is None else f"{overlap.correlation:.2f}"
        named = f"{overlap.both:,} of their first {overlap.first:,} suspects are the same"
        say(
            f"the encoder that mined and {drawn.sample.head.opinion}: {named}, rank correlation {correlation}"
        )
    say(f"page: {drawn.page}")
    say(f"csv:  {drawn.csv}")


@command.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=opt.PATH)
@click.option(
    "--auditor", default="", show_default=False, help="Whose verdicts a CSV holds: it needs this name."
)
@opt.flag("--replace", "Let rows of a CSV replace other verdicts of the auditor.")
@opt.DIST
@_notes
@_locks
@opt.AS_JSON
def import_(
    files: tuple[Path, ...],
    auditor: str,
    replace: bool,
    dist: Path,
    notes: Path,
    locks: Path | None,
    as_json: bool,
) -> None:
    """Take in verdicts: check them, add them to the history, and bring the decisions up to date.

    Nothing is taken of any file if a line of one is not sound. What enough auditors found relevant becomes a
    decision beside the config, which the next build applies. Of an auditor's verdicts on an item the last one
    holds. A CSV takes "not relevant", "related", "also relevant", "unsure", "broken text", and "withdrawn",
    which takes an earlier verdict back. Verdicts of two auditors that bear the same times are refused.

    \b
    Examples:
      mteb-de audit import jobs-s-0f3a5b7c9d1e2f40-anna.verdicts.jsonl
      mteb-de audit import s-0f3a5b7c9d1e2f40.csv --auditor Ben

    Exit codes: 0 taken in; 1 verdicts of another build, one person's under two names, or a CSV that
    would replace verdicts; 2 could not run.
    """
    from builders.audit.verdicts import import_verdicts
    from builders.printable import counted

    imported = import_verdicts(files, dist=dist, notes=notes, locks=locks, auditor=auditor, replace=replace)
    if as_json:
        emit({"imported": [one.model_dump(mode="json") for one in imported]})
        return
    for one in imported:
        for remark in one.remarks:
            tell(f"note: {remark}")
        withdrawn = f" ({one.withdrawn} withdrawn)" if one.withdrawn else ""
        who = f" by {', '.join(one.auditors)}" if one.auditors else ""
        say(
            f"{one.config}, sample {one.sample}: {counted(one.read, 'verdict')}, "
            f"{one.new} new{withdrawn}; {one.judged} of {counted(one.items, 'item')} judged{who}"
        )
        say(f"history: {one.history}")
        if one.decisions_path is not None:
            say(f"decisions: {one.decisions} in {one.decisions_path}")


@command.command()
@opt.CONFIGS
@_notes
@_locks
@opt.AS_JSON
def report(configs: tuple[str, ...], notes: Path, locks: Path | None, as_json: bool) -> None:
    """Write what the audits say to notes/hard-negative-audit.md, and what the card cites beside the config.

    \b
    Example:
      mteb-de audit report

    Exit codes: 0 written; 2 nothing was judged, or could not run.
    """
    from builders.audit.report import REPORT, sentence, write_report

    names = configs or [name for name in registry.names() if isinstance(registry.load(name), Retrieval)]
    cited, remarks = write_report([registry.load_retrieval(name) for name in names], notes=notes, locks=locks)
    if as_json:
        emit({"audits": {name: audit.model_dump(mode="json") for name, audit in cited.items()}})
        return
    for remark in remarks:
        tell(f"note: {remark}")
    for name, audit in cited.items():
        say(f"{name}: {sentence(audit)}")
    say(f"report: {notes / REPORT}")
