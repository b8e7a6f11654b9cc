from __future__ import annotations

from dataclasses import asdict

from builders.describe import render
from builders.lock.lock import Lock
from builders.spec import RECIPES
from tests.describe import kit
from tests.mining.samples import with_serving


def card_by(built: kit.Built, name: str) -> str:
    """Return the card as if the second config had been mined by a recipe, with white space folded."""
    first, second = built.locks
    assert second.mining is not None
    mining = with_serving(second.mining, recipe=asdict(RECIPES[name]))
    lock: Lock = second.model_copy(update={"mining": mining})
    rendered = render(kit.RELEASE, [first, lock], kit.TARGET, specs=built.specs)
    return " ".join(rendered["README.md"].decode().split())


def test_the_card_tells_v0_as_it_is(built: kit.Built) -> None:
    text = card_by(built, "v0")
    assert "The top 10 are looked at (positives count)." in text
    assert "minus 0.05. 4. The first 5 stay." in text
    assert "deviations above that mean" not in text and "share a class" not in text


def test_the_card_tells_v1_with_all_its_parameters(built: kit.Built) -> None:
    text = card_by(built, "v1")
    assert "Recipe `v1`" in text
    assert "All passages are ranked by cosine, and looked at to any depth." in text
    assert "or the query's. So do passages that share a class with a positive" in text
    assert "The highest-scoring positive guards." in text
    assert "minus 0.5 standard deviations of the query's scores over all passages." in text
    assert "less than the mean of the query's scores plus 1.5 standard deviations" in text
    assert "no positive of the query lies 2.0 standard deviations above that mean" in text
    assert "The first 5 stay, of one occupation at most 2." in text
    assert "None" not in text
