"""The Hub refuses what the real one refuses."""

from __future__ import annotations

import base64
import hashlib
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import CommitOperationAdd, HfApi

from builders.rehearsal import READ_TOKEN, WRITE_TOKEN, Hub, Store
from tests.rehearsal.kit import (
    CARD,
    FINE_GRAINED_TOKEN,
    REPO,
    STRANGER_TOKEN,
    client,
    serve,
    write_folder,
)

API = f"/api/datasets/{REPO}"


@pytest.fixture
def hub() -> Iterator[Hub]:
    store = Store()
    store.create_repo("dataset", REPO)
    with serve(store) as running:
        yield running


def ask(
    hub: Hub, method: str, path: str, body: Any = None, token: str | None = WRITE_TOKEN
) -> tuple[int, str, bytes]:
    """Send one request without the client's help; returns status, X-Error-Code and body."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
    url = path if path.startswith("http") else hub.endpoint + path
    request = urllib.request.Request(url, data, method=method)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, response.headers.get("X-Error-Code", ""), response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers.get("X-Error-Code", ""), error.read()


def commit_body(*operations: tuple[str, dict[str, Any]], parent: str = "") -> bytes:
    header: dict[str, Any] = {"summary": "Commit"} | ({"parentCommit": parent} if parent else {})
    lines = [("header", header), *operations]
    return b"\n".join(json.dumps({"key": key, "value": value}).encode() for key, value in lines)


def added(path: str, content: bytes) -> tuple[str, dict[str, Any]]:
    return "file", {"path": path, "content": base64.b64encode(content).decode(), "encoding": "base64"}


def head(hub: Hub) -> str:
    return hub.store.repo("dataset", REPO).branches["main"]


@pytest.mark.parametrize(
    "path", ["/", "/api/models", f"{API}/parquet", f"{API}/croissant", "/spaces/a/b/resolve/main/c"]
)
def test_unknown_routes_are_404(hub: Hub, path: str) -> None:
    assert ask(hub, "GET", path)[0] == 404


def test_revisions_must_be_branches_tags_or_full_ids(hub: Hub) -> None:
    oid = head(hub)
    for revision in ("main", oid):
        assert ask(hub, "GET", f"/datasets/{REPO}/resolve/{revision}/.gitattributes")[0] == 200
    for path in (f"/datasets/{REPO}/resolve/{oid[:10]}/.gitattributes", f"{API}/tree/{oid[:10]}"):
        assert ask(hub, "GET", path)[:2] == (404, "RevisionNotFound")
    for method, path, body in (
        ("POST", f"{API}/tag/{oid[:10]}", {"tag": "v1"}),
        ("POST", f"{API}/preupload/{oid[:10]}", {"files": []}),
        ("POST", f"{API}/commit/{oid}", commit_body(added("a.txt", b"a"))),
    ):
        status, code, _ = ask(hub, method, path, body)
        assert (status, code) == (404, "RevisionNotFound"), path
    assert ask(hub, "GET", f"{API}/revision/{oid[:10]}")[0] == 200
    assert head(hub) == oid


def test_a_commit_is_all_or_nothing(hub: Hub) -> None:
    before = head(hub)
    for operations, expected in (
        ((added("a.txt", b"a"), ("deletedFile", {"path": "fehlt"})), 404),
        ((added("a.txt", b"a"), ("deletedFolder", {"path": "fehlt/"})), 404),
        (
            (added("a.txt", b"a"), ("lfsFile", {"path": "b", "algo": "sha256", "oid": "0" * 64, "size": 1})),
            400,
        ),
        ((added("../a.txt", b"a"),), 400),
        ((added("/a.txt", b"a"),), 400),
        ((added("a//b.txt", b"a"),), 400),
        ((("link", {"path": "a"}),), 400),
        ((("file", {"path": "a", "content": "?", "encoding": "base64"}),), 400),
    ):
        assert ask(hub, "POST", f"{API}/commit/main", commit_body(*operations))[0] == expected, operations
    assert ask(hub, "POST", f"{API}/commit/main", b"not json")[0] == 400
    assert ask(hub, "POST", f"{API}/commit/main", b"")[0] == 400
    assert head(hub) == before
    assert ask(hub, "POST", f"{API}/commit/main", commit_body(added("a.txt", b"a"), parent=before))[0] == 200
    assert ask(hub, "POST", f"{API}/commit/main", commit_body(added("b.txt", b"b"), parent=before))[0] == 412


def test_large_files_must_be_uploaded_whole_before_they_are_committed(hub: Hub) -> None:
    data = b"PAR1 Zeilen PAR1"
    oid = hashlib.sha256(data).hexdigest()
    wanted = {"operation": "upload", "objects": [{"oid": oid, "size": len(data)}]}
    value = {"path": "a.parquet", "algo": "sha256", "oid": oid, "size": len(data)}
    pointer, wrong = ("lfsFile", value), ("lfsFile", value | {"size": 1})
    batch = f"/datasets/{REPO}.git/info/lfs/objects/batch"
    actions = json.loads(ask(hub, "POST", batch, wanted)[2])["objects"][0]["actions"]
    href = actions["upload"]["href"]
    assert href.startswith("http://localhost:"), "the storage must have another origin than the Hub"
    for tampered in (data[:-1], data[:-1] + b"2"):
        assert ask(hub, "PUT", href, tampered, token=None)[0] == 400
    assert ask(hub, "PUT", href.replace(oid, "1" * 64), data, token=None)[0] == 403
    assert ask(hub, "POST", actions["verify"]["href"], {"oid": oid, "size": len(data)})[0] == 404
    assert ask(hub, "POST", f"{API}/commit/main", commit_body(pointer))[0] == 400
    assert ask(hub, "PUT", href, data, token=None)[0] == 200
    assert ask(hub, "POST", actions["verify"]["href"], {"oid": oid, "size": 1})[0] == 404
    assert ask(hub, "POST", actions["verify"]["href"], {"oid": oid, "size": len(data)})[0] == 200
    assert "actions" not in json.loads(ask(hub, "POST", batch, wanted)[2])["objects"][0]
    assert ask(hub, "POST", f"{API}/commit/main", commit_body(wrong))[0] == 400
    assert ask(hub, "POST", f"{API}/commit/main", commit_body(pointer))[0] == 200
    assert ask(hub, "GET", f"/datasets/{REPO}/resolve/main/a.parquet")[2] == data


@pytest.mark.parametrize(("asked", "status", "body"), [
    ("bytes=0-3", 206, b"PAR1"),
    ("bytes=12-", 206, b"PAR1"),
    ("bytes=-4", 206, b"PAR1"),
    ("bytes=99-", 416, None),
    ("lines=1-2", 416, None),
])  # fmt: skip
def test_ranges_of_files_on_disk_and_in_memory(
    tmp_path: Path, asked: str, status: int, body: bytes | None
) -> None:
    for name in ("a.parquet", "a.txt"):
        (tmp_path / name).write_bytes(b"PAR1 Zeilen PAR1"[:16])
    store = Store()
    store.add_folder("dataset", REPO, tmp_path)
    with serve(store) as hub:
        for name in ("a.parquet", "a.txt"):
            request = urllib.request.Request(f"{hub.endpoint}/datasets/{REPO}/resolve/main/{name}")
            request.add_header("Range", asked)
            try:
                with urllib.request.urlopen(request) as response:
                    assert (response.status, response.read()) == (status, body)
            except urllib.error.HTTPError as error:
                with error:
                    assert (error.code, body) == (status, None)


def test_tokens_and_private_repos(hub: Hub) -> None:
    hub.store.create_repo("dataset", "maintainer/geheim", private=True)
    write = commit_body(added("a.txt", b"a"))
    secret = "/api/datasets/maintainer/geheim"
    for token, public, private in (
        (None, 401, 401),
        ("hf_unknown", 401, 401),
        (STRANGER_TOKEN, 403, 404),
        (READ_TOKEN, 403, 403),
        (FINE_GRAINED_TOKEN, 403, 403),
        (WRITE_TOKEN, 200, 200),
    ):
        assert ask(hub, "POST", f"{API}/commit/main", write, token)[0] == public, token
        assert ask(hub, "POST", f"{secret}/commit/main", write, token)[0] == private, token
    for token, status in ((None, 401), (STRANGER_TOKEN, 404), (READ_TOKEN, 200)):
        assert ask(hub, "GET", secret, token=token)[0] == status
    assert ask(hub, "GET", "/api/datasets/maintainer/fehlt")[:2] == (404, "RepoNotFound")
    assert ask(hub, "GET", "/api/datasets/maintainer/fehlt", token=None)[:2] == (401, "RepoNotFound")
    for name, token, status in (("fremd", WRITE_TOKEN, 403), ("maintainer", READ_TOKEN, 403)):
        body = {"name": "neu", "organization": name, "type": "dataset"}
        assert ask(hub, "POST", "/api/repos/create", body, token)[0] == status


def test_a_gated_repo_is_seen_by_all_and_read_by_its_owner(hub: Hub) -> None:
    hub.store.repo("dataset", REPO).gated = True
    page = f"/datasets/{REPO}/resolve/main/.gitattributes"
    for token, expected in ((None, 401), (STRANGER_TOKEN, 403)):
        for method in ("GET", "HEAD"):
            assert ask(hub, method, page, token=token)[:2] == (expected, "GatedRepo")
        status, _, body = ask(hub, "GET", API, token=token)
        assert (status, json.loads(body)["gated"]) == (200, "manual")
    assert ask(hub, "GET", page, token=READ_TOKEN)[0] == 200


def test_the_client_sees_private_repos_and_read_tokens_as_on_the_hub(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "repo")
    with serve(Store(orgs=["verein"])) as hub:
        api = HfApi(endpoint=hub.endpoint, token=WRITE_TOKEN)
        for repo, private in (("verein/liste", True), (REPO, False)):
            api.create_repo(repo, private=private, repo_type="dataset")
        code = """
answer([name_of_error(api.repo_info, "verein/liste", **kind), status(commit, files()),
        api.whoami()["auth"]["accessToken"] if os.environ.get("HF_TOKEN") else None])
"""
        anonymous = client(hub, code, folder=folder, token=None)
        reader = client(hub, code, folder=folder, token=READ_TOKEN)
    assert anonymous == ["RepositoryNotFoundError", 401, None]
    assert reader[:2] == ["", 403] and reader[2]["role"] == "read"


def test_the_client_cannot_push_a_card_with_bad_metadata(hub: Hub) -> None:
    bad = CARD.replace("cc-by-4.0", "cc-by-5.0")
    api, readme = (
        HfApi(endpoint=hub.endpoint, token=WRITE_TOKEN),
        CommitOperationAdd("README.md", bad.encode()),
    )
    with pytest.raises(ValueError, match="metadata in README"):
        api.create_commit(REPO, [readme], commit_message="Karte", repo_type="dataset")
    assert ask(hub, "POST", f"{API}/commit/main", commit_body(added("README.md", bad.encode())))[0] == 400
    assert ask(hub, "POST", f"{API}/commit/main", commit_body(added("README.md", CARD.encode())))[0] == 200
