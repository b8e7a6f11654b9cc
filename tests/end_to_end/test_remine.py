"""The second miner on a build: it finds every published row, and a row that was changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from scripts import remine
from tests.end_to_end.kit import Tree

pytestmark = pytest.mark.upstream


def test_it_finds_the_rows_of_a_build_and_a_changed_one(
    built: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MTEB_DE_HOME", str(built.home))
    assert remine.main(["--dist", str(built.out)]) == 0
    told = capsys.readouterr().out
    assert told.count("0 missing, 0 too many, 0 off") == 2
    dist = tmp_path / "dist"
    shutil.copytree(built.out, dist)
    path = dist / "mteb-de/jobs/hard_negatives/train.parquet"
    rows = pl.read_parquet(path)
    rows.with_columns(pl.col("rank") + (pl.int_range(pl.len()) == 3)).write_parquet(path)
    assert remine.main(["--dist", str(dist)]) == 1
    assert "1 missing, 1 too many, 0 off" in capsys.readouterr().out
