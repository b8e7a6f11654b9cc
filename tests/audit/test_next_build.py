"""What auditors find flows into the next build of the bundled sample."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from builders.audit.history import Sample, Verdict
from builders.audit.page import draw
from builders.audit.report import write_report
from builders.audit.sample import read_pairs
from builders.audit.verdicts import import_verdicts
from builders.build.order import Options, build
from builders.checks import check_tree
from builders.demo.bundled import lay_out
from builders.describe import Target, render
from builders.lock.beside import Citations, citations_path, read_citations
from builders.lock.lock import Lock
from builders.prepare.decisions import decisions_path
from builders.release.diff import compare_trees
from builders.release.tree import NOTHING, Split, SplitFiles, Tree
from builders.spec import RELEASES, Retrieval
from builders.tables import Kind, inside, published_path
from tests.audit.kit import jobs, judgement, verdict_file
from tests.vectors import sharing_vectors

R, N = Verdict.ALSO_RELEVANT, Verdict.NOT_RELEVANT
LIMIT = 60


class Silent:
    """Progress that nobody sees, but for its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def title(self, text: str) -> None:
        """Keep nothing."""

    def step(self, name: str, *lines: str) -> None:
        """Keep the lines."""
        self.lines += [f"{name}: {line}" for line in lines]

    def tick(self, name: str, done: int, total: int) -> None:
        """Keep nothing."""


class Place:
    """A folder in which the sample is built."""

    def __init__(self, root: Path) -> None:
        self.root, self.locks, self.notes = root, root / "locks", root / "notes"
        self.locks.mkdir()
        lay_out(root / "upstream")

    def spec(self) -> Retrieval:
        """`jobs`, mined so that every query has negatives."""
        spec = jobs()
        assert spec.mining is not None
        recipe = replace(spec.mining.recipe, margin=0.0, depth=50)
        return replace(spec, mining=replace(spec.mining, recipe=recipe))

    def build(self, name: str, *, committed: Path | None = None) -> tuple[Path, Lock, list[str]]:
        """Build under a folder of that name, by what lies in `locks` unless another folder is given."""
        progress = Silent()
        options = Options(
            out=self.root / name,
            encoder="offline",
            offline=True,
            sources=(str(self.root / "upstream"),),
            limit=LIMIT,
            workers=1,
            home=sharing_vectors(self.root / "home"),
            committed=committed or self.locks,
        )
        return options.out, build(self.spec(), options, progress), progress.lines


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("place"))


def rows(out: Path, kind: Kind) -> set[tuple[str, str]]:
    frames = [
        inside(kind, pl.read_parquet(out / "mteb-de" / published_path("jobs", kind, s)))
        for s in ("train", "dev", "test")
    ]
    return set(pl.concat(frames).select("query_id", "passage_id").iter_rows())


def tree(lock: Lock) -> Tree:
    splits = {Split(f.config, f.split): SplitFiles((f.path,), f.rows, f.content) for f in lock.files}
    return replace(NOTHING, splits=splits)


def card(lock: Lock, cited: Citations | None = None) -> str:
    target = Target("verein/mteb-de", "2.0.0", date(2026, 2, 1))
    citations = {"jobs": cited} if cited else {}
    return render(RELEASES["mteb-de"], [lock], target, citations=citations)["README.md"].decode()


def verdicts(sample: Sample, auditor: str, *, disputed: bool) -> list[Verdict]:
    """The first negative is relevant to both, the second to Anna alone, the others to nobody."""
    return [R, N if disputed else R] + [N] * (len(sample.of_kind("negative")) - 2)


def test_decisions_are_applied_counted_cited_and_bump_the_version(place: Place) -> None:
    out, before, _ = place.build("first")
    assert before.decisions == {}
    sample = draw(place.spec(), 20, 0, dist=out, notes=place.notes).sample
    first, second = (item for item in sample.of_kind("negative")[:2])
    for auditor in ("Anna", "Ben"):
        said = zip(sample.items, verdicts(sample, auditor, disputed=auditor == "Ben"), strict=True)
        lines = [judgement(sample, item, verdict, auditor) for item, verdict in said]
        path = verdict_file(place.root / f"{auditor}.jsonl", lines)
        import_verdicts([path], dist=out, notes=place.notes, locks=place.locks)
    write_report([place.spec()], notes=place.notes, locks=place.locks)

    out, after, told = place.build("second")
    relabelled, excluded = (first.query_id, first.passage_id), (second.query_id, second.passage_id)
    assert relabelled in rows(out, Kind.QRELS)
    assert relabelled not in rows(out, Kind.HARD_NEGATIVES)
    assert excluded not in rows(out, Kind.QRELS) | rows(out, Kind.HARD_NEGATIVES)
    assert (after.decisions["relevant"], after.decisions["excluded"], after.decisions["unmatched"]) == (
        1,
        1,
        0,
    )
    assert after.decisions["qrels_added"] >= 1
    assert any(line.startswith("decisions: 1 relevant, 1 excluded") for line in told)
    assert not [found for found in check_tree(out, load=lambda _: place.spec()) if found.severity == "error"]

    changed = compare_trees(tree(before), tree(after), differing=False, unknown=False)
    assert changed.bump == "major"

    cited = read_citations(citations_path(place.locks, "jobs"))
    assert cited.audit is not None
    assert cited.audit.build == before.rows_id == sample.head.build
    assert cited.audit.build != read_pairs(out, place.spec()).build
    audited = card(before, cited)
    assert "2 auditors read a random sample of this very build, last on 2026-01-05" in audited
    assert "No audit of them" not in audited
    decided = card(after, cited)
    assert "2 auditors read" not in decided and "No audit of them has been made yet." in decided
    assert "what auditors found" in decided
    assert "Pairs that auditors found relevant | 1 |" in decided

    _, again, _ = place.build("second")
    assert again == after

    # The pair is a positive now; who judges it as one and confirms it leaves the decision as it is.
    kept = decisions_path(place.locks, "jobs").read_bytes()
    drawn, item = next(
        (drawn, item)
        for drawn in (
            draw(place.spec(), 0, 500, dist=out, notes=place.notes, seed=n).sample for n in range(99)
        )
        for item in drawn.of_kind("positive")
        if (item.query_id, item.passage_id) == relabelled
    )
    lines = [judgement(drawn, item, R, auditor, minute=60) for auditor in ("Anna", "Ben")]
    path = verdict_file(place.root / "confirmed.jsonl", lines)
    (taken,) = import_verdicts([path], dist=out, notes=place.notes, locks=place.locks)
    assert (taken.new, taken.decisions) == (2, 2)
    assert decisions_path(place.locks, "jobs").read_bytes() == kept


def test_without_an_audit_the_card_says_so(place: Place) -> None:
    _, lock, told = place.build("third", committed=place.root / "nothing")
    assert not [line for line in told if line.startswith("decisions")]
    assert "No audit of them has been made yet." in card(lock)
    assert "what auditors found" not in card(lock)
