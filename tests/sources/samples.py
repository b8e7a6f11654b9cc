"""A small dataset as a Hub repository holds it."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from builders.spec import HubSource, Part
from tests.sources.loopback import Repo

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "beispiel/fragen"
README = """---
license: cc-by-4.0
configs:
- config_name: corpus
  data_files:
  - split: corpus
    path: corpus/corpus-*
- config_name: qrels
  data_files:
  - split: test
    path: data/test-*
  - split: train
    path: [data/train-00.parquet]
---
# Fragen
"""
PARTS = (Part("corpus", ("corpus",)), Part("qrels", ("default", "qrels")))
SOURCE = HubSource(repo=NAME, revision=COMMIT[:10], licence="cc-by-4.0", parts=PARTS)


def parquet(*texts: str) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"text": list(texts)}), sink)
    return sink.getvalue()


FILES = {
    "README.md": README.encode(),
    "corpus/corpus-00001.parquet": parquet("Brot backen"),
    "corpus/corpus-00000.parquet": parquet("Größe messen"),
    "corpus/notes.txt": b"nicht gemeint",
    "data/test-00.parquet": parquet("a"),
    "data/train-00.parquet": parquet("b"),
    "data/train-01.parquet": parquet("nicht gemeint"),
    "media/video.bin": b"nicht gemeint",
}
WANTED = {
    "corpus": ["corpus/corpus-00000.parquet", "corpus/corpus-00001.parquet"],
    "qrels": ["data/test-00.parquet", "data/train-00.parquet"],
}


def repo() -> Repo:
    return Repo(COMMIT, dict(FILES), lfs=frozenset(path for path in FILES if path.endswith(".parquet")))


def lay_out(root: Path, files: dict[str, bytes] = FILES) -> Path:
    """Write the dataset under `root` as a folder source."""
    for path, data in files.items():
        target = root / "datasets" / NAME / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return root
