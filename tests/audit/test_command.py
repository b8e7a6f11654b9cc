"""The verbs as people run them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from builders.audit.history import NoVerdict, Verdict, _read_sample, sample_folder
from builders.audit.sheet import COLUMNS
from tests.audit.kit import build, judgement, verdict_file
from tests.cli.kit import call


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    build(tmp_path / "dist")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_sample_import_and_report(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "audit", "sample", "jobs", "--n", "40")
    assert said.code == 0
    assert "40 hard negatives, 10 labelled positives, 0 controls" in said.out
    assert "no more pairs are confirmed by hand" in said.err
    (record,) = sample_folder(place / "dist", "jobs").glob("*.sample.jsonl")
    assert {path.suffix for path in record.parent.iterdir()} == {".html", ".csv", ".jsonl"}
    sample = _read_sample(record)
    for auditor in ("Anna", "Ben"):
        lines = [judgement(sample, item, Verdict.ALSO_RELEVANT, auditor) for item in sample.items[:8]]
        path = verdict_file(place / f"{auditor}.jsonl", lines)
        said = call(capsys, "audit", "import", str(path), "--locks", "locks")
        assert said.code == 0
    assert "8 verdicts, 8 new; 8 of 50 items judged by Anna, Ben" in said.out
    assert "decisions:" in said.out
    back = verdict_file(
        place / "c.jsonl", [judgement(sample, sample.items[0], NoVerdict.WITHDRAWN, minute=1)]
    )
    said = call(capsys, "audit", "import", str(back), "--locks", "locks")
    assert "1 verdict, 1 new (1 withdrawn); 8 of 50 items judged by Anna, Ben" in said.out
    renamed = verdict_file(
        place / "d.jsonl",
        [judgement(sample, sample.items[1], Verdict.UNSURE).model_copy(update={"auditor": "Cem"})],
    )
    said = call(capsys, "audit", "import", str(renamed), "--locks", "locks")
    assert said.code == 1
    assert "one person's verdicts under two names" in said.err
    said = call(capsys, "audit", "report", "--locks", "locks", "--json")
    assert said.code == 0
    assert json.loads(said.out)["audits"]["jobs"]["auditors"] == 2
    assert (place / "notes" / "hard-negative-audit.md").exists()
    assert (place / "locks" / "jobs.citations.json").exists()


def test_a_report_of_suspects_alone_is_written_and_named(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call(capsys, "audit", "sample", "jobs", "--n", "20", "--suspects")
    (record,) = sample_folder(place / "dist", "jobs").glob("*.sample.jsonl")
    sample = _read_sample(record)
    path = verdict_file(place / "a.jsonl", [judgement(sample, sample.items[0], Verdict.UNSURE)])
    call(capsys, "audit", "import", str(path), "--locks", "locks")
    said = call(capsys, "audit", "report", "--locks", "locks")
    assert (said.code, said.out) == (0, "report: notes/hard-negative-audit.md\n")
    assert "only suspects were judged; they give no rate, and the card cites none" in said.err


def test_json_names_what_was_written(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "audit", "sample", "jobs", "--n", "20", "--out", "seite.html", "--json")
    document = json.loads(said.out)
    assert document["counts"] == {"negative": 20, "positive": 5, "control": 0}
    assert (place / document["page"]).exists()
    assert document["csv"] == "seite.csv"


def test_a_bound_says_how_many_pairs_it_takes_and_draws_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    build(tmp_path / "dist", queries=400)
    monkeypatch.chdir(tmp_path)
    said = call(capsys, "audit", "sample", "jobs", "--bound", "0.05")
    assert "interval that ends at 5.0 %: 110 at 1.0 %, 205 at 2.0 %, 415 at 3.0 %\n" in said.out
    ends = re.search(r"if 2\.0 % are relevant and all is judged, .* ends at (\S+) %", said.out)
    assert ends and float(ends[1]) <= 5.0
    drawn = re.search(r"(\d+) hard negatives, 51 labelled", said.out)
    assert drawn and 205 <= int(drawn[1]) < 250
    said = call(capsys, "audit", "sample", "jobs", "--bound", "0.1", "--expected", "0.05", "--json")
    document = json.loads(said.out)
    assert document["needed"] == {"0.01": 35, "0.02": 55, "0.03": 70, "0.05": 130}
    assert 0.05 < document["reach"] <= 0.1


def test_a_bound_that_a_build_cannot_reach_takes_all_there_is_and_says_where_it_ends(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(call(capsys, "audit", "sample", "jobs", "--bound", "0.05", "--json").out)
    assert document["counts"]["negative"] == 60
    assert document["reach"] > 0.05


def test_suspects_say_how_far_two_encoders_agree(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "audit", "sample", "jobs", "--n", "20", "--suspects")
    agreed = r"lexical: \d+ of their first 20 suspects are the same, rank correlation -?0\.\d\d\n"
    assert re.search(f"the encoder that mined and {agreed}", said.out)
    (record,) = sample_folder(place / "dist", "jobs").glob("*.sample.jsonl")
    sample = _read_sample(record)
    overlap = sample.head.overlap
    assert overlap is not None and overlap.first == 20
    path = verdict_file(place / "a.jsonl", [judgement(sample, sample.items[0], Verdict.UNSURE)])
    call(capsys, "audit", "import", str(path), "--locks", "locks")
    call(capsys, "audit", "report", "--locks", "locks")
    text = (place / "notes" / "hard-negative-audit.md").read_text(encoding="utf-8")
    assert f"| lexical | {overlap.correlation:.2f} | {overlap.both} of 20 |" in text


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("sample", "jobs", "--bound", "0.05", "--n", "100"), 2, "and so does --n"),
        (("sample", "jobs", "--bound", "0.05", "--suspects"), 2, "suspects give none"),
        (("sample", "jobs", "--bound", "0.05", "--expected", "0.05"), 2, "no audit shows"),
        (("sample", "jobs", "--bound", "1"), 2, "0<x<1"),
        (("sample", "jbos"), 2, "unknown config 'jbos'"),
        (("sample", "germandpr"), 2, "no lock there"),
        (("sample", "jobs", "--second", "lexical"), 2, "this is a random sample"),
        (("sample", "jobs", "--suspects", "--second", "offline"), 2, "the encoder that mined"),
        (("sample", "germandpr", "--suspects", "--second", "e5"), 2, "germandpr mines no hard negatives"),
        (
            ("import", "s.csv", "--auditor", "Ben", "--dist", "leer"),
            2,
            "leer: nothing was built there",
        ),
        (("import", "s.csv", "--auditor", "Ben"), 2, "'s-0f3a5b7c9d1e2f40' is neither in dist"),
        (("sample", "jobs", "--out", "seite.csv"), 2, "cannot be a .csv"),
        (("import", "fort.jsonl"), 2, "cannot be read"),
        (("report",), 2, "no verdict of"),
    ],
)
def test_faults_end_with_a_message(
    place: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, message: str
) -> None:
    row = "s-0f3a5b7c9d1e2f40,i-0,q,d,q,t,t,unsure,"
    Path("s.csv").write_text(f"{','.join(COLUMNS[1:])}\n{row}\n", encoding="utf-8")
    said = call(capsys, "audit", *words)
    assert said.code == code
    assert message in said.err
    assert "this should not have happened" not in said.err


def test_verdicts_of_another_build_are_a_shut_gate(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, "audit", "sample", "jobs", "--n", "20")
    (record,) = sample_folder(place / "dist", "jobs").glob("*.sample.jsonl")
    sample = _read_sample(record)
    path = verdict_file(place / "a.jsonl", [judgement(sample, sample.items[0], Verdict.UNSURE)])
    build(place / "dist", queries=50)
    said = call(capsys, "audit", "import", str(path))
    assert said.code == 1
    assert "the verdict is of build" in said.err


def test_a_damaged_controls_file_is_named_by_line(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = '{"query-id": "q", "corpus-id": "d", "verdict": "unsure"}\n'
    Path("controls.jsonl").write_text("\n" + line, encoding="utf-8")
    said = call(capsys, "audit", "sample", "jobs", "--controls", "controls.jsonl")
    assert said.code == 2
    assert "controls.jsonl, line 2: a control is either" in said.err
