"""The bench of purity: its windows and truths on invented texts, and what its results promise."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

from builders.mining.scores import score_moments
from builders.spec import RECIPES
from scripts.bench import negatives as bench
from scripts.bench.recipe_world import World
from tests.mining.samples import pairs, random_units

CONTEXT = (
    "Am 3. Mai 1912 lief das Schiff aus. Es hatte z. B. Kohle an Bord. Dr. Vogt war der Arzt! "
    'Der Koch sagte: "Es gibt Suppe." Danach war es still.'
)
SENTENCES = [
    "Am 3. Mai 1912 lief das Schiff aus.",
    "Es hatte z. B. Kohle an Bord.",
    "Dr. Vogt war der Arzt!",
    'Der Koch sagte: "Es gibt Suppe."',
    "Danach war es still.",
]


def asked(*answers: str, context: str = CONTEXT) -> list[dict[str, Any]]:
    """Return an article with a question for each answer."""
    found = [
        {
            "id": f"q{n}",
            "question": f"Frage {n}?",
            "answers": [{"answer_start": context.index(each), "text": each}],
        }
        for n, each in enumerate(answers)
    ]
    return [{"paragraphs": [{"context": context, "qas": found}]}]


def test_windows_are_two_sentences_in_a_row() -> None:
    found = [CONTEXT[start:end] for start, end in bench.windows(CONTEXT)]
    assert found == [f"{one} {other}" for one, other in pairwise(SENTENCES)]
    for short in ("Ein Satz.", "Ein Satz. Noch einer.", "ohne Punkt"):
        assert [short[start:end] for start, end in bench.windows(short)] == [short]


def test_an_answer_in_two_windows_is_labelled_in_one_and_hidden_in_the_other() -> None:
    table = bench.questions(
        asked("lief", "Kohle", "Arzt", "still", "Bord. Dr. Vogt", "aus. Es hatte z. B. Kohle")
    )
    holding = table.filter("answers").group_by("query_id").agg(pl.col("passage_id").sort()).sort("query_id")
    wanted = [[0], [0, 1], [1, 2], [3], [1], [0]]
    assert holding["passage_id"].to_list() == [[f"p0000-{n:02}" for n in places] for places in wanted]
    prepared, hidden = bench.labelled(table), bench.hidden(table)
    qrels = prepared.relations.qrels.select("query_id", "passage_id")
    assert qrels["query_id"].sort().to_list() == [f"q{n}" for n in range(6)]
    assert hidden["query_id"].sort().to_list() == ["q1", "q2"]
    together = pl.concat([qrels, hidden]).sort("query_id", "passage_id")
    assert together.equals(table.filter("answers").select("query_id", "passage_id"))
    assert prepared.corpus.height == 4


def test_a_question_whose_answer_no_window_holds_is_left_out() -> None:
    table = bench.questions(asked("Kohle", CONTEXT[5:-5]))
    assert bench.labelled(table).queries["query_id"].to_list() == ["q0"]


def test_which_window_is_labelled_depends_on_ids_alone() -> None:
    table = bench.questions(asked("Kohle", "Bord", "Arzt", "Vogt", "Koch", "Suppe", "war der"))
    shuffled = table.sample(fraction=1, shuffle=True, seed=3)
    assert bench.hidden(table).sort("query_id").equals(bench.hidden(shuffled).sort("query_id"))
    places = bench.hidden(table)["passage_id"].str.tail(1).cast(pl.Int64).to_list()
    first = bench.answering(table).group_by("query_id").agg(pl.col("passage_id").min())["passage_id"]
    labelled_first = set(first) & set(bench.labelled(table).relations.qrels["passage_id"])
    assert labelled_first and places, "always the same window is hidden"


def test_truths_are_those_of_all_postings_of_a_row() -> None:
    provenance = pl.DataFrame({
        "table": ["queries", "queries", "queries", "corpus", "corpus", "corpus", "corpus"],
        "id": ["q1", "q1", "q2", "d1", "d2", "d3", "d4"],
        "upstream_id": ["a", "b", "c", "b", "d", "e", "f"],
    })
    truth = pl.DataFrame({
        "id": list("abcdef"),
        "true_occupation": list("123456"),
        "true_kldb": ["11111", "22222", "33333", "22222", "11112", "11122"],
    })
    known = bench.truths(provenance, truth)
    taken = pairs(("q1", "d1"), ("q1", "d2"), ("q1", "d3"), ("q1", "d4"), ("q2", "d1"), ("q2", "d4"))
    counts = {"occupation": 1, "kldb_5": 2, "kldb_4": 3, "kldb_3": 4}
    assert bench.false_negatives(taken, known) == counts
    assert bench.false_negatives(taken.clear(), known) == dict.fromkeys(counts, 0)


def world() -> World:
    """Questions on sixty passages of five sentences, whose vectors are drawn."""
    articles = [
        article
        for n in range(60)
        for article in asked("lief", "Kohle", "Arzt", "still", context=CONTEXT.replace("Mai", f"Mai {n}"))
    ]
    for n, article in enumerate(articles):
        for one in article["paragraphs"][0]["qas"]:
            one["id"] = f"{n}{one['id']}"
    prepared = bench.labelled(bench.questions(articles))
    rng = np.random.default_rng(5)
    told = random_units(rng, prepared.corpus.height, 6)
    rows = prepared.queries.join(prepared.relations.qrels, on="query_id", maintain_order="left")
    near = told[prepared.corpus["passage_id"].search_sorted(rows["passage_id"]).to_numpy()]
    vectors = near + random_units(rng, len(near), 6) / 2
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    mean, deviation = score_moments(vectors, told)
    scale = pl.DataFrame({"query_id": prepared.queries["query_id"], "mean": mean, "deviation": deviation})
    return World("fenster", prepared, vectors, told, scale, pl.DataFrame())


def test_a_line_counts_the_hidden_that_were_taken() -> None:
    data = world()
    everything = data.mined(bench.recipes()["v1, 0.5 deviations"])
    secret = everything.negatives.select("query_id", "passage_id").head(3)
    line = bench.hidden_line("v1", everything, pl.concat([secret, pairs(("0q0", "nirgends"))]))
    assert line["taken"] == 3 and line["negatives"] == everything.negatives.height > 3
    distances = everything.negatives.join(data.scale, on="query_id").select(
        (pl.col("score") - pl.col("mean")) / pl.col("deviation")
    )
    assert line["deviations"] == pytest.approx(distances.to_series().mean(), abs=1e-3)
    assert line["deviations"] > 1.5 and 0 < line["full"] <= line["any"] <= 1


def test_all_recipes_and_four_margins_are_lines() -> None:
    assert list(bench.recipes()) == [*RECIPES, *(f"v1, {margin:g} deviations" for margin in bench.MARGINS)]
    assert [name for name, _ in bench.mined(world())] == list(bench.recipes())


def test_the_note_is_what_the_results_make() -> None:
    results = json.loads(bench.RESULTS.read_bytes())
    assert bench.NOTE.read_text(encoding="utf-8") == bench.note(results)
    margins = {f"v1, {margin:g} deviations" for margin in bench.MARGINS}
    for world in results["worlds"].values():
        assert {line["recipe"] for line in world["lines"]} >= {"v0", "v1"} | margins


def test_two_deviations_keep_hidden_positives_out_where_there_are_no_classes() -> None:
    found = json.loads(bench.RESULTS.read_bytes())["worlds"]["windows"]
    by_recipe = {line["recipe"]: line for line in found["lines"]}
    plain, thin = by_recipe["v1, 2 deviations"], by_recipe["v1, 0.5 deviations"]
    assert plain["any"] >= 0.9
    assert plain["taken"] <= 0.05 * found["hidden"] < thin["taken"]
