"""Law without index sets + table + options -> Fit.

In order: bind the columns, minimise the objective from many starts, compute intervals, diagnose the
fit, and decide the law's claims for the fitted values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.objectives import Objective
from lawdsl.data.read import Table
from lawdsl.fitting.diagnostics import diagnose
from lawdsl.fitting.diagnostics.alternative_minima import several_optima
from lawdsl.fitting.diagnostics.breakpoints import (
    breakpoint_findings,
    flat_breakpoints,
    without,
)
from lawdsl.fitting.diagnostics.design import design_findings
from lawdsl.fitting.diagnostics.exchanged_terms import ExchangedTerms, exchanged_terms
from lawdsl.fitting.diagnostics.goodness import metrics, objective_value, optimality
from lawdsl.fitting.diagnostics.identifiability import undetermined_directions
from lawdsl.fitting.diagnostics.precision import (
    PrecisionInputs,
    undetermined_prediction_findings,
    weak_parameter_findings,
    weak_parameters,
)
from lawdsl.fitting.diagnostics.residual_findings import residual_findings
from lawdsl.fitting.diagnostics.residuals import weight_copies_as_one
from lawdsl.fitting.diagnostics.robust_fit import (
    extreme_measurements,
    influential_row_findings,
    is_robust,
    untestable_outlier_findings,
)
from lawdsl.fitting.extrapolation.assess import assess, extrapolation_findings
from lawdsl.fitting.extrapolation.conditioning_rows import ConditioningRows, rows_of_fit
from lawdsl.fitting.extrapolation.discrepancy import DEFAULT_AMPLITUDE
from lawdsl.fitting.extrapolation.fitted_surface import FittedSurface, size_variables
from lawdsl.fitting.extrapolation.sandwich import intervals_with_law_error
from lawdsl.fitting.fit_task import FitTask, task_of
from lawdsl.fitting.fitted_claims import certificates, claim_failure_findings, with_enforced_bounds
from lawdsl.fitting.fixed_parameters import fixed_values, with_tied_intervals
from lawdsl.fitting.intervals.compute_intervals import (
    IntervalEstimate,
    intervals as intervals_of,
    method_of,
)
from lawdsl.fitting.label_order import with_ordered_labels
from lawdsl.fitting.options import AUTO, FitOptions
from lawdsl.fitting.prediction_bands import missing_horizon_warning, missing_rows_reason
from lawdsl.fitting.preparation.breakpoints import breakpoints
from lawdsl.fitting.preparation.prepare import unidentifiable_directions
from lawdsl.fitting.preparation.rows_at_zero import start_findings
from lawdsl.fitting.prior_effects import (
    fitted_priors,
    prior_findings,
    remaining_symmetries,
    without_inflation,
)
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_parts import (
    Agreement,
    FittedData,
    FixedParameter,
    Intervals,
    Parameter,
)
from lawdsl.fitting.solvers.multistart import Optimum, optimum
from lawdsl.fitting.storage import fitted_law
from lawdsl.fitting.verdicts import overall_verdict
from lawdsl.law.law import Law
from lawdsl.proof.identifiability import Freedom, findings

Array = NDArray[np.float64]

# a note of findings about directions, where the search has not ended in a minimum
NOT_AT_A_MINIMUM = "so it is where the search stopped, which is no minimum (F0105)"
CLAIM_REFITS = 3  # refits, each with further bounds, to satisfy all claims


def fit_one(law: Law, table: Table, objective: Objective, options: FitOptions) -> Fit:
    """Fit a law without index sets.

    Args:
        law: the law, after the changes in the options.
        table: the measurements.
        objective: the objective to be minimised.
        options: the options of the fit.

    Raises:
        LawdslError: a law or table that cannot be used.
    """
    task = task_of(law, table, objective, options)
    # a bound that enforces one claim may break another, so the new fit is checked again
    for further in reversed(range(CLAIM_REFITS)):
        fit, solved = _solve_and_diagnose(task)
        fit = _with_certificates(task, fit)
        bounded = None
        if options.enforce and further:
            bounded = with_enforced_bounds(task.law, fit.claims)
        if bounded is None:
            break
        task = task.with_law(bounded)
    fit = _with_extrapolation(solved, fit)
    # failing claims at the fitted values do not affect the verdict on the fit
    verdict = overall_verdict(fit.diagnostics)
    failures = claim_failure_findings(task.law, fit.claims)
    return replace(fit, diagnostics=(*fit.diagnostics, *failures), verdict=verdict)


@dataclass(frozen=True)
class _Diagnosis:
    """The results of the diagnostics of a minimum.

    Attributes:
        bounds: parameter -> the bound on which it lies, lower or upper.
        on_bound: the mask of these parameters, shape (parameters,).
        undetermined: names of the parameters that the data do not determine.
        uncertainty: intervals and covariance of the parameters.
        diagnostics: the findings.
    """

    bounds: Mapping[str, str]
    on_bound: NDArray[np.bool_]
    undetermined: frozenset[str]
    uncertainty: IntervalEstimate
    diagnostics: tuple[Diagnostic, ...]


def _solve_and_diagnose(task: FitTask) -> tuple[Fit, FitTask]:
    """One fit, without verdicts on the law's claims, and its task, with the priors."""
    law, problem, options = task.prepared, task.problem, task.options
    with np.errstate(all="ignore"):  # searches pass through points where a law overflows
        best = optimum(law, problem, options.starts, options.seed, options.progress)
        if task.law.priors:
            task = task.with_penalty(best)
            law, problem, plain = task.prepared, task.problem, task.plain
            assert plain is not None
            best = optimum(law, problem, options.starts, options.seed, further_starts=plain.minima)
        if not isinstance(options.starts, Mapping):  # a start says which label is which
            best = with_ordered_labels(law, problem, best)
        diagnosis = _diagnose(task, best)
        lower = diagnosis.uncertainty.lower
        if lower is not None:  # the search for an interval found a lower objective
            other = optimum(law, problem, lower, options.seed)
            if other.loss < best.loss:
                best = replace(other, agreement=Agreement(best.agreement.starts + 1, 1))
                diagnosis = _diagnose(task, best)
        return _fit_record(task, best, diagnosis), task


def _with_certificates(task: FitTask, fit: Fit) -> Fit:
    """The fit with the verdicts on the law's claims for its values."""
    if not (task.options.claims or task.options.enforce):
        return fit
    return replace(fit, claims=certificates(task.law, fit.values))


def _with_extrapolation(task: FitTask, fit: Fit) -> Fit:
    """The fit with the assessment of its use beyond the rows, and warnings about that."""
    options, law, chosen = task.options, task.prepared, task.chosen_parameter
    extrapolation = None
    usable = fit.rows is not None and fit.spread is not None and not law.is_large
    if options.rolled_check and usable:
        assert fit.rows is not None and fit.spread is not None
        theta = np.array([fit.values[name] for name in law.names])
        if chosen is not None:  # a parameter whose uncertainty is included in the covariance
            law, theta = chosen.law, chosen.with_entry(theta, chosen.value)
        # in a two-step fit, the parameter would have to be chosen again at each cut
        extrapolation = assess(
            law,
            task.problem.objective,
            FittedSurface.of_prepared(
                law, size_variables(task.law), fit.rows, theta, task.problem.penalty
            ),
            fit.spread,
            rolled=chosen is None,
        )
    missing = "" if usable else "its rows do not tell the error of the law"
    if fit.rows is None and not fit.objective.is_centered:
        missing = missing_rows_reason(fit)
    missing = missing if options.rolled_check else "it was fitted without a rolled check"
    notes = extrapolation_findings(extrapolation, options.horizon, fit.diagnostics, missing)
    notes += missing_horizon_warning(fit)
    return replace(fit, extrapolation=extrapolation, diagnostics=(*fit.diagnostics, *notes))


def _diagnose(task: FitTask, best: Optimum) -> _Diagnosis:
    """The intervals of the best parameters, and findings about them, the search and the rows."""
    law, problem, theta = task.prepared, task.problem, best.theta
    bound_notes, bounds = diagnose.bound_findings(law, problem, theta)
    symmetries = remaining_symmetries(task.symmetries, problem, theta)
    unidentifiable = unidentifiable_directions(symmetries)
    on_bound = np.isin(law.names, list(bounds))
    conditional = breakpoints(task.law)
    flat = flat_breakpoints(conditional, law, problem, theta)
    exchanged = exchanged_terms(law, problem, theta, on_bound, task.runs.groups)
    undetermined_findings, undetermined = undetermined_directions(
        law, problem, theta, bounds, task.other_points, without(unidentifiable, flat), exchanged
    )
    if not best.converged:
        undetermined_findings = [
            replace(d, notes=(*d.notes, NOT_AT_A_MINIMUM)) for d in undetermined_findings
        ]
    undetermined |= flat
    is_undetermined = np.isin(law.names, list(undetermined)) & ~on_bound
    uncertainty = _uncertainty(task, best, on_bound, is_undetermined)
    uncertainty = uncertainty.without({n for n in undetermined if n in bounds})
    search_findings = _search_findings(
        task, best, symmetries, bool(undetermined_findings), exchanged
    )
    diagnostics = [*search_findings, *undetermined_findings, *bound_notes, *uncertainty.notes]
    diagnostics += breakpoint_findings(conditional, flat, law, problem, theta)
    diagnostics += diagnose.few_rows_findings(
        problem, chosen=int(task.chosen_parameter is not None)
    )
    judged = _precision_inputs(
        task, theta, uncertainty, diagnostics, on_bound | is_undetermined, tuple(bounds)
    )
    if judged is not None:
        # if variables are collinear, F0101 includes this warning
        is_scattered = any(terms.cause is not None for terms in exchanged)
        is_covered = any(d.code == "F0101" for d in diagnostics) and not is_scattered
        diagnostics += _precision_findings(judged, is_covered)
        uncertainty = _without_conditional_ends(uncertainty, judged)
    diagnostics += diagnose.worse_than_mean_findings(problem, theta)
    diagnostics += _row_findings(task, best, diagnostics)
    if task.plain is not None:
        record = fitted_priors(task.law.priors, law, problem, theta, task.plain)
        diagnostics += prior_findings(record, undetermined, task.plain)
    return _Diagnosis(bounds, on_bound, undetermined, uncertainty, tuple(diagnostics))


def _fit_record(task: FitTask, best: Optimum, diagnosis: _Diagnosis) -> Fit:
    """The record of a fit."""
    problem, theta, names = task.problem, best.theta, task.prepared.names
    parameters = {
        name: Parameter(float(x), diagnosis.bounds.get(name), name not in diagnosis.undetermined)
        for name, x in zip(names, theta, strict=True)
    }
    rows = rows_of_fit(tuple(q.name for q in task.law.variables), problem, theta, task.runs.groups)
    return Fit(
        parameters=parameters,
        objective=objective_value(problem, task.prepared, theta, _loss_of_rows(problem, best)),
        metrics=metrics(problem, theta),
        agreement=best.agreement,
        converged=best.converged,
        stopped=best.reason,
        verdict=overall_verdict(diagnosis.diagnostics),
        diagnostics=diagnosis.diagnostics,
        law=fitted_law(task.law),
        data=_fitted_data(task),
        seed=task.options.seed,
        held=_fixed_parameters(task, dict(zip(names, theta, strict=True))),
        optimality=optimality(problem, best.free, diagnosis.on_bound),
        intervals=with_tied_intervals(
            task.law,
            parameters,
            _with_law_error(task, parameters, diagnosis.uncertainty, rows),
            diagnosis.uncertainty.covariance,
        ),
        spread=diagnosis.uncertainty.covariance,
        rows=rows,
        priors=None
        if task.plain is None
        else fitted_priors(task.law.priors, task.prepared, problem, theta, task.plain),
    )


def _loss_of_rows(problem: Problem, best: Optimum) -> float:
    """The objective without the penalty of priors."""
    if problem.penalty is None:
        return best.loss
    return float(replace(problem, penalty=None).losses_at(best.theta[None])[0])


def _with_law_error(
    task: FitTask,
    parameters: Mapping[str, Parameter],
    uncertainty: IntervalEstimate,
    rows: ConditioningRows | None,
) -> Intervals:
    """The intervals, with those that include the error of the law."""
    intervals, covariance = uncertainty.intervals, uncertainty.covariance
    if rows is None or covariance is None or task.chosen_parameter is not None:
        return intervals
    penalty = task.problem.penalty
    if penalty is not None:
        penalty = replace(penalty, share=len(rows.target) / task.problem.rows)
    at_rows = task.prepared.problem(*rows.arrays(list(rows.columns)), task.problem.objective, None)
    ends = intervals_with_law_error(
        replace(at_rows, penalty=penalty),
        parameters,
        intervals,
        rows,
        [q.is_share for q in task.law.variables],
        DEFAULT_AMPLITUDE * covariance.quantile(intervals.level),
    )
    return replace(intervals, ends_with_law_error=ends)


def _uncertainty(
    task: FitTask,
    best: Optimum,
    on_bound: NDArray[np.bool_],
    is_undetermined: NDArray[np.bool_],
) -> IntervalEstimate:
    """The intervals and the covariance of the parameters, including one that was chosen before the
    fit.
    """
    options, groups, chosen_parameter = task.options, task.runs.groups, task.chosen_parameter
    theta = best.theta
    if options.intervals == AUTO and not best.converged:  # a profile is that of a minimum
        options = replace(options, intervals="delta")
    problem = task.problem if chosen_parameter is None else chosen_parameter.problem
    copied = task.counts_copies_once(problem)
    if copied:
        problem = without_inflation(weight_copies_as_one(problem))
    if chosen_parameter is None:
        uncertainty = intervals_of(problem, theta, on_bound, is_undetermined, options, groups)
    else:
        uncertainty = intervals_of(
            problem,
            chosen_parameter.with_entry(theta, chosen_parameter.value),
            chosen_parameter.with_entry(on_bound, False),
            chosen_parameter.with_entry(is_undetermined, False),
            options,
            groups,
            chosen_parameter.criterion,
        )
    if (
        copied
        and not uncertainty.intervals.ends
        and not uncertainty.notes
        and uncertainty.covariance is None
    ):
        message = "exact copies of rows leave too few measurements for intervals"
        help = "keep one of each, or measure more"
        note = Diagnostic("F0122", message, "warning", help=help)
        uncertainty = replace(uncertainty, notes=(note,))
    return uncertainty


def _row_findings(task: FitTask, best: Optimum, earlier: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Findings about the residuals, and about rows that cause a failure of the fit or dominate it."""
    law, problem, runs = task.prepared, replace(task.problem, penalty=None), task.runs
    findings: list[Diagnostic] = []
    failed = not best.converged or any(d.code == "F0112" for d in earlier)
    if not failed:
        findings = residual_findings(law, problem, best.theta, runs)
    failed |= any(d.code == "F0101" and d.severity == "error" for d in earlier)
    named = any(d.code == "F0115" for d in findings)
    is_extreme = extreme_measurements(problem.target)
    if not named and (untestable := untestable_outlier_findings(problem, runs, is_extreme)):
        return [*findings, *untestable]
    # a robust loss ignores single rows already: a second fit would have the same result
    if named or is_robust(problem) or not (failed or is_extreme.any()):
        return findings
    starts = task.options.starts if isinstance(task.options.starts, int) else AUTO
    return [
        *findings,
        *influential_row_findings(law, problem, runs, is_extreme, task.options.seed, starts),
    ]


def _precision_inputs(
    task: FitTask,
    theta: Array,
    uncertainty: IntervalEstimate,
    diagnostics: Sequence[Diagnostic],
    skipped: NDArray[np.bool_],
    on_bound: tuple[str, ...],
) -> PrecisionInputs | None:
    """The inputs of the assessment of precision; None if F0101 covers the undetermined parameters."""
    if uncertainty.covariance is None or any(
        d.code == "F0101" and d.severity == "error" for d in diagnostics
    ):
        return None
    law, problem, chosen_parameter = task.prepared, task.problem, task.chosen_parameter
    if chosen_parameter is not None:
        law, problem = chosen_parameter.law, chosen_parameter.problem
        theta, skipped = (
            chosen_parameter.with_entry(theta, chosen_parameter.value),
            chosen_parameter.with_entry(skipped, False),
        )
    skipped_names = frozenset(
        name for name, is_skipped in zip(law.names, skipped, strict=True) if is_skipped
    )
    return PrecisionInputs(
        law,
        problem,
        theta,
        uncertainty.covariance,
        skipped_names,
        on_bound,
        uncertainty.intervals.method == "profile",
    )


def _precision_findings(fitted: PrecisionInputs, is_covered: bool) -> list[Diagnostic]:
    """Findings about parameters and predictions that the rows do not determine.

    Args:
        fitted: the fit.
        is_covered: whether another finding names what the design leaves undetermined.
    """
    if is_covered:
        return weak_parameter_findings(fitted)
    findings = undetermined_prediction_findings(fitted)
    further = findings or design_findings(fitted.law, fitted.problem)
    return [*weak_parameter_findings(fitted), *further]


def _without_conditional_ends(
    uncertainty: IntervalEstimate, fitted: PrecisionInputs
) -> IntervalEstimate:
    """The intervals without those that are narrow only because a parameter is fixed at its bound:
    if it were free, the rows would hardly determine them (F0130). Profile intervals move along
    bounds, so that none is removed.
    """
    weak = weak_parameters(fitted, with_linear=True)
    record = uncertainty.intervals
    if not fitted.on_bound or method_of(record.method).on_bounds or not weak_parameters(fitted):
        return uncertainty
    return uncertainty.without(weak)


def _fixed_parameters(task: FitTask, values: Mapping[str, float]) -> dict[str, FixedParameter]:
    """The parameters that are fixed or tied, and how one was chosen."""
    fixed = fixed_values(task.law, values)
    if task.chosen_parameter is not None:
        choice = task.chosen_parameter.criterion.choice
        fixed[choice.name] = FixedParameter(
            task.chosen_parameter.value, choice.text(task.law.output)
        )
    return fixed


def _search_findings(
    task: FitTask,
    best: Optimum,
    symmetries: Freedom,
    undetermined_findings: bool,
    exchanged: Sequence[ExchangedTerms],
) -> list[Diagnostic]:
    """Findings about the data, the law and the search for the minimum."""
    diagnostics = [*task.runs.warnings, *findings(task.law, symmetries, "error")]
    if task.chosen_parameter is not None:
        diagnostics += task.chosen_parameter.criterion.findings(task.chosen_parameter.value)
    diagnostics += start_findings(task.law, task.runs, task.options)
    if best.outside:
        message = f"{best.outside:,} declared starts lie outside the domain and were left out"
        diagnostics.append(Diagnostic("F0106", message, "warning", help="correct the start lines"))
    best_solution = min(best.reached, key=lambda d: d.loss)
    told = frozenset[str]().union(*(terms.names for terms in exchanged))
    diagnostics += several_optima(task.prepared, best.searched, best_solution, best.reached, told)
    diagnostics += diagnose.agreement_findings(best.agreement.starts, best.agreement.agreed)
    if not best.converged:
        message = f"the search stopped early: {best.reason}"
        help = "start elsewhere, or ask for more starts"
        if undetermined_findings:
            help = (
                "it stopped where the data say nothing (F0101): start elsewhere, or measure there"
            )
        diagnostics.append(Diagnostic("F0105", message, help=help))
    return diagnostics


def _fitted_data(task: FitTask) -> FittedData:
    runs = task.runs
    return FittedData(
        name=runs.name,
        digest=runs.digest,
        rows=task.problem.rows,
        dropped=runs.dropped,
        columns=dict(runs.bound),
        where=task.options.where,
        ranges=dict(runs.ranges),
        weights=runs.weighted,
        runs=runs.run_columns,
        groups=None if runs.groups is None else int(runs.groups.max()) + 1,
        inflections=task.inflections,
    )
