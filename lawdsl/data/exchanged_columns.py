"""Columns that stand in each other's place, `r` holds losses and `L` shares -> how to bind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.data.missing_columns import binding

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def with_exchanged(
    problems: Sequence[Diagnostic],
    values: Mapping[str, Array],
    bound: Mapping[str, str],
    units: Mapping[str, str],
    allowed: Callable[[str, Array], Mask],
) -> list[Diagnostic]:
    """The problems of the columns; where two of them are exchanged, that alone.

    They are, if most rows of a variable are outside its domain, and each of the two may have all
    values of the other.

    Args:
        problems: the problems.
        values: variable or output -> its values, each of shape (rows,).
        bound: variable or output -> its column.
        units: column -> the unit in its header, where it has one.
        allowed: the mask of the values that a variable or the output may have.
    """
    outside = {d.place.rpartition(" column ")[2]: d for d in problems if d.code == "D0108"}
    for name, numbers in values.items():
        problem = outside.get(bound[name])
        help = (problem.help or "") if problem is not None else ""
        # percentages, and bounds that are settings, have advice of their own
        if problem is None or "percentages" in help or "setting" in help:
            continue
        if 2 * np.sum(~allowed(name, numbers)) < len(numbers):
            continue
        for other, others in values.items():
            if bound[other] == bound[name] or units.get(bound[other]) != units.get(bound[name]):
                continue
            if allowed(name, others).all() and allowed(other, numbers).all():
                written = f"{binding(name, bound[other])} {binding(other, bound[name])}"
                help = (
                    f"`{name}` and `{other}` are probably exchanged: bind {written}, "
                    "or exchange their names in the header"
                )
                return [replace(problem, help=help)]
    return list(problems)
