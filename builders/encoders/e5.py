"""E5 by sentence-transformers, at a pinned revision of the Hub."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from builders.encoders.hub import fetch_model, is_cached, model_files, resolve
from builders.encoders.protocol import Role
from builders.encoders.shards import described
from builders.encoders.texts import cut_to_fit, require_fitting, require_usable
from builders.errors import EncoderError, RemoteError, SourceChanged, SourceMissing
from builders.home import home
from builders.hub import is_stand_in
from builders.lock.lock import EncoderIdentity
from builders.spec import EncoderSpec

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_TOOLS = ("sentence-transformers", "tokenizers", "torch", "transformers")
_MODULES = ("Transformer", "Pooling", "Normalize")


class E5:
    """A model with prefixes, mean pooling and normalised vectors.

    Every text is a forward pass of its own in one thread of torch, several passes beside each other: in a
    batch, or with more threads a pass, the last bits of a vector depend on the other texts and the threads.

    Source: Wang et al. 2024, "Multilingual E5 Text Embeddings" (arXiv:2402.05672).

    Args:
        spec: Model, revision (a commit, possibly short), prefixes and maximum length.
        threads: Texts that are encoded beside each other; by default one per usable CPU.
        device: "cpu", "cuda", …; another device gives other last bits.
        offline: Never touch the network.
        root: Folder of the cached vectors; by default `vectors` in the home of all caches.
    """

    def __init__(
        self,
        spec: EncoderSpec,
        *,
        threads: int | None = None,
        device: str = "cpu",
        offline: bool = False,
        root: Path | None = None,
    ) -> None:
        self._spec = spec
        self._threads = threads or len(os.sched_getaffinity(0))
        self._device = device
        self._offline = offline
        self._root = root
        self._on_disk: tuple[Path, dict[str, str]] | None = None

    @cached_property
    def identity(self) -> EncoderIdentity:
        """Everything that determines a vector.

        The model that is in the cache of the Hub's client tells it, else the cached vectors: those that are
        there need no model. Where there are none either, the model is fetched.

        Raises:
            EncoderError: The revision is not a commit, or the model's `config.json` is not what it should be.
            RemoteError: The Hub is not reachable and nothing is cached, or it refuses.
            SourceMissing: Offline, and nothing is cached.
            StorageError: A file of the model is damaged.
        """
        spec = self._spec
        try:
            revision = resolve(spec.model, spec.revision, offline=self._offline)
        except (RemoteError, SourceMissing):
            if known := self._known(spec.revision):
                return known
            raise
        if not is_cached(spec.model, revision) and (known := self._known(revision)):
            return known
        folder, hashes = self._fetched(revision)
        try:
            dimensions = int(json.loads((folder / "config.json").read_bytes())["hidden_size"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EncoderError(
                f"{spec.model}@{revision}: config.json has no `hidden_size`",
                hint="Pin a revision that holds a transformer, or remove it from the Hub client's cache.",
            ) from error
        return self._declared(revision, dimensions, hashes)

    def _known(self, revision: str) -> EncoderIdentity | None:
        """Return the one encoder of that commit whose vectors are cached."""
        found = [
            one
            for one in described(self._root or home() / "vectors")
            if one.revision.startswith(revision)
            and one == self._declared(one.revision, one.dimensions, one.files)
        ]
        return found[0] if len(found) == 1 else None

    def _fetched(self, revision: str) -> tuple[Path, dict[str, str]]:
        """Return the model's folder, and the hashes of what is loaded from it."""
        if self._on_disk is None:
            folder = fetch_model(self._spec.model, revision, offline=self._offline)
            self._on_disk = folder, model_files(folder)
        return self._on_disk

    def _declared(self, revision: str, dimensions: int, hashes: dict[str, str]) -> EncoderIdentity:
        spec = self._spec
        return EncoderIdentity(
            backend="sentence-transformers",
            model=spec.model,
            revision=revision,
            dimensions=dimensions,
            max_length=spec.max_length,
            pooling="mean",
            query_prefix=spec.query_prefix,
            passage_prefix=spec.passage_prefix,
            device=self._device,
            tools={name: importlib.metadata.version(name) for name in _TOOLS},
            files=hashes,
            stand_in=is_stand_in(),
        )

    def truncate(self, texts: Sequence[str], role: Role) -> list[str]:
        """Cut texts to the maximum length; see `Encoder.truncate`."""
        require_usable(texts)
        return cut_to_fit(texts, lambda some: self._count(some, role), self._spec.max_length)

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Encode texts that fit; see `Encoder.encode`."""
        require_usable(texts)
        require_fitting(self._count(texts, role), self._spec.max_length)
        vectors = np.empty((len(texts), self.identity.dimensions), dtype=np.float32)
        # a tokenizer must not be used by two threads at once
        inputs = [self._model.preprocess([self._prefix(role) + text]) for text in texts]
        with one_torch_thread_each(self._threads) as pool:
            for row, vector in enumerate(pool.map(self._forward, inputs)):
                vectors[row] = vector
        return vectors

    def _forward(self, inputs: dict[str, Any]) -> NDArray[np.float32]:
        import torch
        from sentence_transformers.util import batch_to_device

        with torch.inference_mode():
            output = self._model(batch_to_device(inputs, self._model.device))["sentence_embedding"]
            vector: NDArray[np.float32] = output[0].cpu().numpy()
        return vector

    def _count(self, texts: Sequence[str], role: Role) -> list[int]:
        if not texts:
            return []
        prefixed = [self._prefix(role) + text for text in texts]
        ids = self._model.tokenizer(prefixed, truncation=False, padding=False, verbose=False)["input_ids"]
        return [len(tokens) for tokens in ids]

    def _prefix(self, role: Role) -> str:
        return self._spec.query_prefix if role == "query" else self._spec.passage_prefix

    @cached_property
    def _model(self) -> SentenceTransformer:
        identity = self.identity
        folder, hashes = self._fetched(identity.revision)
        if hashes != identity.files:
            raise SourceChanged(
                f"{identity.model}@{identity.revision}: its files are not those that made the cached vectors",
                hint="A commit never changes: find out which of the two is damaged, and remove it.",
            )
        model = _load(folder, f"{identity.model}@{identity.revision}", self._device)
        _require_as_declared(model, identity)
        _require_all_weights(model, folder, identity)
        model.max_seq_length = identity.max_length
        model.eval()
        return model


def _load(folder: Path, name: str, device: str) -> SentenceTransformer:
    try:
        with no_progress_bars():
            from sentence_transformers import SentenceTransformer

            return SentenceTransformer(
                str(folder),
                device=device,
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True, "dtype": "float32"},
            )
    except Exception as error:  # the libraries raise all kinds for a folder that is not a model
        raise EncoderError(
            f"{name}: the model cannot be loaded: {type(error).__name__}: {error}",
            hint=f"If files are missing, remove {folder} and run again with network.",
        ) from error


def _require_as_declared(model: SentenceTransformer, identity: EncoderIdentity) -> None:
    modules = tuple(type(module).__name__ for module in model)
    if modules != _MODULES:
        raise _unfit(identity, f"its modules are {modules}, not {_MODULES}")
    pooling = model[1]
    if pooling.pooling_mode != identity.pooling or not pooling.include_prompt:
        raise _unfit(
            identity, f"its pooling is {pooling.pooling_mode!r}, not {identity.pooling!r} of all tokens"
        )
    if model.get_embedding_dimension() != identity.dimensions:
        raise _unfit(
            identity, f"it gives {model.get_embedding_dimension()} dimensions, not {identity.dimensions}"
        )
    limit = model.max_seq_length
    if limit is not None and limit < identity.max_length:
        raise _unfit(identity, f"it takes {limit} tokens, fewer than the declared {identity.max_length}")


def _require_all_weights(model: SentenceTransformer, folder: Path, identity: EncoderIdentity) -> None:
    """Refuse a model with weights that were not stored: the library fills them in at random."""
    from safetensors import safe_open

    stored: set[str] = set()
    for path in folder.glob("*.safetensors"):
        with safe_open(path, "pt") as weights:
            stored.update(weights.keys())
    names = [name.removeprefix("model.") for name, _ in model[0].named_parameters()]
    missing = [
        name
        for name in names
        if not name.startswith("pooler.")  # unused: the vectors are means
        and not any(
            f".{key}".endswith(f".{name}") for key in stored
        )  # some files begin with the model's name
    ]
    if missing:
        raise _unfit(identity, f"{len(missing)} weights are not stored, {missing[0]!r} first")


def _unfit(identity: EncoderIdentity, fault: str) -> EncoderError:
    return EncoderError(
        f"{identity.model}@{identity.revision} is not the encoder that is declared: {fault}",
        hint="Pin a revision whose modules are a transformer, mean pooling and normalising.",
    )


@contextlib.contextmanager
def one_torch_thread_each(number: int) -> Iterator[ThreadPoolExecutor]:
    """Give a number of threads in each of which torch computes with that thread alone."""
    import torch

    before = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(number, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield pool
    finally:
        torch.set_num_threads(before)  # the number for threads to come is the process's


@contextlib.contextmanager
def no_progress_bars() -> Iterator[None]:
    """Keep the bars of transformers away: a verb draws its own."""
    from transformers.utils import logging

    if not logging.is_progress_bar_enabled():
        yield
        return
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers' own
    try:
        yield
    finally:
        logging.enable_progress_bar()  # type: ignore[no-untyped-call]  # transformers' own
