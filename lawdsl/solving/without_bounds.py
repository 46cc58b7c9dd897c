"""Fits that lie on a bound between parameters -> the same fits without it.

D-CPT's C > C0 makes the law claim that more data of a domain always help. Where the rows say otherwise
the fit lies on that bound, and so do its answers: they say what the bound says, not what the rows do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.extrapolation.conditioning_rows import ConditioningRows
from lawdsl.fitting.fit import chosen_objective, fit_with
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.problem import rho
from lawdsl.fitting.result import Fit
from lawdsl.language.law_changes import LawChanges
from lawdsl.language.symbols import Objective
from lawdsl.law.law import Law
from lawdsl.solving.result import Answer
from lawdsl.solving.result_under_law_error import WithoutBounds

STARTS = 12  # of a fit without a bound, which is an easier one
# too few rows, and no start at which the law has a value
WITHOUT_FIT = ("D0110", "F0107")


@dataclass(frozen=True)
class Relaxed:
    """A fit without the bounds on which it lies.

    Attributes:
        use: what the question calls it.
        bounds: as the law declares them.
        fit: the fit without them, to the rows that the fit keeps.
        ratio: its mean loss, relative to that of the fit on the bound, on the rows that this keeps.
    """

    use: str
    bounds: tuple[str, ...]
    fit: Fit
    ratio: float


def active_bounds(fit: Fit, law: Law) -> tuple[str, ...]:
    """The bounds between parameters on which a fit lies, as its law declares them."""
    names = {q.symbol for q in law.parameters}
    return tuple(
        f"{q.name} {bound.relation} {bound.text}"
        for q in law.parameters
        if q.name in fit.parameters
        for bound in q.bounds
        if bound.limit.free_symbols & names
        and fit.parameters[q.name].at_bound == ("lower" if bound.lower else "upper")
    )


def relaxed(use: str, fit: Fit, seed: int = 0) -> Relaxed | None:
    """Fit a law without the bounds between parameters on which its fit lies.

    Args:
        use: what the question calls the fit.
        fit: the fit.
        seed: the seed of the starts.

    Returns:
        None where it lies on none; where it keeps no rows, or weights of the table, which are not
        among these; and where there is no such fit.
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
    delta, quantile = parameters.get("delta"), parameters.get("quantile")
    try:
        again = fit_with(
            LawChanges.of(without=bounds).apply(law),
            table,
            FitOptions(
                objective=f"{loss}({scale})",
                delta=delta,
                quantile=quantile,
                run=run,
                starts=STARTS,
                claims=False,
                rolled_check=False,
                seed=seed,
            ),
        )
    except LawdslError as error:
        if error.diagnostics[0].code in WITHOUT_FIT:
            return None
        raise
    assert isinstance(again, Fit)
    objective = chosen_objective(law, f"{loss}({scale})", delta, quantile)
    before, after = (_mean_loss(each, fit.rows, law, objective) for each in (fit, again))
    return Relaxed(use, bounds, again, after / before if before > 0 else np.nan)


def _loss_parameters(fit: Fit, law: Law) -> dict[str, float]:
    """The parameters of the loss that a fit has minimised: delta, quantile."""
    own = law.objective
    if fit.objective.name == own.text(law.output):  # which rounds them
        return dict(zip(own.row.parameters, own.parameters, strict=True))
    return fit.objective.parameters


def _mean_loss(fit: Fit, rows: ConditioningRows, law: Law, objective: Objective) -> float:
    """The mean loss of a fit, over rows."""
    columns, target = rows.arrays([q.name for q in law.variables])
    problem = problem_of(law, columns, target, objective)
    values = fit.values | {name: fixed.value for name, fixed in fit.held.items()}
    theta = np.array([values[q.name] for q in law.parameters])
    with np.errstate(all="ignore"):  # the law may have no value at a row
        residuals = problem.residuals_of(problem.model.value(theta[None]))[0]
        return float(np.mean(rho(residuals, objective)))


def beside(answer: Answer, without: Answer, fits: Mapping[str, Relaxed]) -> Answer:
    """An answer with that of the fits without the bounds on which they lie.

    Args:
        answer: the answer of the fits as they are.
        without: of the fits without these bounds.
        fits: use -> its fit without them.
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
    """A name that no column has."""
    while name in table:
        name += "_"
    return name
