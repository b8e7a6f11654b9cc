"""The requests that fetching makes to the Hub, through its own client, and what their failures mean.

Endpoint, token and proxies are the client's own settings (`HF_ENDPOINT`, `HF_TOKEN`, …).
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from builders import deadlines
from builders.errors import MtebDeError, RemoteError, SourceMissing, StorageError
from builders.printable import one_line
from builders.sources.patterns import safe_path, shown

if TYPE_CHECKING:
    from huggingface_hub import HfApi

HUB = "https://huggingface.co"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_ATTEMPTS = 4
_WORTH_ANOTHER = frozenset({408, 429, 500, 502, 503, 504})
_TOKEN = "Log in with `hf auth login` or set HF_TOKEN; where the dataset is gated, accept its terms first."
_AGAIN = "Run the same command again later; what is fetched is kept."
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a repository: its path, bytes, and its sha256 or, where the Hub knows none, git's id."""

    path: str
    size: int
    sha256: str | None
    blob: str = ""


def endpoint() -> str:
    """Return the Hub that the client talks to."""
    from huggingface_hub import constants

    return constants.ENDPOINT.rstrip("/")


def resolve(api: HfApi, repo: str, revision: str, *, pause: Callable[[float], None] = time.sleep) -> str:
    """Return the commit that `revision` means, in 40 digits.

    Raises:
        SourceMissing: There is no such dataset or revision, or it is not visible to this user.
        RemoteError: The Hub refused, failed several times, or could not be reached.
    """
    with _meaning(repo, revision):
        info = _patiently(lambda: api.repo_info(repo, repo_type="dataset", revision=revision), pause)
    if not _COMMIT.fullmatch(info.sha or ""):
        raise _not_a_hub(repo, revision, "no commit in its answer")
    return str(info.sha)


def tree(api: HfApi, repo: str, commit: str) -> list[RemoteFile]:
    """Return all files of a dataset at a commit, sorted by path.

    Raises:
        SourceError: A path leaves the repository.
        SourceMissing: The commit is gone.
        RemoteError: The Hub refused, failed several times, or could not be reached.
    """
    from huggingface_hub.hf_api import RepoFile

    with _meaning(repo, commit):
        items = list(api.list_repo_tree(repo, recursive=True, revision=commit, repo_type="dataset"))
    files = [
        RemoteFile(
            safe_path(item.path, what="file", repo=repo),
            item.size,
            item.lfs.sha256 if item.lfs else None,
            "" if item.lfs else item.blob_id,
        )
        for item in items
        if isinstance(item, RepoFile)
    ]
    return sorted(files, key=lambda file: file.path)


def download(api: HfApi, repo: str, commit: str, path: str, folder: Path) -> Path:
    """Download one file into `folder` and return where it lies there.

    Raises:
        SourceMissing: The file is gone.
        RemoteError: The Hub refused, failed several times, or could not be reached.
        StorageError: The folder cannot be written.
    """
    with _meaning(repo, commit, path):
        return Path(api.hf_hub_download(repo, path, repo_type="dataset", revision=commit, local_dir=folder))


def _patiently(call: Callable[[], Answer], pause: Callable[[float], None]) -> Answer:
    """Repeat a call while the Hub is busy: the client itself does so for listings and downloads only."""
    from huggingface_hub.errors import HfHubHTTPError

    for attempt in range(_ATTEMPTS - 1):
        try:
            return call()
        except HfHubHTTPError as error:
            if error.response.status_code not in _WORTH_ANOTHER:
                raise
            pause(float(2**attempt))
    return call()


@contextlib.contextmanager
def _meaning(repo: str, revision: str, path: str = "") -> Iterator[None]:
    """Turn the client's failures into errors of ours that name repository, revision and file."""
    import httpx2
    from huggingface_hub import errors as hub

    deadlines.install()
    where = f"{repo}@{revision[:12]}" + (f", {path}" if path else "")
    try:
        yield
    except hub.LocalEntryNotFoundError as error:  # the client's wrapping of a failed request
        raise _translated(error.__cause__ or error, where, repo, revision) from error
    except (
        OSError,
        httpx2.HTTPError,
        httpx2.InvalidURL,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
    ) as error:
        raise _translated(error, where, repo, revision) from error


def _translated(error: BaseException, where: str, repo: str, revision: str) -> MtebDeError:
    import httpx2
    from huggingface_hub import errors as hub

    match error:
        case hub.GatedRepoError():
            return RemoteError(f"{where}: the dataset is gated", hint=_TOKEN)
        case hub.RepositoryNotFoundError():
            return SourceMissing(
                f"{repo}: no such dataset on {shown(endpoint())}, or it is private", hint=_TOKEN
            )
        case hub.RevisionNotFoundError():
            return SourceMissing(
                f"{repo}: no revision {revision}",
                hint="Check the pin of this source; its history was rewritten.",
            )
        case hub.RemoteEntryNotFoundError():
            return SourceMissing(f"{where}: no such file", hint="Check the pin of this source.")
        case hub.OfflineModeIsEnabled():
            return RemoteError(f"{where}: HF_HUB_OFFLINE is set", hint="Unset it to fetch from the Hub.")
        case hub.HfHubHTTPError():
            return _refused(error.response.status_code, where)
        case hub.FileMetadataError():
            return _not_a_hub(repo, revision, "no commit or ETag in its answer")
        case httpx2.TimeoutException():
            return RemoteError(f"{where}: {shown(endpoint())} did not answer in time", hint=_AGAIN)
        case httpx2.HTTPError() | httpx2.InvalidURL():
            return RemoteError(
                f"{where}: {shown(endpoint())} cannot be reached ({one_line(error, 200)})",
                hint="Check the network, HF_ENDPOINT and the proxy; `--offline` builds from the cache.",
            )
        case OSError() if error.errno is not None:
            return StorageError(f"{where}: cannot be written ({error.strerror})", hint="Free some space.")
        case OSError():  # the client's check of the size
            return RemoteError(f"{where}: arrived incomplete ({one_line(error, 200)})", hint=_AGAIN)
        case _:
            return _not_a_hub(repo, revision, f"{type(error).__name__}: {one_line(error, 200)}")


def _refused(status: int, where: str) -> RemoteError:
    if status in {401, 403}:
        return RemoteError(f"{where}: the Hub refused ({status})", hint=_TOKEN)
    if status in _WORTH_ANOTHER:
        return RemoteError(f"{where}: the Hub failed or was busy ({status}), several times", hint=_AGAIN)
    return RemoteError(f"{where}: the Hub answered {status}", hint="Check the pin of this source.")


def _not_a_hub(repo: str, revision: str, detail: str) -> RemoteError:
    return RemoteError(
        f"{repo}@{revision[:12]}: {shown(endpoint())} does not answer as a Hub does ({detail})",
        hint="Check HF_ENDPOINT, and that no login page of the network stands between.",
    )
