"""Law error + fitted rows -> the trust horizon: how far the law may be used.

Along a path from the largest fitted run, the half-width h of the interval of the curve, in the
logarithm, grows: h = t·sqrt(noise² + law²). The horizon within x is the largest multiple of the
fitted size up to which h stays at most log(1 + x). It refers to the same error of the law as the
intervals: if the law is assumed to be correct, h = t·noise.

The path is the ray of the rows, D = k·N, if all are near one; else the compute-optimal path, if the
law has an optimal model size at each compute C = 6·N·D; else the path of the mean tokens per
parameter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.enumerations import conjunction
from lawdsl.core.records import MAY_BE_ABSENT, Null
from lawdsl.core.units import unit_text
from lawdsl.fitting.diagnostics.design import Ray, rays
from lawdsl.fitting.extrapolation.discrepancy import DEFAULT_AMPLITUDE
from lawdsl.fitting.extrapolation.fitted_surface import FittedSurface
from lawdsl.fitting.extrapolation.law_error import LawErrorModel
from lawdsl.fitting.intervals.covariance import Covariance
from lawdsl.fitting.options import LARGEST_HORIZON

Array = NDArray[np.float64]

LEVEL = 0.95  # level of the intervals that define the horizon
TOLERANCES = (0.01, 0.02, 0.05)
WITHIN = 0.02  # predictions known within this need no warning
MAX_DECADES = float(np.log10(LARGEST_HORIZON))
POINTS_PER_DECADE = 20
DECADES = np.linspace(0, MAX_DECADES, int(MAX_DECADES * POINTS_PER_DECADE) + 1)
# of the runs: the largest ones, whose values the path has for its other variables
LARGEST_SHARE = 0.1
# decades of tokens per parameter on each side of the rows in which the optimum is searched for
SPLIT_DECADES = 3.0
SPLIT_POINTS = 241


@dataclass(frozen=True)
class Reach:
    """How far a prediction stays within a tolerance.

    Attributes:
        within: the tolerance, 0.02 for 2 %.
        times: the largest multiple of the largest fitted value; 0 if not even that value is
            predicted within the tolerance, and infinite above 10,000.
        size: the size of a run at this multiple; nan if the multiple is 0 or infinite.
        variables: variable -> its value at this multiple, in the law's units; empty if `size` is
            nan.
    """

    within: float
    times: Annotated[float, Null(np.inf)]
    size: Annotated[float, Null(math.nan), MAY_BE_ABSENT] = math.nan
    variables: Annotated[Mapping[str, float], MAY_BE_ABSENT] = field(default_factory=dict)


@dataclass(frozen=True)
class Horizon:
    """How far a fit may be used, at 95 % confidence.

    Attributes:
        size: the formula of the size of a run, `6*N*D`.
        is_compute: whether the size counts floating-point operations.
        largest: the size of the largest fitted run.
        path: the reaches along the path.
        optimal: whether the path is the compute-optimal one.
        variables: variable -> its value on the path, at the largest fitted size.
        by_variable: variable -> the reaches when only this variable increases, from that point.
        unit: the unit of the size, `FLOP`; empty where the variables of the law state none.
        units: variable -> its unit in the law, for those that have one.
        ray: the ray on which all rows and the path lie, `D = 20 N`; empty without a ray.
        discrepancy: the error of the law per decade to which the horizon refers, 0.02 for 2 %; 0 if
            the law is assumed to be correct.
        widening: the factor by which the rolled check widens that error.
    """

    size: str
    is_compute: bool
    largest: float
    path: tuple[Reach, ...]
    optimal: bool
    variables: Mapping[str, float] = field(default_factory=dict)
    by_variable: Mapping[str, tuple[Reach, ...]] = field(default_factory=dict)
    unit: Annotated[str, MAY_BE_ABSENT] = ""
    units: Annotated[Mapping[str, str], MAY_BE_ABSENT] = field(default_factory=dict)
    ray: Annotated[str, MAY_BE_ABSENT] = ""
    discrepancy: Annotated[float, MAY_BE_ABSENT] = DEFAULT_AMPLITUDE
    widening: Annotated[float, MAY_BE_ABSENT] = 1.0

    @property
    def largest_text(self) -> str:
        """The largest fitted size as text: `the largest fitted compute, C = 4e+20 FLOP`."""
        if self.is_compute:
            return f"the largest fitted compute, {self._quantity('C', self.largest, '.2g')}"
        return f"the largest fitted {self._quantity(self.size, self.largest, '.3g')}"

    @property
    def error_text(self) -> str:
        """The error of the law to which the horizon refers; empty for the default."""
        return law_error_text(self.discrepancy, self.widening)

    @property
    def path_text(self) -> str:
        """The relation between the variables on the path; empty for one variable."""
        if len(self.variables) < 2:
            return ""
        names = " and ".join(self.variables)
        if self.ray:
            return f"along the ray of the rows, {self.ray} (off it they test nothing)"
        if self.optimal:
            return f"with {names} in the compute-optimal ratio"
        return f"with {names} in the mean ratio of the rows"

    @property
    def text(self) -> str:
        """How far predictions are within the tolerances, in one sentence."""
        size = "compute" if self.is_compute else self.size
        if all(reach.times == 0 for reach in self.path):
            widest = 100 * max(reach.within for reach in self.path)
            parts = [f"not within {widest:g} % even at {self.largest_text}"]
        else:
            unreached = [f"{100 * reach.within:g}" for reach in self.path if reach.times == 0]
            parts = [f"{conjunction(unreached)} % nowhere beyond the rows"] if unreached else []
            first, *others = [self._reach_text(reach) for reach in self.path if reach.times > 0]
            parts += [first.replace(" times", f" times the largest fitted {size}", 1), *others]
            parts[0] = f"within {parts[0]}"
        return ", ".join([*parts, *filter(None, [self.path_text, self.error_text])])

    def _reach_text(self, reach: Reach) -> str:
        """How far predictions are within a tolerance that is attained."""
        within = f"{100 * reach.within:g} %"
        if np.isinf(reach.times):
            return f"{within} beyond {10**MAX_DECADES:,.0f} times"
        return f"{within} up to {reach.times:.2g} times{self._end(reach)}"

    def _end(self, reach: Reach) -> str:
        """The size and the variables at the end of a reach, in brackets."""
        size = reach.times * self.largest
        values = [self._quantity("C" if self.is_compute else self.size, size, ".2g")]
        if list(reach.variables) != [self.size]:  # otherwise that variable is the size
            values += [self._value(name, x) for name, x in reach.variables.items()]
        return f" (there {', '.join(values)})"

    def _quantity(self, name: str, value: float, digits: str) -> str:
        # files of earlier versions have no unit
        unit = self.unit or ("FLOP" if self.is_compute else "")
        return f"{name} = {value:{digits}} {unit}".rstrip()

    def _value(self, name: str, value: float) -> str:
        return f"{name} = {value:.2g} {self.units.get(name, '')}".rstrip()

    def contains(self, names: Sequence[str], columns: Array, within: float) -> NDArray[np.bool_]:
        """Whether points are within the trust horizon and within the reach of each single variable:
        shape (points,).

        Args:
            names: the variables of the law.
            columns: their values, shape (variables, points).
            within: one of `TOLERANCES`.
        """
        ratios = {
            name: columns[list(names).index(name)] / start for name, start in self.variables.items()
        }
        with np.errstate(over="ignore"):  # infinite values are outside
            size = np.prod(list(ratios.values()), axis=0)
        inside = size <= self.times(within)
        for name, reaches in self.by_variable.items():
            reach = {r.within: r.times for r in reaches}[within]
            inside = inside & (ratios[name] <= max(reach, 1.0))
        return np.asarray(inside & np.ones(columns.shape[1], dtype=bool))

    def times(self, within: float) -> float:
        """The multiple of the largest fitted size up to which predictions are within a tolerance.

        Args:
            within: one of `TOLERANCES`: 0.01, 0.02 or 0.05.

        Raises:
            KeyError: another tolerance.
        """
        return {reach.within: reach.times for reach in self.path}[within]


def law_error_text(discrepancy: float, widening: float) -> str:
    """The error of a law in words; empty for the default of 2 % per decade.

    Args:
        discrepancy: standard deviation of log L per decade; 0 if the law is assumed to be correct.
        widening: the factor by which the rolled check widens it.
    """
    if not discrepancy:
        return "with the law taken as right"
    usual = discrepancy == DEFAULT_AMPLITUDE
    parts = [] if usual else [f"with the law wrong by {100 * discrepancy:g} % per decade"]
    if widening != 1:
        whose = "its error" if parts else "the error of the law"
        parts.append(f"with {whose} widened {widening:.2g} times by the rolled check")
    return " and ".join(parts)


def beyond_horizon(
    horizon: Horizon | None,
    names: Sequence[str],
    columns: Array,
    ranges: Mapping[str, tuple[float, float]],
) -> Array:
    """The points at which predictions are not known within 2 %, according to a horizon.

    Args:
        horizon: the horizon of the fit; None if it has none, in which case no point is returned.
        names: the variables of the law.
        columns: their values, shape (variables, points).
        ranges: variable -> its smallest and largest fitted value; the horizon extends only the
            upper ends, of its own variables.

    Returns:
        The selected columns, shape (variables, selected points).
    """
    if horizon is None:
        return columns
    low, high = np.array([ranges[name] for name in names]).T[:, :, None]
    extends = np.isin(names, list(horizon.by_variable))[:, None]
    inside = np.all((columns >= low) & ((columns <= high) | extends), axis=0)
    return columns[:, ~(inside & horizon.contains(names, columns, WITHIN))]


def trust_horizon(
    surface: FittedSurface,
    model: LawErrorModel | None,
    quantile: float,
    noise_errors: Callable[[Array], Array],
) -> Horizon | None:
    """Compute the trust horizon of a fitted law.

    Args:
        surface: the fitted law and its rows.
        model: the error of the law, conditioned on the rows; None if the law is assumed to be
            correct.
        quantile: half the width of an interval in standard deviations.
        noise_errors: the function from columns, shape (variables, points), to the standard
            deviations of log L due to the noise of the rows, shape (points,); infinite where the
            rows do not determine the law.

    Returns:
        The horizon; None if no variable measures the size of a run.
    """
    size = surface.size
    if not size.variables:
        return None
    logs = size.log10(surface.names, surface.columns)
    largest = float(np.max(logs))
    chosen = [surface.names.index(name) for name in size.variables]

    def reaches(columns: Array) -> tuple[Reach, ...]:
        with np.errstate(all="ignore"):  # an extrapolated law may be undefined
            half = by_noise = quantile * noise_errors(columns)
            if model is not None:
                half = quantile * model.at(surface.at(columns), surface.theta).curve
        half = np.where(np.isfinite(by_noise) & np.isfinite(half), half, np.inf)
        by_name = {surface.names[k]: columns[k] for k in chosen}
        return tuple(_reach(within, 10**largest, half, by_name) for within in TOLERANCES)

    ray = _ray(surface, chosen)
    split = size.is_compute and ray is None
    path, optimal = size_path(surface, largest + DECADES, split=split, ray=ray)
    if optimal and not np.isfinite(noise_errors(path[:, :1])[0]):  # nor is an undefined optimum
        path, optimal = size_path(surface, largest + DECADES, split=False)
    by_variable = {}
    for k in chosen if len(chosen) > 1 else ():
        columns = np.repeat(path[:, :1], len(DECADES), axis=1)
        columns[k] = path[k, 0] * 10**DECADES
        by_variable[surface.names[k]] = reaches(columns)
    units = {v.name: unit_text(v.unit) for v in surface.variables if v.unit is not None}
    return Horizon(
        size.text,
        size.is_compute,
        float(10**largest),
        reaches(path),
        optimal,
        {surface.names[k]: float(path[k, 0]) for k in chosen},
        by_variable,
        size.unit,
        {name: units[name] for name in size.variables if name in units},
        "" if ray is None else ray.text,
        *(
            (0.0, 1.0)
            if model is None
            else (model.discrepancy.amplitude, model.discrepancy.widening)
        ),
    )


def horizon_of(
    surface: FittedSurface, covariance: Covariance, model: LawErrorModel | None
) -> Horizon | None:
    """The trust horizon of a fit.

    Args:
        surface: the fitted law and its rows.
        covariance: the covariance of the fitted parameters.
        model: the error of the law, conditioned on the rows; None if the law is assumed to be
            correct.
    """

    def noise_errors(columns: Array) -> Array:
        with np.errstate(all="ignore"):  # an extrapolated law may have no value
            return covariance.errors(surface.at(columns).slopes(surface.theta[None])[1][0])

    return trust_horizon(surface, model, covariance.quantile(LEVEL), noise_errors)


def _ray(surface: FittedSurface, chosen: Sequence[int]) -> Ray | None:
    """The ray near which all rows lie, if it extends to larger values of both variables."""
    if len(chosen) != 2:
        return None
    found = rays([surface.names[k] for k in chosen], surface.columns[list(chosen)])
    return next((ray for ray in found if ray.power > 0), None)


def _reach(within: float, largest: float, half: Array, variables: Mapping[str, Array]) -> Reach:
    """The largest multiple at which half-widths are within a tolerance, by linear interpolation.

    Args:
        within: the tolerance.
        largest: the size at the first point.
        half: the half-widths at the points of `DECADES`, shape (points,).
        variables: variable -> its values at these points, shape (points,).
    """
    limit = float(np.log1p(within))
    beyond = np.flatnonzero(~(half <= limit))
    if not len(beyond) or beyond[0] == 0:
        return Reach(within, 0.0 if len(beyond) else math.inf)
    k = int(beyond[0])
    between = (limit - half[k - 1]) / (half[k] - half[k - 1]) if np.isfinite(half[k]) else 0.0
    decades = DECADES[k - 1] + between * (DECADES[k] - DECADES[k - 1])
    there = {
        name: float(10 ** np.interp(decades, DECADES, np.log10(values)))
        for name, values in variables.items()
    }
    return Reach(within, float(10**decades), float(largest * 10**decades), there)


def path_of(horizon: Horizon, surface: FittedSurface, sizes: Array) -> tuple[Array, bool]:
    """The path of a trust horizon, at sizes of the rows as well as beyond.

    Args:
        horizon: the horizon.
        surface: the fitted law and its rows.
        sizes: decimal logarithms of the sizes, shape (sizes,).

    Returns:
        The points, shape (variables, sizes), and whether they are on the path: at some sizes an
        optimum may be too far from the mean ratio of the rows.
    """
    chosen = [surface.names.index(name) for name in surface.size.variables]
    ray = _ray(surface, chosen) if horizon.ray else None
    columns, optimal = size_path(surface, sizes, split=horizon.optimal, ray=ray)
    return columns, optimal == horizon.optimal


def size_path(
    surface: FittedSurface, sizes: Array, *, split: bool, ray: Ray | None = None
) -> tuple[Array, bool]:
    """Points of given sizes, shape (variables, sizes), and whether they are compute-optimal.

    Args:
        surface: the fitted law and its rows.
        sizes: decimal logarithms of the sizes, shape (sizes,).
        split: whether the size is split optimally between two variables, according to the law.
        ray: the ray on which the points lie; without one the two variables have their mean ratio.
    """
    chosen = [surface.names.index(name) for name in surface.size.variables]
    logs = surface.size.log10(surface.names, surface.columns)
    large = logs >= np.quantile(logs, 1 - LARGEST_SHARE)
    columns = np.repeat(np.median(surface.columns[:, large], axis=1)[:, None], len(sizes), axis=1)
    factors = np.log10(surface.columns[list(chosen)])
    # the size of a row, less its factors, is that of the units
    product = sizes - float(np.mean(logs - np.sum(factors, axis=0)))
    directions = factors - np.mean(factors, axis=0)
    means = np.mean(directions, axis=1)
    optimal = False
    if split and len(chosen) == 2:
        splits = np.linspace(-SPLIT_DECADES, SPLIT_DECADES, SPLIT_POINTS)
        grid = np.repeat(columns, len(splits), axis=1)
        half = np.repeat(product / 2, len(splits))
        shift = np.tile(splits, len(sizes)) / 2
        for k, sign, mean in zip(chosen, (-1, 1), means, strict=True):
            grid[k] = 10 ** (half + mean + sign * shift)
        values = surface.at(grid).predictions(surface.theta[None])[0]
        values = np.where(np.isfinite(values), values, np.inf).reshape(len(sizes), len(splits))
        best = np.argmin(values, axis=1)
        optimal = bool(np.all((best > 0) & (best < len(splits) - 1)))
        if optimal:
            for k, sign, mean in zip(chosen, (-1, 1), means, strict=True):
                columns[k] = 10 ** (product / 2 + mean + sign * splits[best] / 2)
    if ray is not None:
        first = (product - np.log10(ray.constant)) / (1 + ray.power)
        for k, logarithm in zip(chosen, (first, product - first), strict=True):
            columns[k] = 10**logarithm
    elif not optimal:
        for k, mean in zip(chosen, means, strict=True):
            columns[k] = 10 ** (product / len(chosen) + mean)
    return columns, optimal
