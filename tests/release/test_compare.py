"""What was built against what is published, over the wire."""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from builders import files
from builders.errors import Refused, RemoteError, StorageError, UsageError
from builders.lock.lock import Lock
from builders.rehearsal.store import Operation
from builders.release.diff import _FileChange, diff
from tests.cli.kit import call
from tests.rehearsal.kit import STRANGER_TOKEN, FaultyHub
from tests.release.kit import (
    CONFIGS,
    RELEASE,
    REPO,
    api_of,
    publish,
    relock,
    repo_of,
    rewrite,
    without,
    writes,
)

# the Hub's client sends files in a way that its HTTP library has deprecated
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

DIFF = ("release", "diff", RELEASE, "--repo", REPO)


def fetched(hub: FaultyHub, since: int) -> set[str]:
    """The files whose bytes were sent since a request."""
    sent = [request for request in hub.log[since:] if request.method == "GET" and request.status == 200]
    return {"/".join(r.path.split("/")[5:]) for r in sent if "/resolve/" in r.path or "/storage/" in r.path}


def test_rows_are_compared_where_contents_differ_and_nothing_else_is_fetched(
    out: Path, hub: FaultyHub, capsys: pytest.CaptureFixture[str]
) -> None:
    commit = publish(hub, out).commit
    written = writes(hub)
    assert diff(out, RELEASE, REPO, api=api_of(hub)).difference.bump == "none"
    assert call(capsys, *DIFF, "--out", str(out), "--exit-code").code == 0

    def change(rows: pl.DataFrame) -> pl.DataFrame:
        first = pl.col("_id") == "p0"
        text = pl.when(first).then(pl.lit("Absatz neu")).otherwise("text").alias("text")
        more = pl.DataFrame({"_id": ["p98", "p99"], "title": ["", ""], "text": ["Ein Weg.", "Zwei Wege."]})
        return pl.concat([rows.with_columns(text).filter(pl.col("_id") != "p3"), more])

    rewrite(out, "germandpr/corpus/corpus.parquet", change)
    since = len(hub.log)
    found = diff(out, RELEASE, REPO, api=api_of(hub))
    assert fetched(hub, since) == {
        f"{commit}/{path}"
        for path in ("manifest.json", "croissant.jsonld", "germandpr/corpus/corpus.parquet")
    }
    (table,) = found.difference.tables
    assert (table.config, table.split, table.change) == ("germandpr-corpus", "corpus", "changed")
    assert table.rows is not None
    assert (table.rows.added, table.rows.removed, table.rows.changed) == (2, 1, 1)
    assert table.rows.examples_added == ("p98", "p99") and table.rows.examples_removed == ("p3",)
    assert table.rows.examples_changed == ("p0",)
    changed = ["README.md", "croissant.jsonld", "manifest.json"]
    assert [file.path for file in found.difference.files] == changed, "they tell counts and hashes"
    assert (found.latest, found.least, found.difference.bump) == ("1.0.0", "2.0.0", "major")
    assert (found.revision, found.commit, found.by) == ("v1.0.0", commit, "manifest")

    said = call(capsys, *DIFF, "--out", str(out))
    assert said.code == 0
    assert "germandpr-corpus/corpus: +2 −1 ~1 rows (12 → 13)\n  added    p98\n" in said.out
    assert said.out.endswith("least bump: major, 1.0.0 → 2.0.0\n")
    said = call(capsys, *DIFF, "--out", str(out), "--exit-code", "--json")
    document = json.loads(said.out)
    assert (said.code, document["schema_version"], document["least"]) == (1, 1, "2.0.0")
    assert document["difference"]["tables"][0]["rows"]["added"] == 2
    assert "p98" not in said.err
    assert writes(hub) == written, "a comparison writes nothing"


def test_another_writer_is_metadata_and_a_new_config_is_minor(
    out: Path, hub: FaultyHub, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(out, whole)
    without(out, "jobs")
    publish(hub, out)
    found = diff(whole, RELEASE, REPO, api=api_of(hub))
    assert (found.difference.bump, found.least) == ("minor", "1.1.0")
    assert found.difference.configs_added == tuple(sorted(c for c in CONFIGS if c.startswith("jobs")))

    path = "germandpr/qrels/dev.parquet"
    sink = io.BytesIO()
    pq.write_table(pq.read_table(out / RELEASE / path), sink, compression="none")
    files.write_bytes(out / RELEASE / path, sink.getvalue())
    digest = files.sha256(out / RELEASE / path)

    def relocked(lock: Lock) -> Lock:
        changed = [
            file.model_copy(
                update={"sha256": digest, "size": len(sink.getvalue())} if file.path == path else {}
            )
            for file in lock.files
        ]
        return lock.model_copy(update={"files": tuple(changed)})

    relock(out, "germandpr", relocked)
    found = diff(out, RELEASE, REPO, api=api_of(hub))
    assert (found.difference.bump, found.difference.tables) == ("patch", ())
    assert _FileChange(path=path, change="rewritten") in found.difference.files


OLD_CARD = """---
license: cc-by-4.0
configs:
- config_name: germandpr-corpus
  data_files:
  - {split: corpus, path: data/corpus-*.parquet}
- config_name: germandpr-queries
  data_files:
  - {split: train, path: data/train.parquet}
- config_name: "germandpr-\\e[31malt"
  data_files:
  - {split: test, path: data/train.parquet}
---
"""


def test_a_repository_without_a_manifest_is_compared_by_its_parquet(
    out: Path, hub: FaultyHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = pl.read_parquet(out / RELEASE / "germandpr/corpus/corpus.parquet")
    queries = pl.read_parquet(out / RELEASE / "germandpr/queries/train.parquet")
    data = tmp_path / "alt" / "data"
    data.mkdir(parents=True)
    corpus[:7].reverse().write_parquet(data / "corpus-0.parquet")
    corpus[7:].write_parquet(data / "corpus-1.parquet")
    queries[1:].with_columns(lang=pl.lit("de")).write_parquet(data / "train.parquet")
    (data.parent / "README.md").write_text(OLD_CARD, encoding="utf-8")
    (data.parent / "manifest.json").write_text('{"files": []}', encoding="utf-8")
    hub.store.add_folder("dataset", REPO, data.parent)
    found = diff(out, RELEASE, REPO, api=api_of(hub))
    assert (found.by, found.revision, found.latest, found.least) == ("parquet", "main", "", "1.0.0")
    tables = {f"{table.config}/{table.split}": table for table in found.difference.tables}
    rows = tables["germandpr-corpus/corpus"].rows
    assert rows is not None and not rows.summary(), "equal rows in another order and in two files"
    assert tables["germandpr-corpus/corpus"].moved.startswith(
        "data/corpus-0.parquet, data/corpus-1.parquet →"
    )
    rows = tables["germandpr-queries/train"].rows
    assert rows is not None
    assert (rows.added, rows.removed, rows.columns) == (1, 0, ("column lang: removed",))
    assert tables["germandpr-queries/dev"].change == "added"
    assert found.difference.configs_removed == ("germandpr-\x1b[31malt",)

    said = call(capsys, *DIFF, "--out", str(out))
    assert "\x1b" not in said.out and r"germandpr-\x1b[31malt/test: removed" in said.out
    assert "first release: 1.0.0" in said.out


def test_a_manifest_counts_only_where_the_repository_holds_what_it_names(out: Path, hub: FaultyHub) -> None:
    publish(hub, out)
    manifest = json.loads((out / RELEASE / "manifest.json").read_bytes())
    for file in manifest["files"]:
        if file["path"] == "jobs/qrels/dev.parquet":
            file["sha256"] = "0" * 64
        if file["path"] == "jobs/qrels/test.parquet":
            file["path"] = "jobs/qrels/fehlt.parquet"
    repo = repo_of(hub)
    lying = Operation("manifest.json", json.dumps(manifest).encode())
    repo.tags["v1.0.1"] = hub.store.commit(repo, "main", [lying], title="Eingriff").oid
    since = len(hub.log)
    found = diff(out, RELEASE, REPO, api=api_of(hub))
    assert any(path.endswith("jobs/qrels/dev.parquet") for path in fetched(hub, since))
    assert [(table.split, table.change) for table in found.difference.tables] == [("test", "added")]
    assert _FileChange(path="manifest.json", change="changed") in found.difference.files


def test_other_revisions_and_what_is_not_there(
    out: Path, hub: FaultyHub, capsys: pytest.CaptureFixture[str]
) -> None:
    found = diff(out, RELEASE, REPO, api=api_of(hub))
    assert (found.by, found.commit, found.least) == ("nothing", "", "1.0.0")
    said = call(capsys, *DIFF, "--out", str(out))
    assert said.code == 0 and "the token may not see it" in said.out
    with pytest.raises(UsageError, match=r"no tag 'v1\.0\.0'"):
        diff(out, RELEASE, REPO, revision="v1.0.0", api=api_of(hub))
    publish(hub, out)
    rewrite(out, "jobs/qrels/dev.parquet", lambda rows: rows[1:])
    publish(hub, out, "2.0.0")
    now = diff(out, RELEASE, REPO, api=api_of(hub))
    assert (now.revision, now.difference.bump) == ("v2.0.0", "none")
    old = diff(out, RELEASE, REPO, revision="v1.0.0", api=api_of(hub))
    assert (old.revision, old.difference.bump, old.least) == ("v1.0.0", "major", "")
    assert diff(out, RELEASE, REPO, revision="main", api=api_of(hub)).difference.bump == "none"
    with pytest.raises(UsageError, match="no tag") as caught:
        diff(out, RELEASE, REPO, revision="v3.0.0", api=api_of(hub))
    assert "v1.0.0, v2.0.0" in caught.value.hint


def test_nothing_built_something_tampered_and_names_that_are_none(
    out: Path, tmp_path: Path, hub: FaultyHub
) -> None:
    with pytest.raises(UsageError, match="not a Hub repository"):
        diff(out, RELEASE, "nur-name", api=api_of(hub))
    with pytest.raises(StorageError):
        diff(tmp_path / "leer", RELEASE, REPO, api=api_of(hub))
    with (out / RELEASE / "jobs/qrels/dev.parquet").open("ab") as file:
        file.write(b"x")
    with pytest.raises(Refused, match=r"jobs/qrels/dev\.parquet"):
        diff(out, RELEASE, REPO, api=api_of(hub))
    assert hub.log == []


def test_a_gated_repository_says_how_to_get_in(out: Path, hub: FaultyHub) -> None:
    publish(hub, out)
    repo_of(hub).gated = True
    assert diff(out, RELEASE, REPO, api=api_of(hub)).difference.bump == "none", "members may read"
    for token, status in ((STRANGER_TOKEN, "403"), (False, "401")):
        with pytest.raises(RemoteError, match=f"{status}.*restricted") as caught:
            diff(out, RELEASE, REPO, api=api_of(hub, token))
        assert "Ask for access" in caught.value.hint


def test_bytes_that_come_otherwise_than_listed_and_files_that_are_no_parquet(
    out: Path, hub: FaultyHub
) -> None:
    publish(hub, out)
    repo = repo_of(hub)
    tree = dict(repo.commits[repo.branches["main"]].tree)
    tree["manifest.json"] = dataclasses.replace(tree["manifest.json"], oid="0" * 40)
    head = dataclasses.replace(repo.commits[repo.branches["main"]], tree=tree)
    repo.commits[head.oid] = head
    with pytest.raises(RemoteError, match=r"manifest\.json .* came otherwise than the Hub lists it"):
        diff(out, RELEASE, REPO, api=api_of(hub))
    broken = {"README.md": OLD_CARD.encode(), "data/train.parquet": b"PAR1 kaputt PAR1"}
    hub.store.add_files("dataset", "verein/kaputt", broken)
    with pytest.raises(RemoteError, match=r"germandpr-queries/train .* cannot be read as parquet"):
        diff(out, RELEASE, "verein/kaputt", api=api_of(hub))


def test_a_hub_that_fails_while_files_are_read(
    out: Path, hub: FaultyHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(hub, out)
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    for method, status, drop, named in (
        ("HEAD", 503, False, "503"),
        ("HEAD", 0, True, "does not answer as a Hub does"),
        ("GET", 0, True, "cannot be reached"),
    ):
        hub.fault(method, "manifest.json$", status, times=9, drop=drop)
        said = call(capsys, *DIFF, "--out", str(out))
        assert (said.code, said.out) == (2, "")
        assert "reading manifest.json" in said.err and named in said.err
        hub.faults.clear()
