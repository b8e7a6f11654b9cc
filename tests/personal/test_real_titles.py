"""Titles of jobs as they are: no name is found in lists of occupations, which hold none."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import polars as pl
import pytest

from builders.personal import scrub

_DATA = Path(os.environ.get("MTEB_DE_DATA", Path(__file__).parents[2] / "../shared/data")) / "jobs"

pytestmark = [pytest.mark.data, pytest.mark.skipif(not _DATA.is_dir(), reason="the real data is not there")]


def rows(name: str) -> list[dict[str, object]]:
    with gzip.open(_DATA / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def names_in(titles: list[str]) -> list[str]:
    """Return what is taken for a name, with its title."""
    spans = scrub(pl.Series(titles), titles=True).spans.filter(pl.col("kind").is_in(["person", "full_name"]))
    return [f"{rule}: {titles[row]}" for row, rule in spans.select("row", "rule").iter_rows()]


def test_no_name_in_titles_of_the_employment_agency() -> None:
    titles = [str(row[key]) for row in rows("ba_title_to_kldb.jsonl.gz") for key in ("title", "title_short")]
    assert len(titles) > 30_000
    assert names_in(titles) == []


def test_no_name_in_labels_of_occupations() -> None:
    labels: list[str] = []
    for row in rows("esco_occupations_de.jsonl.gz"):
        other = row["alt_de"]
        labels += [str(row["label_de"]), *(other if isinstance(other, list) else [])]
    assert len(labels) > 15_000
    assert names_in(labels) == []
