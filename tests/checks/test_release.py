from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from builders import files
from builders.checks import check_release
from builders.checks.finding import Finding, Severity
from builders.errors import StorageError, UsageError
from builders.lock.lock import Lock, read_lock, work_folder, write_manifest
from tests.checks.kit import healthy, respec, write_lock, write_tree

RELEASE = "mteb-de"
TEST = "garten/qrels/test.parquet"


def lock_path(out: Path) -> Path:
    return work_folder(out, "garten") / "lock.json"


def relock(**changes: object) -> Callable[[Path], None]:
    """Change the lock, and the manifest with it."""

    def change(out: Path) -> None:
        lock = read_lock(lock_path(out))
        write_lock(out, Lock.model_validate({**lock.model_dump(), **changes}))

    return change


def rewrite(path: str, change: Callable[[Path], None]) -> Callable[[Path], None]:
    """Change a published file, and lock what it became."""

    def apply(out: Path) -> None:
        published = out / RELEASE / path
        change(published)
        lock = read_lock(lock_path(out))
        digest, size = files.sha256(published), published.stat().st_size
        changed = [
            file.model_copy(update={"sha256": digest, "size": size}) if file.path == path else file
            for file in lock.files
        ]
        write_lock(out, lock.model_copy(update={"files": tuple(changed)}))

    return apply


def add(path: str) -> Callable[[Path], None]:
    return lambda out: files.write_bytes(out / RELEASE / path, b"x")


def by_polars(path: Path) -> None:
    frame = pl.read_parquet(path)
    frame.write_parquet(path)


def as_large_strings(path: Path) -> None:
    pq.write_table(pl.read_parquet(path).to_arrow(), path)


def backwards(path: Path) -> None:
    rows = pq.read_table(path)
    pq.write_table(rows.take(list(range(rows.num_rows))[::-1]), path)


def manifest_of_before(out: Path) -> None:
    lock = read_lock(lock_path(out))
    files.write_json(
        lock_path(out), lock.model_copy(update={"parameters": {"seed": 7}}).model_dump(mode="json")
    )


def manifest_without_a_file(out: Path) -> None:
    path = out / RELEASE / "manifest.json"
    lock = read_lock(lock_path(out))
    write_lock(out, lock.model_copy(update={"files": lock.files[1:]}))
    manifest = path.read_bytes()
    write_lock(out, lock)
    hashes = {files.sha256(lock_path(out)), *_hashes(manifest)}
    assert len(hashes) > 1
    files.write_bytes(path, manifest)


def _hashes(manifest: bytes) -> list[str]:
    return [word for word in manifest.decode().split('"') if len(word) == 64]


PLANTS: list[tuple[str, int, str, Callable[[Path], None], set[str]]] = [
    ("licence-refused", 1, "garten: 'cc-by-nc-4.0'", relock(licence="cc-by-nc-4.0"), set()),
    ("licence-refused", 1, "garten: ''", relock(licence=""), set()),
    (
        "config-top-ranked",
        1,
        "garten/top_ranked/test.parquet",
        add("garten/top_ranked/test.parquet"),
        {"file-extra"},
    ),
    ("file-missing", 1, TEST, lambda out: (out / RELEASE / TEST).unlink(), set()),
    ("file-changed", 1, f"{TEST}: sha256 ", lambda out: by_polars(out / RELEASE / TEST), set()),
    ("file-extra", 1, "rosen/corpus/corpus.parquet", add("rosen/corpus/corpus.parquet"), set()),
    ("file-extra", 1, ".corpus.parquet.x.tmp", add("garten/corpus/.corpus.parquet.x.tmp"), set()),
    ("file-extra", 1, "garten/README.md", add("garten/README.md"), set()),
    ("file-extra", 1, "LICENSES/mit.txt", add("LICENSES/mit.txt"), set()),
    ("file-schema", 1, TEST, rewrite(TEST, as_large_strings), set()),
    ("file-schema", 1, TEST, rewrite(TEST, lambda path: files.write_bytes(path, b"PAR1")), set()),
    (
        "file-order",
        1,
        "train.parquet: not by query-id",
        rewrite("garten/qrels/train.parquet", backwards),
        set(),
    ),
    ("manifest-missing", 1, "manifest", lambda out: (out / RELEASE / "manifest.json").unlink(), set()),
    (
        "manifest-missing",
        1,
        "manifest",
        lambda out: files.write_bytes(out / RELEASE / "manifest.json", b"{}"),
        set(),
    ),
    ("manifest-stale", 1, "lock of garten: says", manifest_of_before, set()),
    ("manifest-stale", 2, "file garten/corpus/corpus.parquet", manifest_without_a_file, set()),
]


def found(out: Path) -> dict[str, Finding]:
    findings = check_release(out, RELEASE)
    by_code = {finding.code: finding for finding in findings}
    assert len(by_code) == len(findings)
    return by_code


@pytest.fixture
def out(tmp_path: Path) -> Path:
    write_tree(tmp_path, healthy())
    return tmp_path


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant[0]}-{plant[2]}")
def test_a_planted_fault_is_found(
    out: Path, plant: tuple[str, int, str, Callable[[Path], None], set[str]]
) -> None:
    code, count, example, change, also = plant
    change(out)
    findings = found(out)
    assert set(findings) == {code, *also}
    assert (findings[code].severity, findings[code].count) == (Severity.ERROR, count)
    assert any(example in shown for shown in findings[code].examples)
    assert findings[code].hint


def test_a_whole_release_has_no_finding(out: Path) -> None:
    files.write_bytes(out / RELEASE / "LICENSE-cc-by-4.0.txt", b"x")
    assert found(out) == {}


def test_what_a_plan_renders_anew_is_not_looked_at(out: Path) -> None:
    for name in ("README.md", "croissant.jsonld"):
        files.write_bytes(out / RELEASE / name, b"x")
    assert check_release(out, RELEASE, rendered=False) == []
    assert set(found(out)) == {"card-differs", "croissant-differs"}


def test_configs_of_another_release_are_not_looked_at(out: Path) -> None:
    write_tree(out, respec(name="rosen", release="tecb-de", licence="cc-by-nc-4.0")(healthy()))
    assert found(out) == {}


def test_two_configs_share_a_release(out: Path) -> None:
    write_tree(out, respec(name="rosen")(healthy()))
    assert found(out) == {}
    (out / RELEASE / "rosen/corpus/corpus.parquet").unlink()
    assert found(out)["file-missing"].examples == ("mteb-de/rosen/corpus/corpus.parquet",)


@pytest.mark.parametrize(("old", "new", "fault"), [
    ('"release": "mteb-de"', '"release": "tecb-de"', "release: says 'tecb-de', and the lock 'mteb-de'"),
    ('"suspicious_below": 2.0', '"suspicious_below": 0.5', "recipe of garten-hard_negatives"),
    ('"split": "corpus"', '"split": "test"', "file garten/corpus/corpus.parquet split: says 'test', and"),
    ("\n", "\n\n", "other bytes than the locks give"),
])  # fmt: skip
def test_an_edited_manifest_is_stale_whatever_the_field(out: Path, old: str, new: str, fault: str) -> None:
    manifest = out / RELEASE / "manifest.json"
    text = manifest.read_text(encoding="utf-8")
    assert old in text
    files.write_bytes(manifest, text.replace(old, new, 1).encode())
    (found_fault,) = found(out)["manifest-stale"].examples
    assert fault in found_fault


def test_a_manifest_of_another_version_is_not_read(out: Path) -> None:
    manifest = out / RELEASE / "manifest.json"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace('"schema_version": 1', '"schema_version": 2', 1), encoding="utf-8")
    (fault,) = found(out)["manifest-missing"].examples
    assert "schema_version: Input should be 1" in fault


def test_a_config_without_a_lock_is_extra(out: Path) -> None:
    write_tree(out, respec(name="rosen")(healthy()))
    (work_folder(out, "rosen") / "lock.json").unlink()
    write_manifest(out, RELEASE)
    assert found(out)["file-extra"].count == 13


def test_a_link_is_a_file_that_no_lock_knows(out: Path, tmp_path: Path) -> None:
    (out / RELEASE / "verweis").symlink_to(tmp_path / "nirgends")
    assert found(out)["file-extra"].examples == ("'mteb-de/verweis'",)


def test_an_unknown_release_is_usage(out: Path) -> None:
    with pytest.raises(UsageError, match="unknown release 'mteb-fr'"):
        check_release(out, "mteb-fr")


def test_nothing_built_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nothing of mteb-de was built"):
        check_release(tmp_path, RELEASE)
