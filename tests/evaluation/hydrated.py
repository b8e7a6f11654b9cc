"""A folder of hydrated texts, written as `mteb-de hydrate` writes one, from invented posts."""

from __future__ import annotations

import datetime
from pathlib import Path

import polars as pl

from builders.lock.lock import PersonalReport
from builders.reddit.folder import Hydrated, SetShare, write_folder
from builders.tables import CLUSTERING, SCHEMAS, Kind

WORDS = {"Beete": "Tomate Gurke Kohl Beet", "Züge": "Gleis Bahnhof Weiche Lok", "Brot": "Teig Ofen Hefe Mehl"}


def write_hydrated(
    folder: Path, *, sets: int = 2, each: int = 6, there: float = 1.0, compared: bool = True, mark: str = ""
) -> Path:
    """Write texts of `sets` sets with `each` posts a label.

    Args:
        folder: Is made.
        sets: How many.
        each: Posts of each label in a set.
        there: Share of the first set that is left, as the record tells it.
        compared: Whether the record measures what is left.
        mark: A word in every text, so that other texts can be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        (number, label, f"{words.split()[place % 4]} {number} {place} {mark}".strip())
        for number in range(sets)
        for label, words in WORDS.items()
        for place in range(each)
    ]
    frame = pl.DataFrame(rows, schema=["set", "labels", "s2s"], orient="row").with_columns(
        p2p=pl.col("s2s") + " " + pl.col("labels")
    )
    tables = {
        kind: frame
        .group_by("set", maintain_order=True)
        .agg(sentences=variant, labels="labels")
        .select("sentences", "labels", level=pl.lit("subreddit"))
        .cast(pl.Schema(SCHEMAS[kind]))
        for variant, kind in CLUSTERING.items()
    }
    published = pl.DataFrame({
        "submission_ids": [[f"p{number}x{one}" for one in range(3 * each)] for number in range(sets)],
        "labels": tables[Kind.CLUSTERING_S2S]["labels"],
    })
    size = 3 * each
    shares = tuple(
        SetShare(
            number=number,
            published=size,
            there=round(share * size),
            share=share,
            comparable=share >= 0.9,
            left_out=False,
            gone={},
        )
        for number in range(1, sets + 1)
        for share in [there if number == 1 else 1.0]
    )
    record = Hydrated(
        config="subreddit",
        origin="a release folder",
        date=datetime.date(2026, 1, 5),
        compared=compared,
        sets=shares,
        gone={},
        personal=PersonalReport(texts=0, changed=0, kinds={}, rules={}, examples={}),
    )
    write_folder(folder, record, published, tables)
    return folder
