"""Points + fitted ranges -> a warning about the variables that are outside their ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.enumerations import conjunction
from lawdsl.core.units import unit_text
from lawdsl.fitting.extrapolation.horizon import Horizon

if TYPE_CHECKING:
    from lawdsl.law.quantities import Quantity

# times the end of the fitted range: values further out count as outside
OUTSIDE_FACTOR = 1.0 + 1e-9
# factor outside the range from which a wrong unit is suspected, such as million for billion
OTHER_UNIT_FACTOR = 1e3
# half-width of an interval, in the logarithm: predictions within 2 % need no warning
WITHIN_HORIZON = float(np.log(1.02))
MANY_TIMES = float(np.log(10))  # half-width, in the logarithm, that is stated as a factor
NO_INTERVAL = "this fit has no intervals that say how wrong it is there: add rows nearer to it"
SEE_INTERVAL = "`lawdsl predict` says how far the law may be wrong there"


def outside(values: NDArray[np.float64], fitted: tuple[float, float]) -> NDArray[np.bool_]:
    """The mask of values of a variable outside the fitted range, shape (points,).

    Args:
        values: the values in the law's unit, shape (points,).
        fitted: the smallest and the largest value of the fitted rows.
    """
    low, high = fitted
    slack = OUTSIDE_FACTOR - 1
    return (values > high + abs(high) * slack) | (values < low - abs(low) * slack)


def other_unit(values: NDArray[np.float64], fitted: tuple[float, float]) -> bool:
    """Whether values of a variable are so far outside the fitted range that their unit may be
    wrong.

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
    """An end of the fitted range of a variable that some of its values exceed.

    Attributes:
        name: the name of the variable.
        text: by how far, as text.
        note: a question about its unit; empty if the values are not that far outside.
    """

    name: str
    text: str
    note: str = ""


def departures(
    name: str, values: NDArray[np.float64], fitted: tuple[float, float], *, unit: str = ""
) -> list[Departure]:
    """The ends of the fitted range of a variable that some values exceed.

    Args:
        name: the name of the variable.
        values: the values in the law's unit, shape (points,).
        fitted: the smallest and the largest value of the fitted rows.
        unit: the law's unit as text.
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
    """One warning about all variables of a prediction that are outside the fitted range; none if
    there are none.

    Args:
        found: the departures of these variables.
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
    """The relevant departures from the fitted range: those of predictions known within 2 % are not,
    unless a value is so far outside that its unit may be wrong.

    Args:
        variables: the variables of the law.
        columns: their values, shape (variables, points).
        ranges: variable -> its smallest and largest fitted value.
        half_widths: the half-widths of the 95 % intervals of the logarithm at the points, shape
            (points,); None without intervals.

    Returns:
        The departures, and the largest half-width outside the range.
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
    """The help of a warning about predictions outside the fitted range.

    Args:
        horizon: the horizon for the same error of the law as the intervals; None without a horizon.
        half_width: the largest half-width of the intervals of the logarithm; None without
            intervals.
        error: the error of the law in words; empty for the default.
        advised: the factor by which this error should be widened, but is not, according to the
            rolled check of the fit; 1 for none.
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
