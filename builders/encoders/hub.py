"""Fetching a model from the Hub, by the client's own settings."""

from __future__ import annotations

import contextlib
import errno
import re
from collections.abc import Iterator
from pathlib import Path

from builders import deadlines
from builders.errors import EncoderError, RemoteError, SourceMissing, StorageError

_SHORT = re.compile(r"[0-9a-f]{7,40}", re.ASCII)
_FULL = re.compile(r"[0-9a-f]{40}", re.ASCII)
_WANTED = ["*.json", "*.safetensors", "*.txt", "*.model"]  # no pickles: loading one runs its code
_DISK_ERRORS = {  # the network's errors are OSErrors too
    errno.EACCES,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.EISDIR,
    errno.ENOSPC,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}
_NEEDED = ("modules.json", "*.safetensors")
_UNWANTED = ["onnx/*", "openvino/*"]


def resolve(model: str, revision: str, *, offline: bool = False) -> str:
    """Return a commit's 40 digits.

    A short one is looked up in the Hub client's cache, then on the Hub.

    Args:
        model: "owner/name".
        revision: At least 7 digits of a commit hash.
        offline: Never touch the network.

    Raises:
        EncoderError: `model` is not a name, `revision` is not the beginning of a commit hash, or the Hub
            answers with another commit.
        RemoteError: The Hub is not reachable, or knows no such model or commit.
        SourceMissing: Offline, and the model was never fetched at this revision.
        StorageError: The client's cache cannot be written.
    """
    if _FULL.fullmatch(revision):
        return revision
    if not _SHORT.fullmatch(revision):
        raise EncoderError(
            f"{model}: revision {revision!r} is not a commit",
            hint="Pin at least 7 digits of a commit hash; branches and tags move.",
        )
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RevisionResolutionError

    with _told(model, revision):
        try:  # what a commit's digits stand for never changes
            found = str(HfApi().resolve_revision(model, revision=revision, local_files_only=True).resolved)
        except RevisionResolutionError as error:
            if offline:
                raise _not_cached("config.json", model, revision) from error
            found = str(HfApi().resolve_revision(model, revision=revision).resolved)
    if not _FULL.fullmatch(found) or not found.startswith(revision):
        raise EncoderError(
            f"{model}: the Hub resolves {revision} to {found!r}, which is another commit",
            hint="Pin the commit by all of its 40 digits.",
        )
    return found


def fetch_file(model: str, revision: str, name: str, *, offline: bool = False) -> Path:
    """Return a file of a model, fetched where it is not cached and `offline` is false.

    Raises:
        RemoteError: The Hub is not reachable, refuses, or has no such file.
        SourceMissing: Offline, and not cached.
        StorageError: The client's cache cannot be written.
    """
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    with _told(model, revision):
        try:
            return Path(hf_hub_download(model, name, revision=revision, local_files_only=offline))
        except LocalEntryNotFoundError as error:
            if not offline:
                raise
            raise _not_cached(name, model, revision) from error


def fetch_model(model: str, revision: str, *, offline: bool = False) -> Path:
    """Return the folder of a model: weights in safetensors, tokenizer and configuration, no pickles.

    What is cached is taken without asking the Hub: a commit never changes.

    Raises:
        RemoteError: The Hub is not reachable and the model is not cached, or the Hub refuses.
        SourceMissing: Offline, and a file is not cached.
        StorageError: The client's cache cannot be written.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import IncompleteSnapshotError, LocalEntryNotFoundError

    def download(*, local: bool) -> Path:
        return Path(
            snapshot_download(
                model,
                revision=revision,
                allow_patterns=_WANTED,
                ignore_patterns=_UNWANTED,
                local_files_only=local,
            )
        )

    with _told(model, revision):
        try:
            cached = download(local=True)
            lacking = _lacking(cached)
            if not lacking:
                return cached
        except IncompleteSnapshotError as error:
            lacking = _lacking(Path(error.snapshot_path)) or "a file"
        except LocalEntryNotFoundError:
            lacking = _NEEDED[0]
        if offline:
            raise _not_cached(lacking, model, revision)
        return download(local=False)


def _lacking(folder: Path) -> str:
    """Return what a model's folder lacks; the client may take single files for a whole model."""
    return next((pattern for pattern in _NEEDED if not any(folder.glob(pattern))), "")


def _not_cached(name: str, model: str, revision: str) -> SourceMissing:
    return SourceMissing(
        f"offline, and not cached: {name} of {model}@{revision}",
        hint="Run once with network, or use --encoder offline.",
    )


@contextlib.contextmanager
def _told(model: str, revision: str) -> Iterator[None]:
    """Turn the client's errors into ours."""
    from httpx2 import HTTPError  # what the Hub's client speaks HTTP with
    from huggingface_hub import constants, errors

    deadlines.install()
    where = f"{model}@{revision}"
    try:
        yield
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError) as error:
        raise RemoteError(
            f"{where}: the Hub has no such model or revision, or does not show it to you",
            hint="Check the pin; for a private or gated model log in with `hf auth login`, or set HF_TOKEN.",
        ) from error
    except errors.HFValidationError as error:
        raise EncoderError(
            f"{where}: not a name of a model on the Hub", hint="A model is named OWNER/NAME."
        ) from error
    except errors.RemoteEntryNotFoundError as error:
        raise RemoteError(
            f"{where}: a file is missing there: {_first_line(error)}",
            hint="Pin a revision that holds a sentence-transformers model.",
        ) from error
    except (errors.RevisionResolutionError, errors.LocalEntryNotFoundError) as error:
        raise RemoteError(
            f"{where}: not cached on this machine, and the Hub was not reachable",
            hint="Check the network, HF_ENDPOINT and HF_HUB_OFFLINE, or use --encoder offline.",
        ) from error
    except (HTTPError, errors.FileMetadataError, OSError) as error:
        if isinstance(error, OSError) and error.errno in _DISK_ERRORS:
            raise StorageError(
                f"{constants.HF_HUB_CACHE}: {where} cannot be kept there: {_first_line(error)}",
                hint="Free some space, correct the permissions, or set HF_HOME to another folder.",
            ) from error
        raise RemoteError(
            f"{where}: fetching failed: {_first_line(error)}",
            hint="Run again: what has been fetched is kept. Without network use --encoder offline.",
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
