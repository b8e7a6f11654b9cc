from pathlib import Path

import pytest

from builders import registry
from builders.describe import render, templates
from builders.describe.enums import ALLOWED
from builders.errors import UsageError
from builders.spec import RELEASES
from tests.describe import kit


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
