"""The Hub as a release sees it: reading a repository, and telling what went wrong."""

from __future__ import annotations

import datetime
import ipaddress
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from builders import deadlines
from builders.describe.target import HUB, Target
from builders.errors import MtebDeError, RemoteError
from builders.release.model import ABSENT, Remote, RemoteFile
from builders.sources.patterns import safe_path

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

GITATTRIBUTES = ".gitattributes"
_HINTS = {
    401: "Log in with `hf auth login`, or set HF_TOKEN to a token that is still valid.",
    403: "Use a token with write access to this repository: https://huggingface.co/settings/tokens.",
    404: "Check the name, and that the token may see the repository.",
}
_CONFLICT = (
    "Try again in a minute; if it stays so, use a token that may write, and not open pull requests only."
)
_GATED = (
    f"The repository is gated. Ask for access on its page at {HUB}/datasets, or log in as a member of its "
    "owner; a fine-grained token needs the right to read gated repositories."
)


def hub_client() -> HfApi:
    """Return the Hub's client with its own settings."""
    from huggingface_hub import HfApi, constants

    api = HfApi()
    if is_loopback(api.endpoint):
        constants.HF_HUB_DISABLE_XET = True  # a Hub on loopback stores files by LFS alone
    return api


def hide_bars_off_terminals() -> None:
    """Keep the client's progress bars out of what is not a terminal."""
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()


def check_repo(repo: str) -> None:
    """Refuse what cannot be the name of a repository.

    Raises:
        UsageError: It is not OWNER/NAME as the Hub allows it.
    """
    Target(repo, "1.0.0", datetime.date.min)


def read_remote(api: HfApi, repo: str) -> Remote:
    """Return what a dataset repository holds now; reads only.

    Raises:
        RemoteError: The Hub refused, failed, or was not reachable.
    """
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    with explained(f"reading {repo}"):
        try:
            info = api.repo_info(repo, repo_type="dataset")
        except GatedRepoError:
            raise
        except RepositoryNotFoundError:
            return ABSENT
        assert info.sha is not None
        return Remote(
            head=info.sha,
            private=bool(info.private),
            tags=read_tags(api, repo),
            files=read_tree(api, repo, info.sha),
            gated=bool(info.gated),
        )


def read_tags(api: HfApi, repo: str) -> dict[str, str]:
    """Return the commits of a repository by tag.

    Raises:
        RemoteError: The Hub refused, failed, or was not reachable.
    """
    with explained(f"reading the tags of {repo}"):
        tags = api.list_repo_refs(repo, repo_type="dataset").tags
        return {tag.name: tag.target_commit for tag in tags}


def read_tree(api: HfApi, repo: str, revision: str) -> dict[str, RemoteFile]:
    """Return the files of a commit by path, without the Hub's own `.gitattributes`.

    Raises:
        RemoteError: The Hub refused, failed, or was not reachable.
    """
    from huggingface_hub.hf_api import RepoFile

    with explained(f"listing {repo} at {revision}"):
        items = api.list_repo_tree(repo, recursive=True, revision=revision, repo_type="dataset")
        return {
            item.path: RemoteFile(item.size, item.blob_id, item.lfs.sha256 if item.lfs else "")
            for item in items
            if isinstance(item, RepoFile) and item.path != GITATTRIBUTES
        }


def download(api: HfApi, repo: str, path: str, commit: str, folder: Path) -> Path:
    """Download a file of a commit into a folder of the caller's, laid out as the client likes it.

    Raises:
        SourceError: The path would leave the folder.
        RemoteError: The Hub refused, failed, or was not reachable.
    """
    safe_path(path, what="file", repo=repo)
    with explained(f"reading {path} of {repo}"):
        return Path(api.hf_hub_download(repo, path, revision=commit, repo_type="dataset", cache_dir=folder))


def is_loopback(endpoint: str) -> bool:
    """Whether an endpoint is this machine: a stand-in for the Hub."""
    host = urlsplit(endpoint).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def explained(doing: str) -> Iterator[None]:
    """Turn what the Hub's client raises into errors of ours.

    Args:
        doing: What was being done, "reading OWNER/NAME".

    Raises:
        RemoteError: The Hub refused, failed, or was not reachable.
    """
    deadlines.install()
    try:
        yield
    except MtebDeError:
        raise
    except Exception as error:
        known = explain(error, doing)
        if known is None:
            raise
        raise known from error


def explain(error: BaseException, doing: str) -> MtebDeError | None:
    """Return an exception of the Hub's client as an error of ours, None if it is not one of the client's."""
    import httpx2
    from huggingface_hub.errors import (
        HfHubHTTPError,
        LocalEntryNotFoundError,
        LocalTokenNotFoundError,
        OfflineModeIsEnabled,
    )

    given_up = next((cause for cause in causes(error) if isinstance(cause, MtebDeError)), None)
    if given_up is not None:  # by our own limits, far below the client's wrappings
        return given_up
    if isinstance(error, HfHubHTTPError):
        return _answered(error, doing)
    if isinstance(error, LocalTokenNotFoundError):
        return RemoteError(f"{doing}: there is no token", hint=_HINTS[401])
    if isinstance(error, OfflineModeIsEnabled):
        return RemoteError(f"{doing}: the client is told to stay offline", hint="Unset HF_HUB_OFFLINE.")
    if isinstance(error, httpx2.TimeoutException):
        return deadlines.silent(doing)
    if isinstance(error, (httpx2.HTTPError, httpx2.InvalidURL, ConnectionError)):
        message = f"{doing}: the Hub cannot be reached ({type(error).__name__}: {_line(error)})"
        return RemoteError(message, hint="Check the network and HF_ENDPOINT, then try again.")
    if isinstance(error, ValueError) and "metadata in README.md" in str(error):
        return RemoteError(
            f"{doing}: the Hub refuses the card: {_line(error)}", hint="Mend the card, plan again."
        )
    if isinstance(error, (RuntimeError, LocalEntryNotFoundError)) and error.__cause__ is not None:
        known = explain(error.__cause__, doing)
        if known is not None:
            return known
    if isinstance(error, LocalEntryNotFoundError):
        message = f"{doing}: the answer was not the Hub's ({_line(error)})"
        return RemoteError(message, hint="Check HF_ENDPOINT, and any proxy between here and the Hub.")
    return None


def causes(error: BaseException) -> Iterator[BaseException]:
    """Return an exception and those that it came of, whether or not they were to be shown."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        found = found.__cause__ or found.__context__


def _answered(error: HfHubHTTPError, doing: str) -> MtebDeError:
    from huggingface_hub.errors import GatedRepoError

    status = error.response.status_code
    message = f"{doing}: the Hub answered {status} ({_line(error.server_message or error)})"
    if isinstance(error, GatedRepoError):
        return RemoteError(message, hint=_GATED)
    if status in {409, 412}:
        return RemoteError(message, hint=_CONFLICT)
    if status == 429:
        seconds = deadlines.wait_seconds(error.response.headers)
        return RemoteError(message, hint=f"Too many requests; try again in {seconds} s.")
    if status >= 500:
        hint = "The Hub is in trouble; try again later. Apply looks first at what has arrived."
        return RemoteError(message, hint=hint)
    return RemoteError(message, hint=_HINTS.get(status, ""))


def _line(error: object) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else f"{text[:300]}…"
