"""The command when its standard streams are bad: the work goes on, and the exit code is that of the work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.marks import long_after

COMMAND = (sys.executable, "-W", "error", "-m", "builders")


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built tree with a published file that is gone."""
    out = tmp_path_factory.mktemp("damaged") / "dist"
    build = (*COMMAND, "build", "germandpr", "--sample", "--quiet", "--out", str(out))
    subprocess.run(build, cwd=out.parent, check=True, capture_output=True)
    (out / "mteb-de/germandpr/qrels/test.parquet").unlink()
    return out


def closed_pipe() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_findings_are_findings_though_nobody_reads_them(damaged: Path, more: tuple[str, ...]) -> None:
    pipe = closed_pipe()
    words = (*COMMAND, "check", "--dist", str(damaged), *more)
    ended = subprocess.run(words, stdout=pipe, stderr=subprocess.PIPE, check=False)
    os.close(pipe)
    assert ended.returncode == 1
    assert ended.stderr == b""


@pytest.mark.parametrize("words", [("--help",), ("list",), ("list", "--json"), ("build", "--help")])
def test_a_reader_that_has_gone_is_no_fault(words: tuple[str, ...]) -> None:
    pipe = closed_pipe()
    ended = subprocess.run((*COMMAND, *words), stdout=pipe, stderr=subprocess.PIPE, check=False)
    os.close(pipe)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_build_ends_well_though_nobody_reads_its_lines(tmp_path: Path) -> None:
    words = (*COMMAND, "build", "germandpr", "--sample", "--out", str(tmp_path / "dist"))
    pipe = closed_pipe()
    ended = subprocess.run(words, stdout=pipe, stderr=pipe, check=False)
    os.close(pipe)
    assert ended.returncode == 0
    assert (tmp_path / "dist/mteb-de/manifest.json").is_file()
    assert b"7 files" in (tmp_path / "dist/work/germandpr/build.log").read_bytes()


@pytest.mark.parametrize("words", [("list",), ("list", "--json"), ("--help",)])
def test_data_that_cannot_be_written_is_told(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run((*COMMAND, *words), stdout=full, stderr=subprocess.PIPE, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith(b"error: stdout: No space left on device\n       ")
    assert b"Traceback" not in ended.stderr


def test_lines_for_people_that_cannot_be_written_stop_nothing() -> None:
    with Path("/dev/full").open("wb") as full:
        words = (*COMMAND, "build", "nonsense")
        ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=full, check=False)
    assert (ended.returncode, ended.stdout) == (2, b"")


@pytest.mark.parametrize("closed", long_after(1, ["<&- >&- 2>&-", "<&-", ">&-", "2>&-"]))
def test_closed_streams(tmp_path: Path, closed: str) -> None:
    """They are opened on nothing; what belongs on one never lands on another."""
    shell = ("sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND)
    printed = subprocess.run((*shell, "list", "--json"), capture_output=True, check=False)
    assert printed.returncode == 0
    assert ">" in closed.partition("2>")[0] or json.loads(printed.stdout)["schema_version"] == 1
    refused = subprocess.run((*shell, "build", "nonsense"), capture_output=True, check=False)
    assert refused.returncode == 2
    assert refused.stdout == b""
    assert (b"unknown config" in refused.stderr) == ("2>" not in closed)


@pytest.mark.parametrize("encoding", long_after(1, ["ascii", "latin-1", "utf-8"]))
def test_a_narrow_encoding_loses_no_line(damaged: Path, encoding: str) -> None:
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    table = subprocess.run((*COMMAND, "list"), env=environment, capture_output=True, check=True)
    assert ("–" if encoding == "utf-8" else "\\u2013") in table.stdout.decode()
    queries = pl.read_parquet(damaged / "mteb-de/germandpr/queries/train.parquet")
    id_, text = queries.filter(pl.col("text").str.contains("[^\x00-\x7f]")).row(0)
    words = (*COMMAND, "explain", id_, "--json", "--out", str(damaged))
    document = subprocess.run(words, env=environment, capture_output=True, check=True)
    assert text in [row["text"] for row in json.loads(document.stdout.decode(encoding))["found"]]
