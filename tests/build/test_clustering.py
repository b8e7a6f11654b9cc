"""Clustering builds, from upstream files to published sets."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders.build.order import Options, build
from builders.cli.output import Lines
from builders.configs import blurbs, tenkgnad
from builders.demo.bundled import lay_out
from builders.errors import Drift, FindingsError, MtebDeError, Refused, SourceChanged, SourceMissing
from builders.lock import committed
from builders.lock.lock import Lock, read_lock
from builders.spec import Clustering, PublishedSets, RecordedFile, Sampled, Waiver
from tests.cli.kit import call
from tests.fixtures import upstream
from tests.fixtures.clustering import book, page, write_articles, write_books
from tests.sources.loopback import Loopback, serve

CONFIGS = {"blurbs": blurbs.CONFIG, "tenkgnad": tenkgnad.CONFIG}


def made(spec: Clustering, out: Path, sources: Path, **options: object) -> Lock:
    chosen = Options(
        out=out, offline=True, sources=(str(sources),), home=out / "home", committed=out / "locks"
    )
    return build(spec, replace(chosen, **options), Lines(quiet=True))  # type: ignore[arg-type]


def sets(out: Path, name: str, variant: str) -> pl.DataFrame:
    return pl.read_parquet(out / "tecb-de" / name / f"clustering-{variant}" / "test.parquet")


def published(out: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(out)): path.read_bytes() for path in sorted(out.glob("tecb-de/**/*.parquet"))
    }


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clustering-sample")
    lay_out(folder)
    return folder


@pytest.fixture(scope="session")
def tree(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("clustering") / "dist"
    for spec in CONFIGS.values():
        made(spec, out, sample)
    return out


def build_upstream(folder: Path, sources: Path, **env: str) -> Path:
    """Build both configs in a process of its own."""
    out = folder / "dist"
    settings = {"MTEB_DE_SOURCES": str(sources), "MTEB_DE_HOME": str(folder / "home"), **env}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "builders", "build", *CONFIGS, "--offline", "--out", str(out)],
        env=os.environ | settings, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both configs of the stand-in upstreams."""
    return build_upstream(tmp_path_factory.mktemp("whole"), upstream.plain_files())


@pytest.mark.upstream
def test_blurbs_of_the_stand_ins(whole: Path) -> None:
    lock = read_lock(whole / "work/blurbs/lock.json")
    assert lock.clustering is not None
    levels = [one.level for one in lock.clustering.sets]
    genres = [level for level in levels if level.startswith("within:")]
    assert levels == ["coarse"] * 10 + genres + ["fine"] * 10
    assert len(genres) == len(set(genres)) == lock.facts["labels_genre"] == 8
    planted = json.loads((upstream.upstream() / "planted.json").read_text(encoding="utf-8"))
    (funnel,) = lock.funnels
    assert funnel.read == planted["germeval.books"]
    assert sum(one.rows for one in lock.clustering.sets if one.level in genres) == funnel.out


@pytest.mark.upstream
def test_tenkgnad_of_the_stand_ins(whole: Path) -> None:
    lock = read_lock(whole / "work/tenkgnad/lock.json")
    planted = json.loads((upstream.upstream() / "planted.json").read_text(encoding="utf-8"))
    (funnel,) = lock.funnels
    assert funnel.out == planted["gnad.articles"] == 1028
    assert funnel.dropped == {"no_text": 1, "not_newsroom": 1, "user_page": 1}
    dropped = pl.read_parquet(whole / "work/tenkgnad/dropped.parquet")
    assert dict(dropped.select("id", "reason").iter_rows()) == {
        "90001": "user_page", "90002": "not_newsroom", "90003": "no_text",
    }  # fmt: skip
    table = sets(whole, "tenkgnad", "p2p")
    assert table["level"].to_list() == ["topic"] * 10
    assert [len(set(labels)) for labels in table["labels"].to_list()] == [9] * 10


@pytest.mark.upstream
@pytest.mark.parametrize("name", CONFIGS)
def test_each_p2p_text_of_the_stand_ins_begins_with_its_s2s_text(name: str, whole: Path) -> None:
    s2s, p2p = (sets(whole, name, variant) for variant in ("s2s", "p2p"))
    assert s2s.select("labels", "level").equals(p2p.select("labels", "level"))
    for short, long in zip(s2s["sentences"].to_list(), p2p["sentences"].to_list(), strict=True):
        assert len(short) == len(long)
        assert all(text.startswith(f"{title} ") for title, text in zip(short, long, strict=True))


@pytest.mark.upstream
def test_shuffled_upstreams_and_one_thread_give_the_same_bytes(whole: Path, tmp_path: Path) -> None:
    shuffled = tmp_path / "shuffled"
    shuffled.mkdir()
    rng = random.Random(5)
    with zipfile.ZipFile(upstream.plain_files() / blurbs.ARCHIVE) as archive:
        whole_text = "\n".join(archive.read(name).decode() for name in blurbs.MEMBERS)
    books = [f"{text}</book>" for text in whole_text.split("</book>")[:-1]]
    rng.shuffle(books)
    write_books(shuffled, *("\n".join(books[start::3]) for start in range(3)))
    source = f"{(upstream.plain_files() / tenkgnad.DATABASE).as_uri()}?mode=ro"
    with closing(sqlite3.connect(source, uri=True)) as database:
        articles = database.execute("SELECT ID_Article, Path, Title, Body FROM Articles").fetchall()
    rng.shuffle(articles)
    write_articles(shuffled, articles)
    other = build_upstream(tmp_path, shuffled, POLARS_MAX_THREADS="1", PYTHONHASHSEED="77")
    assert published(other) == published(whole)
    for name in CONFIGS:
        locks = [read_lock(out / "work" / name / "lock.json") for out in (whole, other)]
        assert locks[0].model_copy(update={"sources": ()}) == locks[1].model_copy(update={"sources": ()})


def test_a_second_build_gives_the_same_bytes(tree: Path, sample: Path, tmp_path: Path) -> None:
    for spec in CONFIGS.values():
        made(spec, tmp_path / "dist", sample)
    assert published(tmp_path / "dist") == published(tree)
    for name in CONFIGS:
        path = Path("work") / name / "lock.json"
        assert (tmp_path / "dist" / path).read_bytes() == (tree / path).read_bytes()


def test_what_a_build_of_another_kind_kept_beside_the_lock_goes(sample: Path, tmp_path: Path) -> None:
    """Splits of another time would be committed with the lock."""
    work = tmp_path / "dist/work/tenkgnad"
    work.mkdir(parents=True)
    for name in ("splits.tsv", "mining.json", "statuses.parquet"):
        (work / name).write_text("of a build before", encoding="utf-8")
    made(tenkgnad.CONFIG, tmp_path / "dist", sample)
    names = {"dropped.parquet", "lock.json", "personal.json", "provenance.parquet"}
    assert {path.name for path in work.iterdir() if path.is_file()} == names


def test_the_lock_keeps_what_the_card_tells(tree: Path) -> None:
    lock = read_lock(tree / "work/blurbs/lock.json")
    assert lock.clustering is not None
    table = sets(tree, "blurbs", "s2s")
    assert [one.rows for one in lock.clustering.sets] == table["sentences"].list.len().to_list()
    assert [one.labels for one in lock.clustering.sets] == table["labels"].list.n_unique().to_list()
    texts = table["sentences"].explode().unique()
    figures = lock.clustering.texts["s2s"]
    assert (figures.unique, figures.characters) == (len(texts), texts.str.len_chars().sum())
    assert lock.facts["sentences"] == table["sentences"].list.len().sum()
    assert lock.splits == {}
    assert [file.config for file in lock.files] == ["blurbs-clustering-p2p", "blurbs-clustering-s2s"]


def test_explain_tells_where_a_document_stands_and_why_one_was_dropped(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    provenance = pl.read_parquet(tree / "work/tenkgnad/provenance.parquet")
    wanted, number, row = provenance.select("upstream_id", "_id", "row").row(17)
    title = sets(tree, "tenkgnad", "s2s")["sentences"][int(number) - 1][row - 1]
    said = call(capsys, "explain", wanted, "--out", str(tree))
    assert said.code == 0
    assert f"title      {title}" in said.out
    assert f"set {number} (topic), row {row}: " in said.out
    document = json.loads(call(capsys, "explain", wanted, "--out", str(tree), "--json").out)
    assert len(document["found"][0]["sets"]) == provenance.filter(upstream_id=wanted).height
    said = call(capsys, "explain", "903", "--out", str(tree))
    assert said.out.strip().startswith("903: dropped from tenkgnad documents: no_text (")


def test_check_and_list_know_clustering_configs(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "check", "--dist", str(tree)).code == 0
    listed = json.loads(call(capsys, "list", "--out", str(tree), "--json").out)["configs"]
    (row,) = (row for row in listed if row["config"] == "blurbs")
    assert (row["release"], row["licence"], row["rows"]) == ("tecb-de", "cc-by-nc-4.0", 48)
    assert "germeval-2019-hmc" in call(capsys, "list", "--out", str(tree)).out


def test_a_limit_builds_from_fewer_documents(sample: Path, tmp_path: Path) -> None:
    lock = made(tenkgnad.CONFIG, tmp_path, sample, limit=60)
    assert (lock.funnels[0].read, lock.parameters["limit"]) == (60, 60)
    assert committed.stand_ins(lock)


def test_documents_in_no_set_are_counted_and_not_measured(sample: Path, tmp_path: Path) -> None:
    spec = replace(tenkgnad.CONFIG, sets=(Sampled("topic", "section", count=1),))
    lock = made(spec, tmp_path, sample, limit=60)
    assert lock.clustering is not None
    table = sets(tmp_path, "tenkgnad", "p2p")
    texts = set(table["sentences"].explode().to_list())
    assert lock.facts["documents_in_no_set"] == lock.funnels[0].out - len(texts) > 0
    assert lock.clustering.texts["p2p"].unique == len(texts)


def small_books(folder: Path) -> None:
    write_books(folder, "\n".join(book(str(n), f"Titel {n}") for n in range(20)))


def broken(change: Callable[[bytes], bytes]) -> Callable[[Path, str], None]:
    def damage(folder: Path, name: str) -> None:
        (folder / name).write_bytes(change((folder / name).read_bytes()))

    return damage


def evil_member(folder: Path, name: str) -> None:
    with zipfile.ZipFile(folder / name, "a") as archive:
        archive.writestr("../../boese.txt", "x")


def bomb(folder: Path, name: str) -> None:
    with zipfile.ZipFile(folder / name, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("groesser.txt", bytes(30_000_000))


def malformed(folder: Path, name: str) -> None:
    write_books(folder, f"{book('1')}\n<book>\n<title>Offen</title>\n{book('2')}")


def no_table(folder: Path, name: str) -> None:
    with closing(sqlite3.connect(folder / name)) as database:
        database.execute("DROP TABLE Articles")


PAGE = b"<!DOCTYPE html><html><body>Diese Seite ist umgezogen</body></html>"
BAD: list[tuple[str, str, Callable[[Path, str], None]]] = [
    ("blurbs", "is not a zip archive", broken(lambda _: b"Kein Archiv")),
    ("blurbs", "is a web page", broken(lambda _: PAGE)),
    ("blurbs", "is not a zip archive, or a part of one", broken(lambda data: data[:-100])),
    ("blurbs", "does not stay inside", evil_member),
    ("blurbs", "looks like a bomb", bomb),
    ("blurbs", "blurbs_train.txt:14: the book is not closed", malformed),
    ("tenkgnad", "is a web page, not an SQLite database", broken(lambda _: PAGE)),
    ("tenkgnad", "is truncated", broken(lambda data: data[:-5000])),
    ("tenkgnad", "no table 'Articles'; found none", no_table),
]


@pytest.mark.parametrize(("name", "message", "damage"), BAD, ids=[" ".join(case[:2]) for case in BAD])
def test_bad_input_is_a_clear_error_and_nothing_is_half_written(
    name: str, message: str, damage: Callable[[Path, str], None], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    sources, out = tmp_path / "quellen", tmp_path / "dist"
    lay_out(sources)
    damage(sources, CONFIGS[name].sources[0].name)
    monkeypatch.setenv("MTEB_DE_SOURCES", str(sources))
    said = call(capsys, "build", name, "--offline", "--out", str(out), "-q")
    assert said.code == 2
    assert message in said.err
    assert "Traceback" not in said.err and "should not have happened" not in said.err
    written = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert written <= {".lock", f"work/{name}/build.log"}
    assert not (tmp_path / "boese.txt").exists()


def test_a_bad_input_leaves_an_earlier_build_as_it_was(sample: Path, tmp_path: Path) -> None:
    made(blurbs.CONFIG, tmp_path / "dist", sample)
    before = published(tmp_path / "dist")
    sources = tmp_path / "quellen"
    malformed_sources = write_books(sources, "Nur Text")
    assert malformed_sources
    with pytest.raises(MtebDeError, match="cannot be read: 1"):
        made(blurbs.CONFIG, tmp_path / "dist", sources)
    assert published(tmp_path / "dist") == before
    assert (tmp_path / "dist/work/blurbs/lock.json").exists()


def test_a_waiver_passes_over_malformed_books_and_counts_them(sample: Path, tmp_path: Path) -> None:
    sources = tmp_path / "quellen"
    lay_out(sources)
    with zipfile.ZipFile(sources / blurbs.ARCHIVE) as archive:
        parts = [archive.read(name).decode() for name in blurbs.MEMBERS]
    write_books(sources, parts[0] + "Rest", *parts[1:])
    waiver = Waiver("row-malformed", "a stray line", at_most=1)
    lock = made(replace(blurbs.CONFIG, waivers=(waiver,)), tmp_path / "dist", sources)
    assert lock.funnels[0].dropped["malformed"] == 1
    (finding,) = (finding for finding in lock.findings if finding.code == "row-malformed")
    assert (finding.severity, finding.count, finding.waived) == ("gate", 1, "a stray line")
    with pytest.raises(FindingsError, match="unused-waiver"):
        made(replace(blurbs.CONFIG, waivers=(waiver,)), tmp_path / "zwei", sample)


def test_a_set_with_one_label_stops_the_build(tmp_path: Path) -> None:
    sources = tmp_path / "quellen"
    small_books(sources)
    with pytest.raises(FindingsError, match="set-one-label"):
        made(blurbs.CONFIG, tmp_path / "dist", sources)
    assert published(tmp_path / "dist") == {}


def test_too_few_documents_stop_the_build(tmp_path: Path) -> None:
    sources = tmp_path / "quellen"
    write_articles(sources, [(n, "Newsroom/Web", f"Titel {n}", page("Text.")) for n in range(5)])
    with pytest.raises(FindingsError, match="5 documents are too few"):
        made(tenkgnad.CONFIG, tmp_path / "dist", sources)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_release_whose_licence_does_not_allow_it_refuses_a_config_by_name(
    name: str, sample: Path, tmp_path: Path
) -> None:
    with pytest.raises(Refused) as error:
        made(replace(CONFIGS[name], release="mteb-de"), tmp_path, sample)
    words = f"mteb-de does not admit its licence {CONFIGS[name].licence!r}, only cc-by-4.0, cc0-1.0"
    assert error.value.message == f"{name}: {words}"


def test_without_a_recorded_hash_the_real_upstream_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MTEB_DE_SOURCES", raising=False)
    for name, spec in CONFIGS.items():
        said = call(capsys, "build", name, "--out", str(tmp_path / "dist"), "--locks", str(tmp_path), "-q")
        assert said.code == 2
        assert f"{spec.sources[0].name}: no hash of it is recorded" in said.err
        assert "--update-lock" in said.err


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve() as running:
        yield running


@pytest.fixture
def remote(server: Loopback, sample: Path) -> Clustering:
    """The blurbs, whose file lies on a server; what was published of them is what it gives."""
    server.files["/buecher.zip"] = (sample / blurbs.ARCHIVE).read_bytes()
    source = RecordedFile(blurbs.ARCHIVE, f"{server.url}/buecher.zip", "cc-by-nc-4.0")
    return replace(blurbs.CONFIG, sources=(source,), published=None)


def from_server(spec: Clustering, out: Path, **options: object) -> Lock:
    chosen = Options(out=out / "dist", home=out / "home", committed=out / "locks")
    return build(spec, replace(chosen, **options), Lines(quiet=True))  # type: ignore[arg-type]


def test_a_maintainer_records_the_hash_by_committing_the_lock(
    remote: Clustering, server: Loopback, tmp_path: Path
) -> None:
    with pytest.raises(SourceMissing, match="no hash of it is recorded"):
        from_server(remote, tmp_path)
    assert server.log == []
    lock = from_server(remote, tmp_path, against_lock=False)
    assert committed.stand_ins(lock) == []
    assert committed.commit(tmp_path / "dist", lock, tmp_path / "locks") == (
        tmp_path / "locks/blurbs.lock.json",
    )
    again = from_server(remote, tmp_path, offline=True)
    held = committed.committed_lock(tmp_path / "locks", "blurbs")
    assert held is not None
    committed.require_equal(again, held)

    server.files["/buecher.zip"] += b"mehr"
    for against_lock in (True, False):
        with pytest.raises(SourceChanged, match="is not the pinned file"):
            from_server(remote, tmp_path, home=tmp_path / "kalt", against_lock=against_lock)


def test_a_drift_from_the_committed_lock_is_told(remote: Clustering, tmp_path: Path) -> None:
    lock = from_server(remote, tmp_path, against_lock=False)
    committed.commit(tmp_path / "dist", lock, tmp_path / "locks")
    other = from_server(replace(remote, sets=remote.sets[:2]), tmp_path)
    with pytest.raises(Drift, match="blurbs differs from its committed lock"):
        committed.require_equal(other, lock)


def test_a_build_from_a_folder_is_no_committed_lock(tree: Path, tmp_path: Path) -> None:
    lock = read_lock(tree / "work/blurbs/lock.json")
    with pytest.raises(Refused, match="was read from a folder"):
        committed.commit(tree, lock, tmp_path)


def test_the_real_upstream_is_held_against_published_sets(remote: Clustering, tmp_path: Path) -> None:
    known = blurbs.CONFIG.published
    assert isinstance(known, PublishedSets)
    lock = from_server(replace(remote, published=known), tmp_path, against_lock=False)
    gates = {finding.code for finding in lock.findings if finding.severity == "gate"}
    assert gates == {"published-sizes", "published-labels", "published-lengths"}
    part = from_server(replace(remote, published=known), tmp_path, against_lock=False, limit=100)
    assert not [finding for finding in part.findings if finding.severity == "gate"]
