"""Routes of large files: uploading, downloading, listing and removing LFS objects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from builders.rehearsal.model import HubError, Repo, git_oid, pointer
from builders.rehearsal.routes import (
    check_signature,
    json_body,
    named_repo,
    param,
    storage_url,
    store_of,
    writable,
)
from builders.rehearsal.routes_read import content


def _stored_repo(request: Request) -> Repo:
    """Return the repo of a storage address; its signature is the permission."""
    check_signature(request)
    return named_repo(request)


def _size(data: bytes | Path) -> int:
    return data.stat().st_size if isinstance(data, Path) else len(data)


async def batch(request: Request) -> Response:
    """POST /T/ID.git/info/lfs/objects/batch: where to upload the objects that are not there yet."""
    repo, _ = writable(request)
    body = await json_body(request, "operation", "objects")
    if body["operation"] != "upload":
        raise HubError(400, "Only uploads go through the batch API here")
    answers = []
    for wanted in body["objects"]:
        oid, size = str(wanted["oid"]), int(wanted["size"])
        answer: dict[str, Any] = {"oid": oid, "size": size, "authenticated": True}
        if oid not in repo.objects:
            href = storage_url(request, f"/storage/{repo.type}s/{repo.id}/{oid}/{size}")
            verify_href = f"{str(request.base_url).rstrip('/')}/{repo.type}s/{repo.id}/lfs-verify"
            answer["actions"] = {
                "upload": {"href": href, "header": {}},
                "verify": {"href": verify_href, "header": {}},
            }
        answers.append(answer)
    return JSONResponse({"transfer": "basic", "objects": answers}, media_type="application/vnd.git-lfs+json")


async def upload(request: Request) -> Response:
    """PUT to the storage."""
    repo = _stored_repo(request)
    store_of(request).put_object(
        repo, param(request, "oid"), int(param(request, "size")), await request.body()
    )
    return Response(headers={"ETag": f'"{param(request, "oid")}"'})


async def verify(request: Request) -> Response:
    """POST that follows an upload: is the object there, whole?"""
    repo, _ = writable(request)
    body = await json_body(request, "oid", "size")
    data = repo.objects.get(body["oid"])
    if data is None or _size(data) != body["size"]:
        raise HubError(404, f"LFS object not found: {body['oid']}")
    return JSONResponse({})


async def download(request: Request) -> Response:
    """GET or HEAD from the storage, where `resolve` redirects to."""
    repo = _stored_repo(request)
    commit = repo.commits.get(param(request, "revision"))
    blob = commit.tree.get(param(request, "path")) if commit else None
    if blob is None or blob.lfs not in repo.objects:
        raise HubError(404, "The specified key does not exist.", "EntryNotFound")
    return content(request, blob, {"ETag": f'"{blob.lfs}"'})


async def listing(request: Request) -> Response:
    """GET /api/T/ID/lfs-files: every LFS object of the repo, of any revision."""
    repo, _ = writable(request)
    names = {
        blob.lfs: (path, commit.date)
        for commit in repo.commits.values()
        for path, blob in commit.tree.items()
        if blob.lfs
    }
    items = []
    for oid, data in repo.objects.items():
        name, date = names.get(oid, ("", next(reversed(repo.commits.values())).date))
        items.append({
            "fileOid": oid,
            "filename": name,
            "oid": git_oid(pointer(oid, _size(data))),
            "pushedAt": date,
            "ref": "main",
            "size": _size(data),
            "xetHash": None,
        })
    return JSONResponse(items)


async def remove(request: Request) -> Response:
    """POST /api/T/ID/lfs-files/batch: remove objects for good, and on demand from every commit's tree."""
    repo, _ = writable(request)
    deletions = (await json_body(request, "deletions"))["deletions"]
    gone = set(deletions["sha"])
    for oid in gone:
        if repo.objects.pop(oid, None) is None:
            raise HubError(404, f"LFS object not found: {oid}")
    if deletions.get("rewriteHistory"):
        for oid, commit in repo.commits.items():
            left = {path: blob for path, blob in commit.tree.items() if blob.lfs not in gone}
            repo.commits[oid] = replace(commit, tree=left)
    return JSONResponse({})
