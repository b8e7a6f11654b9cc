from __future__ import annotations

from pathlib import Path

import pytest

from builders.errors import Refused
from builders.plots.svg import is_plot
from builders.rehearsal import Hub
from builders.release.plan import make_plan
from builders.release.publish import apply
from builders.release.verify import verify
from tests.release.kit import RELEASE, REPO, TARGET, api_of

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


def test_plots_are_planned_and_those_of_an_earlier_plan_go(out: Path, hub: Hub) -> None:
    stale = out / RELEASE / "plots" / "scores.svg"
    stale.parent.mkdir()
    stale.write_bytes(b"<svg/>")
    plan = make_plan(out, RELEASE, TARGET, api=api_of(hub))

    plots = {file.path: file for file in plan.files if is_plot(file.path)}
    assert plots.keys() == {"plots/hard-negatives.svg", "plots/rows.svg"}
    assert not any(file.lfs for file in plots.values())
    assert not stale.exists()


def test_another_file_among_the_plots_is_refused(out: Path, hub: Hub) -> None:
    other = out / RELEASE / "plots" / "notes.txt"
    other.parent.mkdir()
    other.write_bytes(b"x")
    with pytest.raises(Refused, match=r"notes\.txt"):
        make_plan(out, RELEASE, TARGET, api=api_of(hub))
    assert other.exists()


def test_a_consumer_finds_the_plots_at_the_tag(rehearsed: Path, hub: Hub, tmp_path: Path) -> None:
    apply(rehearsed, RELEASE, api=api_of(hub))
    verified = verify(
        REPO, "v1.0.0", dist=rehearsed / RELEASE, environment=hub.environment(tmp_path / "home")
    )
    assert {"plots/hard-negatives.svg", "plots/rows.svg"} <= verified.files.keys()
