from __future__ import annotations

from pathlib import Path

import pytest

from builders.errors import Refused
from builders.plots.svg import is_plot
from builders.rehearsal import Hub
from builders.release.plan import make_plan
from tests.release.kit import RELEASE, TARGET, api_of

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
