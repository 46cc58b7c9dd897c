"""Spellings of other languages: each has a message of its own, and a fix where it needs no guess."""

import json
from pathlib import Path

import pytest
from commands import run as lawdsl

from lawdsl.core.diagnostics import Text
from lawdsl.language.fixes import fix_text
from lawdsl.language.library import warnings_of
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_document

HEAD = """law x "a law"
variable N > 0  {unit}
variable D > 0
parameter E, A, B, alpha, beta > 0
"""
LAW = "L = E + A/N^alpha + B/D^beta"

# what is written, what is meant: the law's equation, or a claim behind it
FIXED = [
    ("L = |E - N|", "L = abs(E - N)"),
    ("L = √N", "L = sqrt(N)"),
    ("L = E + 1,5*N", "L = E + 1.5*N"),
    ("L = E + A/N**alpha", "L = E + A/N^alpha"),
    ("L == E + A/N^alpha", LAW[:17]),
    ("L(N, D) = E + A/N^alpha", "L = E + A/N^alpha"),
    ("L = E + A*np.exp(-N)", "L = E + A*exp(-N)"),
    ("L = E + A*torch.log(N)", "L = E + A*log(N)"),
    ("L = E + A*ln(N)", "L = E + A*log(N)"),
    ("L = E + A*log2(N)", "L = E + A*(log(N)/log(2))"),
    ("L = E + A*log_10(N)", "L = E + A*log10(N)"),
    ("L = E + A N", "L = E + A*N"),
    ("L = E + 2 N", "L = E + 2*N"),
    ("L = (E + A)(N + 1)", "L = (E + A)*(N + 1)"),
    ("L = E + A/N^{alpha}", "L = E + A/N^(alpha)"),
    ("L = E + [A + B]*N", "L = E + (A + B)*N"),
    ("L = E + A·N⁻¹²", "L = E + A*N^-12"),
    ("L = E + A×N", "L = E + A*N"),
    ("L = E − A/N", "L = E - A/N"),
    ("L = E + A/N²", "L = E + A/N^2"),
    ("L = E + A/N^½", "L = E + A/N^(1/2)"),
    ("L = E + A*e^(-N)", "L = E + A*exp(-N)"),
    ("L = E + 1_000_000*A", "L = E + 1000000*A"),
    ("L = E + A/N^alpha;", "L = E + A/N^alpha"),
    ("L = E + A/N^alpha  // Chinchilla", "L = E + A/N^alpha  # Chinchilla"),
    ("L = E + A/N if N > 1 else A", "L = if N > 1 then E + A/N else A"),
    ("L = E + (A/N if N > 1 else A)", "L = E + (if N > 1 then A/N else A)"),
    ("L = E + if N > 1 then A/N else A", "L = E + (if N > 1 then A/N else A)"),
    (
        "L = if N > 1 then A elif N > 2 then E else N",
        "L = if N > 1 then A else if N > 2 then E else N",
    ),
    ("require d/dN L < 0", "require ∂L/∂N < 0"),
    ("require 𝜕L/𝜕N < 0", "require ∂L/∂N < 0"),
    ("require grad(L, N) < 0", "require diff(L, N) < 0"),
    ("require 0 < L < 10", "require 0 < L\nrequire L < 10"),
    ("require L is decreasing in N", "require L decreasing in N"),
    ("require L decreasing with N", "require L decreasing in N"),
    ("require L decreases with N", "require L decreasing in N"),
    ("require L monotonically decreasing in N", "require L decreasing in N"),
    ("require L → E as N → inf, D → inf", "require L -> E as N -> oo, D -> oo"),
    ("require L is strictly decreasing in N", "require L decreasing in N"),
    ("L = if 0 < N < 1 then E else A", "L = if N > 0 then (if N < 1 then E else A) else A"),
]

# what is written, and what the help has to say: here a fix would be a guess
ADVISED = [
    ("L = if N > 1 then A", "has no `else`", "add `else`"),
    ("L = Σ A*N", "written as a function", "sum(a[j]*x[j] for j)"),
    ("require not L > 3", "negation", "opposite relation"),
    ("require lim L = E as N -> oo", "limit", "`require L -> E as N -> oo`"),
    ("require L' < 0", "`'`", "`∂L/∂N`"),
    ("require L > 0 and L < 10", "`and`", "`require L < 10`"),
]


def document(line: str, unit: str = "") -> str:
    lines = [LAW, line] if line.startswith("require") else [line]
    return HEAD.format(unit=unit) + "\n".join(lines) + "\n"


def mistakes_of(text: str) -> list:
    return list(fix_text(Text("x.law", text), lambda t: warnings_of(t, Path())).left)


@pytest.mark.parametrize(("written", "meant"), FIXED, ids=[pair[0] for pair in FIXED])
def test_a_fix_writes_what_is_meant(written, meant):
    result = fix_text(Text("x.law", document(written)), lambda t: warnings_of(t, Path()))
    assert result.fixed and not [d for d in result.left if d.severity == "error"]
    intended, errors = parse(document(meant))
    assert not errors
    assert print_document(parse(result.text.text)[0]) == print_document(intended)
    assert all(d.help and d.help != "remove it" for d in result.fixed)


@pytest.mark.parametrize(("written", "problem", "advice"), ADVISED, ids=[a[0] for a in ADVISED])
def test_what_would_be_a_guess_is_advised(written, problem, advice):
    result = fix_text(Text("x.law", document(written)), lambda t: warnings_of(t, Path()))
    assert result.text.text == document(written) and not result.fixed
    (error,) = [d for d in result.left if d.severity == "error"]
    assert problem in error.message and advice in (error.help or "")


@pytest.mark.parametrize(
    ("unit", "meant"), [("unit Bparam", "unit Gparam"), ("unit Btokens", "unit Gtoken")]
)
def test_a_prefix_of_model_cards_becomes_that_of_the_si(unit, meant):
    # the factor of 1e9 must not be lost
    result = fix_text(Text("x.law", document(LAW, unit)), lambda t: warnings_of(t, Path()))
    assert meant in result.text.text and not result.left


def test_a_unit_behind_a_formula():
    result = fix_text(Text("x.law", document(f"{LAW} nat/token")), lambda t: warnings_of(t, Path()))
    assert f"{LAW} unit nat/token" in result.text.text and not result.left


def test_a_text_without_mistakes_is_not_changed():
    text = document(LAW)
    assert fix_text(Text("x.law", text), lambda t: warnings_of(t, Path())).text.text == text


def test_the_commands_fix_files(tmp_path):
    path = tmp_path / "x.law"
    path.write_text(document("L = E + A/N**alpha + B/D**beta"))
    report = json.loads(lawdsl("check", "--syntax", "--json", str(path)).stdout)
    edit = report["diagnostics"][0]["edits"][0]
    assert edit == {"start": [5, 12], "end": [5, 14], "text": "^"}
    done = lawdsl("check", "--syntax", "--fix", str(path))
    assert done.returncode == 0 and f"fixed {path}:5:12: write `^` for `**`" in done.stderr
    assert LAW in path.read_text()
    again = path.read_text()
    lawdsl("fmt", "--fix", str(path))
    assert path.read_text().split() == again.split()


def test_standard_input_is_checked_and_formatted():
    text = document("L = E + A/N**alpha + B/D**beta")
    done = lawdsl("check", "--syntax", "-", stdin=text)
    assert done.returncode == 3 and "<stdin>:5:12" in done.stderr
    assert LAW in lawdsl("fmt", "--fix", "-", stdin=text).stdout
    done = lawdsl("check", "-", stdin=document(f"{LAW}\nrequire ∂L/∂N < 0"))
    assert done.returncode == 0 and "PROVED" in done.stdout


def test_shipped_laws_are_not_changed():
    done = lawdsl("check", "--fix", "chinchilla")
    assert done.returncode == 2 and "none of yours" in done.stderr


def test_fix_with_a_value_holds_a_parameter(tmp_path):
    path = tmp_path / "x.law"
    path.write_text(document(f"{LAW}\nrequire ∂L/∂N < 0"))
    assert lawdsl("check", str(path), "--fix", "alpha=0.5").returncode == 0
