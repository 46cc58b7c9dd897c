"""Law + rows + objective -> Problem: the compiled model of the law, its data and its parameters.

A law with many parameters in index sets is evaluated on arrays; any other law is compiled to a
tape, as its logarithm if that is linear in more parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.indexed import IndexedProgram
from lawdsl.compiling.indexed_leaves import Leaves, rest_of
from lawdsl.compiling.indexed_linearity import linear_in as linear_on_arrays
from lawdsl.compiling.indexed_model import ArrayModel
from lawdsl.compiling.instructions import MAX_HESSIAN_PARAMETERS, Tape
from lawdsl.compiling.model import Model
from lawdsl.core.lazy_modules import lazy_module
from lawdsl.core.objectives import Objective
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import Limit, Transform, Transforms
from lawdsl.language.declarations import names_in
from lawdsl.language.instances.identities import linear
from lawdsl.language.label_texts import with_subscripts
from lawdsl.law.law import Law

if TYPE_CHECKING:
    import sympy as sp

    from lawdsl.compiling import terms
    from lawdsl.fitting.preparation import parameter_bounds, symbolic_linearity
else:  # a law that was compiled before is not compiled again, and needs no algebra
    sp = lazy_module("sympy")
    terms = lazy_module("lawdsl.compiling.terms")
    parameter_bounds = lazy_module("lawdsl.fitting.preparation.parameter_bounds")
    symbolic_linearity = lazy_module("lawdsl.fitting.preparation.symbolic_linearity")

Array = NDArray[np.float64]

# a law with index sets and at most so many parameters is expanded, term by term
MAX_WRITTEN_OUT_PARAMETERS = 16


@dataclass(frozen=True)
class CompiledLaw:
    """A law, or its logarithm, compiled for fits to any rows.

    Attributes:
        model: the function from columns, shape (columns, rows), to the law on them.
        transforms: the transforms of the parameters.
        exponential: whether the logarithm is compiled.
        variables: the number of columns that are variables of the law; None for all.
        rests: for each further column, which is 1 minus others, the positions of these.
    """

    model: Callable[[Array], Model | ArrayModel]
    transforms: Transforms
    exponential: bool = False
    variables: int | None = None
    rests: tuple[tuple[int, ...], ...] = ()

    def problem(
        self, columns: Array, target: Array, objective: Objective, weights: Array | None
    ) -> Problem:
        """Build the problem of a fit to rows; the arguments are as for `problem_of`."""
        for numbers in self.rests:
            columns = np.vstack([columns, rest_of(columns[list(numbers)])])
        model, count = self.model(columns), self.variables
        return Problem(model, self.transforms, target, objective, weights, self.exponential, count)


@dataclass(frozen=True)
class SolvedFactors:
    """A law in which some parameters are replaced by their exponentials, in which it is linear.

    Attributes:
        compiled: the law.
        factors: the positions of these parameters.
    """

    compiled: CompiledLaw
    factors: frozenset[int]

    def problem(self, problem: Problem) -> Problem:
        """Build the problem of fitting the law in these parameters, with the same unconstrained
        parameters.
        """
        posed = self.compiled.problem(
            problem.columns, problem.target, problem.objective, problem.weights
        )
        transforms = Transforms(
            Transform(t.name, Limit(0.0), None) if i in self.factors else t
            for i, t in enumerate(problem.transforms)
        )
        return replace(posed, transforms=transforms)


def problem_of(
    law: Law, columns: Array, target: Array, objective: Objective, weights: Array | None = None
) -> Problem:
    """Build the problem of fitting a law.

    Args:
        law: the law.
        columns: the variables in the law's order, shape (variables, rows).
        target: the measured values of the output, shape (rows,).
        objective: the objective to minimise.
        weights: the weights of the rows, shape (rows,).
    """
    return compile_law(law, objective.log).problem(columns, target, objective, weights)


def compile_law(law: Law, log: bool, searched: frozenset[str] = frozenset()) -> CompiledLaw:
    """Compile a law for fits.

    Args:
        law: the law.
        log: whether residuals are those of logarithms.
        searched: parameters that are searched for, although the law may be linear in them.
    """
    if is_computed_on_arrays(law):
        return compile_on_arrays(law, parameter_bounds.transforms_of(law), searched)
    rests = remaining_shares(law)
    form = symbolic_linearity.compared_expression(law, log, tuple(rests))
    expression, linear, exponential = form
    return _compiled(law, (expression, _without(law, linear, searched), exponential), rests)


def compile_on_arrays(
    law: Law, transforms: Transforms, searched: frozenset[str] = frozenset()
) -> CompiledLaw:
    """Compile a law with index sets that is evaluated on arrays, without algebra.

    Args:
        law: the law, with its labels.
        transforms: the transforms of its parameters.
        searched: parameters that are searched for, although the law may be linear in them.
    """
    no_rows = compile_array_model(law, np.zeros((len(law.variables), 0)), searched)
    return CompiledLaw(no_rows.on, transforms)


def _without(law: Law, linear: tuple[int, ...], searched: frozenset[str]) -> tuple[int, ...]:
    return tuple(i for i in linear if law.parameters[i].name not in searched)


def solved_factors(law: Law) -> SolvedFactors | None:
    """Reparametrise a law for a search: e^S is a linear parameter if the law is linear in e^S.

    Args:
        law: the law.

    Returns:
        The reparametrised law; None if no parameter can be replaced.
    """
    if law.declarations.schema is not None:
        return None
    factored = symbolic_linearity.exponentials_as_factors(law)
    if factored is None:
        return None
    expression, factors = factored
    numbers = frozenset(i for i, q in enumerate(law.parameters) if q.symbol in factors)
    linear = symbolic_linearity.linear_in(law, expression)
    return SolvedFactors(_compiled(law, (expression, linear, False), {}), numbers)


def problem_of_logarithms(
    law: Law,
    forms: Callable[[bool], CompiledLaw],
    has_logarithm: Callable[[], bool],
    problem: Problem,
) -> Problem | None:
    """Build the fit of the logarithm of the law to that of the data.

    Args:
        law: the law.
        forms: the law compiled for residuals, or for those of logarithms.
        has_logarithm: whether the law is a product of positive powers.
        problem: the objective to be minimised, with its data.

    Returns:
        The problem; None if the logarithm is not linear in more parameters than the law, a measured
        value is not positive, or residuals are those of logarithms already.
    """
    if problem.objective.log or law.declarations.schema is not None:
        return None
    if not np.all(problem.target > 0) or not has_logarithm():
        return None
    objective = replace(problem.objective, log=True)
    posed = forms(True).problem(problem.columns, problem.target, objective, problem.weights)
    return replace(posed, transforms=problem.transforms) if posed.exponential else None


def _compiled(
    law: Law, form: tuple[sp.Expr, tuple[int, ...], bool], rests: dict[str, list[str]]
) -> CompiledLaw:
    """Compile a form of a law that `compared_expression` returns."""
    settings = {q.symbol: q.value for q in law.settings}
    variables, parameters = ([q.symbol for q in some] for some in (law.variables, law.parameters))
    expression, linear, exponential = form
    count, numbers = len(variables), []
    for name, others in rests.items():
        numbers.append(tuple(variables.index(law.symbols[other]) for other in others))
        variables.append(law.symbols[name])
    parts = terms.parts_of(expression, variables, parameters, list(settings), linear)
    values = [v for v in settings.values() if v is not None]
    one, two, three = (
        _with_constant_inputs(t, len(variables) + len(parameters), values) for t in parts.tapes
    )
    parts = replace(parts, tapes=(one, two, three))
    return CompiledLaw(
        partial(Model, parts),
        parameter_bounds.transforms_of(law),
        exponential,
        count,
        tuple(numbers),
    )


def remaining_shares(law: Law) -> dict[str, list[str]]:
    """Map each share that is 1 minus others to the names of these others."""
    schema, instance = law.declarations.schema, law.declarations.instance
    if schema is None or instance is None:
        return {}
    rests = {}
    for name, share_left_out in instance.left_out.items():
        labels = instance.of(schema, schema.symbols[name].indices[-1])
        shares = {label: with_subscripts(name, (label,)) for label in labels}
        if shares[share_left_out] in law.declarations.symbols:
            rests[shares[share_left_out]] = [
                share for label, share in shares.items() if label != share_left_out
            ]
    return rests


def is_computed_on_arrays(law: Law) -> bool:
    """Whether a law with index sets is evaluated on arrays, with an axis per index. A law with few
    parameters is expanded instead, which provides second derivatives.
    """
    if law.declarations.schema is None or len(law.parameters) <= MAX_WRITTEN_OUT_PARAMETERS:
        return False
    symbols, given = law.declarations.symbols, {name for name, _ in law.given}
    # arrays know ties that are linear forms of other parameters, with settings as declared
    return all(
        linear(s.formula, symbols) is not None and given.isdisjoint(names_in(s.formula))
        for s in symbols.values()
        if s.determined_by == "tie" and s.formula is not None
    )


def is_large(law: Law) -> bool:
    """Whether a law with index sets has too many parameters for algebra on each of them."""
    return law.declarations.schema is not None and len(law.parameters) > MAX_HESSIAN_PARAMETERS


def compile_array_model(
    law: Law, columns: Array, searched: frozenset[str] = frozenset()
) -> ArrayModel:
    """Compile a law with index sets on the rows of a table.

    Args:
        law: the law, with its labels.
        columns: its variables, shape (variables, rows).
        searched: parameters that are searched for, although the law may be linear in them.
    """
    schema = law.declarations.schema
    assert schema is not None
    leaves = Leaves(
        schema,
        law.declarations,
        tuple(q.name for q in law.variables),
        tuple(q.name for q in law.parameters),
        {q.name: q.value for q in law.settings if q.value is not None},
    )
    linear = _without(law, tuple(linear_on_arrays(leaves)), searched)
    return ArrayModel(IndexedProgram(leaves), columns, linear)


def _with_constant_inputs(tape: Tape, count: int, values: list[float]) -> Tape:
    """A tape in which the inputs from `count` on are replaced by constants."""
    steps = []
    for step in tape.instructions:
        number = step.value if step.op == "input" else None
        if isinstance(number, int) and number >= count:
            # repr yields the decimal that was written, which is exact as a rational number
            step = replace(step, op="constant", value=sp.Rational(repr(values[number - count])))
        steps.append(step)
    return Tape(tuple(steps), count, tape.outputs)
