"""The page on which pairs are judged: one HTML file that loads nothing and sends nothing.

Every text reaches it as data and is shown as text. Its content-security policy admits the page's own script
and style by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any

import polars as pl

from builders.audit.model import NAME_LENGTH, NOTE_LENGTH, Item, Sample, Verdict
from builders.audit.tree import Tree
from builders.errors import UsageError
from builders.spec import Retrieval
from builders.tables import PAIR

LARGEST_PAGE = 10_000_000
_FOLD = 600  # characters of a passage that are shown at first
_LONGEST = 20_000  # characters of a passage that the page carries
_ESCAPES = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}


def render_page(sample: Sample, tree: Tree, spec: Retrieval) -> bytes:
    """Return the page of a sample, in UTF-8.

    Passages beyond 20,000 characters are cut, and the page says by how much.

    Args:
        sample: What is to be judged.
        tree: The build that it was drawn from.
        spec: Its title and notes are shown to the auditor.

    Raises:
        UsageError: The page would be larger than 10 MB.
    """
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    style, script = _asset("page.css"), _asset("page.js")
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    head = sample.head
    page = environment.from_string(_asset("page.html.j2")).render(
        config=head.config,
        title=spec.title,
        notes=spec.notes,
        count=len(sample.items),
        sample=head.sample,
        build=head.build,
        language="de" if "deu" in spec.languages else "",
        verdicts=tuple(Verdict),
        note_length=NOTE_LENGTH,
        name_length=NAME_LENGTH,
        style=Markup(style),
        script=Markup(script),
        style_hash=Markup(_csp_hash(style)),
        script_hash=Markup(_csp_hash(script)),
        data=Markup(_embedded(page_data(sample, tree))),
    )
    data = page.encode(errors="replace")
    if len(data) > LARGEST_PAGE:
        raise UsageError(
            f"{head.config}: the page would be {len(data) / 1e6:.1f} MB; browsers get slow beyond 10",
            hint="Draw fewer pairs with --n.",
        )
    return data


def page_data(sample: Sample, tree: Tree) -> dict[str, Any]:
    """Return what the page's script reads: head, and items with their texts.

    An item tells no more of its kind than the build does: a control looks like any other pair.
    """
    head = sample.head
    return {
        "head": {"config": head.config, "build": head.build, "sample": head.sample},
        "fold": _FOLD,
        "items": [
            {
                "item": item.item,
                **{name: row[name] for name in PAIR},
                **{name: row[name][:_LONGEST] for name in ("query", "title", "text")},
                "cut": max(0, len(row["text"]) - _LONGEST),
                "told": _told(item, labelled=row["labelled"]),
            }
            for item, row in zip(sample.items, texts(sample, tree).iter_rows(named=True), strict=True)
        ],
    }


def texts(sample: Sample, tree: Tree) -> pl.DataFrame:
    """Return ``query-id``, ``corpus-id``, ``query``, ``title``, ``text`` and whether it is ``labelled``."""
    pairs = pl.DataFrame(
        [(item.query_id, item.corpus_id) for item in sample.items],
        schema=dict.fromkeys(PAIR, pl.String),
        orient="row",
    )
    labels = tree.positives.select(*PAIR, labelled=pl.lit(value=True))
    return (
        pairs
        .join(tree.queries.select("query-id", "query"), on="query-id", maintain_order="left")
        .join(tree.corpus, on="corpus-id", maintain_order="left")
        .join(labels, on=PAIR, how="left", maintain_order="left")
        .with_columns(pl.col("labelled").fill_null(value=False))
    )


def _told(item: Item, *, labelled: bool) -> str:
    """Say what the build holds of the pair; the page shows it once the pair is judged."""
    if item.gap is not None:
        return f"A hard negative of rank {item.rank}, {item.gap:.4f} below the positive that guards."
    return "A labelled positive." if labelled else "Neither labelled nor mined."


def _embedded(document: object) -> str:
    """Return JSON that no HTML parser reads as markup."""
    return json.dumps(document, ensure_ascii=False).translate(_ESCAPES)


def _csp_hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _asset(name: str) -> str:
    return (resources.files("builders.audit") / name).read_text(encoding="utf-8")
