"""Any sentence-transformers model, from a folder or from the Hub at a commit, prompted as mteb prompts it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from builders import files
from builders.encoders.e5 import no_progress_bars, one_torch_thread_each
from builders.encoders.hub import fetch_model, model_files, resolve
from builders.encoders.protocol import Role
from builders.encoders.texts import cut_to_fit, require_usable
from builders.errors import EncoderError
from builders.hub import is_stand_in
from builders.lock.lock import EncoderIdentity

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Use = Literal["search", "clustering"]
_TOOLS = ("sentence-transformers", "tokenizers", "torch", "transformers")
_READ = (".json", ".safetensors", ".txt", ".model")
_BY_COSINE = ("cosine", "cos_sim")
_E5 = {"query": "query: ", "document": "passage: "}
_E5_MODELS = tuple(
    f"intfloat/{name}{size}"
    for name in ("e5-", "multilingual-e5-")
    for size in ("small", "base", "large", "small-v2", "base-v2", "large-v2")
)


@dataclass(frozen=True, slots=True)
class Prompts:
    """What is put before a text."""

    query: str
    passage: str
    clustering: str


def prompts_of(model: str, settings: dict[str, Any]) -> Prompts:
    """Return the prompts that mteb 2.26 gives a model.

    A name of its `prompts` is looked for as mteb does: task type and role ("Retrieval-query"), task type,
    role ("query", "document"; a prompt named "passage" is passed over there, and so here). Clustering has no
    role; where no prompt is named "Clustering", the library's `default_prompt_name` counts. E5's models
    state no prompts, and mteb lists them with their prefixes: so clustering has none.

    Args:
        model: "owner/name", or a folder's name.
        settings: The model's `config_sentence_transformers.json`; empty where it has none.
    """
    stated: dict[str, str] = {name: text or "" for name, text in dict(settings.get("prompts") or {}).items()}
    prompts = _E5 if model in _E5_MODELS else stated

    def first(*names: str) -> str:
        return next((prompts[name] for name in names if name in prompts), "")

    default = stated.get(settings.get("default_prompt_name") or "", "")
    return Prompts(
        query=first("Retrieval-query", "Retrieval", "query"),
        passage=first("Retrieval-document", "Retrieval", "document"),
        clustering=prompts.get("Clustering", default),
    )


class SentenceModel:
    """A model of sentence-transformers; its weights are loaded when the first text is cut or encoded.

    Args:
        source: A folder, or "owner/name@revision" on the Hub, where the revision is a commit's 7 to 40
            digits: a branch or a tag moves, and is refused.
        threads: Texts that are encoded beside each other; by default one per usable CPU.
        device: "cpu", "cuda", …; another device gives other last bits.
        offline: Never touch the network.
    """

    def __init__(
        self, source: str, *, threads: int | None = None, device: str = "cpu", offline: bool = False
    ) -> None:
        self._source = source
        self._threads = threads or len(os.sched_getaffinity(0))
        self._device = device
        self._offline = offline

    def encoder(self, use: Use) -> SentenceEncoder:
        """Return the encoder with the prompts of a use; all of them share the weights."""
        return SentenceEncoder(self, use)

    @cached_property
    def place(self) -> tuple[Path, str, str]:
        """Folder, name and revision: a commit's 40 digits, or of a folder a hash of what it holds.

        Raises:
            EncoderError: It is no sentence-transformers model, or its revision no commit.
            RemoteError: The Hub is not reachable, or refuses.
            SourceMissing: Offline, and not cached.
            StorageError: A file cannot be read or kept.
        """
        folder = Path(self._source)
        if folder.is_dir():
            _require_model(folder, self._source)
            return folder, folder.resolve().name, _hash_of(folder)
        model, _, asked = self._source.rpartition("@")
        revision = resolve(model, asked, offline=self._offline)
        folder = fetch_model(model, revision, offline=self._offline)
        _require_model(folder, f"{model}@{revision}")
        return folder, model, revision

    @cached_property
    def _hashes(self) -> dict[str, str]:
        """Of a model from the Hub what is loaded, hashed; a folder's hash is its revision."""
        return {} if Path(self._source).is_dir() else model_files(self.place[0])

    @cached_property
    def prompts(self) -> Prompts:
        """What is put before texts; see `prompts_of`."""
        folder, name, _ = self.place
        return prompts_of(name, _settings(folder / "config_sentence_transformers.json"))

    @cached_property
    def normalised(self) -> bool:
        """Whether the model's last module normalises its vectors."""
        modules = _settings(self.place[0] / "modules.json")
        return bool(modules) and str(modules[-1].get("type", "")).endswith("Normalize")

    def require_cosine(self) -> None:
        """Refuse to search by another similarity than the model's own, as mteb would not.

        Raises:
            EncoderError: The model's settings name another one, and its vectors have lengths that count.
        """
        settings = _settings(self.place[0] / "config_sentence_transformers.json")
        named = settings.get("similarity_fn_name") or _BY_COSINE[0]
        if named not in _BY_COSINE and not self.normalised:
            raise EncoderError(
                f"{self._source}: its settings compare vectors by {named!r}, and search here is by cosine",
                hint="Add a normalising module if cosine is what you want, or evaluate it by mteb.",
            )

    @cached_property
    def dimensions(self) -> int:
        """Of its vectors: as its files say, or where they do not, as the loaded model does."""
        return _stated_dimensions(self.place[0]) or int(self.loaded.get_embedding_dimension() or 0)

    @cached_property
    def loaded(self) -> SentenceTransformer:
        """The model with its weights.

        Raises:
            EncoderError: It cannot be loaded.
        """
        folder, _, _ = self.place
        try:
            with no_progress_bars():
                from sentence_transformers import SentenceTransformer

                model = SentenceTransformer(
                    str(folder),
                    device=self._device,
                    local_files_only=True,
                    trust_remote_code=False,
                    model_kwargs={"use_safetensors": True, "dtype": "float32"},
                )
        except Exception as error:  # the libraries raise all kinds for a folder that is not a model
            raise EncoderError(
                f"{self._source}: the model cannot be loaded: {type(error).__name__}: {error}",
                hint="It must be a sentence-transformers model with weights in safetensors and no code.",
            ) from error
        return model.eval()

    def count(self, texts: Sequence[str], prompt: str) -> list[int]:
        """Return the tokens of each text with its prompt, special tokens included."""
        ids = self.loaded.tokenizer(
            [prompt + text for text in texts], truncation=False, padding=False, verbose=False
        )["input_ids"]
        return [len(tokens) for tokens in ids]

    def forward(self, texts: Sequence[str], prompt: str) -> NDArray[np.float32]:
        """Return raw vectors, float32 (n, dimensions): each text by itself, in one thread of torch.

        In a batch, or with more threads a pass, a vector's last bits depend on the other texts.
        """
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        # a tokenizer must not be used by two threads at once
        inputs = [self.loaded.preprocess([text], prompt=prompt or None) for text in texts]
        for row, vector in enumerate(_each_alone(self.loaded, inputs, self._threads)):
            if vector.shape != (self.dimensions,):
                raise EncoderError(
                    f"{self._source}: {vector.shape[0]} dimensions, and its files say {self.dimensions}"
                )
            vectors[row] = vector
        return vectors

    def identity(self, query: str, passage: str) -> EncoderIdentity:
        """Everything that determines a vector, with these prompts."""
        folder, name, revision = self.place
        stated = _settings(folder / "sentence_bert_config.json").get("max_seq_length")
        return EncoderIdentity(
            backend="sentence-transformers",
            model=name,
            revision=revision,
            dimensions=self.dimensions,
            max_length=stated if isinstance(stated, int) else 0,
            pooling="as the model's modules",
            query_prefix=query,
            passage_prefix=passage,
            device=self._device,
            tools={tool: importlib.metadata.version(tool) for tool in _TOOLS},
            files=self._hashes,
            stand_in=bool(self._hashes) and is_stand_in(),
        )


class SentenceEncoder:
    """An `Encoder` of a model for one use. Its vectors have norm 1 only where the model normalises them.

    For clustering both roles take the clustering prompt.
    """

    def __init__(self, model: SentenceModel, use: Use) -> None:
        self._model = model
        self._use = use

    @property
    def normalised(self) -> bool:
        """Whether vectors have norm 1; if not, searching must divide by it."""
        return self._model.normalised

    @cached_property
    def identity(self) -> EncoderIdentity:
        """Everything that determines a vector; `max_length` is 0 where the model's files do not say it.

        Raises:
            EncoderError: It is no sentence-transformers model, its revision no commit, or it is to search by
                another similarity than cosine.
            RemoteError: The Hub is not reachable, or refuses.
            SourceMissing: Offline, and not cached.
        """
        if self._use == "search":
            self._model.require_cosine()
        return self._model.identity(self._prompt("query"), self._prompt("passage"))

    def truncate(self, texts: Sequence[str], role: Role) -> list[str]:
        """Cut texts to what the model takes; see `Encoder.truncate`."""
        require_usable(texts)
        limit = self._model.loaded.max_seq_length
        if limit is None or limit == float("inf"):
            return list(texts)
        return cut_to_fit(texts, lambda some: self._model.count(some, self._prompt(role)), int(limit))

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Encode texts that fit; see `Encoder.encode`."""
        require_usable(texts)
        return self._model.forward(texts, self._prompt(role))

    def _prompt(self, role: Role) -> str:
        prompts = self._model.prompts
        if self._use == "clustering":
            return prompts.clustering
        return prompts.query if role == "query" else prompts.passage


def _each_alone(
    model: SentenceTransformer, inputs: Sequence[dict[str, Any]], threads: int
) -> Iterator[NDArray[np.float32]]:
    import torch
    from sentence_transformers.util import batch_to_device

    def forward(features: dict[str, Any]) -> NDArray[np.float32]:
        with torch.inference_mode():
            output = model(batch_to_device(features, model.device))["sentence_embedding"]
            vector: NDArray[np.float32] = output[0].float().cpu().numpy()
        return vector

    with one_torch_thread_each(threads) as pool:
        yield from pool.map(forward, inputs)


def _require_model(folder: Path, name: str) -> None:
    if not (folder / "modules.json").is_file():
        raise EncoderError(
            f"{name}: no modules.json there, so it is no sentence-transformers model",
            hint="Save it with SentenceTransformer.save_pretrained, or name another.",
        )


def _hash_of(folder: Path) -> str:
    """Hash names and bytes of what is loaded, so that a model trained on is another model."""
    digest = hashlib.sha256()
    for path in _loaded(folder):
        digest.update(f"{path.relative_to(folder).as_posix()}\0{files.sha256(path)}\0".encode())
    return digest.hexdigest()[:40]


def _loaded(folder: Path, above: tuple[Path, ...] = ()) -> Iterator[Path]:
    """Yield files by name, also those in linked folders; a link to a folder above leads nowhere new."""
    real = folder.resolve()
    if real in above:
        return
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            yield from _loaded(path, (*above, real))
        elif path.suffix in _READ and path.is_file():
            yield path


def _settings(path: Path) -> Any:  # noqa: ANN401  any JSON value
    if not path.is_file():
        return {}
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise EncoderError(f"{path}: not JSON that can be read ({error})") from error


def _stated_dimensions(folder: Path) -> int:
    """Return the dimensions that a transformer with simple pooling and nothing but normalising has, or 0."""
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in _settings(folder / "modules.json")]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return 0
    pooling = _settings(folder / "1_Pooling" / "config.json")
    if not isinstance(pooling.get("pooling_mode", ""), str):  # several, whose vectors are joined
        return 0
    modes = [name for name, on in pooling.items() if name.startswith("pooling_mode_") and on]
    if len(modes) > 1:
        return 0
    size = _settings(folder / "config.json").get("hidden_size", 0)
    return size if isinstance(size, int) else 0
