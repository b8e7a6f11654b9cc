"""What `evaluate` costs as a whole on the configs that are measured: rules, chance and keeping included."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders import registry
from builders.built import read_hydrated
from builders.cli.output import Lines
from builders.encoders.protocol import Role
from builders.evaluation.candidates import Candidate
from builders.evaluation.jobs import EvalOptions, evaluate
from builders.files import write_bytes
from builders.lock.lock import EncoderIdentity, Lock, work_folder
from scripts.bench.evaluation_world import Subject

T = TypeVar("T")
Seconds = dict[str, float]
_NAMES = ("blurbs", "tenkgnad", "subreddit")


class Given:
    """An encoder whose vectors are known."""

    def __init__(self, texts: pl.Series, vectors: NDArray[np.float32], revision: str) -> None:
        self._vectors, self._revision = vectors, revision
        self._rows = {text: row for row, text in enumerate(texts.to_list())}

    @property
    def identity(self) -> EncoderIdentity:
        """What results are kept under."""
        return EncoderIdentity(
            backend="given",
            model="bench/given",
            revision=self._revision,
            dimensions=self._vectors.shape[1],
            max_length=512,
            pooling="mean",
            query_prefix="",
            passage_prefix="",
        )

    def truncate(self, texts: Sequence[str], role: Role) -> list[str]:
        """Cut nothing."""
        return list(texts)

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Return the vectors of some of the texts."""
        return self._vectors[[self._rows[text] for text in texts]]


def timed(work: Callable[[], T]) -> tuple[T, Seconds]:
    """Return what a function returns, and the seconds it took: on the clock, and of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def median(took: Sequence[Seconds]) -> Seconds:
    """Return the median of repeated measurements, by clock."""
    return {clock: statistics.median(one[clock] for one in took) for clock in took[0]}


def lay_locks(out: Path, subjects: Sequence[Subject]) -> None:
    """Write the locks that `evaluate` asks for beside the files of the built configs."""
    for name in _NAMES[:2]:
        mine = [subject for subject in subjects if subject.config.startswith(name)]
        lock = Lock(
            config=name,
            release=subjects[0].path.relative_to(out).parts[0],
            licence="",
            sources=(),
            parameters={},
            tools={},
            funnels=(),
            splits={},
            facts={},
            personal={},
            files=tuple(subject.file for subject in mine),
        )
        write_bytes(work_folder(out, name) / "lock.json", lock.model_dump_json().encode())


def whole(
    out: Path, subjects: Sequence[Subject], texts: pl.Series, vectors: NDArray[np.float32], repeats: int
) -> dict[str, Seconds]:
    """Return the seconds of `evaluate` with an encoder whose vectors are given, medians of repeated runs.

    Args:
        out: Where the world of `subjects` was made: in a folder of a release below it.
        subjects: All six.
        texts: Their distinct texts, sorted.
        vectors: Theirs.
        repeats: How often.

    Returns:
        "cold": nothing is kept. "next": rules and chance are kept, and another encoder is scored.
        "again": all is kept.
    """
    lay_locks(out, subjects)
    took: dict[str, list[Seconds]] = {}
    for name, seconds in _runs(out, subjects[0].path.relative_to(out).parts[0], texts, vectors, repeats):
        took.setdefault(name, []).append(seconds)
    return {name: median(found) for name, found in took.items()}


def _runs(
    out: Path, release: str, texts: pl.Series, vectors: NDArray[np.float32], repeats: int
) -> Iterator[tuple[str, Seconds]]:
    specs = [registry.load(name) for name in _NAMES]
    hydrated = {"subreddit": read_hydrated(out / release, registry.load("subreddit"))}
    options = EvalOptions(out=out, texts=hydrated)
    for repeat in range(repeats):
        for name in _NAMES:
            shutil.rmtree(work_folder(out, name) / "eval", ignore_errors=True)
        for run, revision in (("cold", f"{repeat}.1"), ("next", f"{repeat}.2"), ("again", f"{repeat}.2")):
            candidates = [_candidate(Given(texts, vectors, revision))]
            found, seconds = timed(partial(evaluate, specs, candidates, options, Lines(quiet=True)))
            assert len(found.results) == 6 and not found.failures, found.failures
            yield run, seconds


def _candidate(encoder: Given) -> Candidate:
    return Candidate("given", "dense", lambda _: encoder, lambda: encoder, cached=False)
