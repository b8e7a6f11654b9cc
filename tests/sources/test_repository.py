from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from builders.errors import MtebDeError, RemoteError, SourceChanged, SourceError, SourceMissing, StorageError
from builders.lock.lock import LockedSource
from builders.sources import Fetched, fetch
from builders.sources.parquet import read_rows
from builders.spec import HubSource, Part
from tests.sources.loopback import Answer, Loopback
from tests.sources.samples import COMMIT, FILES, NAME, SOURCE, WANTED, repo

REVISION = f"/api/datasets/{NAME}/revision/{SOURCE.revision}"
CORPUS = "corpus/corpus-00000.parquet"


def get(home: Path, source: HubSource = SOURCE, *, offline: bool = False) -> Fetched:
    return fetch([source], offline=offline, root=home)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_files_and_lock_of_the_parts(hub: Loopback, home: Path) -> None:
    hub.repos[NAME] = repo()
    fetched = get(home)
    contents = {part: [path.read_bytes() for path in paths] for part, paths in fetched.files.items()}
    assert contents == {part: [FILES[path] for path in paths] for part, paths in WANTED.items()}
    (lock,) = fetched.locks
    assert (lock.kind, lock.name, lock.revision, lock.resolved, lock.licence) == (
        "hub",
        NAME,
        SOURCE.revision,
        COMMIT,
        "cc-by-4.0",
    )
    assert [(file.part, file.path, file.sha256, file.size) for file in lock.files] == [
        (part, path, digest(FILES[path]), len(FILES[path]))
        for part, paths in WANTED.items()
        for path in paths
    ]


def test_only_the_wanted_files_are_downloaded_and_only_once(hub: Loopback, home: Path) -> None:
    hub.repos[NAME] = repo()
    first = get(home)
    fetched = {path.split(f"/resolve/{COMMIT}/")[1] for path in hub.paths() if "/resolve/" in path}
    assert fetched == {"README.md", *WANTED["corpus"], *WANTED["qrels"]}
    hub.log.clear()
    assert get(home) == first
    assert get(home, offline=True) == first
    assert hub.log == []


def test_another_part_of_a_cached_commit_asks_for_its_files_only(hub: Loopback, home: Path) -> None:
    hub.repos[NAME] = repo()
    get(home, replace(SOURCE, parts=SOURCE.parts[:1]))
    hub.log.clear()
    get(home)
    assert {path.rsplit("/", 1)[1] for path in hub.paths()} == {"test-00.parquet", "train-00.parquet"}


def test_nothing_but_the_cached_files_stays_on_disk(hub: Loopback, home: Path) -> None:
    hub.repos[NAME] = repo()
    get(home)
    blobs = [path for path in home.rglob("blobs/*") if path.is_file()]
    wanted = ("README.md", *WANTED["corpus"], *WANTED["qrels"])
    assert sorted(digest(path.read_bytes()) for path in blobs) == sorted(digest(FILES[p]) for p in wanted)
    assert not (home / "partial").exists()


def test_a_reader_s_message_names_the_upstream_path(hub: Loopback, home: Path) -> None:
    hub.repos[NAME] = repo()
    hub.repos[NAME].files[CORPUS] = FILES[CORPUS][:-9]
    with pytest.raises(SourceError, match=f"{NAME.replace('/', '--')}/snapshots/{COMMIT}/{CORPUS}"):
        read_rows(get(home).files["corpus"], {})


def test_an_offline_build_names_the_first_missing_file(hub: Loopback, home: Path) -> None:
    hub.repos[NAME] = repo()
    with pytest.raises(SourceMissing, match="its commit") as error:
        get(home, offline=True)
    assert NAME in error.value.message and "--offline" in error.value.hint
    get(home, replace(SOURCE, parts=SOURCE.parts[:1]))
    hub.log.clear()
    with pytest.raises(SourceMissing, match=r"data/test-00\.parquet .*not in the cache; 2 files"):
        get(home, offline=True)
    assert hub.log == []


def test_a_damaged_object_is_fetched_again_or_named(hub: Loopback, home: Path) -> None:
    hub.repos[NAME] = repo()
    path = get(home).files["corpus"][0].resolve()
    for harm in (path.read_bytes()[:-1], path.read_bytes().replace(b"PAR1", b"PAR2"), b""):
        path.chmod(0o644)
        path.write_bytes(harm)
        hub.log.clear()
        with pytest.raises(SourceMissing, match=f"{CORPUS} .*damaged"):
            get(home, offline=True)
        assert hub.log == []
        assert get(home).files["corpus"][0].read_bytes() == FILES[CORPUS]
        assert {p.rsplit("/", 1)[1] for p in hub.paths()} == {"corpus-00000.parquet"}


@pytest.mark.parametrize("path", [CORPUS, "README.md"])
def test_an_object_under_another_name_is_fetched_again_or_named(hub: Loopback, home: Path, path: str) -> None:
    """Whole bytes of another file are not those that the commit lists, by either hash of the Hub."""
    hub.repos[NAME] = repo()
    first = get(home)
    (view,) = (view for view in home.rglob(path.rsplit("/")[-1]) if view.is_symlink())
    (other,) = (view for view in home.rglob("train-00.parquet") if view.is_symlink())
    view.unlink()
    view.symlink_to(os.path.relpath(other.resolve(), view.parent))
    hub.log.clear()
    with pytest.raises(SourceMissing, match="damaged"):
        get(home, offline=True)
    assert get(home) == first
    assert [p.rsplit("/", 1)[1] for p in hub.paths()] == [path.rsplit("/")[-1]] * len(hub.paths())


def test_a_small_file_that_is_not_the_listed_one(hub: Loopback, home: Path) -> None:
    hub.repos[NAME] = repo()
    changed = FILES["README.md"].replace(b"-", b"+")
    answer = Answer(body=changed, headers={"X-Repo-Commit": COMMIT, "ETag": '"e"'})
    hub.faults[f"/datasets/{NAME}/resolve/{COMMIT}/README.md"] = [answer, answer]
    with pytest.raises(SourceChanged, match=r"README\.md is not what its commit lists"):
        get(home)


def test_a_note_that_names_another_commit_than_the_pin_is_asked_for_again(hub: Loopback, home: Path) -> None:
    hub.repos[NAME] = repo()
    first = get(home)
    (note,) = home.rglob(f"refs/{SOURCE.revision}")
    note.write_bytes(note.read_bytes().replace(COMMIT.encode(), b"f" * 40))
    with pytest.raises(SourceMissing, match="its commit"):
        get(home, offline=True)
    assert get(home) == first


@pytest.mark.parametrize("rubbish", [b"", b"{", b'{"files": 3}', b'{"commit": 1}', b"\xff"])
def test_damaged_notes_are_asked_for_again(hub: Loopback, home: Path, rubbish: bytes) -> None:
    hub.repos[NAME] = repo()
    first = get(home)
    (listing,) = home.rglob(f"{COMMIT}.json")
    (ref,) = home.rglob(f"refs/{SOURCE.revision}")
    for note in (listing, ref):
        note.write_bytes(rubbish)
    assert get(home) == first


def test_a_pin_that_is_a_branch_or_another_commit_is_refused(hub: Loopback, home: Path) -> None:
    hub.repos[NAME] = replace(repo(), refs=("main", "abcdef1234"))
    for pin in ("main", "abcdef1234"):
        with pytest.raises(SourceChanged) as error:
            get(home, replace(SOURCE, revision=pin))
        assert pin in error.value.message and COMMIT in error.value.message
    assert get(home, replace(SOURCE, revision=COMMIT)).locks[0].resolved == COMMIT


def test_unknown_dataset_and_revision_are_missing(hub: Loopback, home: Path) -> None:
    with pytest.raises(SourceMissing, match=f"{NAME}@{SOURCE.revision}: no such repository"):
        get(home)
    hub.repos[NAME] = repo()
    with pytest.raises(SourceMissing, match=f"{NAME}@fedcba9876: no such revision"):
        get(home, replace(SOURCE, revision="fedcba9876"))


@pytest.mark.parametrize(
    ("answer", "kind", "words", "hint"),
    [
        (Answer(403, headers={"X-Error-Code": "GatedRepo"}), RemoteError, "gated", "HF_TOKEN"),
        (
            Answer(401, headers={"X-Error-Message": "Invalid credentials in Authorization header"}),
            RemoteError,
            "401",
            "HF_TOKEN",
        ),
        (Answer(401), RemoteError, "401", "HF_TOKEN"),
        (
            Answer(401, headers={"X-Error-Code": "RepoNotFound"}),
            SourceMissing,
            "no such repository",
            "HF_TOKEN",
        ),
        (Answer(403), RemoteError, "403", "HF_TOKEN"),
        (Answer(400), RemoteError, "400", "pin"),
        (Answer(200, b"<!doctype html>Anmeldung"), RemoteError, "does not answer as a Hub", "HF_ENDPOINT"),
        (Answer(200, b'{"id": "x"}'), RemoteError, "does not answer as a Hub", "HF_ENDPOINT"),
        (
            Answer(200, b'{"id": "x", "sha": "../../x"}'),
            RemoteError,
            "does not answer as a Hub",
            "HF_ENDPOINT",
        ),
        (Answer(200, b"[]"), RemoteError, "does not answer as a Hub", "HF_ENDPOINT"),
    ],
)
def test_a_refusal_says_what_to_do(
    hub: Loopback, home: Path, answer: Answer, kind: type[MtebDeError], words: str, hint: str
) -> None:
    hub.faults[REVISION] = [answer]
    with pytest.raises(kind) as error:
        get(home)
    assert NAME in error.value.message and words in error.value.message
    assert hint in error.value.hint


def test_a_busy_hub_is_asked_again(hub: Loopback, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.repos[NAME] = repo()
    hub.faults[REVISION] = [Answer(503), Answer(429)]
    pauses: list[float] = []
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", pauses.append)
    get(home)
    assert pauses == [1.0, 2.0]
    hub.faults[REVISION] = [Answer(500) for _ in range(9)]
    with pytest.raises(RemoteError, match="500"):
        get(home / "new")
    assert len(hub.faults[REVISION]) == 5


def test_a_file_that_is_refused_or_gone(hub: Loopback, home: Path) -> None:
    hub.repos[NAME] = repo()
    place = f"/datasets/{NAME}/resolve/{COMMIT}/{CORPUS}"
    hub.faults[place] = [Answer(404, headers={"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})]
    with pytest.raises(SourceMissing, match=CORPUS):
        get(home)
    hub.faults[place] = [Answer(403)]
    with pytest.raises(RemoteError, match="403"):
        get(home)
    hub.faults[place] = [Answer(200, b"no headers of a Hub")]
    with pytest.raises(RemoteError, match="does not answer as a Hub"):
        get(home)
    assert get(home).files


def test_a_dropped_connection_is_resumed_by_the_client(hub: Loopback, home: Path) -> None:
    hub.repos[NAME] = repo()
    place = f"/datasets/{NAME}/resolve/{COMMIT}/{CORPUS}"
    usual = Answer(body=FILES[CORPUS], headers={"X-Repo-Commit": COMMIT, "ETag": '"e"'})
    hub.faults[place] = [usual, replace(usual, drop_after=100)]
    assert get(home).files["corpus"][0].read_bytes() == FILES[CORPUS]


def test_bytes_that_are_not_the_listed_ones(hub: Loopback, home: Path) -> None:
    hub.repos[NAME] = replace(repo(), false_sha256={CORPUS: "0" * 64})
    with pytest.raises(SourceChanged) as error:
        get(home)
    for part in (NAME, CORPUS, "0" * 64, digest(FILES[CORPUS])):
        assert part in error.value.message
    assert not [path for path in home.rglob("blobs/*") if digest(path.read_bytes()) == digest(FILES[CORPUS])]


@pytest.mark.parametrize(
    "path", ["../x.parquet", "/etc/passwd", "corpus/../../x", "corpus//x", "a\\b", "a\nb"]
)
def test_a_file_list_that_leaves_the_repository_is_refused(hub: Loopback, home: Path, path: str) -> None:
    hub.repos[NAME] = repo()
    hub.repos[NAME].files[path] = b"x"
    with pytest.raises(SourceError, match="does not stay inside"):
        get(home)
    assert not [p for p in hub.paths() if "/resolve/" in p]


def test_no_network_is_an_error_with_a_hint(
    home: Path, hub: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://user:geheim@127.0.0.1:9")
    with pytest.raises(RemoteError, match=r"http://127\.0\.0\.1:9 cannot be reached") as error:
        get(home)
    assert "--offline" in error.value.hint
    assert "geheim" not in error.value.message
    assert hub.log == []


def test_a_home_that_cannot_be_written(hub: Loopback, tmp_path: Path) -> None:
    hub.repos[NAME] = repo()
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StorageError, match="file") as error:
        get(tmp_path / "file" / "home")
    assert error.value.hint


def test_what_a_stand_in_served_never_passes_for_the_hub_s(
    hub: Loopback, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    hub.repos[NAME] = repo()
    get(home)
    monkeypatch.setattr(constants, "ENDPOINT", "https://huggingface.co")
    with pytest.raises(SourceMissing, match="its commit"):
        get(home, offline=True)


def test_another_stand_in_is_asked_what_the_pin_means(
    hub: Loopback, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    hub.repos[NAME] = repo()
    get(home)
    hub.repos[NAME] = replace(repo(), commit=SOURCE.revision + "f" * 30)
    assert get(home).locks[0].resolved == COMMIT
    monkeypatch.setattr(constants, "ENDPOINT", hub.url.replace("127.0.0.1", "localhost"))
    with pytest.raises(SourceMissing, match="its commit"):
        get(home, offline=True)
    assert get(home).locks[0].resolved == SOURCE.revision + "f" * 30


def test_a_second_fetch_waits_for_the_first_and_downloads_nothing(hub: Loopback, home: Path) -> None:
    hub.repos[NAME] = repo()
    waiting = threading.Event()
    results: list[Fetched] = []

    def second() -> None:
        results.append(fetch([SOURCE], offline=False, root=home, progress=lambda _: waiting.set()))

    thread = threading.Thread(target=second)

    def first_says(line: str) -> None:
        if "README.md" in line:
            thread.start()
            assert waiting.wait(60)

    results.append(fetch([SOURCE], offline=False, root=home, progress=first_says))
    thread.join()
    assert results[0] == results[1]
    assert len([path for method, path, _ in hub.log if method == "GET" and path.endswith("README.md")]) == 1


def test_the_client_s_own_settings_reach_it(server: Loopback, home: Path) -> None:
    """A process of its own: endpoint, token and home come from the environment alone."""
    server.repos[NAME] = repo()
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from builders.sources import fetch\nfrom tests.sources.samples import SOURCE\n"
        "for offline in map(int, sys.argv[2:]):\n"
        "    fetched = fetch([SOURCE], offline=bool(offline), root=Path(sys.argv[1]))\n"
        "    print(fetched.locks[0].model_dump_json())\n"
    )
    environment = os.environ | {
        "HF_HOME": str(home / "hf"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_TOKEN": "hf_made_up",
        "NO_PROXY": "127.0.0.1",
    }

    def run(endpoint: str, *offline: str) -> list[LockedSource]:
        done = subprocess.run(
            [sys.executable, "-c", program, str(home), *offline],
            env=environment | {"HF_ENDPOINT": endpoint},
            capture_output=True,
            text=True,
            check=False,
            cwd=Path(__file__).parents[2],
        )
        assert done.returncode == 0, done.stderr
        return [LockedSource.model_validate(json.loads(line)) for line in done.stdout.splitlines()]

    first = run(server.url, "0")
    assert first[0].resolved == COMMIT
    assert not (home / "hf").exists()
    server.log.clear()
    assert run(server.url, "0", "1") == first * 2
    assert server.log == []


def test_parts_with_one_name_are_refused(home: Path) -> None:
    twice = replace(SOURCE, parts=(Part("corpus", ("corpus",)), Part("corpus", ("qrels",))))
    with pytest.raises(MtebDeError, match="'corpus'"):
        get(home, twice, offline=True)
