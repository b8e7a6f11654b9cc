"""The card's metadata is judged strictly."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.rehearsal.refusals import card_errors
from tests.rehearsal.kit import CARD


def errors(card: str) -> list[str]:
    return card_errors(card.encode())


def test_a_good_card_and_a_readme_without_metadata_pass() -> None:
    full = CARD.replace(
        "language:\n",
        "annotations_creators:\n- no-annotation\nlanguage_creators:\n- found\n"
        "multilinguality:\n- monolingual\ntask_categories:\n- text-retrieval\n"
        "task_ids:\n- document-retrieval\npretty_name: Orte\nlanguage:\n",
    )
    assert errors(full) == []
    assert errors("# Orte\n") == []
    assert errors("") == []


@pytest.mark.parametrize(("old", "new", "expected"), [
    ("cc-by-4.0", "CC-BY-4.0", '"license"'),
    ("cc-by-4.0", "other", '"license_name"'),
    ("cc-by-4.0", "[cc-by-4.0, frei]", '"license"'),
    ("- de", "- no", '"language"'),
    ("- de", "- DE", '"language"'),
    ("- de", "- de-CH", '"language"'),
    ("- n<1K", "- 1K", '"size_categories"'),
    ("language:", "task_categories:\n- text-embedding\nlanguage:", '"task_categories"'),
    ("language:", "task_categories: text-retrieval\nlanguage:", '"task_categories"'),
    ("language:", "annotations_creators:\n- me\nlanguage:", '"annotations_creators"'),
    ("language:", "language_creators:\n- no-annotation\nlanguage:", '"language_creators"'),
    ("language:", "multilinguality:\n- bilingual\nlanguage:", '"multilinguality"'),
    ("language:", "tags:\n- 2024\nlanguage:", '"tags"'),
    ("language:", "pretty_name: 2024\nlanguage:", '"pretty_name"'),
    ("language:", "license: mit\nlanguage:", "duplicated mapping key 'license'"),
    ("orte-queries", "orte-corpus", '"configs" has a config_name twice'),
    ("orte-queries", "7", '"configs" must name'),
    ("- split: train\n    path:", "- path:", "data_files"),
    ("configs:\n- config_name", "configs:\n  config_name", "bad YAML"),
    ("cc-by-4.0", "[", "bad YAML"),
    ("# Orte", "", None),
    ("---\n# Orte\n", "# Orte\n", "not closed"),
])  # fmt: skip
def test_each_fault_is_named(old: str, new: str, expected: str | None) -> None:
    assert old in CARD
    found = errors(CARD.replace(old, new, 1))
    assert found == [] if expected is None else any(expected in error for error in found), found


def test_bytes_that_are_not_text() -> None:
    assert card_errors(b"---\nlicense: \xff\n---\n") == [
        "README.md is not UTF-8 (invalid start byte at byte 13)"
    ]


@settings(deadline=None)
@given(st.text(alphabet="-:[]{}&*#|>'\" \nabclicense017.", max_size=200))
def test_any_block_gets_an_answer(block: str) -> None:
    assert all(isinstance(error, str) for error in errors(f"---\n{block}\n---\n"))
