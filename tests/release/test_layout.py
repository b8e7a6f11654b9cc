from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.release.layout import card_layout

PATHS = [
    "README.md",
    "orte/a-0.parquet",
    "orte/a-1.parquet",
    "orte/b.parquet",
    "orte/b.csv",
    ".alt/x.parquet",
]


def card(configs: str) -> bytes:
    return f"---\nlicense: cc-by-4.0\nconfigs:\n{configs}\n---\n# Orte\n".encode()


def test_configs_splits_patterns_and_folders() -> None:
    configs = """
- config_name: no
  data_dir: orte
  data_files:
  - split: train
    path: a-*.parquet
  - split: test
    path: [b.parquet, b.csv]
- data_files:
  - {split: train, path: "**/b.parquet"}
"""
    found = {str(split): listed.paths for split, listed in card_layout(card(configs), PATHS).items()}
    assert found == {
        "no/train": ("orte/a-0.parquet", "orte/a-1.parquet"),
        "no/test": ("orte/b.parquet",),
        "default/train": ("orte/b.parquet",),
    }


@pytest.mark.parametrize("readme", [
    b"", b"# Ohne Kopf", b"---\nconfigs: [", b"---\n- a\n---\n", b"---\nconfigs: 1\n---\n",
    b"\xff\xfe---\n---\n",
    card("- data_files: orte/b.parquet"), card("- data_files: [{split: 1}, 2, {split: a, path: {}}]"),
    card("- {config_name: [a], data_files: [{split: a, path: orte/b.parquet}]}"),
    card("- data_files: [{split: a, path: ../b.parquet}, {split: b, path: /b.parquet}]"),
    card("- data_files: [{split: a, path: fehlt.parquet}]"),
    card("- &a {data_files: [*a]}"),
    b"---\n" + b"a" * (200 << 10) + b": 1\n---\n",
])  # fmt: skip
def test_a_card_that_offers_nothing_readable(readme: bytes) -> None:
    assert card_layout(readme, PATHS) == {}


@given(st.binary(max_size=200))
def test_no_bytes_upset_it(tail: bytes) -> None:
    card_layout(b"---\nconfigs:\n" + tail, PATHS)
    card_layout(tail, PATHS)


def test_many_splits_are_cut_off() -> None:
    configs = "\n".join(
        f"- {{config_name: c{n}, data_files: [{{split: a, path: orte/b.parquet}}]}}" for n in range(1200)
    )
    assert len(card_layout(card(configs), PATHS)) == 1000
