"""Mine the published hard negatives again from a build's own tables, and hold them against its rows.

    python -m scripts.remine --dist DIST [--config jobs]

For a maintainer's machine, on a build of full size. Nothing of `builders.mining` takes part: scores are a
plain product in float64, each query's passages are sorted whole, and the rules are read off one by one.
Vectors are those of the cache (`MTEB_DE_HOME`) or encoded again, by the encoder that mined. It tells how many
rows are equal, and the yield; and the yield if profiles whose KldB codes differ in the last digit alone were
no class. The exit code is 1 where a row differs.
"""

from __future__ import annotations

import argparse
import json
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders import registry
from builders.encoders import encode_cached, load_encoder
from builders.lock.lock import work_folder
from builders.text.merge import encoded_text

BLOCK = 256
"""Queries whose scores are held at once."""
SMALLEST = 1e-6
"""How far scores may lie apart: published ones are float32."""
_CLOSE_CODES = "kldb4 "
Row = tuple[str, str, int, float, float]
"""Query, passage, rank, score, guard's score."""


@dataclass(frozen=True)
class World:
    """A build's tables, by id.

    Attributes:
        queries: Text by id, in the row order of the vectors.
        passages: Title and text by id, in the order of ids, which is the row order of the vectors.
        query_vectors: float32 (queries, d).
        passage_vectors: float32 (passages, d).
    """

    queries: Mapping[str, str]
    passages: Mapping[str, tuple[str, str]]
    positives: Mapping[str, set[str]]
    undecided: Mapping[str, set[str]]
    classes: Mapping[str, set[str]]
    occupations: Mapping[str, str]
    query_vectors: NDArray[np.float32]
    passage_vectors: NDArray[np.float32]


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, mine again, tell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dist", type=Path, required=True, help="folder of a build")
    parser.add_argument("--config", default="jobs")
    options = parser.parse_args(arguments)
    mining = json.loads((work_folder(options.dist, options.config) / "lock.json").read_bytes())["mining"]
    world = read(options.dist, options.config)
    differ = 0
    for name, table in mining["tables"].items():
        found, wanted = published(options.dist, options.config, name), list(remine(world, table["recipe"]))
        missing, added, off = compare(found, wanted)
        print(
            f"{name}: {len(found)} rows, {len(wanted)} mined again; "
            f"{missing} missing, {added} too many, {off} off"
        )
        print(f"  {told(wanted, world, table['recipe']['keep'])}")
        differ += missing + added + off
        if table["recipe"].get("equivalence"):
            other = list(remine(without_close_codes(world), table["recipe"]))
            print(f"  without the class of close codes: {told(other, world, table['recipe']['keep'])}")
    return int(differ > 0)


def read(dist: Path, config: str) -> World:
    """Read a build's tables, and encode its texts or take their vectors from the cache."""
    spec = registry.load_retrieval(config)
    assert spec.mining is not None
    corpus = pl.concat(_parts(dist, config, "corpus")).rename({"_id": "passage_id"}).sort("passage_id")
    queries = pl.concat(_parts(dist, config, "queries")).rename({"_id": "query_id"}).sort("query_id")
    encoder = load_encoder(spec.mining.encoder, "offline")
    qrels = pl.concat(_parts(dist, config, "qrels"))
    work = work_folder(dist, config)
    return World(
        queries=dict(queries.select("query_id", "text").iter_rows()),
        passages={
            row[0]: (row[1], row[2]) for row in corpus.select("passage_id", "title", "text").iter_rows()
        },
        positives=_sets(qrels.select("query-id", "corpus-id").iter_rows()),
        undecided=_sets(_kept(work / "undecided.parquet", "query-id", "corpus-id")),
        classes=_sets(_kept(work / "classes.parquet", "corpus-id", "class")),
        occupations=dict(_kept(work / "occupations.parquet", "corpus-id", "occupation")),
        query_vectors=encode_cached(encoder, queries["text"], "query").vectors,
        passage_vectors=encode_cached(encoder, encoded_text(corpus), "passage").vectors,
    )


def published(dist: Path, config: str, table: str) -> list[Row]:
    """Read the published rows of a table of hard negatives, of all splits."""
    columns = ["query-id", "corpus-id", "rank", "score", "positive_score"]
    parts = [part.select(columns) for part in _parts(dist, config, table)]
    return sorted((row for part in parts for row in part.iter_rows()), key=lambda row: (row[0], row[2]))


def without_close_codes(world: World) -> World:
    """Return the same without the classes of KldB codes that differ in the last digit alone."""
    thinned = {
        passage: {each for each in classes if not each.startswith(_CLOSE_CODES)}
        for passage, classes in world.classes.items()
    }
    return replace(world, classes=thinned)


def remine(world: World, recipe: Mapping[str, Any]) -> Iterator[Row]:
    """Mine all queries, in the order of their ids; the recipe is that of the lock, by its fields' names."""
    names = list(world.passages)
    assert names == sorted(names)
    told = world.passage_vectors.astype(np.float64).T
    banned = _Banned(world, names, equivalence=recipe["equivalence"])
    asked = list(world.queries)
    for start in range(0, len(asked), BLOCK):
        block = asked[start : start + BLOCK]
        scores = world.query_vectors[start : start + BLOCK].astype(np.float64) @ told
        for query, row in zip(block, scores, strict=True):
            if world.positives.get(query):
                yield from _of_query(world, query, row, names, banned, recipe)


def _of_query(
    world: World,
    query: str,
    scores: NDArray[np.float64],
    names: list[str],
    banned: _Banned,
    recipe: Mapping[str, Any],
) -> Iterator[Row]:
    mean, deviation = scores.mean(), scores.std()
    positives = scores[banned.rows(world.positives[query])]
    guard = positives.min() if recipe["guard"] == "lowest" else positives.max()
    unit = {"absolute": 1.0, "relative": abs(guard), "deviations": deviation}[recipe["margin_kind"]]
    floor = -np.inf if recipe["floor"] is None else mean + recipe["floor"] * deviation
    if recipe["floor"] is not None and positives.max() < mean + recipe["suspicious_below"] * deviation:
        return
    never = banned.of(query)
    taken, kept, seen = Counter[str](), 0, 0
    for rank, index in enumerate(np.argsort(-scores, kind="stable").tolist(), start=1):
        name, score = names[index], float(scores[index])
        if seen == recipe["depth"] or kept == recipe["keep"] or score < floor:
            return
        seen += recipe["depth_counts"] == "all" or name not in world.positives[query]
        occupation = world.occupations.get(name, f"\0{name}")
        crowded = recipe["per_occupation"] is not None and taken[occupation] >= recipe["per_occupation"]
        if index in never or crowded or score > guard - recipe["margin"] * unit:
            continue
        taken[occupation] += 1
        kept += 1
        yield query, name, rank, score, float(guard)


class _Banned:
    """Which passages can never be negatives of a query."""

    def __init__(self, world: World, names: list[str], *, equivalence: bool) -> None:
        self._world, self._equivalence = world, equivalence
        self._row = {name: row for row, name in enumerate(names)}
        self._forms = {name: _forms(*texts) for name, texts in world.passages.items()}
        self._by_form = _sets((form, name) for name, forms in self._forms.items() for form in forms)
        self._by_class = _sets((one, name) for name, classes in world.classes.items() for one in classes)

    def rows(self, names: Iterable[str]) -> list[int]:
        """Return the rows of passages."""
        return [self._row[name] for name in names]

    def of(self, query: str) -> set[int]:
        """Return the rows of a query's positives, undecided, twins of either, and equivalents."""
        world, positives = self._world, self._world.positives[query]
        found = positives | world.undecided.get(query, set())
        twins = _forms("", world.queries[query]).union(*(self._forms[name] for name in positives))
        found = found.union(*(self._by_form.get(form, set()) for form in twins))
        if self._equivalence:
            classes = set[str]().union(*(world.classes.get(name, set()) for name in positives))
            found = found.union(*(self._by_class.get(one, set()) for one in classes))
        return set(self.rows(found))


def compare(found: list[Row], wanted: list[Row]) -> tuple[int, int, int]:
    """Count the rows that are missing, those too many, and those whose scores are off; ranks are of rows."""
    have, want = ({row[:3]: row[3:] for row in rows} for rows in (found, wanted))
    off = sum(
        max(map(abs, np.subtract(have[key], want[key]))) > SMALLEST for key in have.keys() & want.keys()
    )
    return len(want.keys() - have.keys()), len(have.keys() - want.keys()), off


def told(rows: list[Row], world: World, keep: int) -> str:
    """Say how many queries got any, and how many of these got all that are kept."""
    counts = Counter(row[0] for row in rows)
    full = sum(count == keep for count in counts.values())
    some, all_kept = len(counts) / max(1, len(world.queries)), full / max(1, len(counts))
    return f"{len(counts)} of {len(world.queries)} queries ({some:.1%}), {keep} in {all_kept:.1%} of these"


def _parts(dist: Path, config: str, table: str) -> list[pl.DataFrame]:
    """Read the splits of a table; a table without rows has no files."""
    folder = dist / registry.load_retrieval(config).release / config / table
    return [pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))]


def _kept(path: Path, *columns: str) -> Iterator[tuple[str, str]]:
    if path.exists():
        yield from pl.read_parquet(path, columns=list(columns)).select(columns).iter_rows()


def _sets(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    found = defaultdict[str, set[str]](set)
    for key, value in pairs:
        found[key].add(value)
    return dict(found)


def _forms(title: str, text: str) -> set[str]:
    """Return the texts that a passage goes by: its own, and the one that is encoded."""
    folded = (" ".join(unicodedata.normalize("NFC", one).split()) for one in (text, f"{title} {text}"))
    return {form for form in folded if form}


if __name__ == "__main__":
    sys.exit(main())
