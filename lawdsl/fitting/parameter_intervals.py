"""Fit + error of its law -> the intervals of its parameters that include this error."""

from __future__ import annotations

from dataclasses import replace

from lawdsl.core.objectives import Objective
from lawdsl.fitting.extrapolation.sandwich import intervals_with_law_error
from lawdsl.fitting.fit_record import FitRecord
from lawdsl.fitting.options import check_numeric_amplitude
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.stored_penalty import penalty_of
from lawdsl.law.law import Law


def parameter_intervals(
    fit: FitRecord, law: Law, discrepancy: float
) -> dict[str, tuple[float, float]]:
    """The intervals of `Fit.intervals_with_law_error`.

    Args:
        fit: the fit.
        law: its law.
        discrepancy: standard deviation of log L per decade.

    Returns:
        Parameter -> lower and upper end; empty if the fit has no intervals or no rows.

    Raises:
        LawdslError: a discrepancy outside 0 to 1 (F0133).
    """
    check_numeric_amplitude(discrepancy)
    if not discrepancy:
        return dict(fit.intervals.ends)
    if fit.rows is None or fit.spread is None or len(fit.spread.names) != len(fit.values):
        return {}
    recorded = fit.objective
    objective = Objective(recorded.loss, recorded.of_logs).with_parameters(
        *recorded.parameters.values()
    )
    penalty = penalty_of(fit, law, len(fit.rows.target) / fit.data.rows)
    return intervals_with_law_error(
        replace(
            problem_of(law, *fit.rows.arrays([q.name for q in law.variables]), objective),
            penalty=penalty,
        ),
        fit.parameters,
        fit.intervals,
        fit.rows,
        [q.is_share for q in law.variables],
        discrepancy * fit.spread.quantile(fit.intervals.level),
    )
