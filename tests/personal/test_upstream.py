"""What is planted in the stand-in upstreams is gone."""

from __future__ import annotations

import gzip
import html
import json
import os
import re
from pathlib import Path

import polars as pl
import pytest

from builders.personal import scrub

_UPSTREAM = Path(os.environ.get("MTEB_DE_UPSTREAM", Path(__file__).parents[2] / "../shared/upstream"))
_LEFT = re.compile(
    r"@(?:beispiel|example)|https?:|www\.|\+49|\bTel\. 0|\b0171 [0-9]|\bu/\w|(?:Frau|Herrn?) [A-ZÄÖÜÇŞ]\w+"
    r"|example\.(?:com|org|de)"
)

pytestmark = [
    pytest.mark.upstream,
    pytest.mark.skipif(not _UPSTREAM.is_dir(), reason="the stand-in upstreams are not there"),
]


def planted(name: str) -> int:
    return int(json.loads((_UPSTREAM / "planted.json").read_text("utf-8"))[name])


def test_titles_of_jobs() -> None:
    [path] = (_UPSTREAM / "hub/datasets/mischeiwiller/german-job-postings/data").glob("*.parquet")
    titles = pl.read_parquet(path)["title"].map_elements(html.unescape, return_dtype=pl.String)
    found = scrub(titles, titles=True)
    assert found.spans.height == found.spans["row"].n_unique() == planted("jobs.pii_titles")
    assert not [text for text in found.texts.drop_nulls() if _LEFT.search(text)]
    names = found.spans.filter(pl.col("kind").is_in(["person", "full_name"]))
    assert set(names["rule"]) == {"person.mister"}, "every planted name stands behind Frau or Herrn"


def test_posts_of_reddit() -> None:
    with gzip.open(_UPSTREAM / "reddit/submissions.jsonl.gz", "rt", encoding="utf-8") as file:
        posts = [json.loads(line) for line in file]
    bodies = pl.Series([html.unescape(post["selftext"]) for post in posts])
    found = scrub(bodies)
    assert found.spans["kind"].to_list().count("phone") >= planted("reddit.pii")
    assert found.spans["kind"].to_list().count("email") >= planted("reddit.pii")
    left = [match.group() for text in found.texts for match in [_LEFT.search(text)] if match]
    assert not left
