"""Fetching a model from the Hub, by the client's own settings.

What another server than the Hub serves goes into a cache of its own beside the client's, one for each server:
under a commit's name it must never pass for the Hub's.
"""

import functools
import re
from fnmatch import fnmatch
from pathlib import Path

from builders import files, hub
from builders.errors import EncoderError, SourceMissing, StorageError

_SHORT = re.compile(r"[0-9a-f]{7,40}", re.ASCII)
_WANTED = ["*.json", "*.safetensors", "*.txt", "*.model"]  # no pickles: loading one runs its code
_NEEDED = ("modules.json", "*.safetensors")
_ADVICE = hub.Advice(
    check="Check the pin: it must name a revision that holds a sentence-transformers model.",
    network="Check the network, HF_ENDPOINT and HF_HUB_OFFLINE, or use --encoder offline.",
    busy="Run again: what has been fetched is kept. Without network use --encoder offline.",
)
_UNWANTED = ["onnx/*", "openvino/*"]


def resolve(model: str, revision: str, *, offline: bool = False) -> str:
    """Return a commit's 40 digits; a short commit is looked up in the client's cache, then on the Hub.

    Raises:
        EncoderError: `revision` is not the beginning of a commit hash, or means another commit.
    """
    if not _SHORT.fullmatch(revision):
        raise EncoderError(
            f"{model}: revision {revision!r} is not a commit",
            hint="Pin at least 7 digits of a commit hash; branches and tags move.",
        )
    api, cache = hub.client(), _models_cache()
    commit = hub.resolve(api, model, revision, "model", advice=_ADVICE, cache=cache, offline=offline)
    if not commit.startswith(revision):
        raise EncoderError(
            f"{model}: the Hub resolves {revision} to {commit!r}, which is another commit",
            hint="Pin the commit by all of its 40 digits.",
        )
    return commit


def _models_cache() -> Path:
    """Return the folder of fetched models: that of the Hub's client, or the one of a stand-in for the Hub."""
    from huggingface_hub import constants

    return hub.cache_folder(Path(constants.HF_HUB_CACHE))


def is_cached(model: str, revision: str) -> bool:
    """Say whether a model is there as a whole, so that nothing of it must be fetched."""
    return not isinstance(_cached(model, revision), str)


def fetch_model(model: str, revision: str, *, offline: bool = False) -> Path:
    """Return the folder of a model, fetched unless it is cached: a commit never changes.

    Raises:
        SourceMissing: Offline, and a file is not cached.
    """
    cached = _cached(model, revision)
    if isinstance(cached, Path):
        return cached
    if offline:
        raise SourceMissing(
            f"offline, and not cached: {cached} of {model}@{revision}",
            hint="Run once with network, or use --encoder offline.",
        )
    with hub.hub_errors(f"fetching {model}@{revision}", _ADVICE, _models_cache()):
        return _snapshot(model, revision, local=False)


@functools.cache  # a commit's files never change, and weights take seconds
def model_files(folder: Path) -> dict[str, str]:
    """Return the sha256 of what is loaded of a fetched model, by path with forward slashes.

    Raises:
        StorageError: A file is not what the Hub named it; the client compares nothing but sizes.
    """
    hashes = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if not any(fnmatch(name, wanted) for wanted in _WANTED) or any(fnmatch(name, un) for un in _UNWANTED):
            continue
        hashes[name] = files.sha256(path)
        stored = path.resolve().name
        found = hashes[name] if len(stored) == 64 else files.ids_of(path).oid
        if path.is_symlink() and stored != found:
            raise StorageError(
                f"{path}: damaged: the Hub named it {stored}, and its bytes give {found}",
                hint=f"Remove {folder.parents[1]} and run again with network.",
            )
    return hashes


def _cached(model: str, revision: str) -> Path | str:
    """Return the folder of a model that is there as a whole, else what it lacks."""
    from huggingface_hub.errors import IncompleteSnapshotError, LocalEntryNotFoundError

    with hub.hub_errors(f"fetching {model}@{revision}", _ADVICE, _models_cache()):
        try:
            folder = _snapshot(model, revision, local=True)
        except IncompleteSnapshotError as error:
            return _lacking(Path(error.snapshot_path)) or "a file"
        except LocalEntryNotFoundError:
            return _NEEDED[0]
        return _lacking(folder) or folder


def _snapshot(model: str, revision: str, *, local: bool) -> Path:
    from huggingface_hub import snapshot_download

    return Path(
        snapshot_download(
            model,
            revision=revision,
            cache_dir=_models_cache(),
            allow_patterns=_WANTED,
            ignore_patterns=_UNWANTED,
            local_files_only=local,
        )
    )


def _lacking(folder: Path) -> str:
    """Return what a model's folder lacks; the client may take single files for a whole model."""
    return next((pattern for pattern in _NEEDED if not any(folder.glob(pattern))), "")
