"""Parameters without bounds in place of parameters with bounds.

A fit moves free numbers u; each declared domain gives the map from them to the parameters:
C > C0 becomes C = C0 + exp(u), x < b becomes x = b - exp(u), a < x < b a logistic. So every bound,
coupled ones included, holds at every step, whatever the free numbers are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.arrays import evaluate, evaluate_with_gradient
from lawdsl.compiling.tape import Tape, compile_tape
from lawdsl.diagnostics import Diagnostic, LawdslError
from lawdsl.law import Bound, Law, Quantity

Array = NDArray[np.float64]

WIDEST = 300.0  # of |u| where it is an exponent: exp stays finite and above 0
TINY = 1e-8  # relative: how far inside its bound a start is put


@dataclass(frozen=True)
class Transform:
    """The map of one parameter; limits are tapes over all parameters, in the law's order.

    `closed_lower` and `closed_upper` say whether the parameter may equal its limit.
    """

    name: str
    lower: Tape | None
    upper: Tape | None
    closed_lower: bool
    closed_upper: bool


def transforms_of(law: Law) -> tuple[Transform, ...]:
    """One transform for each parameter of a law, in its order.

    Raises:
        LawdslError: a bound that has no value with the law's settings; L0501.
    """
    symbols = [q.symbol for q in law.parameters]
    found = []
    for q in law.parameters:
        low = [_limit(law, q, b) for b in q.bounds if b.lower]
        high = [_limit(law, q, b) for b in q.bounds if not b.lower]
        found.append(
            Transform(
                q.name,
                compile_tape([sp.Max(*low)], symbols) if low else None,
                compile_tape([sp.Min(*high)], symbols) if high else None,
                all(not b.strict for b in q.bounds if b.lower),
                all(not b.strict for b in q.bounds if not b.lower),
            )
        )
    return tuple(found)


def _limit(law: Law, q: Quantity, bound: Bound) -> sp.Expr:
    """A limit in parameters only."""
    settings = {s.symbol: sp.Rational(repr(s.value)) for s in law.settings if s.value is not None}
    limit = bound.limit.xreplace(settings)
    if limit.has(sp.zoo, sp.nan, sp.oo, -sp.oo):
        message = f"the bound {q.name} {bound.relation} {bound.text} has no value"
        help = "give the settings that it is made of other values"
        raise LawdslError(Diagnostic("L0501", message, help=help))
    return limit


def to_parameters(transforms: tuple[Transform, ...], free: Array) -> Array:
    """Parameters from free numbers.

    Args:
        transforms: one a parameter.
        free: shape (starts, parameters).

    Returns:
        The parameters, of the same shape.
    """
    theta = np.zeros_like(free)
    with np.errstate(all="ignore"):
        for i, transform in enumerate(transforms):
            low, high = _limits(transform, theta)
            theta[:, i] = _forward(transform, low, high, free[:, i])
    return theta


def with_slopes(transforms: tuple[Transform, ...], free: Array) -> tuple[Array, Array]:
    """Parameters from free numbers, and the derivatives of the ones by the others.

    Returns:
        Parameters, shape (starts, parameters), and d(parameter i)/d(free j), shape
        (starts, parameters, parameters).
    """
    starts, count = free.shape
    theta = np.zeros_like(free)
    slopes = np.zeros((starts, count, count))
    with np.errstate(all="ignore"):
        for i, transform in enumerate(transforms):
            low, low_slope = _limit_slopes(transform.lower, theta, slopes)
            high, high_slope = _limit_slopes(transform.upper, theta, slopes)
            theta[:, i] = _forward(transform, low, high, free[:, i])
            u = np.clip(free[:, i], -WIDEST, WIDEST)
            if low is not None and high is not None:
                share = 1 / (1 + np.exp(-u))
                slopes[:, i] = (1 - share)[:, None] * low_slope + share[:, None] * high_slope
                slopes[:, i, i] = (high - low) * share * (1 - share)
            elif low is not None:
                slopes[:, i] = low_slope
                slopes[:, i, i] = np.exp(u)
            elif high is not None:
                slopes[:, i] = high_slope
                slopes[:, i, i] = -np.exp(u)
            else:
                slopes[:, i, i] = 1.0
    return theta, slopes


def to_free(transforms: tuple[Transform, ...], theta: Array) -> Array:
    """Free numbers from parameters; a parameter on or outside its bound is moved just inside.

    Args:
        transforms: one a parameter.
        theta: shape (starts, parameters).
    """
    theta = theta.copy()
    free = np.zeros_like(theta)
    with np.errstate(all="ignore"):
        for i, transform in enumerate(transforms):
            low, high = _limits(transform, theta)
            x = theta[:, i]
            if low is not None and high is not None:
                share = np.clip((x - low) / (high - low), TINY, 1 - TINY)
                free[:, i] = np.log(share / (1 - share))
            elif low is not None:
                free[:, i] = np.log(np.maximum(x - low, TINY * np.maximum(np.abs(low), TINY)))
            elif high is not None:
                free[:, i] = np.log(np.maximum(high - x, TINY * np.maximum(np.abs(high), TINY)))
            else:
                free[:, i] = x
            theta[:, i] = _forward(transform, low, high, free[:, i])
    return free


def room(
    transforms: tuple[Transform, ...], theta: Mapping[str, float]
) -> dict[str, tuple[str, float]]:
    """For each bounded parameter the nearer bound (lower or upper) and the distance to it."""
    values = np.array([[theta[t.name] for t in transforms]])
    found = {}
    for i, transform in enumerate(transforms):
        low, high = _limits(transform, values)
        distances = []
        if low is not None:
            distances.append(("lower", float(values[0, i] - low[0])))
        if high is not None:
            distances.append(("upper", float(high[0] - values[0, i])))
        if distances:
            found[transform.name] = min(distances, key=lambda d: d[1])
    return found


def _forward(transform: Transform, low: Array | None, high: Array | None, u: Array) -> Array:
    """The parameter at u. Where rounding would put it on a limit that it may not equal, it is the
    number next to the limit."""
    if low is None and high is None:
        return u
    u = np.clip(u, -WIDEST, WIDEST)
    if low is not None and high is not None:
        x = low + (high - low) / (1 + np.exp(-u))
    elif low is not None:
        x = low + np.exp(u)
    else:
        assert high is not None
        x = high - np.exp(u)
    if high is not None:
        x = np.minimum(x, high if transform.closed_upper else np.nextafter(high, -np.inf))
    if low is not None:
        x = np.maximum(x, low if transform.closed_lower else np.nextafter(low, np.inf))
    return x


def _limits(transform: Transform, theta: Array) -> tuple[Array | None, Array | None]:
    def at(tape: Tape | None) -> Array | None:
        if tape is None:
            return None
        value = evaluate(tape, list(theta.T))[0]
        return np.broadcast_to(value, theta.shape[:1])

    return at(transform.lower), at(transform.upper)


def _limit_slopes(tape: Tape | None, theta: Array, slopes: Array) -> tuple[Array | None, Array]:
    """A limit and its derivatives by the free numbers, through the parameters before it."""
    count = theta.shape[1]
    if tape is None:
        return None, np.zeros((len(theta), count))
    value, by = evaluate_with_gradient(tape, list(theta.T), range(count))
    return value, np.einsum("sk,skj->sj", by, slopes)
