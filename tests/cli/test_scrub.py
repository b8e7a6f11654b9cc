"""`mteb-de scrub` on the tables that people have."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.spec import ALL_KINDS, CONTACT
from tests.cli.kit import call

TEXT = "id,text,note\n1,Ruf an: 0221 4710815,x\n2,Alles gut,Mail: a.b@muster.example\n"

_AGAIN = "error: interrupted; nothing is half-written: run the same command again"


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


def test_the_help_names_each_kind_that_contact_only_leaves(capsys: pytest.CaptureFixture[str]) -> None:
    words = {"ip_address": "IP addresses", "birth_date": "dates of birth", "address": "postal addresses"}
    words |= {"plate": "licence plates", "person": "names", "full_name": "names"}
    assert set(words) == set(ALL_KINDS) - set(CONTACT)
    said = " ".join(call(capsys, "scrub", "--help").out.split())
    assert all(word in said.rpartition("--contact-only")[2].partition("--")[0] for word in words.values())


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


def test_a_first_row_of_values_is_never_printed_and_there_is_a_way(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "artikel.csv"
    path.write_text("Sport;'Mail an max@beispiel.de'\nWeb;'x'\n", encoding="utf-8")
    words = ("scrub", str(path), "--separator", ";", "--quote", "'", "--overwrite")
    said = call(capsys, *words, "--column", "Sport")
    assert said.code == 0
    assert "--no-header" in said.err
    for one in (said, call(capsys, *words, "--json"), call(capsys, *words, "--column", "fehlt")):
        assert "beispiel" not in one.out + one.err
    said = call(capsys, *words, "--no-header", "--json")
    report = json.loads(said.out)["report"]
    assert (report["rows"], report["columns"], report["personal"]["kinds"]) == (2, ["1", "2"], {"email": 1})


def test_what_may_hold_text_and_was_not_looked_at_is_a_finding(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"b": [b"a@beispiel.de"], "n": [1], "t": ["u/abc"]}), path)
    said = call(capsys, "scrub", str(path))
    assert said.code == 1
    assert "may hold personal data: b" in said.err
    assert path.with_name("a.scrubbed.parquet").exists()
    said = call(capsys, "scrub", str(path), "--column", "t", "--overwrite")
    assert said.code == 0
    assert "not looked at: b, n" in said.err


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_scrub_that_is_ended_leaves_nothing(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    (tmp_path / "a.jsonl").write_text('{"t": "Frau Weber, Tel. 0221 4710815"}\n' * 150_000, "utf-8")
    words = ["-m", "builders", "scrub", str(tmp_path / "a.jsonl"), "--workers", "2"]
    with subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, encoding="utf-8") as process:
        while not list(tmp_path.glob(".*")):
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.3)
        process.send_signal(sent)
        _, said = process.communicate(timeout=60)
    assert process.returncode == code, said
    assert said.strip() == (
        ""
        if sent != signal.SIGINT
        else "error: interrupted; nothing is half-written: run the same command again"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_quotes_can_be_switched_off(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text('a\tb\n"offen\tu/abc\n', encoding="utf-8")
    said = call(capsys, "scrub", str(path))
    assert said.code == 2
    assert "row 2" in said.err and "--quote ''" in said.err
    assert call(capsys, "scrub", str(path), "--quote", "").code == 0
    assert path.with_name("a.scrubbed.tsv").read_text(encoding="utf-8") == 'a\tb\n"offen\t<HANDLE>\n'


@pytest.mark.parametrize("words", [("--quote", "ab"), ("--separator", ""), ("--separator", '"')])
def test_separator_and_quote_are_one_character_each(
    capsys: pytest.CaptureFixture[str], table: Path, words: tuple[str, str]
) -> None:
    said = call(capsys, "scrub", str(table), *words)
    assert said.code == 2
    assert words[0] in said.err
    assert "should not have happened" not in said.err
