"""Law -> the plan by which starting values are scaled to the terms of the law on the data.

In exp(a + b*x) only b times the spread of x matters; in exp(-((x - d)/w)^2) a peak lies within the
data and is not wider than their range. So the expression is traversed from the inside out: each
term inside a function is scaled to order 1, which determines its coefficient, and a location is
drawn from the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import sympy as sp

from lawdsl.compiling.instructions import Tape
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.preparation.start_plan import (
    Argument,
    Breakpoint,
    Constant,
    Denominator,
    DomainEnd,
    Factor,
    Location,
    StartPlan,
    Step,
    Summand,
    Term,
)
from lawdsl.law.functions import ANALYTIC, Choice
from lawdsl.law.law import Law, Quantity


def start_plan(law: Law) -> StartPlan:
    """How starts of a law are drawn.

    Args:
        law: the law, without index sets that are computed on arrays.
    """
    in_exponents = tuple(_is_in_exponent(law.expression, q.symbol) for q in law.parameters)
    scales = None
    if _sets_a_scale(law):
        scales = tuple(_Traversal(law).steps(law.expression))
    return StartPlan(domains(law), in_exponents, scales, tuple(_breakpoints(law)))


def domains(law: Law) -> tuple[tuple[DomainEnd, ...], ...]:
    """The bounds of the parameters of a law.

    Args:
        law: the law.
    """
    return tuple(tuple(_ends(q)) for q in law.parameters)


def _ends(q: Quantity) -> Iterator[DomainEnd]:
    for bound in q.bounds:
        is_beyond_zero = bound.is_nonnegative if bound.lower else bound.is_nonpositive
        yield DomainEnd(bound.lower, bound.number, is_beyond_zero)


def _is_in_exponent(expression: sp.Expr, symbol: sp.Symbol) -> bool:
    return any(symbol in power.exp.free_symbols for power in expression.atoms(sp.Pow))


def _sets_a_scale(law: Law) -> bool:
    """Whether the expression determines the scale of any parameter: inside a function, in an
    exponent that depends on the data, or as a location.
    """
    expression = law.expression
    parameters = {q.symbol for q in law.parameters}
    signed = {q.symbol for q in law.parameters if not q.bounds}
    for node in sp.preorder_traversal(expression):
        symbols = node.free_symbols
        if isinstance(node, ANALYTIC) and symbols & parameters:
            return True
        if isinstance(node, sp.Pow) and node.exp.free_symbols - parameters:
            if node.exp.free_symbols & parameters:
                return True
        if isinstance(node, sp.Add) and node != expression and symbols & signed:
            return True
    return False


class _Traversal:
    """A traversal of an expression from the inside out."""

    def __init__(self, law: Law) -> None:
        self.numbers = {q.symbol: i for i, q in enumerate(law.parameters)}
        settings = [q.symbol for q in law.settings if q.value is not None]
        self.inputs = [*(q.symbol for q in law.variables), *settings, *self.numbers]

    def steps(self, node: sp.Basic) -> Iterator[Step]:
        """The steps that draw the parameters in a part of the expression."""
        if not node.free_symbols & self.numbers.keys():
            return
        if isinstance(node, ANALYTIC):
            yield self._argument(node.args[0])
            return
        if isinstance(node, sp.Pow) and self._is_involved(node.exp):
            yield from self.steps(node.base)
            yield self._argument(node.exp)
            return
        yield from chain.from_iterable(map(self.steps, node.args))
        if isinstance(node, sp.Add):
            yield from self._location(node)
        if isinstance(node, sp.Pow) and isinstance(node.base, sp.Add):
            yield self._denominator(node.base)

    def _is_involved(self, exponent: sp.Expr) -> bool:
        """Whether an exponent depends on parameters and on the data."""
        symbols = exponent.free_symbols
        return bool(symbols & self.numbers.keys() and symbols - self.numbers.keys())

    def _argument(self, argument: sp.Expr) -> Argument:
        """The terms and the constants inside a function."""
        terms, constants = [], []
        for term in sp.Add.make_args(argument):
            factor, symbol = term.as_independent(*self.numbers, as_Add=False)
            if symbol in self.numbers and not factor.free_symbols:
                slope = float(sp.diff(term, symbol))
                others = self._tape(argument - term)
                if others is not None:
                    constants.append(Constant(self.numbers[symbol], slope, others))
            else:
                terms.append(self._term(term))
        return Argument(tuple(terms), tuple(constants))

    def _term(self, term: sp.Expr) -> Term:
        only, slope = None, None
        symbols = term.free_symbols & self.numbers.keys()
        if len(symbols) == 1:
            (symbol,) = symbols
            rest = sp.diff(term, symbol)
            if rest.free_symbols and not rest.free_symbols & self.numbers.keys():
                only, slope = self.numbers[symbol], self._tape(rest)
        return Term(tuple(self.steps(term)), tuple(self._factors(term)), only, slope)

    def _factors(self, term: sp.Expr) -> Iterator[Factor]:
        """The factors of a term that scale the rest of it, which depends on the data."""
        for factor in sp.Mul.make_args(term):
            symbol, power = factor.as_base_exp()
            if symbol not in self.numbers or not power.is_number:
                continue
            rest = term / factor
            if symbol not in rest.free_symbols and rest.free_symbols - self.numbers.keys():
                tape = self._tape(rest)
                if tape is not None:
                    yield Factor(self.numbers[symbol], float(power), tape)

    def _location(self, total: sp.Add) -> Iterator[Location]:
        """A location that is compared with the data: d in x - d."""
        data, locations = sp.S.Zero, []
        for term in total.args:
            factor, symbol = term.as_independent(*self.numbers, as_Add=False)
            if not term.free_symbols & self.numbers.keys():
                data += term
            elif symbol in self.numbers and factor.is_number:
                locations.append((self.numbers[symbol], float(factor)))
            else:
                return
        if len(locations) == 1 and data.free_symbols:
            tape = self._tape(data)
            if tape is not None:
                yield Location(*locations[0], tape)

    def _denominator(self, total: sp.Add) -> Denominator:
        """The terms of a denominator, or of another power of a sum: b and c in 1/(1 + b*x + c*x^2)
        are scaled, whatever the unit of x, and d in 1/(d + x^k).
        """
        summands = []
        for term in total.args:
            slope, value, number = None, self._tape(term), None
            symbols = term.free_symbols & self.numbers.keys()
            if len(symbols) == 1:
                (symbol,) = symbols
                rest = sp.diff(term, symbol)
                if symbol not in rest.free_symbols:
                    number, slope = self.numbers[symbol], self._tape(rest)
            if value is not None:
                summands.append(Summand(value, None if slope is None else number, slope))
        return Denominator(tuple(summands))

    def _tape(self, formula: sp.Expr) -> Tape | None:
        return tape_or_none(formula, self.inputs)


def tape_or_none(formula: sp.Expr, inputs: Sequence[sp.Symbol]) -> Tape | None:
    """A formula as a tape; None for one without values on rows, such as a derivative with impulses.

    Args:
        formula: the formula.
        inputs: its symbols, in the order in which values will be given.
    """
    try:
        return compile_tape([formula], inputs)
    except LawdslError:
        return None


def _breakpoints(law: Law) -> Iterator[tuple[Breakpoint, ...]]:
    """For each condition, the parameters for which it can be solved."""
    settings = [q.symbol for q in law.settings if q.value is not None]
    variables = [q.symbol for q in law.variables]
    inputs = [*variables, *settings, *(q.symbol for q in law.parameters)]
    for condition in sorted({c.args[0] for c in law.expression.atoms(Choice)}, key=str):
        solved = []
        for k, q in enumerate(law.parameters):
            slope = sp.diff(condition, q.symbol)
            if slope == 0 or slope.has(q.symbol) or slope.has(sp.DiracDelta):
                continue
            at = -condition.xreplace({q.symbol: sp.S.Zero}) / slope
            varies = bool(at.free_symbols & set(variables))
            solved.append(Breakpoint(k, tape_or_none(at, inputs), varies))
        yield tuple(solved)
