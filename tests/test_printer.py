"""What is printed is read back as the same tree, and printing what was read changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import strategies
from click.testing import CliRunner
from hypothesis import given, settings

from lawdsl.cli import cli
from lawdsl.language import tree
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_document, print_formula, print_like, print_statement

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
LAWS = sorted(
    [*ROOT.glob("laws/**/*.law"), *FIXTURES.glob("nist/*.law"), *FIXTURES.glob("indices/*.law")]
)


def read(text: str) -> tree.SyntaxTree:
    document, mistakes = parse(text)

    assert mistakes == []
    return document


def formula(text: str) -> tree.Formula:
    (statement,) = read(f"L = {text}\n").statements

    assert isinstance(statement, tree.Definition)
    return statement.formula


@pytest.mark.parametrize("path", LAWS, ids=lambda p: p.stem)
def test_every_law_is_in_the_canonical_style(path: Path):
    text = path.read_text(encoding="utf-8")

    assert print_document(read(text)) == text


@pytest.mark.parametrize("count", [150, pytest.param(300, marks=pytest.mark.slow)])
def test_any_formula_is_read_back_as_itself(count: int):
    settings(max_examples=count, deadline=None)(formula_is_read_back)()


@given(strategies.formulas())
def formula_is_read_back(node: tree.Formula):
    assert formula(print_formula(node)) == node


@pytest.mark.parametrize("count", [100, pytest.param(200, marks=pytest.mark.slow)])
def test_any_statement_is_read_back_as_itself(count: int):
    settings(max_examples=count, deadline=None)(statement_is_read_back)()


@given(strategies.statements)
def statement_is_read_back(statement: tree.Statement):
    assert read(print_statement(statement) + "\n").statements == (statement,)


def test_at_is_a_name_in_a_derivative_and_a_word_behind_one():
    (step,) = read("step a where b < ∂²at/∂x² at x = 1\n").statements

    assert isinstance(step, tree.StepNode)
    assert [name for name, _ in step.point] == ["x"]
    (chosen,) = step.conditions
    assert chosen.value == tree.Derivative("at", ("x", "x"), 2)


@pytest.mark.parametrize("count", [80, pytest.param(200, marks=pytest.mark.slow)])
def test_any_document_is_read_back_as_itself_and_printed_the_same(count: int):
    settings(max_examples=count, deadline=None)(document_is_read_back)()


@given(strategies.documents())
def document_is_read_back(document: tree.SyntaxTree):
    text = print_document(document)

    assert read(text) == document
    assert print_document(read(text)) == text


@pytest.mark.parametrize(
    ("typed", "printed"),
    [
        ("(a*b)*c", "(a*b)*c"),
        ("((a))", "a"),
        ("a*(b*c)", "a*(b*c)"),
        ("a/(b/c)", "a/(b/c)"),
        ("(a + b) + c", "(a + b) + c"),
        ("a-(b-c)", "a - (b - c)"),
        ("-a^2", "-a^2"),
        ("(-a)^2", "(-a)^2"),
        ("a^b^c", "a^b^c"),
        ("(a^b)^c", "(a^b)^c"),
        ("a^-b", "a^-b"),
        ("a*-b", "a*-b"),
        ("-(a*b)", "-(a*b)"),
        ("-a*b", "-a*b"),
        ("--a", "--a"),
        ("α_1+β", "alpha_1 + beta"),
        ("1E5", "1E5"),
    ],
)
def test_brackets_are_kept_where_they_change_the_tree_and_nowhere_else(typed: str, printed: str):
    assert print_formula(formula(typed)) == printed
    assert formula(printed) == formula(typed)


@pytest.mark.parametrize(
    ("typed", "printed"),
    [
        ("diff(L, D, r)", "∂²L/∂D∂r"),
        ("diff(L, N, r, r)", "∂³L/∂N∂r²"),
        ("∂L/∂N", "∂L/∂N"),
        ("diff(dcpt.l3, N)", "diff(dcpt.l3, N)"),
        ("diff(L, N, N, N, N, N, N, N, N, N, N)", "diff(L, N, N, N, N, N, N, N, N, N, N)"),
    ],
)
def test_derivatives_have_one_spelling(typed: str, printed: str):
    (before,) = read(f"require {typed} < 0\n").statements
    text = print_statement(before)

    assert text == f"require {printed} < 0"
    assert read(text + "\n").statements == (before,)


def test_columns_line_up_within_a_paragraph():
    text = """\
law a.b "Title"
source "x"
variable N>0 unit param "size"
variable r in [0,1] "share"

parameter E, A>0 "doc"   # behind
parameter alpha   # behind too
L=E+A/N^alpha unit nat/token
"""
    expected = """\
law a.b "Title"
source    "x"
variable  N > 0        unit param  "size"
variable  r in [0, 1]              "share"

parameter E, A > 0  "doc"  # behind
parameter alpha            # behind too
L = E + A/N^alpha  unit nat/token
"""

    assert print_document(read(text)) == expected


def test_a_long_formula_is_broken_before_a_term():
    terms = " + ".join(f"A{i}/N^alpha{i}" for i in range(30))
    printed = print_document(read(f"L = {terms}  # behind\n"))

    assert all(len(line) <= 110 for line in printed.splitlines())
    assert printed.count("\n") > 1
    assert read(printed) == read(f"L = {terms}  # behind\n")


def test_several_blank_lines_become_one():
    assert print_document(read("\n\nlaw a\n\n\n\nL = 1\n\n")) == "law a\n\nL = 1\n"


def test_an_empty_file_stays_empty():
    assert print_document(read("")) == ""
    assert print_document(read("\n \n")) == ""


ENDS = 'law ends "x"{0}variable  N > 0{1}parameter E > 0{1}{1}L = E + 1/N{1}'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ENDS.format("\r\n", "\r\n"), ""),
        (ENDS.format("\n", "\n"), ""),
        ("\ufeff" + ENDS.format("\r\n", "\r\n"), ""),
        (ENDS.format("\n", "\r\n"), ": only line ends differ; they become CR LF"),
        (ENDS.format("\r\n", "\n"), ": only line ends differ; they become LF"),
    ],
)
def test_line_ends_stay_as_they_are(tmp_path: Path, text: str, says: str):
    path = tmp_path / "ends.law"
    path.write_bytes(text.encode("utf-8"))
    checked = CliRunner().invoke(cli, ["fmt", "--check", str(path)])
    diff = CliRunner().invoke(cli, ["fmt", "--diff", str(path)])
    shown = f"would change {path}{says}\n" if says else ""
    assert (checked.output, diff.output) == (shown, shown)
    path.write_bytes(text.replace("  N > 0", " N>0").encode("utf-8"))
    assert "-variable N>0" in CliRunner().invoke(cli, ["fmt", "--diff", str(path)]).output
    CliRunner().invoke(cli, ["fmt", str(path)])
    end = "\r\n" if text.count("\r\n") > 1 else "\n"
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    assert path.read_bytes().decode("utf-8") == mark + ENDS.format(end, end)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("L = max(E,  # why\n  A/N)\n", "L = max(E, A/N)  # why\n"),
        ("L = E +  # why\n  A/N\n", "L = E + A/N  # why\n"),
        ("L = max(E,\n  # why\n  A/N)\n", "# why\nL = max(E, A/N)\n"),
        ("L = max(E,  # one\n  A/N)  # two\n", "# one\nL = max(E, A/N)  # two\n"),
        ("L = max(E,  # one\n  A,  # two\n  N)\n", "# one\n# two\nL = max(E, A, N)\n"),
        ('# up\nL = max(E,  # why\n  A/N)\nnote "x"\n', None),
    ],
)
def test_a_comment_inside_a_statement_stays_with_it(before: str, after: str | None):
    printed = print_like(before, read(before))
    assert printed == (after or '# up\nL = max(E, A/N)  # why\nnote      "x"\n')
    assert print_like(printed, read(printed)) == printed
