"""Angle with known bounds -> the sign of its sin, cos and tan, if it stays within half a turn."""

from __future__ import annotations

import sympy as sp

from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.sign import Sign, multiply

MAX_HALF_TURNS = 4  # half turns from 0, in either direction, among which an angle is located

PERIODIC = (sp.sin, sp.cos, sp.tan)


def by_half_turns(signs: Signs, e: sp.Expr) -> Sign:
    """The sign of sin(u), cos(u) or tan(u) = sin(u)/cos(u), where u has a value.

    For k·pi <= u <= (k + 1)·pi, sin(u) has the sign (-1)^k, and is 0 at the two ends only. cos(u)
    is sin(u + pi/2).

    Args:
        signs: the signs on the box.
        e: the expression.
    """
    u = e.args[0]
    if isinstance(e, sp.sin):
        return _of_sine(signs, u)
    if isinstance(e, sp.cos):
        return _of_sine(signs, u + sp.pi / 2)
    return multiply(_of_sine(signs, u), _of_sine(signs, u + sp.pi / 2))


def _of_sine(signs: Signs, u: sp.Expr) -> Sign:
    lower = None  # the greatest k with k·pi <= u, and whether that is strict
    for k in range(MAX_HALF_TURNS, -MAX_HALF_TURNS - 1, -1):
        sign = signs.sign(u - k * sp.pi)
        if sign.within(Sign.NONNEGATIVE):
            lower = k, sign
            break
    if lower is None:
        return Sign.REAL
    k, from_lower = lower
    to_upper = signs.sign((k + 1) * sp.pi - u)
    if not to_upper.within(Sign.NONNEGATIVE):
        return Sign.REAL
    inside = from_lower == Sign.POSITIVE and to_upper == Sign.POSITIVE
    sign = Sign.POSITIVE if inside else Sign.NONNEGATIVE
    return sign if k % 2 == 0 else -sign
