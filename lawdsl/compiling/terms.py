"""Law -> Parts: value, gradient and Hessian as sums, each computed where its variables differ.

A/N^alpha on a table of 3 model sizes needs 3 powers, however many rows the table has. So the value
of a law, its exact gradient and its exact Hessian are sums of outputs of one tape, and every
instruction of the tape runs on the distinct values of its variables. Only the last additions run
over all rows. Parameters in which the law is linear stay outside of the tape: where only they
change, none of it is computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sympy as sp

from lawdsl.compiling.instructions import MAX_HESSIAN_PARAMETERS, NO_FACTOR, Parts, Sum
from lawdsl.compiling.tape import FiniteLog, compile_tape
from lawdsl.law.algebra import derivative
from lawdsl.law.functions import BY_ROW, without_impulses

__all__ = ["NO_FACTOR", "Parts", "Sum", "parts_of"]


def parts_of(
    expression: sp.Expr,
    variables: Sequence[sp.Symbol],
    parameters: Sequence[sp.Symbol],
    constants: Sequence[sp.Symbol] = (),
    linear: Sequence[int] = (),
) -> Parts:
    """Compile a law to sums of outputs of tapes.

    Args:
        expression: the expression in variables, parameters and constants.
        variables: the inputs that differ from row to row.
        parameters: the inputs to differentiate by.
        constants: further inputs, after those.
        linear: positions of the parameters in which the expression is jointly linear.
    """
    inputs = [*variables, *parameters, *constants]
    outside = {parameters[j]: sp.S.Zero for j in linear}
    factors = [NO_FACTOR, *linear]
    pieces = [expression.xreplace(outside)]
    pieces += [derivative(expression, parameters[j]) for j in linear]
    terms = [sp.Add.make_args(piece) for piece in pieces]
    moving = [k for k in range(len(parameters)) if k not in linear]
    outputs = _Outputs(frozenset(variables), expression.has(*BY_ROW))

    columns = [outputs.sum([(NO_FACTOR, summands)]) for summands in terms]
    counts = [len(outputs.each)]
    if outputs.by_row:
        # SymPy's derivative of tanh, 1 - tanh(x)^2, loses its digits; those of the table do not
        terms = [[_by_row(term) for term in summands] for summands in terms]
    symbols_in = {term: term.free_symbols for summands in terms for term in summands}

    def slope(term: sp.Expr, k: int) -> sp.Expr:
        return derivative(term, parameters[k]) if parameters[k] in symbols_in[term] else sp.S.Zero

    slopes = {k: [[slope(term, k) for term in summands] for summands in terms] for k in moving}
    gradient = dict(zip(linear, columns[1:], strict=True))
    gradient |= {k: outputs.sum(zip(factors, slopes[k], strict=True)) for k in moving}
    counts.append(len(outputs.each))
    hessian = None
    if len(parameters) <= MAX_HESSIAN_PARAMETERS:
        second = {
            (min(j, k), max(j, k)): outputs.sum([(NO_FACTOR, summands)])
            for k in moving
            for j, summands in zip(linear, slopes[k][1:], strict=True)
        }
        for k in moving:
            for other in (m for m in moving if m >= k):
                curvatures = [
                    [_derivative(s, parameters[other]) for s in summands] for summands in slopes[k]
                ]
                second[k, other] = outputs.sum(zip(factors, curvatures, strict=True))
        hessian = tuple((*entry, second[entry]) for entry in sorted(second) if second[entry])
    counts.append(len(outputs.each))
    # the value itself keeps its logarithm: log 0 is an error there, not a factor of 0
    every = [part if i < counts[0] else _finite(part) for i, part in enumerate(outputs.each)]
    one, two, three = (compile_tape(every[:count], inputs) for count in counts)
    first = tuple(gradient[k] for k in range(len(parameters)))
    tapes, kind = (one, two, three), (len(variables), tuple(linear))
    return Parts(tapes, columns[0], tuple(columns[1:]), first, hessian, *kind)


class _Outputs:
    """The outputs that sums consist of: one for each set of variables in a sum.

    Args:
        variables: the inputs that differ from row to row.
        by_row: whether functions with derivatives from the table of functions occur.
    """

    def __init__(self, variables: frozenset[sp.Symbol], by_row: bool) -> None:
        self.variables, self.by_row = variables, by_row
        self.each: dict[sp.Expr, int] = {}

    def sum(self, groups: Iterable[tuple[int, Iterable[sp.Expr]]]) -> Sum:
        """The sum of all terms, those of each group multiplied by its parameter."""
        terms = []
        for factor, parts in groups:
            merged: dict[frozenset[sp.Symbol], sp.Expr] = {}
            for part in map(_by_name, parts) if self.by_row else parts:
                support = frozenset(part.free_symbols & self.variables)
                merged[support] = merged.get(support, sp.S.Zero) + part
            nonzero = [part for part in merged.values() if part != 0]
            terms += [(factor, self.each.setdefault(part, len(self.each))) for part in nonzero]
        return tuple(terms)


def _derivative(part: sp.Expr, symbol: sp.Symbol) -> sp.Expr:
    return derivative(part, symbol) if part.has(symbol) else sp.S.Zero


def _by_row(term: sp.Expr) -> sp.Expr:
    """The term with functions whose derivatives are those of the table of functions."""
    for function, (derived_by_row, *_) in BY_ROW.items():
        if term.has(function):
            term = term.replace(function, derived_by_row)
    return term


def _by_name(part: sp.Expr) -> sp.Expr:
    """The expression with SymPy's own functions, so that equal parts are computed once."""
    for function, (derived_by_row, *_) in BY_ROW.items():
        if part.has(derived_by_row):
            part = part.replace(derived_by_row, function)
    return part


def _finite(part: sp.Expr) -> sp.Expr:
    """A derivative without the infinite slopes of kinks, and with 0^eta·log 0 = 0."""
    return without_impulses(part).replace(sp.log, FiniteLog)
