"""The frozen record of a law as the numerical stages of a fit see it: names, and functions to call.

All algebra is done by the functions that `preparation` puts here. What costs time is deferred: it is
done when a function is first called, and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.problem import Problem
from lawdsl.language.symbols import Objective

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ParameterBound:
    """One relation of a domain as text: `relation text`, as in `> C0`."""

    relation: str
    text: str

    @property
    def strict(self) -> bool:
        """Whether it excludes the bound itself."""
        return self.relation in "<>"

    @property
    def lower(self) -> bool:
        """Whether it is a lower bound."""
        return self.relation.startswith(">")


@dataclass(frozen=True)
class ParameterDomain:
    """A parameter, and the bounds of its domain; none for a free one."""

    name: str
    bounds: tuple[ParameterBound, ...]

    @property
    def text(self) -> str:
        """The domain as the law declares it: `N > 0`; the name alone for a free one."""
        relations = (f"{self.name} {b.relation} {b.text}" for b in self.bounds)
        return ", ".join(relations) if self.bounds else self.name


@dataclass(frozen=True)
class Variable:
    """A variable, and its unit as (unit name, power) pairs, or None."""

    name: str
    unit: tuple[tuple[str, int], ...] | None


@dataclass(frozen=True)
class UnidentifiableDirections:
    """Directions in parameter space along which no prediction changes.

    They make a law structurally non-identifiable: no data can determine them.

    Attributes:
        count: how many there are.
        parameters: the parameters that take part in some of them.
        fixed: parameters that remove them when they are fixed, one for each.
    """

    count: int = 0
    parameters: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class PreparedLaw:
    """A law that is ready to be fitted.

    Attributes:
        name: the name of the law.
        output: the name of what it predicts.
        parameters: in its order.
        variables: in its order.
        on_arrays: whether it is computed on arrays with an axis for each index.
        is_large: whether it has too many parameters for algebra about each of them.
        problem: builds the fit to other rows: columns, shape (variables, rows); target, shape
            (rows,); objective; weights of the rows or None.
        with_solved_factors: reparametrises a fit for a search, or None.
        of_logarithms: builds the fit of the logarithm of the law to that of the data, or None.
        draw: draws values of the parameters for starts: columns; how many; the seed; a generator
            -> shape (draws, parameters).
        declared_points: the starts that the file of the law declares, shape (starts, parameters),
            and how many others lie outside the domain.
        placed: parameters at given values, the others inside their domains, shape (parameters,);
            None where a value lies outside.
        linear: positions of the parameters in which the law is jointly linear.
        coefficients: positions of the parameters of any sign in which it, or its logarithm, is.
        has_logarithm: whether it is a product of powers and exponentials, all of them positive.
        symbols_of_slope: name of a parameter -> the names that the derivative by it contains.
        symbols_of_merged_slope: the same, once powers of one base are merged.
        undefined_term: variable -> value to the text of a part of the law that has no value there,
            whatever the parameters; empty where there is none.
    """

    name: str
    output: str
    parameters: tuple[ParameterDomain, ...]
    variables: tuple[Variable, ...]
    on_arrays: bool
    is_large: bool
    problem: Callable[[Array, Array, Objective, Array | None], Problem]
    with_solved_factors: Callable[[Problem], Problem | None]
    of_logarithms: Callable[[Problem], Problem | None]
    draw: Callable[[Array, int, int, np.random.Generator], Array]
    declared_points: Callable[[], tuple[Array, int]]
    placed: Callable[[Mapping[str, float]], Array | None]
    linear: Callable[[], tuple[int, ...]]
    coefficients: Callable[[], frozenset[int]]
    has_logarithm: Callable[[], bool]
    symbols_of_slope: Callable[[str], frozenset[str]]
    symbols_of_merged_slope: Callable[[str], frozenset[str]]
    undefined_term: Callable[[Mapping[str, float]], str]

    @property
    def names(self) -> list[str]:
        """The names of the parameters."""
        return [q.name for q in self.parameters]
