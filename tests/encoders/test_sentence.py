"""Models of kinds that differ: static, of several poolings, linked together, of another similarity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from builders.encoders import encode_cached
from builders.encoders.sentence import SentenceModel
from builders.errors import EncoderError
from tests.encoders.dequantise import tiny_weights, write_model
from tests.encoders.samples import TITLES
from tests.encoders.test_e5 import write_faulty


def write_json(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document), encoding="utf-8")


def loaded_vectors(folder: Path) -> NDArray[np.float32]:
    """Return what the library itself makes of the texts."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    vectors: NDArray[np.float32] = model.encode(TITLES, show_progress_bar=False)
    return vectors


def our_vectors(folder: Path, root: Path) -> NDArray[np.float32]:
    encoder = SentenceModel(str(folder)).encoder("clustering")
    return encode_cached(encoder, pl.Series(TITLES), "passage", root=root).vectors


@pytest.mark.parametrize("modes", [["mean", "max"], ["mean"], "mean", "cls", ["cls", "mean", "max"]])
def test_all_poolings_are_taken(tmp_path: Path, modes: list[str] | str) -> None:
    write_model(tiny_weights(), tmp_path / "m")
    write_json(tmp_path / "m/1_Pooling/config.json", {"embedding_dimension": 16, "pooling_mode": modes})
    encoder = SentenceModel(str(tmp_path / "m")).encoder("clustering")
    assert encoder.identity.dimensions == 16 * (len(modes) if isinstance(modes, list) else 1)
    theirs = loaded_vectors(tmp_path / "m")
    np.testing.assert_allclose(our_vectors(tmp_path / "m", tmp_path / "vectors"), theirs, atol=1e-5)


def test_a_static_model_has_no_longest_text(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = sorted({word for title in TITLES for word in title.split()} | {"[UNK]"})
    tokenizer = Tokenizer(models.WordLevel({word: row for row, word in enumerate(words)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    weights = np.random.default_rng(1).standard_normal((len(words), 8)).astype(np.float32)
    module = StaticEmbedding(tokenizer, embedding_weights=weights)
    SentenceTransformer(modules=[module], device="cpu").save_pretrained(str(tmp_path / "s"))
    encoder = SentenceModel(str(tmp_path / "s")).encoder("search")
    long = " ".join(TITLES) * 500
    assert (encoder.identity.dimensions, encoder.truncate([long], "query")) == (8, [long])
    np.testing.assert_allclose(
        our_vectors(tmp_path / "s", tmp_path / "vectors"), loaded_vectors(tmp_path / "s"), atol=1e-5
    )


def test_a_text_that_is_too_long_is_refused_and_not_cut_in_silence(tmp_path: Path) -> None:
    write_model(tiny_weights(), tmp_path / "m")
    encoder = SentenceModel(str(tmp_path / "m")).encoder("search")
    long = "koch " * 40
    with pytest.raises(EncoderError, match=r"text 1 has .* tokens, the limit is 64"):
        encoder.encode(["koch", long], "query")
    assert encoder.encode(encoder.truncate(["koch", long], "query"), "query").shape == (2, 16)
    assert encoder.truncate([], "query") == [] and encoder.encode([], "query").shape == (0, 16)


def test_a_change_behind_a_linked_folder_makes_another_model(tmp_path: Path) -> None:
    write_model(tiny_weights(), tmp_path / "m")
    (tmp_path / "m/1_Pooling").rename(tmp_path / "elsewhere")
    (tmp_path / "m/1_Pooling").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    first = SentenceModel(str(tmp_path / "m")).place[2]
    assert SentenceModel(str(tmp_path / "m")).place[2] == first
    write_json(tmp_path / "elsewhere/config.json", {"embedding_dimension": 16, "pooling_mode": "cls"})
    assert SentenceModel(str(tmp_path / "m")).place[2] != first


def test_a_change_behind_a_linked_file_and_of_a_name_makes_another_model(tmp_path: Path) -> None:
    write_model(tiny_weights(), tmp_path / "m")
    (tmp_path / "m/model.safetensors").rename(tmp_path / "blob")
    (tmp_path / "m/model.safetensors").symlink_to(tmp_path / "blob")
    revisions = [SentenceModel(str(tmp_path / "m")).place[2]]
    (tmp_path / "blob").write_bytes((tmp_path / "blob").read_bytes()[:-1] + b"\1")
    revisions.append(SentenceModel(str(tmp_path / "m")).place[2])
    (tmp_path / "m/1_Pooling").rename(tmp_path / "m/2_Pooling")
    revisions.append(SentenceModel(str(tmp_path / "m")).place[2])
    assert len(set(revisions)) == 3


def test_a_folder_that_is_linked_into_itself_is_read_once(tmp_path: Path) -> None:
    write_model(tiny_weights(), tmp_path / "m")
    first = SentenceModel(str(tmp_path / "m")).place[2]
    (tmp_path / "m/again").symlink_to(tmp_path / "m", target_is_directory=True)
    assert SentenceModel(str(tmp_path / "m")).place[2] == first


@pytest.mark.parametrize("similarity", ["dot", "euclidean"])
def test_searching_by_another_similarity_is_refused(tmp_path: Path, similarity: str) -> None:
    settings = {"similarity_fn_name": similarity}
    write_faulty(tmp_path / "bare", "bare")
    write_json(tmp_path / "bare/config_sentence_transformers.json", settings)
    model = SentenceModel(str(tmp_path / "bare"))
    with pytest.raises(EncoderError, match=similarity):
        _ = model.encoder("search").identity
    assert model.encoder("clustering").identity.dimensions == 16
    write_model(tiny_weights(), tmp_path / "unit")  # where all have norm 1, they rank alike
    write_json(tmp_path / "unit/config_sentence_transformers.json", settings)
    assert SentenceModel(str(tmp_path / "unit")).encoder("search").identity.dimensions == 16


@pytest.mark.parametrize("similarity", [None, "cosine", "cos_sim"])
def test_searching_by_cosine_is_not(tmp_path: Path, similarity: str | None) -> None:
    write_faulty(tmp_path / "bare", "bare")
    write_json(tmp_path / "bare/config_sentence_transformers.json", {"similarity_fn_name": similarity})
    assert SentenceModel(str(tmp_path / "bare")).encoder("search").identity.dimensions == 16


@pytest.mark.parametrize(
    ("name", "value"),
    [("modules.json", {}), ("modules.json", ["Pooling"]), ("config_sentence_transformers.json", [1])],
)
def test_settings_of_another_kind_are_named(tmp_path: Path, name: str, value: Any) -> None:
    write_faulty(tmp_path / "bare", "bare")
    write_json(tmp_path / "bare" / name, value)
    with pytest.raises(EncoderError, match=name):
        _ = SentenceModel(str(tmp_path / "bare")).encoder("search").identity
