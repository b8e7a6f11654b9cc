"""Running the command: faults become messages and exit codes."""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Sequence

import click

from builders.cli import streams
from builders.cli.group import cli
from builders.cli.output import complain
from builders.errors import MtebDeError

INTERRUPTED = 130
TERMINATED = 143
COULD_NOT_RUN = 2


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with its exit code."""
    streams.install()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # so that what is half-written is removed
    try:
        code = run(arguments)
    except KeyboardInterrupt:  # a second Ctrl-C, while the first was told
        code = INTERRUPTED
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: Words after the command's name; None for those of the process.

    Returns:
        0 fine; 1 findings, drift or a shut gate; 2 could not run; 130 interrupted; 143 terminated.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    try:
        result = cli.main(words, prog_name="mteb-de", standalone_mode=False)
    except MtebDeError as error:
        if debug:
            traceback.print_exc()
        complain(error.message, error.hint)
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return COULD_NOT_RUN
    except click.ClickException as error:
        complain(error.format_message(), _usage_hint(error))
        return COULD_NOT_RUN
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted; nothing is half-written: run the same command again")
        return INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        complain(*_unforeseen(error))
        return COULD_NOT_RUN
    return result if isinstance(result, int) else 0


def _usage_hint(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"See {context.command_path} --help." if isinstance(context, click.Context) else ""


def _unforeseen(error: Exception) -> tuple[str, str]:
    """What to say of an error that nothing nearer to its cause has caught, and the hint."""
    if isinstance(error, OSError) and error.errno is not None:
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror}", "Look for free space, permissions, and a file in a folder's place."
    return (
        f"this should not have happened: {type(error).__name__}: {error}",
        "Run it again with --debug and report the traceback.",
    )
