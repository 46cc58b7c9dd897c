"""A law as a sum of parts, each computed only where its variables differ.

A/N^alpha on a table of 3 model sizes needs 3 powers, however many rows the table has. So the
value of a law, its exact gradient and its exact Hessian are sums of outputs of one tape, and every
instruction of the tape runs on the distinct values of the variables that reach it. Only the last
additions see all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sympy as sp

from lawdsl.algebra import derivative
from lawdsl.compiling.tape import FiniteLog, Tape, compile_tape

Outputs = tuple[int, ...]  # numbers of a tape's outputs, whose sum is meant

MOST_SECOND = 40  # parameters beyond which there are no second derivatives


@dataclass(frozen=True)
class Parts:
    """The value and the derivatives of a law, as sums of outputs of three tapes.

    Attributes:
        tapes: for the value alone; with the gradient; with the Hessian too. Their inputs are the
            variables and then the parameters.
        value: outputs whose sum is the law.
        gradient: for each parameter the outputs whose sum is the derivative by it.
        hessian: (parameter k, parameter >= k, outputs), without those that are 0; None where
            there are too many.
        variables: how many of the inputs are variables.
    """

    tapes: tuple[Tape, Tape, Tape]
    value: Outputs
    gradient: tuple[Outputs, ...]
    hessian: tuple[tuple[int, int, Outputs], ...] | None
    variables: int


def parts_of(
    expression: sp.Expr,
    variables: Sequence[sp.Symbol],
    parameters: Sequence[sp.Symbol],
    constants: Sequence[sp.Symbol] = (),
) -> Parts:
    """Compile a law.

    Args:
        expression: in variables, parameters and constants.
        variables: the inputs that differ from row to row.
        parameters: the inputs to derive by.
        constants: the inputs after those.
    """
    inputs = [*variables, *parameters, *constants]
    found: dict[sp.Expr, int] = {}

    def outputs(parts: Iterable[sp.Expr]) -> Outputs:
        merged: dict[frozenset[sp.Symbol], sp.Expr] = {}
        for part in parts:
            support = frozenset(part.free_symbols & set(variables))
            merged[support] = merged.get(support, sp.S.Zero) + part
        kept = [part for part in merged.values() if part != 0]
        return tuple(found.setdefault(part, len(found)) for part in kept)

    terms = sp.Add.make_args(expression)
    value = outputs(terms)
    counts = [len(found)]
    first = [[_derivative(term, p) for term in terms] for p in parameters]
    gradient = tuple(outputs(row) for row in first)
    counts.append(len(found))
    hessian = None
    if len(parameters) <= MOST_SECOND:
        hessian = tuple(
            (k, other, sums)
            for k in range(len(parameters))
            for other in range(k, len(parameters))
            if (sums := outputs(_derivative(slope, parameters[other]) for slope in first[k]))
        )
    counts.append(len(found))
    every = [part if i < counts[0] else _finite(part) for i, part in enumerate(found)]
    one, two, three = (compile_tape(every[:count], inputs) for count in counts)
    return Parts((one, two, three), value, gradient, hessian, len(variables))


def _derivative(part: sp.Expr, symbol: sp.Symbol) -> sp.Expr:
    return derivative(part, symbol) if part.has(symbol) else sp.S.Zero


def _finite(part: sp.Expr) -> sp.Expr:
    """A derivative without the infinite slopes of kinks, and with 0^eta·log 0 = 0."""
    part = part.replace(sp.DiracDelta, lambda *_: sp.S.Zero)
    return part.replace(sp.log, FiniteLog)
