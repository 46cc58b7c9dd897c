"""Fits with active bounds between parameters -> the same fits without these bounds.

The bound C > C0 of D-CPT makes the law claim that more data of a domain always help. If the rows
contradict this, the fit is on the bound, and its answers are determined by the bound instead of the
rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.objectives import Objective
from lawdsl.fitting.extrapolation.conditioning_rows import ConditioningRows
from lawdsl.fitting.fit import fit_with, objective_of
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.problem import rho
from lawdsl.fitting.result import Fit
from lawdsl.language.law_changes import LawChanges
from lawdsl.law.law import Law
from lawdsl.solving.result import Answer
from lawdsl.solving.result_under_law_error import WithoutBounds

STARTS = 12  # starts of a fit without a bound, which is easier
# too few rows, and no start at which the law is defined
WITHOUT_FIT = ("D0110", "F0107")


@dataclass(frozen=True)
class Relaxed:
    """A fit without its active bounds between parameters.

    Attributes:
        use: its name in the question.
        bounds: the omitted bounds as declared.
        fit: the fit without them, to the rows that the original fit stores.
        ratio: its mean loss relative to that of the original fit, on the same rows.
    """

    use: str
    bounds: tuple[str, ...]
    fit: Fit
    ratio: float


def active_bounds(fit: Fit, law: Law) -> tuple[str, ...]:
    """The bounds between parameters that are active in a fit, as declared in its law."""
    names = {q.symbol for q in law.parameters}
    return tuple(
        f"{q.name} {bound.relation} {bound.text}"
        for q in law.parameters
        if q.name in fit.parameters
        for bound in q.bounds
        if bound.limit.free_symbols & names
        and fit.parameters[q.name].at_bound == ("lower" if bound.lower else "upper")
    )


def refit_without_bounds(use: str, fit: Fit, seed: int = 0) -> Relaxed | None:
    """Fit a law again without the bounds between parameters that are active in its fit.

    Args:
        use: the name of the fit in the question.
        fit: the fit.
        seed: the seed of the starts.

    Returns:
        The fit; None if no bound is active, if the original fit stores no rows or uses weights of
        the table, which are not stored, and if the fit fails.
    """
    if fit.rows is None or fit.data.weights is not None:
        return None
    law = fit.read_law()
    bounds = active_bounds(fit, law)
    if not bounds or law.declarations.schema is not None or law.objective.choice is not None:
        return None
    table: dict[str, object] = {n: np.array(x) for n, x in fit.rows.columns.items()}
    table[law.output] = np.array(fit.rows.target)
    run: tuple[str, ...] = ()
    if fit.rows.runs is not None and fit.data.groups is not None:
        run = (_free_name("run", table),)
        table[run[0]] = np.array(fit.rows.runs)
    loss, scale = fit.objective.loss, "log" if fit.objective.of_logs else "raw"
    parameters = _loss_parameters(fit, law)
    options = FitOptions(
        objective=f"{loss}({scale})",
        delta=parameters.get("delta"),
        quantile=parameters.get("quantile"),
        over=parameters.get("over"),
        run=run,
        starts=STARTS,
        claims=False,
        rolled_check=False,
        seed=seed,
    )
    try:
        again = fit_with(
            LawChanges.of(without=bounds).apply(law),
            table,
            options,
        )
    except LawdslError as error:
        if error.diagnostics[0].code in WITHOUT_FIT:
            return None
        raise
    assert isinstance(again, Fit)
    objective = objective_of(law, options)
    before, after = (_mean_loss(each, fit.rows, law, objective) for each in (fit, again))
    return Relaxed(use, bounds, again, after / before if before > 0 else np.nan)


def _loss_parameters(fit: Fit, law: Law) -> dict[str, float]:
    """The parameters of the loss that a fit minimised: delta, quantile, over."""
    own = law.objective
    if fit.objective.name == own.text(law.output):  # which rounds them
        return dict(zip(own.row.parameters, own.parameters, strict=True))
    return fit.objective.parameters


def _mean_loss(fit: Fit, rows: ConditioningRows, law: Law, objective: Objective) -> float:
    """The mean loss of a fit over rows."""
    columns, target = rows.arrays([q.name for q in law.variables])
    problem = problem_of(law, columns, target, objective)
    values = fit.values | {name: fixed.value for name, fixed in fit.held.items()}
    theta = np.array([values[q.name] for q in law.parameters])
    with np.errstate(all="ignore"):  # the law may be undefined at a row
        residuals = problem.residuals_of(problem.model.value(theta[None]))[0]
        return float(np.mean(rho(residuals, objective)))


def with_relaxed_answer(answer: Answer, without: Answer, fits: Mapping[str, Relaxed]) -> Answer:
    """The answer, extended by that of the fits without their active bounds between parameters.

    Args:
        answer: the answer by the original fits.
        without: the answer by the fits without these bounds.
        fits: use -> the fit without the bounds.
    """
    bounds = {use: one.bounds for use, one in fits.items()}
    result = WithoutBounds(
        bounds=bounds,
        status=without.status,
        unknowns={u.name: u.value for u in without.unknowns},
        ends={u.name: u.ends for u in without.unknowns},
        goal=None if without.goal is None else without.goal.value,
        objective_ratios={use: one.ratio for use, one in fits.items()},
        verdicts={use: one.fit.verdict for use, one in fits.items()},
        rows={use: one.fit.data.rows for use, one in fits.items()},
    )
    return replace(answer, without_bounds=result)


def _free_name(name: str, table: Mapping[str, object]) -> str:
    """A name that no column of a table has."""
    while name in table:
        name += "_"
    return name
