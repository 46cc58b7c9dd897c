"""Unconstrained parameters u -> parameters theta inside their domains, with first and second
derivatives.

A fit searches over unconstrained parameters u; each domain determines the map: theta = u without
bounds, C = C0 + exp(u) for C > C0, x = b - exp(u) for x < b, x = a + (b - a)/(1 + exp(-u)) for a <
x < b. So every bound, including those that depend on other parameters, is satisfied at every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.model import Model

Array = NDArray[np.float64]

Contraction = Callable[[Array], Array]
"""Factors by parameter -> the sum over parameters of factor times second derivatives."""

# unconstrained parameters are clipped to ± this where they are exponents: exp stays finite and
# above 0
MAX_EXPONENT = 300.0
# smallest distance of a start from a bound, relative to the bound; small compared with any step
START_DISTANCE_RTOL = 1e-8
# relative to the value of a formula: larger than its rounding error
FORMULA_RTOL = 1e-13
MIN_BOUND_DISTANCE = 1e-130  # smallest distance of a start from a bound at 0
# an unconstrained parameter of at most this was moved away from a bound at 0
NEAREST_TO_BOUND = math.log(MIN_BOUND_DISTANCE) * (1 - 1e-12)


@dataclass(frozen=True)
class Limit:
    """A bound of a parameter: a number, or a formula of the parameters before it."""

    number: float
    formula: Model | None = None
    closed: bool = False  # whether the parameter may equal it
    positive: bool = False  # whether a formula is known to be positive

    def at(self, theta: Array) -> Array:
        """Evaluate it at parameters of shape (starts, parameters): shape (starts,)."""
        if self.formula is None:
            return np.full(len(theta), self.number)
        return self.formula.value(theta)[:, 0]

    def inside(self, value: Array, towards: float) -> Array:
        """The permitted value of a parameter that is nearest to the limit.

        Values of a formula are rounded, so the parameter keeps a larger distance from them: claims
        that depend on the bound are decided in exact arithmetic.

        Args:
            value: the value of the limit, shape (starts,).
            towards: the direction of the domain, -inf or inf.
        """
        if self.formula is not None:
            value = value + np.copysign(FORMULA_RTOL * np.abs(value), towards)
        return value if self.closed else np.nextafter(value, towards)


@dataclass(frozen=True)
class Transform:
    """The map of one parameter from its unconstrained value, by the limits of its domain."""

    name: str
    lower: Limit | None
    upper: Limit | None

    @property
    def coupled(self) -> bool:
        """Whether a limit depends on other parameters."""
        return any(side is not None and side.formula is not None for side in self.sides)

    @property
    def sides(self) -> tuple[Limit | None, Limit | None]:
        """The lower and upper limits; None for a side without one."""
        return self.lower, self.upper


def _has_limit_only_at_zero(transform: Transform) -> bool:
    """Whether the parameter has no limit except a lower one at 0."""
    if transform.upper is not None or transform.coupled:
        return False
    return transform.lower is None or transform.lower.number == 0.0


class Transforms(tuple[Transform, ...]):
    """One transform per parameter; those with one numeric limit are evaluated as one array."""

    def __init__(self, each: Iterable[Transform]) -> None:
        with_one_limit = {i: t for i, t in enumerate(self) if not t.coupled and None in t.sides}
        self.one_sided = np.array(
            [i for i, t in with_one_limit.items() if t.lower or t.upper], dtype=int
        )
        self.others = [i for i in range(len(self)) if i not in with_one_limit]
        limits = [with_one_limit[i].lower or with_one_limit[i].upper for i in self.one_sided]
        self.sign = np.array([1.0 if with_one_limit[i].lower else -1.0 for i in self.one_sided])
        self.limit = np.array([limit.number for limit in limits if limit])
        ends = zip(limits, self.limit, self.sign, strict=True)
        self.extreme = np.array([side.inside(x, sign * np.inf) for side, x, sign in ends if side])
        self.all_lower = bool(np.all(self.sign > 0))
        self.where = slice(None) if len(self.one_sided) == len(self) else self.one_sided
        self.bounded = np.sort(np.r_[self.one_sided, np.array(self.others, dtype=int)])
        # used at every step of every search, so computed once
        self.from_zero = np.array([_has_limit_only_at_zero(t) for t in self], dtype=np.bool_)

    def plain(self, chosen: list[int]) -> bool:
        """Whether none of the chosen parameters has a limit, except a lower one at 0."""
        return bool(self.from_zero[chosen].all())

    def update_derivatives(
        self, derivatives: TransformDerivatives, theta: Array, chosen: list[int]
    ) -> None:
        """Update derivatives, in place, for some parameters whose values have changed.

        Args:
            derivatives: the derivatives of all parameters; overwritten.
            theta: the parameters with the new values, shape (starts, parameters).
            chosen: the positions of these parameters; none of them has two limits, or a limit with
                a formula.
        """
        for i in chosen:
            end = self[i].lower or self[i].upper
            if end is not None:
                derivatives.slopes[:, i] = np.abs(theta[:, i] - end.number) * (
                    1 if self[i].lower else -1
                )


def without_coupled_limits(transforms: Transforms) -> Transforms | None:
    """Remove the limits that depend on other parameters; None if there are none.

    A minimum of the relaxed problem that satisfies these limits is a minimum of the problem itself.
    """
    if not any(transform.coupled for transform in transforms):
        return None

    def side(limit: Limit | None, lower: bool) -> Limit | None:
        if limit is None or limit.formula is None:
            return limit
        return Limit(0.0) if lower and limit.positive else None

    return Transforms(
        Transform(t.name, side(t.lower, True), side(t.upper, False)) for t in transforms
    )


def to_parameters(transforms: Transforms, free: Array) -> Array:
    """Map unconstrained parameters of shape (starts, parameters) to parameters of that shape."""
    if not transforms.others:
        return _one_sided(transforms, free)[0]
    with np.errstate(all="ignore"):
        theta, _ = _one_sided(transforms, free)
        # in the order of the parameters: a limit depends only on earlier parameters
        for i in transforms.others:
            low, high = limit_values(transforms[i], theta)
            theta[:, i] = _parameter_value(transforms[i], low, high, free[:, i])
    return theta


def _one_sided(transforms: Transforms, free: Array) -> tuple[Array, Array]:
    """Parameters and derivatives from unconstrained parameters, correct for those with one numeric
    limit.
    """
    where, sign = transforms.where, transforms.sign
    grown = np.exp(np.minimum(np.maximum(free[:, where], -MAX_EXPONENT), MAX_EXPONENT))
    # all limits are lower ones, the usual case: neither signs nor a choice of sides is required
    if transforms.all_lower:
        # limit + exp(u) rounds to the limit itself for small exp(u), which a strict bound excludes
        bounded = np.maximum(transforms.limit + grown, transforms.extreme)
    else:
        grown = sign * grown
        x = transforms.limit + grown
        extreme = transforms.extreme
        bounded = np.where(sign > 0, np.maximum(x, extreme), np.minimum(x, extreme))
    # all parameters have one limit, the usual case: no copy
    if len(sign) == free.shape[1]:
        return bounded, grown
    theta = free.copy()
    theta[:, where] = bounded
    return theta, grown


@dataclass(frozen=True)
class TransformDerivatives:
    """The derivatives of parameters with respect to the unconstrained ones.

    Attributes:
        slopes: the Jacobian, shape (starts, parameters, parameters), or its diagonal, shape
            (starts, parameters), if each parameter depends only on its own unconstrained value.
        contract: maps factors by parameter, shape (starts, parameters), to the sum over parameters
            of factor times second derivatives, which has the shape of the slopes.
    """

    slopes: Array
    contract: Contraction

    def gradient(self, by_parameters: Array) -> Array:
        """The gradient with respect to the unconstrained parameters, Tᵀ·g, from the gradient g with
        respect to the parameters.
        """
        if self.slopes.ndim == 2:
            return by_parameters * self.slopes
        return np.einsum("sk,skj->sj", by_parameters, self.slopes)

    def hessian(self, by_parameters: Array, gradient: Array | None) -> Array:
        """The Hessian with respect to the unconstrained parameters, Tᵀ·H·T + Σ g_k·∇²theta_k, from
        H and g by the parameters, of shapes (starts, p, p) and (starts, p); without the second term
        if g is None.
        """
        slopes = self.slopes
        if slopes.ndim == 3:
            by_free: Array = np.swapaxes(slopes, 1, 2) @ by_parameters @ slopes
            return by_free if gradient is None else by_free + self.contract(gradient)
        by_free = by_parameters * slopes[:, :, None] * slopes[:, None]
        if gradient is not None:
            diagonal(by_free)[...] += self.contract(gradient)
        return by_free


def diagonal(matrices: Array) -> Array:
    """A view of the diagonals of contiguous matrices, shape (starts, p)."""
    starts, count, _ = matrices.shape
    return matrices.reshape(starts, count * count)[:, :: count + 1]


def parameters_and_derivatives(
    transforms: Transforms, free: Array, second: bool = True
) -> tuple[Array, TransformDerivatives]:
    """Map unconstrained parameters of shape (starts, parameters) to parameters of that shape, with
    the derivatives of the map; with the second ones if requested.
    """
    if transforms.others:
        theta, slopes, contract = with_curvature(transforms, free, second)
        return theta, TransformDerivatives(slopes, contract)
    theta, grown = _one_sided(transforms, free)
    slopes = grown
    if len(transforms.one_sided) < free.shape[1]:
        slopes = np.ones_like(free)
        slopes[:, transforms.one_sided] = grown

    def contract_own(factors: Array) -> Array:
        if len(transforms.one_sided) == free.shape[1]:
            return factors * slopes
        curvature = np.zeros_like(slopes)
        curvature[:, transforms.one_sided] = (factors * slopes)[:, transforms.one_sided]
        return curvature

    return theta, TransformDerivatives(slopes, contract_own)


def parameters_and_own_slopes(transforms: Transforms, free: Array) -> tuple[Array, Array]:
    """Map unconstrained parameters to parameters none of which has a limit that depends on others.

    Args:
        transforms: the transforms.
        free: unconstrained parameters, shape (starts, parameters).

    Returns:
        Parameters, and the derivative of each by its own unconstrained value, of the same shape.
    """
    theta, grown = _one_sided(transforms, free)
    slopes = np.ones_like(free)
    slopes[:, transforms.one_sided] = grown
    for i in transforms.others:
        low, high = limit_values(transforms[i], theta)
        assert low is not None and high is not None
        theta[:, i] = _parameter_value(transforms[i], low, high, free[:, i])
        share = 1 / (1 + np.exp(-np.clip(free[:, i], -MAX_EXPONENT, MAX_EXPONENT)))
        slopes[:, i] = (high - low) * share * (1 - share)
    return theta, slopes


def with_slopes(transforms: Transforms, free: Array) -> tuple[Array, Array]:
    """Map unconstrained parameters of shape (starts, parameters) to parameters, with the Jacobian
    of the map.

    Returns:
        Parameters, and d(parameter i)/d(free j), shape (starts, parameters, parameters).
    """
    theta, slopes, _ = with_curvature(transforms, free, second=False)
    return theta, slopes


def with_curvature(
    transforms: Transforms, free: Array, second: bool = True
) -> tuple[Array, Array, Contraction]:
    """Map unconstrained parameters of shape (starts, parameters) to parameters, with two orders of
    derivatives.

    Returns:
        Parameters; d(parameter i)/d(free j), shape (starts, parameters, parameters); and a function
        from factors by parameter, shape (starts, parameters), to the sum over parameters of factor
        times second derivatives with respect to the unconstrained parameters, shape (starts,
        parameters, parameters).
    """
    starts, count = free.shape
    one_sided = transforms.one_sided
    slopes = np.zeros((starts, count, count))
    diagonal = np.einsum("sii->si", slopes)
    diagonal[...] = 1.0
    seconds: list[_SecondDerivatives] = []
    with np.errstate(all="ignore"):
        theta, grown = _one_sided(transforms, free)
        diagonal[:, one_sided] = grown
        for i in transforms.others:
            transform = transforms[i]
            low, high = (
                None if side is None else _limit_slopes(side, theta, slopes, second)
                for side in transform.sides
            )
            below = None if low is None else low.value
            above = None if high is None else high.value
            theta[:, i] = _parameter_value(transform, below, above, free[:, i])
            u = np.clip(free[:, i], -MAX_EXPONENT, MAX_EXPONENT)
            if low is not None and high is not None:
                share = 1 / (1 + np.exp(-u))
                rise = share * (1 - share)
                width = high.value - low.value
                slopes[:, i] = (1 - share)[:, None] * low.slopes + share[:, None] * high.slopes
                cross = rise[:, None] * (high.slopes - low.slopes)
                slopes[:, i, i] = width * rise
                own_second = width * rise * (1 - 2 * share)
                seconds.append(
                    _SecondDerivatives(i, ((1 - share, low), (share, high)), own_second, cross)
                )
            else:
                side, sign = (low, 1.0) if low is not None else (high, -1.0)
                assert side is not None
                slopes[:, i] = side.slopes
                slopes[:, i, i] = sign * np.exp(u)
                seconds.append(
                    _SecondDerivatives(i, ((np.ones(starts), side),), sign * np.exp(u), None)
                )

    def contract(factors: Array) -> Array:
        return _contract(seconds, slopes, factors, one_sided, grown)

    return theta, slopes, contract


@dataclass(frozen=True)
class _LimitSlopes:
    """A limit at some parameters: its value (starts,) and its derivatives with respect to the
    unconstrained parameters (starts, p); where it is a formula, also those by the parameters and
    the contraction of its second derivatives.
    """

    value: Array
    slopes: Array
    by_parameters: Array | None = None
    second: Callable[[Array], Array] | None = None


@dataclass(frozen=True)
class _SecondDerivatives:
    """The second derivatives of one parameter with respect to the unconstrained parameters.

    Attributes:
        number: position of the parameter.
        limits: (weight, derivatives) of each limit.
        own_curvature: by its own unconstrained value twice, shape (starts,).
        cross: by its own and each other unconstrained parameter, shape (starts, p); None where
            these are 0.
    """

    number: int
    limits: tuple[tuple[Array, _LimitSlopes], ...]
    own_curvature: Array
    cross: Array | None


def _contract(
    seconds: list[_SecondDerivatives],
    slopes: Array,
    factors: Array,
    one_sided: NDArray[np.int64],
    grown: Array,
) -> Array:
    factors = factors.copy()
    total = np.zeros_like(slopes)
    # in reverse order: each passes its factor on to the parameters in its limits
    for second_derivatives in reversed(seconds):
        i = second_derivatives.number
        factor = factors[:, i].copy()
        total[:, i, i] += factor * second_derivatives.own_curvature
        if second_derivatives.cross is not None:
            crossed = factor[:, None] * second_derivatives.cross
            total[:, i, :] += crossed
            total[:, :, i] += crossed
        for share, limit in second_derivatives.limits:
            if limit.second is not None and limit.by_parameters is not None:
                part = factor * share
                second = limit.second(part[:, None])
                total += np.swapaxes(slopes, 1, 2) @ second @ slopes
                factors += part[:, None] * limit.by_parameters
    np.einsum("sii->si", total)[:, one_sided] += factors[:, one_sided] * grown
    return total


def to_free(transforms: Transforms, theta: Array, inside: float = START_DISTANCE_RTOL) -> Array:
    """Map parameters to unconstrained parameters, both of shape (starts, parameters); a parameter
    on or outside its bound is moved inside, by the distance `inside` relative to the bound.
    """
    theta, free, one_sided = theta.copy(), theta.copy(), transforms.one_sided
    with np.errstate(all="ignore"):
        least = np.maximum(inside * np.abs(transforms.limit), MIN_BOUND_DISTANCE)
        away = transforms.sign * (theta[:, one_sided] - transforms.limit)
        free[:, one_sided] = np.log(np.maximum(away, least))
        if not transforms.others:
            return free
        # limits of the others are evaluated at the parameters to which the unconstrained parameters
        # map
        theta[:, one_sided] = _one_sided(transforms, free)[0][:, one_sided]
        for i in transforms.others:
            transform = transforms[i]
            low, high = limit_values(transform, theta)
            x = theta[:, i]
            if low is not None and high is not None:
                share = np.clip((x - low) / (high - low), inside, 1 - inside)
                free[:, i] = np.log(share / (1 - share))
            elif low is not None:
                free[:, i] = np.log(
                    np.maximum(x - low, np.maximum(inside * np.abs(low), MIN_BOUND_DISTANCE))
                )
            elif high is not None:
                free[:, i] = np.log(
                    np.maximum(high - x, np.maximum(inside * np.abs(high), MIN_BOUND_DISTANCE))
                )
            theta[:, i] = _parameter_value(transform, low, high, free[:, i])
    return free


def is_clipped(transforms: Transforms, free: Array) -> NDArray[np.bool_]:
    """Which points, of shape (starts, parameters), have a clipped unconstrained parameter: shape
    (starts,).

    A clipped number does not map back to the parameter from which it was computed.
    """
    return np.any(np.abs(free[:, transforms.bounded]) > MAX_EXPONENT, axis=1)


def is_moved_off_zero(transforms: Transforms, free: Array) -> NDArray[np.bool_]:
    """Which points, shape (starts, parameters), have a parameter that `to_free` moved from 0 to 1e-130,
    though it may multiply a term of more than 1e130: shape (starts,).
    """
    return np.any(free[:, transforms.bounded] <= NEAREST_TO_BOUND, axis=1)


def _parameter_value(
    transform: Transform, low: Array | None, high: Array | None, u: Array
) -> Array:
    """The parameter at u. If rounding would put it on an excluded limit, it is the neighbouring
    float.
    """
    if low is None and high is None:
        return u
    u = np.clip(u, -MAX_EXPONENT, MAX_EXPONENT)
    if low is not None and high is not None:
        x = low + (high - low) / (1 + np.exp(-u))
    elif low is not None:
        x = low + np.exp(u)
    else:
        assert high is not None
        x = high - np.exp(u)
    if high is not None and transform.upper is not None:
        x = np.minimum(x, transform.upper.inside(high, -np.inf))
    if low is not None and transform.lower is not None:
        x = np.maximum(x, transform.lower.inside(low, np.inf))
    return x


def limit_values(transform: Transform, theta: Array) -> tuple[Array | None, Array | None]:
    """The lower and the upper bound at parameters of shape (starts, parameters), each of shape
    (starts,); None where there is none.
    """
    low, high = transform.lower, transform.upper
    return None if low is None else low.at(theta), None if high is None else high.at(theta)


def _limit_slopes(limit: Limit, theta: Array, slopes: Array, second: bool) -> _LimitSlopes:
    """A limit and its derivatives with respect to the unconstrained parameters, by the chain rule
    through earlier parameters.
    """
    if limit.formula is None:
        return _LimitSlopes(limit.at(theta), np.zeros_like(theta))
    second_derivatives = None
    if second and limit.formula.parts.hessian is not None:
        value, by_parameters, second_derivatives = limit.formula.curvature(theta)
    else:
        value, by_parameters = limit.formula.slopes(theta)
    by_parameters = by_parameters[:, :, 0]
    through = np.einsum("sk,skj->sj", by_parameters, slopes)
    return _LimitSlopes(value[:, 0], through, by_parameters, second_derivatives)
