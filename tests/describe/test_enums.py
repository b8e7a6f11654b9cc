import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from builders.describe.enums import ALLOWED, check_enums, size_category
from builders.errors import UsageError


@pytest.mark.parametrize(
    ("rows", "category"),
    [
        (0, "n<1K"), (999, "n<1K"), (1_000, "1K<n<10K"), (99_999, "10K<n<100K"), (100_000, "100K<n<1M"),
        (10**12 - 1, "100B<n<1T"), (10**12, "n>1T"),
    ],
)  # fmt: skip
def test_size_category(rows: int, category: str) -> None:
    assert size_category(rows) == category
    assert category in ALLOWED["size_categories"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("license", "cc-by-5.0"),
        ("language", ["de", "deutsch"]),
        ("annotations_creators", ["human-annotated"]),
        ("language_creators", ["no-annotation"]),
        ("multilinguality", ["bilingual"]),
        ("size_categories", ["1K-10K"]),
        ("task_categories", ["retrieval"]),
        ("task_ids", ["document-retreival"]),
        ("language", [False]),
        ("license", None),
    ],
)
def test_values_that_the_hub_refuses_are_refused(field: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"dataset card: {field} cannot be"):
        check_enums({field: value})


def test_the_nearest_value_is_suggested() -> None:
    with pytest.raises(UsageError) as caught:
        check_enums({"task_ids": ["document-retreival"]})
    assert caught.value.hint == "Did you mean document-retrieval?"


def test_allowed_values_are_those_of_the_client() -> None:
    creators = _resource("creators.json")
    assert set(creators["language"]) == ALLOWED["language_creators"]
    assert set(creators["annotations"]) == ALLOWED["annotations_creators"]
    assert set(_resource("size_categories.json")) >= ALLOWED["size_categories"]
    assert set(_resource("multilingualities.json")) >= ALLOWED["multilinguality"]
    assert set(_resource("languages.json")) >= ALLOWED["language"]


def _resource(name: str) -> Any:
    found = importlib.util.find_spec("datasets")
    assert found is not None and found.origin is not None
    return json.loads((Path(found.origin).parent / "utils" / "resources" / name).read_bytes())
