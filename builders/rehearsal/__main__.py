"""Serve folders as a Hub: ``python -m builders.rehearsal --folder ROOT [--pin OWNER/NAME@REV …] [--port N]``.

ROOT holds ``datasets/OWNER/NAME`` and ``models/OWNER/NAME``. The endpoint is printed once it answers; the Hub
runs until it is interrupted or terminated.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from builders.errors import MtebDeError, UsageError
from builders.printable import printable
from builders.rehearsal.server import serve
from builders.rehearsal.store import READ_TOKEN, WRITE_TOKEN, RepoType, Store

_FOLDERS: tuple[tuple[RepoType, str], ...] = (("dataset", "datasets"), ("model", "models"))


def load(root: Path, pins: Sequence[str], owners: Sequence[str] = ()) -> Store:
    """Return a store with every repo under `root`, for which the write token may also act as `owners`.

    Raises:
        UsageError: A pin is malformed or names a repo that is not there, or the folder is not there.
    """
    wanted = {}
    for pin in pins:
        repo_id, at, wanted[repo_id] = pin.partition("@")
        if not at:
            raise UsageError(f"{pin}: not a pin", hint="Write it as OWNER/NAME@REVISION.")
    store = Store(orgs=tuple(owners))
    for repo_type, folder in _FOLDERS:
        for path in sorted((root / folder).glob("*/*")):
            if path.is_dir():
                repo_id = f"{path.parent.name}/{path.name}"
                store.add_folder(repo_type, repo_id, path, wanted.pop(repo_id, None))
    if wanted or not root.is_dir():
        missing = ", ".join(wanted) or "the folder"
        raise UsageError(f"{root}: {missing} not found", hint="Repos lie under datasets/OWNER/NAME.")
    return store


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m builders.rehearsal",
        description="Serve folders as a Hub on loopback, and take pushes. Nothing is kept when it ends.",
        epilog=f"Tokens (HF_TOKEN): {WRITE_TOKEN} may write as the user 'maintainer' and for each --owner; "
        f"{READ_TOKEN} may read. Set HF_ENDPOINT to the printed address.",
    )
    parser.add_argument(
        "--folder", type=Path, required=True, metavar="ROOT", help="holds datasets/OWNER/NAME; may be empty"
    )
    parser.add_argument(
        "--pin", action="append", default=[], metavar="OWNER/NAME@REV", help="commit id of a repo"
    )
    parser.add_argument(
        "--owner", action="append", default=[], metavar="NAME", help="an organisation to publish for"
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="default: any free one")
    options = parser.parse_args(arguments)
    stops = {signal.SIGINT, signal.SIGTERM}
    # blocked before the server's thread starts, which inherits the mask: this thread alone waits for them
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    try:
        with serve(load(options.folder, options.pin, options.owner), port=options.port) as hub:
            sys.stdout.write(f"{hub.endpoint}\n")
            sys.stdout.flush()
            signal.sigwait(stops)
    except MtebDeError as error:
        lines = [f"error: {error.message}", *([f"hint: {error.hint}"] if error.hint else [])]
        sys.stderr.writelines(f"{printable(line)}\n" for line in lines)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
