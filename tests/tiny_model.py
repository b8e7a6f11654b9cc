"""A sentence-transformers model of a few random weights, in a folder as it is downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
_LETTERS = "abcdefghijklmnopqrstuvwxyzäöüß0123456789:.;"


def save_tiny_model(folder: Path, *, seed: int = 3) -> Path:
    """Save a BERT of one layer over single characters, with mean pooling and normalisation."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    pieces = [*_SPECIAL, *_LETTERS, *(f"##{letter}" for letter in _LETTERS)]
    tokenizer = Tokenizer(
        models.WordPiece(dict(zip(pieces, range(len(pieces)), strict=True)), unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    wrapper: Any = PreTrainedTokenizerFast
    bare = folder / "bert"
    wrapper(tokenizer_object=tokenizer, model_max_length=64, **names).save_pretrained(str(bare))
    torch.manual_seed(seed)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config: Any = BertConfig
    BertModel(config(vocab_size=len(pieces), **sizes)).save_pretrained(str(bare))
    reader: Any = Transformer(str(bare))
    SentenceTransformer(modules=[reader, Pooling(32, "mean"), Normalize()]).save_pretrained(
        str(folder / "model")
    )
    return folder / "model"
