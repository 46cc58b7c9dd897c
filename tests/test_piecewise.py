"""Piecewise formulas: `if … then … else …` from the text of a law to its exports."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from judging import law_of

import lawdsl
from lawdsl.compiling import balls
from lawdsl.compiling.arrays import evaluate
from lawdsl.compiling.autodiff import values_and_gradients
from lawdsl.compiling.interval_evaluation import interval_sign
from lawdsl.compiling.interval_slopes import reverse_slopes
from lawdsl.compiling.intervals import OPERATIONS, Interval, NoInterval
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import LawdslError, Text
from lawdsl.fitting.preparation.breakpoints import breakpoints
from lawdsl.language.latex import formula_latex
from lawdsl.language.library import declared
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_document
from lawdsl.law.functions import Choice
from lawdsl.proof.identifiability import freedom

LAW = "law pieces\nvariable r in [0, 1]\nvariable D > 0\nparameter A, B, C > 0\n"


def formula_of(text: str) -> str:
    """The formula of a let, printed."""
    document, mistakes = parse(f"let x = {text}\n")
    assert not mistakes, mistakes
    return print_document(document).removeprefix("let       x = ").rstrip("\n")


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("if r > 0.1 then A*r else B", "if r > 0.1 then A*r else B"),
        ("(if r>0.1 then A else B)", "if r > 0.1 then A else B"),
        ("A + (if r ≥ 1 then A else B)*2", "A + (if r >= 1 then A else B)*2"),
        ("if a < b then (if c < d then 1 else 2) else (if e <= f then 3 else 4)",)
        + ("if a < b then (if c < d then 1 else 2) else if e <= f then 3 else 4",),
        ("if a < b then 1 else c + 2", "if a < b then 1 else c + 2"),
        ("if a +\n b < c\n then 1\n else 2", "if a + b < c then 1 else 2"),
        ("if + then", None),
        ("then + else*if^2", "then + else*if^2"),
    ],
)
def test_piecewise_formulas_are_read_and_printed(written: str, printed: str | None):
    if printed is None:
        assert parse(f"let x = {written}\n")[1] == []  # `if`, `then` and `else` are names elsewhere
    else:
        assert formula_of(written) == printed
        assert formula_of(printed) == printed


def test_a_long_formula_is_broken_before_its_parts():
    part = "*".join(["alpha_of_the_first_domain"] * 3)
    text = print_document(parse(f"let x = if r > 0.1 then {part} else {part}\n")[0])

    assert "\n    else " in text and print_document(parse(text)[0]) == text


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("L = if r > 0.1 then A*B*C", "L0203", "no `else`"),
        ("L = if 0 < r < 1 then A else B*C", "L0203", "one comparison"),
        ("L = if r > 0.1 and D > 1 then A else B*C", "L0203", "one comparison"),
        ("L = if r = 0.1 then A else B*C", "L0203", "cannot test equality"),
        ("L = if r > 0.1 then else B*C", "L0203", "a formula is missing before `else`"),
        ("L = if r > 0.1 than A else B*C", "L0201", "unexpected `than`"),
        ("L = A + if r > 0.1 then B else C", "L0203", "in brackets"),
        ("L = A*B if r > 0.1 else C", "L0203", "before the formulas"),
        ("L = 1 + (A*B if r/D > 0.1 else C )*2", "L0203", "(if r/D > 0.1 then A*B else C )*2`"),
        ("L = A*B*C*r\nparameter E > (if A > 1 then 2 else 3)", "L0308", "cannot be piecewise"),
        ("let m = if A > 1 then 2 else 3\nparameter E > m\nL = A*B*C*r*E", "L0308", "and `m` is"),
        ("L = A*B*C*r\ntie A = if B > 1 then B else C", "L0308", "a tie cannot be piecewise"),
        ("setting s = 1 unit token\nL = A*B + (if s > 1 then C else r)", "", ""),
    ],
)
def test_mistakes_have_messages_of_their_own(line: str, code: str, message: str):
    try:
        declared(Text("pieces.law", LAW + line + "\n"), Path())
    except LawdslError as error:
        assert code in [d.code for d in error.diagnostics]
        assert any(message in f"{d.message} {d.help}" for d in error.diagnostics), error
    else:
        assert not code


@pytest.mark.parametrize("parts", ["if s > t then A else B", "if r > 0.1 then s else t"])
def test_units_of_both_sides_and_of_both_parts_agree(parts: str):
    units = "setting s = 1 unit token\nsetting t = 1 unit param\n"

    with pytest.raises(LawdslError, match="L0410"):
        declared(Text("pieces.law", f"{LAW}{units}L = ({parts}) + A*B*C\n"), Path())


def test_a_part_that_numbers_rule_out_needs_no_value():
    law = law_of(LAW + "setting s = 2\nL = A*B*C + (if 1 > 2 then 1/0 else r)\n")

    assert law.expression == law_of(LAW + "L = A*B*C + r\n").expression


def test_latex_has_cases_and_one_block_for_several():
    tree = parse("let x = if r > 0.1 then A else if r <= 0.01 then B else C\n")[0].statements[0]

    assert formula_latex(tree.formula) == (
        r"\begin{cases} A & \text{if } r > 0.1 \\ B & \text{if } r \le 0.01 \\ "
        r"C & \text{otherwise} \end{cases}"
    )


# Values and derivatives

X, Y = sp.Symbol("x", real=True), sp.Symbol("y", real=True)


@pytest.mark.parametrize(("relation", "at"), [(">", 2), (">=", 1), ("<", 2), ("<=", 1)])
def test_each_relation_takes_the_right_part_at_the_border(relation: str, at: int):
    law = law_of(
        f"law a\nvariable x in [-1, 1]\nparameter k > 0\nL = k*(if x {relation} 0 then 1 else 2)"
    )
    x, k = law.symbols["x"], law.symbols["k"]
    tape = compile_tape([law.expression.xreplace({k: sp.S.One})], [x])

    assert evaluate(tape, [np.array([0.0, 0.5, -0.5])])[0].tolist() == [
        at,
        1 if relation[0] == ">" else 2,
        2 if relation[0] == ">" else 1,
    ]
    assert (
        interval_sign(
            compile_tape([law.expression.xreplace({k: sp.S.One}) - at], [x]), [Fraction(0)]
        )
        == 0
    )


def test_the_part_that_is_not_taken_needs_no_value_and_no_slope():
    e = Choice(X - 1, sp.sqrt(X - 1) + Y, sp.log(1 - X) * Y)
    tape = compile_tape([e], [X, Y])
    values, slopes = values_and_gradients(tape, np.array([[2.0, 0.0], [3.0, 3.0]]))

    np.testing.assert_allclose(values[0], [4, 0])
    np.testing.assert_allclose(slopes[0], [[0.5, -3.0], [1, 0]])


def test_there_is_no_slope_over_a_border():
    tape = compile_tape([Choice(X, X + 1, X)], [X])
    around = Interval(balls.arb(-1), balls.arb(1))
    one = Interval(balls.arb(1), balls.arb(1))
    enclosed = OPERATIONS["choice"](around, one, Interval(balls.arb(5), balls.arb(6)))

    assert (enclosed.low, enclosed.high) == (1, 6)
    results = [around, one, one, around]
    with pytest.raises(NoInterval):
        reverse_slopes(tape, results[: len(tape.instructions)], [one], 1)
    with pytest.raises(balls.NoBall):
        balls.slopes(tape, [balls.arb(0)], 1)


def test_derivatives_are_those_of_the_part_and_a_jump_has_none():
    x = sp.Symbol("x", positive=True)
    jump = sp.diff(Choice(x - 1, x**2, 3 * x), x)

    assert jump.has(sp.DiracDelta)
    assert sp.diff(Choice(x - 1, x, 2), Y) == 0
    assert Choice(x, X, Y) == X and Choice(-x, X, Y) == Y and Choice(X, Y, Y) == Y


# Proofs: fixtures/natural/segments.law and jumps.law, and these


def verdict_of(text: str, claim: str) -> lawdsl.Verdict:
    law = law_of(f"{text}\nrequire {claim}\n")
    return lawdsl.check(law, seconds=3).claims[0]


FALLS = "law a\nvariable r in [0, 1]\nparameter A, B > 0\nL = if r > 0.5 then {} else {}"


@pytest.mark.parametrize(
    ("parts", "claim", "verdict"),
    [
        (("A + r", "A + r"), "L increasing in r", "proved"),
        (("A + r", "A - 0.1 + r"), "L increasing in r", "proved"),
        (("A + r", "A + 0.1 + r"), "L increasing in r", "refuted"),
        (("A + r", "A + 1/1000 + r"), "L increasing in r", "refuted"),
        (("A + r", "B + r"), "L increasing in r", "refuted"),
        (("A + 0.5*(r - 0.5)", "A + 2*(r - 0.5)"), "L increasing in r", "proved"),
        (("A - r", "A - 2*r"), "L decreasing in r", "refuted"),
        (("A - r", "A + 1 - 2*r"), "L decreasing in r", "proved"),
        (("A + r", "A - r"), "∂L/∂r > 0", "refuted"),
        (("A + r", "A + r + 1"), "∂L/∂r > 0", "undecided"),
        (("log(r)", "A"), "L finite", "proved"),
        (("A", "log(r)"), "L finite", "refuted"),
        (("1/(r - 0.5)", "A"), "L finite", "proved"),
        (("A", "1/(r - 0.5)"), "L finite", "refuted"),
        (("A", "B"), "L > 0", "proved"),
        (("A", "A - 1"), "L > 0", "undecided"),
    ],
)
def test_claims_are_decided_part_by_part(parts: tuple[str, str], claim: str, verdict: str):
    assert verdict_of(FALLS.format(*parts), claim).verdict == verdict


@pytest.mark.parametrize("condition", ["N < r*M", "N >= r*M", "r*M < N"])
def test_a_part_keeps_the_bound_that_is_declared_beside_that_of_its_condition(condition: str):
    text = "law a\nvariable N, M > 0\nvariable r in [0, 1]\nparameter A, B, alpha > 0\n"
    text += f"L = A/N^alpha + (if {condition} then B*r else B)"
    assert verdict_of(text, "L finite").verdict == "proved"
    assert verdict_of(text, "L > 0").verdict == "proved"
    at_zero = text.replace("variable N, M > 0", "variable N, M >= 0")
    assert verdict_of(at_zero, "L finite").verdict != "proved"


def test_a_derivative_over_a_border_is_answered_with_the_trend():
    text = FALLS.format("A + r", "A + r + 1")
    for claim, trend in (
        ("∂L/∂r > 0", "increasing"),
        ("0 < ∂L/∂r", "increasing"),
        ("∂L/∂r < 2", None),
    ):
        blame = "∂L/∂r may have no value where r = 0.5"
        blame += f": write `require L {trend} in r`" if trend else ""
        assert verdict_of(text, claim).blame == blame
    assert verdict_of(FALLS.format("-r", "-2*r"), "∂L/∂r < 0").blame == (
        "∂L/∂r may have no value where r = 0.5: write `require L decreasing in r`"
    )


def test_a_proof_has_a_line_for_each_part_with_its_own_facts():
    proof = verdict_of(FALLS.format("A*r", "B*r - B"), "L increasing in r").proof
    assert proof == (
        "where r > 0.5: ∂L/∂r = A, because A > 0",
        "where r <= 0.5: ∂L/∂r = B, because B > 0",
        "where r = 0.5: L does not jump down as r rises",
    )
    parts = " else ".join(f"if r > 0.{9 - n} then A*r" for n in range(3))
    text = f"law a\nvariable r in [0, 1]\nparameter A > 0\nL = {parts} else A*r"
    assert verdict_of(text, "L increasing in r").proof[-1] == "and 3 more lines"


def test_a_refuted_trend_names_two_points():
    found = verdict_of(FALLS.format("A + r", "A + 0.1 + r"), "L increasing in r")

    assert dict(found.witness)["r"] == "49/100" and "to r = 51/100" in (found.value or "")


SMALL_JUMPS = "law a\nvariable D, N > 0\nparameter A > 0\n"


@pytest.mark.parametrize(
    ("lines", "formula"),
    [
        # the claim itself is piecewise; no point of its border is exact
        ("L = A/N", "L + (if N + log(N) > 3 then {} else {})"),
        # two conditions with one border
        ("let j = if 2*N > 6 then {} else {}\nL = if N > 3 then j - 999*N*A else j - 999*N*A", "L"),
        # a name in a condition is another formula on the other side of the border
        ("let g = if N > 3 then 2*N else N\nL = (if g > 5 then {} else {}) - 999*N*A", "L"),
        ("let g = if D > 3 then D else N\nL = (if g > 4 then {} else {}) - 999*N*A", "L"),
    ],
)
def test_no_trend_is_proved_over_a_jump_against_it(lines: str, formula: str):
    for parts, expected in (("A/9999", "0"), "undecided"), (("0", "A/9999"), "proved"):
        text, claim = (SMALL_JUMPS + lines).format(*parts), formula.format(*parts)
        assert verdict_of(text, f"{claim} decreasing in N").verdict == expected


def test_no_trend_is_refuted_by_points_without_a_value():
    """Algebra writes c*c^(b - 1) as c^b, which has a value at c = 0."""
    text = "law a\nvariable r in [0, 1]\nparameter c >= 0\nparameter b in (0, 1]\n"
    text += "L = c*c^(b - 1)*r - (if r > 0.5 then 1 else 0)"
    found = verdict_of(text, "L increasing in r")

    assert found.verdict != "refuted" or dict(found.witness)["c"] != "0"


def test_a_condition_needs_a_value_too():
    text = "law a\nvariable r in [0, 1]\nparameter A > 0\nL = if log(r) > -1 then A else 2*A"

    assert verdict_of(text, "L finite").verdict == "refuted"
    assert verdict_of(text, "L > 0").verdict == "undecided"


def test_nothing_is_said_of_values_and_other_laws_of_a_piecewise_law():
    text = FALLS.format("A", "B")

    assert verdict_of(text, "L(r = 0.2) > 0").verdict == "undecided"
    assert verdict_of(text, "L is chinchilla").verdict == "undecided"


def test_a_jump_of_a_parameter_is_not_called_without_effect():
    law = law_of("law a\nvariable D > 0\nparameter A, B, D0 > 0\nL = A + (if D > D0 then B else 0)")

    assert not any("D0" in s.parameters for s in freedom(law).symmetries)


# Fits

KINK = "law kink\nvariable D > 0\nparameter E, A, B, D0 > 0\n"
KINK += "L = E + A*log(D) + (if D > D0 then B*log(D/D0) else 0)\nminimize squared(L)\n"
JUMP = "law jump\nvariable D > 0\nparameter E, A, B, D0 > 0\n"
JUMP += "L = E + A/D^0.5 + (if D > D0 then B else 0)\nminimize squared(L)\n"
D = np.geomspace(10, 1000, 24)
NOISE = 0.003 * np.random.default_rng(0).normal(size=len(D))


def test_a_fitted_kink_is_found_and_its_finding_asks_for_caution():
    data = 2 + 0.2 * np.log(D) + np.where(D > 90, 0.5 * np.log(D / 90), 0) + NOISE
    fit = lawdsl.fit(law_of(KINK), {"D": D, "L": data}, starts=24, rolled_check=False)

    assert breakpoints(law_of(KINK)) == ("D0",)
    assert fit.values["D0"] == pytest.approx(90, rel=0.05) and fit.verdict == "caution"
    assert [d.code for d in fit.diagnostics] == ["F0158"]


def test_a_fitted_jump_lies_between_rows_and_has_no_interval():
    data = 2 + 3 / D**0.5 + np.where(D > 90, 0.5, 0) + NOISE
    fit = lawdsl.fit(law_of(JUMP), {"D": D, "L": data}, starts=48, rolled_check=False)
    (finding,) = [d for d in fit.diagnostics if d.code == "F0158"]
    below, above = D[D <= 90].max(), D[D > 90].min()

    assert below <= fit.values["D0"] < above and fit.values["B"] == pytest.approx(0.5, abs=0.02)
    assert not fit.parameters["D0"].identified and fit.verdict == "caution"
    assert f"any D0 from {below:.4g} to {above:.4g} fits as well" in finding.notes
    assert fit.intervals is not None and "D0" not in (fit.intervals.ends or {})


def test_values_that_fit_as_well_are_in_the_domain_of_the_breakpoint():
    law = law_of(JUMP.replace("B, D0 > 0", "B > 0\nparameter D0 in [1, 80]"))
    data = 2 + 3 / D**0.5 + np.where(D > 90, 0.5, 0) + NOISE
    fit = lawdsl.fit(law, {"D": D, "L": data}, starts=48, rolled_check=False)
    (finding,) = fit.diagnostics

    assert finding.code == "F0158" and fit.parameters["D0"].at_bound is None
    assert f"any D0 from {D[D <= 90].max():.4g} to 80 fits as well" in finding.notes


def test_a_known_breakpoint_is_no_finding():
    law = law_of(JUMP).holding(["fix D0 = 90"])
    data = 2 + 3 / D**0.5 + np.where(D > 90, 0.5, 0) + NOISE
    fit = lawdsl.fit(law, {"D": D, "L": data}, starts=8, rolled_check=False)

    assert not breakpoints(law) and fit.verdict == "trusted"
    assert fit.values == pytest.approx({"E": 2, "A": 3, "B": 0.5}, rel=0.03)


def test_a_long_line_is_broken_before_its_parts():
    name = "a_parameter_with_a_name_that_is_rather_long"
    text = f"law long\nvariable x > 0\nparameter {name} > 0\n"
    formula = f"if x > {name} then {name}*({'x*' * 60}x) else {name}"
    document, found = parse(f"{text}L = {formula}\n", "long.law")
    assert not found
    printed = print_document(document)
    again, found = parse(printed, "long.law")
    assert not found and print_document(again) == printed
