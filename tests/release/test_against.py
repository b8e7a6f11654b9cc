"""A build held against the tables of another machine: equal rows, and scores within a tolerance."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from builders.errors import Drift, MtebDeError, RemoteError, StorageError, UsageError
from builders.lock.lock import read_lock, work_folder
from builders.release.against import _TOLERANCE, hold_against, open_reference
from tests.marks import long_after
from tests.rehearsal.kit import FaultyHub
from tests.release.kit import RELEASE, REPO, api_of, publish, rewrite

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
NEGATIVES = "jobs/hard_negatives/train.parquet"
QUERIES = "germandpr/queries/train.parquet"
Compare = Callable[..., tuple[str, ...]]


def shifted(by: float, column: str = "score") -> pl.Expr:
    """Move one row's score, and no other."""
    first = pl.int_range(pl.len()) == 0
    return pl.when(first).then(pl.col(column) + by).otherwise(pl.col(column)).cast(pl.Float32).alias(column)


@pytest.fixture
def there(tmp_path: Path, out: Path) -> Path:
    """The same build on another machine."""
    shutil.copytree(out, tmp_path / "there")
    return tmp_path / "there"


REFERENCES = ("folder", "release folder", "tag")


@pytest.fixture(params=["folder", *(pytest.param(one, marks=pytest.mark.long) for one in REFERENCES[1:])])
def compare(
    request: pytest.FixtureRequest, hub: FaultyHub, there: Path, out: Path, tmp_path: Path
) -> Compare:
    """Compare a config of `out` with `there`, as a folder or as it was published."""

    def compared(config: str = "jobs") -> tuple[str, ...]:
        if request.param == "tag":
            publish(hub, there)
        name = {"folder": str(there), "release folder": str(there / RELEASE)}.get(
            request.param, f"{REPO}@v1.0.0"
        )
        reference = open_reference(name, {RELEASE}, out, tmp_path / "downloads", api=api_of(hub))
        return hold_against(read_lock(work_folder(out, config) / "lock.json"), out, reference)

    return compared


@pytest.mark.parametrize("compare", REFERENCES, indirect=True)
@pytest.mark.parametrize("config", ["jobs", "germandpr"])
def test_equal_tables_are_equal(compare: Compare, config: str) -> None:
    assert compare(config) == ()


@pytest.mark.parametrize("compare", REFERENCES, indirect=True)
def test_scores_within_the_tolerance_are_told(compare: Compare, there: Path) -> None:
    rewrite(there, NEGATIVES, lambda rows: rows.with_columns(shifted(3e-7), shifted(-9e-4, "positive_score")))
    score, positive = compare()
    row = pl.read_parquet(there / RELEASE / NEGATIVES).row(0, named=True)
    where = f"{row['query-id']} {row['corpus-id']} {row['rank']}"
    assert score.startswith("jobs-hard_negatives/train: equal rows, and score differs, within 0.001: by ")
    assert where in score and f"{row['score']} there" in score
    assert "positive_score differs, within 0.001: by 9.0e-04 at most" in positive


@pytest.mark.parametrize("by", [1.1e-3, -0.5, float("nan"), float("inf")])
def test_a_score_beyond_the_tolerance_is_drift(compare: Compare, there: Path, by: float) -> None:
    rewrite(there, NEGATIVES, lambda rows: rows.with_columns(shifted(by)))
    rows = pl.read_parquet(there / RELEASE / NEGATIVES).height
    with pytest.raises(Drift, match=f"score differs, 1 of {rows} rows by more than {_TOLERANCE:g}") as error:
        compare()
    assert error.value.exit_code == 1


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda rows: rows.head(rows.height - 1), "1 row added"),
        (
            lambda rows: pl.concat([rows, rows.head(1).with_columns(pl.lit("d-neu").alias("corpus-id"))]),
            "removed",
        ),
        (lambda rows: rows.with_columns(rank=pl.col("rank") + 1), "rows changed"),
    ],
)
def test_other_rows_are_drift_whatever_their_scores(
    compare: Compare, there: Path, change: Callable[[pl.DataFrame], pl.DataFrame], line: str
) -> None:
    rewrite(there, NEGATIVES, change)
    with pytest.raises(Drift, match=r"jobs differs from .*") as error:
        compare()
    assert line in error.value.message and "jobs-hard_negatives/train" in error.value.message


def test_scores_that_are_no_numbers_are_drift(there: Path, out: Path, tmp_path: Path) -> None:
    path = there / RELEASE / NEGATIVES
    pl.read_parquet(path).with_columns(score=pl.lit("viel")).write_parquet(path)
    reference = open_reference(str(there), {RELEASE}, out, tmp_path)
    with pytest.raises(Drift, match="score differs"):
        hold_against(read_lock(work_folder(out, "jobs") / "lock.json"), out, reference)


def test_tables_without_rows_are_equal(there: Path, out: Path, tmp_path: Path) -> None:
    for folder in (there, out):
        rewrite(folder, NEGATIVES, lambda rows: rows.clear())
    path = there / RELEASE / NEGATIVES
    pl.read_parquet(path).write_parquet(path, compression="gzip")  # other bytes than the manifest's
    reference = open_reference(str(there), {RELEASE}, out, tmp_path)
    assert hold_against(read_lock(work_folder(out, "jobs") / "lock.json"), out, reference) == ()


@pytest.mark.parametrize("compare", REFERENCES, indirect=True)
def test_a_changed_text_is_drift(compare: Compare, there: Path) -> None:
    rewrite(there, QUERIES, lambda rows: rows.with_columns(text=pl.col("text") + "!"))
    with pytest.raises(Drift, match="germandpr-queries/train"):
        compare("germandpr")


def test_a_table_that_is_missing_is_drift(compare: Compare, there: Path, out: Path) -> None:
    shutil.rmtree(there / RELEASE / "jobs")
    shutil.rmtree(work_folder(there, "jobs"))
    rewrite(there, QUERIES, lambda rows: rows)
    with pytest.raises(Drift, match="jobs-corpus/corpus: not there"):
        compare()


def test_a_file_that_its_manifest_does_not_know_is_read(there: Path, out: Path, tmp_path: Path) -> None:
    """Somebody has changed a table since it was built: its rows count, not what the manifest says of it."""
    path = there / RELEASE / QUERIES
    pl.read_parquet(path).with_columns(text=pl.lit("anders")).write_parquet(path)
    reference = open_reference(str(there), {RELEASE}, out, tmp_path)
    with pytest.raises(Drift, match="germandpr-queries/train"):
        hold_against(read_lock(work_folder(out, "germandpr") / "lock.json"), out, reference)
    path.unlink()
    with pytest.raises(StorageError, match=str(path)):
        open_reference(str(there), {RELEASE}, out, tmp_path)


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    long_after(
        3,
        [
            ("nirgends", UsageError, "neither a folder nor a published release"),
            ("verein/mteb-de", UsageError, "neither a folder nor a published release"),
            ("verein/mteb-de@v9.9.9", UsageError, "no tag 'v9.9.9'"),
            ("verein/fremd@v1.0.0", UsageError, "no tag 'v1.0.0'"),
            ("{empty}", UsageError, "nothing of mteb-de was built there"),
            ("{out}", UsageError, "would write over"),
            ("{out}/mteb-de", UsageError, "would write over"),
        ],
    ),
)
def test_what_cannot_be_compared_is_refused_before_anything_is_built(
    hub: FaultyHub, out: Path, tmp_path: Path, name: str, kind: type[MtebDeError], words: str
) -> None:
    publish(hub, out)
    (tmp_path / "empty").mkdir()
    where = name.format(empty=tmp_path / "empty", out=out)
    with pytest.raises(kind, match=words) as error:
        open_reference(where, {RELEASE}, out, tmp_path / "downloads", api=api_of(hub))
    assert error.value.exit_code == 2 and error.value.hint


def test_another_release_is_refused(hub: FaultyHub, out: Path, tmp_path: Path) -> None:
    publish(hub, out)
    with pytest.raises(UsageError, match="is a release of mteb-de, not of tecb-de"):
        open_reference(f"{REPO}@v1.0.0", {RELEASE, "tecb-de"}, out, tmp_path, api=api_of(hub))


def test_a_hub_that_fails_is_told(hub: FaultyHub, out: Path, tmp_path: Path) -> None:
    hub.fault("GET", f"/api/datasets/{REPO}", 500, times=20)
    with pytest.raises(RemoteError):
        open_reference(f"{REPO}@v1.0.0", {RELEASE}, out, tmp_path, api=api_of(hub))
