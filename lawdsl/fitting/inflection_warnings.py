"""Inflection ratios and shares -> warnings about predictions below them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.data.trends.inflection_result import Inflection

FOLLOWS = "dcpt.forgetting"
"""The shipped law of losses that rise with the tokens below some share."""
ITS_QUANTITIES = {"N", "D", "r", "L"}


def below_inflection_findings(
    inflection: Inflection, values: NDArray[np.float64], quantities: Collection[str] = ()
) -> list[Diagnostic]:
    """A warning if shares are, or may be, below an inflection ratio.

    They may be below it if they are below the upper end of its interval; there the data may
    contradict a claim of the law.

    Args:
        inflection: the inflection ratio of a share, with its interval.
        values: the values of the share, shape (points,).
        quantities: the variables and the output of the law; a law that can follow the data is
            named if it has the same.
    """
    if inflection.low is None or inflection.high is None or not np.any(values < inflection.high):
        return []
    shares_below = values[values < inflection.high]
    least, most = f"{np.min(shares_below):.6g}", f"{np.max(shares_below):.6g}"
    interval = least if least == most else f"{least} to {most}"
    limit = inflection.low if inflection.estimate is None else inflection.estimate
    verb = "lies below" if np.min(shares_below) < limit else "may lie below"
    message = f"{inflection.share} = {interval} {verb} the inflection ratio, {inflection.text}"
    notes = (f"measured below it, {inflection.trend}, which this law cannot follow",)
    reliable = f"{inflection.share} = {inflection.high:.3g}"
    help = f"rely on predictions from {reliable} on, or measure nearer to it"
    if set(quantities) == ITS_QUANTITIES and inflection.by == "D" and inflection.rises:
        help += f"; {FOLLOWS} can follow it: fit and compare that law"
    return [Diagnostic("F0127", message, "warning", notes=notes, help=help)]
