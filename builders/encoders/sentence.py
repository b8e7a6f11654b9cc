"""Models of sentence-transformers: E5 as a config pins it, and any other, prompted as mteb prompts it.

Every text is a forward pass of its own in one thread of torch, several passes beside each other: in a batch,
or with more threads a pass, the last bits of a vector depend on the other texts and the threads.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from builders import files
from builders.encoders.hub import fetch_model, is_cached, model_files, resolve
from builders.encoders.prompts import prompts_of
from builders.encoders.protocol import Role, TokenEncoder
from builders.encoders.vectors import described
from builders.errors import EncoderError, RemoteError, SourceChanged, SourceMissing
from builders.home import home
from builders.hub import is_stand_in
from builders.lock.lock import EncoderIdentity
from builders.spec import EncoderSpec
from builders.text_files import parse_json

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Use = Literal["search", "clustering"]
_Json = TypeVar("_Json", dict[str, Any], list[Any])
_MODULES = ("Transformer", "Pooling", "Normalize")
_READ = (".json", ".safetensors", ".txt", ".model")
_BY_COSINE = ("cosine", "cos_sim")


@dataclass(eq=False)
class E5(TokenEncoder):
    """The model that a config pins, with prefixes, mean pooling and normalised vectors.

    Source: Wang et al. 2024, "Multilingual E5 Text Embeddings" (arXiv:2402.05672). `threads` is the number of
    texts that are encoded at a time; the other options are those of `load_encoder`.
    """

    spec: EncoderSpec
    _: KW_ONLY
    threads: int | None = None
    offline: bool = False
    root: Path | None = None

    @cached_property
    def identity(self) -> EncoderIdentity:
        """Everything that determines a vector, of the cached model, else of cached vectors, else fetched."""
        spec = self.spec
        try:
            revision = resolve(spec.model, spec.revision, offline=self.offline)
        except (RemoteError, SourceMissing):
            if known := self._known(spec.revision):
                return known
            raise
        if not is_cached(spec.model, revision) and (known := self._known(revision)):
            return known
        folder = fetch_model(spec.model, revision, offline=self.offline)
        try:
            dimensions = int(parse_json((folder / "config.json").read_bytes())["hidden_size"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EncoderError(
                f"{spec.model}@{revision}: config.json has no `hidden_size`",
                hint="Pin a revision that holds a transformer, or remove it from the Hub client's cache.",
            ) from error
        return self._declared(revision, dimensions, model_files(folder))

    def _known(self, revision: str) -> EncoderIdentity | None:
        """Return the one encoder of that commit whose vectors are cached."""
        kept = described(self.root or home() / "vectors")
        of_commit = [one for one in kept if one.revision.startswith(revision)]
        found = [one for one in of_commit if one == self._declared(one.revision, one.dimensions, one.files)]
        return found[0] if len(found) == 1 else None

    def _declared(self, revision: str, dimensions: int, hashes: dict[str, str]) -> EncoderIdentity:
        spec = self.spec
        return EncoderIdentity(
            backend="sentence-transformers",
            model=spec.model,
            revision=revision,
            dimensions=dimensions,
            max_length=spec.max_length,
            pooling="mean",
            query_prefix=spec.query_prefix,
            passage_prefix=spec.passage_prefix,
            tools=_tools(),
            files=hashes,
            stand_in=is_stand_in(),
        )

    def _count(self, texts: Sequence[str], role: Role) -> list[int]:
        return _token_counts(self._model, texts, self._prefix(role))

    def _encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        return _vectors(self._model, texts, self._prefix(role), self.identity.dimensions, self.threads)

    def _prefix(self, role: Role) -> str:
        return self.spec.query_prefix if role == "query" else self.spec.passage_prefix

    @cached_property
    def _model(self) -> SentenceTransformer:
        identity = self.identity
        name = f"{identity.model}@{identity.revision}"
        folder = fetch_model(identity.model, identity.revision, offline=self.offline)
        if model_files(folder) != identity.files:
            raise SourceChanged(
                f"{name}: its files are not those that made the cached vectors",
                hint="A commit never changes: find out which of the two is damaged, and remove it.",
            )
        hint = f"If files are missing, remove {folder} and run again with network."
        model = _loaded_model(folder, name, hint)
        if fault := _difference(model, identity) or _missing_weights(model, folder):
            raise EncoderError(
                f"{name} is not the encoder that is declared: {fault}",
                hint="Pin a revision whose modules are a transformer, mean pooling and normalising.",
            )
        return model


@dataclass(eq=False)
class SentenceModel:
    """A model of sentence-transformers; its weights are loaded when the first text is cut or encoded.

    `source` is a folder, or "owner/name@revision" on the Hub, where the revision is a commit's 7 to 40
    digits: a branch or a tag moves, and is refused. The options are those of `E5`.
    """

    source: str
    _: KW_ONLY
    threads: int | None = None
    offline: bool = False

    def encoder(self, use: Use) -> _SentenceEncoder:
        """Return the encoder with the prompts of a use; all of them share the weights."""
        return _SentenceEncoder(self, use)

    @cached_property
    def place(self) -> tuple[Path, str, str]:
        """Folder, name and revision: a commit's 40 digits, or of a folder a hash of what it holds."""
        folder = Path(self.source)
        if folder.is_dir():
            _require_model(folder, self.source)
            return folder, folder.resolve().name, _hash_of(folder)
        model, _, asked = self.source.rpartition("@")
        revision = resolve(model, asked, offline=self.offline)
        folder = fetch_model(model, revision, offline=self.offline)
        _require_model(folder, f"{model}@{revision}")
        return folder, model, revision

    def prompt(self, use: Use, role: Role) -> str:
        """Return what is put before a text; for clustering the role does not matter."""
        prompts = prompts_of(self.place[1], self._settings("config_sentence_transformers.json"))
        if use == "clustering":
            return prompts.clustering
        return prompts.query if role == "query" else prompts.passage

    @cached_property
    def normalised(self) -> bool:
        """Whether the model's last module normalises its vectors."""
        return bool(self._modules) and self._modules[-1] == "Normalize"

    @cached_property
    def loaded(self) -> SentenceTransformer:
        """The model with its weights."""
        hint = "It must be a sentence-transformers model with weights in safetensors and no code."
        return _loaded_model(self.place[0], self.source, hint)

    def require_cosine(self) -> None:
        """Refuse to search by another similarity than the model's own, as mteb would not."""
        settings = self._settings("config_sentence_transformers.json")
        named = settings.get("similarity_fn_name") or _BY_COSINE[0]
        if named not in _BY_COSINE and not self.normalised:
            raise EncoderError(
                f"{self.source}: its settings compare vectors by {named!r}, and search here is by cosine",
                hint="Add a normalising module if cosine is what you want, or evaluate it by mteb.",
            )

    def vectors(self, texts: Sequence[str], prompt: str) -> NDArray[np.float32]:
        """Return raw vectors, float32 (n, dimensions)."""
        return _vectors(self.loaded, texts, prompt, self._dimensions, self.threads, self.source)

    def identity(self, query: str, passage: str) -> EncoderIdentity:
        """Everything that determines a vector, with these prompts."""
        folder, name, revision = self.place
        # a folder's hash is its revision already
        hashes = {} if Path(self.source).is_dir() else model_files(folder)
        stated = self._settings("sentence_bert_config.json").get("max_seq_length")
        return EncoderIdentity(
            backend="sentence-transformers",
            model=name,
            revision=revision,
            dimensions=self._dimensions,
            max_length=stated if isinstance(stated, int) else 0,
            pooling="as the model's modules",
            query_prefix=query,
            passage_prefix=passage,
            tools=_tools(),
            files=hashes,
            stand_in=bool(hashes) and is_stand_in(),
        )

    @cached_property
    def _dimensions(self) -> int:
        """Of its vectors: as its files say, or where they do not, as the loaded model does."""
        return self._stated_dimensions() or int(self.loaded.get_embedding_dimension() or 0)

    def _stated_dimensions(self) -> int:
        """Return the dimensions of a transformer with simple pooling and nothing but normalising, or 0."""
        if self._modules not in (list(_MODULES[:2]), list(_MODULES)):
            return 0
        pooling = self._settings("1_Pooling/config.json")
        if not isinstance(pooling.get("pooling_mode", ""), str):  # several, whose vectors are joined
            return 0
        modes = [name for name, on in pooling.items() if name.startswith("pooling_mode_") and on]
        size = self._settings("config.json").get("hidden_size", 0)
        return size if len(modes) < 2 and isinstance(size, int) else 0

    @cached_property
    def _modules(self) -> list[str]:
        """The names of the classes of the model's modules, in order."""
        modules = self._read("modules.json", [])
        if not all(isinstance(module, dict) for module in modules):
            raise EncoderError(f"{self.place[0] / 'modules.json'}: not a list of modules")
        return [str(module.get("type", "")).rpartition(".")[2] for module in modules]

    def _settings(self, name: str) -> dict[str, Any]:
        return self._read(name, {})

    def _read(self, name: str, absent: _Json) -> _Json:
        """Read a file of settings of the same kind as `absent`, which stands for one that is not there."""
        path = self.place[0] / name
        if not path.is_file():
            return absent
        try:
            value = parse_json(path.read_bytes())
        except (OSError, ValueError) as error:
            raise EncoderError(f"{path}: not JSON that can be read ({error})") from error
        if not isinstance(value, type(absent)):
            raise EncoderError(f"{path}: not the settings of a model", hint="Fetch the model again.")
        return value


@dataclass(eq=False)
class _SentenceEncoder(TokenEncoder):
    """An `Encoder` of a model for one use. Its vectors have norm 1 only where the model normalises them."""

    model: SentenceModel
    use: Use

    @property
    def normalised(self) -> bool:
        """Whether vectors have norm 1; if not, searching must divide by it."""
        return self.model.normalised

    @cached_property
    def identity(self) -> EncoderIdentity:
        """Everything that determines a vector; `max_length` is 0 where the model's files do not say it."""
        if self.use == "search":
            self.model.require_cosine()
        return self.model.identity(self._prompt("query"), self._prompt("passage"))

    def _limit(self) -> int | None:
        limit = self.model.loaded.max_seq_length
        return None if limit is None or limit == float("inf") else int(limit)

    def _count(self, texts: Sequence[str], role: Role) -> list[int]:
        return _token_counts(self.model.loaded, texts, self._prompt(role))

    def _encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        return self.model.vectors(texts, self._prompt(role))

    def _prompt(self, role: Role) -> str:
        return self.model.prompt(self.use, role)


def _tools() -> dict[str, str]:
    tools = ("sentence-transformers", "tokenizers", "torch", "transformers")
    return {name: importlib.metadata.version(name) for name in tools}


def _loaded_model(folder: Path, name: str, hint: str) -> SentenceTransformer:
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # a verb draws its own
        model = SentenceTransformer(
            str(folder),
            device="cpu",  # another one gives other last bits
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True, "dtype": "float32"},
        )
    except Exception as error:  # the libraries raise all kinds for a folder that is not a model
        fault = f"{name}: the model cannot be loaded: {type(error).__name__}: {error}"
        raise EncoderError(fault, hint=hint) from error
    return model.eval()


def _token_counts(model: SentenceTransformer, texts: Sequence[str], prompt: str) -> list[int]:
    if not texts:  # which the tokenizer refuses
        return []
    whole = [prompt + text for text in texts]
    ids = model.tokenizer(whole, truncation=False, padding=False, verbose=False)["input_ids"]
    return [len(tokens) for tokens in ids]


def _vectors(
    model: SentenceTransformer,
    texts: Sequence[str],
    prompt: str,
    dimensions: int,
    threads: int | None,
    name: str = "the model",
) -> NDArray[np.float32]:
    """Run a forward pass for each text by itself."""
    import torch

    def forward(features: dict[str, Any]) -> NDArray[np.float32]:
        with torch.inference_mode():
            vector: NDArray[np.float32] = model(features)["sentence_embedding"][0].float().numpy()
        return vector

    # made beforehand: two threads must not use a tokenizer at once
    inputs = [model.preprocess([text], prompt=prompt or None) for text in texts]
    vectors = np.empty((len(inputs), dimensions), dtype=np.float32)
    number, before = threads or len(os.sched_getaffinity(0)), torch.get_num_threads()
    try:
        with ThreadPoolExecutor(number, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            for row, vector in enumerate(pool.map(forward, inputs)):
                if vector.shape != (dimensions,):
                    raise EncoderError(f"{name}: {vector.shape[0]} dimensions, its files say {dimensions}")
                vectors[row] = vector
    finally:
        torch.set_num_threads(before)  # the number for threads to come is the process's
    return vectors


def _difference(model: SentenceTransformer, identity: EncoderIdentity) -> str:
    """Return how a model differs from what is declared; empty where it does not."""
    modules = tuple(type(module).__name__ for module in model)
    if modules != _MODULES:
        return f"its modules are {modules}, not {_MODULES}"
    pooling = model[1]
    if pooling.pooling_mode != identity.pooling or not pooling.include_prompt:
        return f"its pooling is {pooling.pooling_mode!r}, not {identity.pooling!r} of all tokens"
    if model.get_embedding_dimension() != identity.dimensions:
        return f"it gives {model.get_embedding_dimension()} dimensions, not {identity.dimensions}"
    limit = model.max_seq_length
    if limit is not None and limit < identity.max_length:
        return f"it takes {limit} tokens, fewer than the declared {identity.max_length}"
    return ""


def _missing_weights(model: SentenceTransformer, folder: Path) -> str:
    """Return which weights were not stored, which the library fills in at random; empty for none."""
    from safetensors import safe_open

    stored: set[str] = set()
    for path in folder.glob("*.safetensors"):
        with safe_open(path, "pt") as weights:
            stored.update(weights.keys())
    names = (name.removeprefix("model.") for name, _ in model[0].named_parameters())
    used = (name for name in names if not name.startswith("pooler."))  # the vectors are means
    # some files begin with the model's name
    missing = [name for name in used if not any(f".{key}".endswith(f".{name}") for key in stored)]
    return f"{len(missing)} weights are not stored, {missing[0]!r} first" if missing else ""


def _require_model(folder: Path, name: str) -> None:
    if not (folder / "modules.json").is_file():
        raise EncoderError(
            f"{name}: no modules.json there, so it is no sentence-transformers model",
            hint="Save it with SentenceTransformer.save_pretrained, or name another.",
        )


def _hash_of(folder: Path) -> str:
    """Hash names and bytes of what is loaded, so that a model trained on is another model."""
    digest = hashlib.sha256()
    for path in _files_of(folder):
        digest.update(f"{path.relative_to(folder).as_posix()}\0{files.sha256(path)}\0".encode())
    return digest.hexdigest()[:40]


def _files_of(folder: Path, above: tuple[Path, ...] = ()) -> Iterator[Path]:
    """Yield files by name, also those in linked folders; a link to a folder above leads nowhere new."""
    real = folder.resolve()
    if real in above:
        return
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            yield from _files_of(path, (*above, real))
        elif path.suffix in _READ and path.is_file():
            yield path
