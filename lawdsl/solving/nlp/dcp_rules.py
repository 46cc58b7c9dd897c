"""The curvature of an operation's arguments -> that of its result: a table of rules.

The rules are those of disciplined convex programming (Grant, Boyd and Ye (2006), in: Global
Optimization, from Theory to Implementation), and one more: a product of log-convex functions is
log-convex, as the sum of their logarithms is convex, and hence convex (Boyd and Vandenberghe
(2004), Convex Optimization, section 3.5.2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lawdsl.compiling.intervals import Interval
from lawdsl.core.functions import CHOICE, Function
from lawdsl.law.functions import NAMES, ROWS


@dataclass(frozen=True, slots=True)
class Curvature:
    """The enclosure and the curvature of a part of an expression on a box.

    Attributes:
        range: an enclosure of its values; None if none is known, or it is undefined somewhere.
        convex, concave: whether it is convex, or concave; both if it is affine.
        log_convex: whether it is positive with a convex logarithm.
        fixed: whether it is constant.
    """

    range: Interval | None
    convex: bool = False
    concave: bool = False
    log_convex: bool = False
    fixed: bool = False

    @property
    def affine(self) -> bool:
        """Whether it is both convex and concave."""
        return self.convex and self.concave


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a function on the range of its argument: `sense` is 1 if it is nondecreasing
    there, -1 if it is nonincreasing."""

    convex: bool = False
    concave: bool = False
    sense: int = 0


Rule = Callable[[Interval, list[Curvature]], Curvature]
"""Range of the result of an operation, curvatures of its arguments -> curvature of the result."""

UNKNOWN_SHAPE = Shape()
RISING_CONVEX, FALLING_CONVEX = Shape(convex=True, sense=1), Shape(convex=True, sense=-1)
RISING_CONCAVE, FALLING_CONCAVE = Shape(concave=True, sense=1), Shape(concave=True, sense=-1)


def _sum_rule(value_range: Interval, terms: list[Curvature]) -> Curvature:
    return Curvature(
        value_range,
        convex=all(t.convex for t in terms),
        concave=all(t.concave for t in terms),
        log_convex=all(t.log_convex for t in terms),
    )


def _product_rule(value_range: Interval, factors: list[Curvature]) -> Curvature:
    """Constant factors keep or reverse the curvature by their sign; a product of log-convex factors
    is log-convex."""
    fixed = [f.range for f in factors if f.fixed and f.range is not None]
    moving = [f for f in factors if not f.fixed]
    sign = _sign(fixed)
    rest = moving[0] if len(moving) == 1 else _nonconstant_product(moving)
    if sign > 0:
        return Curvature(value_range, rest.convex, rest.concave, rest.log_convex)
    if sign < 0:
        return Curvature(value_range, convex=rest.concave, concave=rest.convex)
    # a factor of unknown sign may reverse the curvature
    return Curvature(value_range, convex=rest.affine, concave=rest.affine)


def _nonconstant_product(factors: list[Curvature]) -> Curvature:
    both = all(f.log_convex for f in factors)
    return Curvature(None, convex=both, log_convex=both)


def _sign(ranges: list[Interval]) -> int:
    """The sign of a product of numbers in ranges; 0 if it is not known."""
    sign = 1
    for x in ranges:
        sign *= 1 if x.low >= 0 else -1 if x.high <= 0 else 0
    return sign


def _power_rule(value_range: Interval, arguments: list[Curvature]) -> Curvature:
    base, exponent = arguments
    assert base.range is not None and exponent.range is not None
    if exponent.fixed:
        composition = _compose(_power_shape(base.range, exponent.range), base, value_range)
        up = bool(exponent.range.low >= 0) and base.log_convex
        down = bool(exponent.range.high <= 0 and base.range.low >= 0) and base.concave
        logs = up or down
    elif base.fixed and base.range.low > 0:
        composition = _compose(_exponential_shape(base.range), exponent, value_range)
        logs = composition.convex
    else:
        return Curvature(value_range)
    return Curvature(value_range, composition.convex or logs, composition.concave, logs)


def _exponential_shape(base: Interval) -> Shape:
    """a^x for a fixed a > 0."""
    return Shape(convex=True, sense=1 if base.low >= 1 else -1 if base.high <= 1 else 0)


def _power_shape(base: Interval, exponent: Interval) -> Shape:
    """The shape of x^p on a range of x, for a fixed p."""
    p, q = exponent
    if p == q == 1:
        return Shape(convex=True, concave=True, sense=1)
    if base.low >= 0:
        if p >= 1:
            return RISING_CONVEX
        if p >= 0 and q <= 1:
            return RISING_CONCAVE
        return FALLING_CONVEX if q <= 0 else UNKNOWN_SHAPE
    # a negative base is defined only for a whole exponent, and not at 0 for a negative one
    if p != q or not p.is_integer() or (p < 0 and base.high >= 0):
        return UNKNOWN_SHAPE
    even = bool((p / 2).is_integer())
    if base.high > 0:
        return Shape(convex=even)
    rises = bool(p > 0) != even
    return Shape(convex=even, concave=not even, sense=1 if rises else -1)


def _compose(shape: Shape, inner: Curvature, value_range: Interval) -> Curvature:
    with_convex = inner.affine or (inner.convex and shape.sense > 0)
    with_convex = with_convex or (inner.concave and shape.sense < 0)
    with_concave = inner.affine or (inner.concave and shape.sense > 0)
    with_concave = with_concave or (inner.convex and shape.sense < 0)
    return Curvature(value_range, shape.convex and with_convex, shape.concave and with_concave)


def _exp_rule(value_range: Interval, arguments: list[Curvature]) -> Curvature:
    composition = _compose(RISING_CONVEX, arguments[0], value_range)
    return Curvature(value_range, composition.convex, log_convex=composition.convex)


def _log_rule(value_range: Interval, arguments: list[Curvature]) -> Curvature:
    composition = _compose(RISING_CONCAVE, arguments[0], value_range)
    return Curvature(value_range, arguments[0].log_convex, composition.concave)


def _sigmoid_rule(value_range: Interval, arguments: list[Curvature]) -> Curvature:
    """The rule for increasing functions that are convex below 0 and concave above: atan, tanh."""
    inner = arguments[0].range
    assert inner is not None
    shape = (
        RISING_CONCAVE if inner.low >= 0 else RISING_CONVEX if inner.high <= 0 else UNKNOWN_SHAPE
    )
    return _compose(shape, arguments[0], value_range)


def _abs_rule(value_range: Interval, arguments: list[Curvature]) -> Curvature:
    """The rule for abs, which is its argument or the negative of it if the sign is known."""
    inner = arguments[0]
    assert inner.range is not None
    if inner.range.low >= 0:
        return Curvature(value_range, inner.convex, inner.concave, inner.log_convex)
    if inner.range.high <= 0:
        return Curvature(value_range, convex=inner.concave, concave=inner.convex)
    # |convex| is not convex if the sign changes
    return Curvature(value_range, convex=inner.affine)


def _max_rule(value_range: Interval, arguments: list[Curvature]) -> Curvature:
    return Curvature(
        value_range,
        convex=all(x.convex for x in arguments),
        log_convex=all(x.log_convex for x in arguments),
    )


def _min_rule(value_range: Interval, arguments: list[Curvature]) -> Curvature:
    return Curvature(value_range, concave=all(x.concave for x in arguments))


def _unknown_rule(value_range: Interval, arguments: list[Curvature]) -> Curvature:
    return Curvature(value_range)


def _of_shape(shape: Shape) -> Rule:
    return lambda value_range, arguments: _compose(shape, arguments[0], value_range)


def _of_function(row: Function) -> Rule:
    match row.curvature:
        case "exponential":
            return _exp_rule
        case "logarithmic":
            return _log_rule
        case "sigmoid":
            return _sigmoid_rule
        case "absolute":
            return _abs_rule
        case "convex" | "concave" as kind:
            return _of_shape(Shape(kind == "convex", kind == "concave", row.monotone))
    return _unknown_rule


RULES: dict[str, Rule] = {
    "add": _sum_rule,
    "multiply": _product_rule,
    "power": _power_rule,
    "finite log": _unknown_rule,
    "max": _max_rule,
    "min": _min_rule,
    CHOICE: _unknown_rule,  # it may jump
    **{NAMES[function]: _of_function(row) for function, row in ROWS.items()},
}
"""Operation -> the curvature of its result, from its range and the curvature of its arguments."""
