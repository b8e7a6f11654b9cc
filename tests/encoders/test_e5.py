from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from builders.encoders.offline import OfflineE5
from builders.files import sha256
from builders.hub import HUB
from tests.encoders.dequantise import bundled_weights, read_weights, tiny_weights, trimmed, write_model
from tests.encoders.probe import BASE, MORE, ROLES, TEXTS
from tests.encoders.samples import LONG, TITLES
from tests.encoders.test_offline import engine
from tests.marks import long_after
from tests.rehearsal.kit import FaultyHub, serve

ROOT = Path(__file__).parents[2]
LOADED = (
    "1_Pooling/config.json",
    "config.json",
    "config_sentence_transformers.json",
    "model.safetensors",
    "modules.json",
    "sentence_bert_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
)


def probe(hub: FaultyHub, home: Path, function: str, out: Path, *arguments: str, **settings: str) -> None:
    """Run a function of `probe` against the Hub."""
    command = [sys.executable, "-W", "error", "-m", "tests.encoders.probe", function, str(out), *arguments]
    environment = hub.environment(home, token=None) | settings
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Loading weights" not in done.stderr, "a progress bar of a library"


@pytest.fixture(scope="module")
def hub() -> Iterator[FaultyHub]:
    with serve() as running:
        yield running


def write_json(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document), encoding="utf-8")


def write_faulty(folder: Path, name: str) -> None:
    """Write a tiny model with one fault."""
    write_model(tiny_weights(), folder)
    modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    if name == "cls":
        write_json(folder / "1_Pooling/config.json", {"embedding_dimension": 16, "pooling_mode": "cls"})
    if name == "bare":
        write_json(folder / "modules.json", modules[:2])
    if name == "short":
        write_json(folder / "sentence_bert_config.json", {"max_seq_length": 32, "do_lower_case": False})
    if name == "empty":
        write_json(folder / "config.json", {})
    if name == "broken":
        (folder / "model.safetensors").write_bytes(b"not weights")
    if name == "pickled":
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    if name == "holed":
        weights = load_file(folder / "model.safetensors")
        del weights["encoder.layer.0.output.dense.weight"]
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def cases(hub: FaultyHub, root: Path) -> dict[str, tuple[str, str, int]]:
    """Put tiny models on the Hub; return repo, revision and maximum length by name."""
    commits = {}
    for name in ("good", "holed", "cls", "bare", "short", "empty", "broken", "pickled"):
        write_faulty(root / name, name)
        commits[name] = hub.store.add_folder("model", f"test/{name}", root / name)
    hub.fault("GET", "/api/models/test/good/revision/bbbbbbbbb", 503, times=100)
    return {name: (f"test/{name}", commit, 64) for name, commit in commits.items()} | {
        "name": ("test/good/model", "0" * 40, 64),
        "branch": ("test/good", "main", 64),
        "other": ("test/good", "0" * 40, 64),
        "unknown": ("test/nowhere", "aaaaaaaaa", 64),
        "down": ("test/good", "bbbbbbbbb", 64),
    }


@dataclass(frozen=True)
class Proof:
    report: dict[str, Any]
    arrays: dict[str, NDArray[np.float32]]
    faults: dict[str, list[str]]
    commit: str
    paths: list[str]
    home: Path
    out: Path
    folder: Path


@pytest.fixture(scope="module")
def proof(hub: FaultyHub, tmp_path_factory: pytest.TempPathFactory) -> Proof:
    """The offline model's weights, as an ordinary model on the Hub, loaded at the pinned revision."""
    folder = tmp_path_factory.mktemp("model")
    texts = [f"{role}: {text}" for role in ROLES for text in (*MORE, *TITLES, LONG)]
    write_model(trimmed(read_weights(bundled_weights()), texts), folder)
    # a default prompt must not come before our prefix
    prompts = {"default_prompt_name": "query", "prompts": {"query": "query: ", "passage": "passage: "}}
    write_json(folder / "config_sentence_transformers.json", prompts)
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(b"another format")
    commit = hub.store.add_folder("model", BASE.model, folder, BASE.revision)
    faulty = cases(hub, tmp_path_factory.mktemp("tiny"))
    home, out = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("out")
    probe(hub, home, "prove", out, json.dumps(list(faulty.values())))
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    told = json.loads((out / "faults.json").read_text(encoding="utf-8"))
    with np.load(out / "vectors.npz") as arrays:
        return Proof(
            report=report,
            arrays=dict(arrays),
            faults=dict(zip(faulty, told, strict=True)),
            commit=commit,
            paths=[request.path for request in hub.log],
            home=home,
            out=out,
            folder=folder,
        )


@pytest.mark.long
def test_the_short_revision_is_kept_in_full(proof: Proof) -> None:
    assert proof.commit.startswith(BASE.revision) and len(proof.commit) == 40
    identity = dict(proof.report["identity"])
    hashes = identity.pop("files")
    assert identity == {
        "backend": "sentence-transformers",
        "model": BASE.model,
        "revision": proof.commit,
        "dimensions": 384,
        "max_length": 512,
        "pooling": "mean",
        "query_prefix": "query: ",
        "passage_prefix": "passage: ",
        "device": "cpu",
        "tools": {
            name: version(name) for name in ("sentence-transformers", "tokenizers", "torch", "transformers")
        },
        "stand_in": True,
    }
    assert hashes == {path: sha256(proof.folder / path) for path in LOADED}
    assert proof.report["lazy"], "asking for the identity loads torch"


@pytest.mark.long
def test_a_model_is_hashed_once_whatever_uses_it(proof: Proof) -> None:
    assert sorted(proof.report["hashed"]) == sorted(path.rpartition("/")[2] for path in LOADED)


@pytest.mark.long
def test_files_are_fetched_at_the_full_revision_and_pickles_are_not(proof: Proof) -> None:
    fetched = [path for path in proof.paths if path.startswith(f"/{BASE.model}/resolve/")]
    assert {path.rsplit("/", 1)[1] for path in fetched} >= {
        "model.safetensors",
        "tokenizer.json",
        "modules.json",
    }
    assert all(f"/resolve/{proof.commit}/" in path for path in fetched)
    assert not [path for path in proof.paths if path.endswith((".bin", ".onnx"))]


@pytest.mark.long
def test_the_model_is_fed_each_prefix_once(proof: Proof) -> None:
    expected = [f"<s> {role}: {text}</s>" for role in ROLES for text in TEXTS]
    assert sorted(proof.report["fed"]) == sorted(expected)


@pytest.mark.long
def test_both_encoders_count_the_same_tokens(proof: Proof) -> None:
    for role in ROLES:
        assert engine("token_count", TEXTS, role).tolist() == proof.report["counts"][role]
    counts = proof.report["counts"]
    assert sorted(proof.report["lengths"]) == sorted(counts["query"] + counts["passage"])


@pytest.mark.long
def test_both_encoders_give_the_same_vectors(proof: Proof, offline: OfflineE5) -> None:
    for role in ROLES:
        cosines = (offline.encode(TEXTS, role) * proof.arrays[role]).sum(axis=1)
        assert cosines.min() >= 0.999
        assert cosines.mean() >= 0.9998
    assert proof.report["normal"]
    other_role = (offline.encode(TEXTS, "query") * proof.arrays["passage"]).sum(axis=1)
    assert other_role.max() < 0.999, "a wrong prefix would not be noticed"


@pytest.mark.long
def test_order_and_threads_change_no_bit(proof: Proof) -> None:
    arrays = proof.arrays
    np.testing.assert_array_equal(arrays["shuffled"], arrays["more"][arrays["order"].astype(int)])


@pytest.mark.long
def test_what_the_cache_held_changes_no_bit(proof: Proof) -> None:
    np.testing.assert_array_equal(proof.arrays["warmed"], proof.arrays["cold"])
    np.testing.assert_array_equal(proof.arrays["cold"], proof.arrays["more"])


@pytest.mark.long
def test_a_long_text_is_cut_as_the_offline_encoder_cuts_it(proof: Proof, offline: OfflineE5) -> None:
    assert proof.report["long"] == offline.truncate([LONG, "Koch"], "passage")
    assert 500 < proof.report["long_count"][0] <= 512
    kind, message, _ = proof.report["refused"]
    assert kind == "EncoderError" and "the limit is 512" in message


@pytest.mark.long
@pytest.mark.parametrize("model", ["fetched", "gone"])
def test_a_cached_run_needs_neither_network_nor_torch_nor_the_model(
    hub: FaultyHub, proof: Proof, tmp_path: Path, model: str
) -> None:
    home = proof.home if model == "fetched" else tmp_path
    probe(hub, home, "reuse", proof.out, HF_ENDPOINT="http://127.0.0.1:9")
    report = json.loads((proof.out / "reuse.json").read_text(encoding="utf-8"))
    assert report == {"encoded": 0, "torch": False, "identity": proof.report["identity"]}
    np.testing.assert_array_equal(np.load(proof.out / "reused.npy"), proof.arrays["cached"])


@pytest.mark.long
def test_a_stand_in_shares_neither_models_nor_vectors_with_the_hub(
    hub: FaultyHub, proof: Proof, tmp_path: Path
) -> None:
    """What it served is there under the pinned commit, and a run against the Hub does not see it."""
    assert not list((proof.home / "hub").rglob("*.safetensors"))
    (tmp_path / "vectors").symlink_to(proof.out / "vectors")
    cases = json.dumps([(BASE.model, BASE.revision, BASE.max_length), (BASE.model, proof.commit, 512)])
    probe(hub, proof.home, "load", tmp_path, cases, "offline", HF_ENDPOINT=HUB)
    faults = json.loads((tmp_path / "faults.json").read_text(encoding="utf-8"))
    assert [kind for kind, _, _ in faults] == ["SourceMissing", "SourceMissing"]
    assert "the cache lacks its commit" in faults[0][1] and "not cached: modules.json" in faults[1][1]


@pytest.mark.parametrize("name", long_after(1, ["model.safetensors", "config.json"]))
def test_a_damaged_file_of_a_cached_model_is_noticed(hub: FaultyHub, tmp_path: Path, name: str) -> None:
    write_model(tiny_weights(), tmp_path / "model")
    commit = hub.store.add_folder("model", f"test/damaged-{name[0]}", tmp_path / "model")

    def fault() -> list[str]:
        probe(hub, tmp_path / "clients", "identify", tmp_path, f"test/damaged-{name[0]}", commit)
        told: list[str] = json.loads((tmp_path / "fault.json").read_text(encoding="utf-8"))
        return told

    assert fault() == []
    (link,) = (path for path in (tmp_path / "clients").rglob(name) if path.parent.name == commit)
    blob = link.resolve()
    data = bytearray(blob.read_bytes())
    data[-2] ^= 1
    blob.chmod(0o644)
    blob.write_bytes(data)
    kind, message, hint = fault()
    assert kind == "StorageError"
    assert message.startswith(f"{link}: damaged: the Hub named it {blob.name}")
    removed = Path(hint.removeprefix("Remove ").partition(" and run again")[0])
    shutil.rmtree(removed)
    assert fault() == [], "the hint helps"


@pytest.mark.long
def test_a_model_as_declared_loads(proof: Proof) -> None:
    assert proof.faults["good"] == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "kind", "fault"),
    [
        ("cls", "EncoderError", "its pooling is 'cls', not 'mean'"),
        ("bare", "EncoderError", "its modules are ('Transformer', 'Pooling'), not"),
        ("short", "EncoderError", "it takes 32 tokens, fewer than the declared 64"),
        ("holed", "EncoderError", "1 weights are not stored, 'encoder.layer.0.output.dense.weight' first"),
        ("name", "UsageError", "not a name of a repository"),
        ("empty", "EncoderError", "config.json has no `hidden_size`"),
        ("broken", "EncoderError", "the model cannot be loaded"),
        ("pickled", "EncoderError", "the model cannot be loaded"),
        ("branch", "EncoderError", "revision 'main' is not a commit"),
        ("other", "RemoteError", "no such revision"),
        ("unknown", "RemoteError", "no such repository"),
        ("down", "RemoteError", "the Hub answered 503"),
    ],
)
def test_faulty_models_and_pins_are_refused_with_a_hint(
    proof: Proof, name: str, kind: str, fault: str
) -> None:
    told_kind, message, hint = proof.faults[name]
    assert told_kind == kind
    assert fault in message
    assert "test/" in message
    assert hint


@pytest.mark.parametrize(
    ("revision", "settings"),
    [("d128750597", {"HF_ENDPOINT": "http://127.0.0.1:9"}), ("1" * 40, {"HF_HUB_OFFLINE": "1"})],
)
def test_without_network_the_hint_names_the_offline_encoder(
    hub: FaultyHub, tmp_path: Path, revision: str, settings: dict[str, str]
) -> None:
    cases = json.dumps([("test/good", revision, 64)])
    probe(hub, tmp_path / "home", "load", tmp_path, cases, **settings)
    ((kind, message, hint),) = json.loads((tmp_path / "faults.json").read_text(encoding="utf-8"))
    assert kind == "RemoteError"
    assert "cannot be reached" in message
    assert "--encoder offline" in hint


def test_a_full_disk_is_not_told_as_a_failure_of_the_network(hub: FaultyHub, tmp_path: Path) -> None:
    write_model(tiny_weights(), tmp_path / "model")
    commit = hub.store.add_folder("model", "test/large", tmp_path / "model")
    home = tmp_path / "clients"
    probe(hub, home, "load_on_a_full_disk", tmp_path, "test/large", commit)
    kind, message, hint = json.loads((tmp_path / "full.json").read_text(encoding="utf-8"))
    assert (kind, "HF_HOME" in hint) == ("StorageError", True)
    assert message.startswith(f"{home}") and "File too large" in message


def test_offline_names_the_part_of_a_model_that_is_missing(hub: FaultyHub, tmp_path: Path) -> None:
    write_model(tiny_weights(), tmp_path / "model")
    commit = hub.store.add_folder("model", "test/partial", tmp_path / "model")

    def fault(network: str) -> list[str]:
        probe(hub, tmp_path / "clients", "identify", tmp_path, "test/partial", commit, network)
        told: list[str] = json.loads((tmp_path / "fault.json").read_text(encoding="utf-8"))
        return told

    assert fault("online") == []
    asked = len(hub.log)
    assert fault("offline") == []
    (weights,) = (tmp_path / "clients").rglob("model.safetensors")
    weights.unlink()
    kind, message, hint = fault("offline")
    assert kind == "SourceMissing"
    assert message == f"offline, and not cached: *.safetensors of test/partial@{commit}"
    assert "--encoder offline" in hint
    assert len(hub.log) == asked
    assert fault("online") == [], "a part that is missing is fetched"
