from __future__ import annotations

import csv
import io
import os
import re
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builders.audit import history
from builders.audit.history import Verdict
from builders.audit.page import _Drawn, draw
from builders.audit.sheet import COLUMNS, _neutral
from builders.audit.verdicts import _Imported, import_verdicts
from builders.errors import Refused, UsageError
from builders.tables import Kind, rowless
from tests.audit.kit import build, jobs, judgement, verdict_file, write

IDS = ("sample", "item", "query-id", "corpus-id")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    build(tmp_path / "dist", hostile=True)
    return tmp_path


@pytest.fixture
def written(place: Path) -> _Drawn:
    return draw(jobs(), 300, 60, dist=place / "dist", notes=place / "notes")


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def fill(path: Path, verdicts: list[str], delimiter: str = ",") -> None:
    filled = rows(path)
    for row, verdict in zip(filled, verdicts, strict=False):
        row["verdict"] = verdict
    save(path, filled, delimiter)


def save(path: Path, filled: list[dict[str, str]], delimiter: str = ",") -> None:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, delimiter=delimiter)
    writer.writeheader()
    writer.writerows(filled)
    path.write_text(out.getvalue(), encoding="utf-8", newline="")


def test_the_csv_holds_the_items_of_the_page_in_order_and_tells_no_score(written: _Drawn) -> None:
    assert [row["item"] for row in rows(written.csv)] == [item.item for item in written.sample.items]
    assert not {"kind", "score", "rank", "gap", "expected"} & rows(written.csv)[0].keys()


@pytest.mark.parametrize(
    "text", ["=1+1", "+49 30", "-5", "@x", "\t=1", " =1", "\u00a0=1", "＝1", "\r=1", "\n=1"]
)
def test_formulas_are_neutralised(text: str) -> None:
    assert _neutral(text) == f"'{text}"


@given(st.text())
@example("\x1f=")
@example("\u200b =")
def test_no_cell_is_a_formula(text: str) -> None:
    cell = _neutral(text)
    assert cell.removeprefix("'") == text.removeprefix("'") or cell == text
    assert not cell.strip().startswith(("=", "+", "-", "@"))


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_typed_verdicts_are_imported_and_empty_rows_passed_over(
    place: Path, written: _Drawn, delimiter: str
) -> None:
    fill(written.csv, ["not relevant", "", "Also Relevant", "unsure", "broken_text"], delimiter)
    for _ in range(2):
        (taken,) = import_verdicts(
            [written.csv], dist=place / "dist", notes=place / "notes", locks=place / "locks", auditor="Anna"
        )
    assert (taken.read, taken.new, taken.judged) == (4, 0, 4)
    ((sample, judgements),) = history.audits_of(place / "notes", "jobs")
    by_item = {one.item: one.verdict for one in judgements}
    expected = ["not_relevant", None, "also_relevant", "unsure", "broken_text"]
    assert [by_item.get(item.item) for item in sample.items[:5]] == expected


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda text: text.replace("verdict", "urteil", 1), "column 'verdict' is missing"),
        (lambda text: text.replace("not relevant", "nein", 1), r"line \d+: verdict 'nein' is unknown"),
        (lambda text: "", "column 'sample' is missing"),
        (lambda text: text.splitlines()[0] + "\r\n", "no row"),
        (lambda text: text.replace(",note", ",verdict", 1), "column 'verdict' is there twice"),
        (
            lambda text: text.replace(",not relevant,", "not relevant", 1),
            r"line \d+: 8 cells, and the header has 10",
        ),
        (lambda text: text.replace(",not relevant,", ",not relevant,,gut", 1), r"line \d+: 11 cells"),
        (lambda text: text.replace(",not relevant,", ',not relevant,"siehe oben', 1), r"line \d+: not CSV"),
    ],
)
def test_a_spoilt_csv_is_named(place: Path, written: _Drawn, spoil: object, message: str) -> None:
    assert callable(spoil)
    fill(written.csv, ["not relevant"])
    written.csv.write_text(spoil(written.csv.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        import_verdicts(
            [written.csv], dist=place / "dist", notes=place / "notes", locks=place / "locks", auditor="Anna"
        )
    assert not (place / "notes").exists()


@pytest.mark.parametrize("typed", ["relevant?", "noted", "Noted"])
def test_an_unknown_verdict_is_refused_with_those_that_a_person_writes(
    place: Path, written: _Drawn, typed: str
) -> None:
    fill(written.csv, ["not relevant", typed])
    with pytest.raises(UsageError, match=rf"line \d+: verdict '{re.escape(typed)}' is unknown") as caught:
        taken(place, written.csv)
    assert (
        caught.value.hint
        == "Write one of: not relevant, related, also relevant, unsure, broken text, withdrawn."
    )
    assert not (place / "notes").exists()


def test_a_csv_needs_an_auditor(place: Path, written: _Drawn) -> None:
    with pytest.raises(UsageError, match="does not say who judged"):
        import_verdicts([written.csv], dist=place / "dist", notes=place / "notes")


@pytest.mark.parametrize("auditor", ["anna@beispiel.de", " ", "\u202e"])
def test_the_auditor_of_a_csv_has_a_name(place: Path, written: _Drawn, auditor: str) -> None:
    fill(written.csv, ["not relevant"])
    with pytest.raises(UsageError, match="--auditor: an auditor's name"):
        taken(place, written.csv, auditor=auditor)


def test_a_csv_saved_at_a_time_to_come_is_refused(place: Path, written: _Drawn) -> None:
    fill(written.csv, ["not relevant"])
    ahead = written.csv.stat().st_mtime + 3600
    os.utime(written.csv, (ahead, ahead))
    with pytest.raises(UsageError, match=r"line \d+: at: .* yet to come"):
        taken(place, written.csv)


def taken(place: Path, *paths: Path, auditor: str = "Anna", replace: bool = False) -> _Imported:
    """Import CSVs of one sample."""
    (found,) = import_verdicts(
        paths,
        dist=place / "dist",
        notes=place / "notes",
        locks=place / "locks",
        auditor=auditor,
        replace=replace,
    )
    return found


def as_a_spreadsheet_saves(cell: str) -> str:
    """Keep 15 digits of what looks like a number, as spreadsheets do."""
    try:
        return f"{float(cell):.15g}"
    except ValueError:
        return cell


def resave(path: Path, change: Callable[[str, str], str]) -> None:
    """Write the CSV again, every cell changed by its column and what it holds."""
    save(path, [{name: change(name, cell) for name, cell in row.items()} for row in rows(path)])


def test_a_spreadsheet_rewrites_no_id(place: Path, written: _Drawn) -> None:
    fill(written.csv, ["not relevant"] * len(written.sample.items))
    before = rows(written.csv)
    resave(written.csv, lambda _, cell: as_a_spreadsheet_saves(cell))
    assert rows(written.csv) == before
    assert all(not cell[:1].isdigit() for row in before for name, cell in row.items() if name in IDS)
    assert taken(place, written.csv).judged == len(written.sample.items)


@pytest.mark.parametrize("upstream", ["3441489659134094", "12e34", "007", "MAR1", "=q", "1-2", "ü"])
def test_upstream_ids_survive_a_spreadsheet(tmp_path: Path, upstream: str) -> None:
    tables: dict[Kind, Sequence[tuple[object, ...]]] = {
        Kind.CORPUS: [(upstream, "", "Gießen hilft."), ("d2", "", "Regen auch.")],
        Kind.QUERIES: [(f"{upstream}{n}", f"Frage {n}") for n in range(10)],
        Kind.QRELS: [(f"{upstream}{n}", upstream, 1) for n in range(10)],
        Kind.HARD_NEGATIVES: [(f"{upstream}{n}", "d2", 5, 0.8, 0.9) for n in range(10)],
    }
    dist = write(
        tmp_path / "dist",
        {
            kind: pl.DataFrame(table, schema=rowless(kind).schema, orient="row")
            for kind, table in tables.items()
        },
    )
    drawn = draw(jobs(), 10, 10, dist=dist, notes=tmp_path / "notes")
    fill(drawn.csv, ["unsure"] * 20)
    for change in (as_a_spreadsheet_saves, lambda cell: as_a_spreadsheet_saves(cell).removeprefix("'")):
        resave(drawn.csv, lambda _, cell, change=change: change(cell))  # type: ignore[misc]
        assert taken(tmp_path, drawn.csv).judged == 20


def test_a_row_whose_item_was_rewritten_is_known_by_its_pair(place: Path, written: _Drawn) -> None:
    fill(written.csv, ["not relevant", "also relevant", "unsure"])
    resave(written.csv, lambda name, cell: "3.44148965913409E+15" if name == "item" else cell)
    assert taken(place, written.csv).judged == 3
    ((sample, judgements),) = history.audits_of(place / "notes", "jobs")
    assert {one.item for one in judgements} == {item.item for item in sample.items[:3]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"item": "3.44E+15", "query-id": "q-weg"},
            r"line 2: neither item '3\.44E\+15' nor the pair 'q-weg'",
        ),
        ({"sample": "3.44148965913409E+15"}, r"line 2: '3\.44148965913409E\+15' is no id of a sample"),
        ({"sample": "f" * 16}, r"the sample 'ffff"),
        ({"query-id": "q-weg"}, r"line 2: item i-.* is the pair"),
    ],
)
def test_ids_that_cannot_be_told_are_refused_with_their_line(
    place: Path, written: _Drawn, changes: dict[str, str], message: str
) -> None:
    fill(written.csv, ["not relevant"])
    resave(written.csv, lambda name, cell: changes.get(name, cell))
    with pytest.raises(UsageError, match=message):
        taken(place, written.csv)
    assert not (place / "notes").exists()


def test_a_copy_of_a_csv_adds_nothing_and_a_changed_row_is_one_event(place: Path, written: _Drawn) -> None:
    fill(written.csv, ["not relevant", "also relevant", "unsure"])
    assert taken(place, written.csv).new == 3
    path = history.verdicts_path(place / "notes", written.sample)
    before = path.read_bytes()
    later = written.csv.stat().st_mtime
    for seconds in (-3600, 0.25, 60):
        os.utime(written.csv, (later + seconds, later + seconds))
        assert taken(place, written.csv, auditor="anna").new == 0
    copy = written.csv.with_name("Kopie.csv")
    copy.write_bytes(written.csv.read_bytes())
    assert taken(place, written.csv, copy).new == 0
    assert path.read_bytes() == before
    for verdicts, new, judged in (
        (["not relevant", "Withdrawn", "unsure"], 1, 2),
        (["not relevant", "withdrawn", "unsure"], 0, 2),
        (["not relevant", "also relevant", "unsure"], 1, 3),
        (["not relevant", "", "unsure"], 0, 3),
    ):
        later += 10
        fill(written.csv, verdicts)
        os.utime(written.csv, (later, later))
        found = taken(place, written.csv, replace=True)
        assert (found.new, found.judged) == (new, judged)


def test_an_old_copy_of_a_csv_brings_nothing_back_unless_it_is_meant(place: Path, written: _Drawn) -> None:
    old = written.csv.with_name("alt.csv")
    fill(written.csv, ["not relevant", "also relevant", "unsure"])
    old.write_bytes(written.csv.read_bytes())
    taken(place, written.csv)
    later = written.csv.stat().st_mtime - 60
    os.utime(written.csv, (later, later))
    item = written.sample.items[1]
    corrected = judgement(written.sample, item, Verdict.NOT_RELEVANT).model_copy(
        update={"at": datetime.now(UTC)}
    )
    taken(place, verdict_file(place / "a.jsonl", [corrected]))
    path = history.verdicts_path(place / "notes", written.sample)
    before = path.read_bytes()
    ahead = time.time() + 1
    os.utime(old, (ahead, ahead))
    with pytest.raises(
        Refused, match=rf"1 row .*:\n.*alt\.csv, line \d+: {item.item} not relevant → also rel"
    ):
        taken(place, old)
    assert path.read_bytes() == before
    assert taken(place, old, replace=True).new == 1


def test_two_rows_for_one_item_are_refused_by_both_lines(place: Path, written: _Drawn) -> None:
    fill(written.csv, ["not relevant"])
    first = rows(written.csv)[0]
    for verdict in ("also relevant", "not relevant"):
        save(written.csv, [first, first | {"verdict": ""}, first | {"verdict": verdict}])
        with pytest.raises(UsageError, match=rf"lines \d+ and \d+: both judge item {first['item']}"):
            taken(place, written.csv)


def test_one_csv_under_two_names_is_refused(place: Path, written: _Drawn) -> None:
    fill(written.csv, ["not relevant"])
    taken(place, written.csv)
    with pytest.raises(Refused, match="verdicts of Anna and Ben"):
        taken(place, written.csv, auditor="Ben")


def test_a_note_without_a_verdict_is_kept(place: Path, written: _Drawn) -> None:
    fill(written.csv, ["not relevant"])
    first, second = (item.item for item in written.sample.items[:2])
    noted = {first: "", second: "Was ist gemeint?"}
    save(written.csv, [row | {"note": noted.get(row["item"], "")} for row in rows(written.csv)])
    found = taken(place, written.csv)
    assert (found.read, found.judged) == (2, 1)
    ((_, judgements),) = history.audits_of(place / "notes", "jobs")
    assert {(one.item, one.verdict, one.note) for one in judgements} == {
        (first, "not_relevant", ""), (second, "noted", "Was ist gemeint?")
    }  # fmt: skip
    assert taken(place, written.csv).new == 0
