"""Runs the real clients in a child process against a Hub on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from builders.rehearsal import WRITE_TOKEN, Hub

REPO = "maintainer/buecher"
CARD = """---
license: cc-by-4.0
language:
- de
size_categories:
- n<1K
configs:
- config_name: orte-corpus
  data_files:
  - split: corpus
    path: orte/corpus/corpus.parquet
- config_name: orte-queries
  data_files:
  - split: train
    path: orte/queries/train.parquet
  - split: test
    path: orte/queries/test.parquet
---
# Orte
"""
CORPUS = {
    "_id": ["d1", "d2"],
    "title": ["Aachen", "Ulm"],
    "text": ["Der Dom steht hier.", "Das Münster auch."],
}
QUERIES = {"_id": ["q1"], "text": ["Wo steht der Dom?"]}

PRELUDE = """
import json, os, sys
from huggingface_hub import CommitOperationAdd as Add, CommitOperationCopy as Copy
from huggingface_hub import CommitOperationDelete as Remove, HfApi, hf_hub_download, snapshot_download
from huggingface_hub.errors import HfHubHTTPError
api, repo, kind = HfApi(), "maintainer/buecher", {"repo_type": "dataset"}
folder = os.environ["TEST_FOLDER"]
def status(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except HfHubHTTPError as error:
        return error.response.status_code
    return 200
def name_of_error(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except Exception as error:
        return type(error).__name__
    return ""
def commit(operations, parent=None, message="Commit"):
    return api.create_commit(repo, operations, commit_message=message, parent_commit=parent, **kind).oid
def files():
    names = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
    return [Add(os.path.relpath(name, folder), name) for name in sorted(names)]
def answer(value):
    sys.stdout.write(json.dumps(value))
"""


def client(hub: Hub, code: str, *, folder: Path | None = None, token: str | None = WRITE_TOKEN) -> Any:
    """Run `code` after `PRELUDE` with fresh caches; return what it passed to `answer`."""
    with tempfile.TemporaryDirectory() as home:
        environment = hub.environment(Path(home), token) | {"TEST_FOLDER": str(folder or "")}
        command = [sys.executable, "-c", PRELUDE + code]
        run = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=120
        )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def write_folder(folder: Path) -> Path:
    """Write a small dataset repo with a card, a corpus and queries; returns the folder."""
    for path, columns in (
        ("orte/corpus/corpus.parquet", CORPUS),
        ("orte/queries/train.parquet", QUERIES),
        ("orte/queries/test.parquet", {"_id": ["q2"], "text": ["Wo steht das Münster?"]}),
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), folder / path)
    (folder / "README.md").write_text(CARD, encoding="utf-8")
    return folder
