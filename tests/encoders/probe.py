"""What the tests of E5 run in a process of its own, whose Hub client has settings of its own.

The first argument names a function, the second is a folder for what it finds; the rest are its arguments.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from builders import files
from builders.encoders import Role, encode_cached
from builders.encoders.sentence import E5, SentenceModel, Use
from builders.errors import MtebDeError
from builders.files import sha256
from builders.spec import EncoderSpec
from tests.encoders.samples import LONG, PROFILES, TITLES

TEXTS = TITLES[-6:] + PROFILES[:2]
MORE = [*TEXTS, *(f"{title} {number}" for number, title in enumerate(TITLES[:6]))]

BASE = EncoderSpec("intfloat/multilingual-e5-base", "d128750597", 512, "query: ", "passage: ")
ROLES: tuple[Role, Role] = ("query", "passage")


def prove(out: Path, cases: str) -> None:
    """Encode with the pinned model, write down what it was fed and what it returned; then `load`."""
    hashed: list[str] = []
    files.sha256 = lambda path: hashed.append(path.name) or sha256(path)  # type: ignore[func-returns-value]
    encoder = E5(BASE)
    identity = encoder.identity.model_dump()
    model = SentenceModel(f"{BASE.model}@{BASE.revision}")
    uses: tuple[Use, Use] = ("search", "clustering")
    for use in uses:
        assert model.encoder(use).identity.files == identity["files"]
    lazy = "torch" not in sys.modules
    seen: list[list[int]] = []
    tokenizer = encoder._model.tokenizer

    def note(_: object, inputs: tuple[dict[str, Any]]) -> None:
        features = inputs[0]
        for ids, mask in zip(features["input_ids"], features["attention_mask"], strict=True):
            seen.append(ids[mask.bool()].tolist())

    hook = encoder._model[0].register_forward_pre_hook(note)
    vectors = {role: encoder.encode(TEXTS, role) for role in ROLES}
    hook.remove()

    import torch

    torch.set_num_threads(1)
    order = np.random.default_rng(3).permutation(len(MORE))
    again = E5(BASE, threads=1)
    again.__dict__["_model"] = encoder._model
    shuffled = again.encode([MORE[index] for index in order], "query")
    torch.set_num_threads(2)  # what a process has by default depends on its machine
    more = encoder.encode(MORE, "query")
    assert torch.get_num_threads() == 2, "a setting of the process was changed"
    cached = encode_cached(encoder, pl.Series([LONG, *TITLES[:3]]), "passage", root=out / "vectors")
    encode_cached(encoder, pl.Series(MORE[::3]), "query", root=out / "warmed")
    warmed = encode_cached(encoder, pl.Series(MORE), "query", root=out / "warmed")
    assert warmed.cached == len(MORE[::3])
    np.savez(
        out / "vectors.npz",
        more=more,
        order=order,
        shuffled=shuffled,
        cold=encode_cached(encoder, pl.Series(MORE), "query", root=out / "cold").vectors,
        warmed=warmed.vectors,
        cached=cached.vectors,
        query=vectors["query"],
        passage=vectors["passage"],
    )
    cut = encoder.truncate([LONG, "Koch"], "passage")
    report = {
        "identity": identity,
        "lazy": lazy,
        "hashed": hashed,
        "fed": [tokenizer.decode(ids) for ids in seen],
        "counts": {role: encoder._count(TEXTS, role) for role in ROLES},
        "lengths": [len(ids) for ids in seen],
        "long": cut,
        "long_count": encoder._count(cut, "passage"),
        "refused": _fault(lambda: encoder.encode([LONG], "passage")),
        "normal": bool(np.allclose(np.linalg.norm(vectors["query"], axis=1), 1, atol=1e-5)),
    }
    (out / "report.json").write_text(json.dumps(report), encoding="utf-8")
    load(out, cases)


def reuse(out: Path) -> None:
    """Ask the cache for what `prove` encoded."""
    encoder = E5(BASE, root=out / "vectors")
    cached = encode_cached(encoder, pl.Series([LONG, *TITLES[:3]]), "passage", root=out / "vectors")
    report = {
        "encoded": cached.encoded,
        "torch": "torch" in sys.modules,
        "identity": encoder.identity.model_dump(),
    }
    np.save(out / "reused.npy", cached.vectors)
    (out / "reuse.json").write_text(json.dumps(report), encoding="utf-8")


def load(out: Path, cases: str, network: str = "online") -> None:
    """Load models that are faulty, each (repo, revision, maximum length), and write down the errors."""
    faults = []
    for repo, revision, length in json.loads(cases):
        spec = EncoderSpec(repo, revision, length, "query: ", "passage: ")
        encoder = E5(spec, offline=network == "offline", root=out / "vectors")
        faults.append(_fault(partial(encoder.encode, ["koch"], "query")))
    (out / "faults.json").write_text(json.dumps(faults), encoding="utf-8")


def identify(out: Path, repo: str, revision: str, network: str = "online") -> None:
    """Fetch a model and hash its files, and write down the error."""
    encoder = E5(
        EncoderSpec(repo, revision, 64, "query: ", "passage: "), offline=network == "offline", root=out
    )
    (out / "fault.json").write_text(json.dumps(_fault(lambda: encoder.identity)), encoding="utf-8")


def load_on_a_full_disk(out: Path, repo: str, revision: str) -> None:
    """Load a model where no file may grow beyond 100 bytes, and write down the error."""
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, unlimited[1]))
    encoder = E5(EncoderSpec(repo, revision, 64, "query: ", "passage: "), root=out / "vectors")
    fault = _fault(partial(encoder.encode, ["koch"], "query"))
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    (out / "full.json").write_text(json.dumps(fault), encoding="utf-8")


def _fault(action: Callable[[], object]) -> list[str]:
    try:
        action()
    except MtebDeError as error:
        return [type(error).__name__, error.message, error.hint]
    return []


if __name__ == "__main__":
    functions: tuple[Callable[..., None], ...] = (prove, reuse, load, identify, load_on_a_full_disk)
    chosen = {function.__name__: function for function in functions}
    chosen[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
