"""The bundled sample, laid out as the upstreams are."""

from __future__ import annotations

import json
import random
from importlib import resources
from pathlib import Path

import pyarrow as pa

from builders import files
from builders.demo import sample_clustering, sample_reddit
from builders.demo.postings import postings
from builders.sources.folder import dataset_folder
from builders.spec import ConfigSpec, HubSource, LocalFile
from builders.tables import to_bytes

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


def lay_out(folder: Path) -> None:
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
    sample_clustering.lay_out(folder)
    sample_reddit.lay_out(folder)


def lacking(spec: ConfigSpec, folder: Path) -> tuple[str, ...]:
    """Return the sources of a config that the sample under `folder` does not hold.

    Files that a verb makes on this machine are none of an upstream's.
    """
    names = []
    for source in spec.sources:
        if isinstance(source, HubSource):
            found, name = dataset_folder(folder, source.repo).is_dir(), source.repo
        else:
            found, name = isinstance(source, LocalFile) or (folder / source.name).is_file(), source.name
        names += [] if found else [name]
    return tuple(names)


def _germandpr() -> dict[str, pa.Table]:
    text = resources.files("builders.demo").joinpath("sample/questions.jsonl").read_text(encoding="utf-8")
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
