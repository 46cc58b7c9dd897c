"""What may be chosen for a fit or a comparison: names and numbers, known before any array is loaded."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, TypeGuard

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.losses import LOSSES

OBJECTIVES = tuple(f"{name}({scale})" for name in LOSSES for scale in ("log", "raw"))
SHORT = {name: f"{name}({row.scale})" for name, row in LOSSES.items()}
"""Objectives by their loss alone."""

METHODS = ("delta", "profile", "bootstrap")
"""How intervals are found."""

LEVELS = (0.5, 0.999)
"""Of intervals: the lowest and the highest."""

MOST_STARTS = 100_000


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether a value is a whole number; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_level(level: Any) -> None:
    """Refuse a level of an interval that is none.

    Raises:
        LawdslError: it is not a number from 0.5 to 0.999; F0120.
    """
    if not (isinstance(level, Real) and LEVELS[0] <= float(level) <= LEVELS[1]):
        help = f"give a number from {LEVELS[0]:g} to {LEVELS[1]:g}, such as 0.95"
        raise LawdslError(Diagnostic("F0120", f"`{level}` is no level of an interval", help=help))


def check_seed(seed: Any) -> None:
    """Refuse a seed that is none.

    Raises:
        LawdslError: it is no whole number from 0; F0106.
    """
    if not is_whole(seed) or seed < 0:
        message = f"the seed is a whole number from 0, not `{seed}`"
        help = "a variable that is called `seed` is bound by columns={'seed': 'COLUMN'}"
        raise LawdslError(Diagnostic("F0106", message, help=help))
