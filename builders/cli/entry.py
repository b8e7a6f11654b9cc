"""Verbs by name, each imported when it is called, and how they run: faults become messages and exit codes."""

import importlib
import signal
import sys
import traceback
from collections.abc import Sequence

import click

from builders import __version__
from builders.cli import streams
from builders.cli.options import flag
from builders.cli.output import complain
from builders.errors import MtebDeError

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}
_INTERRUPTED = 130
_SIGNALLED = 128
"""Added to the number of the signal that ended the command, as shells do."""
_COULD_NOT_RUN = 2

VERBS = {
    "audit": ("builders.cli.audit", "Find out how many hard negatives are wrong."),
    "build": ("builders.cli.build", "Rebuild configs from their pinned upstreams."),
    "check": ("builders.cli.look:check", "Run every rule on a built tree."),
    "demo": ("builders.cli.demo", "Walk the whole way on the bundled sample, offline."),
    "eval": ("builders.cli.eval", "Score encoders on what was built, beside published scores."),
    "explain": ("builders.cli.look:explain", "Say where an id comes from, or why a row was dropped."),
    "hydrate": ("builders.cli.hydrate:hydrate", "Fetch the texts of published ids, on this machine alone."),
    "list": ("builders.cli.look:list_", "Show the configs and what is locked."),
    "recheck": ("builders.cli.hydrate:recheck", "Take out of fetched texts what has been deleted since."),
    "release": ("builders.cli.release", "Diff, plan, rehearse, apply, verify, roll back a release."),
    "scrub": ("builders.cli.scrub", "Copy a table without the personal data in it."),
}


class _LazyGroup(click.Group):
    """A group whose commands know their summaries; the one that is called is imported."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb."""
        if cmd_name not in VERBS:
            return None
        module, _, name = VERBS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), name or "command")
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in sorted(VERBS.items())])


@click.group(cls=_LazyGroup, context_settings=_SETTINGS, commands=list(map(click.Command, VERBS)))
@click.version_option(__version__, prog_name="mteb-de")
@flag("--debug", "Show tracebacks.")
def cli(debug: bool) -> None:
    """Rebuild, audit and release a German text-embedding benchmark.

    \b
    A release, from nothing:
      mteb-de build germandpr jobs
      mteb-de release plan mteb-de --repo OWNER/NAME
      mteb-de release rehearse mteb-de
      mteb-de release apply mteb-de

    Exit codes: 0 fine; 1 findings, drift or a shut gate; 2 could not run;
    130 interrupted; 129 hung up, 143 terminated.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with its exit code."""
    streams.install()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # `nohup` ignores the second
            # so that what is half-written is removed
            signal.signal(number, lambda got, _: sys.exit(_SIGNALLED + got))
    try:
        code = run(arguments)
    except KeyboardInterrupt:  # a second Ctrl-C, while the first was told
        code = _INTERRUPTED
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command with the words after its name, by default the process's; return its exit code."""
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
        return _COULD_NOT_RUN
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        complain(error.format_message(), f"See {context.command_path} --help." if context else "")
        return _COULD_NOT_RUN
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted; nothing is half-written: run the same command again")
        return _INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        complain(*_unforeseen(error))
        return _COULD_NOT_RUN
    return result if isinstance(result, int) else 0


def _unforeseen(error: Exception) -> tuple[str, str]:
    """What to say of an error that nothing nearer to its cause has caught, and the hint."""
    if isinstance(error, OSError) and error.errno is not None:
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror}", "Look for free space, permissions, and a file in a folder's place."
    return (
        f"this should not have happened: {type(error).__name__}: {error}",
        "Run it again with --debug and report the traceback.",
    )
