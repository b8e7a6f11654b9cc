"""The benches of recipes, on results that are committed and on a world of thirty vectors."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from builders.mining.scores import score_moments
from builders.prepare.retrieval import Prepared
from builders.spec import RECIPES, Relations
from scripts.bench import recipe_finetune, recipe_judge, recipe_note
from scripts.bench.recipe_world import World
from tests.mining.samples import corpus, pairs, queries, random_units


def test_the_notes_are_what_the_results_make() -> None:
    wanted = {"recipe-v1.md": recipe_note.render(), **recipe_note.render_mining()}
    for path, text in wanted.items():
        assert (recipe_note.NOTES / path).read_text(encoding="utf-8") == text
        if path.endswith(".svg"):
            ElementTree.fromstring(text)
    assert len(wanted) == 7


def test_the_results_keep_what_the_recipe_promises() -> None:
    search = json.loads((recipe_note.RESULTS / "recipe_search.json").read_bytes())["configs"]
    jobs, german = (search[name]["whole"]["v1"] for name in ("jobs", "germandpr"))
    assert jobs["yield"]["any_share"] >= 0.65 and jobs["yield"]["full_share"] >= 0.6
    heard = jobs["queries"] - jobs["suspicious"]["queries"]
    assert jobs["yield"]["any"] >= 0.95 * heard
    assert german["yield"]["full_share"] >= 0.95
    for report in (jobs, german):
        assert report["distance_from_mean"]["deviations"]["min"] >= 1.5
        assert report["looked_at"] == report["negatives"] + sum(report["dropped"].values())


def test_verdicts_are_ids_and_words_of_the_list_alone() -> None:
    rows = [json.loads(line) for line in recipe_judge.VERDICTS.read_text(encoding="utf-8").splitlines()]
    assert {row["verdict"] for row in rows} <= {"relevant", "not relevant", "unclear"}
    assert all(set(row) == {"config", "recipe", "query-id", "corpus-id", "verdict"} for row in rows)
    keys = [(row["config"], row["recipe"], row["query-id"]) for row in rows]
    assert len(set(keys)) == len(keys)
    counted = {(row["config"], row["recipe"]): row["read"] for row in recipe_note.verdict_rows(rows)}
    assert counted["jobs", "v1"] == counted["germandpr", "v1"] == 60


def test_a_draw_takes_one_pair_a_query_whatever_the_order() -> None:
    rows = pairs(*((f"q{i}", f"d{j}") for i in range(100) for j in range(5)))
    drawn = recipe_judge.draw(rows)
    assert drawn.height == drawn["query_id"].n_unique() == recipe_judge.PAIRS
    assert drawn.equals(recipe_judge.draw(rows.sample(fraction=1, shuffle=True, seed=1)))
    assert drawn["passage_id"].n_unique() == 5


def world() -> World:
    rng = np.random.default_rng(1)
    passages = random_units(rng, 30, 8)
    asked = passages[:20] + random_units(rng, 20, 8) / 2
    asked = (asked / np.linalg.norm(asked, axis=1, keepdims=True)).astype(np.float32)
    names = [f"d{i:02}" for i in range(30)]
    texts = queries({f"q{i:02}": f"Frage {i}" for i in range(20)})
    qrels = pairs(*((f"q{i:02}", names[i]) for i in range(20)))
    relations = Relations(qrels.with_columns(extended=pl.lit(value=False)), pairs())
    prepared = Prepared(
        texts,
        corpus({name: f"Satz {name}" for name in names}),
        relations,
        pl.DataFrame(),
        pl.DataFrame(),
        (),
        {},
    )
    mean, deviation = score_moments(asked, passages)
    scale = pl.DataFrame({"query_id": texts["query_id"], "mean": mean, "deviation": deviation})
    scores = qrels.with_columns(score=(asked * passages[:20]).sum(axis=1).astype(np.float64))
    return World("welt", prepared, asked, passages, scale, scores)


def test_queries_are_drawn_by_hash() -> None:
    some = world().ids(7)
    assert len(some) == 7 and some.is_sorted()
    assert some.to_list() != [f"q{i:02}" for i in range(7)]
    assert world().ids(None).to_list() == world().ids(99).to_list() == [f"q{i:02}" for i in range(20)]


def test_tuning_on_its_own_negatives_helps_and_ndcg_is_that_of_the_definition() -> None:
    data = world()
    ids = data.ids(None)
    before = recipe_finetune.ndcg(data, ids, None)
    scores = data.query_vectors @ data.passage_vectors.T
    ranks = [(scores[i] > scores[i, i]).sum() for i in range(20)]
    assert before == pytest.approx(np.mean([1 / np.log2(rank + 2) if rank < 10 else 0 for rank in ranks]))
    recipe = replace(RECIPES["v1"], equivalence=False, floor=None, margin=0.0)
    kept = data.kept(ids, recipe, data.excluded(ids, equivalence=False))
    triplets = recipe_finetune.triplets(data, ids, kept)
    assert triplets.positive.tolist() == list(range(20))
    assert (triplets.negatives != triplets.positive[:, None]).all()
    nothing = recipe_finetune.triplets(data, ids, kept.clear())
    assert recipe_finetune.tuned(data, nothing, 1) is None
