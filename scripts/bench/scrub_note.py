"""`notes/personal-data.md`, from the stored results and the gold sets; no figure in it is typed by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2
import polars as pl

from builders.files import write_bytes
from builders.personal.replacements import PEOPLE
from builders.spec import ALL_KINDS, CONTACT
from scripts.bench.gold_set import read_set, score

NOTE = Path(__file__).parents[2] / "notes" / "personal-data.md"
_TEMPLATE = Path(__file__).with_name("scrub_note.md.jinja")


def render(results: dict[str, Any], findings: Path) -> str:
    """Return the note in Markdown.

    Args:
        results: What `scripts/bench/scrub.py` stored; parts that were not measured are left out.
        findings: Its table of findings in news, with verdicts by hand.
    """
    gold, heldout, names = score("gold"), score("heldout"), score("names")
    tallies = [names.by_kind[kind] for kind in ("person", "full_name")]
    rows = pl.read_csv(findings, separator="\t", infer_schema=False).to_dicts() if findings.exists() else []
    environment = jinja2.Environment(
        trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(_TEMPLATE.read_text("utf-8")).render(
        all_kinds=[kind.value for kind in ALL_KINDS],
        contact=[kind.value for kind in CONTACT],
        gold=gold.by_kind,
        gold_size=len(read_set("gold")),
        gold_precision=gold.precision,
        heldout=heldout.by_kind,
        heldout_size=len(read_set("heldout")),
        heldout_precision=heldout.precision,
        names_size=len(read_set("names")),
        names_found=sum(tally.found for tally in tallies),
        names_marked=sum(tally.marked for tally in tallies),
        names_replaced=sum(tally.replaced for tally in tallies),
        names_right=sum(tally.right for tally in tallies),
        people=json.loads(PEOPLE.read_text("utf-8")),
        findings=rows,
        unread=[row for row in rows if row["verdict"] not in {"right", "wrong"}],
        wrong=[row for row in rows if row["verdict"] == "wrong"],
        **{key: results.get(key) for key in ("news", "hostile", "memory")},
    )


def write(results: dict[str, Any], findings: Path) -> None:
    """Write the note."""
    write_bytes(NOTE, render(results, findings).encode())
