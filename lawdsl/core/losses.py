"""Loss of a residual, rho(r), with its derivatives: one row for each loss of the language.

A row is computed in any arithmetic `m`: arrays, floats, or numbers of any precision. The language,
solvers, interval evaluation and scores all read these rows. (M-estimation: Huber (1964), "Robust
estimation of a location parameter", Annals of Mathematical Statistics 35.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Protocol

from lawdsl.core.registry import by_name


class Arithmetic(Protocol):
    """The operations that losses need, elementwise."""

    def minimum(self, x: Any, y: Any, /) -> Any:
        """The smaller of x and y."""
        ...

    def maximum(self, x: Any, y: Any, /) -> Any:
        """The larger of x and y."""
        ...

    def where(self, condition: Any, x: Any, y: Any, /) -> Any:
        """x where the condition is true, else y."""
        ...

    def full_like(self, x: Any, value: float, /) -> Any:
        """The value, in the shape and number type of x."""
        ...

    def ratio(self, x: Any, y: Any, at_zero: float, /) -> Any:
        """x/y, or `at_zero` where y is 0."""


class Scalars:
    """The arithmetic of single numbers: floats, fractions, multiple-precision numbers."""

    minimum = staticmethod(min)
    maximum = staticmethod(max)

    @staticmethod
    def where(condition: Any, x: Any, y: Any, /) -> Any:
        """x where the condition is true, else y."""
        return x if condition else y

    @staticmethod
    def full_like(x: Any, value: float, /) -> Any:
        """The value, as a number of the type of x."""
        return type(x)(value)

    @staticmethod
    def ratio(x: Any, y: Any, at_zero: float, /) -> Any:
        """x/y, or `at_zero` where y is 0."""
        return x / y if y else type(x)(at_zero)


def _no_change(size: float, *parameters: float) -> tuple[float, ...]:
    return parameters


@dataclass(frozen=True)
class Loss:
    """One loss rho of a residual r: convex, with its minimum at 0, and positive curvature or a kink
    there.

    Functions take the arithmetic, the residual, and the values of the parameters. Those of second
    order also take the slope, from which most of them are computed.

    Attributes:
        name: the name in the language, `huber(log(L), 1e-3)`.
        value: rho(r).
        slope: rho'(r).
        curvature: rho''(r), from r and the slope.
        weight: rho'(r)/r, from r and the slope: what iteratively reweighted least squares takes in
            place of the curvature (Holland and Welsch (1977), "Robust regression using iteratively
            reweighted least-squares", Communications in Statistics 6).
        log_normalizer: log ∫ exp(-rho(r)/tau) dr, from tau and the parameters: the log normalizing
            constant of the density proportional to exp(-rho(r)/tau).
        scale: the default scale of the residuals, if only the loss is named: log or raw.
        parameters: names of its parameters, which are fields of an `Objective` and above 0.
        example: how its parameters are written in messages.
        robust: whether the slope is bounded, so that no row has more than a certain influence.
        quadratic: whether the curvature is constant, so that Gauss-Newton is Newton's method.
        max_curvature: the curvature at 0.
        jump: |r| at which the curvature drops from 1 to 0, from the parameters; None if it is
            continuous.
        widened: parameters with which residuals of a given size have a nearly quadratic loss, from
            that size and the parameters.
        least_squares: the name of the loss in `scipy.optimize.least_squares`, if it has one.
        kinked: whether it consists of two straight lines that meet at 0, where it is not
            differentiable. Such a loss is minimised first in the smooth form `CHECKED`, then by
            linear programs.
        sides: the slopes of the lines below and above 0 of a kinked loss, or the factors of the two
            sides of another one, from the parameters; None if both sides are the same.
        limit: the upper bound of the parameters, excluded.
        fused: value and slope at once, if that saves time; the value may differ in the last digit.
        named: the parameters that are written with their names, behind the others.
    """

    name: str
    value: Callable[..., Any]
    slope: Callable[..., Any]
    curvature: Callable[..., Any]
    weight: Callable[..., Any]
    log_normalizer: Callable[..., float]
    scale: str = "raw"
    parameters: tuple[str, ...] = ()
    example: tuple[str, ...] = ()
    robust: bool = False
    quadratic: bool = False
    max_curvature: float = 1.0
    jump: Callable[..., float] | None = None
    widened: Callable[..., tuple[float, ...]] = _no_change
    least_squares: str | None = None
    kinked: bool = False
    sides: Callable[..., tuple[float, float]] | None = None
    limit: float = math.inf
    fused: Callable[..., tuple[Any, Any]] | None = None
    named: tuple[str, ...] = ()

    def value_and_slope(self, m: Arithmetic, r: Any, *parameters: float) -> tuple[Any, Any]:
        """Compute rho(r) and rho'(r) together.

        Args:
            m: the arithmetic.
            r: the residuals, any shape.
            parameters: the parameters of the loss.
        """
        if self.fused is not None:
            return self.fused(m, r, *parameters)
        return self.value(m, r, *parameters), self.slope(m, r, *parameters)

    def is_centered(self, *parameters: float) -> bool:
        """Whether residuals are centered at 0: not those of a quantile other than the median, nor
        those of a loss whose sides differ.

        Args:
            parameters: the parameters of the loss.
        """
        return self.sides is None or len(set(self.sides(*parameters))) == 1

    def text(self, scale: str, *parameters: float, more: str = "") -> str:
        """The loss in the syntax of a law: `huber(log(L), 0.001)`.

        Args:
            scale: the quantity whose residuals it takes: `L` or `log(L)`.
            parameters: their values.
            more: further arguments as written, each after a comma.
        """
        names = (f"{name} = " if name in self.named else "" for name in self.parameters)
        numbers = zip(names, parameters, strict=True)
        return f"{self.name}({scale}{''.join(f', {name}{x:g}' for name, x in numbers)}{more})"

    def forms(self, output: str) -> tuple[str, str]:
        """The loss of log residuals and that of raw residuals, in the syntax of the language."""
        numbers = "".join(f", {number}" for number in self.example)
        letters = "".join(f", {name[0]}" for name in self.parameters)
        return f"{self.name}(log({output}){numbers})", f"{self.name}({output}{letters})"


def _clipped(m: Arithmetic, r: Any, delta: float) -> Any:
    """The residual clipped to [-delta, delta], which is the slope of Huber's loss."""
    return m.minimum(m.maximum(r, -delta), delta)


def _huber(m: Arithmetic, r: Any, delta: float) -> Any:
    clipped = _clipped(m, r, delta)
    return clipped * (r - clipped / 2)


def _huber_fused(m: Arithmetic, r: Any, delta: float) -> tuple[Any, Any]:
    clipped = _clipped(m, r, delta)
    value = clipped * r
    # in place: allocates one array fewer than clipped * (r - clipped/2)
    value -= clipped * (0.5 * clipped)
    return value, clipped


def _huber_log_normalizer(tau: float, delta: float) -> float:
    """log(sqrt(2·pi·tau)·erf(delta/sqrt(2·tau)) + 2·tau/delta·exp(-delta²/(2·tau)))."""
    inside = math.sqrt(2 * math.pi * tau) * math.erf(delta / math.sqrt(2 * tau))
    outside = 2 * tau / delta * math.exp(-(delta**2) / (2 * tau))
    return math.log(inside + outside)


# rho(r) = r²/2 for |r| <= delta, else delta·(|r| - delta/2) (Huber (1964), cited above)
HUBER = Loss(
    "huber",
    value=_huber,
    slope=_clipped,
    # exact: within delta the slope is r itself, not a computed copy
    curvature=lambda m, r, slope, delta: m.where(slope == r, 1.0, 0.0),
    weight=lambda m, r, slope, delta: m.ratio(slope, r, 1.0),
    log_normalizer=_huber_log_normalizer,
    scale="log",
    parameters=("delta",),
    example=("1e-3",),
    robust=True,
    jump=lambda delta: delta,
    widened=lambda size, delta: (max(delta, size),),
    least_squares="huber",
    fused=_huber_fused,
)

SQUARED = Loss(
    "squared",
    value=lambda m, r: r * r,
    slope=lambda m, r: 2 * r,
    curvature=lambda m, r, slope: m.full_like(r, 2.0),
    weight=lambda m, r, slope: m.full_like(r, 2.0),
    log_normalizer=lambda tau: 0.5 * math.log(math.pi * tau),
    quadratic=True,
    max_curvature=2.0,
    least_squares="linear",
)

# least absolute deviations: the residuals of an optimal fit have the median 0
ABSOLUTE = Loss(
    "absolute",
    value=lambda m, r: m.maximum(r, -r),
    slope=lambda m, r: m.where(r > 0, 1.0, m.where(r < 0, -1.0, 0.0)),
    curvature=lambda m, r, slope: m.where(r == 0, 1.0, 0.0),
    weight=lambda m, r, slope: m.ratio(slope, r, 1.0),
    log_normalizer=lambda tau: math.log(2 * tau),
    robust=True,
    kinked=True,
    sides=lambda: (1.0, 1.0),
)


def _check(m: Arithmetic, r: Any, quantile: float) -> Any:
    return m.maximum(-quantile * r, (1 - quantile) * r)


# the check loss of Koenker and Bassett (1978), "Regression quantiles", Econometrica 46: a share
# `quantile` of the measurements lies below an optimal fit. r is predicted - measured.
QUANTILE = Loss(
    "quantile",
    value=_check,
    slope=lambda m, r, quantile: m.where(r > 0, 1 - quantile, m.where(r < 0, -quantile, 0.0)),
    curvature=lambda m, r, slope, quantile: m.where(r == 0, 1.0, 0.0),
    weight=lambda m, r, slope, quantile: m.ratio(slope, r, 1.0),
    log_normalizer=lambda tau, quantile: math.log(tau / (quantile * (1 - quantile))),
    parameters=("quantile",),
    example=("0.9",),
    robust=True,
    kinked=True,
    sides=lambda quantile: (quantile, 1 - quantile),
    limit=1.0,
)


def _side(m: Arithmetic, r: Any, quantile: float) -> Any:
    """The slope of the check loss on the side of r, without its sign."""
    return m.where(r > 0, 1 - quantile, quantile)


# delta times the check loss, with a parabola on each side within delta of 0: Huber's loss with
# sides of different slopes, which is differentiable everywhere
CHECKED = Loss(
    "smoothed quantile",
    value=lambda m, r, quantile, delta: _side(m, r, quantile) * _huber(m, r, delta),
    slope=lambda m, r, quantile, delta: _side(m, r, quantile) * _clipped(m, r, delta),
    curvature=lambda m, r, slope, quantile, delta: m.where(
        m.maximum(r, -r) <= delta, _side(m, r, quantile), 0.0
    ),
    weight=lambda m, r, slope, quantile, delta: m.ratio(slope, r, max(quantile, 1 - quantile)),
    log_normalizer=lambda tau, quantile, delta: math.nan,  # no law declares it
    scale="log",
    parameters=("quantile", "delta"),
    robust=True,
    widened=lambda size, quantile, delta: (quantile, max(delta, size)),
)

OVER = "over"
"""The parameter of a loss with two sides: how many times an over-estimate counts, predicted above
measured, relative to an under-estimate of the same size."""


def _factor(m: Arithmetic, r: Any, over: float) -> Any:
    """The factor of the loss on the side of r."""
    return m.where(r > 0, over, 1.0)


@cache
def asymmetric(row: Loss) -> Loss:
    """The loss with two sides that a symmetric one has: rho(r) for r <= 0, over·rho(r) for r > 0.

    It has the further parameter `over`. With squares its minimum is an expectile (Newey and Powell
    (1987), "Asymmetric least squares estimation and testing", Econometrica 55), with absolute
    values the quantile 1/(1 + over).

    Args:
        row: a loss whose sides are the same.
    """
    below, above = (1.0, 1.0) if row.sides is None else row.sides()
    jump = row.jump

    def fused(m: Arithmetic, r: Any, *parameters: float) -> tuple[Any, Any]:
        factor = _factor(m, r, parameters[-1])
        value, slope = row.value_and_slope(m, r, *parameters[:-1])
        return factor * value, factor * slope

    def curvature(m: Arithmetic, r: Any, slope: Any, *parameters: float) -> Any:
        # the slope of the symmetric loss again, since a quotient by the factor would round
        inner = row.slope(m, r, *parameters[:-1])
        return _factor(m, r, parameters[-1]) * row.curvature(m, r, inner, *parameters[:-1])

    def weight(m: Arithmetic, r: Any, slope: Any, *parameters: float) -> Any:
        inner = row.slope(m, r, *parameters[:-1])
        return _factor(m, r, parameters[-1]) * row.weight(m, r, inner, *parameters[:-1])

    def log_normalizer(tau: float, *parameters: float) -> float:
        # half of the area is that of each side, and over/tau is 1/(tau/over)
        halves = (row.log_normalizer(t, *parameters[:-1]) for t in (tau, tau / parameters[-1]))
        largest, other = sorted(halves, reverse=True)
        return largest + math.log1p(math.exp(other - largest)) - math.log(2)

    return replace(
        row,
        value=lambda m, r, *p: _factor(m, r, p[-1]) * row.value(m, r, *p[:-1]),
        slope=lambda m, r, *p: _factor(m, r, p[-1]) * row.slope(m, r, *p[:-1]),
        curvature=curvature,
        weight=weight,
        log_normalizer=log_normalizer,
        parameters=(*row.parameters, OVER),
        example=(*row.example, "10"),
        named=(OVER,),
        quadratic=False,
        widened=lambda size, *p: (*row.widened(size, *p[:-1]), p[-1]),
        jump=None if jump is None else lambda *p: jump(*p[:-1]),
        least_squares=None,
        sides=lambda *p: (below, above * p[-1]),
        fused=fused,
    )


def can_be_asymmetric(row: Loss) -> bool:
    """Whether a loss takes the parameter `over`: one without a parameter for its sides.

    Args:
        row: the loss.
    """
    return row.sides is None or not row.parameters


def over_advice(row: Loss, output: str, factor: str | None) -> str:
    """What to write in place of a loss with a wrong factor of over-estimates, or beside a right one.

    Args:
        row: the loss.
        output: the name of the output.
        factor: the factor as written, if it is a number above 0.
    """
    if not can_be_asymmetric(row):
        return (
            f"the {row.name} says already what each side costs: leave {OVER} out, or write "
            f"absolute({output}, {OVER} = 10), which fits the quantile 1/11"
        )
    if factor is not None:
        return f"write {row.forms(output)[0][:-1]}, {OVER} = {factor})"
    return f"{OVER} is how many times an over-estimate counts, a number above 0: write {OVER} = 10"


_ROWS = (
    HUBER,
    SQUARED,
    ABSOLUTE,
    QUANTILE,
)
LOSSES: dict[str, Loss] = by_name((row.name, row) for row in _ROWS)
"""The losses of the language, by name."""

INTERNAL: dict[str, Loss] = by_name([(CHECKED.name, CHECKED)])
"""Losses that only solvers use."""
