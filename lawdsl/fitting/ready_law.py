"""The law of a fit as plain data that predictions need: no algebra, so that SymPy is not loaded.

`ReadyLaw` takes the place of a `Law` in the predictions of a fit. It exists only for laws whose
domains are numbers and that have neither index sets nor priors; of others no such record is made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.model import Model
from lawdsl.compiling.stored_parts import parts_of_plain, plain_parts
from lawdsl.core.objectives import Objective
from lawdsl.core.records import OneOf, read, to_plain
from lawdsl.fitting.extrapolation.horizon import LEVEL
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import Transform, Transforms

if TYPE_CHECKING:
    from lawdsl.fitting.preparation.build_problem import CompiledLaw
    from lawdsl.fitting.result import Fit
    from lawdsl.law.law import Law

Array = NDArray[np.float64]
Unit = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class ReadyBound:
    """One relation of a domain, with its limit as a number and as the law writes it."""

    relation: Annotated[str, OneOf(">", ">=", "<", "<=")]
    number: float
    text: str

    name = None  # it is no setting

    def at(self, settings: Mapping[str, float]) -> float:
        """The limit, which depends on no setting."""
        return self.number


@dataclass(frozen=True)
class ReadyVariable:
    """A variable: its domain, its unit, and whether its domain lies within [0, 1]."""

    name: str
    bounds: tuple[ReadyBound, ...]
    unit: Unit | None
    is_share: bool


@dataclass(frozen=True)
class ReadyParameter:
    """A parameter, in the order of the law."""

    name: str


@dataclass(frozen=True)
class ReadyUnit:
    """A unit, in the place where declarations have it."""

    factors: Unit


@dataclass(frozen=True)
class ReadyOutput:
    """The output of a law: its unit, in the place where declarations have it."""

    factors: Unit | None

    @property
    def output(self) -> ReadyOutput:
        """Itself: `declarations.output.unit`."""
        return self

    @property
    def unit(self) -> ReadyUnit | None:
        """The unit; None without one."""
        return None if self.factors is None else ReadyUnit(self.factors)


@dataclass(frozen=True)
class ReadyLaw:
    """A law for predictions.

    Attributes:
        name: the name of the law.
        output: the name of the predicted quantity.
        variables: the variables in the law's order.
        parameters: the parameters in the law's order.
        declarations: the unit of the output.
        log: whether the objective of the law is of logarithms.
    """

    name: str
    output: str
    variables: tuple[ReadyVariable, ...]
    parameters: tuple[ReadyParameter, ...]
    declarations: ReadyOutput
    log: bool

    settings = ()
    priors = ()

    @property
    def objective(self) -> Objective:
        """The objective; predictions depend on its scale alone."""
        return Objective(log=self.log)


@dataclass(frozen=True)
class ReadyForm:
    """The law, or its logarithm, compiled: in place of a `CompiledLaw`."""

    law: ReadyLaw
    model: Any
    exponential: bool

    def problem(
        self, columns: Array, target: Array, objective: Objective, weights: Array | None
    ) -> Problem:
        """The law on rows; its parameters are not searched for, so that they need no domains.

        Args:
            columns: the variables in the law's order, shape (variables, rows).
            target: the values that it is compared with, shape (rows,).
            objective: whether residuals are those of logarithms.
            weights: the weights of the rows, shape (rows,).
        """
        free = Transforms(Transform(q.name, None, None) for q in self.law.parameters)
        count = len(self.law.variables)
        model = Model(self.model, columns)
        return Problem(model, free, target, objective, weights, self.exponential, count)


def ready(fit: Fit) -> dict[str, Any] | None:
    """What predictions of a fit need, as plain data.

    Args:
        fit: a fit that has predicted: the forms of its law are those that it needed.

    Returns:
        The data; None for a fit whose predictions need algebra.
    """
    law = fit.read_law()
    if not _can_be_ready(fit, law):
        return None
    forms = [_plain_form(form, names[-1] is True, law) for names, form in fit._compiled.items()]
    variables = tuple(
        ReadyVariable(
            q.name,
            tuple(ReadyBound(b.relation, b.at({}), b.text) for b in q.bounds),
            q.unit,
            q.is_share,
        )
        for q in law.variables
    )
    unit = law.declarations.output.unit
    output = ReadyOutput(None if unit is None else unit.factors)
    parameters = tuple(ReadyParameter(q.name) for q in law.parameters)
    record = ReadyLaw(law.name, law.output, variables, parameters, output, law.objective.log)
    quantile = None if fit.spread is None else fit.spread.quantile(LEVEL)
    plain = {"law": to_plain(record), "forms": forms, "quantile": quantile}
    return None if any(form is None for form in forms) else plain


def _can_be_ready(fit: Fit, law: Law) -> bool:
    numbers = [b.number for q in law.variables for b in q.bounds]
    names = tuple(q.name for q in law.parameters)
    return (
        law.declarations.schema is None
        and fit.law.instance is None
        and not law.priors
        and fit.priors is None
        and (fit.spread is None or fit.spread.names == names)
        and all(x is not None and math.isfinite(x) for x in numbers)
    )


def _plain_form(form: CompiledLaw, log: bool, law: Law) -> dict[str, Any] | None:
    model = form.model(np.ones((len(law.variables), 1)))
    if not isinstance(model, Model) or form.rests:
        return None
    return {"log": log, "exponential": form.exponential, **plain_parts(model.parts)}


def with_ready_law(fit: Fit, content: Any) -> Fit:
    """A fit that predicts by the plain data of `ready`, instead of by its law.

    Args:
        fit: the fit that the data were made of, as read from its file.
        content: the data.

    Raises:
        ValueError, TypeError, LookupError, AttributeError, OverflowError: data of another form.
    """
    law = read(ReadyLaw, content["law"])
    names = tuple(q.name for q in law.parameters)
    if set(names) != set(fit.parameters) or law.name != fit.law.name:
        raise ValueError("another law")
    forms = {}
    for form in content["forms"]:
        log, exponential = read(bool, form["log"]), read(bool, form["exponential"])
        parts = parts_of_plain(form, len(law.variables), len(names))
        forms[*names, log] = ReadyForm(law, parts, exponential)
    quantiles = {}
    if fit.spread is not None:
        quantiles[LEVEL] = read(float, content["quantile"])
        if not quantiles[LEVEL] > 0 or fit.spread.names != names:
            raise ValueError("no quantile")
    spread = fit.spread and replace(fit.spread, quantiles=quantiles)
    prepared = replace(fit, spread=spread)
    # in place of what the fit would compute from the text of its law
    prepared.__dict__.update(_law=law, _compiled=forms)
    return prepared
