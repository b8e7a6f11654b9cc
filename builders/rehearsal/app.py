"""The routes of the Hub, as an ASGI application.

Routes match the raw path, since a revision such as ``refs/pr/1`` arrives as one part, ``refs%2Fpr%2F1``.
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qs, quote, unquote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from builders.rehearsal.refusals import HubError, card_errors
from builders.rehearsal.store import MAIN, TYPES, Account, Blob, Commit, Operation, Repo, Store, takes_lfs

_PAGE = 1000
_BINARY = "application/octet-stream"
_REF_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")
_SIGNING_KEY = b"loopback"


class Application(Starlette):
    """The ASGI application that serves a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        api = "/api/{type}/{owner}/{name}"
        resolve = "/{owner}/{name}/resolve/{revision}/{path:path}"
        routes = [
            Route("/api/whoami-v2", self._whoami),
            Route(api, self._info),
            Route(f"{api}/revision/{{revision}}", self._info),
            Route(f"{api}/tree/{{revision}}", self._tree),
            Route(f"{api}/tree/{{revision}}/{{path:path}}", self._tree),
            Route(f"{api}/paths-info/{{revision}}", self._paths_info, methods=["POST"]),
            Route(f"{api}/refs", self._refs),
            Route("/api/repos/create", self._create_repo, methods=["POST"]),
            Route("/api/validate-yaml", self._validate_yaml, methods=["POST"]),
            Route(f"{api}/preupload/{{revision}}", self._preupload, methods=["POST"]),
            Route(f"{api}/commit/{{revision}}", self._commit, methods=["POST"]),
            Route(f"{api}/tag/{{revision}}", self._tag, methods=["POST", "DELETE"]),
            Route(f"{api}/super-squash/{{revision}}", self._squash, methods=["POST"]),
            Route(f"{api}/lfs-files", self._lfs_files),
            Route(f"{api}/lfs-files/batch", self._remove_lfs_files, methods=["POST"]),
            Route("/{type}/{owner}/{name}.git/info/lfs/objects/batch", self._lfs_batch, methods=["POST"]),
            Route("/storage/{type}/{owner}/{name}/{oid}/{size}", self._upload, methods=["PUT"]),
            Route("/{type}/{owner}/{name}/lfs-verify", self._verify_upload, methods=["POST"]),
            Route("/storage/{type}/{owner}/{name}/{revision}/{path:path}", self._download),
            Route("/{type}" + resolve, self._resolve),
            Route(resolve, self._resolve),
        ]
        super().__init__(routes=routes, exception_handlers={HubError: _refuse})

    def _commit_of(self, request: Request) -> tuple[Repo, Commit]:
        """Return the repo of the path and the commit of its revision."""
        repo = self._readable(request)
        return repo, repo.resolve(_revision(request))

    def _account(self, request: Request) -> Account | None:
        """Return the account of the request's token, None without a token."""
        header = request.headers.get("authorization", "")
        if not header:
            return None
        account = self._store.accounts.get(header.removeprefix("Bearer ").strip())
        if account is None:
            raise HubError(401, "Invalid credentials in Authorization header")
        return account

    def _logged_in(self, request: Request) -> Account:
        account = self._account(request)
        if account is None:
            raise HubError(401, "Invalid username or password.")
        return account

    def _named_repo(self, request: Request) -> Repo:
        """Return the repo of the path, whoever asks."""
        repo_type = TYPES.get(_part(request, "type", "models"))
        if repo_type is None:
            raise HubError(404, "Repository not found", "RepoNotFound")
        return self._store.repo(repo_type, f"{_part(request, 'owner')}/{_part(request, 'name')}")

    def _readable(self, request: Request) -> Repo:
        """Return the repo of the path if the caller may see it; an anonymous one gets 401 in place of 404."""
        account = self._account(request)
        try:
            repo = self._named_repo(request)
            if repo.private and (account is None or not account.belongs(repo.owner)):
                raise HubError(404, "Repository not found", "RepoNotFound")
        except HubError as error:
            if account is None:
                raise HubError(401, "Invalid username or password.", "RepoNotFound") from error
            raise
        return repo

    def _writable(self, request: Request) -> Repo:
        """Return the repo of the path if the caller may change it."""
        repo = self._readable(request)
        if not self._logged_in(request).may_write(repo.owner):
            raise HubError(403, "Forbidden: pass a token that may write to this repository.")
        return repo

    def _stored_repo(self, request: Request) -> Repo:
        """Return the repo of a storage address; its signature is the permission."""
        if not hmac.compare_digest(request.query_params.get("signature", ""), _signature(request.url.path)):
            raise HubError(403, "Access denied: the address is not signed")
        return self._named_repo(request)

    async def _whoami(self, request: Request) -> Response:
        """GET /api/whoami-v2."""
        account = self._logged_in(request)
        orgs = [{"name": org, "roleInOrg": "write"} for org in account.orgs]
        token = {"displayName": "loopback", "role": account.role}
        return JSONResponse({"name": account.name, "orgs": orgs, "auth": {"accessToken": token}})

    async def _info(self, request: Request) -> Response:
        """GET /api/T/ID and /api/T/ID/revision/REV; this route alone takes a shortened commit id."""
        repo = self._readable(request)
        commit = repo.resolve(_revision(request), short=True)
        return JSONResponse({
            "id": repo.id,
            "sha": commit.oid,
            "private": repo.private,
            "gated": "manual" if repo.gated else False,
            "lastModified": commit.date,
            "siblings": [{"rfilename": path} for path in sorted(commit.tree)],
        })

    async def _tree(self, request: Request) -> Response:
        """GET /api/T/ID/tree/REV/PATH, in pages of 1,000 entries."""
        _, commit = self._commit_of(request)
        recursive = request.query_params.get("recursive", "").lower() in {"true", "1"}
        entries = _entries(commit, _part(request, "path").strip("/"), recursive=recursive)
        start = int(request.query_params.get("cursor", "0"))
        headers = {}
        if start + _PAGE < len(entries):
            headers["Link"] = f'<{request.url.include_query_params(cursor=start + _PAGE)}>; rel="next"'
        return JSONResponse(entries[start : start + _PAGE], headers=headers)

    async def _paths_info(self, request: Request) -> Response:
        """POST /api/T/ID/paths-info/REV, form-encoded."""
        _, commit = self._commit_of(request)
        paths = [path.strip("/") for path in parse_qs((await request.body()).decode()).get("paths", [])]
        there = commit.tree.keys() | _folders(commit)
        return JSONResponse([_entry(commit, path) for path in paths if path in there])

    async def _refs(self, request: Request) -> Response:
        """GET /api/T/ID/refs."""
        repo, refs = self._readable(request), {}
        for kind, folder, names in (("branches", "heads", repo.branches), ("tags", "tags", repo.tags)):
            refs[kind] = [
                {"name": name, "ref": f"refs/{folder}/{name}", "targetCommit": oid}
                for name, oid in names.items()
            ]
        return JSONResponse(refs | {"converts": []})

    async def _resolve(self, request: Request) -> Response:
        """GET or HEAD /T/ID/resolve/REV/PATH: the file, or for an LFS object a redirect to the storage."""
        (repo, commit), path = self._commit_of(request), _part(request, "path")
        blob = commit.tree.get(path)
        if blob is None:
            raise HubError(404, "Entry not found", "EntryNotFound", commit.oid)
        headers = {"X-Repo-Commit": commit.oid}
        if not blob.lfs:
            return _content(request, blob, headers | {"ETag": f'"{blob.oid}"'})
        headers |= {"X-Linked-ETag": f'"{blob.lfs}"', "X-Linked-Size": str(blob.size)}
        location = _storage_url(request, f"/storage/{repo.path}/{commit.oid}/{quote(path)}")
        return Response(status_code=302, headers=headers | {"Location": location})

    async def _download(self, request: Request) -> Response:
        """GET or HEAD from the storage, where `resolve` redirects to."""
        repo = self._stored_repo(request)
        commit = repo.commits.get(_revision(request))
        blob = commit.tree.get(_part(request, "path")) if commit else None
        if blob is None or blob.lfs not in repo.objects:
            raise HubError(404, "The specified key does not exist.", "EntryNotFound")
        return _content(request, blob, {"ETag": f'"{blob.lfs}"'})

    async def _create_repo(self, request: Request) -> Response:
        """POST /api/repos/create."""
        account, body = self._logged_in(request), await _body(request, "name", "type")
        owner = str(body.get("organization") or account.name)
        if body["type"] != "dataset":
            raise HubError(400, "This Hub makes dataset repos only")
        if not account.may_write(owner):
            raise HubError(
                403, f'You don\'t have the rights to create a dataset under the namespace "{owner}"'
            )
        repo_id = f"{owner}/{body['name']}"
        url = f"{request.base_url}datasets/{repo_id}"
        try:
            private = body.get("visibility") == "private" or body.get("private") is True
            self._store.create_repo("dataset", repo_id, private=private)
        except HubError as error:
            # create_repo(exist_ok=True) reads the address from the body of the refusal
            return JSONResponse({"error": error.message, "url": url}, error.status)
        return JSONResponse({"url": url, "name": repo_id, "id": "0"})

    async def _validate_yaml(self, request: Request) -> Response:
        """POST /api/validate-yaml: the faults of a README.md's metadata."""
        errors = card_errors(str((await _body(request, "content"))["content"]).encode())
        document = {"errors": [{"message": error} for error in errors], "warnings": []}
        return JSONResponse(document, 400 if errors else 200)

    async def _preupload(self, request: Request) -> Response:
        """POST /api/T/ID/preupload/REV: how each file is to be sent, and what lies there now."""
        repo = self._writable(request)
        commit = repo.resolve(_revision(request))
        files = []
        for wanted in (await _body(request, "files"))["files"]:
            path, size = str(wanted["path"]), int(wanted["size"])
            blob = commit.tree.get(path)
            files.append({
                "path": path,
                "uploadMode": "lfs" if takes_lfs(path, size) else "regular",
                "shouldIgnore": False,
                "oid": (blob.lfs or blob.oid) if blob else None,
            })
        return JSONResponse({"files": files, "commitOid": commit.oid})

    async def _commit(self, request: Request) -> Response:
        """POST /api/T/ID/commit/BRANCH: newline-delimited JSON, a header and then the operations."""
        repo = self._writable(request)
        try:
            lines = [json.loads(line) for line in (await request.body()).splitlines() if line.strip()]
            header, *items = [(line["key"], line["value"]) for line in lines]
            if header[0] != "header" or not header[1]["summary"]:
                raise ValueError("the first line must be a header with a summary")
            operations = [_operation(key, value) for key, value in items]
            title, parent = header[1]["summary"], header[1].get("parentCommit")
        except (ValueError, KeyError, TypeError, binascii.Error) as error:
            raise HubError(400, f"Malformed commit: {error!r}") from error
        made = self._store.commit(repo, _revision(request), operations, title=title, parent=parent)
        url = f"{request.base_url}{repo.path}/commit/{made.oid}"
        return JSONResponse({"commitOid": made.oid, "commitUrl": url})

    async def _tag(self, request: Request) -> Response:
        """POST /api/T/ID/tag/REV makes a tag there, DELETE /api/T/ID/tag/TAG removes it."""
        repo = self._writable(request)
        if request.method == "DELETE":
            if repo.tags.pop(_revision(request), None) is None:
                raise HubError(404, f"No such reference: {_revision(request)}", "RevisionNotFound")
            return JSONResponse({})
        name = str((await _body(request, "tag"))["tag"])
        target = repo.resolve(_revision(request))
        if not _REF_NAME.fullmatch(name) or ".." in name:
            raise HubError(400, f"Invalid reference name: {name!r}")
        if name in repo.tags:
            raise HubError(409, f"Tag reference exists already: {name}")
        repo.tags[name] = target.oid
        return JSONResponse({})

    async def _squash(self, request: Request) -> Response:
        """POST /api/T/ID/super-squash/BRANCH."""
        repo = self._writable(request)
        title = str((await _body(request)).get("message") or "Super-squash")
        self._store.squash(repo, _revision(request), title=title)
        return JSONResponse({})

    async def _lfs_batch(self, request: Request) -> Response:
        """POST /T/ID.git/info/lfs/objects/batch: where to upload the objects that are not there yet."""
        repo = self._writable(request)
        body = await _body(request, "operation", "objects")
        if body["operation"] != "upload":
            raise HubError(400, "Only uploads go through the batch API here")
        answers = []
        for wanted in body["objects"]:
            oid, size = str(wanted["oid"]), int(wanted["size"])
            instructions: dict[str, Any] = {"oid": oid, "size": size, "authenticated": True}
            if oid not in repo.objects:
                upload = _storage_url(request, f"/storage/{repo.path}/{oid}/{size}")
                verify = f"{request.base_url}{repo.path}/lfs-verify"
                links = {"upload": upload, "verify": verify}
                instructions["actions"] = {name: {"href": href, "header": {}} for name, href in links.items()}
            answers.append(instructions)
        answer = {"transfer": "basic", "objects": answers}
        return JSONResponse(answer, media_type="application/vnd.git-lfs+json")

    async def _upload(self, request: Request) -> Response:
        """PUT to the storage."""
        repo, oid = self._stored_repo(request), _part(request, "oid")
        self._store.put_object(repo, oid, int(_part(request, "size")), await request.body())
        return Response(headers={"ETag": f'"{oid}"'})

    async def _verify_upload(self, request: Request) -> Response:
        """POST that follows an upload; refuse an object that is not there as a whole."""
        repo = self._writable(request)
        body = await _body(request, "oid", "size")
        if repo.lfs_object(body["oid"]).size != body["size"]:
            raise HubError(404, f"LFS object not found: {body['oid']}")
        return JSONResponse({})

    async def _lfs_files(self, request: Request) -> Response:
        """GET /api/T/ID/lfs-files: every LFS object of the repo, of any revision."""
        repo = self._writable(request)
        trees = [(commit.date, commit.tree) for commit in repo.commits.values()]
        names = {blob.lfs: (path, date) for date, tree in trees for path, blob in tree.items()}
        items = []
        for blob in map(repo.lfs_object, repo.objects):
            name, date = names.get(blob.lfs, ("", trees[-1][0]))
            item = {
                "fileOid": blob.lfs,
                "filename": name,
                "oid": blob.oid,
                "pushedAt": date,
                "size": blob.size,
            }
            items.append(item | {"ref": MAIN, "xetHash": None})
        return JSONResponse(items)

    async def _remove_lfs_files(self, request: Request) -> Response:
        """POST /api/T/ID/lfs-files/batch: remove objects for good, and on demand from every commit's tree."""
        repo = self._writable(request)
        deletions = (await _body(request, "deletions"))["deletions"]
        self._store.remove_objects(repo, set(deletions["sha"]), rewrite=bool(deletions.get("rewriteHistory")))
        return JSONResponse({})


def _part(request: Request, name: str, default: str = "") -> str:
    """Return a part of the path, unquoted."""
    return unquote(request.path_params.get(name, default))


def _revision(request: Request) -> str:
    return _part(request, "revision", MAIN)


async def _body(request: Request, *required: str) -> dict[str, Any]:
    """Return the JSON object of the body."""
    try:
        body = json.loads(await request.body() or b"{}")
    except ValueError as error:
        raise HubError(400, "The body is not JSON") from error
    if not isinstance(body, dict) or not body.keys() >= set(required):
        raise HubError(400, f"The body must be an object with {', '.join(required)}")
    return body


def _signature(path: str) -> str:
    """Return what proves that this Hub gave out an address of its storage."""
    return hmac.new(_SIGNING_KEY, path.encode(), hashlib.sha256).hexdigest()[:32]


def _storage_url(request: Request, path: str) -> str:
    # of another origin: within one the client follows a redirect, and loses the commit id that it carries
    return f"http://localhost:{request.url.port}{path}?signature={_signature(path)}"


def _refuse(_: Request, error: Exception) -> Response:
    """Answer a refusal as the Hub does, in the body and in headers."""
    assert isinstance(error, HubError)
    headers = {"X-Error-Message": error.message.encode("ascii", "replace").decode().replace("\n", " ")}
    headers |= {"X-Error-Code": error.code} if error.code else {}
    headers |= {"X-Repo-Commit": error.commit} if error.commit else {}
    return JSONResponse({"error": error.message}, error.status, headers=headers)


def _entries(commit: Commit, base: str, *, recursive: bool) -> list[dict[str, Any]]:
    """Return the file of a path, or files and folders of a folder."""
    if base in commit.tree:
        return [_entry(commit, base)]
    prefix = f"{base}/" if base else ""
    inside = [path for path in sorted({*commit.tree, *_folders(commit)}) if path.startswith(prefix)]
    if base and not inside:
        raise HubError(404, f'{base} does not exist on "{commit.oid}"', "EntryNotFound")
    return [_entry(commit, path) for path in inside if recursive or "/" not in path.removeprefix(prefix)]


def _folders(commit: Commit) -> set[str]:
    return {str(parent) for path in commit.tree for parent in PurePosixPath(path).parents} - {"."}


def _entry(commit: Commit, path: str) -> dict[str, Any]:
    blob = commit.tree.get(path)
    if blob is None:
        inside = sorted(name + blob.oid for name, blob in commit.tree.items() if name.startswith(f"{path}/"))
        oid = hashlib.sha1("".join(inside).encode(), usedforsecurity=False).hexdigest()
        return {"type": "directory", "oid": oid, "size": 0, "path": path}
    lfs = {"oid": blob.lfs, "size": blob.size, "pointerSize": blob.pointer_size}
    file = {"type": "file", "oid": blob.oid, "size": blob.size, "path": path}
    return file | ({"lfs": lfs} if blob.lfs else {})


def _content(request: Request, blob: Blob, headers: dict[str, str]) -> Response:
    """Return a file, or the one range of it that is asked for."""
    asked = request.headers.get("range", "")
    start, end = _range(asked, blob.size) if asked else (0, blob.size)
    if isinstance(blob.data, Path):
        return FileResponse(blob.data, headers=headers, media_type=_BINARY)
    headers |= {"Accept-Ranges": "bytes", "Content-Length": str(end - start)}
    if asked:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{blob.size}"
    content = b"" if request.method == "HEAD" else blob.data[start:end]
    return Response(content, 206 if asked else 200, headers=headers, media_type=_BINARY)


def _range(asked: str, size: int) -> tuple[int, int]:
    match = re.fullmatch(r"bytes=(\d{0,19})-(\d{0,19})", asked)
    first, last = match.groups() if match else ("", "")
    if first or last:
        start = int(first) if first else max(0, size - int(last))
        end = min(size, int(last) + 1) if first and last else size
        if start < end:
            return start, end
    raise HubError(416, f"Cannot serve the range {asked} of {size} bytes")


def _operation(key: str, value: dict[str, Any]) -> Operation:
    match key:
        case "file":
            if value.get("encoding") != "base64":
                raise ValueError("files must be encoded as base64")
            return Operation(value["path"], base64.b64decode(value["content"], validate=True))
        case "lfsFile":
            if value["algo"] != "sha256":
                raise ValueError("LFS objects are named by sha256")
            return Operation(value["path"], lfs=value["oid"], size=value.get("size"))
        case "deletedFile" | "deletedFolder":
            return Operation(value["path"], folder=key == "deletedFolder")
    raise ValueError(f"unknown operation {key}")
