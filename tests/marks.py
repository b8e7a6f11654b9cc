"""Marks that several files of tests share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def long_after(first: int, cases: Iterable[Any]) -> list[Any]:
    """Leave all cases of a parametrized test but the first ones to the long run."""
    return [
        case
        if number < first
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
        for number, case in enumerate(cases)
    ]
