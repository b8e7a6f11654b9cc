"""Measure the scrubber, and write `notes/personal-data.md`.

    python -m scripts.bench.scrub --news 10kgnad_test.csv --memory

Without arguments the note is written anew from the stored results.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from builders.files import write_json
from builders.personal import scrub
from builders.personal.replacements import masked
from builders.spec import ALL_KINDS
from scripts.bench import scrub_note, scrub_texts

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "scrub.json"
FINDINGS = HERE / "results" / "scrub_news.tsv"
NAMES = ("person", "full_name")
_HOSTILE = 60_000
_SIZES = (10, 100, 1000)


def main() -> None:
    """Read the command line, measure, write results and note."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--news", type=Path, help="10kGNAD's test.csv")
    parser.add_argument(
        "--memory", action="store_true", help="also clean hostile strings and files of up to 1 GB"
    )
    options = parser.parse_args()
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    if options.news:
        news = read_news(options.news)
        results["news"] = news_findings(news)
    if options.memory:
        results["hostile"] = hostile()
        results["memory"] = memory(news if options.news else scrub_texts.postings(3_000_000, 1))
    write_json(RESULTS, results)
    scrub_note.write(results, FINDINGS)


def read_news(path: Path) -> list[str]:
    """Return the articles of 10kGNAD's file: class and text, apart by semicolons, in single quotes."""
    with path.open(encoding="utf-8", newline="") as file:
        return [row[1] for row in csv.reader(file, delimiter=";", quotechar="'")]


def news_findings(news: list[str]) -> dict[str, Any]:
    """Count what is found in news; list all but names in a table, keeping the verdicts that stand there.

    The table holds no text of the articles: the place, and the form of what was found.
    """
    texts = pl.Series(news)
    spans = scrub(texts, ALL_KINDS).spans
    verdicts: dict[tuple[str, ...], tuple[str, ...]] = {}
    if FINDINGS.exists():
        old = pl.read_csv(FINDINGS, separator="\t", infer_schema=False)
        verdicts = {row[:3]: tuple(value or "" for value in row[5:]) for row in old.iter_rows()}
    rows = []
    for row, kind, start, end, rule in spans.iter_rows():
        if kind not in NAMES:
            place = (str(row), str(start), str(end))
            rows.append((*place, rule, masked(news[row][start:end]), *verdicts.get(place, ("", ""))))
    schema = ["row", "start", "end", "rule", "form", "verdict", "reason"]
    pl.DataFrame(rows, schema=schema, orient="row").write_csv(FINDINGS, separator="\t")
    counts = dict(spans.group_by("kind").len().sort("kind").iter_rows())
    return {"megabytes": sum(len(text.encode()) for text in news) / 1e6, "counts": counts}


def hostile() -> dict[str, Any]:
    """Return the slowest of the hostile strings, in CPU seconds."""
    texts = {piece: [text] for piece, text in scrub_texts.hostile(_HOSTILE).items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.json"
        path.write_text(json.dumps(texts), "utf-8")
        seconds = worker([str(path)])["seconds"]
    slowest = max(seconds, key=seconds.__getitem__)
    return {"strings": len(texts), "characters": _HOSTILE, "slowest": slowest, "seconds": seconds[slowest]}


def memory(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Clean JSON lines of growing size in one process and with two more; return CPU time and peak memory."""
    rows = ({"id": number, "text": text} for number, text in enumerate(texts))
    lines = [json.dumps(row).encode() + b"\n" for row in rows]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for size in _SIZES:
            path = Path(folder) / f"{size}.jsonl"
            with path.open("wb") as file:
                for line in itertools.cycle(lines):
                    if file.tell() >= size * 1_000_000:
                        break
                    file.write(line)
            for workers in (1, 2):
                measured = worker([str(path), "--workers", str(workers)])
                results.append({"megabytes": path.stat().st_size / 1e6, "workers": workers, "run": measured})
            path.unlink()
    return results


def worker(arguments: list[str]) -> dict[str, Any]:
    """Run the worker in a process of its own; return what it prints."""
    done = subprocess.run(
        [sys.executable, str(HERE / "scrub_worker.py"), *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    result = json.loads(done.stdout.splitlines()[-1])  # a library may have printed before
    assert isinstance(result, dict)
    return result


if __name__ == "__main__":
    main()
