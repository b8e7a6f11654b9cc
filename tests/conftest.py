"""No test is skipped unseen: where the stand-in upstreams are at hand, or in CI, a skip fails the run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The machine is shared: how long an example takes says nothing about the code.
settings.register_profile("project", deadline=None)
settings.load_profile("project")

_UPSTREAM = Path(os.environ.get("MTEB_DE_UPSTREAM", Path(__file__).parents[1] / "../shared/upstream"))


class NoSilentSkips:
    """Remembers skipped tests, and fails the run where none should be."""

    def __init__(self, *, upstream_is_there: bool, in_ci: bool) -> None:
        self._upstream_is_there = upstream_is_there
        self._in_ci = in_ci
        self.unexpected: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Judge a skip."""
        needs_upstream = "upstream" in report.keywords
        if report.skipped and (self._in_ci or (needs_upstream and self._upstream_is_there)):
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
    """Watch for skips."""
    in_ci = os.environ.get("CI", "").lower() in {"1", "true"}
    config.pluginmanager.register(NoSilentSkips(upstream_is_there=_UPSTREAM.is_dir(), in_ci=in_ci))
