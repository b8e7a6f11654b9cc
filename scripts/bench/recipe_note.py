"""Write notes/recipe-v1.md and notes/hard-negative-mining.md from the results of the benches of recipes.

python -m scripts.bench.recipe_note
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

import jinja2

from builders.audit.rates import wilson
from builders.files import write_bytes
from builders.spec import RECIPES
from scripts.bench import recipe_plots

RESULTS = Path(__file__).parent / "results"
NOTES = Path(__file__).parents[2] / "notes"
_CELL = 200
_MEASURED = ("v0", "v1")
_TEMPLATE = Path(__file__).with_name("recipe_note.md.j2")
_MINING = Path(__file__).with_name("hard_negative_note.md.j2")
_SERIES = ("random passages", "negatives of v0", "negatives of v1", "best positives")


def verdict_rows(verdicts: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Count verdicts by config and recipe, with intervals."""
    counts = Counter((row["config"], row["recipe"], row["verdict"]) for row in verdicts)
    rows = []
    for config, recipe in sorted({key[:2] for key in counts}):
        relevant, unclear, other = (
            counts[config, recipe, each] for each in ("relevant", "unclear", "not relevant")
        )
        read = relevant + unclear + other
        low, high = wilson(relevant / read, read)
        rows.append({
            "config": config,
            "recipe": recipe,
            "read": read,
            "relevant": relevant,
            "unclear": unclear,
            "share": relevant / read,
            "low": low,
            "high": high,
            "most": wilson((relevant + unclear) / read, read)[1],
        })
    return rows


def choices(grid: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return v1's row of a grid, and those that differ from it in one choice."""
    v1 = RECIPES["v1"]
    own = {"equivalence": True, "guard": v1.guard, "floor": v1.floor, "margin": v1.margin}
    changes: dict[str, dict[str, Any]] = {
        "`v1`": {},
        "no equivalence": {"equivalence": False},
        "the lowest positive guards": {"guard": "lowest"},
        "floor 1": {"floor": 1.0},
        "floor 2": {"floor": 2.0},
        "no margin": {"margin": 0.0},
        "margin 1": {"margin": 1.0},
    }
    return {
        name: next(row for row in grid if all(row[key] == value for key, value in (own | change).items()))
        for name, change in changes.items()
    }


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    environment.filters |= {
        "cell": _cell,
        "n": lambda number: f"{number:,}",
        "pc": lambda share: f"{share:.1%}",
        "f": lambda number: "–" if number is None else f"{number:.2f}",
        "four": lambda number: f"{number:.4f}",
    }
    return environment


def render(results: Path = RESULTS) -> str:
    """Return the note as the results in a folder make it."""
    search = json.loads((results / "recipe_search.json").read_bytes())
    lines = (results / "recipe_verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    finetune = results / "recipe_finetune.json"
    tuned = json.loads(finetune.read_bytes()) if finetune.exists() else {"configs": {}, "settings": {}}
    for found in tuned["configs"].values():
        for arm in found["arms"].values():
            arm["mean"] = mean(arm["ndcg"])
    note = (
        _environment()
        .from_string(_TEMPLATE.read_text(encoding="utf-8"))
        .render(
            v1=RECIPES["v1"],
            search={name: search["configs"][name] for name in ("jobs", "germandpr")},
            choices=choices(search["configs"]["jobs"]["grid"]),
            reasons=list(search["configs"]["jobs"]["whole"]["v1"]["dropped"]),
            verdicts=verdict_rows([json.loads(line) for line in lines]),
            pairs=60,
            tuned=tuned["configs"],
            settings=tuned["settings"],
        )
    )
    return note.rstrip() + "\n"


def render_mining(results: Path = RESULTS) -> dict[str, str]:
    """Return the note on both recipes and its plots, by path under notes/."""
    document = json.loads((results / "recipe_shapes.json").read_bytes())
    configs = {name: document["configs"][name] for name in ("jobs", "germandpr")}
    recipes = list(_MEASURED)
    bands = {config: _bands(shapes["by_positives"], recipes) for config, shapes in configs.items()}
    files = {}
    for config, shapes in configs.items():
        edges = shapes["edges"]
        ticks = [f"{edge:g}" if edge == int(edge) and int(edge) % 2 == 0 else "" for edge in edges[:-1]]
        series = {name: shapes[name] for name in _SERIES if any(shapes[name])}
        files[f"hard-negative-mining/{config}-scores.svg"] = recipe_plots.lines(
            f"{config}: share of pairs by half deviation", "deviations above the query's mean", ticks, series
        )
        files[f"hard-negative-mining/{config}-positives.svg"] = recipe_plots.bars(
            f"{config}: queries with a negative",
            "number of positives",
            [band["positives"] for band in bands[config]],
            {name: [band["shares"][i] for band in bands[config]] for i, name in enumerate(recipes)},
        )
    kinds = {"any": "with one", "full": "with all five"}
    files["hard-negative-mining/yield.svg"] = recipe_plots.bars(
        "Queries with hard negatives",
        "config and recipe",
        [f"{config} {name}" for config in configs for name in recipes],
        {
            label: [shapes["yield"][name][f"{kind}_share"] for shapes in configs.values() for name in recipes]
            for kind, label in kinds.items()
        },
    )
    template = _environment().from_string(_MINING.read_text(encoding="utf-8"))
    note = template.render(
        configs=configs,
        recipes=recipes,
        bands=bands,
        examples=document["examples"],
        v1=RECIPES["v1"],
        plain=RECIPES["v1_plain"],
    )
    return {"hard-negative-mining.md": note.rstrip() + "\n", **files}


def _bands(by_positives: dict[str, Any], recipes: list[str]) -> list[dict[str, Any]]:
    rows = []
    for places in zip(*(by_positives[name] for name in recipes), strict=True):
        shares = [1 - band["by_count"]["0"] / band["queries"] for band in places]
        rows.append({"positives": places[0]["positives"], "queries": places[0]["queries"], "shares": shares})
    return rows


def _cell(text: str) -> str:
    """Return a text as a Markdown table may hold it, cut to 200 characters."""
    shown = " ".join(text.split())
    cut = shown if len(shown) <= _CELL else shown[: _CELL - 1] + "…"
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", cut)


def main() -> None:
    """Write the notes."""
    for path, text in {"recipe-v1.md": render(), **render_mining()}.items():
        write_bytes(NOTES / path, text.encode())


if __name__ == "__main__":
    main()
