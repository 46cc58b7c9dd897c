"""Parts of the search for one unknown: signs, roots, pieces, draws and units, each by itself."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
from test_univariate_solver import function, least, x

import lawdsl
from lawdsl.compiling.intervals import Interval, precision
from lawdsl.law.quantities import Quantity
from lawdsl.solving.formulate.sources import unit_factor
from lawdsl.solving.nlp.log_scaling import choose_scale, scale_question
from lawdsl.solving.nlp.problem import NlpProblem
from lawdsl.solving.nlp.unboundedness import find_unbounded_path
from lawdsl.solving.uncertainty import interval
from lawdsl.solving.univariate.growth_rates import CoefficientArithmetic, Undecided
from lawdsl.solving.univariate.interval_functions import number
from lawdsl.solving.univariate.line_minimizer import _LineMinimizer
from lawdsl.solving.univariate.monte_carlo import best_of_draws
from lawdsl.solving.univariate.roots import ROOT_BITS, UnknownRange, as_float, roots


def test_what_vanishes_at_infinity_only_has_no_root_there():
    """exp(-x) underflows to exactly 0 at oo, which is not a number."""
    assert roots(function(sp.exp(-x)), UnknownRange(0.0, math.inf)).intervals == ()


def test_a_range_has_its_ends_unless_they_are_left_out():
    found = roots(function(x - 1), UnknownRange(0.0, 1.0))
    assert [as_float(place.low) for place in found.intervals] == [1.0]


def test_the_sign_of_a_sum_of_falling_powers_is_negative_up_to_its_zero():
    """-x - x^2 on [0, 1] is -x times 1 + x: the factor -x is 0 only at the end."""
    piece = Interval(number(0.0).low, number(1.0).low)
    with precision(ROOT_BITS):
        assert function(-x - x**2).sign(piece) == -1
        assert function(x + x**2).sign(piece) == 1


@pytest.mark.parametrize("degree", [2, 4])
def test_an_optimum_at_a_closed_end_is_an_end_though_the_slope_is_0_there(degree: int):
    found = least(x**degree, [], 0.0, 1.0)
    assert found.best is not None and found.best.point == 0.0 and found.best.kind == "end"


def test_a_place_that_ties_with_a_plateau_is_told_beside_it():
    """0 on [-1, 1], and at 4."""
    goal = sp.Min(sp.Max(sp.Abs(x) - 1, 0), sp.Abs(x - 4))
    found = least(goal, [], -3.0, 6.0)
    assert found.plateau == (-1.0, 1.0) and found.best is not None
    assert [c.point for c in found.others] == [4.0]


def test_pieces_with_a_rough_bound_are_cut_before_they_count_as_unclear():
    """x - x^2 + 1 >= 1 on [0, 1], where interval arithmetic at once says no more than >= 0."""
    minimising = _LineMinimizer(function(x - x**2 + 1), [], UnknownRange(0.0, 1.0))
    with precision(ROOT_BITS):
        piece = UnknownRange(0.0, 1.0).interval
        assert minimising._possibly_better_part(piece, number(0.9).low) == []
        (left,) = minimising._possibly_better_part(piece, number(1.0).high + 0.1)
    assert left.low <= 0 and left.high >= 1


def test_each_draw_has_its_best_place_between_the_values_looked_at():
    """A goal that first rises, and one of which the first values are not allowed."""
    at = np.array([-0.5, -0.1, 0.2, 0.4, 0.6])
    goal = np.stack([at**3 / 3 - 0.09 * at, (at - 0.3) ** 2])
    slope = np.stack([at**2 - 0.09, 2 * (at - 0.3)])
    margins = np.stack([np.ones_like(at), at + 0.3])[None]
    found = best_of_draws(at, goal, slope, margins, np.array([False]))
    assert found == pytest.approx([0.2 + 0.2 * 5 / 12, 0.3])


def test_an_interval_has_a_half_on_each_side():
    assert interval(3.0, 0.5) == (2.5, 3.5)
    assert interval(-3.0, 0.5) == (-3.5, -2.5)
    assert interval(3.0, math.inf) is None and interval(3.0, 1e-15) is None


def test_units_of_one_dimension_have_a_factor_and_others_are_refused():
    quantity = Quantity("N", sp.Symbol("N"), (), (("Mparam", 1),), None)
    source = SimpleNamespace(law=SimpleNamespace(name="chinchilla"))
    factor = unit_factor((("Gparam", 1),), quantity, source)  # type: ignore[arg-type]
    assert factor == 1000
    with pytest.raises(lawdsl.LawdslError, match="F0501"):
        unit_factor((("token", 1),), quantity, source)  # type: ignore[arg-type]


def load_question(folder: Path, *lines: str) -> lawdsl.Asked:
    path = folder / "parts.law"
    path.write_text("\n".join(("question parts", *lines, "")), encoding="utf-8")
    return lawdsl.Asked(path)


SQUARE = ("choose x in [1, 2]", "choose y in [1, 2]")


def test_linear_constraints_without_a_point_say_by_how_much_they_are_missed_at_least(
    tmp_path: Path,
):
    answer = load_question(
        tmp_path, *SQUARE, "minimize x^2 + y^2", "subject to x + y <= 1"
    ).answer()
    assert answer.proof == ("x + y <= 1 is missed by 1 at least",)


def test_a_constraint_with_room_has_no_price(tmp_path: Path):
    lines = ("minimize x^2 + y^2 + x*y", "subject to x + y <= 3.5")
    (kept,) = load_question(tmp_path, *SQUARE, *lines).answer().kept
    assert not kept.active and kept.price is None and kept.margin == pytest.approx(1.5)


def test_a_bound_of_a_product_gives_way_in_its_own_unit(tmp_path: Path):
    """x^2*y and x*y^2 of at most 1 leave a product of at most 1: 4 is 3 too many."""
    lines = ("choose x > 0", "choose y > 0", "minimize x*y", "subject to x*y >= 4")
    others = ("subject to x*y^2 <= 1", "subject to x^2*y <= 1")
    relaxed = {r.text: r.by for r in load_question(tmp_path, *lines, *others).answer().relaxations}
    assert relaxed["x*y >= 4"] == pytest.approx(3, rel=1e-6)


def test_a_constant_of_a_sum_that_falls_apart_is_counted_once(tmp_path: Path):
    lines = ("choose x in [0, 9]", "choose y in [0, 9]", "minimize (x - 1)^2 + (y - 2)^2 + 5")
    answer = load_question(tmp_path, *lines).answer()
    assert answer.goal is not None and answer.goal.value == 5


def test_a_goal_without_a_float_at_its_best_place_has_its_limit(tmp_path: Path):
    """0*log(0)"""
    answer = load_question(tmp_path, "choose x in [0, 0.5]", "minimize x - x*log(x)").answer()
    assert answer["x"] == 0 and answer.goal is not None and answer.goal.value == 0


def test_a_strict_condition_of_givens_is_broken_by_equal_ones(tmp_path: Path):
    lines = ("given a, b", "choose x in [0, 1]", "minimize (x - a)^2 + b", "subject to a < b")
    ready = load_question(tmp_path, *lines)
    assert ready.answer(a=1, b=2).ok
    with pytest.raises(lawdsl.LawdslError, match="F0503"):
        ready.answer(a=1, b=1)


@pytest.mark.parametrize("at", [0, 1])
def test_the_limit_of_an_arctangent_is_its_value(at: int):
    goal = function(sp.atan(x + at) + x)
    found = goal.limit(UnknownRange(0.0, 1.0).interval, lower=True)
    assert found is not None and as_float(found.low) == pytest.approx(math.atan(at), abs=1e-12)


def test_nothing_has_no_sign_and_no_inverse():
    assert CoefficientArithmetic().sign(CoefficientArithmetic().rational(0)) == 0
    with pytest.raises(Undecided):
        CoefficientArithmetic().inverse(CoefficientArithmetic().rational(0))


def test_a_compared_choice_has_its_own_value(tmp_path: Path):
    lines = ("choose x in [0, 9]", "minimize (x - 1)^2 + 2", "subject to x <= 5")
    answer = load_question(tmp_path, *lines).answer(compare=[{"x": 4.0}])
    (other,) = answer.compared
    assert other.goal == pytest.approx(11) and other.behind == pytest.approx(9)


def with_law(folder: Path, law: str, *lines: str, **parameters: float) -> lawdsl.Asked:
    """A question that uses a law, whose parameters are known, as `f`."""
    (folder / "fitted.law").write_text(law, encoding="utf-8")
    path = folder / "parts.law"
    path.write_text("\n".join(("question parts", "uses f : fitted", *lines, "")), encoding="utf-8")
    return lawdsl.Asked(path, f=parameters)


@pytest.mark.parametrize("domain", ["D > 0", "D >= 0"])
def test_a_domain_of_a_law_that_no_choice_leaves_is_not_listed(domain: str, tmp_path: Path):
    law = f"law fitted\nvariable {domain}\nparameter A > 0\nL = A/(D + 1)\n"
    lines = ("choose x in [1, 2]", "minimize f(D = x - 1/2) + x")
    assert with_law(tmp_path, law, *lines, A=2.0).answer().kept == ()


LIMITED = """law fitted
variable D > 0
variable r in (0, 1]
parameter B, beta, eta > 0
parameter C > 4*B*(beta + eta)/6^beta
L = B*r^eta/D^beta + C/(r + 1)
"""


@pytest.mark.parametrize("name", ["tokens", "beta"])
def test_a_bound_contradicts_an_answer_whatever_the_given_is_called(name: str, tmp_path: Path):
    """Inside, C = 4*B*(beta + eta)/tokens^beta would be needed, which is less where tokens > 6."""
    lines = (f"given {name} > 0", "choose r in (0, 1]", f"minimize f(D = {name}/r, r)")
    ready = with_law(tmp_path, LIMITED, *lines, B=1.0, beta=0.5, eta=2.0, C=9.0)
    (conflict,) = ready.answer(**{name: 7.0}).conflicts
    assert conflict.bound == "C > 4*B*(beta + eta)/6^beta"


@pytest.mark.parametrize(("total", "missed"), [(1.0, 1.0), (9.0, 5 - math.log(4))])
def test_an_equality_may_be_missed_from_either_side(total: float, missed: float, tmp_path: Path):
    lines = ("minimize x + y", f"subject to x + log(x) + y + log(y) = {total}")
    proof = load_question(tmp_path, *SQUARE, *lines).answer().proof
    assert f"is missed by {missed:.6g}" in proof[-1]


def test_the_logarithm_of_a_product_is_searched_and_a_sum_itself():
    n, d = sp.symbols("n d", positive=True)
    scales = [choose_scale(s, 0.0, math.inf, positive=True) for s in (n, d)]
    log_n, log_d = (s.variable for s in scales)
    of_product, of_sum = scale_question(n * d**2, [], scales), scale_question(n + d, [], scales)
    assert of_product.product and of_product.goal == log_n + 2 * log_d
    assert not of_sum.product and of_sum.goal == sp.exp(log_n) + sp.exp(log_d)


def test_of_winding_paths_the_one_that_falls_furthest_is_shown():
    """x^2 - x*y/10 rises along x = y; it falls as t^2 along y = 20*x, but slower along y = x^2."""
    y = sp.Symbol("y", real=True)
    unknowns = {x: (0.0, np.inf), y: (0.0, np.inf)}
    found = find_unbounded_path(NlpProblem(x**2 - x * y / 10, unknowns), np.zeros(2), 0.0, seed=0)
    assert found is not None and found.endless
    assert found.values[-1] < -1e40
