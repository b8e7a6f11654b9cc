"""Imports point one way, and modules stay small."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import builders

ROOT = Path(builders.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
LAYERS = (
    "errors home reasons tables mteb_tasks plots",
    "files deadlines text_files text.normalise",
    "lock",
    "personal",
    "sources sets",
    "spec",
    "text registry",
    "splits encoders mining parquet",
    "audit.model",
    "audit.decisions audit.citation evaluation.model evaluation.citation",
    "funnels scrub_merges",
    "prepare explain",
    "documents facts",
    "checks",
    "write audit.tree",
    "steps",
    "clustering describe retrieval id_sets",
    "build rehearsal",
    "release audit evaluation hydration triplets",
    "configs",
    "demo",
    "cli",
)
"""From the ground up: a module imports its own part, and parts of the layers below."""
NAMES_ONLY = {("sources", "spec")}
"""An import for type checkers alone: a spec names its sources, and sources name what they fetch."""
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer.split()}


def imported(path: Path) -> set[str]:
    """Return the modules of `builders` that a module imports, at its top or inside functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "builders":
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("builders."):
            names.add((node.module or "").removeprefix("builders."))
        elif isinstance(node, ast.Import):
            names |= {a.name.removeprefix("builders.") for a in node.names if a.name.startswith("builders.")}
    return names - {"__version__"}


def part(module: str) -> str:
    """Return the part that a module belongs to: a folder, or one of those named by themselves."""
    own = ".".join(module.split(".")[:2])
    return own if own in RANK else module.split(".")[0]


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    here = part(module_of(path))
    if here in {"__init__", "__main__"}:
        return
    assert here in RANK, f"{here} stands in no layer"
    upwards = {
        there
        for there in map(part, imported(path))
        if there != here and RANK[there] >= RANK[here] and (here, there) not in NAMES_ONLY
    }
    assert not upwards, f"{here} must not import {', '.join(sorted(upwards))}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_stay_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_command_prints(path: Path) -> None:
    if part(module_of(path)) == "cli" or path.name == "__main__.py":
        return
    calls = [
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
    ]
    assert not [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"]
