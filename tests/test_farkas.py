"""Affine conditions are called contradictory only where exact multipliers prove it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from quick import some

import lawdsl
from lawdsl.solving.nlp.farkas import is_farkas_certificate
from lawdsl.solving.nlp.multistart import minimise
from lawdsl.solving.nlp.problem import NlpConstraint, NlpProblem

x, y, z = sp.symbols("x y z", real=True)
FREE = (-np.inf, np.inf)


def problem(box: dict[sp.Symbol, tuple[float, float]], *margins: sp.Expr) -> NlpProblem:
    return NlpProblem(x**2 + y, box, [NlpConstraint(str(k), m) for k, m in enumerate(margins)])


def test_unknowns_without_ends_cancel_exactly():
    """3 (x + y/3 - 1) + (2 - 3 x - y + 1.5) = 0.5 for all x and y."""
    one = problem({x: FREE, y: FREE}, x + y / 3 - 1, 2 - 3 * x - y + sp.Rational(3, 2))

    assert is_farkas_certificate(one, [0, 1], np.array([0.3, 0.1]))
    assert is_farkas_certificate(one, [0, 1], np.array([0.3 + 1e-10, 0.1]))
    found = minimise(one)
    assert not found.feasible and found.proved_infeasible


@pytest.mark.parametrize(
    "weights", [(1.0, 0.0), (0.0, 1.0), (0.1, 0.3), (-0.3, -0.1), (np.nan, 1.0), (0.0, 0.0)]
)
def test_other_weights_prove_nothing(weights: tuple[float, float]):
    one = problem({x: FREE, y: (0.0, 9.0)}, x + y / 3 - 1, 1 - x - y / 3)

    assert not is_farkas_certificate(one, [0, 1], np.array(weights))


def test_conditions_that_touch_are_no_contradiction():
    """x + y <= 1 and x + y >= 1 leave a line, whatever the weights."""
    one = problem({x: FREE, y: FREE}, x + y - 1, 1 - x - y)

    assert not is_farkas_certificate(one, [0, 1], np.array([1.0, 1.0]))
    assert minimise(one).feasible


def test_a_logarithm_in_a_constant_is_bounded():
    box = {x: (0.0, np.inf), y: (0.0, np.inf)}
    one = problem(box, x + y - sp.log(3), sp.log(3) + sp.Rational(1, 1000) - x - y)

    assert is_farkas_certificate(one, [0, 1], np.array([1.0, 1.0]))


@pytest.mark.parametrize("seed", some(range(40), 14))
def test_a_system_with_a_point_is_never_excluded(seed: int):
    """Rows of fractions that hold at a point of the box, some of them with equality."""
    rng = np.random.default_rng(seed)
    place = {s: Fraction(int(rng.integers(-40, 40)), 7) for s in (x, y, z)}
    sizes = 10.0 ** rng.integers(-9, 9, size=3)
    rows = []
    for _ in range(5):
        slopes = [
            Fraction(int(k), 3) * Fraction(float(s))
            for k, s in zip(rng.integers(-9, 9, 3), sizes, strict=True)
        ]
        offset = -sum(a * p for a, p in zip(slopes, place.values(), strict=True))
        room = Fraction(int(rng.integers(0, 2)), 1000)
        terms = [
            sp.Rational(a.numerator, a.denominator) * s for a, s in zip(slopes, place, strict=True)
        ]
        rows.append(
            sp.Add(
                *terms,
                sp.Rational(offset.numerator, offset.denominator)
                - sp.Rational(room.numerator, room.denominator),
            )
        )
    box = {s: FREE if rng.random() < 0.5 else (-100.0, 100.0) for s in place}
    one = NlpProblem(
        x**2 + y**2 + z**2, box, [NlpConstraint(str(k), row) for k, row in enumerate(rows)]
    )

    for _ in range(5):
        assert not is_farkas_certificate(one, range(5), rng.exponential(size=5))
    if seed < 6:
        assert not minimise(one).proved_infeasible


def test_a_bound_that_follows_is_not_lost_beside_a_large_one():
    """x <= 5 y leaves x <= 10, however low x may be."""
    one = problem({x: (-1e20, 1e20), y: (1.0, 2.0)}, x - 5 * y)
    low, high = one.polytope.tightened

    assert low.tolist() == [-1e20, 1.0]
    assert 10.0 <= high[0] <= 10.001


def test_an_offset_is_not_lost_beside_a_large_bound():
    """x + y <= 1 is no x + y <= 0, however large x may be."""
    one = NlpProblem(
        (x - 3) ** 2 + y, {x: (0.0, 1e20), y: (0.0, 2.0)}, [NlpConstraint("sum", x + y - 1)]
    )
    found = minimise(one)

    assert found.feasible and found.x == pytest.approx([1.0, 0.0], abs=1e-6)


def test_a_box_beyond_the_scale_of_a_linear_programme_ends_in_no_fault():
    box = {x: (0.0, 1e20), y: (0.0, 1e20)}
    margins = (x + y - 1, sp.Rational(1, 2) - x - y)
    found = minimise(
        NlpProblem((x - 3) ** 2 + y**2, box, [NlpConstraint(str(m), m) for m in margins])
    )

    assert found.feasible or not found.proved_infeasible


LOST = (10**9 + x) ** 2 - 2 * 10**9 * x - 10**18  # x^2, which float64 does not see


@pytest.mark.slow
@pytest.mark.parametrize("more", [sp.exp(y) - sp.Rational(999, 1000)])
def test_constraints_that_float64_sees_as_kept_end_in_no_fault(more: sp.Expr):
    """The least violation is 0 to float64, and no point is feasible for certain."""
    box = {x: (0.0, 1.0), y: (0.0, 1.0)}
    found = minimise(NlpProblem(x + y + sp.exp(-x / 10), box, [NlpConstraint("lost", LOST + more)]))

    assert not found.feasible


UNITS = (1.0, 1e-9, 1e9)


@pytest.mark.parametrize("first", some(UNITS, 1))
@pytest.mark.parametrize("second", UNITS)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("ends", ["choose x\nchoose y", "choose x in [-3, 3]\nchoose y >= 0"])
def test_units_of_conditions_and_unknowns_hide_no_contradiction(
    first: float, second: float, unit: float, ends: str, tmp_path: Path
) -> None:
    path = tmp_path / "apart.law"
    path.write_text(
        f"question apart\n{ends}\nsubject to {first!r}*(x + y/{unit!r} - 1) <= 0\n"
        f"subject to {second!r}*(2.01 - x - y/{unit!r}) <= 0\nminimize x^2 + (y/{unit!r})^2\n",
        encoding="utf-8",
    )
    answer = lawdsl.Asked(path).answer()
    assert (answer.status, answer.certain) == ("infeasible", True)
