import importlib.util
import json
import re
from pathlib import Path
from typing import get_args

import pytest

from builders import registry
from builders.describe import render, templates
from builders.describe.card import _size_category
from builders.errors import UsageError
from builders.spec import RELEASES
from tests.describe import kit

_CARDS = Path(__file__).parents[2] / "cards"


@pytest.mark.parametrize("name", registry.names())
def test_every_config_has_a_card_body_with_allowed_facts(name: str) -> None:
    facts = templates.about(name)
    assert facts.annotations_creators and facts.language_creators and facts.task_ids


def test_allowed_facts_are_those_of_the_hub_client() -> None:
    found = importlib.util.find_spec("datasets")
    assert found is not None and found.origin is not None
    resources = Path(found.origin).parent / "utils" / "resources"
    creators = json.loads((resources / "creators.json").read_bytes())
    assert set(get_args(templates._Creator)) == set(creators["language"])
    assert {*get_args(templates._Creator), "no-annotation"} == set(creators["annotations"])
    sizes = {_size_category(10**power) for power in range(15)}
    assert set(json.loads((resources / "size_categories.json").read_bytes())) >= sizes
    assert len(sizes) == 11


@pytest.mark.parametrize(
    ("rows", "category"),
    [
        (0, "n<1K"), (999, "n<1K"), (1_000, "1K<n<10K"), (99_999, "10K<n<100K"), (100_000, "100K<n<1M"),
        (10**12 - 1, "100B<n<1T"), (10**12, "n>1T"),
    ],
)  # fmt: skip
def test_size_category(rows: int, category: str) -> None:
    assert _size_category(rows) == category


def test_the_registered_specs_are_taken(built: kit.Built) -> None:
    text = render(RELEASES["mteb-de"], built.locks, kit.TARGET)["README.md"].decode()
    for name in ("germandpr", "jobs"):
        assert f"**{registry.load(name).title.rstrip('.')}.**" in text


@pytest.mark.parametrize("path", sorted(_CARDS.glob("*.j2")), ids=lambda path: path.name)
def test_no_tag_at_the_end_of_a_line_of_text_eats_the_line_break(path: Path) -> None:
    """Jinja takes away the line break behind a tag; that is meant for lines of tags alone."""
    lines = path.read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if re.search(r"%\}$", line) and re.sub(r"\{%.*?%\}", "", line).strip()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("---\nuses: [\n---\nText", "malformed"),
        (
            "---\nuses: [x]\n---\nText",
            "malformed: they lack annotations_creators, language_creators, task_ids, c",
        ),
        (
            Path(_CARDS / "jobs.md.j2").read_text("utf-8").replace("[document-", "[document_"),
            r"task_ids\.0: Input",
        ),
        (
            Path(_CARDS / "jobs.md.j2").read_text("utf-8").replace("\nuses:", "\nsurprise: 1\nuses:"),
            "surprise: Extra",
        ),
        ("Text without facts", "malformed: Input should be a valid dictionary"),
    ],
)
def test_malformed_facts_are_refused(text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "card_text", {"neu.md.j2": text}.get)
    with pytest.raises(UsageError, match=message):
        templates.about("neu")
