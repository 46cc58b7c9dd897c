"""Inflection ratios in fits: what is said of a prediction below one, and how they are read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.data.trends.result import Crossing, Inflection


def below(found: Inflection, values: NDArray[np.float64]) -> list[Diagnostic]:
    """A warning where shares lie, or may lie, below an inflection ratio.

    That is below the upper end of its interval, at places that may break what the law claims.
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


def read(content: Mapping[str, Any]) -> Inflection:
    """The record that this plain data was made of.

    Raises:
        ValueError, TypeError, LookupError, AttributeError: it is of no such record.
    """
    return Inflection(
        share=str(content["share"]),
        of=str(content["of"]),
        by=str(content["by"]),
        rises=bool(content["rises"]),
        estimate=_share(content["estimate"]),
        low=_share(content["low"]),
        high=_share(content["high"]),
        level=float(content["level"]),
        noise=str(content["noise"]),
        places=tuple(map(_crossing, content["places"])),
    )


def _crossing(content: Mapping[str, Any]) -> Crossing:
    return Crossing(
        at=str(content["at"]),
        estimate=_share(content["estimate"]),
        low=_share(content["low"]),
        high=_share(content["high"]),
        why=str(content["why"]),
        fails=bool(content["fails"]),
    )


def _share(value: Any) -> float | None:
    if value is None:
        return None
    number = float(value)
    if isinstance(value, (str, bool)) or not 0 <= number <= 1:
        raise ValueError(f"{value!r} is not a share")
    return number
