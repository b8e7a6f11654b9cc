"""Imports point one way, every concept has one name, and the map in the notes is the tree."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import builders

ROOT = Path(builders.__file__).parent
NOTE = ROOT.parent / "notes" / "architecture.md"
MODULES = sorted(ROOT.rglob("*.py"))
LAYERS = (
    "errors",
    "home mteb_tasks printable processes progress",
    "files",
    "text_files",
    "hub",
    "plots",
    "spec",
    "registry",
    "lock",
    "tables",
    "sources",
    "text",
    "personal",
    "prepare",
    "reddit",
    "encoders mining",
    "built",
    "checks",
    "explain triplets",
    "build",
    "describe",
    "evaluation audit",
    "rehearsal",
    "release",
    "configs",
    "demo",
    "cli",
)
"""From the ground up: a module imports its own room, and rooms of the layers below. A folder is a layer."""
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer.split()}
LONGEST = 600
"""Lines of a module: a guide, so that a module of two jobs is noticed."""
OWN_JSON = {
    "configs.blurbs",
    "describe.croissant",
    "mteb_tasks",
    "personal.pieces",
    "personal.replacements",
} | {
    "rehearsal.app",
    "rehearsal.refusals",
    "release.child",
}
"""Modules that parse what the package itself wrote, stand alone, or are a server of tests."""
MOST_OF_A_NAME = 2
"""Modules of one name in the package."""


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


def room(module: str) -> str:
    return module.split(".")[0]


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    here = room(module_of(path))
    if here in {"__init__", "__main__"}:
        return
    assert here in RANK, f"{here} stands in no layer"
    upwards = {there for there in map(room, imported(path)) if there != here and RANK[there] >= RANK[here]}
    assert not upwards, f"{here} must not import {', '.join(sorted(upwards))}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_stay_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_command_prints(path: Path) -> None:
    if room(module_of(path)) == "cli" or path.name == "__main__.py":
        return
    calls = [
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
    ]
    assert not [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"]


def test_json_from_outside_is_parsed_in_one_way() -> None:
    """`json.loads` has errors of its own for what is nested too deeply; `parse_json` has one for all."""
    calls = {module_of(path) for path in MODULES if "json.loads(" in path.read_text(encoding="utf-8")}
    assert calls == {"text_files", *OWN_JSON}


def test_no_name_of_a_module_stands_more_than_twice() -> None:
    names = Counter(path.stem for path in MODULES if not path.stem.startswith("__"))
    assert not {name for name, count in names.items() if count > MOST_OF_A_NAME}


def test_the_map_in_the_notes_is_the_tree() -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    modules = {path.stem for path in ROOT.glob("*.py") if not path.stem.startswith("__")}
    rows = re.findall(r"^\| `(\w+)(/?)` \|", NOTE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for name, slash in rows if slash} == folders
    assert {name for name, slash in rows if not slash} == modules
