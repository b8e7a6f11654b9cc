"""The verbs by name; a verb's module is imported when it is called, so that `--help` answers at once."""

from __future__ import annotations

import difflib
import importlib

import click

from builders import __version__

VERBS = {
    "audit": ("builders.cli.audit", "Find out how many hard negatives are wrong."),
    "build": ("builders.cli.build", "Rebuild configs from their pinned upstreams."),
    "check": ("builders.cli.check", "Run every rule on a built tree."),
    "demo": ("builders.cli.demo", "Walk the whole way on the bundled sample, offline."),
    "eval": ("builders.cli.eval", "Score encoders on what was built, beside published scores."),
    "explain": ("builders.cli.explain", "Say where an id comes from, or why a row was dropped."),
    "hydrate": ("builders.cli.hydrate", "Fetch the texts of published ids, on this machine alone."),
    "list": ("builders.cli.list", "Show the configs and what is locked."),
    "recheck": ("builders.cli.recheck", "Take out of fetched texts what has been deleted since."),
    "release": ("builders.cli.release", "Diff, plan, rehearse, apply, verify, roll back a release."),
    "scrub": ("builders.cli.scrub", "Copy a table without the personal data in it."),
}


class LazyGroup(click.Group):
    """A group that knows the names and summaries of its commands, and imports the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs."""
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb."""
        if cmd_name not in VERBS:
            return None
        module, _ = VERBS[cmd_name]
        command = importlib.import_module(module).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in sorted(VERBS.items())])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a verb, and suggest the nearest where there is none of that name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = difflib.get_close_matches(args[0], VERBS, n=1)
            suggestion = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"no such verb {args[0]!r}.{suggestion}", ctx) from error


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="mteb-de")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def cli(debug: bool) -> None:
    """Rebuild, audit and release a German text-embedding benchmark.

    \b
    A release, from nothing:
      mteb-de build germandpr jobs
      mteb-de release plan mteb-de --repo OWNER/NAME
      mteb-de release rehearse mteb-de
      mteb-de release apply mteb-de

    Exit codes: 0 fine; 1 findings, drift or a shut gate; 2 could not run; 130 interrupted; 143 terminated.
    """
