"""Draw a sample and write it for auditors: as an HTML page, in which every text is data, and as CSV."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from builders import files
from builders.audit import history
from builders.audit.history import Item, Sample, Verdict
from builders.audit.rates import foreseen, needed_by_share
from builders.audit.sample import Pairs, known_controls, random_sample, read_pairs, suspect_sample
from builders.audit.sheet import to_csv
from builders.describe.templates import render_page
from builders.errors import UsageError
from builders.printable import percent
from builders.spec import PAIR, Mining, Retrieval
from builders.tables import Kind

if TYPE_CHECKING:
    from builders.audit.suspects import Judge

_NEGATIVES = 200  # of a sample, if nobody says how many
_LARGEST_PAGE = 10_000_000
_FOLD = 600  # characters of a passage that are shown at first
_LONGEST = 20_000  # characters of a passage that the page carries
_ESCAPES = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}  # no HTML then


class _Drawn(NamedTuple):
    """A sample that was written.

    Attributes:
        remarks: Remarks for the user.
        page: Where the page lies, and `csv` the CSV.
        needed: How many unweighted hard negatives it takes for the interval to end at the bound that was
            asked for, by the share that is relevant; empty where no bound was.
        reach: Where the interval of a random sample will end, if the expected share is relevant.
    """

    sample: Sample
    remarks: tuple[str, ...]
    page: Path
    csv: Path
    needed: Mapping[float, int]
    reach: float | None


def draw(
    spec: Retrieval,
    negatives: int | None = None,
    positives: int | None = None,
    *,
    dist: Path,
    notes: Path,
    table: Kind = Kind.HARD_NEGATIVES,
    bound: float | None = None,
    expected: float = 0.02,
    seed: int = 42,
    suspects: bool = False,
    second: Judge | None = None,
    controls: Path | None = None,
    page: Path | None = None,
) -> _Drawn:
    """Draw a sample of hard negatives and labelled positives of a config, and write it.

    There are 200 hard negatives, of one `table`, and a quarter as many positives, if no number is given. With
    `bound` there are as many as it takes for the interval of the false-negative rate to end there, if a share
    `expected` is relevant. In place of a random sample, `suspects` takes the likeliest false negatives, as
    the encoder that mined and the judge `second`, "lexical" if None, rank them. `controls` is a file of pairs
    confirmed by hand, by default that of the notes. The CSV lies beside `page`, by default both beside the
    sample's record in the ``work`` of `dist`.
    """
    _require_sound(spec, negatives, bound, expected, suspects=suspects, second=second)
    needed = needed_by_share(bound, expected) if bound is not None else {}
    first = needed.get(expected, _NEGATIVES) if negatives is None else negatives
    others = first // 4 if positives is None else positives
    pairs = read_pairs(dist, spec, table)
    if suspects and spec.mining is not None:
        sample, remarks = _suspects(pairs, spec.mining, first, others, second or "lexical")
    else:
        known = known_controls(spec.name, controls, notes)
        sample, remarks = random_sample(pairs, first, others, seed, known)
        while bound is not None and (found := foreseen(sample, expected)).high > bound:
            if len(sample.of_kind("negative")) < first:
                break
            # strata and groups of unequal weights tell less than as many unweighted pairs
            first = max(first + 1, math.ceil(first * needed[expected] / found.effective))
            sample, remarks = random_sample(pairs, first, others, seed, known)
    if not sample.items:
        hint = "Ask for more with --n or --positives."
        raise UsageError(f"{spec.name}: there is no pair to judge", hint=hint)
    folder = history.sample_folder(dist, spec.name)
    html = page or folder / f"{sample.head.sample}.html"
    csv = html.with_suffix(".csv")
    if html == csv:
        raise UsageError(f"{html}: the page cannot be a .csv", hint="Give --out a name that ends in .html.")
    rendered = _render_page(sample, pairs, spec)
    history.write_sample(folder, sample)
    files.write_bytes(csv, to_csv(sample, pairs))
    files.write_bytes(html, rendered)
    reach = foreseen(sample, expected) if sample.head.mode == "random" else None
    return _Drawn(sample, tuple(remarks), html, csv, needed, reach.high if reach and reach.pairs else None)


def _require_sound(
    spec: Retrieval,
    negatives: int | None,
    bound: float | None,
    expected: float,
    *,
    suspects: bool,
    second: Judge | None,
) -> None:
    """Refuse options that contradict each other."""
    if suspects and spec.mining is None:
        fault = f"{spec.name} mines no hard negatives: there are no suspects"
        raise UsageError(fault, hint="Leave out --suspects.")
    if second is not None and not suspects:
        raise UsageError("--second ranks suspects, and this is a random sample", hint="Add --suspects.")
    if bound is None:
        return
    if suspects:
        raise UsageError("--bound is about a rate, and suspects give none", hint="Leave out --suspects.")
    if negatives is not None:
        raise UsageError("--bound says how many hard negatives are drawn, and so does --n", hint="Pass one.")
    if expected not in needed_by_share(bound, expected):
        raise UsageError(
            f"where {percent(expected)} are relevant, no audit shows that less than {percent(bound)} are",
            hint="Ask for a larger --bound, or expect less with --expected.",
        )


def _suspects(
    pairs: Pairs, mining: Mining, negatives: int, positives: int, second: Judge
) -> tuple[Sample, list[str]]:
    """Take suspects as the encoder that mined and a second opinion rank them."""
    from builders.audit.suspects import opinions_for, overlap, rank_suspects

    opinions = opinions_for(second, pairs, mining)
    ranked = rank_suspects(pairs, opinions)
    agreed = overlap(ranked, negatives, *opinions)
    return suspect_sample(pairs, ranked, negatives, positives, second, agreed)


def _render_page(sample: Sample, pairs: Pairs, spec: Retrieval) -> bytes:
    """Return the page of a sample in UTF-8; a control looks like any other pair."""
    head = sample.head
    labelled = set(pairs.positives.select(PAIR).iter_rows())
    items = [
        {
            "item": item.item,
            "query-id": item.query_id,
            "corpus-id": item.passage_id,
            **{name: row[name][:_LONGEST] for name in ("query", "title", "text")},
            "cut": max(0, len(row["text"]) - _LONGEST),
            "told": _reveal(item, labelled=(item.query_id, item.passage_id) in labelled),
        }
        for item, row in pairs.texts(sample)
    ]
    origin = {"config": head.config, "build": head.build, "sample": head.sample}
    data = json.dumps({"head": origin, "fold": _FOLD, "items": items}, ensure_ascii=False)
    page = render_page(
        "audit/page.html.j2",
        script="audit/page.js",
        head=head,
        spec=spec,
        count=len(items),
        verdicts=tuple(Verdict),
        note_length=history.NOTE_LENGTH,
        name_length=history.NAME_LENGTH,
        data=Markup(data.translate(_ESCAPES)),
    ).encode(errors="replace")
    if len(page) > _LARGEST_PAGE:
        raise UsageError(
            f"{spec.name}: the page would be {len(page) / 1e6:.1f} MB; browsers get slow beyond 10",
            hint="Draw fewer pairs with --n.",
        )
    return page


def _reveal(item: Item, *, labelled: bool) -> str:
    """Return what the build holds of the pair; the page shows it once the pair is judged."""
    if item.deviations is not None and item.gap is not None:
        above = f"{item.deviations:.2f} deviations above its query's mean"
        return f"A hard negative of rank {item.rank}, {above}, {item.gap:.4f} below the positive that guards."
    return "A labelled positive." if labelled else "Neither labelled nor mined."
