"""Law + columns -> starting values scaled to the terms of the law on the data.

In exp(a + b*x) only b times the spread of x matters; in exp(-((x - d)/w)^2) a peak lies within the
data and is not wider than their range. So the expression is traversed from the inside out: each
term inside a function is scaled to order 1, which determines its coefficient, and a location is
drawn from the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.arrays import evaluate
from lawdsl.compiling.tape import compile_tape
from lawdsl.law.functions import ANALYTIC
from lawdsl.law.law import Law, Quantity

Array = NDArray[np.float64]

MEASURED_ROWS = 64  # rows on which terms are evaluated
# smallest and largest spread of a term inside a function, over the rows
MIN_TERM_SPREAD, MAX_TERM_SPREAD = 0.03, 30.0
# largest spread of a sum of several terms
MAX_SUM_SPREAD = 5.0
# relative to the largest singular value: a combination of terms that varies less is rounding error
COMBINATION_RTOL = 1e-9
# the centre of an exponent is drawn within ± this: exp(3.5) is about 33
MAX_EXPONENT_CENTRE = 3.5


def draw_scaled_to_terms(
    law: Law, columns: Array, values: Array, rng: np.random.Generator
) -> Array | None:
    """Draw values of the parameters, scaled to the terms of the law.

    Args:
        law: the law, without index sets that are computed on arrays.
        columns: its variables, shape (variables, rows).
        values: the values of the parameters whose scale the expression does not determine, shape
            (draws, parameters).
        rng: the random generator of the draws.

    Returns:
        Values, shape (draws, parameters); None if the expression determines no scale.
    """
    signed = frozenset(q.symbol for q in law.parameters if not q.bounds)
    if not _sets_a_scale(law.expression, frozenset(q.symbol for q in law.parameters), signed):
        return None
    rows = rng.permutation(columns.shape[1])[:MEASURED_ROWS]
    traversal = _ExpressionTraversal(law, columns[:, rows], values.copy(), rng)
    traversal.visit(law.expression)
    return traversal.values if traversal.drawn else None


@lru_cache(maxsize=256)
def _sets_a_scale(
    expression: sp.Expr, parameters: frozenset[sp.Symbol], signed: frozenset[sp.Symbol]
) -> bool:
    """Whether an expression determines the scale of any parameter: inside a function, in an
    exponent that depends on the data, or as a location.
    """
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


class _ExpressionTraversal:
    """A traversal of an expression from the inside out, with the values drawn so far."""

    def __init__(self, law: Law, columns: Array, values: Array, rng: np.random.Generator) -> None:
        self.values, self.rng, self.drawn = values, rng, set[sp.Symbol]()
        self.numbers = {q.symbol: i for i, q in enumerate(law.parameters)}
        self.quantities = law.parameters
        settings = [(q.symbol, q.value) for q in law.settings if q.value is not None]
        self.inputs = [q.symbol for q in law.variables] + [symbol for symbol, _ in settings]
        self.cache = [*columns, *(np.array(value) for _, value in settings)]

    def visit(self, node: sp.Basic) -> None:
        """Draw the parameters in a part of the expression."""
        if not node.free_symbols & self.numbers.keys():
            return
        if isinstance(node, ANALYTIC):
            self._visit_argument(node.args[0])
            return
        if isinstance(node, sp.Pow) and self._is_involved(node.exp):
            self.visit(node.base)
            self._visit_argument(node.exp)
            return
        for part in node.args:
            self.visit(part)
        if isinstance(node, sp.Add):
            self._draw_location(node)
        if isinstance(node, sp.Pow) and isinstance(node.base, sp.Add):
            self._scale_to_other_terms(node.base)

    def _is_involved(self, exponent: sp.Expr) -> bool:
        """Whether an exponent depends on parameters and on the data."""
        symbols = exponent.free_symbols
        return bool(symbols & self.numbers.keys() and symbols - self.numbers.keys())

    def _visit_argument(self, argument: sp.Expr) -> None:
        """Draw the coefficients of the terms inside a function."""
        terms, constants = list(sp.Add.make_args(argument)), []
        functions: dict[sp.Symbol, sp.Expr] = {}
        for term in terms:
            factor, symbol = term.as_independent(*self.numbers, as_Add=False)
            if symbol in self.numbers and not factor.free_symbols:
                constants.append((symbol, term))
                continue
            self.visit(term)
            if self._is_function_of_data(term):
                functions[only_parameter(term, self.numbers)] = term
            else:
                self._scale_term(term)
        self._scale_sum(functions)
        for symbol, term in constants:
            if symbol in self.drawn:
                continue
            others = np.mean(self._values_on_rows(argument - term), axis=1)
            centre = self.rng.uniform(-MAX_EXPONENT_CENTRE, MAX_EXPONENT_CENTRE, len(self.values))
            self._set(symbol, (centre - others) / float(sp.diff(term, symbol)))

    def _is_function_of_data(self, term: sp.Expr) -> bool:
        """Whether a term is a parameter without a value yet, times a function of the data only."""
        symbols = term.free_symbols & self.numbers.keys() - self.drawn
        if len(symbols) != 1 or symbols != term.free_symbols & self.numbers.keys():
            return False
        rest = sp.diff(term, *symbols)
        return bool(rest.free_symbols) and not rest.free_symbols & self.numbers.keys()

    def _scale_sum(self, functions: dict[sp.Symbol, sp.Expr]) -> None:
        """Scale the sum of several functions of the data; similar functions, such as log(x) and its
        square, would otherwise get large values that cancel only by chance.
        """
        if len(functions) < 2:
            for term in functions.values():
                self._scale_term(term)
            return
        columns = [self._values_on_rows(sp.diff(term, s))[0] for s, term in functions.items()]
        basis = np.stack(columns, axis=1)
        basis = basis - np.mean(basis, axis=0)
        scale = np.std(basis, axis=0)
        if not np.all(np.isfinite(scale)) or not np.all(scale > 0):
            return
        _, widths, directions = np.linalg.svd(basis / scale, full_matrices=False)
        significant = widths > COMBINATION_RTOL * widths[0]
        draws, count = len(self.values), int(significant.sum())
        size = np.exp(self.rng.uniform(np.log(MIN_TERM_SPREAD), np.log(MAX_SUM_SPREAD), (draws, 1)))
        # singular vectors have length 1 over all rows: the square root gives the sum the spread
        # `size`
        components = size * self.rng.normal(size=(draws, count)) * np.sqrt(len(basis) / count)
        values = (components / widths[significant]) @ directions[significant] / scale
        for symbol, value in zip(functions, values.T, strict=True):
            self._set(symbol, value)

    def _scale_term(self, term: sp.Expr) -> None:
        """Scale a term by drawing one of its factors."""
        for factor in sp.Mul.make_args(term):
            symbol, power = factor.as_base_exp()
            if symbol not in self.numbers or symbol in self.drawn or not power.is_number:
                continue
            rest = term / factor
            if symbol in rest.free_symbols or not rest.free_symbols - self.numbers.keys():
                continue
            spread = np.std(self._values_on_rows(rest), axis=1)
            order = float(power)
            size = np.exp(
                self.rng.uniform(np.log(MIN_TERM_SPREAD), np.log(MAX_TERM_SPREAD), len(spread))
            )
            with np.errstate(all="ignore"):
                value = spread ** (-1 / order) * size ** np.sign(order)
            # with an even power the sign of the term does not depend on that of the factor
            if order % 2:
                value = value * self.rng.choice([-1.0, 1.0], len(spread))
            self._set(symbol, value)
            return

    def _draw_location(self, total: sp.Add) -> None:
        """Draw a location that is compared with the data: d in x - d."""
        data, locations = sp.S.Zero, []
        for term in total.args:
            factor, symbol = term.as_independent(*self.numbers, as_Add=False)
            if not term.free_symbols & self.numbers.keys():
                data += term
            elif symbol in self.numbers and factor.is_number:
                locations.append((symbol, factor))
            else:
                return
        if len(locations) != 1 or locations[0][0] in self.drawn or not data.free_symbols:
            return
        symbol, factor = locations[0]
        on_rows = self._values_on_rows(data)
        low, high = np.min(on_rows), np.max(on_rows)
        if np.isfinite(low + high) and low < high:
            self._set(symbol, -self.rng.uniform(low, high, len(self.values)) / float(factor))

    def _scale_to_other_terms(self, total: sp.Add) -> None:
        """Scale the terms of a denominator, or of another power of a sum, to its other terms: b and
        c in 1/(1 + b*x + c*x^2), whatever the unit of x, and d in 1/(d + x^k).
        """
        terms, others = {}, []
        for term in total.args:
            symbols = term.free_symbols & self.numbers.keys()
            only = next(iter(symbols)) if len(symbols) == 1 else None
            is_coefficient = only is not None and only not in sp.diff(term, only).free_symbols
            if only is None or not is_coefficient or only in self.drawn or only in terms:
                others.append(term)
            else:
                terms[only] = term
        if not terms or not others:
            return
        reference = np.mean(np.abs(self._values_on_rows(sp.Add(*others))), axis=1)
        for symbol, term in terms.items():
            slope = np.mean(np.abs(self._values_on_rows(sp.diff(term, symbol))), axis=1)
            size = self.rng.uniform(np.log(MIN_TERM_SPREAD), np.log(MAX_TERM_SPREAD), len(slope))
            with np.errstate(all="ignore"):
                value = reference / slope * np.exp(size)
            self._set(symbol, value * self.rng.choice([-1.0, 1.0], len(slope)))

    def _values_on_rows(self, formula: sp.Expr) -> Array:
        """The values of a part of the expression for all draws, shape (draws, rows)."""
        tape = compile_tape([formula], [*self.inputs, *self.numbers])
        inputs = [*self.cache, *(column[:, None] for column in self.values.T)]
        shape = (len(self.values), self.cache[0].shape[0] if self.cache else 1)
        return np.broadcast_to(evaluate(tape, inputs)[0], shape)

    def _set(self, symbol: sp.Symbol, value: Array) -> None:
        """Set a parameter to those drawn values that are in its domain."""
        number = self.numbers[symbol]
        value = _with_sign_of_domain(self.quantities[number], value)
        usable = np.isfinite(value) & _in_domain(self.quantities[number], value)
        self.values[usable, number] = value[usable]
        self.drawn.add(symbol)


def only_parameter(term: sp.Expr, parameters: Mapping[sp.Symbol, int]) -> sp.Symbol:
    """Return the only parameter in a term.

    Args:
        term: the term, with exactly one parameter.
        parameters: symbol -> its position.
    """
    (symbol,) = term.free_symbols & parameters.keys()
    return symbol


def _with_sign_of_domain(q: Quantity, value: Array) -> Array:
    """Values with the sign of the domain, if that is one-sided."""
    if any(b.lower and b.limit.is_nonnegative for b in q.bounds):
        return np.abs(value)
    if any(not b.lower and b.limit.is_nonpositive for b in q.bounds):
        return -np.abs(value)
    return value


def _in_domain(q: Quantity, value: Array) -> NDArray[np.bool_]:
    inside = np.ones(len(value), dtype=bool)
    for b in q.bounds:
        if b.limit.is_number:
            limit = float(b.limit)
            inside &= value > limit if b.lower else value < limit
    return inside
