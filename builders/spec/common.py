"""What every kind of config shares: its fetched files, and its waivers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Files = Mapping[str, Sequence[Path]]
"""The fetched files of a config by part: ``{"corpus": [Path(...)], "queries": [...]}``."""


@dataclass(frozen=True, slots=True)
class Waiver:
    """Consent to a finding: it names the code, the reason, and the largest count that is accepted."""

    code: str
    reason: str
    at_most: int
