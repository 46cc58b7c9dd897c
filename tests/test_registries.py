"""Tables that recipes extend: no row replaces another of the same name."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from lawdsl.cli import cli
from lawdsl.core.registry import by_name
from lawdsl.language import library
from lawdsl.proof.rules import AFFINE_RULES, RULES

ROOT = Path(__file__).resolve().parent.parent
LITERALS = {
    "core/functions.py": ("FUNCTIONS", "DERIVED"),
    "fitting/options.py": ("METHODS",),
    "comparing/protocols.py": ("KINDS", "PAPER_NAMES"),
}


def repeated(source: str) -> dict[str, list[str]]:
    """Name -> keys that its dictionary has twice."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            counts = Counter(ast.unparse(key) for key in node.value.keys if key)
            found[ast.unparse(target)] = [key for key, count in counts.items() if count > 1]
    return found


@pytest.mark.parametrize("path", LITERALS)
def test_the_rows_of_a_literal_have_different_names(path: str):
    tables = repeated((ROOT / "lawdsl" / path).read_text(encoding="utf-8"))
    assert set(LITERALS[path]) <= set(tables)
    assert not any(tables.values()), tables


def test_a_repeated_key_is_noticed():
    assert repeated('T: dict = {"a": 1, "b": 2, "a": 3}') == {"T": ["'a'"]}


def test_two_rows_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two rows have the name 'a'"):
        by_name([("a", 1), ("b", 2), ("a", 3)])
    assert list(by_name([("b", 2), ("a", 1)])) == ["b", "a"]


@pytest.mark.parametrize(
    ("path", "row"),
    [
        ("lawdsl/core/losses.py", "    SQUARED,\n"),
        ("lawdsl/data/formats/__init__.py", '    Format("csv", "CSV", (".csv",)),\n'),
        ("lawdsl/cli/__init__.py", '    "check",\n'),
    ],
)
def test_a_module_with_two_rows_of_one_name_does_not_load(path: str, row: str):
    text = (ROOT / path).read_text(encoding="utf-8")
    anchor = '    "explain",\n' if "cli" in path else '    Format("csv"' if "data" in path else row
    assert text.count(anchor) == 1
    name = path.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
    module = {"__name__": name, "__file__": str(ROOT / path)}
    with pytest.raises(ValueError, match="two rows have the name"):
        exec(compile(text.replace(anchor, row + anchor), path, "exec"), module)


def test_no_rule_is_tried_twice():
    signs = [rule.sign for rule in (*AFFINE_RULES, *RULES)]
    assert len(set(signs)) == len(signs)


def test_every_command_has_its_own_name():
    assert all(command.name == name for name, command in cli.commands.items())


@pytest.mark.parametrize("kind", ["law", "question", "pipeline"])
def test_a_shipped_file_has_the_name_of_its_path(kind: str):
    for name, path in library.shipped(kind).items():
        first = next(
            line
            for line in path.read_text(encoding="utf-8").splitlines()
            if line.strip() and not line.strip().startswith(("#", "//"))
        )
        assert first.split()[:2] == [kind, name], path
