"""The command: verbs, exit codes, progress. The only code that prints."""

from builders.cli.entry import main, run

__all__ = ["main", "run"]
