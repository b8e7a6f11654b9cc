"""Write notes/recipe-v1.md from the results of the benches of recipes.

python -m scripts.bench.recipe_note
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

import jinja2

from builders.audit.rates import wilson
from builders.files import write_bytes
from builders.spec import RECIPES

RESULTS = Path(__file__).parent / "results"
NOTE = Path(__file__).parents[2] / "notes" / "recipe-v1.md"
_TEMPLATE = Path(__file__).with_name("recipe_note.md.j2")


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


def render(results: Path = RESULTS) -> str:
    """Return the note as the results in a folder make it."""
    search = json.loads((results / "recipe_search.json").read_bytes())
    lines = (results / "recipe_verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    finetune = results / "recipe_finetune.json"
    tuned = json.loads(finetune.read_bytes()) if finetune.exists() else {"configs": {}, "settings": {}}
    for found in tuned["configs"].values():
        for arm in found["arms"].values():
            arm["mean"] = mean(arm["ndcg"])
    environment = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    environment.filters |= {
        "n": lambda number: f"{number:,}",
        "pc": lambda share: f"{share:.1%}",
        "f": lambda number: "–" if number is None else f"{number:.2f}",
        "four": lambda number: f"{number:.4f}",
    }
    note = environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        v1=RECIPES["v1"],
        search={name: search["configs"][name] for name in ("jobs", "germandpr")},
        choices=choices(search["configs"]["jobs"]["grid"]),
        reasons=list(search["configs"]["jobs"]["whole"]["v1"]["dropped"]),
        verdicts=verdict_rows([json.loads(line) for line in lines]),
        pairs=60,
        tuned=tuned["configs"],
        settings=tuned["settings"],
    )
    return note.rstrip() + "\n"


def main() -> None:
    """Write the note."""
    write_bytes(NOTE, render().encode())


if __name__ == "__main__":
    main()
