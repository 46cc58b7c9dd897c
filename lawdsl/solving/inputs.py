"""The numbers given by a user -> the value of each symbol of a question, checked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import sympy as sp

from lawdsl.compiling.autodiff import values as computed
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.language.keywords import did_you_mean
from lawdsl.language.label_texts import with_subscripts
from lawdsl.proof.decide import RELATIONS
from lawdsl.solving.formulate.problem import AlgebraicConstraint, FormulatedQuestion, Unknown
from lawdsl.solving.formulate.sources import finite_number

STRICT_EQUALITY_TEXT = "both sides are equal, and the inequality is strict"
EQUATION_RTOL = 1e-12  # relative to its terms: tolerance of an equation between numbers

GivenValues = Mapping[str, "float | Mapping[str, float]"]


def symbol_values(formulated: FormulatedQuestion, inputs: GivenValues) -> dict[sp.Symbol, float]:
    """Assign a value to every symbol of a question except the unknowns.

    Args:
        formulated: the question.
        inputs: name -> number, or label -> number; a single number applies to every label. Settings
            of the question and, as `use.name`, of its laws may be overridden.

    Returns:
        Symbol -> value of givens, settings and fitted parameters.

    Raises:
        LawdslError: a given without a value, an unknown name, or a value outside its domain.
    """
    names = formulated.names
    numbers: dict[str, float] = {}
    mistakes: list[Diagnostic] = []
    # names with a label come last
    for name, value in sorted(inputs.items(), key=lambda pair: pair[0] in names):
        elements = [n for n in names if n == name or n.startswith(f"{name}[")]
        by_element = dict.fromkeys(elements, value)
        if not elements:
            mistakes.append(_unknown_name_error(formulated, name, names))
        elif isinstance(value, Mapping):
            by_element = {
                with_subscripts(name, (label,)): number for label, number in value.items()
            }
            mistakes += [
                _unknown_name_error(formulated, text, names)
                for text in by_element
                if text not in elements
            ]
        numbers |= {
            text: _checked_number(text, number, mistakes) for text, number in by_element.items()
        }
    lacking = [name for name in formulated.givens if name not in numbers]
    if lacking and not mistakes:
        message = f"the question needs a value of {', '.join(lacking)}"
        help = f"write {lacking[0]}=VALUE"
        mistakes.append(Diagnostic("F0502", message, help=help))
    if mistakes:
        raise LawdslError(list(dict.fromkeys(mistakes)))
    values = {**formulated.default_values, **{names[n]: v for n, v in numbers.items()}}
    _check_domains(formulated, values)
    return values


def _checked_number(name: str, value: object, mistakes: list[Diagnostic]) -> float:
    try:
        return finite_number(name, value)
    except LawdslError as error:
        mistakes += error.diagnostics
        # never used, since mistakes are raised together after all numbers are read
        return math.nan


def _unknown_name_error(
    formulated: FormulatedQuestion, name: str, names: Mapping[str, sp.Symbol]
) -> Diagnostic:
    help = did_you_mean(
        name, [*names, *formulated.question.uses], f"it has {', '.join(list(names)[:12])}"
    )
    message = f"`{formulated.question.name}` has no given or setting `{name}`"
    if any(name == u.name or u.name.startswith(f"{name}[") for u in formulated.unknowns):
        message = f"`{name}` is what the question asks for"
        help = "leave it out"
    return Diagnostic("F0502", message, help=help)


def _check_domains(formulated: FormulatedQuestion, values: Mapping[sp.Symbol, float]) -> None:
    mistakes = [*_givens_outside_domains(formulated, values), *_empty_domains(formulated, values)]
    if mistakes:
        raise LawdslError(mistakes)


def _givens_outside_domains(
    formulated: FormulatedQuestion, values: Mapping[sp.Symbol, float]
) -> Iterator[Diagnostic]:
    """Givens outside their domains; a given without a domain has that of the law's variable."""
    for name, symbol in formulated.givens.items():
        value = values[symbol]
        bounds = [
            (relation, evaluated(limit, values)) for relation, limit in formulated.bounds[name]
        ]
        if not bounds and symbol.is_nonnegative:
            bounds = [(">" if symbol.is_positive else ">=", 0.0)]
        for relation, end in bounds:
            if not RELATIONS[relation](value, end):
                message = f"`{name}` is {value:g}, and its domain is {name} {relation} {end:g}"
                help = "correct the value, or its unit"
                yield Diagnostic("F0503", message, help=help)
    for name, symbol in formulated.settings.items():
        if symbol.is_positive and values[symbol] < 0:  # as the formulas assume
            message = f"`{name}` is {values[symbol]:g}, and the question has a number above 0 there"
            yield Diagnostic("F0503", message, help="give it a value from 0 on")


def _empty_domains(
    formulated: FormulatedQuestion, values: Mapping[sp.Symbol, float]
) -> Iterator[Diagnostic]:
    """Yield an error for each unknown whose bounds contradict each other."""
    for unknown in formulated.unknowns:
        ends = [(relation, evaluated(limit, values)) for relation, limit in unknown.bounds]
        lower = [end for end in ends if end[0].startswith(">")]
        upper = [end for end in ends if end[0].startswith("<")]
        for (above, low), (below, high) in product(lower, upper):
            # negated, so that an undefined limit, nan, makes a domain empty
            if not (low < high or (low == high and (above, below) == (">=", "<="))):
                message = f"nothing lies in the domain of `{unknown.name}`, {low:g} to {high:g}"
                help = "correct the values that it is made of"
                yield Diagnostic("F0503", message, help=help)


def check_given_constraints(
    formulated: FormulatedQuestion, values: Mapping[sp.Symbol, float]
) -> None:
    """Raise an error if the values violate a constraint on givens only.

    Args:
        formulated: the question.
        values: symbol -> value of all symbols but the unknowns.

    Raises:
        LawdslError: with a diagnostic for each constraint that is violated.
    """
    mistakes = []
    for condition, margin in violated_constant_constraints(
        formulated.unknowns, formulated.conditions, values
    ):
        if not condition.of_unknowns:
            message = f"{condition.text} does not hold: {shortfall_text(condition, margin)}"
            if condition.law:
                why = f"is left by {-margin:.4g}" if margin else f"is left: {STRICT_EQUALITY_TEXT}"
                message = f"{condition.text}, the domain of `{condition.law}`, {why}"
            mistakes.append(Diagnostic("F0503", message, help="correct the values, or their units"))
    if mistakes:
        raise LawdslError(mistakes)


def shortfall_text(condition: AlgebraicConstraint, margin: float) -> str:
    """Describe in words by how much a constraint is violated.

    Args:
        condition: the constraint.
        margin: its value, negative where an inequality is violated.

    Returns:
        A clause without a full stop.
    """
    if margin == 0 and condition.strict:
        return STRICT_EQUALITY_TEXT
    return f"it is off by {abs(margin):.4g}"


def violated_constant_constraints(
    unknowns: Sequence[Unknown],
    conditions: Sequence[AlgebraicConstraint],
    values: Mapping[sp.Symbol, float],
) -> Iterator[tuple[AlgebraicConstraint, float]]:
    """Yield the constraints that contain no unknown and are violated.

    An equality is violated if |margin| > EQUATION_RTOL * sum of its absolute terms.

    Args:
        unknowns: the unknowns of the question.
        conditions: its constraints.
        values: symbol -> value of all other symbols.

    Returns:
        An iterator over pairs of a constraint and its margin.
    """
    free = {u.symbol for u in unknowns}
    for condition in conditions:
        if condition.margin.free_symbols & free:
            continue
        # the terms too, since the rounding error of the margin is relative to them
        margin, *terms = computed_at(
            [condition.margin, *sp.Add.make_args(condition.margin)], values
        )
        holds = margin > 0 if condition.strict else margin >= 0
        if condition.equality:
            holds = abs(margin) <= EQUATION_RTOL * sum(map(abs, terms))
        if not holds:
            yield condition, margin


def computed_at(expressions: Sequence[sp.Expr], values: Mapping[sp.Symbol, float]) -> list[float]:
    """Evaluate expressions in float64.

    Args:
        expressions: the expressions.
        values: symbol -> value, of all their symbols.

    Returns:
        A number for each expression; nan if it has no real value.
    """
    # sorted, since rounding must not depend on the order of a set, which differs between processes
    symbols = sorted(set().union(*(e.free_symbols for e in expressions)), key=str)
    inputs = np.array([[values[s]] for s in symbols], dtype=np.float64).reshape(len(symbols), 1)
    numbers: list[float] = computed(compile_tape(expressions, symbols), inputs)[:, 0].tolist()
    return numbers


def evaluated(expression: sp.Expr, values: Mapping[sp.Symbol, float]) -> float:
    """Evaluate one expression in float64.

    Args:
        expression: the expression.
        values: symbol -> value, of all its symbols.

    Returns:
        Its value; nan if it has no real value.
    """
    return computed_at([expression], values)[0]
