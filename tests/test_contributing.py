"""The recipes of CONTRIBUTING, applied as they stand there to a copy of the tree; and the tree that it shows."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lawdsl
from lawdsl.core.enumerations import disjunction
from lawdsl.data.formats import FORMATS
from lawdsl.fitting.intervals.compute_intervals import method_of
from lawdsl.fitting.intervals.interval_method import IntervalMethod
from lawdsl.fitting.options import METHODS

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^### ([^\n]*)\n(.*?)(?=^### |\Z)", TEXT, re.M | re.S))
NAMED = [name for recipe in RECIPES.values() for name in re.findall(r"New file `([^`]+)`", recipe)]
BLOCK = re.compile(r"(?:(New file|In) `([^`]+)`|^```(\w*)\n(.*?)^```)", re.M | re.S)


def apply(recipe: str, tree: Path) -> set[str]:
    """Do what a recipe says; the files that it touches.

    A block after `New file` is that file's content; a diff is of the last file that was named, its
    lines without + stand there exactly once.
    """
    touched = set[str]()
    name, new = "", False
    for kind, path, language, content in BLOCK.findall(recipe):
        if kind:
            name, new = path, kind == "New file"
            continue
        file = tree / name
        touched.add(name)
        if new:
            assert not file.exists(), name
            file.parent.mkdir(exist_ok=True)
            file.write_text(content, encoding="utf-8")
            new = False
            continue
        assert language == "diff", name
        lines = content.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        text = file.read_text(encoding="utf-8")
        assert text.count(before) == 1, (
            f"{name} has these lines {text.count(before)} times: {before}"
        )
        file.write_text(text.replace(before, after), encoding="utf-8")
    return touched


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project to which all recipes are applied, compiled as far as the project is."""
    copy = tmp_path_factory.mktemp("contribution")
    for folder in ("lawdsl", "laws", "grammars", "runners"):
        shutil.copytree(ROOT / folder, copy / folder)
    (copy / "tests").mkdir()
    for name in ("conftest.py", "test_layers.py"):
        shutil.copy(ROOT / "tests" / name, copy / "tests")
    shutil.copy(ROOT / "pyproject.toml", copy)
    for recipe in RECIPES.values():
        assert apply(recipe, copy)
    return copy


def python(tree: Path, *arguments: str) -> str:
    """What a program prints that sees the copy and not this checkout."""
    completed = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return completed.stdout


USE = r"""
import importlib, json, pkgutil
from pathlib import Path

from click.testing import CliRunner

import lawdsl
from lawdsl.cli import cli
from lawdsl.cli.swapped_arguments import swapped_arguments_diagnostic

assert Path(lawdsl.__file__).is_relative_to(Path.cwd()), lawdsl.__file__
Path("rule.law").write_text('''law rule
variable x, y > 0
variable z
parameter a > 0
L = a + x*y
require tanh(x*y) < x*y
require tanh(z) < z  expect refuted
require 3*tanh(x*y) - 3*x*y < 0
''')
table = Path("laws/data/c4_share.csv").read_text()
rows = [line for line in table.splitlines() if not line.startswith("#")]
Path("share.tsv").write_text("\n".join(row.replace(",", "\t") for row in rows) + "\n")

def said(*arguments):
    result = CliRunner().invoke(cli, [*arguments, "--json"], standalone_mode=False)
    assert result.exception is None, (arguments, result.exception, result.output)
    return json.loads(result.stdout)["result"]

Path("inverse.law").write_text('''law inverse
variable r in [0, 1]
parameter a, b > 0
L = a + b*asinh(1 - r)
require ∂L/∂r < 0
require asinh(r) <= r
require asinh(r) > r  expect refuted
''')
Path("least.law").write_text('''question least
choose x >= 0
minimize x - 2*asinh(x)
''')

Path("share.ods").touch()
try:
    lawdsl.fit("dcpt.share", "share.ods")
except lawdsl.LawdslError as error:
    refused = str(error)

answers = {
    "swapped": swapped_arguments_diagnostic(["fit", "share.tsv", "dcpt.share"]).message,
    "refused": refused,
    "function": said("check", "inverse.law"),
    "curve": said("fit", "inverse.law", "share.tsv"),
    "least": said("solve", "least.law"),
    "rows": len(rows) - 1,
    "style": [said("fmt", "--check", path) for path in NEW_LAWS],
    "law": said("check", "toy.half_life"),
    "rule": said("check", "rule.law"),
    "fit": said("fit", "dcpt.share", "share.tsv", "--intervals", "wald", "-o", "fit.json"),
    "logcosh": said("fit", "dcpt.share", "share.tsv", "--objective", "logcosh"),
    "predict": said("predict", "fit.json", "r=0.5"),
    "compare": said("compare", "dcpt.share", "mixing.two_domain", "share.tsv", "--protocol", "halves"),
    "claims": said("claims", "toy.half_life"),
    "delta": " ".join(CliRunner().invoke(cli, ["fit", "--help"]).output.split()),
}
for name, command in cli.commands.items():
    assert CliRunner().invoke(cli, [name, "--help"]).exit_code == 0, name
for module in pkgutil.walk_packages([str(Path.cwd() / "lawdsl")], "lawdsl."):
    if module.name not in ("lawdsl.regressor", "lawdsl.__main__"):
        importlib.import_module(module.name)
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers(tree: Path) -> dict[str, Any]:
    """What commands say in the copy."""
    laws = [name for name in NAMED if name.endswith(".law")]
    program = f"NEW_LAWS = {laws}\n{USE}"
    answer: dict[str, Any] = json.loads(python(tree, "-c", program).splitlines()[-1])
    return answer


def verdicts(check: Any) -> list[str]:
    return [claim["verdict"] for claim in check["claims"]]


def test_the_law_ships_and_is_proved(answers: dict[str, Any]):
    assert verdicts(answers["law"]) == ["proved"] * 3
    assert answers["style"]
    assert not any(file["changed"] for file in answers["style"])


def test_the_rule_proves_what_was_undecided_and_nothing_false(
    answers: dict[str, Any], tmp_path: Path
):
    assert verdicts(answers["rule"]) == ["proved", "refuted", "proved"]
    law = "law rule\nvariable x, y > 0\nparameter a > 0\nL = a + x*y\nrequire tanh(x*y) < x*y\n"
    (tmp_path / "rule.law").write_text(law, encoding="utf-8")
    assert [v.verdict for v in lawdsl.check(tmp_path / "rule.law").claims] == ["undecided"]


def test_the_function_is_proved_fitted_and_minimised(answers: dict[str, Any]):
    assert verdicts(answers["function"]) == ["proved", "proved", "refuted"]
    assert answers["curve"]["converged"] and answers["curve"]["parameters"]["b"]["value"] > 0
    answer = answers["least"]
    (unknown,) = answer["unknowns"]
    assert answer["certain"] and unknown["value"] == pytest.approx(3**0.5)


def test_the_interval_method_and_the_format_are_used(answers: dict[str, Any]):
    fit = answers["fit"]
    assert fit["data"]["rows"] == answers["rows"]
    known, value = fit["intervals"], fit["parameters"]["E"]["value"]
    assert known["method"] == "wald"
    low, high = known["ends"]["E"]
    error = known["errors"]["E"]
    assert [(value - low) / error, (high - value) / error] == pytest.approx([1.96, 1.96], abs=1e-3)
    assert answers["predict"]


def test_a_format_is_two_files_and_messages_name_it(answers: dict[str, Any], tmp_path: Path):
    shutil.copytree(ROOT / "lawdsl" / "data" / "formats", tmp_path / "lawdsl" / "data" / "formats")
    touched = apply(RECIPES["A table format"], tmp_path)
    assert touched == {f"lawdsl/data/formats/{name}.py" for name in ("tsv", "__init__")}
    assert answers["swapped"] == ("share.tsv is a table; write `lawdsl fit dcpt.share share.tsv`")
    endings = disjunction(sorted([*(form.suffixes[0] for form in FORMATS), ".tsv"]))
    titles = disjunction(sorted([*(form.title for form in FORMATS), "TSV"]))
    assert f"tables end in {endings}, not .ods" in answers["refused"]
    assert f"saved as {titles}" in answers["refused"]


def test_an_interval_method_is_a_module_and_a_row():
    named = [path for kind, path, *_ in BLOCK.findall(RECIPES["An interval method"]) if kind]
    assert named == ["lawdsl/fitting/intervals/wald.py", "lawdsl/fitting/options.py"]


@pytest.mark.parametrize("name", METHODS)
def test_the_module_of_an_interval_method_has_it(name: str):
    assert isinstance(method_of(name), IntervalMethod)


def test_the_objective_is_minimised(answers: dict[str, Any]):
    fit = answers["logcosh"]
    assert "logcosh" in json.dumps(fit["objective"])
    assert re.search(r"The delta of huber(, \w+)* or logcosh, instead of", answers["delta"])
    assert fit["converged"] and fit["parameters"]["E"]["value"] == pytest.approx(2.31, abs=0.02)


def test_the_protocol_ranks_laws(answers: dict[str, Any]):
    (ranking,) = answers["compare"]["rankings"]
    assert ranking["protocol"] == "halves" and ranking["folds"] == 2


def test_a_command_is_named_once_beside_its_module():
    recipe = RECIPES["A command"]
    files = [path for kind, path, *_ in BLOCK.findall(recipe) if kind]
    added = re.findall(r"^\+.*$", recipe, re.M)

    assert files == ["lawdsl/cli/claims.py", "lawdsl/cli/__init__.py"]
    assert added == ['+    "claims",']


def test_the_command_prints_claims(answers: dict[str, Any]):
    assert answers["claims"]["claims"][0] == "L > E"


ERF = """    "erf": Function(
        derivative=lambda m, x, y: 2 / m.sqrt(m.pi) * m.exp(-(x**2)),
        monotone=1,
        zero=0,
        range=(-1, 1),
        curvature="sigmoid",
    ),
"""
FRONT = """law front
variable x, c >= 0
parameter E, A, w > 0
L = E + A*(1 - erf(w*x)) + 0.1*c
require L > E
require ∂L/∂x < 0
require ∂L/∂x > 0  expect refuted
"""
QUESTIONS = {
    "one": "choose x in [0, 3]\nminimize front(x, c = 0) + 0.2*x\n",
    "two": "choose x in [0, 3]\nchoose c in [0, 2]\nminimize front(x, c) + 0.2*x + (c - 1)^2\n",
}
DERIVATIVES = r"""
import json

from flint import arb

from lawdsl.compiling import arrays, balls, interval_derivatives, intervals
from lawdsl.core.functions import FUNCTIONS

row, points = FUNCTIONS["erf"], [-3.0, -0.5, 1e-300, 0.7, 2.0]
on_arrays = [float(row.derivative(arrays.ARRAYS, x, arrays.VALUES["erf"](x))) for x in points]
on_balls = [float(row.derivative(balls.BALLS, arb(x), balls.VALUES["erf"](arb(x)))) for x in points]
boxes = [intervals.Interval(arb(x), arb(x)) for x in points]
values = [intervals.OPERATIONS["erf"](box) for box in boxes]
slopes = list(map(interval_derivatives.derivative, ["erf"] * len(points), boxes, values))
ends = [[float(slope[end]) for slope in slopes] for end in (0, 1)]
print(json.dumps([points, on_arrays, on_balls, *ends]))
"""


SAID = r"""
import json, sys

from click.testing import CliRunner

from lawdsl.cli import cli

for line in sys.argv[1:]:
    done = CliRunner().invoke(cli, [*line.split(), "--json"], standalone_mode=False)
    assert done.exception is None, (line, done.exception, done.output)
    print(json.dumps(json.loads(done.stdout)["result"]))
"""


def said(tree: Path, *lines: str) -> list[Any]:
    """The results of commands, one after the other in one process."""
    return [json.loads(result) for result in python(tree, "-c", SAID, *lines).splitlines()]


@pytest.fixture(scope="module")
def with_erf(tree: Path) -> Path:
    """The copy with one more row, of a function that NumPy lacks."""
    file = tree / "lawdsl" / "core" / "functions.py"
    text, before = file.read_text(encoding="utf-8"), '    "abs": Function(\n'
    assert text.count(before) == 1
    file.write_text(text.replace(before, ERF + before), encoding="utf-8")
    return tree


def test_a_row_is_enough_to_check_fit_predict_and_solve(with_erf: Path):
    tree = with_erf
    (tree / "front.law").write_text(FRONT, encoding="utf-8")
    E, A, w = 1.5, 0.8, 0.9
    rows = [(0.1 * i, i * 7 % 5) for i in range(24)]
    lines = [f"{x},{c},{E + A * (1 - math.erf(w * x)) + 0.1 * c}" for x, c in rows]
    (tree / "front.csv").write_text("\n".join(["x,c,L", *lines, ""]), encoding="utf-8")

    for name, lines in QUESTIONS.items():
        question = f"question {name}\nuses front : front\n{lines}"
        (tree / f"{name}.law").write_text(question, encoding="utf-8")

    check, fit, predicted, *answers = said(
        tree,
        "check front.law",
        "fit front.law front.csv -o front.json",
        "predict front.json x=0.5 c=1",
        *(f"solve {name}.law front=front.json" for name in QUESTIONS),
    )
    assert verdicts(check) == ["proved", "proved", "refuted"]
    assert [fit["parameters"][name]["value"] for name in "EAw"] == pytest.approx(
        [E, A, w], rel=1e-6
    )
    (prediction,) = predicted["predictions"]
    assert prediction == pytest.approx(E + A * math.erfc(w / 2) + 0.1, rel=1e-6)

    best = math.sqrt(math.log(2 * A * w / math.sqrt(math.pi) / 0.2)) / w
    expected = {"one": {"x": best}, "two": {"x": best, "c": 0.95}}
    for name, answer in zip(QUESTIONS, answers, strict=True):
        choice = {unknown["name"]: unknown["value"] for unknown in answer["unknowns"]}
        assert answer["status"] == "answered"
        assert choice == pytest.approx(expected[name], rel=1e-4)


def test_derivatives_by_the_row_are_right_in_every_arithmetic(with_erf: Path):
    points, *answers = json.loads(python(with_erf, "-c", DERIVATIVES))
    exact = [2 / math.sqrt(math.pi) * math.exp(-x * x) for x in points]
    assert len(answers) == 4
    for derivatives in answers:
        assert derivatives == pytest.approx(exact, rel=1e-14)


def test_imports_still_go_one_way(tree: Path):
    names = [Path(name).name for name in NAMED if name.startswith("lawdsl/")]
    new = " or ".join([*names, "import_each_other"])
    quiet = ("-q", "-p", "no:cacheprovider")
    assert " passed" in python(tree, "-m", "pytest", *quiet, "tests/test_layers.py", "-k", new)


def test_the_code_of_the_recipes_is_in_the_style_of_the_project(tree: Path):
    python(tree, "-m", "ruff", "check", "--no-cache", "lawdsl")
    python(tree, "-m", "ruff", "format", "--check", "--no-cache", "lawdsl")


def test_the_files_that_are_named_exist():
    paths = set(re.findall(r"`((?:lawdsl|laws|tests|docs|grammars)/[\w/.-]+\.\w+)`", TEXT))
    assert len(paths) > 20
    assert {path for path in paths - set(NAMED) if not (ROOT / path).exists()} == set()


def test_a_recipe_out_of_date_is_noticed(tmp_path: Path):
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="0 times"):
        apply("In `a.py`:\n\n```diff\n y = 1\n+z = 1\n```\n", tmp_path)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_still_applies_after_it_has_been_used(name: str, tmp_path: Path):
    named = [(kind, path) for kind, path, *_ in BLOCK.findall(RECIPES[name]) if kind]
    for kind, path in named:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        if kind == "In":
            shutil.copy(ROOT / path, tmp_path / path)
    apply(RECIPES[name], tmp_path)
    for kind, path in named:
        if kind == "New file":
            (tmp_path / path).unlink()
    apply(RECIPES[name], tmp_path)


def test_the_tree_shown_is_the_tree():
    shown = re.search(r"## The tree\n\n```\n(.*?)```", TEXT, re.S)
    assert shown
    parts: list[str] = []
    listed = set[str]()
    for line in shown[1].splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        parts[depth:] = [line.split()[0].rstrip("/")]
        listed.add("/".join(parts))
    assert {name for name in listed if not (ROOT / name).exists()} == set()
    packages = {path.parent for path in (ROOT / "lawdsl").rglob("__init__.py")}
    packages |= {path.parent for path in (ROOT / "runners").rglob("__init__.py")}
    top = {path for path in (ROOT / name for name in ("laws", "grammars", "tests", "docs"))}
    folders = {path.relative_to(ROOT).as_posix() for path in packages | top}
    assert folders <= listed, sorted(folders - listed)
