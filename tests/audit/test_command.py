"""The verbs as people run them."""

from __future__ import annotations

import json
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


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
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
