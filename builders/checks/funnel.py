"""Rules on the funnels: every row that was read is published, merged, or dropped for a reason."""

import re
from collections.abc import Iterator

import polars as pl

from builders.checks.finding import Finding, error, graded
from builders.checks.subject import AnySubject, Pairs, Rule
from builders.spec import PAIR, observed
from builders.tables import Kind

_COUNT = "Count drops and merges where they happen; never as a difference."

_MISSING = error("funnel-missing", "funnels that are missing, double or unknown", _COUNT)
_SUM = error("funnel-sum", "funnels that lose rows or make some up", _COUNT)
_OUT = error("funnel-out", "funnels that do not end in the published rows", _COUNT)
_FOLLOWED = error("funnel-pairs", "ways of pairs that the published tables do not bear out", _COUNT)
_CHAIN = error("funnel-chain", "funnels that do not begin where the rows' funnel ends", _COUNT)
_REASON = error(
    "funnel-reason",
    "reasons that name nothing, or counts below zero",
    "A reason is a word such as `empty_text`; side files and card cite it.",
)
_LOST = "Look at them in dropped.parquet: a part of the upstream is missing or damaged."
_MUCH_LOST = f"{_LOST} Fetch it again."
_TOLERATED = 0.01
_DANGLING = graded("pairs-dangling", "pairs of which the upstream lacks an end", _LOST, _MUCH_LOST)
_NAMELESS = graded("rows-without-id", "upstream rows without an id", _LOST, _MUCH_LOST)

_REASON_WORD = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_PUBLISHED = {"queries": Kind.QUERIES, "passages": Kind.CORPUS}


def _tables(subject: Pairs) -> Iterator[Finding]:
    """Demand a funnel of queries, of passages, of pairs, and of rows where a row is all three."""
    expected = {*_PUBLISHED, "pairs", *(["rows"] if subject.spec.rows == "pair" else [])}
    found = [funnel.table for funnel in subject.funnels]
    wrong = sorted(name for name in {*expected, *found} if found.count(name) != (name in expected))
    yield from _MISSING.lines([f"{name}: {found.count(name)} funnels" for name in wrong])


def counts(subject: AnySubject) -> Iterator[Finding]:
    """Demand that every row that was read is out, undecided, merged, or dropped for a reason."""
    lost, wrong = [], []
    for funnel in subject.funnels:
        left = {name: getattr(funnel, name) for name in ("merged", "undecided", "out")}
        accounted = sum((*left.values(), *funnel.dropped.values()))
        if funnel.read != accounted:
            lost.append(f"{funnel.table}: {funnel.read} read, {accounted} accounted for")
        for reason, count in funnel.dropped.items():
            if count < 0 or not _REASON_WORD.fullmatch(reason):
                wrong.append(f"{funnel.table}: {count} dropped as {reason!a}")
        below_zero = {name: count for name, count in ({"read": funnel.read} | left).items() if count < 0}
        wrong += [f"{funnel.table}: {count} {name}" for name, count in below_zero.items()]
    yield from _SUM.lines(lost)
    yield from _REASON.lines(wrong)


def _ends(subject: Pairs) -> Iterator[Finding]:
    """Demand funnels that end in the published rows, and begin where the funnel of the rows ends."""
    ends_in = {**_PUBLISHED, **({"pairs": Kind.QRELS} if subject.spec.relate is observed else {})}
    published = {name: subject.stacked(kind).height for name, kind in ends_in.items()}
    final = [funnel for funnel in subject.funnels if funnel.table in published]
    wrong = [f for f in final if f.out != published[f.table]]
    yield from _OUT.lines([f"{f.table}: {f.out} out, {published[f.table]} published" for f in wrong])
    left = next((funnel.out for funnel in subject.funnels if funnel.table == "rows"), None)
    broken = [f for f in final if left is not None and f.table in _PUBLISHED and f.read != left]
    yield from _CHAIN.lines([f"{f.table}: {f.read} read, {left} rows left" for f in broken])


def _followed(subject: Pairs) -> Iterator[Finding]:
    """Find the pairs of rows that are query and passage again from the provenance and the tables.

    The provenance knows no decisions of auditors: the counts may differ by their number.
    """
    provenance, undecided = subject.beside.get("provenance"), subject.beside.get("undecided")
    if subject.spec.rows != "pair" or provenance is None or undecided is None:
        return
    ends = [
        provenance.filter(pl.col("table") == table).select("upstream_id", pl.col("id").alias(name))
        for table, name in zip(("queries", "corpus"), PAIR, strict=True)
    ]
    pairs = ends[0].join(ends[1], on="upstream_id").select(PAIR).unique()
    queries = subject.queries
    found = {
        "published": pairs.join(subject.qrels, on=PAIR, how="semi").height,
        "undecided": pairs.join(undecided, on=PAIR, how="semi").height,
        "no_positive": pairs.join(queries, on="query_id", how="anti").height,
    }
    for funnel in (each for each in subject.funnels if each.table == "pairs"):
        excluded, relevant = funnel.dropped.get("excluded", 0), subject.decisions.get("relevant", 0)
        counted = {
            "published": (funnel.out, 0, relevant),
            "undecided": (funnel.undecided, -excluded, 0),
            "no_positive": (funnel.dropped.get("no_positive", 0), -excluded, 0),
        }
        yield from _FOLLOWED.lines([
            f"pairs: {count} {name}, {found[name]} found again"
            for name, (count, least, most) in counted.items()
            if not least <= count - found[name] <= most
        ])


def _losses(subject: Pairs) -> Iterator[Finding]:
    """Note missing parts of the upstream; many are a gate."""
    for reason, (few, many) in {"dangling": _DANGLING, "no_id": _NAMELESS}.items():
        # Where a row is query, passage and pair, the funnel of rows counts its loss.
        every = subject.spec.rows == "table"
        tables = [funnel for funnel in subject.funnels if every or funnel.table == "rows"]
        hit = [funnel for funnel in tables if funnel.dropped.get(reason, 0) > 0]
        beyond = any(funnel.dropped[reason] > _TOLERATED * funnel.read for funnel in hit)
        lost = [f"{funnel.dropped[reason]:,} of {funnel.read:,} {funnel.table}" for funnel in hit]
        code = many if beyond else few
        message = f"{code.meaning}: {', '.join(lost)}"
        yield from code.counted(sum(funnel.dropped[reason] for funnel in hit), lost, message=message)


RULES: tuple[Rule, ...] = (_tables, counts, _ends, _followed, _losses)
