"""The probability that a margin is not negative, against draws of simulated joint posteriors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import sympy as sp
from numpy.typing import NDArray
from scipy.stats import t as student

from lawdsl.solving.law_error import branches
from lawdsl.solving.law_error.margin_probability import of_one_law, of_several_laws

Array = NDArray[np.float64]

DRAWS = 400_000
ERROR = 4 * 0.5 / np.sqrt(DRAWS)  # four standard errors of a share of the draws, at the most


def drawn(mean: Array, covariance: Array, fits: tuple[int, ...], dofs: tuple[float, ...]) -> Array:
    """Errors of the laws, shape (calls, draws): Student's t with one scale for each fit."""
    rng = np.random.default_rng(7)
    normal = rng.multivariate_normal(np.zeros(len(mean)), covariance, DRAWS).T
    wide = np.array([np.sqrt(dof / rng.chisquare(dof, DRAWS)) for dof in dofs])
    return np.asarray(mean[:, None] + wide[list(fits)] * normal)


def of(
    margin: Callable[..., Array],
    mean: Array,
    covariance: Array,
    fits: tuple[int, ...],
    dofs: tuple[float, ...],
) -> float:
    """The probability that is stated at one choice."""

    def value(errors: Array, _: NDArray[np.intp]) -> Array:
        return margin(*errors)

    def slope(errors: Array, _: NDArray[np.intp]) -> Array:
        steps = 1e-7 * np.eye(len(errors))[:, :, None]
        return np.array([(margin(*(errors + h)) - margin(*(errors - h))) / 2e-7 for h in steps])

    result = of_several_laws(value, slope, mean[:, None], covariance[None], fits, dofs)
    return float(result[0])


SPREAD = np.array([[0.03, 0.0], [0.0, 0.02]])
ALIKE = np.array([[0.02, 0.0], [0.0199, 0.002]])
ONE_FIT, TWO_FITS = ((0, 0), (9.0,)), ((0, 1), (6.0, 30.0))
MARGINS: dict[str, Callable[[Array, Array], Array]] = {
    "max, tied": lambda a, b: 1.03 - np.maximum(np.exp(a), np.exp(b)),
    "max, nearly tied": lambda a, b: 1.03 - np.maximum(np.exp(a), 0.99 * np.exp(b)),
    "max, one branch": lambda a, b: 1.03 - np.maximum(np.exp(a), 0.5 * np.exp(b)),
    "max above": lambda a, b: np.maximum(np.exp(a), np.exp(b)) - 1.01,
    "min, tied": lambda a, b: np.minimum(np.exp(a), np.exp(b)) - 0.97,
    "min below": lambda a, b: 0.99 - np.minimum(np.exp(a), np.exp(b)),
    "abs, tied": lambda a, b: 0.03 - np.abs(np.exp(a) - np.exp(b)),
    "abs above": lambda a, b: np.abs(np.exp(a) - np.exp(b)) - 0.002,
    "square, tied": lambda a, b: 0.03**2 - (np.exp(a) - np.exp(b)) ** 2,
    "sum": lambda a, b: 2.05 - np.exp(3 * a) - np.exp(b),
    "product": lambda a, b: 1.05 - np.exp(a) * np.exp(b),
    "never": lambda a, b: -1.0 - np.abs(a) - np.abs(b),
    "always": lambda a, b: 1.0 + np.abs(a) + np.abs(b),
}


@pytest.mark.parametrize("root", [SPREAD, ALIKE], ids=["independent", "alike"])
@pytest.mark.parametrize("fits", [ONE_FIT, TWO_FITS], ids=["one fit", "two fits"])
@pytest.mark.parametrize("name", MARGINS)
def test_what_is_stated_for_two_laws_is_no_more_than_the_truth_and_near_it(
    name: str, fits: tuple[tuple[int, ...], tuple[float, ...]], root: Array
):
    covariance = root @ root.T
    if len(fits[1]) == 2:  # the errors of two fits are independent
        covariance = np.diag(np.diag(covariance))
    mean = np.array([0.002, -0.001])
    true = float(np.mean(MARGINS[name](*drawn(mean, covariance, *fits)) >= 0))
    stated = of(MARGINS[name], mean, covariance, *fits)
    assert true - 0.03 <= stated <= true + ERROR


@pytest.mark.parametrize("count", [20, pytest.param(60, marks=pytest.mark.slow)])
def test_what_is_stated_is_not_more_for_other_errors_of_max_either(count: int):
    """Three laws of which two are of one fit, at so many posteriors."""
    rng = np.random.default_rng(3)
    fits, dofs = (0, 0, 1), (5.0, 12.0)

    def margin(*e: Array) -> Array:
        return 1.02 - np.maximum(np.maximum(np.exp(e[0]), 1.01 * np.exp(e[1])), np.exp(e[2]))

    above = []
    for _ in range(count):
        root = 0.02 * rng.normal(size=(3, 3))
        covariance = root @ root.T
        covariance[2, :2] = covariance[:2, 2] = 0.0
        mean = 0.01 * rng.normal(size=3)
        true = np.mean(margin(*drawn(mean, covariance, fits, dofs)) >= 0)
        above.append(of(margin, mean, covariance, fits, dofs) - true)
    assert max(above) < ERROR
    assert np.median(above) > -0.02


def test_one_law_has_the_probability_of_student_s_t():
    """Also where the margin is not negative between two places, or but for a narrow part."""
    mean, deviation, dof = np.array([0.0, 0.01]), np.array([0.02, 0.03]), 7.0

    def scale(x: float) -> Array:
        return np.asarray(student.cdf((x - mean) / deviation, dof))

    cases: list[tuple[Callable[[Array], Array], Array]] = [
        (lambda e: 0.03 - e, scale(0.03)),
        (lambda e: e + 0.01, 1 - scale(-0.01)),
        (lambda e: 0.03 - np.abs(e), scale(0.03) - scale(-0.03)),
        (lambda e: 0.03**2 - e**2, scale(0.03) - scale(-0.03)),
        (lambda e: np.abs(e - 0.005) - 0.0002, 1 - scale(0.0052) + scale(0.0048)),
        (lambda e: np.full_like(e, -1.0), np.zeros(2)),
        (lambda e: np.log(e), 1 - scale(1.0)),
    ]
    for margin, expected in cases:

        def value(
            errors: Array, _: NDArray[np.intp], margin: Callable[[Array], Array] = margin
        ) -> Array:
            with np.errstate(all="ignore"):
                return margin(errors[0])

        assert of_one_law(value, mean, deviation, dof) == pytest.approx(expected, abs=1e-9)


def test_a_law_without_error_keeps_its_constraint_or_does_not():
    def value(errors: Array, numbers: NDArray[np.intp]) -> Array:
        return np.array([0.1, -0.1])[numbers] + errors[0]

    assert of_one_law(value, np.zeros(2), np.zeros(2), 5.0).tolist() == [1.0, 0.0]


def test_a_flat_boundary_of_one_fit_has_no_error_of_draws():
    root = np.array([[0.03, 0.0], [0.01, 0.02]])
    covariance = root @ root.T
    stated = of(lambda a, b: 0.04 - a + b, np.zeros(2), covariance, (0, 0), (8.0,))
    slope = np.array([-1.0, 1.0])
    z = 0.04 / np.sqrt(slope @ covariance @ slope)
    assert stated == pytest.approx(student.cdf(z, 8.0), abs=1e-7)


# ---- branches

a, b, x, c = sp.symbols("a b x c", real=True)
p = sp.Symbol("p", positive=True)
SPLIT = [
    (c - sp.Max(a, b), "all", {c - a, c - b}),
    (c - 2 * p * sp.Max(a, b), "all", {c - 2 * p * a, c - 2 * p * b}),
    (sp.Min(a, b) - c, "all", {a - c, b - c}),
    (c - sp.Abs(a - b), "all", {c - a + b, c + a - b}),
    (sp.Max(a, b) - c, "any", {a - c, b - c}),
    (c - sp.Min(a, b), "any", {c - a, c - b}),
    (sp.Abs(a) - c, "any", {a - c, -a - c}),
    (c - sp.Max(a, sp.Min(b, x)), "all", {c - a, c - b, c - x}),
    # a factor of unknown sign, a pole between the branches, and a kink without a law
    (c - x * sp.Max(a, b), None, {c - x * sp.Max(a, b)}),
    (c - 1 / sp.Max(a, b), None, {c - 1 / sp.Max(a, b)}),
    (sp.Max(x, c) - a, None, {sp.Max(x, c) - a}),
]


@pytest.mark.parametrize(("margin", "need", "parts"), SPLIT, ids=[str(row[0]) for row in SPLIT])
def test_constraints_split_into_their_branches(
    margin: sp.Expr, need: str | None, parts: set[sp.Expr]
):
    found: list[sp.Expr] = []
    node = branches.split(margin, {a, b}, (), found)
    assert set(found) == parts
    assert (node.need if isinstance(node, branches.Branches) else None) == need


@pytest.mark.parametrize("margin", [row[0] for row in SPLIT], ids=[str(row[0]) for row in SPLIT])
def test_a_constraint_has_the_sign_of_its_branches_at_any_values(margin: sp.Expr):
    found: list[sp.Expr] = []
    node = branches.split(margin, {a, b}, (), found)
    symbols = [a, b, x, c, p]
    values = np.random.default_rng(0).normal(size=(5, 500))
    values[4] = np.abs(values[4])
    rows = np.array([sp.lambdify(symbols, part, "numpy")(*values) for part in found])
    whole = sp.lambdify(symbols, margin, "numpy")(*values)
    assert np.array_equal(branches.combined_margin(node, rows) >= 0, whole >= 0)


def test_positive_laws_are_factors_of_known_sign():
    found: list[sp.Expr] = []
    branches.split(c - a * sp.Max(b, 1), {a, b}, (a, b), found)
    assert set(found) == {c - a * b, c - a}


def test_a_constraint_of_very_many_branches_stays_whole():
    laws = sp.symbols("l0:20", real=True)
    margin = c - sp.Add(*(sp.Abs(law) for law in laws))
    found: list[sp.Expr] = []
    assert branches.split(margin, set(laws), (), found) == 0
    assert found == [margin]


def test_events_that_must_all_occur_or_any_have_bounds():
    each = np.array([[0.9, 0.5], [0.8, 0.4]])
    both = branches.probability(branches.Branches("all", (0, 1)), each)
    either = branches.probability(branches.Branches("any", (0, 1)), each)
    assert both == pytest.approx([0.7, 0.0]) and either == pytest.approx([0.9, 0.5])
