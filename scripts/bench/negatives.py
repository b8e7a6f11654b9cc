"""Count what hard negatives hold that is relevant after all, by recipe, where the truth is known.

    MTEB_DE_SOURCES=FOLDER python -m scripts.bench.negatives --data FOLDER --truth FILE

Two worlds. Windows of two sentences from German passages of XQuAD: an answer often stands in two of them. One
is labelled, the other is hidden from the miner, which may take it for a negative. And the stand-in for
`jobs`, of whose postings the truth tells the occupation and the KldB code they were made from.

The texts are read where they lie and stay there: results and note hold counts. Vectors are kept in the cache
(`MTEB_DE_HOME`), so that a second run encodes nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from builders.files import write_bytes, write_json
from builders.mining import Mined
from builders.prepare.retrieval import Prepared
from builders.spec import PAIR, RECIPES, Recipe, observed
from builders.text.merge import digest
from scripts.bench.evaluation import machine
from scripts.bench.recipe_world import SEED, World, encoded, load

RESULTS = Path(__file__).parent / "results" / "negatives.json"
NOTE = RESULTS.with_suffix(".md")
MARGINS = (0.5, 1.0, 1.5, 2.0)
"""In standard deviations of the query's scores, of the recipe that serves."""
LEVELS = {"occupation": None, "kldb_5": 5, "kldb_4": 4, "kldb_3": 3}
"""What a false negative truly shares with its query: the occupation, or so many digits of the KldB code."""
WORLDS = ("windows", "jobs", "jobs, English profiles")
"""In the order of the note."""
_XQUAD = "qa/xquad.de.json"
# A sentence ends at a full stop before a capital, but not after an initial, a day, a title or "z. B.".
_END = re.compile(r'(?<![\s(.]\w)(?<!\b\d\d)(?<!\b[A-Z][a-z])([.!?]["“»)]?)\s+(?=["„«(]?[A-ZÄÖÜ\d])')


def main() -> None:
    """Read the command line, measure, write results and note."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("MTEB_DE_DATA"), help="folder with qa/")
    parser.add_argument("--truth", type=Path, help="jobs.parquet, of the stand-in in MTEB_DE_SOURCES")
    parser.add_argument("--english", type=Path, help="a stand-in with English profiles, of the same truth")
    parser.add_argument("--rows", type=int, help="postings of the stand-in that are taken; all by default")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.data is None:
        parser.error("--data or MTEB_DE_DATA is needed")
    results = measure(options.data, options.truth, options.english, options.rows)
    write_json(options.results, results)
    write_bytes(options.results.with_suffix(".md"), note(results).encode())


def measure(data: Path, truth: Path | None, english: Path | None, rows: int | None) -> dict[str, Any]:
    """Mine each world by each recipe, and count."""
    start = time.process_time()
    articles = json.loads((data / _XQUAD).read_text(encoding="utf-8"))["data"]
    asked = questions(articles)
    secret, world = hidden(asked), encoded("windows", labelled(asked))
    lines = [hidden_line(*one, secret) for one in mined(world)]
    worlds = {WORLDS[0]: _sizes(world) | {"hidden": secret.height, "lines": lines}}
    if truth is not None:
        told, stand_ins = pl.read_parquet(truth), {WORLDS[1]: load("jobs", rows=rows)}
        if english is not None:
            stand_ins[WORLDS[2]] = load("jobs", english)
        for name, world in stand_ins.items():
            known = truths(world.prepared.provenance, told)
            worlds[name] = _sizes(world) | {"lines": [false_line(*one, known) for one in mined(world)]}
    return {"worlds": worlds, "seconds": time.process_time() - start, "machine": machine()}


def _sizes(world: World) -> dict[str, Any]:
    return {"queries": world.prepared.queries.height, "passages": world.prepared.corpus.height}


def recipes() -> dict[str, Recipe]:
    """Return all recipes, and the one that serves `jobs` with other margins."""
    margins = {f"v1, {margin:g} deviations": replace(RECIPES["v1"], margin=margin) for margin in MARGINS}
    return RECIPES | margins


def mined(world: World) -> list[tuple[str, Mined]]:
    """Mine a world by each recipe."""
    return [(name, world.mined(recipe)) for name, recipe in recipes().items()]


def windows(text: str) -> list[tuple[int, int]]:
    """Return start and end of each two sentences in a row; of the text where it has fewer than three."""
    starts = [0, *(found.end() for found in _END.finditer(text))]
    ends = [*(found.end(1) for found in _END.finditer(text)), len(text)]
    return list(zip(starts, ends[1:], strict=False)) or [(0, len(text))]


def questions(articles: list[dict[str, Any]]) -> pl.DataFrame:
    """Return each question with each window of its passage, in the layout of SQuAD.

    Returns:
        ``query_id``, ``question``, ``passage_id``, ``text`` str, ``answers`` bool: whether the whole answer
        stands in the window at the place that is told.
    """
    rows = []
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    for number, paragraph in enumerate(paragraphs):
        context = paragraph["context"]
        for place, (start, end) in enumerate(windows(context)):
            window = f"p{number:04}-{place:02}", context[start:end]
            for one in paragraph["qas"]:
                first = one["answers"][0]["answer_start"]
                inside = start <= first and first + len(one["answers"][0]["text"]) <= end
                rows.append((one["id"], one["question"], *window, inside))
    columns = ["query_id", "question", "passage_id", "text", "answers"]
    return pl.DataFrame(rows, schema=columns, orient="row").sort(PAIR)


def answering(asked: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with the answer and their ``place``, by hash, in the question: 0 is labelled."""
    pairs = asked.filter("answers").select(PAIR)
    key = pl.Series([digest(f"{SEED}:{query}:{passage}") for query, passage in pairs.rows()])
    return pairs.with_columns(place=key).with_columns(pl.col("place").rank("ordinal").over("query_id") - 1)


def hidden(asked: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with the answer that are not labelled: ``query_id``, ``passage_id``."""
    return answering(asked).filter(pl.col("place") > 0).select(PAIR)


def labelled(asked: pl.DataFrame) -> Prepared:
    """Return the windows as a dataset; a question whose answer no window holds whole is left out."""
    pairs = answering(asked).filter(pl.col("place") == 0)
    queries = asked.select("query_id", text="question").unique().join(pairs, on="query_id", how="semi")
    queries = queries.with_columns(group="query_id", leak="query_id").sort("query_id")
    corpus = asked.select("passage_id", "text", title=pl.lit("")).unique().sort("passage_id")
    nothing = pl.DataFrame()
    return Prepared(queries, corpus, observed(pairs), nothing, nothing, (), {})


def truths(provenance: pl.DataFrame, truth: pl.DataFrame) -> pl.DataFrame:
    """Return what published rows were made from, at each level: a row has all truths of its postings.

    Args:
        provenance: That of `Prepared`.
        truth: ``id``, ``true_occupation``, ``true_kldb`` str.

    Returns:
        ``table``, ``id``, ``level``, ``truth`` str, unique.
    """
    rows = provenance.join(truth, left_on="upstream_id", right_on="id")
    kldb = pl.col("true_kldb")
    told = [
        pl.col("true_occupation").alias(level) if digits is None else kldb.str.head(digits).alias(level)
        for level, digits in LEVELS.items()
    ]
    return (
        rows
        .select("table", "id", *told)
        .unpivot(index=["table", "id"], variable_name="level", value_name="truth")
        .unique()
    )


def false_negatives(negatives: pl.DataFrame, known: pl.DataFrame) -> dict[str, int]:
    """Count the negatives that share a truth with their query, by level; `known` is from `truths`."""
    asked, told = (
        known.filter(pl.col("table") == table).select("level", "truth", pl.col("id").alias(key))
        for table, key in (("queries", "query_id"), ("corpus", "passage_id"))
    )
    shared = negatives.select(PAIR).join(asked, on="query_id").join(told, on=["passage_id", "level", "truth"])
    counts = dict(shared.unique([*PAIR, "level"])["level"].value_counts().rows())
    return {level: counts.get(level, 0) for level in LEVELS}


def hidden_line(recipe: str, found: Mined, secret: pl.DataFrame) -> dict[str, Any]:
    """Return what a recipe got, and how many hidden positives it took."""
    return facts(recipe, found) | {"taken": found.negatives.join(secret, on=PAIR, how="semi").height}


def false_line(recipe: str, found: Mined, known: pl.DataFrame) -> dict[str, Any]:
    """Return what a recipe got, and how many false negatives it took by level."""
    return facts(recipe, found) | {"false": false_negatives(found.negatives, known)}


def facts(recipe: str, found: Mined) -> dict[str, Any]:
    """Return yields, number of negatives and their mean distance from the query's mean, in deviations."""
    scaled = found.negatives.cast({"score": pl.Float64}).join(found.scale, on="query_id")
    above = scaled.select((pl.col("score") - pl.col("mean")) / pl.col("deviation")).to_series().to_numpy()
    got = found.report.yield_
    return {
        "recipe": recipe,
        "any": got.any_share,
        "full": got.full_share,
        "negatives": found.negatives.height,
        "deviations": round(float(above.mean()), 4) if above.size else 0.0,
    }


def note(results: dict[str, Any]) -> str:
    """Return the results as a page of Markdown."""
    worlds = results["worlds"]
    lines = [
        "# What hard negatives hold that is relevant after all",
        "",
        f"By `python -m scripts.bench.negatives` ({results['seconds']:.0f} s) on "
        f"{results['machine']['machine']}, with the offline E5. *any* and *full* are the shares of the "
        "queries that got a negative, and all that a recipe keeps; *above mean* is the mean distance of the "
        "negatives' scores from their query's mean, in standard deviations. Lines that name deviations are "
        "`v1` with that margin.",
    ]
    for name, world in ((name, worlds[name]) for name in WORLDS if name in worlds):
        lines += ["", f"## {name}", "", *(_hidden if "hidden" in world else _false)(world)]
    return "\n".join([*lines, ""])


def _hidden(world: dict[str, Any]) -> list[str]:
    """Tell of windows."""
    return [
        f"{world['queries']:,} questions on {world['passages']:,} windows of two sentences from XQuAD in "
        f"German. {world['hidden']:,} windows hold the answer and are not labelled: how many of them became "
        "negatives, and how many of the negatives they are. Windows have no classes, so `equivalence` finds "
        "nothing.",
        "",
        "| recipe | any | full | negatives | above mean | hidden taken | of all hidden | of the negatives |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
        *(
            f"{_start(line)} {line['taken']:,} | {_share(line['taken'], world['hidden'])} | "
            f"{_share(line['taken'], line['negatives'])} |"
            for line in world["lines"]
        ),
    ]


def _false(world: dict[str, Any]) -> list[str]:
    """Tell of a stand-in."""
    return [
        f"{world['queries']:,} queries on {world['passages']:,} profiles of the stand-in. The last columns "
        "are shares of the negatives: a posting of the passage and one of the query were made from the same "
        "occupation, or from KldB codes that agree in so many digits.",
        "",
        "| recipe | any | full | negatives | above mean | same occupation | 5 digits | 4 digits | 3 digits |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
        *(
            f"{_start(line)} "
            + " | ".join(_share(line["false"][level], line["negatives"]) for level in LEVELS)
            + " |"
            for line in world["lines"]
        ),
    ]


def _start(line: dict[str, Any]) -> str:
    return (
        f"| {line['recipe']} | {line['any']:.1%} | {line['full']:.1%} | {line['negatives']:,} | "
        f"{line['deviations']:.2f} |"
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2%}" if whole else "-"


if __name__ == "__main__":
    main()
