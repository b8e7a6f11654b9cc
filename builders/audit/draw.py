"""Drawing a sample of a built config, and writing it: page, CSV, and the record that verdicts hang on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from builders import files
from builders.audit import store
from builders.audit.controls import Control, agreed, read_controls
from builders.audit.model import Sample
from builders.audit.page import render_page
from builders.audit.sampling import Drawn, Sizes, random_sample, suspect_sample
from builders.audit.sheet import to_csv
from builders.audit.tree import Tree, read_tree
from builders.errors import UsageError
from builders.spec import Retrieval

if TYPE_CHECKING:
    from builders.audit.opinions import Name


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be drawn.

    Attributes:
        negatives: Hard negatives.
        positives: Labelled positives.
        seed: Of the draw and the order.
        suspects: Whether the likeliest false negatives are wanted, instead of a random sample.
        second: Who ranks them; None for the config's choice.
        controls: File of pairs confirmed by hand; None for the one among the notes, if there is one.
    """

    negatives: int
    positives: int
    seed: int = 42
    suspects: bool = False
    second: Name | None = None
    controls: Path | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A sample that was written, what is to be said of it, and where it lies."""

    sample: Sample
    remarks: tuple[str, ...]
    page: Path
    csv: Path


def draw(
    spec: Retrieval,
    wanted: Wanted,
    *,
    dist: Path,
    notes: Path,
    page: Path | None = None,
    home: Path | None = None,
) -> Written:
    """Draw a sample and write it.

    Args:
        spec: The config.
        wanted: What to draw.
        dist: The folder that was built into; the record of the sample is kept in its ``work``.
        notes: The folder of notes: earlier audits and controls.
        page: Where to write the page; the CSV lies beside it. None for the folder of the record.
        home: Folder of the vector cache; None for the default.

    Raises:
        StorageError: The config was not built, or something cannot be written.
        UsageError: There is nothing to judge, a controls file is malformed, or the page would be too large.
    """
    tree = read_tree(dist, spec)
    drawn = _drawn(tree, spec, wanted, notes, home)
    if not drawn.sample.items:
        raise UsageError(
            f"{spec.name}: there is no pair to judge", hint="Ask for more with --n or --positives."
        )
    folder = store.sample_folder(dist, spec.name)
    html = page or folder / f"{drawn.sample.head.sample}.html"
    table = html.with_suffix(".csv")
    if html == table:
        raise UsageError(f"{html}: the page cannot be a .csv", hint="Give --out a name that ends in .html.")
    rendered = render_page(drawn.sample, tree, spec)
    store.write_sample(folder, drawn.sample)
    files.write_bytes(table, to_csv(drawn.sample, tree))
    files.write_bytes(html, rendered)
    return Written(drawn.sample, drawn.remarks, html, table)


def _drawn(tree: Tree, spec: Retrieval, wanted: Wanted, notes: Path, home: Path | None) -> Drawn:
    if wanted.suspects:
        from builders.audit.opinions import opinion_for
        from builders.audit.suspects import rank_suspects

        opinion = opinion_for(wanted.second, tree, spec, root=home)
        sizes = Sizes(wanted.negatives, wanted.positives, 0)
        return suspect_sample(tree, rank_suspects(tree, opinion), sizes, opinion.name)
    if wanted.second is not None:
        raise UsageError("--second ranks suspects, and this is a random sample", hint="Add --suspects.")
    sizes = Sizes(wanted.negatives, wanted.positives, max(wanted.negatives, wanted.positives) // 10)
    return random_sample(tree, sizes, wanted.seed, _controls(spec.name, wanted.controls, notes))


def _controls(config: str, path: Path | None, notes: Path) -> list[Control]:
    """Controls of a file, and the pairs on which earlier auditors agreed; the file has the last word."""
    default = notes / "audits" / f"{config}.controls.jsonl"
    chosen = path or (default if default.exists() else None)
    by_pair = {
        (control.query_id, control.corpus_id): control
        for _, judgements in store.read_history(store.history_folder(notes, config))
        for control in agreed(judgements)
    }
    by_pair |= {(one.query_id, one.corpus_id): one for one in (read_controls(chosen) if chosen else [])}
    return list(by_pair.values())
