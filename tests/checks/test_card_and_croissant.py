"""Card and Croissant against the files that they describe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builders import describe, files
from builders.checks.finding import Severity
from builders.checks.release import _card_and_croissant
from tests.describe.kit import RELEASE, TARGET, Built, build

Change = Callable[[str], str]


def replaced(old: str, new: str) -> Change:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return change


PLANTS: list[tuple[str, str, str, Change]] = [
    (
        "card-differs",
        "README.md",
        "germandpr-qrels test path",
        replaced("germandpr/qrels/test", "germandpr/qrels/dev"),
    ),
    ("card-differs", "README.md", "num_examples", replaced("num_examples: 5", "num_examples: 6")),
    ("card-differs", "README.md", "num_bytes", replaced("num_bytes: ", "num_bytes: 1")),
    (
        "card-differs",
        "README.md",
        "jobs-karpus: says a split",
        replaced("config_name: jobs-corpus", "config_name: jobs-karpus"),
    ),
    ("card-differs", "README.md", "cannot be read", lambda text: text.replace("configs:", "configs: [")),
    ("card-differs", "README.md", "cannot be read", lambda text: "# Nur Text\n"),
    ("croissant-differs", "croissant.jsonld", "parquet: says ('0", replaced('"sha256": "', '"sha256": "0')),
    (
        "croissant-differs",
        "croissant.jsonld",
        "jobs/qrels/test.parquet: says nothing, and the lock",
        replaced('"@id": "jobs/qrels/test.parquet"', '"@id": "x"'),
    ),
    ("croissant-differs", "croissant.jsonld", "cannot be read", lambda text: text[:-9]),
    ("croissant-differs", "croissant.jsonld", "cannot be read", lambda text: "[]"),
    ("croissant-differs", "croissant.jsonld", "cannot be read", lambda text: "[" * 100_000),
]


@pytest.fixture
def rendered(tmp_path: Path) -> Built:
    built = build(tmp_path, dev_negatives=False)
    for name, data in describe.render(RELEASE, built.locks, TARGET, specs=built.specs).items():
        files.write_bytes(tmp_path / name, data)
    return built


def test_what_is_rendered_agrees(rendered: Built) -> None:
    locks = {lock.config: lock for lock in rendered.locks}
    assert list(_card_and_croissant(rendered.root, locks)) == []


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant[0]}-{plant[2]}")
def test_a_planted_difference_is_found(rendered: Built, plant: tuple[str, str, str, Change]) -> None:
    code, name, example, change = plant
    path = rendered.root / name
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    (finding,) = _card_and_croissant(rendered.root, {lock.config: lock for lock in rendered.locks})
    assert (finding.code, finding.severity) == (code, Severity.ERROR)
    assert any(example in shown for shown in finding.examples), finding.examples


def test_before_a_plan_there_is_nothing_to_compare(tmp_path: Path) -> None:
    built = build(tmp_path)
    assert list(_card_and_croissant(tmp_path, {lock.config: lock for lock in built.locks})) == []
