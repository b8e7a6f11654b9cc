from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import constants

from builders.errors import Drift, RemoteError, UsageError
from builders.rehearsal import WRITE_TOKEN, Hub
from builders.rehearsal.store import Operation
from builders.release.publish import apply
from builders.release.verify import read_back, verify
from tests.rehearsal.kit import FaultyHub
from tests.release.kit import CONFIGS, RELEASE, REPO, api_of

# the Hub's client sends files in a way that its HTTP library has deprecated
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

QUERIES = "germandpr/queries/test.parquet"


@pytest.fixture
def published(rehearsed: Path, hub: Hub) -> Path:
    apply(rehearsed, RELEASE, api=api_of(hub))
    return rehearsed / RELEASE


def retag(hub: Hub, tag: str, *operations: Operation) -> None:
    """Change the published files behind a tag of its own."""
    repo = hub.store.repo("dataset", REPO)
    repo.tags[tag] = hub.store.commit(repo, "main", operations, title="Eingriff").oid


def test_a_release_reads_back_with_this_process_settings_and_fresh_caches(
    published: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stale = tmp_path / "old caches"
    for name, value in hub.environment(stale, WRITE_TOKEN).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HF_HUB_CACHE", str(stale))
    verified = verify(REPO, "v1.0.0", dist=published)
    assert set(verified.rows) == CONFIGS
    assert verified.commit == hub.store.repo("dataset", REPO).tags["v1.0.0"]
    assert {"README.md", "plots/hard-negatives.svg", "plots/rows.svg"} <= verified.files.keys()
    assert not stale.exists(), "a cache from before would hide what the Hub sends now"


def test_a_folder_that_differs_is_no_fault_of_the_release(
    published: Path, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (published / "README.md").write_bytes(b"# Anders")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("builders.release.verify._tables", lambda *of: ())
    with pytest.raises(Drift, match=r"is whole, and differs from .*\nREADME\.md: other bytes") as caught:
        read_back(REPO, "v1.0.0", published)
    assert "Do not use" not in caught.value.hint


def test_a_folder_that_is_not_there_is_no_fault_of_the_release(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        verify(REPO, "v1.0.0", dist=tmp_path / "fehlt")
    with pytest.raises(UsageError, match="not a Hub repository"):
        verify("a/b/c", "v1.0.0")


def test_everything_that_differs_is_drift(published: Path, hub: Hub, tmp_path: Path) -> None:
    rows = pq.read_table(published / QUERIES)
    texts = pa.array([f"{text} Wirklich?" for text in rows["text"].to_pylist()], pa.string())
    sink = io.BytesIO()
    pq.write_table(rows.set_column(1, rows.schema.field(1), texts), sink)
    data = sink.getvalue()
    oid, repo = hashlib.sha256(data).hexdigest(), hub.store.repo("dataset", REPO)
    hub.store.put_object(repo, oid, len(data), data)
    card = (published / "README.md").read_bytes()
    card = card.replace(b"config_name: jobs-qrels", b"config_name: jobs-paare")
    retag(
        hub,
        "v1.0.1",
        Operation("README.md", card),
        Operation(QUERIES, lfs=oid, size=len(data)),
        Operation("jobs/neu.parquet", lfs=oid, size=len(data)),
        Operation("croissant.jsonld", b"{}"),
        Operation("jobs/hard_negatives/dev.parquet"),
    )
    with pytest.raises(Drift) as caught:
        verify(REPO, "v1.0.1", dist=published, environment=hub.environment(tmp_path / "home"))
    faults = caught.value.message
    assert f"{QUERIES}: sha256 {oid}" in faults
    assert "jobs/neu.parquet: in the repository, not in the manifest" in faults
    assert "jobs/hard_negatives/dev.parquet: in the manifest, not in the repository" in faults
    assert "germandpr-queries/test: other values" in faults
    assert "croissant.jsonld: other bytes than in" in faults
    assert "jobs-qrels: not offered by the card" in faults
    assert "jobs-paare: not in the manifest" in faults
    assert "jobs-qrels: does not load (ValueError" in faults
    assert "jobs-queries/" not in faults


def test_a_refusal_while_a_table_is_loaded_is_no_fault_of_the_release(
    published: Path, hub: FaultyHub, tmp_path: Path
) -> None:
    hub.fault("HEAD", "/resolve/.*parquet$", 403)
    with pytest.raises(RemoteError, match="loading germandpr-corpus: the Hub answered 403"):
        verify(REPO, "v1.0.0", environment=hub.environment(tmp_path / "home"))


def test_what_is_no_release_of_ours(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RemoteError, match="404"):
        verify("verein/fehlt", "v1.0.0", environment=hub.environment(tmp_path / "home"))
    head = hub.store.add_files("dataset", REPO, {"README.md": b"# Alt", "manifest.json": b"{}"})
    hub.store.repo("dataset", REPO).tags.update({"v1.0.0": head})
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(RemoteError, match="404"):
        read_back(REPO, "v9.0.0", None)
    with pytest.raises(RemoteError, match="not a manifest"):
        read_back(REPO, "v1.0.0", None)
    retag(hub, "v1.0.1", Operation("manifest.json"))
    with pytest.raises(RemoteError, match=r"no manifest\.json"):
        read_back(REPO, "v1.0.1", None)
