"""Law -> the same law in other parameters, in which a search meets no curved valley.

In exp(c + p·x^q) the rows determine the value and the slope of the exponent where they lie, not c, p
and q one by one: with x = 1e9, p and c change by powers of ten as q changes by .1, along a valley of
equal predictions. In

    c + p·x^q = c' + p'·((x/m)^q - 1)/q,    p = p'/(q·m^q),    c = c' - p'/q,

with the geometric mean m of x, c' and p' are that value and that slope, whatever q is (the power
transformation of Box and Cox (1964), Journal of the Royal Statistical Society B 26).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.arrays import evaluate
from lawdsl.compiling.tape import compile_tape
from lawdsl.fitting.prepared_law import CentredSearch, PreparedLaw
from lawdsl.fitting.problem import Problem
from lawdsl.law.functions import ANALYTIC
from lawdsl.law.law import Bound, Law, Quantity

Array = NDArray[np.float64]

SIGN_TEXT = {1: Bound.of(">", sp.S.Zero, "0"), -1: Bound.of("<", sp.S.Zero, "0")}


@dataclass(frozen=True)
class _Power:
    """A term factor·p·base^(multiple·q) of a sum with the term `of_constant`·c.

    Attributes:
        coefficient: the parameter p.
        exponent: the parameter q.
        factor, multiple: numbers.
        base: what depends on variables and settings only.
        sign: that of q·multiple, or 0 if it is not known.
    """

    coefficient: Quantity
    exponent: Quantity
    factor: sp.Expr
    multiple: sp.Expr
    base: sp.Expr
    sign: int


@dataclass(frozen=True)
class _Sum:
    """A sum inside a function: a constant, powers, and what else it has."""

    node: sp.Expr
    constant: Quantity
    of_constant: sp.Expr
    powers: tuple[_Power, ...]
    rest: sp.Expr


@dataclass(frozen=True)
class _Centre:
    """A power with the geometric mean of its base: the positions of its parameters, and numbers."""

    coefficient: int
    exponent: int
    constant: int
    multiple: float
    shift: float
    log_mean: float


@dataclass(frozen=True, repr=False)
class _LawInOtherParameters(Law):
    """A law whose formula and domains are those of other parameters of the same names."""

    formula: sp.Expr = field(default_factory=lambda: sp.S.Zero)
    quantities: tuple[Quantity, ...] = ()

    @property
    def expression(self) -> sp.Expr:
        """The formula in the other parameters."""
        return self.formula

    @property
    def parameters(self) -> tuple[Quantity, ...]:
        """The other parameters."""
        return self.quantities


def centred_search(
    law: Law, prepare: Callable[[Law], PreparedLaw], problem: Problem
) -> CentredSearch | None:
    """Pose a search in parameters that are centred on the rows.

    Args:
        law: the law.
        prepare: the preparation of a law for the numerical stages of a fit.
        problem: the objective to be minimised, with its data.

    Returns:
        The search; None if the law has no such sums, or the problem has priors or limits that depend
        on other parameters.
    """
    if law.declarations.schema is not None or problem.penalty is not None:
        return None
    if any(t.coupled for t in problem.transforms) or problem.model.piecewise:
        return None
    numbers = {q.name: i for i, q in enumerate(law.parameters)}
    quantities, expression = list(law.parameters), law.expression
    centres: list[_Centre] = []
    for total in _sums(law):
        terms = [total.of_constant * total.constant.symbol, total.rest]
        for power in total.powers:
            log_mean = _log_mean(law, power.base, problem.columns)
            if log_mean is None:
                return None
            number = numbers[power.coefficient.name]
            quantities[number] = _with_sign(power.coefficient, power.sign)
            p, exponent = quantities[number].symbol, power.multiple * power.exponent.symbol
            ratio = (power.base / sp.Float(float(np.exp(log_mean)), 17)) ** exponent
            terms.append(power.factor * p * (ratio - 1) / exponent)
            shift = float(power.factor / total.of_constant)
            places = (number, numbers[power.exponent.name], numbers[total.constant.name])
            centres.append(_Centre(*places, float(power.multiple), shift, log_mean))
        expression = expression.xreplace({total.node: sp.Add(*terms)})
    if not centres:
        return None
    common = (law.declarations, law.given, law.dropped, law.added, law.held)
    other = _LawInOtherParameters(
        *common, law.stated_priors, law.root, expression, tuple(quantities)
    )
    prepared = prepare(other)
    posed = prepared.problem(problem.columns, problem.target, problem.objective, problem.weights)
    return CentredSearch(prepared, posed, partial(_original, tuple(centres)))


def has_sums(law: Law) -> bool:
    """Whether a law has sums for which a search may be posed in centred parameters.

    Args:
        law: the law.
    """
    return any(True for _ in _sums(law))


def _original(centres: tuple[_Centre, ...], theta: Array) -> Array:
    """The parameters of the law from the centred ones, both of shape (points, parameters)."""
    theta = theta.copy()
    with np.errstate(all="ignore"):
        for centre in centres:
            exponent = centre.multiple * theta[:, centre.exponent]
            change = theta[:, centre.coefficient] / exponent
            theta[:, centre.constant] -= centre.shift * change
            theta[:, centre.coefficient] = change * np.exp(-exponent * centre.log_mean)
    return theta


def _sums(law: Law) -> Iterator[_Sum]:
    """The sums inside functions and in exponents that have a constant and powers of their own."""
    quantities = {q.symbol: q for q in law.parameters}
    others = frozenset(q.symbol for q in (*law.variables, *law.settings))
    seen = set[sp.Expr]()
    for node in sp.preorder_traversal(law.expression):
        if isinstance(node, ANALYTIC):
            argument = node.args[0]
        elif isinstance(node, sp.Pow):
            argument = node.exp
        else:
            continue
        if not isinstance(argument, sp.Add) or argument in seen:
            continue
        seen.add(argument)
        total = _as_sum(law, argument, quantities, others)
        if total is not None:
            yield total


def _as_sum(
    law: Law, node: sp.Add, quantities: dict[sp.Symbol, Quantity], others: frozenset[sp.Symbol]
) -> _Sum | None:
    elsewhere = law.expression.xreplace({node: sp.Dummy()}).free_symbols
    limits = {s for q in law.parameters for b in q.bounds for s in b.limit.free_symbols}
    constant, powers, rest = None, list[_Power](), list[sp.Expr]()
    for term in node.args:
        own = term.free_symbols & quantities.keys() - elsewhere - limits
        apart = sp.Add(*(other for other in node.args if other is not term)).free_symbols
        power = _as_power(term, own - apart, quantities, others)
        factor, symbol = term.as_independent(*quantities, as_Add=False)
        if constant is None and symbol in own - apart and factor.is_number:
            if not quantities[symbol].bounds:
                constant = (quantities[symbol], factor)
                continue
        if power is not None:
            powers.append(power)
        else:
            rest.append(term)
    if constant is None or not powers:
        return None
    return _Sum(node, *constant, tuple(powers), sp.Add(*rest))


def _as_power(
    term: sp.Expr,
    own: set[sp.Symbol],
    quantities: dict[sp.Symbol, Quantity],
    others: frozenset[sp.Symbol],
) -> _Power | None:
    """The term as a power whose coefficient occurs nowhere else in the law; None if it is none."""
    factor, product = term.as_independent(*quantities, *others, as_Add=False)
    parts = sp.Mul.make_args(product)
    coefficients = [part for part in parts if part in own]
    powers = [part for part in parts if isinstance(part, sp.Pow) and part not in own]
    if len(parts) != 2 or len(coefficients) != 1 or len(powers) != 1 or not factor.is_number:
        return None
    base, exponent = powers[0].as_base_exp()
    multiple, symbol = exponent.as_independent(*quantities, as_Add=False)
    if symbol not in quantities or not multiple.is_number or symbol in own & {coefficients[0]}:
        return None
    if not base.free_symbols or base.free_symbols - others:
        return None
    p, q = quantities[coefficients[0]], quantities[symbol]
    sign = _sign(q) * int(sp.sign(multiple))
    is_half_line = len(p.bounds) == 1 and p.bounds[0].limit == 0
    if p.bounds and not (is_half_line and sign):
        return None
    return _Power(p, q, factor, multiple, base, sign)


def _sign(q: Quantity) -> int:
    """The sign of a parameter, as its domain implies it; 0 if the domain has both."""
    if any(b.lower and b.limit.is_nonnegative for b in q.bounds):
        return 1
    if any(not b.lower and b.limit.is_nonpositive for b in q.bounds):
        return -1
    return 0


def _with_sign(p: Quantity, sign: int) -> Quantity:
    """The coefficient p' = p·q·m^q as a quantity: its sign is that of p times that of q."""
    if not p.bounds:
        return p
    sign *= _sign(p)
    assumed = "positive" if sign > 0 else "negative"
    symbol = sp.Symbol(p.name, real=True, **{assumed: True})
    return replace(p, build=lambda: symbol, bounds=(SIGN_TEXT[sign],))


def _log_mean(law: Law, base: sp.Expr, columns: Array) -> float | None:
    """The mean of the logarithm of a base on the rows; None if it is not positive there."""
    settings = [(q.symbol, q.value) for q in law.settings if q.value is not None]
    symbols = [q.symbol for q in law.variables]
    tape = compile_tape([base], [*symbols, *(symbol for symbol, _ in settings)])
    inputs = [*columns, *(np.array(value) for _, value in settings)]
    with np.errstate(all="ignore"):
        logs = np.log(evaluate(tape, inputs)[0])
    mean = float(np.mean(logs)) if np.all(np.isfinite(logs)) else np.nan
    return mean if np.isfinite(np.exp(mean)) and np.exp(mean) > 0 else None
