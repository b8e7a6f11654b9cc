"""Run the scrubber over texts or a file and print what it took; started by `scrub.py`."""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any


def measure(texts: dict[str, list[str]]) -> dict[str, Any]:
    """Return CPU seconds for each group of texts."""
    import polars as pl

    from builders.personal import scrub

    # What is loaded late is loaded before.
    scrub(pl.Series(["Tel. 0221/4710123, DE89370400440532013000, Frau Weber, a@beispiel.de"]))
    seconds: dict[str, float] = {}
    for name, group in texts.items():
        start = time.process_time()
        scrub(pl.Series(group))
        seconds[name] = time.process_time() - start
    return {"seconds": seconds}


def clean_file(path: Path, workers: int) -> dict[str, Any]:
    """Scrub a file of contact data; return CPU seconds of all processes, and peak memory in MB by process."""
    from builders.personal.tables import scrub_file
    from builders.spec import CONTACT

    scrub_file(path, path.with_suffix(".out.jsonl"), kinds=CONTACT, workers=workers)
    path.with_suffix(".out.jsonl").unlink()
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "seconds": sum(used.ru_utime + used.ru_stime for used in usage),
        "megabytes": usage[0].ru_maxrss / 1024,
        "worker_megabytes": usage[1].ru_maxrss / 1024,
    }


def main() -> None:
    """Read the command line, print one JSON document."""
    os.environ.update(OMP_NUM_THREADS="1", POLARS_MAX_THREADS="1")  # before what reads them is loaded
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="JSON: texts by group; or the file to clean")
    parser.add_argument("--workers", type=int, help="clean a file, with so many processes")
    options = parser.parse_args()
    if options.workers:
        result = clean_file(options.path, options.workers)
    else:
        result = measure(json.loads(options.path.read_text("utf-8")))
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
