"""The application: what all routes share, and the table of routes.

Routes match the raw path, since a revision such as ``refs/pr/1`` arrives as one part, ``refs%2Fpr%2F1``.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from builders.rehearsal.model import Account, HubError, Repo, RepoType
from builders.rehearsal.store import MAIN, Store

_TYPES: dict[str, RepoType] = {"datasets": "dataset", "models": "model"}
_SIGNING_KEY = b"loopback"


def store_of(request: Request) -> Store:
    """Return the store that the application serves."""
    store = request.app.state.store
    assert isinstance(store, Store)
    return store


def param(request: Request, name: str, default: str = "") -> str:
    """Return a part of the path, unquoted."""
    return unquote(request.path_params.get(name, default))


def revision_of(request: Request) -> str:
    """Return the revision that the path names, else "main"."""
    return param(request, "revision", MAIN)


def account_of(request: Request) -> Account | None:
    """Return whom the request speaks for, None if anonymous.

    Raises:
        HubError: 401, the token is not known.
    """
    header = request.headers.get("authorization", "")
    if not header:
        return None
    account = store_of(request).accounts.get(header.removeprefix("Bearer ").strip())
    if account is None:
        raise HubError(401, "Invalid credentials in Authorization header")
    return account


def logged_in(request: Request) -> Account:
    """Return whom the request speaks for.

    Raises:
        HubError: 401, nobody known.
    """
    account = account_of(request)
    if account is None:
        raise HubError(401, "Invalid username or password.")
    return account


def named_repo(request: Request) -> Repo:
    """Return the repo of the path, whoever asks.

    Raises:
        HubError: 404 RepoNotFound.
    """
    repo_type = _TYPES.get(param(request, "type", "models"))
    if repo_type is None:
        raise HubError(404, "Repository not found", "RepoNotFound")
    return store_of(request).repo(repo_type, f"{param(request, 'owner')}/{param(request, 'name')}")


def readable(request: Request) -> Repo:
    """Return the repo of the path, if the caller may see it.

    Raises:
        HubError: 404 RepoNotFound, 401 for an anonymous caller, as the Hub does to hide private repos.
    """
    account = account_of(request)
    try:
        repo = named_repo(request)
        if repo.private and (account is None or not account.belongs(repo.owner)):
            raise HubError(404, "Repository not found", "RepoNotFound")
    except HubError as error:
        if account is None:
            raise HubError(401, "Invalid username or password.", "RepoNotFound") from error
        raise
    return repo


def gate(request: Request, repo: Repo) -> None:
    """Keep strangers from the files of a gated repo.

    Raises:
        HubError: 401 GatedRepo for an anonymous caller, 403 for one who was not let in.
    """
    account = account_of(request)
    if repo.gated and (account is None or not account.belongs(repo.owner)):
        known = "you are not in the authorized list" if account else "you must be authenticated to access it"
        message = f"Access to {repo.type} {repo.id} is restricted and {known}."
        raise HubError(403 if account else 401, message, "GatedRepo")


def writable(request: Request) -> tuple[Repo, Account]:
    """Return the repo of the path and the caller, who may change it.

    Raises:
        HubError: 401 anonymous, 403 not allowed, 404 not visible.
    """
    repo = readable(request)
    account = logged_in(request)
    if not account.may_write(repo.owner, (repo.type, repo.id)):
        raise HubError(403, "Forbidden: pass a token that may write to this repository.")
    return repo, account


async def json_body(request: Request, *required: str) -> dict[str, Any]:
    """Return the JSON object of the body.

    Raises:
        HubError: 400, it is not an object or lacks a key.
    """
    try:
        body = await request.json() if await request.body() else {}
    except ValueError as error:
        raise HubError(400, "The body is not JSON") from error
    missing = [key for key in required if key not in body] if isinstance(body, dict) else list(required)
    if missing or not isinstance(body, dict):
        raise HubError(400, f"The body lacks {', '.join(missing) or 'an object'}")
    return body


def signature(path: str) -> str:
    """Return what proves that this Hub gave out an address of its storage."""
    return hmac.new(_SIGNING_KEY, path.encode(), hashlib.sha256).hexdigest()[:32]


def storage_url(request: Request, path: str) -> str:
    """Return a signed address of the storage.

    It has another origin than the Hub ("localhost" for "127.0.0.1"): the client follows a redirect within one
    origin and would lose the commit id that the redirect itself carries.
    """
    return f"http://localhost:{request.url.port}{path}?signature={signature(path)}"


def check_signature(request: Request) -> None:
    """Refuse an address of the storage that this Hub did not give out.

    Raises:
        HubError: 403.
    """
    if not hmac.compare_digest(request.query_params.get("signature", ""), signature(request.url.path)):
        raise HubError(403, "Access denied: the address is not signed")


def answer_error(_: Request, error: Exception) -> Response:
    """Answer a refusal as the Hub does, in the body and in headers."""
    assert isinstance(error, HubError)
    headers = {"X-Error-Message": error.message.encode("ascii", "replace").decode().replace("\n", " ")}
    if error.code:
        headers["X-Error-Code"] = error.code
    return JSONResponse({"error": error.message}, error.status, headers=headers)


async def unknown(_: Request) -> Response:
    """Answer what no route takes."""
    raise HubError(404, "Sorry, we can't find the page you are looking for.")


def application(store: Store) -> Starlette:
    """Return the ASGI application that serves `store`."""
    from builders.rehearsal import routes_lfs, routes_read, routes_write

    api = "/api/{type}/{owner}/{name}"
    resolve = "/{owner}/{name}/resolve/{revision}/{path:path}"
    batch = "/{owner}/{name}.git/info/lfs/objects/batch"
    routes = [
        Route("/api/whoami-v2", routes_read.whoami),
        Route(api, routes_read.info),
        Route(f"{api}/revision/{{revision}}", routes_read.info),
        Route(f"{api}/tree/{{revision}}", routes_read.tree),
        Route(f"{api}/tree/{{revision}}/{{path:path}}", routes_read.tree),
        Route(f"{api}/paths-info/{{revision}}", routes_read.paths_info, methods=["POST"]),
        Route(f"{api}/refs", routes_read.refs),
        Route(f"{api}/commits/{{revision}}", routes_read.commits),
        Route("/api/repos/create", routes_write.create_repo, methods=["POST"]),
        Route("/api/repos/delete", routes_write.delete_repo, methods=["DELETE"]),
        Route("/api/validate-yaml", routes_write.validate_yaml, methods=["POST"]),
        Route(f"{api}/preupload/{{revision}}", routes_write.preupload, methods=["POST"]),
        Route(f"{api}/commit/{{revision}}", routes_write.commit, methods=["POST"]),
        Route(f"{api}/tag/{{revision}}", routes_write.tag, methods=["POST", "DELETE"]),
        Route(f"{api}/branch/{{revision}}", routes_write.branch, methods=["POST", "DELETE"]),
        Route(f"{api}/super-squash/{{revision}}", routes_write.squash, methods=["POST"]),
        Route(f"{api}/lfs-files", routes_lfs.listing),
        Route(f"{api}/lfs-files/batch", routes_lfs.remove, methods=["POST"]),
        Route("/{type}" + batch, routes_lfs.batch, methods=["POST"]),
        Route(batch, routes_lfs.batch, methods=["POST"]),
        Route("/storage/{type}/{owner}/{name}/{oid}/{size}", routes_lfs.upload, methods=["PUT"]),
        Route("/{type}/{owner}/{name}/lfs-verify", routes_lfs.verify, methods=["POST"]),
        Route("/storage/{type}/{owner}/{name}/{revision}/{path:path}", routes_lfs.download),
        Route("/{type}" + resolve, routes_read.resolve),
        Route(resolve, routes_read.resolve),
        Route("/{rest:path}", unknown, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
    ]
    app = Starlette(routes=routes, exception_handlers={HubError: answer_error})
    app.state.store = store
    return app
