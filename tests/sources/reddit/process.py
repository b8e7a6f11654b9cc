"""Hydration in a process of its own, which can be killed: `python -m … URL IDS LEDGER`."""

from __future__ import annotations

import sys
from pathlib import Path

from builders.sources.reddit.client import connect
from builders.sources.reddit.hydrate import hydrate
from builders.sources.reddit.ids import read_ids
from builders.sources.reddit.ledger import Ledger
from tests.sources.reddit.kit import TODAY


def main() -> None:
    """Hydrate."""
    url, ids, ledger = sys.argv[1:]
    with connect(url=url, sleep=lambda _: None) as client:
        hydrate(read_ids(Path(ids)), Ledger(Path(ledger)), client, today=TODAY)


if __name__ == "__main__":
    main()
