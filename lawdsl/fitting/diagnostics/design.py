"""Law + columns -> properties of the design because of which the rows may not determine parameters."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]

# largest number of tested sums that have the same number of terms
MAX_SUMS = 100
SAMPLED_ROWS = 8  # in which a sum is compared before it is in all
# relative to their spread: two variables whose distance from a common line is smaller are collinear
COLLINEAR_RTOL = 1e-2
# with fewer sizes their effect on the output is not tested
MIN_SIZES = 3
# of the standard deviation along a ray: rows within this distance hardly leave the ray
RAY_RATIO = 0.075
# in logarithms: if variables vary by less than a factor of two, a ray cannot be detected
MIN_RAY_RANGE = np.log(2)


@dataclass(frozen=True)
class DesignCause:
    """A property of the design because of which data may not determine a direction."""

    variables: frozenset[str]
    short: str
    text: str


def design_causes(law: PreparedLaw, problem: Problem) -> list[DesignCause]:
    """Find variables with few values, pairs of collinear variables, and constant sums.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
    """
    causes = []
    for q, column in zip(law.variables, problem.columns, strict=True):
        values = np.unique(column)
        if len(values) < 3:
            short = f"{q.name} has {'one value' if len(values) == 1 else 'two values'}"
            description = f"{short}: {', '.join(f'{v:g}' for v in values)}"
            causes.append(DesignCause(frozenset({q.name}), short, description))
    for pair, text in [*collinear_pairs(law, problem), *constant_sums(law, problem)]:
        causes.append(DesignCause(frozenset(pair), text, text))
    return causes


def constant_sums(law: PreparedLaw, problem: Problem) -> list[tuple[set[str], str]]:
    """Find variables whose sum is the same in every row, such as the shares of a mixture.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.

    Returns:
        The variables of each sum, and the finding as text.
    """
    moving = [k for k, column in enumerate(problem.columns) if np.ptp(column) > 0]
    ranges = np.ptp(problem.columns, axis=1)
    some_rows = problem.columns[:, np.linspace(0, problem.rows - 1, SAMPLED_ROWS).astype(int)]
    constant = []
    for count in range(2, len(moving) + 1):
        sums = np.array(list(itertools.islice(itertools.combinations(moving, count), MAX_SUMS)))
        # a sum that differs between a few rows is not constant; twice, for rounding
        limits = 2 * COLLINEAR_RTOL * np.min(ranges[sums], axis=1)
        may_be = np.ptp(np.sum(some_rows[sums], axis=1), axis=1) < limits
        for chosen in sums[may_be]:
            total = np.sum(problem.columns[chosen], axis=0)
            deviation = np.ptp(total)
            if deviation < COLLINEAR_RTOL * np.min(ranges[chosen]):
                names = [law.variables[k].name for k in chosen]
                sign = "=" if deviation < 1e-9 * abs(total[0]) else "≈"
                text = f"{' + '.join(names)} {sign} {np.mean(total):.4g} in every row"
                constant.append((set(names), text))
    return constant


def collinear_pairs(law: PreparedLaw, problem: Problem) -> list[tuple[set[str], str]]:
    """Find pairs of variables of which one is a power of the other in every row.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.

    Returns:
        The variables of each pair, and the finding as text.
    """
    pairs = []
    with np.errstate(all="ignore"):
        logs = np.log(problem.columns)
    for i, q in enumerate(law.variables):
        for k in range(i):
            x, y = logs[k], logs[i]
            if not (
                np.all(np.isfinite(x + y))
                and np.ptp(x) > COLLINEAR_RTOL
                and np.ptp(y) > COLLINEAR_RTOL
            ):
                continue
            # centred, so that slope and intercept are not collinear
            slope, intercept = np.polyfit(x - x.mean(), y, 1)
            deviation = float(np.max(np.abs(y - intercept - slope * (x - x.mean()))))
            # 1.0: over many decades, a percent of the range would be a large factor
            if deviation < COLLINEAR_RTOL * min(np.ptp(y), 1.0):
                power = f"^{slope:.3g}" if abs(slope - 1) > COLLINEAR_RTOL else ""
                factor = np.exp(intercept - slope * x.mean())
                sign = "=" if deviation < 1e-9 else "≈"
                text = f"{q.name} {sign} {factor:.4g} {law.variables[k].name}{power} in every row"
                pairs.append(({q.name, law.variables[k].name}, text))
    return pairs


def design_cause_texts(
    law: PreparedLaw, problem: Problem, involved: Sequence[str]
) -> tuple[str, ...]:
    """Explain why the rows may not determine some parameters, by the design of the variables on
    which their effects depend.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
        involved: names of the parameters.
    """
    if law.is_large:
        return ()
    return tuple(
        cause.text for cause in relevant_causes(law, involved, design_causes(law, problem))
    )


def design_findings(law: PreparedLaw, problem: Problem) -> list[Diagnostic]:
    """Warnings about rows that determine the parameters only through the form of the law.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
    """
    if law.is_large:
        return []
    findings = []
    for q, column in zip(law.variables, problem.columns, strict=True):
        values = np.unique(column)
        if q.unit is not None and len(values) < MIN_SIZES:
            number = "one value" if len(values) == 1 else "two values"
            message = (
                f"{q.name} has {number}, {' and '.join(f'{v:g}' for v in values)}: the rows do not "
                "test how the output depends on it"
            )
            help = f"measure at least three values of {q.name} before you predict at others"
            findings.append(Diagnostic("F0144", message, "warning", help=help))
    return [*findings, *_ray_findings(law, problem)]


@dataclass(frozen=True)
class Ray:
    """Two positive variables of which one is nearly a power of the other in all rows.

    Attributes:
        names: the names of the two variables.
        power: p in second = k·first^p.
        constant: k in second = k·first^p.
        factor: one standard deviation of the rows from the ray, as a factor.
    """

    names: tuple[str, str]
    power: float
    constant: float
    factor: float

    @property
    def base(self) -> str:
        """The quantity that the second variable is proportional to: `N`, or `N^0.7`."""
        first = self.names[0]
        return first if abs(self.power - 1) <= RAY_RATIO else f"{first}^{self.power:.2g}"

    @property
    def text(self) -> str:
        """The ray as a formula: `D = 20 N`."""
        power = "" if self.power == 1 else f"^{self.power:.3g}"
        return f"{self.names[1]} = {self.constant:.3g} {self.names[0]}{power}"


def rays(names: Sequence[str], columns: Array) -> list[Ray]:
    """Find pairs of positive variables of which one is nearly a power of the other.

    Args:
        names: the variables.
        columns: their values, shape (variables, rows).
    """
    with np.errstate(all="ignore"):
        logs = np.log(columns)
    found = []
    for k, i in itertools.combinations(range(len(names)), 2):
        pair = logs[[k, i]]
        if not np.all(np.isfinite(pair)) or np.min(np.ptp(pair, axis=1)) < MIN_RAY_RANGE:
            continue
        centered = pair - np.mean(pair, axis=1, keepdims=True)
        along, across = np.linalg.svd(centered, compute_uv=False)
        if across > RAY_RATIO * along:
            continue
        power = float(np.polyfit(centered[0], centered[1], 1)[0])
        power = 1.0 if abs(power - 1) <= COLLINEAR_RTOL else power
        factor = float(np.exp(np.std(centered[1] - power * centered[0])))
        constant = float(np.exp(np.mean(pair[1] - power * pair[0])))
        found.append(Ray((names[k], names[i]), power, constant, factor))
    return found


def _ray_findings(law: PreparedLaw, problem: Problem) -> list[Diagnostic]:
    """Warnings about rows near a ray."""
    findings = []
    for ray in rays([q.name for q in law.variables], problem.columns):
        first, second = ray.names
        message = (
            f"all rows lie near one ray: {second} is proportional to {ray.base} within a factor of "
            f"{ray.factor:.3g} (one standard deviation), so that the form of the law alone tells the "
            "effects of the two apart"
        )
        help = f"add runs with a large {second} for a small {first}, and the other way round"
        if ray.power < 0:
            help = f"add runs in which {first} and {second} are both small, or both large"
        findings.append(Diagnostic("F0143", message, "warning", help=help))
    return findings


def relevant_causes(
    law: PreparedLaw, involved: Sequence[str], causes: Sequence[DesignCause]
) -> list[DesignCause]:
    """Select the causes that concern variables on which the effects of some parameters depend.

    Args:
        law: the law.
        involved: names of the parameters.
        causes: the causes to select from.
    """
    if not causes:
        return []
    touched = set[str]().union(*map(law.symbols_of_slope, involved))
    return [cause for cause in causes if cause.variables & touched]
