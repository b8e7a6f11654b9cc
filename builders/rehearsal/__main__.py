"""Serve folders as a Hub: ``python -m builders.rehearsal --folder ROOT [--owner NAME …] [--port N]``.

ROOT holds ``datasets/OWNER/NAME`` and ``models/OWNER/NAME``. The endpoint is printed once it answers.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from builders.errors import MtebDeError, UsageError
from builders.printable import printable
from builders.rehearsal.server import serve
from builders.rehearsal.store import READ_TOKEN, TYPES, WRITE_TOKEN, Store


def _load(root: Path, owners: Sequence[str]) -> Store:
    """Return a store with every repo under a folder."""
    if not root.is_dir():
        raise UsageError(f"{root}: no such folder", hint="Repos lie in it under datasets/OWNER/NAME.")
    store = Store(orgs=tuple(owners))
    for folder, repo_type in TYPES.items():
        for path in sorted((root / folder).glob("*/*")):
            if path.is_dir():
                store.add_folder(repo_type, f"{path.parent.name}/{path.name}", path)
    return store


def main() -> int:
    """Run the command until it is interrupted or terminated; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m builders.rehearsal",
        description="Serve folders as a Hub on loopback, and take pushes. Nothing is kept when it ends.",
        epilog=f"Tokens (HF_TOKEN): {WRITE_TOKEN} may write as the user 'maintainer' and for each --owner; "
        f"{READ_TOKEN} may read. Set HF_ENDPOINT to the printed address.",
    )
    folder, owner = "holds datasets/OWNER/NAME; may be empty", "an organisation to publish for"
    parser.add_argument("--folder", type=Path, required=True, metavar="ROOT", help=folder)
    parser.add_argument("--owner", action="append", default=[], metavar="NAME", help=owner)
    parser.add_argument("--port", type=int, default=0, metavar="N", help="default: any free one")
    options = parser.parse_args()
    stops = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    # blocked before the server's thread starts, which inherits the mask: this thread alone waits for them
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    try:
        with serve(_load(options.folder, options.owner), port=options.port) as hub:
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
