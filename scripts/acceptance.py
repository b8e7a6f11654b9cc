"""Build everything from the stand-in upstreams, cold and warm, rehearse it, and write down what it took."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
import polars as pl

from builders import registry
from builders.files import write_bytes
from builders.lock.lock import Lock, read_lock
from builders.rehearsal import Hub, Store, serve
from builders.spec import HubSource

ROOT = Path(__file__).parents[1]
CONFIGS = ("germandpr", "jobs")
_NOTE = """\
# Acceptance: all rows of the stand-in upstreams

Written by `scripts/acceptance`; do not edit. The upstreams are stand-ins in the real formats, served by a Hub
on loopback; the encoder is the offline E5. Machine: {{ machine }}.
Memory is that of the whole process tree, shared pages counted once.

| command | wall s | peak MB |
|---|---:|---:|
{% for name, run in runs.items() %}
| {{ name }} | {{ "%.1f" | format(run.seconds) }} | {{ "%.0f" | format(run.megabytes) }} |
{% endfor %}

| config | table | read | dropped | merged | undecided | out |
|---|---|---:|---|---:|---:|---:|
{% for name, lock in locks.items() %}
{% for funnel in lock.funnels %}
| {{ name }} | {{ funnel.table }} | {{ funnel.read | n }} |
{%- for reason, count in funnel.dropped.items() %} {{ count | n }} {{ reason }}{{ "," if not loop.last }}
{%- else %} –{% endfor %} | {{ funnel.merged | n }} | {{ funnel.undecided | n }} | {{ funnel.out | n }} |
{% endfor %}
{% endfor %}

{% for name, table in tables.items() %}
`jobs-{{ name }}`, by recipe {{ table.recipe.name }}:

| negatives | queries |
|---:|---:|
{% for count, queries in table.report.by_count.items() %}
| {{ count }} | {{ queries | n }} |
{% endfor %}

{{ table.report["yield"].any | n }} of {{ table.report.queries | n }} queries got any.

{% endfor %}

| fact about `jobs` | count |
|---|---:|
{% for name, value in facts.items() %}
| {{ name.replace("_", " ") }} | {{ value | n }} |
{% endfor %}

{% for failure in failures %}
- Failed: {{ failure }}
{% else %}
Every expectation held.
{% endfor %}
"""


@dataclass(frozen=True)
class Run:
    """What a command took: seconds of wall time, and the largest memory of its whole process tree in MB."""

    seconds: float
    megabytes: float
    stdout: str


def main() -> int:
    """Run it, write the note, and say whether every expectation held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--upstream", type=Path, default=Path(os.environ.get("MTEB_DE_UPSTREAM", ROOT / "../shared/upstream"))
    )
    parser.add_argument("--note", type=Path, default=ROOT / "notes" / "acceptance.md")
    parser.add_argument("--home", type=Path, help="Folder of the caches; a fresh one by default.")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="mteb-de-acceptance-") as name,
        serve(_upstreams(given.upstream)) as hub,
    ):
        folder = Path(name)
        home, out = given.home or folder / "home", folder / "dist"
        runs = _walk(hub, home, folder)
        locks = {config: read_lock(out / "work" / config / "lock.json") for config in CONFIGS}
        planted = json.loads((given.upstream / "planted.json").read_text(encoding="utf-8"))
        failures = list(_failures(out, locks, planted))
    note = _note(runs, locks, failures)
    write_bytes(given.note, note.encode())
    print(note)
    return 1 if failures else 0


def _upstreams(folder: Path) -> Store:
    store = Store(orgs=["verein"])
    for config in CONFIGS:
        upstreams = registry.load_retrieval(config).sources
        for source in (source for source in upstreams if isinstance(source, HubSource)):
            place = folder / "hub" / "datasets" / source.repo
            store.add_folder("dataset", source.repo, place, source.revision)
    return store


def _walk(hub: Hub, home: Path, folder: Path) -> dict[str, Run]:
    out = ("--out", str(folder / "dist"))
    commands: dict[str, Sequence[str]] = {
        "build germandpr, cold": ("build", "germandpr", "--encoder", "offline", *out),
        "build jobs, cold": ("build", "jobs", "--encoder", "offline", *out),
        "build jobs, warm": ("build", "jobs", "--encoder", "offline", *out),
        "check": ("check", "--dist", out[1]),
        "release plan": ("release", "plan", "mteb-de", "--repo", "verein/mteb-de", *out),
        "release rehearse": ("release", "rehearse", "mteb-de", *out),
    }
    environment = hub.environment(folder / "clients") | {"MTEB_DE_HOME": str(home)}
    return {name: _measured(words, environment) for name, words in commands.items()}


def _measured(words: Sequence[str], environment: dict[str, str]) -> Run:
    began = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-m", "builders", *words], env=environment, stdout=subprocess.PIPE, text=True
    )
    peak = [0]

    def watch() -> None:
        while child.poll() is None:
            peak[0] = max(peak[0], sum(_memory_of_tree(child.pid)))
            time.sleep(0.5)

    watcher = threading.Thread(target=watch)
    watcher.start()
    stdout, _ = child.communicate()
    watcher.join()
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(words)} ended with {child.returncode}")
    return Run(time.monotonic() - began, peak[0] / 1024, stdout)


def _memory_of_tree(pid: int) -> Iterator[int]:
    """Give the proportional memory in kB of a process and of all below it, shared pages counted once."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        yield next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except (OSError, StopIteration):
        return
    for child in children:
        yield from _memory_of_tree(int(child))


def _failures(out: Path, locks: dict[str, Lock], planted: dict[str, int]) -> Iterator[str]:
    def expect(what: str, found: object, wanted: object) -> Iterator[str]:
        if found != wanted:
            yield f"{what}: expected {wanted}, found {found}"

    funnels = {(name, funnel.table): funnel for name, lock in locks.items() for funnel in lock.funnels}
    yield from expect("germandpr passages", funnels["germandpr", "passages"].out, planted["germandpr.docs"])
    yield from expect(
        "germandpr queries read", funnels["germandpr", "queries"].read, planted["germandpr.queries"]
    )
    yield from expect("germandpr queries merged", funnels["germandpr", "queries"].merged, 9)
    yield from expect("germandpr splits", locks["germandpr"].splits, {"train": 944, "dev": 118, "test": 119})
    yield from expect("jobs rows read", funnels["jobs", "rows"].read, planted["jobs.rows"])
    yield from expect(
        "jobs empty titles", funnels["jobs", "rows"].dropped["empty_query"], planted["jobs.empty_titles"]
    )
    for kind in ("queries", "corpus"):
        texts = pl.read_parquet(out / "mteb-de" / "jobs" / kind / "*.parquet")["text"]
        for fault, pattern in {
            "entity": "&(?:amp|lt|gt|quot|#)",
            "decomposed umlaut": "[\u0300-\u036f]",
            "e-mail or handle": "@",
            "URL": "https?://|www\\.",
            "phone": r"\+49|\(0\)|\b0\d{2,4}[ /-]\d{4,}",
        }.items():
            yield from expect(f"jobs {kind}: {fault}", int(texts.str.contains(pattern).sum()), 0)


def _note(runs: dict[str, Run], locks: dict[str, Lock], failures: list[str]) -> str:
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters["n"] = "{:,}".format
    mining = locks["jobs"].mining
    assert mining is not None
    return environment.from_string(_NOTE).render(
        runs=runs,
        locks=locks,
        failures=failures,
        tables=mining.model_dump()["tables"],
        facts=locks["jobs"].facts,
        machine=f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
    )


if __name__ == "__main__":
    sys.exit(main())
