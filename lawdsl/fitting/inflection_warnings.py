"""Inflection ratios and shares -> warnings of predictions below them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.data.trends.result import Inflection


def below(found: Inflection, values: NDArray[np.float64]) -> list[Diagnostic]:
    """A warning where shares lie, or may lie, below an inflection ratio.

    That is below the upper end of its interval, where the data may break what the law claims.

    Args:
        found: the inflection ratio of a share, with its interval.
        values: of the share, shape (points,).
    """
    if found.low is None or found.high is None or not np.any(values < found.high):
        return []
    under = values[values < found.high]
    least, most = f"{np.min(under):.6g}", f"{np.max(under):.6g}"
    which = f"{found.share} = {least}" if least == most else f"{found.share} = {least} to {most}"
    sure = found.low if found.estimate is None else found.estimate
    verb = "lies below" if np.min(under) < sure else "may lie below"
    message = f"{which} {verb} the inflection ratio, {found.text}"
    notes = (f"measured below it, {found.trend}, which this law cannot follow",)
    help = f"rely on predictions from {found.share} = {found.high:.3g} on, or measure nearer to it"
    return [Diagnostic("F0127", message, "warning", notes=notes, help=help)]
