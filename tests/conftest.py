"""No test is skipped unseen: where the texts it needs are at hand, or in CI, a skip fails the run.

With `-n 2`, tests that share what was built for them stay in one process: those of a file, or of a folder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from tests import vectors

# The machine is shared: how long an example takes says nothing about the code.
settings.register_profile("project", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=20)
settings.load_profile("project")

_TESTS = Path(__file__).parent
_NEEDED = {
    "upstream": Path(os.environ.get("MTEB_DE_UPSTREAM", _TESTS.parent / "../shared/upstream")),
    "data": Path(os.environ.get("MTEB_DE_DATA", _TESTS.parent / "../shared/data")),
}
"""Folders of texts by the mark of tests that need them."""
_BUILT_TOGETHER = frozenset({"demo", "end_to_end"})
"""Folders of tests whose fixtures take long to build, and are built once a run."""
_BENCH = frozenset({"test_bad_days.py", "test_cut_builds.py"})
"""Tests of end_to_end that share builds of their own, and nothing with the others."""


class NoSilentSkips:
    """Remembers skipped tests, and fails the run where none should be."""

    def __init__(self, *, at_hand: frozenset[str], in_ci: bool) -> None:
        self._at_hand = at_hand
        self._in_ci = in_ci
        self.unexpected: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Judge a skip."""
        could_have_run = not self._at_hand.isdisjoint(report.keywords)
        if report.skipped and (self._in_ci or could_have_run):
            self.unexpected.append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run where a test was skipped that could have run."""
        if self.unexpected and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the tests."""
        for nodeid in self.unexpected:
            terminalreporter.write_line(f"skipped, and should have run: {nodeid}", red=True)


def pytest_configure(config: pytest.Config) -> None:
    """Watch for skips, choose how many examples are tried, and make the folder of shared vectors."""
    if config.getoption("markexpr", "") == "not long":
        settings.load_profile("quick")
    if vectors.FOLDER not in os.environ:  # else this process was started by one that has made it
        os.environ[vectors.FOLDER] = tempfile.mkdtemp(prefix="mteb-de-vectors-")
        config.add_cleanup(lambda: shutil.rmtree(os.environ.pop(vectors.FOLDER), ignore_errors=True))
    in_ci = os.environ.get("CI", "").lower() in {"1", "true"}
    at_hand = frozenset(mark for mark, folder in _NEEDED.items() if folder.is_dir())
    config.pluginmanager.register(NoSilentSkips(at_hand=at_hand, in_ci=in_ci))


def _group(nodeid: str) -> str:
    """Return what a test is dealt to a process with: its file, or all that share what was built for them."""
    place = Path(nodeid.partition("::")[0])
    if place.parent.name not in _BUILT_TOGETHER:
        return str(place)
    return "bench" if place.name in _BENCH else place.parent.name


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Deal tests to processes by group; the marks of xdist's own groups reach no id since pytest 9.2."""
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = _group
    return scheduler
