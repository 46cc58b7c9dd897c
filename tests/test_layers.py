"""Imports go one way: text -> tree -> law -> proof, compiled law, data -> fit -> report -> command."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent / "lawdsl"

# A room may import from those before it, never from those behind it.
ORDER = (
    "core",
    "messages",
    "language",
    "law",
    "compiling",
    "proof",
    "data",
    "fitting",
    "solving",
    "comparing",
    "pipelines",
    "designing",
    "regressor",
    "reporting",
    "runners",  # beside this package; only commands import it, and only where they run
    "cli",
)
HEAVY = {"numpy", "scipy", "sympy", "pyarrow", "flint", "narwhals"}
LIGHT = ("core", "language", "messages", "fitting/options.py")
NOT_LIGHT = ("core/distributions.py",)


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return found


MODULES = sorted(p for p in ROOT.rglob("*.py") if p.name not in ("__init__.py", "__main__.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path: Path):
    own = room(path)
    assert own in ORDER, f"{own} has no place in the order"
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "lawdsl" or len(parts) < 2 or parts[1] == "__version__":
            continue
        assert ORDER.index(parts[1]) <= ORDER.index(own), f"{own} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_language_loads_no_algebra_and_no_arrays(path: Path):
    below = path.relative_to(ROOT).as_posix()
    if below.startswith(LIGHT) and below not in NOT_LIGHT:
        assert not HEAVY & {name.split(".")[0] for name in imports(path)}


def test_nothing_imports_torch():
    assert not [p for p in MODULES if any(n.split(".")[0] == "torch" for n in imports(p))]


RUNNERS = ROOT.parent / "runners"
RUNNER_ORDER = (
    "spec",
    "run",
    "corpora",
    "training",
    "cpt",
    "validation",
    "sweeps",
    "tables",
    "recipes",
)
# one run, and what judges samples; sweeps and tables start or read runs and load none of it
WITH_TORCH = {"training", "cpt", "validation"}
RUNNER_MODULES = sorted(p for p in RUNNERS.rglob("*.py") if p.name != "__init__.py")


def of_runners(path: Path) -> list[str]:
    """The rooms and modules of runners/ that a module of it imports."""
    inside = path.relative_to(RUNNERS).parts[:-1]
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            above = inside[: len(inside) - node.level + 1]
            names = [node.module] if node.module else [alias.name for alias in node.names]
            found += [(*above, *name.split("."))[0] for name in names]
    return found


@pytest.mark.parametrize("path", RUNNER_MODULES, ids=lambda p: str(p.relative_to(RUNNERS)))
def test_imports_of_the_runner_go_one_way(path: Path):
    own = path.relative_to(RUNNERS).parts[0].removesuffix(".py")
    assert own in RUNNER_ORDER, f"{own} has no place in the order"
    for other in of_runners(path):
        assert RUNNER_ORDER.index(other) <= RUNNER_ORDER.index(own), f"{own} imports {other}"
    if own not in WITH_TORCH:
        assert not {"torch", "transformers"} & {n.split(".")[0] for n in imports(path)}


def test_the_engine_does_not_know_the_runner():
    knowing = {room(p) for p in MODULES if any(n.startswith("lawdsl.runners") for n in imports(p))}
    assert knowing == {"cli"}
