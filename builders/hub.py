"""The one door to the Hub: its client with limits, what a repository holds, and what a failure means.

The client itself waits without end, so every request that it sends is bounded here.
"""

from __future__ import annotations

import contextlib
import datetime
import email.utils
import errno
import functools
import hashlib
import ipaddress
import math
import os
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import quote, urlsplit

from builders import __version__
from builders.errors import MtebDeError, RemoteError, SourceMissing, StorageError, UsageError
from builders.files import FileIds, safe_path, write_bytes
from builders.printable import one_line

if TYPE_CHECKING:
    import httpx2
    from httpx2._client import UseClientDefault
    from httpx2._types import AuthTypes
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

Api: TypeAlias = "HfApi"
"""The Hub's client, whose import takes long."""
HUB = "https://huggingface.co"
_SETTING = "MTEB_DE_HUB_TIMEOUT"
_SILENCES = 3
"""Requests without an answer, one after the other, that end a verb: the client repeats some of them."""
LONGEST_WAIT = 300
"""Seconds that a rate limit may ask for before we give up; the Hub's window is five minutes."""
_Kind = Literal["dataset", "model"]
_MOST_SECONDS = 30 * 86_400.0
_CONNECT = 10.0
_ANSWER = 60.0
_COMMIT = re.compile("[0-9a-f]{40}")
_LONGEST_REASON = 300
_BUSY = (408, 429, 500, 502, 503, 504)
_DISK_ERRORS = {  # the network's errors are OSErrors too
    getattr(errno, name) for name in "EACCES EDQUOT EFBIG EIO EISDIR ENOSPC ENOTDIR EPERM EROFS".split()
}
_NO_LOGIN = "Log in with `hf auth login`, or set HF_TOKEN to a token that is still valid."
_CONFLICT = "Try again in a minute; if it stays so, use a token that may do more than open pull requests."
_NO_RIGHT = (
    "Set HF_TOKEN to a token that may read this repository, with write access where it is published: "
    f"{HUB}/settings/tokens."
)
_HINTS = {401: _NO_LOGIN, 403: _NO_RIGHT, 409: _CONFLICT, 412: _CONFLICT}
_NOT_SEEN = (
    "Check the name; for a private or gated repository log in with `hf auth login`, or set HF_TOKEN to a "
    "token that may see it."
)
_GATED = (
    "Ask for access on the repository's page, or log in as a member of its owner (HF_TOKEN); a fine-grained "
    "token needs the right to read gated repositories."
)


@dataclass(frozen=True, slots=True)
class Advice:
    """Hints of a verb for failures of the Hub, and the error of what is `missing` there.

    `check` is the hint where something is missing or a request was refused, `busy` where the Hub failed.
    """

    missing: type[MtebDeError] = RemoteError
    check: str = "Check the name, and that the token may see the repository."
    network: str = "Check the network and HF_ENDPOINT, then try again."
    busy: str = "The Hub is in trouble; try again later. Apply looks first at what has arrived."


_ADVICE = Advice()


def endpoint() -> str:
    """Return the endpoint of the client."""
    from huggingface_hub import constants

    return constants.ENDPOINT.rstrip("/")


def is_stand_in() -> bool:
    """Return whether `HF_ENDPOINT` names another server than the Hub; no lock is committed from one."""
    return endpoint() != HUB


def is_loopback(url: str) -> bool:
    """Return whether an endpoint is this machine: a stand-in for the Hub."""
    host = urlsplit(url).hostname or ""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def shown_url(url: str) -> str:
    """Return a URL without user, password and query, for messages."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an invalid URL"
    return f"{parts.scheme}://{host}{port}{parts.path}"


def cache_folder(cache: Path) -> Path:
    """Return the folder where files of the present endpoint are cached, so that none passes for the Hub's."""
    if not is_stand_in():
        return cache
    server = hashlib.sha256(endpoint().encode()).hexdigest()[:16]
    return cache.with_name(f"{cache.name}-stand-ins") / server


def client() -> HfApi:
    """Return the Hub's client with its own settings, and our limits."""
    from huggingface_hub import HfApi

    _install_limits()
    return HfApi(library_name="mteb-de", library_version=__version__)


def check_repo(repo: str) -> None:
    """Refuse a name that is not OWNER/NAME as the Hub allows it."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    with contextlib.suppress(HFValidationError):
        validate_repo_id(repo)
        if repo.count("/") == 1 and len(repo) <= 96:
            return
    hint = "Write OWNER/NAME in letters, digits, '-', '_' and '.', at most 96 characters."
    raise UsageError(f"{repo!r} is not a Hub repository", hint=hint)


def resolve(
    api: HfApi,
    repo: str,
    revision: str,
    kind: _Kind = "dataset",
    *,
    advice: Advice = _ADVICE,
    cache: Path | None = None,
    offline: bool = False,
) -> str:
    """Return the commit of 40 digits that a branch, a tag, or the beginning of a commit means.

    `cache` is a folder of the client's layout that remembers such commits; `offline` asks it alone.
    """
    from huggingface_hub.file_download import repo_folder_name
    from huggingface_hub.utils import build_hf_headers, hf_raise_for_status, http_backoff

    if _COMMIT.fullmatch(revision):
        return revision
    safe_path(revision, what="revision", repo=repo)
    known = cache and cache / repo_folder_name(repo_id=repo, repo_type=kind) / "refs" / revision
    if known and known.is_file():
        commit = known.read_text(encoding="ascii", errors="replace")
        if _COMMIT.fullmatch(commit) and commit.startswith(revision):
            return commit
    if offline:
        hint = "Run the same command once without `--offline`."
        raise SourceMissing(f"{repo}@{revision}: offline, and the cache lacks its commit", hint=hint)
    headers = build_hf_headers(token=api.token, library_name="mteb-de", library_version=__version__)
    url = f"{api.endpoint}/api/{kind}s/{quote(repo)}/revision/{quote(revision, safe='')}"
    with hub_errors(f"resolving {repo}@{revision}", advice):
        response = http_backoff(
            "GET", url, headers=headers, max_retries=3, retry_on_exceptions=(), retry_on_status_codes=_BUSY
        )
        hf_raise_for_status(response)
        commit = str(response.json()["sha"])
        if not _COMMIT.fullmatch(commit):
            raise ValueError("no commit in its answer")
    if known and commit.startswith(revision):
        write_bytes(known, commit.encode())
    return commit


def tree(api: HfApi, repo: str, commit: str, *, advice: Advice = _ADVICE) -> dict[str, FileIds]:
    """Return all files of a dataset's commit by path."""
    from huggingface_hub.hf_api import RepoFile

    with hub_errors(f"listing {repo} at {commit}", advice):
        items = list(api.list_repo_tree(repo, recursive=True, revision=commit, repo_type="dataset"))
        files = {item.path: item for item in items if isinstance(item, RepoFile)}
        return {
            safe_path(path, what="file", repo=repo): FileIds(
                file.size, file.blob_id, file.lfs.sha256 if file.lfs else ""
            )
            for path, file in files.items()
        }


def download(
    api: HfApi,
    repo: str,
    path: str,
    commit: str,
    folder: Path,
    *,
    advice: Advice = _ADVICE,
    again: bool = False,
) -> Path:
    """Download a file of a dataset to a folder of the client's layout; `again` even if it is there."""
    safe_path(path, what="file", repo=repo)
    with hub_errors(f"reading {path} of {repo}@{commit[:12]}", advice, folder):
        return Path(
            api.hf_hub_download(
                repo, path, revision=commit, repo_type="dataset", cache_dir=folder, force_download=again
            )
        )


@contextlib.contextmanager
def hub_errors(doing: str, advice: Advice = _ADVICE, folder: Path | None = None) -> Iterator[None]:
    """Turn what the Hub's client raises into errors of ours.

    `doing` names the work, "reading OWNER/NAME", and `folder` is where the client writes, for messages. What
    the client makes of an answer that no Hub gives, but a login page, is one of Python's own errors.
    """
    _install_limits()
    try:
        yield
    except MtebDeError:
        raise
    except Exception as error:
        known = explain(error, doing, advice, folder)
        if known is None and isinstance(error, (ValueError, LookupError, TypeError, AttributeError)):
            known = _not_a_hub(doing, reason(error))
        if known is None:
            raise
        raise known from error


def _is_of_the_disk(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in _DISK_ERRORS


def explain(
    error: BaseException, doing: str, advice: Advice = _ADVICE, folder: Path | None = None
) -> MtebDeError | None:
    """Return an exception of the Hub's client as an error of ours, None if it is not one of the client's."""
    import httpx2
    from huggingface_hub import errors as hub

    chain = list(_causes(error))
    given_up = next((cause for cause in chain if isinstance(cause, MtebDeError)), None)
    if given_up is not None:  # by our own limits, far below the client's wrappings
        return given_up
    if isinstance(error, hub.HfHubHTTPError):
        return _answered(error, doing, advice)
    if any(isinstance(cause, httpx2.TimeoutException) for cause in chain):
        return _silent(doing)
    error = next((cause for cause in chain if _is_of_the_disk(cause)), error)
    match error:
        case hub.LocalTokenNotFoundError():
            return RemoteError(f"{doing}: there is no token", hint=_NO_LOGIN)
        case hub.OfflineModeIsEnabled():
            message = f"{doing}: the Hub cannot be reached while HF_HUB_OFFLINE is set"
            return RemoteError(message, hint=f"Unset HF_HUB_OFFLINE. {advice.network}")
        case hub.HFValidationError():
            message = f"{doing}: not a name of a repository on the Hub"
            return UsageError(message, hint="A repository is named OWNER/NAME.")
        case hub.FileMetadataError():
            return _not_a_hub(doing, "no commit or ETag in its answer")
        case httpx2.HTTPError() | httpx2.InvalidURL() | ConnectionError():
            where = shown_url(endpoint())
            return RemoteError(f"{doing}: {where} cannot be reached ({reason(error)})", hint=advice.network)
        case ValueError() if "metadata in README.md" in str(error):
            message = f"{doing}: the Hub refuses the card: {one_line(error, _LONGEST_REASON)}"
            return RemoteError(message, hint="Mend the card, plan again.")
        case OSError() if _is_of_the_disk(error):
            where = f"{folder or error.filename}: {doing}" if folder or error.filename else doing
            elsewhere = "set HF_HOME (for models) or MTEB_DE_HOME to another folder"
            hint = f"Free some space, correct the permissions, or {elsewhere}."
            return StorageError(f"{where}: the disk failed ({error.strerror})", hint=hint)
        case OSError() if "Consistency check failed" in str(error):
            message = f"{doing}: arrived incomplete ({one_line(error, _LONGEST_REASON)})"
            return RemoteError(message, hint=advice.busy)
    known = None
    if len(chain) > 1 and isinstance(error, (RuntimeError, FileNotFoundError, hub.RevisionResolutionError)):
        known = explain(chain[1], doing, advice, folder)  # clients wrap a failure of the Hub in these
    if known is None and isinstance(error, (hub.LocalEntryNotFoundError, hub.RevisionResolutionError)):
        return _not_a_hub(doing, one_line(error, _LONGEST_REASON))
    return known


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that caused it, whether or not they are shown."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        found = found.__cause__ or found.__context__


def reason(error: BaseException) -> str:
    """Return an exception as one line: its type and what it says."""
    return f"{type(error).__name__}: {one_line(error, _LONGEST_REASON)}"


def wait_seconds(headers: Mapping[str, str]) -> int:
    """Return the seconds that a ``RateLimit`` or ``Retry-After`` header asks to wait, else a minute."""
    from huggingface_hub.utils import parse_ratelimit_headers

    limit = parse_ratelimit_headers(headers)
    if limit is not None:
        return int(limit.reset_in_seconds) + 1
    after = retry_after(headers.get("Retry-After", ""))
    return 60 if after is None else math.ceil(after) + 1


def retry_after(value: str, *, now: datetime.datetime | None = None) -> float | None:
    """Return the seconds that a Retry-After asks for, at most 30 days; None where it is no number or date.

    An HTTP date is reckoned from `now`, which has a time zone; one that has passed gives 0.
    """
    seconds = header_number(value)
    if seconds is not None:
        return seconds
    try:
        until = email.utils.parsedate_to_datetime(value[:64])
        aware = until if until.tzinfo else until.replace(tzinfo=datetime.UTC)
        left = aware - (now or datetime.datetime.now(datetime.UTC))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(0.0, left.total_seconds()), _MOST_SECONDS)


def header_number(value: str) -> float | None:
    """Return the number in a header about limits, at most the seconds of 30 days, else None."""
    try:
        number = float(value[:32])
    except ValueError:
        return None
    return min(number, _MOST_SECONDS) if math.isfinite(number) and number >= 0 else None


def answer_seconds() -> float:
    """Return the seconds without a byte, in either direction, that end a request."""
    text = os.environ.get(_SETTING, "")
    if not text:
        return _ANSWER
    if not re.fullmatch(r"\d{1,5}(\.\d{1,3})?", text, re.ASCII) or float(text) == 0:
        message = f"{_SETTING}={text[:40]!a} is no number of seconds"
        raise UsageError(message, hint="Write a number such as 60.")
    return float(text)


def connect_seconds() -> float:
    """Return the seconds until a connection must stand."""
    return min(_CONNECT, answer_seconds())


def _answered(error: HfHubHTTPError, doing: str, advice: Advice) -> MtebDeError:
    from huggingface_hub import errors as hub

    status = error.response.status_code
    answer = f"the Hub answered {status} ({one_line(error.server_message or error, _LONGEST_REASON)})"
    match error:
        case hub.GatedRepoError():
            return RemoteError(f"{doing}: the repository is gated; {answer}", hint=_GATED)
        case hub.RepositoryNotFoundError():
            what = "no such repository, or it is not shown to you"
            return advice.missing(f"{doing}: {what}; {answer}", hint=_NOT_SEEN)
        case hub.RevisionNotFoundError():
            return advice.missing(f"{doing}: no such revision; {answer}", hint=advice.check)
        case hub.RemoteEntryNotFoundError():
            return advice.missing(f"{doing}: no such file; {answer}", hint=advice.check)
    hint = advice.busy if status >= 500 else _HINTS.get(status, advice.check)
    if status == 429:
        hint = f"Too many requests; try again in {wait_seconds(error.response.headers)} s."
    return RemoteError(f"{doing}: {answer}", hint=hint)


def _not_a_hub(doing: str, detail: str) -> RemoteError:
    message = f"{doing}: {shown_url(endpoint())} does not answer as a Hub does ({detail})"
    hint = "Check HF_ENDPOINT, and that no proxy or login page of the network stands between."
    return RemoteError(message, hint=hint)


def _silent(doing: str) -> RemoteError:
    waited = f"{connect_seconds():g} s for a connection, {answer_seconds():g} s for an answer"
    hint = f"Try again later; {_SETTING} gives it more seconds."
    return RemoteError(f"{doing}: the Hub did not answer in time ({waited})", hint=hint)


def _install_limits() -> None:
    """Bound every request of the Hub's client in this process."""
    from huggingface_hub import constants

    constants.HF_HUB_DISABLE_XET = True  # it transfers in code that our limits do not reach
    _install_factory()


@functools.cache
def _install_factory() -> None:
    from huggingface_hub import set_client_factory

    answer_seconds()
    set_client_factory(_bounded_client)


def _bounded_client() -> httpx2.Client:
    import httpx2
    from huggingface_hub.utils._http import hf_request_event_hook

    default = httpx2.USE_CLIENT_DEFAULT
    silences = threading.local()  # the client uploads in threads: one that stalls says nothing of the others
    given_up = threading.Event()  # but once one has given up, the others do not begin to count anew

    class Bounded(httpx2.Client):
        """A client that bounds what its callers leave open, since most of them pass no limit on purpose."""

        def send(
            self,
            request: httpx2.Request,
            *,
            stream: bool = False,
            auth: AuthTypes | UseClientDefault | None = default,
            follow_redirects: bool | UseClientDefault = default,
        ) -> httpx2.Response:
            request.extensions["timeout"] = _bounded(request.extensions.get("timeout"))
            try:
                response = super().send(request, stream=stream, auth=auth, follow_redirects=follow_redirects)
            except httpx2.TimeoutException as error:
                silences.count = getattr(silences, "count", 0) + 1
                if silences.count < _SILENCES and not given_up.is_set():
                    raise  # the client may try again
                given_up.set()
                silences.count = 0
                raise _silent(f"requests to {request.url.host}, several times") from error
            silences.count = 0
            given_up.clear()
            if response.status_code == 429 and (seconds := wait_seconds(response.headers)) > LONGEST_WAIT:
                response.close()  # else the client would sleep that long
                message = f"{request.url.host}: the Hub answered 429 and asks to wait for {seconds} s"
                raise RemoteError(message, hint=f"Too many requests; try again in {seconds} s.")
            return response

    limits = httpx2.Timeout(answer_seconds(), connect=connect_seconds())
    return Bounded(event_hooks={"request": [hf_request_event_hook]}, follow_redirects=True, timeout=limits)


def _bounded(asked: Mapping[str, float | None] | None) -> dict[str, float]:
    limits = dict.fromkeys(("connect", "read", "write", "pool"), answer_seconds())
    limits["connect"] = connect_seconds()
    return {name: min(limit, (asked or {}).get(name) or limit) for name, limit in limits.items()}
