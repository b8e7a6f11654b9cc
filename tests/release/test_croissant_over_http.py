"""The published Croissant document, loaded by its address, with everything it points to."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.hub import HUB
from builders.rehearsal import Hub
from builders.rehearsal.store import Operation
from tests.release.kit import RELEASE, REPO, publish, repo_of

# the Hub's client sends files in a way that its HTTP library has deprecated
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

LOAD = """
import json, sys
import mlcroissant

def plain(value):
    return value.decode() if isinstance(value, bytes) else value.item() if hasattr(value, "item") else value

url, *names = sys.argv[1:]
dataset = mlcroissant.Dataset(url)
records = {name: [{key.removeprefix(name + "/"): plain(value) for key, value in record.items()}
                  for record in dataset.records(name)] for name in names}
json.dump({"version": dataset.metadata.version, "records": records}, sys.stdout)
"""
SETS = (
    "germandpr-qrels_with_queries/test",
    "jobs-qrels_with_passages/dev",
    "jobs-hard_negatives_with_queries/test",
)


def load(hub: Hub, home: Path, revision: str, *names: str) -> subprocess.CompletedProcess[str]:
    url = f"{hub.endpoint}/datasets/{REPO}/resolve/{revision}/croissant.jsonld"
    command = [sys.executable, "-c", LOAD, url, *names]
    environment = hub.environment(home, token=None)
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def rewritten(hub: Hub, folder: Path, **changes: Any) -> None:
    """Publish the document on `main` with addresses of this Hub in place of the real one's."""
    document = json.loads((folder / "croissant.jsonld").read_bytes())
    for file in document["distribution"]:
        assert file["contentUrl"].startswith(f"{HUB}/datasets/{REPO}/resolve/v1.0.0/")
        file["contentUrl"] = file["contentUrl"].replace(HUB, hub.endpoint)
        file.update(changes)
    data = json.dumps(document).encode()
    hub.store.commit(repo_of(hub), "main", [Operation("croissant.jsonld", data)], title="Adressen")


def joined(folder: Path, name: str) -> list[dict[str, Any]]:
    """What a joined record set must hold, from the built tables alone."""
    config, split = name.split("/")
    dataset, kind = config.rsplit("_with_", 1)[0].split("-")
    rows = pl.read_parquet(folder / dataset / kind / f"{split}.parquet")
    if name.partition("_with_")[2].startswith("queries"):
        texts = pl.read_parquet(folder / dataset / "queries" / f"{split}.parquet")
        return rows.join(
            texts.rename({"text": "queries/text"}), left_on="query-id", right_on="_id", maintain_order="left"
        ).to_dicts()
    texts = pl.read_parquet(folder / dataset / "corpus" / "corpus.parquet")
    texts = texts.rename({"title": "passages/title", "text": "passages/text"})
    return rows.join(texts, left_on="corpus-id", right_on="_id", maintain_order="left").to_dicts()


def test_joined_values_come_over_the_wire_as_they_were_built(out: Path, hub: Hub, tmp_path: Path) -> None:
    publish(hub, out)
    rewritten(hub, out / RELEASE)
    before = len(hub.log)
    done = load(hub, tmp_path / "home", "main", *SETS)
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    assert loaded["version"] == "1.0.0"
    for name in SETS:
        expected = joined(out / RELEASE, name)
        assert len(expected) > 2 and all(None not in row.values() for row in expected)
        assert loaded["records"][name] == expected, name
    sent = {
        request.path for request in hub.log[before:] if request.status == 200 and "/storage/" in request.path
    }
    commit = repo_of(hub).tags["v1.0.0"]
    assert {path.removeprefix(f"/storage/datasets/{REPO}/{commit}/") for path in sent} == {
        "germandpr/qrels/test.parquet",
        "germandpr/queries/test.parquet",
        "jobs/qrels/dev.parquet",
        "jobs/corpus/corpus.parquet",
        "jobs/hard_negatives/test.parquet",
        "jobs/queries/test.parquet",
    }


def test_a_wrong_hash_would_be_seen(out: Path, hub: Hub, tmp_path: Path) -> None:
    publish(hub, out)
    rewritten(hub, out / RELEASE, sha256="0" * 64)
    done = load(hub, tmp_path / "home", "main", SETS[0])
    assert done.returncode != 0 and "is not identical with" in done.stderr
