"""What a card says of the latest audit of a dataset, and of the decisions that were applied."""

from __future__ import annotations

from builders.describe.dataset import Dataset
from builders.describe.markdown import Markdown, code, table
from builders.printable import counted, interval, percent


def figures(dataset: Dataset) -> Markdown:
    """Return what the latest audit found, with its date, sample and auditors; nothing without one."""
    audit = dataset.cited.audit
    if audit is None:
        return Markdown("")
    shares = {
        "Hard negatives that are relevant": audit.false_negatives,
        "Labelled positives that are relevant": audit.precision,
        "Verdicts on pairs confirmed by hand that are right": audit.controls,
    }
    rows = [
        (name, share.pairs, percent(share.value), interval(share.value, share.low, share.high))
        for name, share in shares.items()
        if share.pairs
    ]
    who = counted(audit.auditors, "auditor")
    kappa = "" if audit.kappa is None else f"; Cohen's kappa is {audit.kappa:.2f}"
    head = (
        f"{who} read a random sample of this very build, last on {audit.date}{kappa}. "
        f"Sample {code(audit.sample)}"
    )
    recipe = f", mined by recipe {code(audit.recipe)}" if audit.recipe else ""
    columns = ("What", "Pairs", "Share", "95 % interval")
    return Markdown(f"{head}{recipe}; shares are weighted back to all pairs.\n\n{table(columns, rows)}")


def decisions(dataset: Dataset) -> Markdown:
    """Return what decisions of auditors changed; nothing where there are none."""
    counts = dataset.lock.decisions
    if not counts:
        return Markdown("")
    names = {
        "relevant": "Pairs that auditors found relevant",
        "excluded": "Pairs that auditors excluded: neither positive nor negative",
        "unmatched": "Of these, pairs that are not in this build",
        "qrels_added": "Relevant pairs that this added, with all queries and passages that mean the same",
        "qrels_removed": "Relevant pairs that this removed",
        "undecided_added": "Pairs that this kept from mining",
    }
    return table(
        ("Decisions of auditors", "Count"), [(text, counts.get(key, 0)) for key, text in names.items()]
    )
