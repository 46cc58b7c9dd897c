"""Spellings of other languages: each has a message of its own, and a fix where it needs no guess."""

import json
from pathlib import Path

import pytest
from commands import run as lawdsl
from marked_texts import applied

from lawdsl.core.diagnostics import Text
from lawdsl.editing.document import read_document
from lawdsl.editing.fixes import Correction, all_corrected, corrections
from lawdsl.language.fixes import fix_text
from lawdsl.language.library import OpenFiles, warnings_of
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
    ("L = E + A/(N^alpha) + log N", "L = E + A/(N^alpha) + log(N)"),
    (r"L = E + \frac{A}{N^\alpha} + \log N", "L = E + A/(N^alpha) + log(N)"),
    (r"L = E + B\frac{A}{N}D", "L = E + B*(A/N)*D"),
    (r"L = A\sqrt{N}\alpha\beta", "L = A*sqrt(N)*alpha*beta"),
    (r"L = E + N^\frac{1}{2}", "L = E + N^(1/2)"),
    ("L = N²D", "L = N^2*D"),
    ("L = E + A*N^-2 D", "L = E + A*N^-2*D"),
    ("L = E + A log N", "L = E + A*log(N)"),
    ("L = E + 1,000,000*A", "L = E + 1000000*A"),
    ("L = E + A|N|", "L = E + A*abs(N)"),
    ("L = E + log(N, 10)", "L = E + log10(N)"),
    ("L = A/sqr(N) + Math.max(N, 1) + exp N", "L = A/(N^2) + max(N, 1) + exp(N)"),
    ("require d/dN L(N) < 0", "require ∂L/∂N < 0"),
    ("require d/dN L(N, D) < 0", "require ∂L/∂N < 0"),
    ("require L > E and L < 10", "require L > E\nrequire L < 10"),
    ("require L in (0, 10]", "require L > 0\nrequire L <= 10"),
    ("require 0 < L <= 10 for N > 1", "require 0 < L for N > 1\nrequire L <= 10 for N > 1"),
    ("L = E + A√N", "L = E + A*sqrt(N)"),
    (r"L = E + \alpha\frac{A}{N}", "L = E + alpha*(A/N)"),
    ("L = if 0 < N < 1 then E else A", "L = if N > 0 then (if N < 1 then E else A) else A"),
]

# what is written, and what the help has to say: here a fix would be a guess
ADVISED = [
    ("L = if N > 1 then A", "has no `else`", "add `else`"),
    ("L = Σ A*N", "written as a function", "sum(a[j]*x[j] for j)"),
    ("require not L > 3", "negation", "opposite relation"),
    ("require lim L = E as N -> oo", "limit", "`require L -> E as N -> oo`"),
    ("require L' < 0", "`'`", "`∂L/∂N`"),
    ("require L > 0 and L < 10 for N > 1", "`and`", "`require L < 10"),
    ("L = E + 1.5e A/N", "exponent of `1.5e`", "such as `1.5e6`"),
    ('data "runs.csv"', "unknown statement `data`", "`lawdsl fit my_law.law runs.csv`"),
    ("tie alpha", "ends too early", "such as `tie alpha = 2*E`"),
    ("L = E + 0.5.2", "one decimal point", "leave the second one out"),
    ("L = E + log2 N", "round brackets", "write `log2(…)`"),
    ("L = E + max N D", "round brackets", "write `max(…, …)`"),
    ("L = E + N mod D", "no operator `mod`", "+ - * / ^"),
    ("require d/dN L*N < 0", "`∂L/∂N`", "write"),
    ("L = E + √N D", "U+221A", "sqrt(x)"),
    ("L = E + A/2|N|", "unexpected `|`", "abs(x)"),
    ("L = E + N^2|D|", "unexpected `|`", "abs(x)"),
    ("L = E + log|N|", "unexpected `|`", "abs(x)"),
    ("require d/dN L² < 0", "`∂L/∂N`", "write"),
    ("require d/dN L N < 0", "unknown claim `L`", "relations"),
    ("require d/dN log(L) < 0", "not of `log(…)`", "`∂L/∂N`"),
    ("require 0 < L < 10 for N > 1 expect refuted", "one comparison", "one claim per line"),
    ("require L in [0, 10] for N > 1 expect refuted", "a range", "`require L <= 10 for N > 1`"),
]

# what is written, and what each of the edits that a person may choose makes of it
ASKED = [
    ("L = E + A//N^alpha", ["L = E + A/N^alpha", "L = E + A#N^alpha"]),
    ("L = E + A //N^alpha", ["L = E + A /N^alpha", "L = E + A #N^alpha"]),
    ('L = E + A//N unit nat "loss"', [f'L = E + A{s}N unit nat "loss"' for s in "/#"]),
    ("require L > E//2 for N > 1", [f"require L > E{s}2 for N > 1" for s in "/#"]),
    ("L = E + A*log 2N", ["L = E + A*log(2*N)", "L = E + A*log(2)*N"]),
    ("L = E + A*log 2N^alpha", ["L = E + A*log(2*N^alpha)", "L = E + A*log(2)*N^alpha"]),
    ("L = A*log 2N*D", [f"L = A*{a}" for a in ("log(2*N*D)", "log(2*N)*D", "log(2)*N*D")]),
    ("L = E + A/2N", ["L = E + A/(2*N)", "L = E + A/2*N"]),
    ("L = E + A/N D", ["L = E + A/(N*D)", "L = E + A/N*D"]),
    ("L = E + A/N²D", ["L = E + A/(N^2*D)", "L = E + A/N^2*D"]),
    ("L = E + A/2(N+1)", ["L = E + A/(2*(N+1))", "L = E + A/2*(N+1)"]),
    ("L = N^2D", ["L = N^2*D", "L = N^(2*D)"]),
    ("L = E + 1,500*N", ["L = E + 1500*N", "L = E + 1.500*N"]),
    ("L = EA + A/N", ["L = E*A + A/N"]),
    ("L = E + 1/NN", ["L = E + 1/(N*N)"]),
    ("L = E + 0.5.A/N", ["L = E + 0.5*A/N"]),
    ("require L finit", ["require L finite"]),
    ("minimize hubber(log(L), 1e-3)", ["minimize huber(log(L), 1e-3)"]),
    ("const k = 4", ["setting k = 4"]),
    ("assert L > 0", ["require L > 0"]),
    ("params gamma > 0", ["parameter gamma > 0"]),
]


def document(line: str, unit: str = "") -> str:
    lines = [line] if line.startswith("L") else [LAW, line]
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


@pytest.mark.parametrize(("written", "meant"), ASKED, ids=[pair[0] for pair in ASKED])
def test_where_a_line_has_several_readings_a_person_chooses(written, meant, tmp_path):
    text = document(written)
    result = fix_text(Text("x.law", text), lambda t: warnings_of(t, Path()))
    assert result.text.text == text and not result.fixed
    (error,) = [d for d in result.left if d.severity == "error"]
    assert "did you mean" in (error.help or "")
    opened = read_document(text, tmp_path / "x.law")
    offered = list(corrections(opened, error.span))
    assert not any(c.safe for c in offered) and all_corrected(opened, OpenFiles()) is None
    chosen = [c for c in offered if c.diagnostic.code == error.code]
    assert [applied(text, c.edits) for c in chosen] == [document(line) for line in meant]
    assert all(
        c.title == f"replace `{written_at(text, c)}` with `{c.edits[0].text}`" for c in chosen
    )


def written_at(text: str, correction: Correction) -> str:
    span = correction.edits[0].span
    return text[span.start : span.end]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("variabel", "variable"),
        ("Variable", "variable"),
        ("variables", "variable"),
        ("varaible", "variable"),
    ],
)
def test_a_misspelt_keyword_is_corrected_as_a_fact(written, meant):
    text = document(LAW).replace("variable N", f"{written} N")
    result = fix_text(Text("x.law", text), lambda t: warnings_of(t, Path()))
    assert [d.help for d in result.fixed] == [f"write `{meant}`"]
    assert result.text.text == document(LAW)


def test_a_label_of_an_element_is_asked_about():
    text = """law x
index i over {web, code}
variable r[i] in simplex
parameter t[i] > 0
L = sum(t[i]*r[i] for i)
fix t[cod] = 2
"""
    result = fix_text(Text("x.law", text), lambda t: warnings_of(t, Path()))
    (error,) = [d for d in result.left if d.severity == "error"]
    assert error.message == "`cod` is none of {web, code}" and not result.fixed
    assert applied(text, error.suggested) == text.replace("cod]", "code]")


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
