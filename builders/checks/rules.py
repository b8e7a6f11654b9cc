"""All rules and all codes."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from builders.checks import (
    clustering,
    described,
    funnel,
    ids,
    negatives,
    published,
    qrels,
    release,
    scale,
    schema,
    splits,
    submissions,
    text,
    waivers,
)
from builders.checks.findings import ordered
from builders.checks.model import Finding, Subject

_MODULES = (
    schema, ids, text, qrels, splits, negatives, scale, funnel, clustering, submissions, published, release,
    described, waivers,
)  # fmt: skip
CODES: dict[str, str] = {code.name: code.meaning for module in _MODULES for code in module.CODES}
"""Every code, and what it counts."""


def run(subject: Subject, *, committed: pl.DataFrame | None = None) -> list[Finding]:
    """Apply every rule to a built config.

    Tables whose shape is wrong are reported alone: the other rules could only say the same again.

    Args:
        subject: The tables, and what the build recorded.
        committed: ``_id`` str, ``split`` str: the assignment of an earlier version. Without it, a group in
            more than one split is an error, as it must be in a first release.

    Returns:
        Findings, errors first, then by code; each code at most once. Waivers are not applied.
    """
    found = list(schema.structure(subject))
    if not found:
        rules = (*schema.RULES, *ids.RULES, *text.RULES, *qrels.RULES, *funnel.RULES)
        mined = (*negatives.RULES, *scale.RULES) if subject.spec.mining else ()
        found = [finding for rule in (*rules, *mined) for finding in rule(subject)]
        found += splits.check(subject, committed)
    return ordered(replace(finding, config=subject.spec.name) for finding in found)
