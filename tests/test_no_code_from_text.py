"""Nothing that a file says is ever executed or looked up: the sources contain no way to do it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "lawdsl").rglob("*.py"))

EXECUTES = {"eval", "exec", "compile", "__import__", "execfile"}
READS_TEXT = {"sympify", "parse_expr", "lambdify", "S", "_sympify_text", "parse_latex"}
UNPICKLES = {"pickle", "cPickle", "dill", "marshal", "shelve", "joblib", "cloudpickle"}
SHELLS = {"system", "popen", "Popen", "check_output", "check_call", "getoutput"}


def nodes(path: Path) -> Iterator[ast.AST]:
    yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def called(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """The last part of the name of everything that is called, with the call."""
    for node in nodes(path):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name):
                yield function.id, node
            elif isinstance(function, ast.Attribute) and not _is_regex(function):
                yield function.attr, node


def _is_regex(function: ast.Attribute) -> bool:
    return isinstance(function.value, ast.Name) and function.value.id == "re"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_source_executes_text(path: Path):
    forbidden = EXECUTES | READS_TEXT | SHELLS
    found = [f"{name} on line {call.lineno}" for name, call in called(path) if name in forbidden]

    assert found == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_source_looks_up_a_function_by_a_name_from_a_file(path: Path):
    """`getattr(sympy, name)` would make every function of the library callable."""
    for name, call in called(path):
        if name == "getattr" and not isinstance(call.args[1], ast.Constant):
            of = call.args[0]
            assert not (isinstance(of, ast.Name) and of.id in ("sp", "sympy", "np", "math", "mp"))
        if name in ("globals", "locals", "vars"):
            pytest.fail(f"{name}() on line {call.lineno}")


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_source_unpickles(path: Path):
    """Neither directly, nor by a parser's cache or an array file."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            assert not UNPICKLES & {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in UNPICKLES
    for _, call in called(path):
        for keyword in call.keywords:
            allowed = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
            assert keyword.arg not in ("cache", "allow_pickle") or allowed


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
