"""`mteb-de scrub` on the tables that people have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.kit import call

TEXT = "id,text,note\n1,Ruf an: 0221 4710815,x\n2,Alles gut,Mail: a.b@muster.example\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "tabelle.csv"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_a_copy_is_written_beside(capsys: pytest.CaptureFixture[str], table: Path) -> None:
    said = call(capsys, "scrub", str(table))
    assert said.code == 0, said.err
    copy = table.with_name("tabelle.scrubbed.csv").read_text(encoding="utf-8")
    assert "<PHONE>" in copy
    assert "<EMAIL>" in copy
    assert "2 replacements" in said.out
    assert table.read_text(encoding="utf-8") == TEXT


def test_one_column_only(capsys: pytest.CaptureFixture[str], table: Path, tmp_path: Path) -> None:
    out = tmp_path / "aus.csv"
    said = call(capsys, "scrub", str(table), "--column", "text", "--out", str(out), "--json")
    assert json.loads(said.out)["report"]["personal"]["kinds"] == {"phone": 1}
    assert "a.b@muster.example" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [("nirgends.csv",), ("{table}", "--column", "fehlt")])
def test_what_is_not_there_is_usage(
    capsys: pytest.CaptureFixture[str], table: Path, words: tuple[str, ...]
) -> None:
    said = call(capsys, "scrub", *(word.format(table=table) for word in words))
    assert said.code == 2
    assert "Traceback" not in said.err
    assert not table.with_name("tabelle.scrubbed.csv").exists()
