"""Imports point one way, and modules stay small."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import builders

ROOT = Path(builders.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
LAYERS: dict[str, frozenset[str]] = {
    "spec": frozenset({"errors", "personal", "sets", "sources"}),
    "sets": frozenset({"errors"}),
    "tables": frozenset(),
    "text": frozenset({"errors", "tables", "files", "text", "personal"}),
    "lock": frozenset({"errors", "files", "lock", "spec", "tables"}),
    "mining": frozenset({"errors", "spec", "tables", "text", "mining", "lock"}),
    "encoders": frozenset({"errors", "files", "home", "lock", "spec", "encoders"}),
    "checks": frozenset({
        "errors",
        "files",
        "lock",
        "spec",
        "tables",
        "text",
        "personal",
        "registry",
        "checks",
        "sets",
        "splits",
        "parquet",
        "mining",
    }),
}


def imported(path: Path) -> set[str]:
    """Return the parts of `builders` that a module imports, at its top or inside functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [
        name
        for node in ast.walk(tree)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    ]
    return {name.split(".")[1] for name in names if name.startswith("builders.")}


def part(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    here = part(path)
    if here not in {"cli", "__main__"}:
        assert "cli" not in imported(path)
    if here in LAYERS:
        assert imported(path) <= LAYERS[here], imported(path) - LAYERS[here]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_stay_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_command_prints(path: Path) -> None:
    if part(path) in {"cli"} or path.name == "__main__.py":
        return
    calls = [
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
    ]
    assert not [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"]
