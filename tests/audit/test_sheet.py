from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.audit import store
from builders.audit.draw import Wanted, Written, draw
from builders.audit.sheet import COLUMNS, neutral
from builders.audit.take import take
from builders.errors import UsageError
from tests.audit.kit import build, jobs


@pytest.fixture
def place(tmp_path: Path) -> Path:
    build(tmp_path / "dist", hostile=True)
    return tmp_path


@pytest.fixture
def written(place: Path) -> Written:
    return draw(jobs(), Wanted(300, 60), dist=place / "dist", notes=place / "notes")


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def fill(path: Path, verdicts: list[str], delimiter: str = ",") -> None:
    filled = rows(path)
    for row, verdict in zip(filled, verdicts, strict=False):
        row["verdict"] = verdict
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, delimiter=delimiter)
    writer.writeheader()
    writer.writerows(filled)
    path.write_text(out.getvalue(), encoding="utf-8", newline="")


def test_the_csv_holds_the_items_of_the_page_in_order_and_tells_no_score(written: Written) -> None:
    assert [row["item"] for row in rows(written.csv)] == [item.item for item in written.sample.items]
    assert not {"kind", "score", "rank", "gap", "expected"} & rows(written.csv)[0].keys()


@pytest.mark.parametrize(
    "text", ["=1+1", "+49 30", "-5", "@x", "\t=1", " =1", "\u00a0=1", "＝1", "\r=1", "\n=1"]
)
def test_formulas_are_neutralised(text: str) -> None:
    assert neutral(text) == f"'{text}"


@given(st.text())
def test_no_cell_is_a_formula(text: str) -> None:
    cell = neutral(text)
    assert cell.removeprefix("'") == text.removeprefix("'") or cell == text
    assert not cell.strip().startswith(("=", "+", "-", "@"))


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_typed_verdicts_are_imported_and_empty_rows_passed_over(
    place: Path, written: Written, delimiter: str
) -> None:
    fill(written.csv, ["not relevant", "", "Also Relevant", "unsure", "broken_text"], delimiter)
    for _ in range(2):
        (taken,) = take(
            [written.csv], dist=place / "dist", notes=place / "notes", locks=place / "locks", auditor="Anna"
        )
    assert (taken.imported.read, taken.imported.new, taken.imported.judged) == (4, 0, 4)
    ((sample, judgements),) = store.read_history(store.history_folder(place / "notes", "jobs"))
    by_item = {one.item: one.verdict for one in judgements}
    expected = ["not_relevant", None, "also_relevant", "unsure", "broken_text"]
    assert [by_item.get(item.item) for item in sample.items[:5]] == expected


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda text: text.replace("verdict", "urteil", 1), "column 'verdict' is missing"),
        (lambda text: text.replace("not relevant", "nein", 1), r"line \d+: verdict"),
        (lambda text: "", "column 'sample' is missing"),
        (lambda text: text.splitlines()[0] + "\r\n", "no row"),
    ],
)
def test_a_spoilt_csv_is_named(place: Path, written: Written, spoil: object, message: str) -> None:
    assert callable(spoil)
    fill(written.csv, ["not relevant"])
    written.csv.write_text(spoil(written.csv.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        take([written.csv], dist=place / "dist", notes=place / "notes", locks=place / "locks", auditor="Anna")
    assert not (place / "notes").exists()


def test_a_csv_needs_an_auditor(place: Path, written: Written) -> None:
    with pytest.raises(UsageError, match="does not say who judged"):
        take([written.csv], dist=place / "dist", notes=place / "notes")
