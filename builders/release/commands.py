"""The commands that messages name: whole, so that they can be pasted."""

from __future__ import annotations

import shlex
from pathlib import Path

DIST = Path("dist")
ANY_REPO = "OWNER/NAME"


def command(verb: str, *words: str, out: Path = DIST) -> str:
    """Return a command of `mteb-de release` as a shell takes it.

    Args:
        verb: "plan".
        words: Its arguments and options.
        out: The folder of releases; named where it is not the usual one.
    """
    named = [] if out == DIST else ["--out", str(out)]
    return shlex.join(["mteb-de", "release", verb, *words, *named])


def plan_command(release: str, out: Path, repo: str = ANY_REPO) -> str:
    """Return the command that plans a release."""
    return command("plan", release, "--repo", repo, out=out)
