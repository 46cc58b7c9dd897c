"""LaTeX of laws: a name is a name, and no two names look alike."""

import re

import pytest

import lawdsl

NAMES = """law names "Names that other programs read as something else"
variable N > 0
variable x__2, x_2, t_a > 0
parameter e, ahat, AB, A_B, alphaN, alpha_N, pihat > 0
L = e*N^AB + A_B*x__2 + ahat*x_2 + alphaN + alpha_N*exp(N) + t_a*pihat
"""


@pytest.fixture
def latex(tmp_path):
    file = tmp_path / "names.law"
    file.write_text(NAMES)
    return lawdsl.load(file).latex()


def test_a_letter_is_no_constant(latex: str):
    assert latex.startswith("L = e \\, N^{")
    assert r"\exp\left(N\right)" in latex


def test_an_ending_is_no_accent(latex: str):
    assert r"\mathrm{ahat}" in latex
    assert r"\hat" not in latex


@pytest.mark.parametrize("pair", [("AB", "A_B"), ("x__2", "x_2"), ("alphaN", "alpha_N")])
def test_names_that_would_look_alike_are_written_letter_by_letter(latex: str, pair):
    written = [rf"\mathrm{{{name.replace('_', chr(92) + '_')}}}" for name in pair]
    assert len(set(written)) == 2
    assert all(text in latex for text in written)


def test_a_name_that_looks_like_an_element_is_written_letter_by_letter(tmp_path):
    file = tmp_path / "elements.law"
    file.write_text(
        """law elements "Elements"
index j over domain
variable r[j] in simplex
parameter t[j], t_a > 0
L = t_a*exp(sum(t[j]*r[j] for j))
"""
    )
    latex = lawdsl.load(file).latex()
    assert latex.startswith(r"L = \mathrm{t\_a} \, \exp")
    assert "t_{j}" in latex


@pytest.mark.parametrize("name", ["repeated", "dcpt.cross_k1", "mixing.joint"])
def test_a_law_has_its_definitions_below_it(name: str):
    latex = lawdsl.load(name).latex()
    assert latex.startswith(r"\begin{aligned} L")
    lines = latex.split(r" \\ ")
    assert len(lines) > 1
    assert all(line.count("&=") == 1 for line in lines)


@pytest.mark.parametrize("name", ["chinchilla", "repeated", "mixing.joint"])
def test_a_report_shows_the_lines_of_a_law_below_each_other(name: str):
    from lawdsl.reporting.documents.document_of import formula_of
    from lawdsl.reporting.report.page import _formula

    law = lawdsl.load(name)
    shown = _formula(formula_of(law))
    lines = law.latex().count("&=") or 1
    assert shown.count("<mtr>") == (lines if lines > 1 else 0)
    assert not re.search("<mi>&(amp;)?</mi>", shown)
