import re
from pathlib import Path

import pytest

from builders import registry
from builders.describe import render, templates
from builders.describe.enums import ALLOWED
from builders.errors import UsageError
from builders.spec import RELEASES
from tests.describe import kit

_CARDS = Path(__file__).parents[2] / "cards"


@pytest.mark.parametrize("name", registry.names())
def test_every_config_has_a_card_body_with_allowed_facts(name: str) -> None:
    facts = templates.about(name)

    assert set(facts.annotations_creators) <= ALLOWED["annotations_creators"]
    assert set(facts.language_creators) <= ALLOWED["language_creators"]
    assert set(facts.task_ids) <= ALLOWED["task_ids"]


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
        ("---\nsurprise: 1\n---\nText", "malformed"),
        ("Text without facts", "malformed"),
    ],
)
def test_malformed_facts_are_refused(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "neu.md.j2").write_text(text, encoding="utf-8")
    monkeypatch.setattr(templates, "_folder", lambda: tmp_path)
    with pytest.raises(UsageError, match=message):
        templates.about("neu")
