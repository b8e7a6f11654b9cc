from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders import files
from builders.built import read_built
from builders.checks import check_tree
from builders.checks.finding import Severity
from builders.checks.subject import subject_of
from builders.errors import StorageError, UsageError
from builders.lock.lock import work_folder
from builders.prepare.splits import assign, write_splits
from builders.spec import Retrieval, Waiver
from builders.tables import SPLITS
from tests.checks.kit import SPEC, chain, healthy, remove, respec, table, with_beside, write_tree

POOR = chain(*(remove("hard_negatives/train", f"q{n:02}") for n in (1, 2, 3, 4)))


def load(name: str) -> Retrieval:
    assert name == SPEC.name
    return SPEC


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    subject = healthy()
    write_tree(tmp_path, subject)
    read = subject_of(read_built(tmp_path, SPEC))
    assert read.spec is SPEC
    assert (read.funnels, read.mining) == (subject.funnels, subject.mining)
    assert read.beside["undecided"].equals(subject.beside["undecided"])
    assert {kind: set(splits) for kind, splits in read.tables.items()} == {
        kind: set(splits) for kind, splits in subject.tables.items()
    }
    for kind, splits in subject.tables.items():
        for split, frame in splits.items():
            assert read.tables[kind][split].equals(frame)


def commit_splits(folder: Path) -> None:
    """Commit the splits of the healthy config."""
    rows = [
        {"query_id": query, "group_hash": "0" * 16, "split": split}
        for split in SPLITS
        for query in table(healthy(), f"queries/{split}")["query_id"]
    ]
    write_splits(folder / "garten.splits.tsv", pl.DataFrame(rows))


def test_a_healthy_tree_has_no_finding(tmp_path: Path) -> None:
    write_tree(tmp_path, healthy())
    commit_splits(tmp_path)
    assert check_tree(tmp_path, load=load, configs=tmp_path) == []


def test_queries_whose_split_is_not_committed_are_counted(tmp_path: Path) -> None:
    write_tree(tmp_path, healthy())
    (finding,) = check_tree(tmp_path, load=load, configs=tmp_path)
    assert (finding.code, finding.severity, finding.config) == ("splits-uncommitted", Severity.NOTE, "garten")
    assert (finding.count, finding.message) == (10, "the splits of 10 of 10 queries are not committed")
    commit_splits(tmp_path)
    path = tmp_path / "garten.splits.tsv"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-1]), encoding="utf-8")
    (finding,) = check_tree(tmp_path, load=load, configs=tmp_path)
    assert (finding.count, finding.examples) == (1, ("q10: test",))


def test_a_tree_is_checked_config_by_config_and_release_by_release(tmp_path: Path) -> None:
    write_tree(tmp_path, respec()(POOR(healthy())))
    files.write_bytes(tmp_path / "mteb-de" / "fremd.txt", b"x")
    findings = check_tree(tmp_path, load=load, configs=tmp_path)
    codes = [finding.code for finding in findings]
    assert codes == ["file-extra", "mining-report", "mining-yield", "splits-uncommitted"]
    assert [finding.config for finding in findings] == ["", "garten", "garten", "garten"]


def test_waivers_of_the_config_are_applied(tmp_path: Path) -> None:
    write_tree(tmp_path, POOR(healthy()))
    waived = replace(SPEC, waivers=(Waiver("mining-yield", "dicht beieinander", 6),))
    findings = check_tree(tmp_path, load=lambda _: waived, configs=tmp_path)
    assert {finding.code: finding.waived for finding in findings}["mining-yield"] == "dicht beieinander"


def test_the_committed_assignment_is_compared(tmp_path: Path) -> None:
    write_tree(tmp_path, healthy())
    groups = pl.DataFrame({"query_id": ["q01", "q09"], "group": ["a", "b"], "leak": ["a", "b"]})
    dealt = assign(groups).with_columns(split=pl.lit("dev"))
    write_splits(tmp_path / "garten.splits.tsv", dealt)
    findings = check_tree(tmp_path, load=load, configs=tmp_path)
    moved, new = findings
    assert (moved.code, moved.examples) == ("split-moved", ("q01: train, committed to dev",))
    assert (new.code, new.count) == ("splits-uncommitted", 9)
    kept = Waiver("split-moved", "neu ausgeteilt", 1)
    (waived, _) = check_tree(tmp_path, load=lambda _: replace(SPEC, waivers=(kept,)), configs=tmp_path)
    assert waived.waived == "neu ausgeteilt"


def test_a_waiver_of_moved_queries_waits_for_the_plan(tmp_path: Path) -> None:
    """A build does not know what is published, so it does not call the waiver unused."""
    write_tree(tmp_path, healthy())
    commit_splits(tmp_path)
    waived = replace(SPEC, waivers=(Waiver("split-moved", "neu ausgeteilt", 1),))
    assert check_tree(tmp_path, load=lambda _: waived, configs=tmp_path) == []


def test_without_undecided_pairs_the_check_says_so(tmp_path: Path) -> None:
    write_tree(tmp_path, with_beside(healthy(), undecided=None))
    commit_splits(tmp_path)
    (finding,) = check_tree(tmp_path, load=load, configs=tmp_path)
    assert (finding.code, finding.severity) == ("undecided-unknown", Severity.NOTE)


def test_a_split_of_another_name_is_read_and_found(tmp_path: Path) -> None:
    write_tree(tmp_path, healthy())
    folder = tmp_path / "mteb-de/garten/queries"
    (folder / "dev.parquet").rename(folder / "dev-neu.parquet")
    commit_splits(tmp_path)
    codes = {finding.code for finding in check_tree(tmp_path, load=load, configs=tmp_path)}
    assert {"missing-table", "unexpected-table", "file-missing", "file-extra"} == codes


def test_nothing_built_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nothing was built there"):
        check_tree(tmp_path, load=load)
    with pytest.raises(StorageError, match="no lock there"):
        read_built(tmp_path, SPEC)


def test_an_unknown_config_is_usage(tmp_path: Path) -> None:
    write_tree(tmp_path, healthy())
    with pytest.raises(UsageError, match="unknown config 'garten'"):
        check_tree(tmp_path)


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" + b"\0" * 64 + b"PAR1"])
def test_a_broken_file_is_named(tmp_path: Path, data: bytes) -> None:
    write_tree(tmp_path, healthy())
    files.write_bytes(tmp_path / "mteb-de/garten/qrels/dev.parquet", data)
    with pytest.raises(StorageError, match=r"qrels/dev\.parquet: not a parquet file") as caught:
        subject_of(read_built(tmp_path, SPEC))
    assert caught.value.hint


def test_undecided_pairs_without_their_columns_are_refused(tmp_path: Path) -> None:
    write_tree(tmp_path, healthy())
    pl.DataFrame({"query-id": ["q01"]}).write_parquet(work_folder(tmp_path, "garten") / "undecided.parquet")
    with pytest.raises(StorageError, match="no column 'corpus-id' of strings"):
        subject_of(read_built(tmp_path, SPEC))
