"""Fit without priors + priors -> the penalty of the fit with them, and the effects of the priors.

The priors are weighted against the noise of the fit without them, which measures the distance of
the rows from the law independently of the priors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.distributions import chi2_quantile, normal_cdf
from lawdsl.core.enumerations import conjunction, counted
from lawdsl.core.objectives import Objective
from lawdsl.fitting.diagnostics.goodness import canonical_nan
from lawdsl.fitting.diagnostics.residuals import weight_copies_as_one
from lawdsl.fitting.diagnostics.undetermined_steps import UNDETERMINED_WIDTH
from lawdsl.fitting.intervals.covariance import (
    Covariance,
    column_norms,
    parameter_covariance,
)
from lawdsl.fitting.intervals.m_estimator import Groups, noise_of
from lawdsl.fitting.penalty import NoiseScale, Penalty
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem, rho
from lawdsl.fitting.result_parts import FittedPrior, FittedPriors
from lawdsl.fitting.solvers.multistart import Optimum
from lawdsl.fitting.transforms import to_parameters
from lawdsl.language.symbols import Prior
from lawdsl.law.law import Law
from lawdsl.proof.identifiability import Freedom

Array = NDArray[np.float64]

ZERO = 1e-20  # a fitted value on a bound counts as 0 below this
# smallest standard deviation of a residual, relative to the measurements, since tables are rounded
MIN_NOISE = 1e-6
# standard deviations between rows and prior above which they contradict each other
CONFLICT = 3.0
# number of minima of the search without priors from which the search with them starts, too
NEAR_STARTS = 16


@dataclass(frozen=True)
class PlainFit:
    """The fit to the same rows without priors.

    Attributes:
        theta: the fitted parameters, shape (parameters,).
        undetermined: names of the parameters that the rows do not determine.
        on_bound: names of those on a bound.
        covariance: the covariance of the parameters; None where it cannot be computed.
        noise: the noise of the rows.
        minima: the minima found by its search, the lowest first, shape (minima, parameters).
    """

    theta: Array
    undetermined: frozenset[str]
    on_bound: frozenset[str]
    covariance: Covariance | None
    noise: NoiseScale
    minima: Array


def check_usable(law: Law, objective: Objective) -> None:
    """Raise an error for priors on parameters determined by an `identify`, and for priors together
    with a two-step objective or a loss without curvature.

    Raises:
        LawdslError: F0135, F0157.
    """
    _check_identified(law)
    if law.priors and objective.row.kinked:
        message = (
            f"priors and the loss {objective.loss}, which has no curvature, cannot be combined"
        )
        help = "leave the priors out, --prior none, or choose another loss, such as huber"
        raise LawdslError(Diagnostic("F0157", message, help=help))
    if not law.priors or objective.choice is None:
        return
    name = objective.choice.name
    message = f"priors and an objective in two steps cannot be combined: {name} is chosen first"
    scale = "log" if objective.log else "raw"
    help = f"leave the priors out, --prior none, or take --objective '{objective.loss}({scale})'"
    raise LawdslError(Diagnostic("F0135", message, help=help))


def _check_identified(law: Law) -> None:
    schema = law.declarations.schema
    if schema is None:
        return
    for element in law.ties:
        name = element.partition("[")[0]
        # a parameter tied by the law itself has no prior
        if name in schema.priors:
            message = (
                f"the prior {schema.priors[name].text} is of {element}, too, which `identify` makes "
                "a formula of the others"
            )
            help = (
                "leave the `identify` line out: priors choose among parameters of one law as well"
            )
            raise LawdslError(Diagnostic("F0135", message, help=help))


def plain_fit(
    law: PreparedLaw,
    problem: Problem,
    best: Optimum,
    undetermined: frozenset[str],
    on_bound: frozenset[str],
    priors: Sequence[Prior],
    groups: Groups,
    copied: bool,
) -> PlainFit:
    """Create the record of the fit without priors.

    Args:
        law: the law.
        problem: the minimisation problem without priors.
        best: the minimum.
        undetermined: names of the parameters that the rows do not determine.
        on_bound: names of those on a bound.
        priors: the priors of the subsequent fit.
        groups: the training run of each row, shape (rows,).
        copied: whether most rows are copies, each of which counts once.

    Raises:
        LawdslError: the rows leave no residual degree of freedom; F0135.
    """
    independent = weight_copies_as_one(problem) if copied else problem
    bound = np.isin(law.names, list(on_bound))
    (residual,), (slopes,) = independent.slopes(best.theta[None])
    fitted = _rank(independent, slopes[:, ~bound])
    total = independent.rows if independent.weights is None else float(np.sum(independent.weights))
    if total - fitted < 1:
        message = (
            f"{independent.rows} rows leave no residual degrees of freedom to estimate the noise, against"
            " which priors are weighed"
        )
        help = "measure more, or hold the parameters that are known: --fix NAME=VALUE"
        raise LawdslError(Diagnostic("F0135", message, help=help))
    noise = noise_of(independent, residual, fitted, groups)
    covariance = None
    if groups is None or len(np.unique(groups)) > 1:
        covariance = parameter_covariance(independent, best.theta, law.names, fitted, groups)
    least = MIN_NOISE * (1.0 if problem.objective.log else float(np.max(np.abs(problem.target))))
    least_square = (
        2 * problem.objective.row.max_curvature * float(rho(np.array(least), problem.objective))
    )
    scale = NoiseScale(max(noise.square, least_square), noise.curvature, noise.dof)
    if groups is not None and covariance is not None:
        by_rows = parameter_covariance(independent, best.theta, law.names, fitted)
        assert by_rows is not None
        scale = replace(scale, inflation=_inflation(law, priors, covariance, by_rows))
    if copied:
        assert independent.weights is not None
        # the objective counts each copy
        rows = problem.rows if problem.weights is None else float(np.sum(problem.weights))
        scale = replace(scale, inflation=scale.inflation * rows / total)
    descents = [d for d in sorted(best.reached, key=lambda d: d.loss) if np.isfinite(d.loss)]
    points = [d.point for d in {id(d): d for d in descents}.values()][:NEAR_STARTS]
    minima = to_parameters(best.searched.transforms, np.stack(points))
    return PlainFit(
        best.theta,
        undetermined,
        on_bound,
        covariance,
        scale,
        np.vstack([best.theta, minima]),
    )


def _rank(problem: Problem, slopes: Array) -> int:
    """The number of directions in parameter space that the rows determine."""
    weights = np.ones(problem.rows) if problem.weights is None else problem.weights
    return _rank_of(np.sqrt(weights)[:, None] * np.nan_to_num(slopes, posinf=0.0, neginf=0.0))


def _rank_of(root: Array) -> int:
    """The rank of a matrix, independent of the lengths of its columns."""
    norms = column_norms(root)
    scaled = root[:, norms > 0] / norms[norms > 0]
    if not scaled.size:
        return 0
    return int(np.sum(np.linalg.svd(scaled, compute_uv=False) >= UNDETERMINED_WIDTH))


def _inflation(
    law: PreparedLaw, priors: Sequence[Prior], by_runs: Covariance, by_rows: Covariance
) -> float:
    """The ratio of the variance under independence of runs to that under independence of rows: the
    geometric mean over the parameters with priors, and at least 1.
    """
    chosen = np.eye(len(law.names))[[law.names.index(p.parameter) for p in priors]]
    with np.errstate(all="ignore"):
        logs = 2 * np.log(by_runs.errors(chosen) / by_rows.errors(chosen))
    logs = logs[np.isfinite(logs)]
    return max(1.0, float(np.exp(np.mean(logs)))) if len(logs) else 1.0


def without_inflation(problem: Problem) -> Problem:
    """The problem with rows weighted by their effective number under dependence.

    Args:
        problem: the problem, with or without priors.
    """
    if problem.penalty is None:
        return problem
    noise = replace(problem.penalty.noise, inflation=1.0)
    return replace(problem, penalty=replace(problem.penalty, noise=noise))


def remaining_symmetries(symmetries: Freedom, problem: Problem, theta: Array) -> Freedom:
    """The symmetries that remain with the priors: none if rows and priors together determine all
    parameters.

    Args:
        symmetries: the symmetries of the law, whose directions no data can determine.
        problem: the problem, with or without a penalty.
        theta: the fitted parameters, shape (parameters,).
    """
    if problem.penalty is None or not symmetries.symmetries:
        return symmetries
    _, with_priors = _ranks(problem, problem.penalty, theta)
    return Freedom(certain=symmetries.certain) if with_priors == len(theta) else symmetries


def _ranks(problem: Problem, penalty: Penalty, theta: Array) -> tuple[int, int]:
    """The number of directions that the rows determine, and the number that rows and priors
    determine together.
    """
    slopes = np.nan_to_num(problem.slopes(theta[None])[1][0], posinf=0.0, neginf=0.0)
    return _rank_of(slopes), _rank_of(np.vstack([slopes, penalty.pseudo_rows(theta)]))


def fitted_priors(
    priors: Sequence[Prior], law: PreparedLaw, problem: Problem, theta: Array, plain: PlainFit
) -> FittedPriors:
    """The record of the priors of a fit: how far they have shifted it, and whether they are
    compatible with the rows.

    Args:
        priors: the priors in the order of the penalty.
        law: the law.
        problem: the problem with the penalty.
        theta: the fitted parameters, shape (parameters,).
        plain: the fit without priors.
    """
    penalty = problem.penalty
    assert penalty is not None
    errors = np.full(len(law.names), np.inf)
    if plain.covariance is not None:
        errors = plain.covariance.errors(np.eye(len(law.names)))
    errors_of = errors[penalty.numbers] * np.abs(penalty.slopes(plain.theta[None])[0])
    at_fit, without = penalty.quantities(theta[None])[0], penalty.quantities(plain.theta[None])[0]
    records = []
    for k, prior in enumerate(priors):
        is_open = prior.parameter in plain.undetermined
        shift = (at_fit[k] - without[k]) / prior.deviation
        z = (without[k] - prior.center) / np.hypot(errors_of[k], prior.deviation)
        if is_open:
            shift, z = np.nan, 0.0
        elif prior.parameter in plain.on_bound or not np.isfinite(z):
            # on a bound the rows provide no standard error: the distance of the fit from the center
            # is used
            z = (at_fit[k] - prior.center) / prior.deviation
        if prior.parameter in plain.on_bound:  # its distance from there is not meaningful
            shift = np.nan
        records.append(
            FittedPrior(
                prior.text,
                prior.parameter,
                prior.log,
                prior.center,
                prior.deviation,
                float(at_fit[k]),
                canonical_nan(shift),
                canonical_nan(z),
            )
        )
    values = {
        name: canonical_nan(np.nan if name in plain.undetermined else x)
        # on a bound at 0 the search ends at about 1e-27
        for name, x in zip(
            law.names,
            np.where(
                np.isin(law.names, list(plain.on_bound)) & (np.abs(plain.theta) < ZERO),
                0.0,
                plain.theta,
            ),
            strict=True,
        )
    }
    sigma = float(np.sqrt(plain.noise.tau2))
    both = np.stack([theta, plain.theta])
    losses = replace(problem, penalty=None).losses_at(both)
    rise = losses[0] - losses[1] + penalty.value(theta[None])[0]
    chi2 = max(0.0, float(2 * rise / plain.noise.kappa))
    by_rows, with_priors = _ranks(problem, penalty, theta)
    # each prior that determines a further direction is compatible with any rows
    dof = len(penalty.numbers) - (with_priors - by_rows)
    return FittedPriors(tuple(records), values, sigma, float(plain.noise.kappa), chi2, dof)


def prior_findings(
    record: FittedPriors, undetermined: frozenset[str], plain: PlainFit
) -> list[Diagnostic]:
    """Warnings about priors that the rows contradict, and about parameters determined by priors
    only.

    Args:
        record: the priors of the fit.
        undetermined: names of the parameters that rows and priors together do not determine.
        plain: the fit without priors.
    """
    findings, stated = [], tuple(f"prior {prior.text}" for prior in record.priors)
    for prior in record.priors:
        if not abs(prior.conflict) > CONFLICT:
            continue
        side = "above" if prior.conflict > 0 else "below"
        message = (
            f"the rows contradict the prior {prior.text}: they put it {abs(prior.conflict):.1f} "
            f"standard deviations {side} its center"
        )
        value = record.without[prior.parameter]
        notes = (f"without priors {prior.parameter} = {value:.4g}",) if np.isfinite(value) else ()
        help = "check the prior, the law or the rows; --prior none fits without priors"
        findings.append(Diagnostic("F0136", message, "warning", notes=notes, help=help))
    surprise = chi2_quantile(2 * normal_cdf(CONFLICT) - 1, record.dof) if record.dof else np.inf
    if not findings and record.chi2 > surprise:
        counted_dof = counted(record.dof, "degree") + " of freedom"
        message = (
            f"the rows contradict the priors: chi-squared {record.chi2:.1f} with {counted_dof}"
        )
        help = "check the priors, the law or the rows; --prior none fits without priors"
        findings.append(Diagnostic("F0136", message, "warning", notes=stated, help=help))
    decided = [name for name in plain_names(record) if name in plain.undetermined - undetermined]
    if decided:
        message = f"the rows alone do not determine {conjunction(decided)}: the priors decide"
        help = "predictions that depend on them are as good as the priors; measure there"
        findings.append(Diagnostic("F0137", message, "warning", notes=stated, help=help))
    return findings


def plain_names(record: FittedPriors) -> list[str]:
    """The names of the parameters of a fit with priors, in the law's order."""
    return list(record.without)
