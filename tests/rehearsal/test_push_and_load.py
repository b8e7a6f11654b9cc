"""The real clients push to the Hub and load from it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from builders.files import sha256
from builders.rehearsal import Hub, serve
from tests.rehearsal.kit import CORPUS, QUERIES, REPO, client, write_folder

PIN = "d49f1e4243"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "repo")


def test_push_tag_conflicts_and_what_is_there_afterwards(folder: Path) -> None:
    with serve() as hub:
        seen = client(
            hub,
            """
who = api.whoami()
api.create_repo(repo, **kind)
again = [status(api.create_repo, repo, **kind), status(api.create_repo, repo, exist_ok=True, **kind)]
start = api.repo_info(repo, **kind).sha
made = commit(files(), parent=start)
api.create_tag(repo, tag="v1.0.0", revision=made, **kind)
taken = status(api.create_tag, repo, tag="v1.0.0", revision=made, **kind)
stale = status(commit, [Add("neu.txt", b"x")], parent=start)
unchanged = commit(files(), parent=made)
refs = api.list_repo_refs(repo, **kind)
tree = {item.path: item for item in api.list_repo_tree(repo, recursive=True, **kind)}
corpus = tree["orte/corpus/corpus.parquet"]
copied = commit([Copy("README.md", "KOPIE.md"), Copy("orte/corpus/corpus.parquet", "k.parquet"),
                 Remove("orte/queries/test.parquet")], parent=made)
removed = status(commit, [Remove("fehlt.txt")])
after = api.list_repo_files(repo, **kind)
answer({
    "name": who["name"], "role": who["auth"]["accessToken"]["role"], "again": again, "taken": taken,
    "stale": stale, "unchanged": unchanged == made, "tag": refs.tags[0].target_commit == made,
    "paths": sorted(tree), "sha256": corpus.lfs.sha256, "size": corpus.size, "regular": tree["README.md"].lfs,
    "after": after,
    "removed": removed, "at_tag": api.list_repo_files(repo, revision="v1.0.0", **kind),
    "found": [item.path for item in api.get_paths_info(repo, ["README.md", "orte", "fehlt"], **kind)],
    "exists": [api.repo_exists(repo, **kind), api.repo_exists("maintainer/fehlt", **kind)],
    "snapshot": len(os.listdir(snapshot_download(repo, revision="v1.0.0", **kind))),
})
""",
            folder=folder,
        )
        stored = hub.store.repo("dataset", REPO)
    assert stored.tags.keys() == {"v1.0.0"}
    assert [commit.title for commit in stored.commits.values()] == ["initial commit", "Commit", "Commit"]
    assert (seen["name"], seen["role"]) == ("maintainer", "write")
    assert seen["again"] == [409, 200]
    assert (seen["taken"], seen["stale"], seen["removed"]) == (409, 412, 404)
    assert seen["unchanged"] and seen["tag"]
    pushed = [".gitattributes", "README.md", "orte/corpus/corpus.parquet"]
    pushed += ["orte/queries/test.parquet", "orte/queries/train.parquet"]
    assert [path for path in seen["paths"] if path not in {"orte", "orte/corpus", "orte/queries"}] == pushed
    assert seen["at_tag"] == pushed
    assert set(seen["after"]) == {*pushed, "KOPIE.md", "k.parquet"} - {"orte/queries/test.parquet"}
    corpus = folder / "orte/corpus/corpus.parquet"
    assert (seen["sha256"], seen["size"], seen["regular"]) == (sha256(corpus), corpus.stat().st_size, None)
    assert seen["found"] == ["README.md", "orte"]
    assert seen["exists"] == [True, False]
    assert seen["snapshot"] == 3


def test_load_dataset_by_tag_sha_main_and_streaming(folder: Path) -> None:
    with serve() as hub:
        pushed = client(
            hub,
            """
api.create_repo(repo, **kind)
made = commit(files())
api.create_tag(repo, tag="v1.0.0", revision=made, **kind)
commit([Copy("orte/queries/test.parquet", "orte/queries/train.parquet")])
answer(made)
""",
            folder=folder,
        )
        hub.log.clear()
        seen = client(
            hub,
            f"""
from datasets import load_dataset
def rows(config, split, **options):
    return load_dataset(repo, config, split=split, **options)[:]
def stream(config, split, **options):
    return list(load_dataset(repo, config, split=split, streaming=True, **options))
answer({{
    "tag": rows("orte-corpus", "corpus", revision="v1.0.0"),
    "sha": rows("orte-queries", "train", revision={pushed!r}),
    "stream": stream("orte-corpus", "corpus", revision="v1.0.0"),
    "main": rows("orte-queries", "train"),
    "revision": name_of_error(load_dataset, repo, "orte-corpus", revision="v9.9.9"),
    "repo": name_of_error(load_dataset, "maintainer/fehlt"),
}})
""",
        )
        log = list(hub.log)
    assert seen["tag"] == CORPUS
    assert seen["sha"] == QUERIES
    assert seen["stream"] == [
        dict(zip(CORPUS, row, strict=True)) for row in zip(*CORPUS.values(), strict=True)
    ]
    assert seen["main"] == {"_id": ["q2"], "text": ["Wo steht das Münster?"]}
    assert (seen["revision"], seen["repo"]) == ("DatasetNotFoundError", "DatasetNotFoundError")
    fetched = [request for request in log if request.method == "GET" and "/storage/" in request.path]
    at_tag = {request.path for request in fetched if f"/{pushed}/" in request.path}
    assert at_tag == {
        f"/storage/datasets/{REPO}/{pushed}/orte/{path}.parquet"
        for path in ("corpus/corpus", "queries/train", "queries/test")
    }
    assert not any(request.authenticated for request in fetched), "the token must not leave the Hub's origin"


def test_an_imported_folder_is_served_from_disk_at_its_pin(folder: Path) -> None:
    with serve() as hub:
        sha = hub.store.add_folder("dataset", REPO, folder, PIN)
        repo = hub.store.repo("dataset", REPO)
        stored = repo.commits[sha].tree["orte/corpus/corpus.parquet"]
        assert sha.startswith(PIN) and len(sha) == 40
        assert stored.data == folder / "orte/corpus/corpus.parquet"
        assert hub.store.add_folder("dataset", REPO, folder, PIN) == sha
        seen = client(
            hub,
            f"""
from datasets import load_dataset
answer([api.repo_info(repo, revision={PIN!r}, **kind).sha,
        load_dataset(repo, "orte-corpus", split="corpus", revision={sha!r})[:],
        name_of_error(hf_hub_download, repo, "README.md", revision={PIN!r}, **kind)])
""",
            token=None,
        )
    assert seen == [sha, CORPUS, "RevisionNotFoundError"]


def test_a_model_repo_and_a_tree_of_several_pages(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "teile").mkdir(parents=True)
    (folder / "config.json").write_text("{}", encoding="utf-8")
    (folder / "model.safetensors").write_bytes(bytes(range(256)) * 16)
    for number in range(1001):
        (folder / "teile" / f"{number:04}.txt").write_text("x", encoding="utf-8")
    with serve() as hub:
        sha = hub.store.add_folder("model", "maintainer/modell", folder)
        seen = client(
            hub,
            """
path = hf_hub_download("maintainer/modell", "model.safetensors")
names = [item.path for item in api.list_repo_tree("maintainer/modell", "teile")]
answer([api.model_info("maintainer/modell").sha, open(path, "rb").read().hex(), len(names), len(set(names))])
""",
        )
        pages = [request for request in hub.log if "/tree/main/teile" in request.path]
    assert seen == [sha, (folder / "model.safetensors").read_bytes().hex(), 1001, 1001]
    assert len(pages) == 2


def test_history_can_be_squashed_and_objects_removed_for_good(folder: Path) -> None:
    with serve() as hub:
        seen = client(
            hub,
            """
api.create_repo(repo, **kind)
made = commit(files())
api.create_tag(repo, tag="v1", revision=made, **kind)
commit([Add("orte/corpus/corpus.parquet", b"PAR1 neu")])
old = [item for item in api.list_lfs_files(repo, **kind)]
api.delete_tag(repo, tag="v1", **kind)
api.super_squash_history(repo, **kind)
now = api.get_paths_info(repo, ["orte/corpus/corpus.parquet"], **kind)[0].lfs.sha256
gone = [item for item in old if item.filename == "orte/corpus/corpus.parquet" and item.file_oid != now]
api.permanently_delete_lfs_files(repo, gone, **kind)
left = len(list(api.list_lfs_files(repo, **kind)))
answer([len(old), len(gone), left])
""",
            folder=folder,
        )
        repo = hub.store.repo("dataset", REPO)
    assert seen == [4, 1, 3]
    assert repo.tags == {} and repo.commits[repo.branches["main"]].parent is None


def test_the_hub_stops_and_its_port_is_free_again() -> None:
    before = set(threading.enumerate())
    with serve() as first:
        port = int(first.endpoint.rsplit(":", maxsplit=1)[1])
    with serve(port=port) as second:
        assert isinstance(second, Hub)
        assert second.endpoint == first.endpoint
    assert not [thread for thread in threading.enumerate() if thread not in before]
