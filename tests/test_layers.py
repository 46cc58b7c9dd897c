"""Imports go one way: text -> tree -> law -> proof, compiled law, data -> fit -> report -> command."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "lawdsl"

# A room may import from those before it, never from those behind it.
ORDER = (
    "core",
    "messages",
    "language",
    "highlighting",
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
    "figures",
    "exporting",
    "reporting",
    "editing",
    "server",
    "runners",  # beside this package; only commands import it, and only where they run
    "cli",
    "notebook_magic",
)
HEAVY = {"numpy", "scipy", "sympy", "pyarrow", "flint", "narwhals"}
LIGHT = ("core", "language", "highlighting", "messages", "fitting/options.py")
NOT_LIGHT = ("core/distributions.py",)


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@cache
def import_statements(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """All of them: also those within functions and under TYPE_CHECKING."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return tuple(node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)))


def imports(path: Path) -> list[str]:
    names = []
    for node in import_statements(path):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


MODULES = sorted(
    p for p in ROOT.rglob("*.py") if p.name != "__main__.py" and p != ROOT / "__init__.py"
)


# One test looks at all files: a test for each would cost more than what it looks at.


def test_imports_go_one_way():
    assert {room(path) for path in MODULES} <= set(ORDER)  # each has a place in the order
    wrong = []
    for path in MODULES:
        for name in imports(path):
            parts = name.split(".")
            if parts[0] != "lawdsl" or len(parts) < 2 or parts[1] == "__version__":
                continue
            if ORDER.index(parts[1]) > ORDER.index(room(path)):
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert wrong == []


def test_the_language_loads_no_algebra_and_no_arrays():
    below = {path.relative_to(ROOT).as_posix(): path for path in MODULES}
    light = [name for name in below if name.startswith(LIGHT) and name not in NOT_LIGHT]
    heavy = {name: HEAVY & {n.split(".")[0] for n in imports(below[name])} for name in light}
    assert len(light) > 20
    assert {name: found for name, found in heavy.items() if found} == {}


FITTING = ROOT / "fitting"
NUMERICAL = [
    p for room in ("solvers", "intervals", "diagnostics") for p in (FITTING / room).glob("*.py")
]
ALGEBRA = ("sympy", "lawdsl.law", "lawdsl.proof", "lawdsl.fitting.preparation")


def of_fitting(path: Path) -> list[Path]:
    """The modules of fitting/ that a module of it imports."""
    files = [ROOT.parent / f"{name.replace('.', '/')}.py" for name in imports(path)]
    files += [file.parent.with_suffix(".py") for file in files]
    return [file for file in files if file.is_relative_to(FITTING) and file.exists()]


def test_the_numerical_stages_of_a_fit_do_no_algebra():
    below: set[Path] = set()
    pending = [path for path in NUMERICAL if path.name != "__init__.py"]
    while pending:
        path = pending.pop()
        if path not in below:
            below.add(path)
            pending += of_fitting(path)
    assert FITTING / "problem.py" in below
    bad = {
        p.name: n
        for p in below
        for n in imports(p)
        if f"{n}.".startswith(tuple(f"{a}." for a in ALGEBRA))
    }
    assert bad == {}


def test_only_modules_of_pytorch_import_it_and_nothing_imports_these():
    """`to_torch` loads them by name, when it is called."""
    own = [p for p in MODULES if p.match("exporting/torch_*.py")]
    assert len(own) == 3
    assert [p for p in MODULES if any(n.split(".")[0] == "torch" for n in imports(p))] == own
    others = [p for p in MODULES if p not in own]
    assert not [p for p in others if any("exporting.torch_" in n for n in imports(p))]


RUNNERS = ROOT.parent / "runners"
RUNNER_ORDER = (
    "spec",
    "run",
    "corpora",
    "training",
    "cpt",
    "validation",
    "sweeps",
    "doctor",
    "tables",
    "recipes",
)
# one run, what judges samples, and what examines a machine; sweeps and tables start or read runs and load none of it
WITH_TORCH = {"training", "cpt", "validation", "doctor"}
RUNNER_MODULES = sorted(p for p in RUNNERS.rglob("*.py") if p.name != "__init__.py")


def of_runners(path: Path) -> list[str]:
    """The rooms and modules of runners/ that a module of it imports."""
    inside = path.relative_to(RUNNERS).parts[:-1]
    tops = []
    for node in import_statements(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            above = inside[: len(inside) - node.level + 1]
            names = [node.module] if node.module else [alias.name for alias in node.names]
            tops += [(*above, *name.split("."))[0] for name in names]
    return tops


def test_imports_of_the_runner_go_one_way():
    wrong = []
    for path in RUNNER_MODULES:
        name = path.relative_to(RUNNERS)
        own = name.parts[0].removesuffix(".py")
        assert own in RUNNER_ORDER, f"{own} has no place in the order"
        later = [o for o in of_runners(path) if RUNNER_ORDER.index(o) > RUNNER_ORDER.index(own)]
        wrong += [f"{name} imports {other}" for other in later]
        if own not in WITH_TORCH:
            heavy = {"torch", "transformers"} & {n.split(".")[0] for n in imports(path)}
            wrong += [f"{name} imports {other}" for other in heavy]
    assert wrong == []


def test_the_engine_does_not_know_the_runner():
    knowing = {room(p) for p in MODULES if any(n.startswith("lawdsl.runners") for n in imports(p))}
    assert knowing == {"cli"}


def module_name(path: Path) -> str:
    parent, folder = (
        (RUNNERS, "lawdsl.runners") if path.is_relative_to(RUNNERS) else (ROOT, "lawdsl")
    )
    parts = path.relative_to(parent).with_suffix("").parts
    return ".".join((folder, *parts)).removesuffix(".__init__")


def imported_modules() -> dict[str, set[str]]:
    """Module -> the modules of this project that it imports, anywhere in its text."""
    paths = {module_name(p): p for p in (*ROOT.rglob("*.py"), *RUNNERS.rglob("*.py"))}
    graph: dict[str, set[str]] = {}
    for module, path in paths.items():
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        names = []
        for node in import_statements(path):
            if isinstance(node, ast.Import):
                names += [alias.name for alias in node.names]
                continue
            start = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                start = ".".join((*above, start)).rstrip(".")
            submodules = [f"{start}.{alias.name}" for alias in node.names]
            names += [name if name in paths else start for name in submodules]
        graph[module] = {name for name in names if name in paths} - {module}
    return graph


def reachable(graph: dict[str, set[str]], module: str) -> set[str]:
    reached: set[str] = set()
    waiting = [module]
    while waiting:
        new = graph[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached


def circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """The largest sets of modules each of which imports all others of its set, if indirectly."""
    below = {module: reachable(graph, module) for module in graph}
    return {
        frozenset(other for other in below[module] if module in below[other])
        for module in graph
        if module in below[module]
    }


def test_no_modules_import_each_other():
    assert circles(imported_modules()) == set()


def test_a_circle_is_noticed():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a", "e"}, "e": set[str]()}
    assert circles(graph) == {frozenset({"b", "c"})}
