"""The frozen record of a law for the numerical stages of a fit: names, and functions.

All algebra is performed by the functions that `preparation` defines here. Expensive computations
are deferred to the first call of a function, and cached.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.objectives import Objective
from lawdsl.fitting.problem import Problem

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
    """A parameter, and the bounds of its domain; empty if it is unbounded."""

    name: str
    bounds: tuple[ParameterBound, ...]

    @property
    def text(self) -> str:
        """The domain as the law declares it: `N > 0`; only the name if it is unbounded."""
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

    They make a law structurally unidentifiable: no data can determine them.

    Attributes:
        count: the number of such directions.
        parameters: the parameters that take part in some of them.
        fixed: parameters, one per direction, that remove the directions if they are fixed.
    """

    count: int = 0
    parameters: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class CentredSearch:
    """A search in other parameters, which are centred on the rows.

    Attributes:
        law: the law in these parameters.
        problem: its problem, on the rows of the original one.
        original: the function from these parameters to those of the law, both of shape (points,
            parameters).
    """

    law: PreparedLaw
    problem: Problem
    original: Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class PreparedLaw:
    """A law that is ready to be fitted.

    Attributes:
        name: the name of the law.
        output: the name of the predicted quantity.
        parameters: the parameters in the law's order.
        variables: the variables in the law's order.
        on_arrays: whether it is evaluated on arrays with an axis per index.
        is_large: whether it has too many parameters for algebra on each of them.
        problem: the function that builds the problem of a fit to rows from columns, shape
            (variables, rows); target, shape (rows,); objective; weights of the rows or None.
        with_solved_factors: the function that reparametrises a problem for a search; it may return
            None.
        centred: the function that poses a search in parameters centred on the rows; it may return
            None.
        of_logarithms: the function that builds the fit of the logarithm of the law to that of the
            data; it may return None.
        draw: the function that draws values of the parameters for starts, shape (draws,
            parameters), from columns, the number of draws, the seed, and a generator.
        declared_points: the function that returns the starts declared in the file of the law, shape
            (starts, parameters), and the number of declared starts outside the domain.
        placed: the function that returns parameters at given values, the others inside their
            domains, shape (parameters,); None if a value is outside its domain.
        linear: the function that returns the positions of the parameters in which the law is jointly
            linear.
        coefficients: the function that returns the positions of the parameters of any sign in which
            the law, or its logarithm, is jointly linear.
        has_logarithm: the function that returns whether the law is a product of powers and
            exponentials, all of them positive.
        symbols_of_slope: the function from the name of a parameter to the names in the derivative
            with respect to it.
        symbols_of_merged_slope: the same, once powers of one base are merged.
        undefined_term: the function from the values of the variables to the text of a part of the
            law that is undefined there, whatever the parameters; empty if there is none.
        hidden_labels: for each set of labels that no variable and no row has, the names of the
            parameters of each label, which can be exchanged for those of another.
    """

    name: str
    output: str
    parameters: tuple[ParameterDomain, ...]
    variables: tuple[Variable, ...]
    on_arrays: bool
    is_large: bool
    problem: Callable[[Array, Array, Objective, Array | None], Problem]
    with_solved_factors: Callable[[Problem], Problem | None]
    centred: Callable[[Problem], CentredSearch | None]
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
    hidden_labels: tuple[tuple[tuple[str, ...], ...], ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of the parameters."""
        return [q.name for q in self.parameters]
