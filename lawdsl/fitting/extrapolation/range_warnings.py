"""Points + fitted ranges -> a warning about the variables that leave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.enumerations import conjunction
from lawdsl.fitting.extrapolation.horizon import Horizon
from lawdsl.law.quantities import Quantity, unit_text

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


@dataclass(frozen=True)
class Departure:
    """An end of the fitted range of a variable that values of it leave.

    Attributes:
        name: the name of the variable.
        text: by how far.
        note: a question about its unit; empty where the values are not that far out.
    """

    name: str
    text: str
    note: str = ""


def departures(
    name: str, values: NDArray[np.float64], fitted: tuple[float, float], *, unit: str = ""
) -> list[Departure]:
    """The ends of the fitted range that values of a variable leave.

    Args:
        name: the name of the variable.
        values: the values in the law's unit, shape (points,).
        fitted: the smallest and the largest value of the fitted rows.
        unit: the law's, as text.
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
    question = f"is it in another unit? the fit has {name} from {low:g} to {high:g} {unit}".rstrip()
    return [
        Departure(name, text, question if times >= OTHER_UNIT_FACTOR else "")
        for text, times in factors
    ]


def departure_warning(found: Sequence[Departure], advice: str = SEE_INTERVAL) -> list[Diagnostic]:
    """One warning about all variables of a prediction that leave the fitted range; none for none.

    Args:
        found: their departures.
        advice: the help of the warning.
    """
    names = list(dict.fromkeys(departure.name for departure in found))
    if not names:
        return []
    texts = [f"{d.name} = {d.text}" if len(names) > 1 else d.text for d in found]
    subject = f"{conjunction(names)} {'leaves' if len(names) == 1 else 'leave'}"
    message = f"{subject} the fitted range: {'; '.join(texts)}"
    notes = tuple(dict.fromkeys(d.note for d in found if d.note))
    return [Diagnostic("F0109", message, "warning", notes=notes, help=advice)]


def known_departures(
    variables: Sequence[Quantity],
    columns: NDArray[np.float64],
    ranges: Mapping[str, tuple[float, float]],
    half_widths: NDArray[np.float64] | None,
) -> tuple[list[Departure], float | None]:
    """The departures from the fitted range that matter: those of predictions known within 2 % do not,
    unless a value lies so far out that its unit may differ.

    Args:
        variables: the variables of the law.
        columns: their values, shape (variables, points).
        ranges: variable -> its smallest and largest fitted value.
        half_widths: the half-widths of the 95 % intervals at the points, in the logarithm, shape
            (points,); None where there are none.

    Returns:
        The departures, and the largest half-width outside of the range.
    """
    pairs = list(zip(variables, columns, strict=True))
    beyond = [outside(values, ranges[q.name]) for q, values in pairs]
    widest = None
    if half_widths is not None:
        widest = float(np.max(half_widths[np.any(beyond, axis=0)], initial=0.0))
    found: list[Departure] = []
    for (q, values), is_outside in zip(pairs, beyond, strict=True):
        fitted = ranges[q.name]
        if half_widths is not None and not other_unit(values, fitted):
            if np.max(half_widths[is_outside], initial=0.0) <= WITHIN_HORIZON:
                continue
        found += departures(q.name, values, fitted, unit=unit_text(q.unit) if q.unit else "")
    return found, widest


def range_advice(
    horizon: Horizon | None,
    half_width: float | None = None,
    *,
    error: str = "",
    advised: float = 1.0,
) -> str:
    """The help of a warning about predictions that leave the fitted range.

    Args:
        horizon: with the error of the law that the intervals have; None where there is none.
        half_width: the largest of their intervals, in the logarithm; None where there are none.
        error: that error in words; empty for the usual one.
        advised: the factor by which the rolled check of the fit says that it should be widened, and
            is not; 1 for none.
    """
    if half_width is None:
        return SEE_INTERVAL if horizon is None else f"predictions are {horizon.text}"
    if not np.isfinite(half_width):
        return "the fitted runs determine nothing there: add runs nearer to it"
    size = f"within {100 * np.expm1(half_width):.2g} %"
    if half_width > MANY_TIMES:
        size = "only within a factor of more than 10"
    parts = [f"the prediction there is known {size}"]
    if horizon is not None:
        parts.append(f"predictions are {horizon.text}")
    elif error:
        parts = [f"{parts[0]} {error}"]
    if advised != 1:
        parts.append(f"the rolled check asks for {advised:.2g} times that error: --wrong learned")
    return "; ".join(parts)
