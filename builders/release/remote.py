"""What a dataset repository holds now."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from builders import hub
from builders.hub import RemoteFile, hub_errors
from builders.release.model import ABSENT, Remote

if TYPE_CHECKING:
    from huggingface_hub import HfApi

GITATTRIBUTES = ".gitattributes"


def hide_bars_off_terminals() -> None:
    """Keep the client's progress bars out of what is not a terminal."""
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()


def read_remote(api: HfApi, repo: str) -> Remote:
    """Return what a dataset repository holds now; reads only.

    Raises:
        RemoteError: The Hub refused, failed, or was not reachable.
    """
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    with hub_errors(f"reading {repo}"):
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
    with hub_errors(f"reading the tags of {repo}"):
        tags = api.list_repo_refs(repo, repo_type="dataset").tags
        return {tag.name: tag.target_commit for tag in tags}


def read_tree(api: HfApi, repo: str, commit: str) -> dict[str, RemoteFile]:
    """Return the files of a commit by path, without the Hub's own `.gitattributes`.

    Raises:
        RemoteError: The Hub refused, failed, or was not reachable.
    """
    return {path: file for path, file in hub.tree(api, repo, commit).items() if path != GITATTRIBUTES}
