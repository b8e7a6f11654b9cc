"""Small configs of the bundled sample, built; and what listens to an evaluation."""

from __future__ import annotations

from pathlib import Path

from builders import registry
from builders.build.order import Options, build
from builders.cli.output import Lines
from builders.demo.bundled import lay_out
from builders.lock.lock import Lock


def build_sample(folder: Path, *configs: str, committed: Path | None = None) -> dict[str, Lock]:
    """Build configs of the sample under ``folder/dist``, offline."""
    lay_out(folder / "sample")
    options = Options(
        out=folder / "dist",
        encoder="offline",
        offline=True,
        sources=(str(folder / "sample"),),
        home=folder / "home",
        committed=committed or folder / "none",
    )
    return {name: build(registry.load(name), options, Lines(quiet=True)) for name in configs}


class Told:
    """A progress that keeps the lines of steps."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def title(self, text: str) -> None:
        """Hear a title."""

    def step(self, name: str, *lines: str) -> None:
        self.lines += [f"{name}: {line}" for line in lines]

    def tick(self, name: str, done: int, total: int) -> None:
        """Hear how far a step is."""
