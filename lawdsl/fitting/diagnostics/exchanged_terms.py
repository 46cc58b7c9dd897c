"""Rows near a ray -> parameters whose terms can be exchanged without a worse fit.

Where D = k·N^p in all rows, A/N^alpha + B/D^beta has the same values with alpha' = p·beta and beta'
= alpha/p, and suitable A and B: the rows do not determine which term is that of N. The minimum
found is one of two, and an interval around it does not contain the other. Away from the ray the
predictions of the two differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.enumerations import conjunction
from lawdsl.fitting.diagnostics.design import DesignCause, Ray, collinear_pairs, rays
from lawdsl.fitting.intervals.compute_intervals import with_active_bounds
from lawdsl.fitting.intervals.covariance import column_norms
from lawdsl.fitting.intervals.delta import linearised_errors
from lawdsl.fitting.intervals.m_estimator import Groups, noise_of
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import Limit

Array = NDArray[np.float64]

LEVEL = 0.95  # level of the test of the other fit, and of the intervals that it is compared with


@dataclass(frozen=True)
class ExchangedTerms:
    """Parameters for which another fit is equally good, because two variables are collinear.

    Attributes:
        names: the parameters whose effect depends on one of the two variables, and those whose
            intervals do not contain their values in the other fit.
        cause: a description of the collinearity, if rows scatter about the ray; None if all rows
            are on it.
        note: the values of the exponents in the other fit, as text.
    """

    names: frozenset[str]
    cause: DesignCause | None
    note: str


@np.errstate(all="ignore")  # exchanged exponents may cause overflow
def exchanged_terms(
    law: PreparedLaw,
    problem: Problem,
    theta: Array,
    on_bound: NDArray[np.bool_],
    groups: Groups = None,
) -> list[ExchangedTerms]:
    """Find terms that can be exchanged for the given rows, if the intervals do not show it.

    Another fit is equally good if its objective exceeds the minimum by less than at the ends of a
    profile interval.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
        on_bound: the mask of parameters on a bound, shape (parameters,).
        groups: the training run of each row, shape (rows,).
    """
    if law.is_large or law.on_arrays:
        return []
    found = []
    exact = [pair for pair, _ in collinear_pairs(law, problem)]
    for ray in rays([q.name for q in law.variables], problem.columns):
        pairs = list(_exponent_pairs(law, ray))
        other = _exchanged(law, problem, theta, ray, pairs) if pairs else None
        if other is None or not _is_as_good(problem, theta, other, on_bound, groups):
            continue
        active = with_active_bounds(problem, on_bound)
        ends = linearised_errors(active, theta, on_bound, LEVEL, groups)
        symbols = (law.symbols_of_slope(name) for name in law.names)
        touched = np.array([bool(of_slope & set(ray.names)) for of_slope in symbols])
        # an unknown end excludes nothing
        excluded = (other < ends.low) | (other > ends.high)
        if not np.any(excluded & touched):
            continue
        values = [f"{law.names[i]} = {other[i]:.3g}" for pair in pairs for i in pair]
        note = (
            f"the terms of {' and '.join(ray.names)} may change places: "
            f"{conjunction(values)} fit as well"
        )
        text = f"{ray.text.replace('=', '≈')} within a factor of {ray.factor:.3g}"
        cause = None if set(ray.names) in exact else DesignCause(frozenset(ray.names), text, text)
        found.append(ExchangedTerms(_chosen(law, excluded | touched), cause, note))
    return found


def _chosen(law: PreparedLaw, mask: NDArray[np.bool_]) -> frozenset[str]:
    """The names of the parameters in a mask of shape (parameters,)."""
    return frozenset(name for name, one in zip(law.names, mask, strict=True) if one)


def _exponent_pairs(law: PreparedLaw, ray: Ray) -> Iterator[tuple[int, int]]:
    """Pairs of positions of the nonlinear parameters of the first and of the second variable of a
    ray, in their order; none if their numbers differ.
    """
    of_each: tuple[list[int], list[int]] = ([], [])
    for i, name in enumerate(law.names):
        touched = law.symbols_of_slope(name) & set(ray.names)
        if i not in law.linear() and len(touched) == 1:
            of_each[ray.names.index(next(iter(touched)))].append(i)
    if len(of_each[0]) == len(of_each[1]):
        yield from zip(*of_each, strict=True)


def _exchanged(
    law: PreparedLaw, problem: Problem, theta: Array, ray: Ray, pairs: Sequence[tuple[int, int]]
) -> Array | None:
    """Parameters with the exponents exchanged, and the linear parameters whose predictions of the
    rows are closest to the fit, shape (parameters,); None if there are none in the domain.
    """
    other = theta.copy()
    for i, k in pairs:
        other[i], other[k] = ray.power * theta[k], theta[i] / ray.power
    limits = np.array([[_number(side) for side in t.sides] for t in problem.transforms])
    low, high = (
        np.where(np.isnan(x), end, x) for x, end in zip(limits.T, (-np.inf, np.inf), strict=True)
    )
    linear = list(law.linear())
    chosen = [i for pair in pairs for i in pair]
    if np.any((other < low)[chosen] | (other > high)[chosen]):
        return None
    other[linear] = 0.0
    raw = law.problem(
        problem.columns, problem.target, replace(problem.objective, log=False), problem.weights
    )
    (rest,), (slopes,) = raw.slopes(other[None])
    predicted = problem.predictions(theta[None])[0]
    size = predicted if problem.objective.log else np.ones(problem.rows)
    columns = slopes[:, linear] / size[:, None]
    aim = (predicted - problem.target - rest) / size
    norms = column_norms(columns)
    norms = np.where(norms > 0, norms, 1.0)
    if not (np.all(np.isfinite(columns)) and np.all(np.isfinite(aim))):
        return None
    from scipy.optimize import lsq_linear  # slow to import, and few laws need it

    bounds = (low[linear] * norms, high[linear] * norms)
    other[linear] = lsq_linear(columns / norms, aim, bounds).x / norms
    return other


def _number(side: Limit | None) -> float:
    """The value of a numeric bound; nan without a bound, or if it is a formula."""
    return np.nan if side is None or side.formula is not None else side.number


def _is_as_good(
    problem: Problem, theta: Array, other: Array, on_bound: NDArray[np.bool_], groups: Groups
) -> bool:
    """Whether the objective at other parameters exceeds the minimum by no more than the noise
    explains.
    """
    residual = problem.residuals_of(problem.model.value(theta[None]))[0]
    noise = noise_of(problem, residual, int(np.sum(~on_bound)), groups)
    best, there = problem.losses_at(np.stack([theta, other]))
    return bool(there - best <= max(np.nan_to_num(noise.rise(LEVEL)), problem.exact))
