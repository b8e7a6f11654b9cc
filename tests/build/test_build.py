"""The options of a build that the command does not have."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders import checks, registry
from builders.build.order import Options, build
from builders.checks.finding import Severity
from builders.demo.bundled import lay_out
from builders.errors import FindingsError, MtebDeError, Refused, UsageError
from builders.lock.committed import stand_ins, whole_upstream
from builders.lock.lock import read_manifest
from builders.spec import Clustering, ConfigSpec, HubSource, Part, Relations, Retrieval
from tests.release.kit import loopback


class Silent:
    """Progress that nobody reads."""

    def title(self, text: str) -> None:
        pass

    def step(self, name: str, *lines: str) -> None:
        pass

    def tick(self, name: str, done: int, total: int) -> None:
        pass


def test_the_home_of_caches_is_laid_out_as_the_default_one(tmp_path: Path) -> None:
    lay_out(tmp_path / "sample")
    home = tmp_path / "home"
    options = Options(
        out=tmp_path / "dist",
        encoder="offline",
        offline=True,
        sources=(str(tmp_path / "sample"),),
        limit=10,
        home=home,
    )
    build(registry.load_retrieval("jobs"), options, Silent())
    assert [path.name for path in home.iterdir()] == ["vectors"]
    assert list(home.glob("vectors/*/query-*.npy"))


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    lay_out(folder)
    return folder


def of_sample(sample: Path, out: Path) -> Options:
    return Options(out=out, encoder="offline", offline=True, sources=(str(sample),), committed=out / "none")


def loader(*specs: ConfigSpec) -> dict[str, ConfigSpec]:
    return {spec.name: spec for spec in specs}


def errors(out: Path, *specs: ConfigSpec) -> list[tuple[str, tuple[str, ...]]]:
    """Errors of `check`, without those of cards: a plan renders them."""
    found = checks.check_tree(out, load=loader(*specs).__getitem__)
    return [(one.code, one.examples) for one in found if one.severity is Severity.ERROR]


def test_what_needs_no_vectors_is_checked_before_anything_is_encoded(sample: Path, tmp_path: Path) -> None:
    spec = registry.load_retrieval("jobs")

    def relate(pairs: pl.DataFrame) -> Relations:
        found = spec.relate(pairs)
        dangling = found.qrels.head(1).with_columns(pl.lit("d-0").alias("passage_id"))
        return replace(found, qrels=pl.concat([found.qrels, dangling]))

    options = replace(of_sample(sample, tmp_path / "dist"), home=tmp_path / "home", limit=40)
    with pytest.raises(FindingsError, match="dangling-qrels-corpus"):
        build(replace(spec, relate=relate), options, Silent())
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("shared", [True, False], ids=["release with others", "release of its own"])
def test_a_config_that_moved_leaves_nothing_in_its_old_release(
    sample: Path, tmp_path: Path, shared: bool
) -> None:
    """A build of the config that moved is all it takes: the old release no longer holds or lists it."""
    moved, other = registry.load("germandpr"), registry.load("tenkgnad")
    there = replace(moved, release="tecb-de")
    options = of_sample(sample, tmp_path)
    build(there, options, Silent())
    if shared:
        build(other, options, Silent())
    built = [there, other] if shared else [there]
    assert errors(tmp_path, *built) == []

    build(moved, options, Silent())
    assert not (tmp_path / "tecb-de/germandpr").exists()
    assert (tmp_path / "mteb-de/germandpr").is_dir()
    built = [moved, other] if shared else [moved]
    assert errors(tmp_path, *built) == []
    manifest = tmp_path / "tecb-de/manifest.json"
    if shared:
        assert list(read_manifest(manifest).locks) == ["tenkgnad"]
    assert manifest.exists() is shared


def test_a_build_that_was_cut_while_its_config_moved_is_mended_by_the_next(
    sample: Path, tmp_path: Path
) -> None:
    moved, other = registry.load("germandpr"), registry.load("tenkgnad")
    options = of_sample(sample, tmp_path)
    for spec in (replace(moved, release="tecb-de"), other):
        build(spec, options, Silent())
    before = (tmp_path / "tecb-de/manifest.json").read_bytes()
    build(moved, options, Silent())
    (tmp_path / "tecb-de/manifest.json").write_bytes(before)
    assert [code for code, _ in errors(tmp_path, moved, other)] == ["manifest-stale"]
    build(moved, options, Silent())
    assert errors(tmp_path, moved, other) == []


def test_a_finding_about_files_names_the_release_folder(sample: Path, tmp_path: Path) -> None:
    spec = registry.load("germandpr")
    build(spec, of_sample(sample, tmp_path), Silent())
    path = tmp_path / "mteb-de/germandpr/qrels/test.parquet"
    pl.read_parquet(path).write_parquet(path)
    (path.parent / "dev.parquet").unlink()
    (tmp_path / "mteb-de/fremd.txt").write_text("x", encoding="utf-8")
    found = dict(errors(tmp_path, spec))
    assert found["file-missing"] == ("mteb-de/germandpr/qrels/dev.parquet",)
    assert found["file-changed"][0].startswith("mteb-de/germandpr/qrels/test.parquet: sha256 ")
    assert found["file-extra"] == ("'mteb-de/fremd.txt'",)


@pytest.mark.parametrize("name", ["germandpr", "tenkgnad", "subreddit"])
@pytest.mark.parametrize(
    ("release", "licence", "kind", "words"),
    [
        ("mteb-de", "cc-by-nc-sa-4.0", Refused, "mteb-de does not admit its licence 'cc-by-nc-sa-4.0'"),
        ("tecb-de", "gpl-3.0", Refused, "tecb-de does not admit its licence 'gpl-3.0'"),
        ("mteb-dee", "cc-by-4.0", UsageError, "unknown release 'mteb-dee'"),
    ],
)
def test_what_its_release_does_not_admit_is_refused_when_the_build_starts(
    tmp_path: Path, name: str, release: str, licence: str, kind: type[MtebDeError], words: str
) -> None:
    """Nothing is fetched, and nothing of an older build is touched."""
    spec = replace(registry.load(name), release=release, licence=licence)
    options = Options(out=tmp_path / "dist", sources=(str(tmp_path / "none"),), offline=True)
    with pytest.raises(kind, match=words) as error:
        build(spec, options, Silent())
    assert error.value.message.startswith(f"{name}: ") and error.value.hint
    assert not (tmp_path / "dist").exists()


def with_source(spec: ConfigSpec, more: HubSource) -> ConfigSpec:
    """Add a dataset that nothing reads."""
    if isinstance(spec, Retrieval):
        return replace(spec, sources=(*spec.sources, more))
    assert isinstance(spec, Clustering)
    sources: Any = (*spec.sources, more)  # their type has no datasets of the Hub yet
    return replace(spec, sources=sources)


@pytest.mark.parametrize("name", ["germandpr", "tenkgnad"])
def test_a_dataset_of_a_stand_in_marks_a_build_of_any_kind(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = tmp_path / "dataset"
    shutil.copytree(sample / "datasets/mischeiwiller/german-job-postings", folder)
    spec = registry.load(name)
    with loopback(monkeypatch) as hub:
        commit = hub.store.add_folder("dataset", "verein/mehr", folder)
        more = HubSource("verein/mehr", commit, "cc-by-4.0", (Part("more", ("default",)),))
        options = replace(of_sample(sample, tmp_path), offline=False, home=tmp_path / "home")
        lock = build(with_source(spec, more), options, Silent())
    assert f"{name}: its sources came from a stand-in for the Hub" in stand_ins(lock)
    assert not whole_upstream(lock.sources[-1:], lock.parameters)
