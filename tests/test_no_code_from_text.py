"""Nothing that a file says is ever executed or looked up: the sources contain no way to do it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "lawdsl").rglob("*.py"))

EXECUTES = {"eval", "exec", "compile", "__import__", "execfile"}
READS_TEXT = {"sympify", "parse_expr", "lambdify", "S", "_sympify_text", "parse_latex"}
UNPICKLES = {"pickle", "cPickle", "dill", "marshal", "shelve", "joblib", "cloudpickle"}
STARTS_PROCESSES = "Popen in lawdsl/fitting/processes.py"
SHELLS = {"system", "popen", "Popen", "check_output", "check_call", "getoutput"}


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Every import and every call in a file."""
    found = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return tuple(n for n in found if isinstance(n, (ast.Import, ast.ImportFrom, ast.Call)))


def called(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """The last part of the name of everything that is called, with the call."""
    for node in nodes(path):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name):
                yield function.id, node
            elif isinstance(function, ast.Attribute) and not _is_regex(function):
                yield function.attr, node


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """The place of every call, its name, and the call."""
    for path in SOURCES:
        for name, call in called(path):
            yield f"{name} in {path.relative_to(ROOT)}, line {call.lineno}", name, call


def _is_regex(function: ast.Attribute) -> bool:
    return isinstance(function.value, ast.Name) and function.value.id == "re"


# One test looks at all files: a test for each would cost more than what it looks at.


def test_no_source_executes_text():
    forbidden = EXECUTES | READS_TEXT | SHELLS

    places = [place for place, name, _ in calls() if name in forbidden]
    # a list of words, without a shell, whose module is a constant of the source
    assert [place for place in places if not place.startswith(STARTS_PROCESSES)] == []
    assert len(SOURCES) > 300


def test_no_source_looks_up_a_function_by_a_name_from_a_file():
    """`getattr(sympy, name)` would make every function of the library callable."""
    found = []
    for place, name, call in calls():
        if name == "getattr" and not isinstance(call.args[1], ast.Constant):
            of = call.args[0]
            if isinstance(of, ast.Name) and of.id in ("sp", "sympy", "np", "math", "mp"):
                found.append(place)
        if name in ("globals", "locals", "vars"):
            found.append(place)
    assert found == []


def test_no_source_unpickles():
    """Neither directly, nor by a parser's cache or an array file."""
    found = []
    for path in SOURCES:
        for node in nodes(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if UNPICKLES & {name.split(".")[0] for name in names}:
                found.append(f"{path.relative_to(ROOT)} imports {names}")
    for place, _, call in calls():
        for keyword in call.keywords:
            allowed = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
            if keyword.arg in ("cache", "allow_pickle") and not allowed:
                found.append(place)
    assert found == []


LIGHT = """
import sys
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_document
from lawdsl import messages
from lawdsl.core import diagnostics
from lawdsl.language import library

text = library.locate("dcpt.l3").read_text(encoding="utf-8")
assert print_document(parse(text)[0]) == text
declarations, _ = library.declarations("dcpt.l3")
heavy = {"sympy", "numpy", "scipy", "pandas", "polars", "pyarrow", "mpmath", "matplotlib", "pickle"}
print(*sorted(heavy & set(sys.modules)))
"""


def test_the_language_needs_no_algebra_and_no_arrays():
    """A law is read, checked for its names and printed without them: an editor needs no more."""
    found = subprocess.run(
        [sys.executable, "-c", LIGHT], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert found.stderr == ""
    assert set(found.stdout.split()) <= {"pickle"}  # Lark imports it, and never uses it here
