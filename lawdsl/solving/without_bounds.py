"""Fits that lie on a bound between parameters -> the same fits without it.

D-CPT's C > C0 makes the law claim that more data of a domain always help. Where the rows say otherwise
the fit lies on that bound, and so do its answers: they say what the bound says, not what the rows do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.fit import fit as fit_law
from lawdsl.fitting.result import Fit
from lawdsl.law.law import Law
from lawdsl.solving.result import Answer, WithoutBounds

STARTS = 12  # of a fit without a bound, which is an easier one


@dataclass(frozen=True)
class Relaxed:
    """A fit without the bounds on which it lies.

    Attributes:
        use: what the question calls it.
        bounds: as the law declares them.
        fit: the fit without them, to the rows that the fit keeps.
        ratio: its objective, relative to that on the bound at the same rows.
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
    loss, _, rest = fit.objective.name.partition("(")
    delta = rest.rstrip(")").rpartition(",")[2].strip() if "," in rest else ""
    try:
        again = fit_law(
            law,
            table,
            without=bounds,
            objective=f"{loss}({'log' if fit.objective.of_logs else 'raw'})",
            delta=float(delta) if delta else None,
            run=run,
            starts=STARTS,
            claims=False,
            rolled_check=False,
            seed=seed,
        )
    except (LawdslError, ValueError):
        return None
    assert isinstance(again, Fit)
    per_row = fit.objective.sum / fit.data.rows
    ratio = again.objective.sum / again.data.rows / per_row if per_row > 0 else np.nan
    return Relaxed(use, bounds, again, float(ratio))


def beside(answer: Answer, without: Answer, fits: Mapping[str, Relaxed]) -> Answer:
    """An answer with that of the fits without the bounds on which they lie.

    Args:
        answer: of the fits as they are.
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
