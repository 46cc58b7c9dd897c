"""Derivatives of the functions of the language: the same in every evaluator, and right.

The referee is mpmath, with formulas of its own: to 2 units in the last place (of 2^-52 of the
exact value), at arguments that are tiny, huge, near 0 and near singular points. What is below the smallest normal
float may be 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import numpy as np
import planted
import pytest
from flint import arb
from mpmath import mp
from numpy.typing import NDArray

from lawdsl.compiling import balls, interval_slopes
from lawdsl.compiling.arrays import ARRAYS
from lawdsl.compiling.autodiff import values_and_gradients
from lawdsl.compiling.interval_evaluation import VERIFICATION_BITS, evaluate
from lawdsl.compiling.intervals import ONE, Interval, NoInterval, precision
from lawdsl.compiling.model import Model
from lawdsl.compiling.tape import Tape, compile_tape
from lawdsl.compiling.terms import parts_of
from lawdsl.fitting.preparation import build_problem
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.language.instances.instance import Instance
from lawdsl.law.functions import SYMPY
from lawdsl.law.law import Law

Array = NDArray[np.float64]
Exact = Callable[[mpmath.mpf], mpmath.mpf]

DIGITS = 50
ULPS = 2.0
SMALLEST = float(np.finfo(np.float64).tiny)

# name -> first and second derivative
DERIVATIVES: dict[str, tuple[Exact, Exact]] = {
    "exp": (mp.exp, mp.exp),
    "log": (lambda x: 1 / x, lambda x: -1 / x**2),
    "log10": (lambda x: 1 / (x * mp.log(10)), lambda x: -1 / (x**2 * mp.log(10))),
    "sqrt": (lambda x: 1 / (2 * mp.sqrt(x)), lambda x: -1 / (4 * mp.sqrt(x) ** 3)),
    "sin": (mp.cos, lambda x: -mp.sin(x)),
    "cos": (lambda x: -mp.sin(x), lambda x: -mp.cos(x)),
    "tan": (lambda x: mp.sec(x) ** 2, lambda x: 2 * mp.sin(x) / mp.cos(x) ** 3),
    "atan": (lambda x: 1 / (1 + x**2), lambda x: -2 * x / (1 + x**2) ** 2),
    "tanh": (lambda x: mp.sech(x) ** 2, lambda x: -2 * mp.sinh(x) / mp.cosh(x) ** 3),
    "abs": (mp.sign, lambda x: mp.mpf(0)),
}
POSITIVE = ("log", "log10", "sqrt")
SIZES = (
    *(5e-324, 1e-310, 1e-300, 1e-200, 1e-100, 1e-16, 1e-8, 1e-3, 0.1, 0.3, 0.5, 0.99, 1, 1.01),
    *(1.2, 1.5, 2, 3, 5, 8, 10, 15, 19, 20, 25, 30, 36, 50, 100, 200, 340, 354, 356, 372, 400),
    *(700, 709, 711, 740, 750, 1e3, 1e5, 1e8, 1e16, 1e22, 1e75, 1e80, 1e100, 1e150, 1e155),
    *(1e160, 1e200, 1e300, 1.7e308),
)


def grid(name: str) -> list[float]:
    """Arguments within the domain, in a fixed order."""
    rng = np.random.default_rng(11)
    near = [math.pi / 2 * k for k in (1, 2, 3, 4, 11, 1000)]
    sizes = [*SIZES, *near, *(np.nextafter(x, 0) for x in near), *(x + 1e-7 for x in near)]
    sizes += [*10 ** rng.uniform(-3, 3, 120), *rng.uniform(0, 25, 80)]
    negative = [] if name in POSITIVE else [-x for x in sizes]
    return [float(x) for x in (*sizes, *negative)]


def law_of(name: str, *, indexed: bool = False) -> Law:
    """The function of one parameter: as a formula, or in a sum over an index."""
    domain = " > 0" if name in POSITIVE else ""
    lines = [f"parameter p{domain}", f"L = {name}(p)"]
    if indexed:
        lines = ["index i over {one, two}", f"parameter p[i]{domain}"]
        lines += [f"L = sum({name}(p[i]) for i)"]
    return planted.law_of("\n".join(lines) + "\n")


def tape_of(name: str) -> Tape:
    law = law_of(name)
    return compile_tape([law.expression], [law.symbols["p"]])


def on_tapes(name: str, points: Array) -> Array:
    """Reverse accumulation on arrays of floats: what `solve` takes of several unknowns."""
    with np.errstate(all="ignore"):
        return values_and_gradients(tape_of(name), points[None])[1][0, 0]


def in_fits(name: str, points: Array) -> Array:
    """The derivative of a law without index sets, by its parameter."""
    return model_of(name).slopes(points[:, None])[1][:, 0, 0]


def in_second_order(name: str, points: Array) -> Array:
    """The second derivative of a law without index sets."""
    *_, contracted = model_of(name).curvature(points[:, None])
    return contracted(np.ones((len(points), 1)))[:, 0, 0]


def model_of(name: str) -> Model:
    law = law_of(name)
    return Model(parts_of(law.expression, (), [law.symbols["p"]]), np.zeros((0, 1)))


def on_index_sets(name: str, points: Array) -> Array:
    """The derivative of a law with index sets, on arrays."""
    law = law_of(name, indexed=True).at_labels(Instance({"{one, two}": ("one", "two")}))
    problem = problem_of(law, np.zeros((0, 1)), np.ones(1), law.objective)
    return problem.model.slopes(np.stack([points, points], axis=1))[1][:, 0, 0]


def in_balls(name: str, points: Array) -> Array:
    """Numbers of Arb: what identifiability is judged by."""
    tape = tape_of(name)
    with precision(1200):
        return np.array([float(balls.slopes(tape, [arb(x)], 1)[0]) for x in points])


def in_intervals(name: str, points: Array) -> Array:
    """Intervals: what certificates of optima rest on. NaN where there is no certain value."""
    tape = tape_of(name)
    return np.array([_in_intervals(tape, x) for x in points])


def _in_intervals(tape: Tape, x: float) -> float:
    with precision(VERIFICATION_BITS):
        try:
            results = evaluate(tape, [Interval(arb(x), arb(x))])
            slope = interval_slopes.reverse_slopes(tape, results, [Interval(ONE, ONE)], 1)[0]
        except NoInterval:
            return math.nan
        if slope.low >= 0 and not slope.high.is_finite():  # exp(1e150): beyond the numbers of Arb
            return math.inf
        low, high = float(slope.low), float(slope.high)
    return low if low == high or high - low <= max(1e-15 * abs(low), 1e-299) else math.nan


FIRST = [on_tapes, in_fits, on_index_sets, in_balls, in_intervals]


def ulps_off(found: float, exact: mpmath.mpf) -> float:
    """How far a float is from the exact value, in units of 2^-52 of that."""
    if abs(exact) > np.finfo(np.float64).max:
        return 0.0 if found == mp.sign(exact) * mp.inf else math.inf
    if not math.isfinite(found):
        return math.inf
    error = abs(mp.mpf(found) - exact)
    if abs(exact) < SMALLEST:
        return float(error / SMALLEST)
    return float(error / abs(exact) / mp.mpf(float(np.finfo(np.float64).eps)))


def assert_right(name: str, points: list[float], found: Array, exact: Exact, ulps: float) -> None:
    with mp.workdps(DIGITS + 320):
        off = {x: ulps_off(float(f), exact(mp.mpf(x))) for x, f in zip(points, found, strict=True)}
    wrong = {x: off[x] for x in sorted(off, key=lambda x: -off[x]) if not off[x] <= ulps}
    assert not wrong, f"{len(wrong)} of {len(points)}: {dict(list(wrong.items())[:8])}"


@pytest.mark.parametrize("evaluator", FIRST, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", DERIVATIVES)
def test_first_derivatives(
    name: str, evaluator: Callable[[str, Array], Array], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(build_problem, "MAX_WRITTEN_OUT_PARAMETERS", -1)
    points = grid(name)
    found = evaluator(name, np.array(points))
    assert_right(name, points, found, DERIVATIVES[name][0], ULPS)


@pytest.mark.parametrize("name", DERIVATIVES)
def test_second_derivatives(name: str):
    points = grid(name)
    found = in_second_order(name, np.array(points))
    assert_right(name, points, found, DERIVATIVES[name][1], ULPS)


@pytest.mark.parametrize(
    "arithmetic", [ARRAYS, balls.BALLS, SYMPY], ids=["arrays", "balls", "sympy"]
)
@pytest.mark.parametrize("name", ["load", "sympify", "str", "fromfile", "__import__"])
def test_an_arithmetic_has_names_of_rows_only(name: str, arithmetic: object):
    assert hasattr(arithmetic, "tanh")
    assert not hasattr(arithmetic, name)
