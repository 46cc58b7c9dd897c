"""Law + problem + parameters -> directions in parameter space that the data do not determine.

The directions are right singular vectors of the Jacobian of the predictions, its columns scaled to
length 1; the singular value is the width of a direction (Belsley, Kuh and Welsch (1980), Regression
Diagnostics, chapter 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set as AbstractSet
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.enumerations import conjunction
from lawdsl.fitting.bound_distances import bound_distances
from lawdsl.fitting.diagnostics.block_directions import BlockJacobian
from lawdsl.fitting.diagnostics.design import (
    DesignCause,
    collinear_pairs,
    design_cause_texts,
    design_causes,
    relevant_causes,
)
from lawdsl.fitting.diagnostics.design_coverage import (
    MAX_BLOCKS,
    comparison_problem,
    problem_at_corners,
    variable_blocks,
)
from lawdsl.fitting.diagnostics.exchanged_terms import ExchangedTerms
from lawdsl.fitting.diagnostics.undetermined_steps import (
    MAX_HIDDEN_CHANGE,
    NAMED_SHARE_EXACT,
    ROUNDING_WIDTH,
    Direction,
    ParameterEffects,
    singular_directions,
    undetermined_in_blocks,
    undetermined_linear,
    undetermined_nonlinear,
)
from lawdsl.fitting.intervals.m_estimator import noise_of
from lawdsl.fitting.jacobian_triangle import is_long, jacobian_triangle
from lawdsl.fitting.prepared_law import PreparedLaw, UnidentifiableDirections
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]

# relative to the spread of the output: a parameter with a smaller effect has none
NO_EFFECT = 1e-9
# with fewer rows, or so few values of a variable, a finding suggests priors
FEW_ROWS, FEW_VALUES = 10, 2
# sigma/tau for least absolute residuals and Gaussian noise, where tau² = (pi/2)·sigma²
SIGMA_PER_LAD_TAU = float(np.sqrt(2 / np.pi))


def undetermined_directions(
    law: PreparedLaw,
    problem: Problem,
    theta: Array,
    on_bound: Iterable[str],
    other_points: Array,
    unidentifiable: UnidentifiableDirections,
    exchanged: Sequence[ExchangedTerms] = (),
) -> tuple[list[Diagnostic], frozenset[str]]:
    """Find directions in parameter space that the data do not determine, and their parameters.

    A direction is undetermined if a step along it that changes a parameter by more than its own
    size is within the noise, or if it has no effect at several points of the domain. Linear
    parameters are tested with the others fixed, and the others with the linear ones re-estimated,
    so that the result does not depend on the units, on which A in A/N^alpha depends.

    The coefficients of a regression, w in exp(w0 + w1*log(D) + w2*log(D)^2), change with the units
    of the variables, and their columns are nearly collinear wherever log(D) is large relative to
    its range (nonessential ill-conditioning; Marquardt (1980), Journal of the American Statistical
    Association 75). A direction of such parameters is tested by the effect of steps within the
    noise on predictions within the ranges of the variables: see `_PredictionRanges`.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
        on_bound: names of the parameters on a bound, where they are fixed.
        other_points: other points of the domain, shape (points, parameters).
        unidentifiable: symmetries of the law, which no data can resolve. They are not reported
            here: one parameter of each symmetry is fixed, and the others are tested conditionally
            on it.
        exchanged: terms that can be exchanged without a worse fit.

    Returns:
        The findings, and the names of the parameters in such directions.
    """
    names = [q.name for q in law.parameters]
    linear_numbers = problem.linear if law.on_arrays else law.linear()
    is_linear = np.isin(np.arange(len(names)), linear_numbers)
    fixed = np.isin(names, list(unidentifiable.fixed))
    excluded = np.isin(names, list(on_bound)) | fixed
    blocks, jacobian = None, np.empty((0, 0))
    if problem.arrow is not None and problem.penalty is None:
        residual, blocks = BlockJacobian.of(problem, theta)
    elif is_long(problem):
        residual, jacobian = (
            problem.residuals_at(theta[None])[0],
            jacobian_triangle(problem, theta)[0],
        )
    else:
        residual, jacobian = (x[0] for x in problem.slopes(theta[None]))
    spread = np.sqrt(problem.rows) * problem.output_deviation
    noise, largest_noise = _noise_range(problem, residual)
    if blocks is None:
        jacobian = _with_priors(problem, theta, np.nan_to_num(jacobian), largest_noise)
        lengths = np.linalg.norm(jacobian, axis=0)
    else:
        lengths = blocks.lengths
    # a linear parameter may have any size, so it has no effect only if its column is 0
    reach = np.where(is_linear, np.inf, np.maximum(1.0, np.abs(theta)))
    with np.errstate(all="ignore"):
        # not (>): 0 times infinity is nan, which means no effect
        without_effect = ~(lengths * reach > NO_EFFECT * spread)
    size = _sizes(law, problem, theta, lengths, spread)
    left_out = without_effect | excluded

    def effects_of(chosen: NDArray[np.bool_]) -> ParameterEffects:
        numbers = np.flatnonzero(chosen & ~left_out)
        return ParameterEffects.of(numbers, jacobian[:, numbers], size)

    if blocks is None:
        linear, others = effects_of(is_linear), effects_of(~is_linear)
    ranges = None if law.on_arrays else _PredictionRanges(law, problem, theta)

    def directions_of(noise: float) -> list[set[str]]:
        index_sets = [{int(i)} for i in np.flatnonzero(without_effect & ~excluded)]
        if blocks is not None:
            directions = undetermined_in_blocks(
                blocks, is_linear, left_out, size, spread, noise, law
            )
        else:
            directions = undetermined_linear(linear, len(names), spread, noise)
            directions += undetermined_nonlinear(others, linear, spread, noise, law)
        index_sets += [
            set(d.involved)
            for d in directions
            if ranges is None or ranges.is_undetermined(d, noise)
        ]
        return [{names[i] for i in direction} for direction in index_sets]

    directions = directions_of(noise)
    if largest_noise > noise and not law.is_large:
        # the larger estimate of the noise is used only if the design shows a cause
        larger = directions_of(largest_noise)
        if all(design_cause_texts(law, problem, sorted(group)) for group in larger):
            directions = larger
    count, structural = _structural_directions(
        problem, np.vstack([theta, other_points]), names, fixed
    )
    rank = problem.parameters - unidentifiable.count - max(len(directions), count)
    certain = [terms.names for terms in exchanged if terms.cause is None]
    groups = _merge_overlapping_sets([*directions, *structural, *certain])
    scattered = [terms for terms in exchanged if terms.cause is not None]
    errors = set[str]().union(*groups)
    groups = _merge_overlapping_sets([*groups, *(terms.names for terms in scattered)])
    reasons = design_causes(law, problem) if groups and not law.is_large else []
    reasons += [terms.cause for terms in scattered if terms.cause is not None]
    may_need_prior = problem.penalty is None and _has_few_rows_or_sizes(problem)
    exponents = {n for n, one in zip(names, is_linear, strict=True) if not one}
    rank_note = [f"rank {rank} of {len(names)}"] if rank < len(names) else []
    findings = []
    for group in groups:
        involved = [n for n in names if n in group]
        known = next((n for n in involved if n in exponents), None) if may_need_prior else None
        notes = rank_note + [terms.note for terms in exchanged if terms.names <= group]
        finding = _finding(law, involved, notes, reasons, known)
        # away from the ray the rows contain some information
        findings.append(finding if group & errors else replace(finding, severity="warning"))
    collinear = [] if law.is_large else _collinear_findings(law, problem)
    return findings or collinear, unidentifiable.parameters.union(*groups)


def _sizes(
    law: PreparedLaw, problem: Problem, theta: Array, lengths: Array, spread: float
) -> Array:
    """The sizes of the parameters, or their distances from the nearest bound, shape (parameters,).

    A weight w >= 0 may be 0, or any small number that the rows do not tell from 0: it is determined
    if they exclude large values. Where the nearest bound belongs to the domain, a parameter has at
    least the size at which it changes the predictions by as much as they vary.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
        lengths: the norm of the derivative of the predictions with respect to each, of the same shape.
        spread: the norm of the variation of the measured values.
    """
    size = np.abs(theta)
    for i, (side, distance) in _nearest_bounds(problem, theta).items():
        size[i] = max(size[i], distance)
        closed = ">=" if side == "lower" else "<="
        if lengths[i] > 0 and any(b.relation == closed for b in law.parameters[i].bounds):
            size[i] = max(size[i], spread / lengths[i])
    return size


def _with_priors(problem: Problem, theta: Array, jacobian: Array, noise: float) -> Array:
    """The Jacobian of the rows, shape (rows, parameters), with the priors as further rows, scaled
    such that one standard deviation of a prior corresponds to the noise of a row.
    """
    if problem.penalty is None:
        return jacobian
    # rows that contradict a prior have larger residuals than the noise that it is weighted against
    size = max(noise, float(np.sqrt(problem.penalty.noise.tau2)))
    return np.vstack([jacobian, problem.penalty.pseudo_rows(theta, size)])


def _nearest_bounds(problem: Problem, theta: Array) -> dict[int, tuple[str, float]]:
    """Position of each bounded parameter -> its nearer bound and the distance to it."""
    names = [t.name for t in problem.transforms]
    nearest = bound_distances(problem.transforms, dict(zip(names, map(float, theta), strict=True)))
    return {names.index(name): bound for name, bound in nearest.items()}


class _PredictionRanges:
    """The effects of steps along directions on predictions within the ranges of the variables.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
    """

    def __init__(self, law: PreparedLaw, problem: Problem, theta: Array) -> None:
        self.law, self.problem, self.theta = law, problem, theta
        self.rounding = problem.rounding

    @cached_property
    def coefficients(self) -> frozenset[int]:
        """Positions of the coefficients of a regression, which are not interpretable individually."""
        return self.law.coefficients()

    @cached_property
    def compared(self) -> Problem:
        """The problem whose predictions between the rows are compared."""
        return comparison_problem(self.law, self.problem)

    @cached_property
    def slopes(self) -> Array | None:
        """The Jacobian at combinations of extremes of the variables, shape (points, parameters);
        None if there are too many combinations.
        """
        blocks = variable_blocks(self.law, self.problem)
        if len(blocks) > MAX_BLOCKS:
            return None
        corners = problem_at_corners(self.law, self.compared, blocks)
        with np.errstate(all="ignore"):
            return corners.slopes(self.theta[None])[1][0]

    def is_undetermined(self, direction: Direction, noise: float) -> bool:
        """Whether the rows do not determine a direction: its parameters, if they are interpretable
        individually, or predictions between the rows.

        Coefficients are undetermined if the Jacobian is numerically singular, or if a step within
        the noise of the rows changes a prediction within the ranges by more than the variation of
        the measured values. Otherwise only their extrapolation, to log(D) = 0, is uncertain.
        """
        if not direction.involved <= self.coefficients or direction.width < ROUNDING_WIDTH:
            return True
        if self.slopes is None:
            return True
        with np.errstate(all="ignore"):
            change = np.abs(self.slopes @ direction.step) * max(noise, self.rounding)
        # not (<=): a change of nan counts as undetermined
        return not bool(
            np.max(change, initial=0.0) <= MAX_HIDDEN_CHANGE * self.compared.output_deviation
        )


def _structural_directions(
    problem: Problem, points: Array, names: list[str], fixed: NDArray[np.bool_]
) -> tuple[int, list[set[str]]]:
    """The number of directions without effect at any of some points, and the parameters in them."""
    names = [name for name, one in zip(names, fixed, strict=True) if not one]
    if not names:
        return 0, []
    no_point = problem.parameters + 1
    fewest_directions, involved = no_point, list[set[str]]()
    by_blocks = problem.arrow is not None and problem.penalty is None
    for theta in points:
        if by_blocks:
            _, blocks = BlockJacobian.of(problem, theta)
            flat = blocks.flat_directions(ROUNDING_WIDTH, fixed)
            sets = [
                {problem.transforms[k].name for k in np.flatnonzero(np.abs(d) > NAMED_SHARE_EXACT)}
                for d in flat
            ]
            if len(sets) < fewest_directions:
                fewest_directions, involved = len(sets), sets
            if not fewest_directions:
                break
            continue
        if is_long(problem):
            of_rows, is_finite = jacobian_triangle(problem, theta)
            of_rows[:, ~is_finite] = np.nan
        else:
            of_rows = problem.slopes(theta[None])[1][0]
        jacobian = _with_priors(problem, theta, of_rows, 0.0)[:, ~fixed]
        if not np.all(np.isfinite(jacobian)):
            continue
        length = np.linalg.norm(jacobian, axis=0)
        scaled = jacobian / np.where(length > 0, length, 1.0)
        _, widths, rows = singular_directions(scaled)
        exact = rows[widths < ROUNDING_WIDTH * max(widths[0], 1.0)]
        names_involved = [
            {names[k] for k in np.flatnonzero(np.abs(row) > NAMED_SHARE_EXACT)} for row in exact
        ]
        # a direction with an effect at some point is identifiable: the smallest number is that of
        # the structural ones
        if len(names_involved) <= fewest_directions:
            involved = (
                [*involved, *names_involved]
                if len(names_involved) == fewest_directions
                else names_involved
            )
            fewest_directions = len(names_involved)
        if not fewest_directions:
            break
    return (0, []) if fewest_directions == no_point else (fewest_directions, involved)


def _merge_overlapping_sets(sets: Sequence[AbstractSet[str]]) -> list[set[str]]:
    """Merge sets that have an element in common."""
    groups: list[set[str]] = []
    for names in sets:
        disjoint = [group for group in groups if not group & names]
        groups = [*disjoint, set(names).union(*(group for group in groups if group & names))]
    return groups


def _has_few_rows_or_sizes(problem: Problem) -> bool:
    """Whether there are so few rows, or values of a variable, that prior knowledge is useful."""
    values = [len(np.unique(column)) for column in problem.columns]
    return problem.rows < FEW_ROWS or any(1 < count <= FEW_VALUES for count in values)


def _finding(
    law: PreparedLaw,
    involved: list[str],
    notes: Sequence[str],
    causes: Sequence[DesignCause],
    known: str | None,
) -> Diagnostic:
    verb = "distinguished with" if involved[1:] else "determined from"
    relevant = relevant_causes(law, involved, causes)
    why = f": {'; '.join(cause.short for cause in relevant)}" if relevant else ""
    message = f"{conjunction(involved)} cannot be {verb} these data{why}"
    help = "measure where the law tells them apart, or fit a law without one of them"
    if known is not None:
        domain = next(q for q in law.parameters if q.name == known)
        positive = any(b.relation == ">" and b.text == "0" for b in domain.bounds)
        form = f"log({known}) = log(…) ± 0.35" if positive else f"{known} = … ± …"
        help += f"; or state what is known of one: --prior '{form}'"
    notes = (*notes, *(cause.text for cause in relevant))
    return Diagnostic("F0101", message, notes=notes, help=help)


def _noise_range(problem: Problem, residual: Array) -> tuple[float, float]:
    """The smallest and the largest plausible standard deviation of a residual, robust to outliers.

    The smallest is 1.4826 times the median absolute residual, as for Gaussian noise. A fit by a
    Huber loss with small delta interpolates about as many rows as there are parameters, so that the
    median is far too small if rows are few; the estimate used for standard errors is not.
    """
    count = problem.parameters
    correction = np.sqrt(len(residual) / max(len(residual) - count, 1))
    smallest = float(1.4826 * np.median(np.abs(residual)) * correction)
    if not problem.objective.row.robust:
        return smallest, smallest
    return smallest, max(
        smallest, SIGMA_PER_LAD_TAU * float(np.sqrt(noise_of(problem, residual, count).tau2))
    )


def _collinear_findings(law: PreparedLaw, problem: Problem) -> list[Diagnostic]:
    """A warning if the effects of two variables are separated only by the form of the law."""
    findings = []
    for pair, cause in collinear_pairs(law, problem):
        slopes = {name: law.symbols_of_merged_slope(name) for name in law.names}
        involved = [name for name, symbols in slopes.items() if symbols & pair]
        if len(involved) > 1:
            message = f"only the form of the law tells {conjunction(involved)} apart"
            help = "measure off that line: there the law is a guess"
            findings.append(Diagnostic("F0101", message, "warning", notes=(cause,), help=help))
    return findings
