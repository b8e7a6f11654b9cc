from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from builders.demo.bundled import lay_out

POSTINGS = "datasets/mischeiwiller/german-job-postings/data/train-00000-of-00001.parquet"


@pytest.fixture(scope="package")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the sample was laid out in."""
    folder = tmp_path_factory.mktemp("sample")
    lay_out(folder)
    return folder


@pytest.fixture(scope="package")
def rows(sample: Path) -> pl.DataFrame:
    """The postings of the sample, as they lie in its file."""
    return pl.read_parquet(sample / POSTINGS)
