"""Law + problem + parameters -> directions in parameter space that the data do not determine.

The directions are right singular vectors of the Jacobian of the predictions, its columns scaled to
length 1; the singular value is the width of a direction (Belsley, Kuh and Welsch (1980), Regression
Diagnostics, chapter 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.enumerations import conjunction
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
from lawdsl.fitting.intervals.m_estimator import noise_of
from lawdsl.fitting.jacobian_triangle import is_long, jacobian_triangle
from lawdsl.fitting.prepared_law import PreparedLaw, UnidentifiableDirections
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import bound_distances

Array = NDArray[np.float64]

# columns have length 1: a direction of smaller width is undetermined even without noise
UNDETERMINED_WIDTH = 1e-7
# directions of smaller width have no effect beyond rounding
ROUNDING_WIDTH = 1e-12
# component of a direction: parameters with a smaller one are not named
NAMED_SHARE = 0.1
# the same, for a direction without any effect
NAMED_SHARE_EXACT = 1e-4
# relative to the size of a parameter: a standard error above it leaves the parameter undetermined
MAX_HIDDEN_CHANGE = 1.0
# relative to the size of a linear parameter: it follows an exponent that changes by its own size
# if it changes by more
FOLLOWING_CHANGE = 0.5
# relative to the spread of the output: a parameter with a smaller effect has none
NO_EFFECT = 1e-9
# with fewer rows, or so few values of a variable, a finding suggests priors
FEW_ROWS, FEW_VALUES = 10, 2
# smallest divisor: a width of 0 yields a long step instead of a division by 0
MIN_WIDTH = 1e-300
# sigma/tau for least absolute residuals and Gaussian noise, where tau² = (pi/2)·sigma²
SIGMA_PER_LAD_TAU = float(np.sqrt(2 / np.pi))


@dataclass(frozen=True)
class _ParameterEffects:
    """The effects of some parameters on the predictions: one column of the Jacobian each.

    Attributes:
        numbers: the positions of the parameters, shape (parameters,).
        jacobian: shape (rows, parameters).
        size: the scale of each parameter, shape (parameters,).
        length: the length of each column, shape (parameters,).
    """

    numbers: NDArray[np.int64]
    jacobian: Array
    size: Array
    length: Array

    @classmethod
    def of(cls, numbers: NDArray[np.int64], jacobian: Array, sizes: Array) -> _ParameterEffects:
        """The effects of some parameters, from their columns and the sizes of all parameters."""
        return cls(numbers, jacobian, sizes[numbers], np.linalg.norm(jacobian, axis=0))


@dataclass(frozen=True)
class _Direction:
    """A direction in parameter space that the rows may not determine.

    Attributes:
        involved: the positions of the parameters in it.
        width: the length of its effect on the predictions, if columns have length 1.
        step: the change of all parameters for an effect of length 1, shape (parameters,).
    """

    involved: frozenset[int]
    width: float
    step: Array


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
    size = _sizes(problem, theta)
    left_out = without_effect | excluded

    def effects_of(chosen: NDArray[np.bool_]) -> _ParameterEffects:
        numbers = np.flatnonzero(chosen & ~left_out)
        return _ParameterEffects.of(numbers, jacobian[:, numbers], size)

    if blocks is None:
        linear, others = effects_of(is_linear), effects_of(~is_linear)
    ranges = None if law.on_arrays else _PredictionRanges(law, problem, theta)

    def directions_of(noise: float) -> list[set[str]]:
        index_sets = [{int(i)} for i in np.flatnonzero(without_effect & ~excluded)]
        if blocks is not None:
            directions = _undetermined_in_blocks(
                blocks, is_linear, left_out, size, spread, noise, law
            )
        else:
            directions = _undetermined_linear(linear, len(names), spread, noise)
            directions += _undetermined_nonlinear(others, linear, spread, noise, law)
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


def _sizes(problem: Problem, theta: Array) -> Array:
    """The sizes of the parameters, or their distances from the nearest bound, shape (parameters,)."""
    size = np.abs(theta)
    for i, (_, distance) in _nearest_bounds(problem, theta).items():
        size[i] = max(size[i], distance)
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

    def is_undetermined(self, direction: _Direction, noise: float) -> bool:
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


def _undetermined_linear(
    linear: _ParameterEffects, count: int, spread: float, noise: float
) -> list[_Direction]:
    """Directions of the linear parameters, out of `count` parameters, with the others fixed."""
    if not len(linear.numbers):
        return []
    length = linear.length
    size = np.maximum(linear.size, spread / length)  # a value of 0 has no size of its own
    _, widths, rows = _directions(linear.jacobian / length)
    directions = []
    for width, row in zip(widths, rows, strict=True):
        step = np.max(np.abs(row) / (length * size)) * noise
        if width < UNDETERMINED_WIDTH or step > MAX_HIDDEN_CHANGE * width:
            share = NAMED_SHARE_EXACT if width < ROUNDING_WIDTH else NAMED_SHARE
            involved = frozenset(map(int, linear.numbers[np.abs(row) > share]))
            directions.append(
                _Direction(involved, float(width), _step(linear, row / length, width, count))
            )
    return directions


def _undetermined_nonlinear(
    others: _ParameterEffects,
    linear: _ParameterEffects,
    spread: float,
    noise: float,
    law: PreparedLaw,
) -> list[_Direction]:
    """Directions of the other parameters, with the linear ones re-estimated by least squares after
    each step.
    """
    if not len(others.numbers):
        return []
    response = np.linalg.pinv(linear.jacobian / linear.length) / linear.length[:, None]
    response = response @ others.jacobian
    remaining = others.jacobian - linear.jacobian @ response
    return _undetermined_following(others, linear, response, remaining, spread, noise, law)


def _undetermined_following(
    others: _ParameterEffects,
    linear: _ParameterEffects,
    response: Array,
    remaining: Array,
    spread: float,
    noise: float,
    law: PreparedLaw,
) -> list[_Direction]:
    """Directions of parameters to which others respond, from the columns that remain."""
    free = np.array([not law.parameters[i].bounds for i in others.numbers])
    length = others.length
    # an unbounded parameter may be 0; its size is then defined by its effect
    with np.errstate(all="ignore"):
        unbounded_size = np.maximum(others.size, spread / np.linalg.norm(remaining, axis=0))
    size = np.where(free, unbounded_size, others.size)
    _, widths, rows = _directions(remaining / length)
    count = len(law.parameters)
    directions = []
    for width, row in zip(widths, rows, strict=True):
        change = row / length
        if not (
            width < UNDETERMINED_WIDTH
            or np.max(np.abs(change) / size) * noise > MAX_HIDDEN_CHANGE * width
        ):
            continue
        share = NAMED_SHARE_EXACT if width < ROUNDING_WIDTH else NAMED_SHARE
        involved = set(map(int, others.numbers[np.abs(row) > share]))
        responses = np.abs(response @ (change / np.max(np.abs(change) / size)))
        follows_strongly = responses > FOLLOWING_CHANGE * np.maximum(
            linear.size, spread / linear.length
        )
        involved |= set(map(int, linear.numbers[follows_strongly]))
        step = _step(others, change, width, count) - _step(linear, response @ change, width, count)
        directions.append(_Direction(frozenset(involved), float(width), step))
    return directions


def _undetermined_in_blocks(
    blocks: BlockJacobian,
    is_linear: NDArray[np.bool_],
    left_out: NDArray[np.bool_],
    size: Array,
    spread: float,
    noise: float,
    law: PreparedLaw,
) -> list[_Direction]:
    """Directions of the parameters of each block, with the shared ones fixed, and of the shared ones,
    with those of all blocks re-estimated."""
    directions: list[_Direction] = []
    for numbers, jacobian in blocks.blocks():
        kept, count = ~left_out[numbers], len(size)
        linear, others = (
            _ParameterEffects.of(numbers[chosen], jacobian[:, chosen], size)
            for chosen in (kept & is_linear[numbers], kept & ~is_linear[numbers])
        )
        directions += _undetermined_linear(linear, count, spread, noise)
        directions += _undetermined_nonlinear(others, linear, spread, noise, law)
    border = blocks.arrow.border
    border = border[~left_out[border]]
    if not len(border):
        return directions
    shared = blocks.shared(border, left_out)
    own = np.setdiff1d(blocks.arrow.members[blocks.arrow.used], np.flatnonzero(left_out))
    following = _ParameterEffects(own, np.empty((0, len(own))), size[own], blocks.lengths[own])
    return directions + _undetermined_following(
        _ParameterEffects.of(border, shared.columns, size),
        following,
        shared.response[own],
        shared.remaining,
        spread,
        noise,
        law,
    )


def _step(columns: _ParameterEffects, move: Array, width: float, count: int) -> Array:
    """A step of some parameters as a step of all, scaled such that the predictions change by length
    1.
    """
    step = np.zeros(count)
    step[columns.numbers] = move / max(width, MIN_WIDTH)
    return step


def _directions(columns: Array) -> tuple[Array, Array, Array]:
    """The singular value decomposition of a tall matrix, without its left singular vectors."""
    missing = columns.shape[1] - len(columns)
    if missing > 0:  # a block with fewer rows than parameters: the rest has no effect
        columns = np.vstack([columns, np.zeros((missing, columns.shape[1]))])
    # R has the singular values of the tall matrix, and is small
    return np.linalg.svd(np.linalg.qr(columns, mode="r"))


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
        _, widths, rows = _directions(scaled)
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
