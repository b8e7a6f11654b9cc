"""Signals while worker processes start."""

from __future__ import annotations

import signal

import pytest

from builders import processes


def test_a_handler_that_was_installed_from_c_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python knows no such handler, and could not put it back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    known, put = signal.getsignal, signal.signal
    replaced: list[int] = []

    def note(number: int, handler: object) -> object:
        replaced.append(number)
        return put(number, handler)  # type: ignore[arg-type]

    monkeypatch.setattr(
        signal, "getsignal", lambda number: None if number == signal.SIGHUP else known(number)
    )
    monkeypatch.setattr(signal, "signal", note)
    with processes.starting():
        assert known(signal.SIGTERM) is not before[signal.SIGTERM]
    assert signal.SIGHUP not in replaced
    assert {number: known(number) for number in before} == before


def test_a_signal_that_comes_while_workers_start_is_raised_afterwards() -> None:
    with pytest.raises(KeyboardInterrupt):
        with processes.starting():
            signal.raise_signal(signal.SIGINT)
            reached = True
    assert reached
