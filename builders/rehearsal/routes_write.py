"""Routes that change a repo: creating, committing, tagging, branching."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from builders.rehearsal.metadata import card_errors
from builders.rehearsal.model import AddFile, AddLfs, Delete, HubError, Operation, RepoType
from builders.rehearsal.routes import json_body, logged_in, param, revision_of, store_of, writable
from builders.rehearsal.store import MAIN

_REF_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")


def _repo_id(request: Request, body: dict[str, Any]) -> tuple[RepoType, str]:
    account = logged_in(request)
    owner = str(body.get("organization") or account.name)
    repo_type: RepoType = "dataset" if body.get("type") == "dataset" else "model"
    if body.get("type") not in {"dataset", "model", None}:
        raise HubError(400, f"This Hub has no {body['type']} repos")
    if not account.may_write(owner):
        raise HubError(
            403, f'You don\'t have the rights to create a {repo_type} under the namespace "{owner}"'
        )
    return repo_type, f"{owner}/{body['name']}"


async def create_repo(request: Request) -> Response:
    """POST /api/repos/create."""
    body = await json_body(request, "name")
    repo_type, repo_id = _repo_id(request, body)
    url = f"{request.base_url}{'datasets/' if repo_type == 'dataset' else ''}{repo_id}"
    try:
        private = body.get("visibility") == "private" or body.get("private") is True
        store_of(request).create_repo(repo_type, repo_id, private=private)
    except HubError as error:
        # create_repo(exist_ok=True) reads the address from the body of the refusal
        return JSONResponse({"error": error.message, "url": url}, error.status)
    return JSONResponse({"url": url, "name": repo_id, "id": "0"})


async def delete_repo(request: Request) -> Response:
    """DELETE /api/repos/delete."""
    repo_type, repo_id = _repo_id(request, await json_body(request, "name"))
    store = store_of(request)
    store.repo(repo_type, repo_id)
    del store.repos[repo_type, repo_id]
    return JSONResponse({})


async def validate_yaml(request: Request) -> Response:
    """POST /api/validate-yaml: is that README.md's metadata acceptable?"""
    body = await json_body(request, "content", "repoType")
    errors = card_errors(str(body["content"]).encode(), str(body["repoType"]))
    document = {"errors": [{"message": error} for error in errors], "warnings": []}
    return JSONResponse(document, 400 if errors else 200)


async def preupload(request: Request) -> Response:
    """POST /api/T/ID/preupload/REV: how each file is to be sent, and what lies there now."""
    repo, _ = writable(request)
    commit = repo.resolve(revision_of(request))
    files = []
    for wanted in (await json_body(request, "files"))["files"]:
        path, size = str(wanted["path"]), int(wanted["size"])
        blob = commit.tree.get(path)
        files.append({
            "path": path,
            "uploadMode": "lfs" if repo.takes_lfs(commit, path, size) else "regular",
            "shouldIgnore": False,
            "oid": (blob.lfs or blob.oid) if blob else None,
        })
    return JSONResponse({"files": files, "commitOid": commit.oid})


async def commit(request: Request) -> Response:
    """POST /api/T/ID/commit/BRANCH: newline-delimited JSON, a header and then the operations."""
    repo, account = writable(request)
    try:
        lines = [json.loads(line) for line in (await request.body()).splitlines() if line.strip()]
        header, *items = [(line["key"], line["value"]) for line in lines]
        if header[0] != "header" or not header[1]["summary"]:
            raise ValueError("the first line must be a header with a summary")
        operations = [_operation(key, value) for key, value in items]
    except (ValueError, KeyError, TypeError, binascii.Error) as error:
        raise HubError(400, f"Malformed commit: {error!r}") from error
    made = store_of(request).commit(
        repo,
        revision_of(request),
        operations,
        title=header[1]["summary"],
        message=header[1].get("description", ""),
        author=account.name,
        parent=header[1].get("parentCommit"),
    )
    url = f"{request.base_url}{repo.url_path}/commit/{made.oid}"
    return JSONResponse({"success": True, "commitOid": made.oid, "commitUrl": url, "hookOutput": ""})


def _operation(key: str, value: dict[str, Any]) -> Operation:
    match key:
        case "file":
            if value.get("encoding") != "base64":
                raise ValueError("files must be encoded as base64")
            return AddFile(value["path"], base64.b64decode(value["content"], validate=True))
        case "lfsFile":
            if value["algo"] != "sha256":
                raise ValueError("LFS objects are named by sha256")
            return AddLfs(value["path"], value["oid"], value.get("size"))
        case "deletedFile":
            return Delete(value["path"])
        case "deletedFolder":
            return Delete(value["path"], folder=True)
    raise ValueError(f"unknown operation {key}")


async def tag(request: Request) -> Response:
    """POST /api/T/ID/tag/REV makes a tag there, DELETE /api/T/ID/tag/TAG removes it."""
    repo, _ = writable(request)
    if request.method == "DELETE":
        return _remove(repo.tags, param(request, "revision"))
    name = str((await json_body(request, "tag"))["tag"])
    target = repo.resolve(revision_of(request))
    return _add(repo.tags, name, target.oid, f"Tag reference exists already: {name}")


async def branch(request: Request) -> Response:
    """POST /api/T/ID/branch/NAME makes a branch, DELETE removes it."""
    repo, _ = writable(request)
    name = param(request, "revision")
    if request.method == "DELETE":
        if name == MAIN:
            raise HubError(403, "Cannot delete the main branch")
        return _remove(repo.branches, name)
    start = repo.resolve((await json_body(request)).get("startingPoint") or MAIN)
    return _add(repo.branches, name, start.oid, f"Reference already exists: refs/heads/{name}")


def _add(references: dict[str, str], name: str, oid: str, taken: str) -> Response:
    if not _REF_NAME.fullmatch(name) or ".." in name:
        raise HubError(400, f"Invalid reference name: {name!r}")
    if name in references:
        raise HubError(409, taken)
    references[name] = oid
    return JSONResponse({})


def _remove(references: dict[str, str], name: str) -> Response:
    if references.pop(name, None) is None:
        raise HubError(404, f"No such reference: {name}", "RevisionNotFound")
    return JSONResponse({})


async def squash(request: Request) -> Response:
    """POST /api/T/ID/super-squash/BRANCH."""
    repo, account = writable(request)
    title = str((await json_body(request)).get("message") or "Super-squash")
    store_of(request).squash(repo, revision_of(request), title=title, author=account.name)
    return JSONResponse({})
