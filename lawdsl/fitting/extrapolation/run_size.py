"""Variables of a law -> the size of a run: its training compute, C = 6·N·D.

6 operations for each parameter and token is the usual count of a dense transformer (Kaplan et al.
2020, arXiv:2001.08361, section 2.1). Without a model size or tokens, the size is the product of the
variables that count parameters, tokens, steps or operations, or of all positive variables except
shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.units import size_and_dimension

Array = NDArray[np.float64]

SIZE_DIMENSIONS = ("FLOP", "param", "token", "step")
FLOP_PER_PARAMETER_AND_TOKEN = 6.0


@dataclass(frozen=True)
class SizeVariable:
    """The properties of a variable that determine whether the size of a run depends on it.

    Attributes:
        name: the name of the variable.
        unit: its unit as (unit name, power) pairs, or None.
        is_share: whether its domain lies within [0, 1].
    """

    name: str
    unit: tuple[tuple[str, int], ...] | None
    is_share: bool


@dataclass(frozen=True)
class RunSize:
    """The size of a run: a factor times a product of variables.

    Attributes:
        variables: the factors, in the law's order; empty if no variable measures a size.
        factor: the number by which their product, in the law's units, is multiplied.
        is_compute: whether the result counts floating-point operations.
        unit: the unit of the result, `FLOP` or `param*step`; empty if the variables have no units.
    """

    variables: tuple[str, ...]
    factor: float
    is_compute: bool
    unit: str = ""

    @property
    def text(self) -> str:
        """The product as text: `6*N*D` for training compute, `N` for a model size alone."""
        product = "*".join(self.variables)
        return f"6*{product}" if len(self.variables) > 1 and self.is_compute else product

    def log10(self, names: Sequence[str], columns: Array) -> Array:
        """The decimal logarithm of the size of runs, shape (runs,).

        Args:
            names: the variables.
            columns: their values in the law's units, shape (variables, runs).
        """
        chosen = [list(names).index(name) for name in self.variables]
        with np.errstate(divide="ignore"):
            logs = np.sum(np.log10(columns[chosen]), axis=0)
        return np.asarray(logs + np.log10(self.factor))


def run_size(variables: Sequence[SizeVariable], columns: Array) -> RunSize:
    """Define the size of runs in terms of the variables of a law.

    Args:
        variables: the variables of the law.
        columns: their values at the fitted rows, shape (variables, rows).
    """
    first: dict[str, tuple[str, float]] = {}
    for variable, values in zip(variables, columns, strict=True):
        dimension = _dimension(variable)
        if dimension is not None and np.all(values > 0):
            # of two variables that count tokens, such as trained and available ones, the first is
            # used
            first.setdefault(dimension[0], (variable.name, dimension[1]))
    if "FLOP" in first:
        name, factor = first["FLOP"]
        return RunSize((name,), factor, is_compute=True, unit="FLOP")
    if first:
        names = tuple(v.name for v in variables if v.name in {name for name, _ in first.values()})
        factor = float(np.prod([unit for _, unit in first.values()]))
        is_compute = {"param", "token"} == set(first)
        unit_of = {name: unit for unit, (name, _) in first.items()}
        unit = "FLOP" if is_compute else "*".join(unit_of[name] for name in names)
        factor *= FLOP_PER_PARAMETER_AND_TOKEN if is_compute else 1
        return RunSize(names, factor, is_compute, unit)
    positive = tuple(
        v.name
        for v, values in zip(variables, columns, strict=True)
        if not v.is_share and np.all(values > 0)
    )
    return RunSize(positive, 1.0, is_compute=False)


def _dimension(variable: SizeVariable) -> tuple[str, float] | None:
    """The base unit that a variable counts, and the size of its unit; None for other variables."""
    if variable.unit is None:
        return None
    factor, powers = size_and_dimension(variable.unit)
    if len(powers) != 1 or powers[0][1] != 1 or powers[0][0] not in SIZE_DIMENSIONS:
        return None
    return powers[0][0], factor
