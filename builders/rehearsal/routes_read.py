"""Routes that change nothing: who is calling, what a repo holds, and its files."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from builders.rehearsal.model import Account, Blob, Commit, HubError, pointer
from builders.rehearsal.routes import gate, logged_in, param, readable, revision_of, storage_url

_PAGE = 1000
_CHUNK = 1 << 20


async def whoami(request: Request) -> Response:
    """GET /api/whoami-v2."""
    account = logged_in(request)
    token: dict[str, Any] = {"displayName": "loopback", "role": account.role}
    if account.role == "fineGrained":
        token["fineGrained"] = {"canReadGatedRepos": False, "global": [], "scoped": _scopes(account)}
    return JSONResponse({
        "type": "user",
        "id": "0",
        "name": account.name,
        "fullname": account.name,
        "orgs": [{"type": "org", "id": "0", "name": org, "roleInOrg": "write"} for org in account.orgs],
        "auth": {"type": "access_token", "accessToken": token},
    })


def _scopes(account: Account) -> list[dict[str, Any]]:
    return [
        {"entity": {"_id": "0", "type": kind, "name": name}, "permissions": list(account.permissions)}
        for kind, name in account.scoped()
    ]


async def info(request: Request) -> Response:
    """GET /api/T/ID and /api/T/ID/revision/REV; this route alone takes a shortened commit id."""
    repo = readable(request)
    commit = repo.resolve(revision_of(request), short=True)
    blobs = request.query_params.get("blobs", "").lower() in {"true", "1"}
    return JSONResponse({
        "_id": "0",
        "id": repo.id,
        "author": repo.owner,
        "sha": commit.oid,
        "private": repo.private,
        "gated": "manual" if repo.gated else False,
        "disabled": False,
        "lastModified": commit.date,
        "createdAt": commit.date,
        "tags": [],
        "downloads": 0,
        "likes": 0,
        "siblings": [_sibling(path, blob, blobs) for path, blob in sorted(commit.tree.items())],
    })


def _sibling(path: str, blob: Blob, details: bool) -> dict[str, Any]:
    item: dict[str, Any] = {"rfilename": path}
    if details:
        item |= {"size": blob.size, "blobId": blob.oid}
        if blob.lfs:
            item["lfs"] = {"sha256": blob.lfs, "size": blob.size, "pointerSize": _pointer_size(blob)}
    return item


async def tree(request: Request) -> Response:
    """GET /api/T/ID/tree/REV/PATH, in pages of 1,000 entries."""
    commit = readable(request).resolve(revision_of(request))
    query = request.query_params
    entries = _entries(
        commit, param(request, "path").strip("/"), query.get("recursive", "").lower() in {"true", "1"}
    )
    if query.get("expand", "").lower() in {"true", "1"}:
        last = {"id": commit.oid, "title": commit.title, "date": commit.date}
        entries = [entry | {"lastCommit": last} for entry in entries]
    start = int(query.get("cursor", "0"))
    headers = {}
    if start + _PAGE < len(entries):
        headers["Link"] = f'<{request.url.include_query_params(cursor=start + _PAGE)}>; rel="next"'
    return JSONResponse(entries[start : start + _PAGE], headers=headers)


def _entries(commit: Commit, base: str, recursive: bool) -> list[dict[str, Any]]:
    if base in commit.tree:
        return [_file(base, commit.tree[base])]
    prefix = f"{base}/" if base else ""
    inside = {path: blob for path, blob in commit.tree.items() if path.startswith(prefix)}
    if base and not inside:
        raise HubError(404, f'{base} does not exist on "{commit.oid}"', "EntryNotFound")
    entries: dict[str, dict[str, Any]] = {}
    for path, blob in inside.items():
        parts = path.removeprefix(prefix).split("/")
        depths = range(1, len(parts)) if recursive else range(1, min(2, len(parts)))
        folders = (prefix + "/".join(parts[:depth]) for depth in depths)
        entries |= {folder: _folder(commit, folder) for folder in folders if folder not in entries}
        if recursive or len(parts) == 1:
            entries[path] = _file(path, blob)
    return [entries[path] for path in sorted(entries)]


async def paths_info(request: Request) -> Response:
    """POST /api/T/ID/paths-info/REV, form-encoded."""
    commit = readable(request).resolve(revision_of(request))
    paths = [path.strip("/") for path in parse_qs((await request.body()).decode()).get("paths", [])]
    found = [_file(path, commit.tree[path]) for path in paths if path in commit.tree]
    folders = [path for path in paths if any(name.startswith(f"{path}/") for name in commit.tree)]
    return JSONResponse(found + [_folder(commit, path) for path in folders])


def _file(path: str, blob: Blob) -> dict[str, Any]:
    item: dict[str, Any] = {"type": "file", "oid": blob.oid, "size": blob.size, "path": path}
    if blob.lfs:
        item["lfs"] = {"oid": blob.lfs, "size": blob.size, "pointerSize": _pointer_size(blob)}
    return item


def _folder(commit: Commit, folder: str) -> dict[str, Any]:
    inside = sorted(path + blob.oid for path, blob in commit.tree.items() if path.startswith(f"{folder}/"))
    oid = hashlib.sha1("".join(inside).encode(), usedforsecurity=False).hexdigest()
    return {"type": "directory", "oid": oid, "size": 0, "path": folder}


def _pointer_size(blob: Blob) -> int:
    return len(pointer(blob.lfs, blob.size))


async def refs(request: Request) -> Response:
    """GET /api/T/ID/refs."""
    repo = readable(request)

    def listed(prefix: str, names: dict[str, str]) -> list[dict[str, str]]:
        return [{"name": name, "ref": f"{prefix}/{name}", "targetCommit": oid} for name, oid in names.items()]

    return JSONResponse({
        "branches": listed("refs/heads", repo.branches),
        "converts": [],
        "tags": listed("refs/tags", repo.tags),
        "pullRequests": [],
    })


async def commits(request: Request) -> Response:
    """GET /api/T/ID/commits/REV, newest first."""
    repo = readable(request)
    commit: Commit | None = repo.resolve(revision_of(request), short=True)
    history = []
    while commit is not None:
        history.append({
            "id": commit.oid,
            "title": commit.title,
            "message": commit.message,
            "date": commit.date,
            "authors": [{"user": commit.author}],
        })
        commit = repo.commits.get(commit.parent or "")
    return JSONResponse(history)


async def resolve(request: Request) -> Response:
    """GET or HEAD /T/ID/resolve/REV/PATH: the file, or for an LFS object a redirect to the storage."""
    repo = readable(request)
    gate(request, repo)
    commit = repo.resolve(revision_of(request))
    path = param(request, "path")
    blob = commit.tree.get(path)
    headers = {"X-Repo-Commit": commit.oid}
    if blob is None:
        response = JSONResponse({"error": "Entry not found"}, 404, headers=headers)
        response.headers["X-Error-Code"] = "EntryNotFound"
        response.headers["X-Error-Message"] = "Entry not found"
        return response
    if not blob.lfs:
        return content(request, blob, headers | {"ETag": f'"{blob.oid}"'})
    headers |= {"X-Linked-ETag": f'"{blob.lfs}"', "X-Linked-Size": str(blob.size)}
    location = storage_url(request, f"/storage/{repo.type}s/{repo.id}/{commit.oid}/{quote(path)}")
    return Response(status_code=302, headers=headers | {"Location": location})


def content(request: Request, blob: Blob, headers: dict[str, str]) -> Response:
    """Return a file, or the one range of it that is asked for."""
    start, end = 0, blob.size
    asked = request.headers.get("range", "")
    if asked:
        start, end = _range(asked, blob.size)
    headers |= {"Accept-Ranges": "bytes", "Content-Length": str(end - start)}
    if asked:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{blob.size}"
    status, media = (206 if asked else 200), "application/octet-stream"
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers, media_type=media)
    if isinstance(blob.data, bytes):
        return Response(blob.data[start:end], status, headers=headers, media_type=media)
    return StreamingResponse(_read(blob.data, start, end), status, headers=headers, media_type=media)


def _range(asked: str, size: int) -> tuple[int, int]:
    unit, _, span = asked.partition("=")
    first, dash, last = span.partition("-")
    try:
        if unit != "bytes" or not dash:
            raise ValueError
        start = int(first) if first else max(0, size - int(last))
        end = min(size, int(last) + 1) if first and last else size
    except ValueError as error:
        raise HubError(416, f"Cannot serve the range {asked}") from error
    if not 0 <= start < end:
        raise HubError(416, f"Cannot serve the range {asked} of {size} bytes")
    return start, end


async def _read(path: Path, start: int, end: int) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        while start < end:
            chunk = file.read(min(_CHUNK, end - start))
            if not chunk:
                raise OSError(f"{path} became shorter while it was served")
            start += len(chunk)
            yield chunk
