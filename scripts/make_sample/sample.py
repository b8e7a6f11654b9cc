"""Make the sample: questions, postings, books, articles and submissions, laid out as the upstreams are."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa

from builders import files
from builders.tables import to_bytes
from scripts.make_sample import books_and_news, submissions
from scripts.make_sample.postings import postings

POSTINGS = 600
_SEED = 1
_GERMANDPR_README = """---
configs:
- config_name: corpus
  data_files:
  - split: corpus
    path: corpus/corpus-*
- config_name: default
  data_files:
  - split: test
    path: data/test-*
- config_name: queries
  data_files:
  - split: queries
    path: queries/queries-*
---
"""
_JOBS_README = """---
configs:
- config_name: default
  data_files:
  - split: train
    path: data/train-*
---
"""


def make(folder: Path) -> None:
    """Write the sample under `folder`: datasets as `datasets/OWNER/NAME`, plain files by name.

    Raises:
        StorageError: The folder cannot be written.
    """
    germandpr = folder / "datasets" / "mteb" / "GermanDPR"
    for path, table in _germandpr().items():
        files.write_bytes(germandpr / path, to_bytes(table))
    files.write_bytes(germandpr / "README.md", _GERMANDPR_README.encode())
    jobs = folder / "datasets" / "mischeiwiller" / "german-job-postings"
    table = postings(POSTINGS, random.Random(_SEED))
    files.write_bytes(jobs / "data" / "train-00000-of-00001.parquet", to_bytes(table))
    files.write_bytes(jobs / "README.md", _JOBS_README.encode())
    books_and_news.make(folder)
    submissions.make(folder)


def _germandpr() -> dict[str, pa.Table]:
    text = (Path(__file__).parent / "questions.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    corpus = [{"_id": f"doc_{i}_p_0", "title": "", "text": row["text"]} for i, row in enumerate(rows)]
    asked = [(i, question) for i, row in enumerate(rows) for question in row["questions"]]
    queries = [{"_id": f"q_{n}", "text": question} for n, (_, question) in enumerate(asked)]
    qrels = [
        {"query-id": f"q_{n}", "corpus-id": f"doc_{i}_p_0", "score": 1} for n, (i, _) in enumerate(asked)
    ]
    return {
        "corpus/corpus-00000-of-00001.parquet": pa.Table.from_pylist(corpus),
        "queries/queries-00000-of-00001.parquet": pa.Table.from_pylist(queries),
        "data/test-00000-of-00001.parquet": pa.Table.from_pylist(qrels),
    }
