"""Law -> transforms of its parameters: the bounds of their domains, compiled."""

from __future__ import annotations

import numpy as np
import sympy as sp

from lawdsl.compiling.model import Model
from lawdsl.compiling.terms import parts_of
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.fitting.transforms import Limit, Transform, Transforms
from lawdsl.law.law import Bound, Law, Quantity

NO_ROWS = np.zeros((0, 1))  # a limit depends on no variable


def transforms_of(law: Law) -> Transforms:
    """Build one transform for each parameter of a law, in its order.

    Raises:
        LawdslError: a bound that has no value with the law's settings; L0501.
    """
    return Transforms(
        Transform(q.name, _limit(law, q, lower=True), _limit(law, q, lower=False))
        for q in law.parameters
    )


def _limit(law: Law, q: Quantity, lower: bool) -> Limit | None:
    bounds = [b for b in q.bounds if b.lower == lower]
    if not bounds:
        return None
    limits = [_in_parameters(law, q, b) for b in bounds]
    limit = (sp.Max if lower else sp.Min)(*limits)
    closed = all(not b.strict for b in bounds)
    if limit.is_number:
        number = Model(parts_of(limit, (), ()), NO_ROWS)
        return Limit(float(number.value(np.zeros((1, 0)))[0, 0]), None, closed)
    formula = Model(parts_of(limit, (), [p.symbol for p in law.parameters]), NO_ROWS)
    return Limit(np.nan, formula, closed, bool(limit.is_positive))


def _in_parameters(law: Law, q: Quantity, bound: Bound) -> sp.Expr:
    """A limit as an expression of the parameters only."""
    settings = {s.symbol: sp.Rational(repr(s.value)) for s in law.settings if s.value is not None}
    limit = bound.limit.xreplace(settings)
    if limit.has(sp.zoo, sp.nan, sp.oo, -sp.oo):
        message = f"the bound {q.name} {bound.relation} {bound.text} has no value"
        help = "give the settings that it is made of other values"
        raise LawdslError(Diagnostic("L0501", message, help=help))
    return limit
