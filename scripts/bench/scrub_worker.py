"""Run one scrubber over texts and print what it took and what it found; started by `scrub.py`.

It runs in the project's environment or in that of the peers, so everything beyond the standard library is
imported by name.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

Spans = list[list[int]]
Find = Callable[[list[str]], list[Spans]]


def ours(kinds: str) -> Find:
    """The project's scrubber, with "ALL_KINDS" or "CONTACT"."""
    polars, personal = import_module("polars"), import_module("builders.personal")
    wanted = getattr(import_module("builders.spec"), kinds)

    def find(texts: list[str]) -> list[Spans]:
        spans = personal.scrub(polars.Series(texts), wanted).spans
        found: list[Spans] = [[] for _ in texts]
        for row, start, end in spans.select("row", "start", "end").iter_rows():
            found[row].append([start, end])
        return found

    return find


def presidio() -> Find:
    """Presidio's analyser with its German recognisers and those for mail, web, phone and IBAN.

    They are patterns; the language model behind them is blank, and serves the words around a match only.
    """
    module = import_module("presidio_analyzer.predefined_recognizers")
    analyzer = import_module("presidio_analyzer")
    nlp_engine = import_module("presidio_analyzer.nlp_engine").SpacyNlpEngine(
        models=[{"lang_code": "de", "model_name": "blank"}]
    )
    nlp_engine.nlp = {"de": import_module("spacy").blank("de")}
    registry = analyzer.RecognizerRegistry(supported_languages=["de"])
    for name in dir(module):
        if name.startswith("De") and name.endswith("Recognizer"):
            registry.add_recognizer(getattr(module, name)())
    for name in ("EmailRecognizer", "UrlRecognizer", "IbanRecognizer"):
        registry.add_recognizer(getattr(module, name)(supported_language="de"))
    regions = ("DE", "AT", "CH")
    registry.add_recognizer(module.PhoneRecognizer(supported_language="de", supported_regions=regions))
    engine = analyzer.AnalyzerEngine(registry=registry, nlp_engine=nlp_engine, supported_languages=["de"])
    return lambda texts: [
        [[result.start, result.end] for result in engine.analyze(text, language="de")] for text in texts
    ]


def scrubadub() -> Find:
    """The scrubber of that name, with the detectors of its German locale."""
    scrubber = import_module("scrubadub").Scrubber(locale="de_DE")
    return lambda texts: [[[filth.beg, filth.end] for filth in scrubber.iter_filth(text)] for text in texts]


def datafog() -> Find:
    """Datafog's regular expressions with its German locale."""
    scan = import_module("datafog.engine").scan

    def find(texts: list[str]) -> list[Spans]:
        return [
            [[entity.start, entity.end] for entity in scan(text, engine="regex", locales=["de"]).entities]
            for text in texts
        ]

    return find


TOOLS: dict[str, Callable[[], Find]] = {
    "ours, all kinds": lambda: ours("ALL_KINDS"),
    "ours, contact": lambda: ours("CONTACT"),
    "presidio": presidio,
    "scrubadub": scrubadub,
    "datafog": datafog,
}
_PACKAGES = {"presidio": "presidio-analyzer", "scrubadub": "scrubadub", "datafog": "datafog"}


def measure(tool: str, texts: dict[str, list[str]]) -> dict[str, Any]:
    """Return CPU seconds for each group of texts, and the spans of the group "gold"."""
    find = TOOLS[tool]()
    find([
        "Tel. 0221/4710123, DE89370400440532013000, Frau Weber, a@beispiel.de"
    ])  # loads what is loaded late
    seconds: dict[str, float] = {}
    spans: list[Spans] = []
    for name, group in texts.items():
        start = time.process_time()
        found = find(group)
        seconds[name] = time.process_time() - start
        spans = found if name == "gold" else spans
    version = metadata.version(_PACKAGES[tool]) if tool in _PACKAGES else ""
    return {"tool": tool, "version": version, "seconds": seconds, "spans": spans}


def clean_file(path: Path, workers: int) -> dict[str, Any]:
    """Scrub a file of contact data; return CPU seconds of all processes, and peak memory in MB by process."""
    contact = import_module("builders.spec").CONTACT
    scrub_file = import_module("builders.personal.tables").scrub_file
    scrub_file(path, path.with_suffix(".out.jsonl"), kinds=contact, workers=workers)
    path.with_suffix(".out.jsonl").unlink()
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "seconds": sum(used.ru_utime + used.ru_stime for used in usage),
        "megabytes": usage[0].ru_maxrss / 1024,
        "worker_megabytes": usage[1].ru_maxrss / 1024,
    }


def main() -> None:
    """Read the command line, print one JSON document."""
    os.environ.update(
        OMP_NUM_THREADS="1", POLARS_MAX_THREADS="1"
    )  # before anything that reads them is loaded
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="JSON: texts by group; or the file to clean")
    parser.add_argument("--tool", choices=TOOLS)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    if options.tool:
        result = measure(options.tool, json.loads(options.path.read_text("utf-8")))
    else:
        result = clean_file(options.path, options.workers)
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
