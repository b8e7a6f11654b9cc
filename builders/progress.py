"""Where long work reports what it does."""

from typing import Protocol


class Progress(Protocol):
    """A receiver of progress: the terminal, a log, or nothing."""

    def title(self, text: str) -> None:
        """Open a section: the next steps belong to it."""

    def step(self, name: str, *lines: str) -> None:
        """Report a finished step with its results."""

    def tick(self, name: str, done: int, total: int) -> None:
        """Report how far a long step is."""
