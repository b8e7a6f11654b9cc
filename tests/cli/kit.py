"""Running the command in this process."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from builders.cli import run


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str


def call(capsys: pytest.CaptureFixture[str], *words: str) -> Said:
    code = run(words)
    captured = capsys.readouterr()
    return Said(code, captured.out, captured.err)
