"""Points + fitted ranges -> warnings about variables that leave them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.fitting.extrapolation.horizon import Horizon

# times the end of the fitted range: values further out are outside of it
OUTSIDE_FACTOR = 1.0 + 1e-9
# times outside: a factor by which units differ, as million and billion
OTHER_UNIT_FACTOR = 1e3
# half-width of an interval, in the logarithm: predictions within 2 % need no warning
WITHIN_HORIZON = float(np.log(1.02))
MANY_TIMES = float(np.log(10))  # half-width, in the logarithm, that is stated as a factor
NO_INTERVAL = "this fit has no intervals that say how wrong it is there: add rows nearer to it"
SEE_INTERVAL = "`lawdsl predict` says how far the law may be wrong there"


def outside(values: NDArray[np.float64], fitted: tuple[float, float]) -> NDArray[np.bool_]:
    """Which values of a variable leave the fitted range, shape (points,).

    Args:
        values: the values in the law's unit, shape (points,).
        fitted: the smallest and the largest value of the fitted rows.
    """
    low, high = fitted
    slack = OUTSIDE_FACTOR - 1
    return (values > high + abs(high) * slack) | (values < low - abs(low) * slack)


def other_unit(values: NDArray[np.float64], fitted: tuple[float, float]) -> bool:
    """Whether values of a variable leave the fitted range so far that their unit may differ.

    Args:
        values: the values in the law's unit, shape (points,).
        fitted: the smallest and the largest value of the fitted rows.
    """
    low, high = fitted
    above, below = float(np.max(values)), float(np.min(values))
    return (high > 0 and above >= OTHER_UNIT_FACTOR * high) or (
        below > 0 and low >= OTHER_UNIT_FACTOR * below
    )


def range_warnings(
    name: str,
    values: NDArray[np.float64],
    fitted: tuple[float, float],
    *,
    unit: str = "",
    advice: str = SEE_INTERVAL,
) -> list[Diagnostic]:
    """A warning for each end of the fitted range that values of a variable leave.

    Args:
        name: the name of the variable.
        values: the values in the law's unit, shape (points,).
        fitted: the smallest and the largest value of the fitted rows.
        unit: the law's, as text.
        advice: the help of the warnings.
    """
    low, high = fitted
    below, above = float(np.min(values)), float(np.max(values))
    factors: list[tuple[str, float]] = []
    is_above, is_below = outside(np.array([above, below]), fitted) & [above > high, below < low]
    # a factor is meaningful for positive numbers only
    if is_above and high > 0:
        times = above / high
        factors.append((f"{above:g} is {times:.3g} times the largest fitted, {high:g}", times))
    elif is_above:
        factors.append((f"{above:g} is above the largest fitted, {high:g}", 1.0))
    if is_below:
        times = low / below if below > 0 < low else 1.0
        ratio = f"{times:.3g} times below" if below > 0 < low else "below"
        factors.append((f"{below:g} is {ratio} the smallest fitted, {low:g}", times))
    return [
        Diagnostic(
            "F0109",
            f"{name} leaves the fitted range: {factor}",
            "warning",
            notes=_unit_question(name, fitted, unit) if times >= OTHER_UNIT_FACTOR else (),
            help=advice,
        )
        for factor, times in factors
    ]


def range_advice(horizon: Horizon | None, half_width: float | None = None) -> str:
    """The help of a warning about predictions that leave the fitted range.

    Args:
        horizon: of the fit; None where it has none.
        half_width: the largest of their intervals, in the logarithm; None where there are none.
    """
    if half_width is None:
        return SEE_INTERVAL if horizon is None else f"predictions are {horizon.text}"
    if not np.isfinite(half_width):
        return "the fitted runs determine nothing there: add runs nearer to it"
    size = f"within {100 * np.expm1(half_width):.2g} %"
    if half_width > MANY_TIMES:
        size = "only within a factor of more than 10"
    accuracy = f"the prediction there is known {size}"
    return accuracy if horizon is None else f"{accuracy}; predictions are {horizon.text}"


def _unit_question(name: str, fitted: tuple[float, float], unit: str) -> tuple[str, ...]:
    """A note on values so far from the fitted range that their unit may differ."""
    low, high = (f"{end:g}" for end in fitted)
    return (f"is it in another unit? the fit has {name} from {low} to {high} {unit}".rstrip(),)
