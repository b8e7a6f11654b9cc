"""Fetching a model from the Hub, by the client's own settings."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from builders.errors import EncoderError, RemoteError

_SHORT = re.compile(r"[0-9a-f]{7,40}", re.ASCII)
_FULL = re.compile(r"[0-9a-f]{40}", re.ASCII)
_WANTED = ["*.json", "*.safetensors", "*.txt", "*.model"]  # no pickles: loading one runs its code
_UNWANTED = ["onnx/*", "openvino/*"]


def resolve(model: str, revision: str) -> str:
    """Return a commit's 40 digits.

    A short one is looked up in the Hub client's cache, then on the Hub.

    Args:
        model: "owner/name".
        revision: At least 7 digits of a commit hash.

    Raises:
        EncoderError: `model` is not a name, `revision` is not the beginning of a commit hash, or the Hub
            answers with another commit.
        RemoteError: The Hub is not reachable, or knows no such model or commit.
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
        except RevisionResolutionError:
            found = str(HfApi().resolve_revision(model, revision=revision).resolved)
    if not _FULL.fullmatch(found) or not found.startswith(revision):
        raise EncoderError(
            f"{model}: the Hub resolves {revision} to {found!r}, which is another commit",
            hint="Pin the commit by all of its 40 digits.",
        )
    return found


def fetch_file(model: str, revision: str, name: str) -> Path:
    """Return a file of a model, fetched where it is not cached.

    Raises:
        RemoteError: The Hub is not reachable, refuses, or has no such file.
    """
    from huggingface_hub import hf_hub_download

    with _told(model, revision):
        return Path(hf_hub_download(model, name, revision=revision))


def fetch_model(model: str, revision: str) -> Path:
    """Return the folder of a model: weights in safetensors, tokenizer and configuration, no pickles.

    What is cached is taken without asking the Hub: a commit never changes.

    Raises:
        RemoteError: The Hub is not reachable and the model is not cached, or the Hub refuses.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

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

    with contextlib.suppress(LocalEntryNotFoundError):
        # the client cannot always tell a whole folder from one that holds single files
        if (cached := download(local=True)) and (cached / "modules.json").is_file():
            return cached
    with _told(model, revision):
        return download(local=False)


@contextlib.contextmanager
def _told(model: str, revision: str) -> Iterator[None]:
    """Turn the client's errors into ours."""
    from httpx2 import HTTPError  # what the Hub's client speaks HTTP with
    from huggingface_hub import errors

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
    except (HTTPError, errors.FileMetadataError, errors.OfflineModeIsEnabled, OSError) as error:
        raise RemoteError(
            f"{where}: fetching failed: {_first_line(error)}",
            hint="Run again: what has been fetched is kept. Without network use --encoder offline.",
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
