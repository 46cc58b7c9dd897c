"""Aim + candidates + budget -> the runs to do next.

The criterion is the expected drop of the variance of the targets, with the error of the law in it.
Where the rows do not determine the law at any target, the batch is spread over the candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.designing.runs.aim import Aim
from lawdsl.designing.runs.batch import COST_POWER, Hypothesis, Pick, relative_variance
from lawdsl.designing.runs.choice import choose_batch
from lawdsl.designing.runs.hypotheses import candidate_columns, columns_for, hypothesis_of
from lawdsl.designing.runs.of_fit import surface_of
from lawdsl.designing.runs.phases import next_allowance
from lawdsl.designing.runs.pool import Pool, check_budget, done_candidates
from lawdsl.designing.runs.reasons import Reasons
from lawdsl.designing.runs.records import Design, DesignedRun, TargetEstimate
from lawdsl.designing.runs.shortlist import shortened, shortlist
from lawdsl.designing.runs.spread import grid_coordinates
from lawdsl.designing.runs.tolerance import narrowing
from lawdsl.fitting.extrapolation.coordinates import coordinates
from lawdsl.fitting.extrapolation.discrepancy import DEFAULT_AMPLITUDE
from lawdsl.fitting.extrapolation.fitted_surface import FittedSurface
from lawdsl.fitting.extrapolation.range_warnings import OTHER_UNIT_FACTOR
from lawdsl.fitting.result import Fit

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

OTHERWISE = {
    "criterion": "lowers the variance at the target most for its cost",
    "spread": "far from the runs so far",
}
"""Method -> the reason of a run without another."""
MIN_BATCH, BATCH_PART = 2, 4  # a batch has two runs, or a quarter of those that are done


def next_runs(
    aim: Aim,
    pool: Pool,
    budget: float,
    *,
    stop: float | None = None,
    amplitude: float = DEFAULT_AMPLITUDE,
    most: int | None = None,
    repeats: bool = True,
) -> Design:
    """Choose the next batch.

    Args:
        aim: what is to be known.
        pool: the candidates.
        budget: of all runs, in the unit of the costs of the pool.
        stop: half the interval that is precise enough, relative to the value; None for none.
        amplitude: standard deviation of log L per decade.
        most: the largest number of runs in the batch.
        repeats: whether a setting may be measured again.

    Raises:
        LawdslError: columns of the candidates that a law cannot use; candidates on which no target
            depends (N0105); a budget below the cheapest candidate (N0102).
    """
    fit = aim.fits[0]
    columns = candidate_columns(fit.law_of_spread(), fit, pool.table)
    surface = surface_of(fit)
    done = done_candidates(columns, pool.rows, surface.columns) if pool.done is None else pool.done
    available = ~done
    if not repeats:
        available &= ~_repeats(columns, pool, surface.columns)
    bought = np.flatnonzero(done)
    spent = pool.bill(bought)
    check_budget(pool, budget)
    left = int(np.sum(available))
    kept = shortlist(aim.targets, pool, available, pool.prices(bought), amplitude, COST_POWER)
    if len(kept) < left:
        members = np.sort(np.concatenate([bought, kept]))
        pool, done, available = shortened(pool, members), done[members], available[members]
        columns, bought = (
            candidate_columns(fit.law_of_spread(), fit, pool.table),
            np.flatnonzero(done),
        )
    now = [
        hypothesis_of(targets, pool, rest, amplitude)
        for targets, rest in zip(aim.targets, aim.rests, strict=True)
    ]
    precise = stop is not None and all(
        (np.inf if e.half is None else e.half) <= stop for e in aim.estimates
    )
    if not precise:
        _check_relevance(now, pool, available)
    before = [h.variance for h in now]
    best = relative_variance(_after(now, pool, np.flatnonzero(available)), before)
    picks: list[Pick] = []
    method, reasons = "criterion", list[str]()
    if not precise and available.any():
        costs = pool.prices(bought)
        cheapest = float(np.min(costs[available]))
        allowance = next_allowance(budget, spent, cheapest)
        limit = max(MIN_BATCH, _runs_so_far(surface, done) // BATCH_PART) if most is None else most
        determined = any(np.isfinite(np.inf if e.half is None else e.half) for e in aim.estimates)
        picks, method = _batch(
            now, pool, columns, surface.columns, available, done, allowance, limit, determined
        )
        affordable = available & (costs <= allowance * (1 + 1e-9))
        reasons = _reasons(
            picks, now[0], pool, columns, surface, aim, available, affordable, OTHERWISE[method]
        )
    design = _record(aim, pool, picks, method, reasons, best, budget, spent, stop, available, done)
    warnings = (
        *design.warnings,
        *_unit_warnings(aim, columns, surface.columns),
        *_reach_warnings(design),
    )
    return replace(
        design, warnings=warnings, pool=left, compared=len(kept) if len(kept) < left else None
    )


def _reach_warnings(design: Design) -> list[Diagnostic]:
    """A warning for each target that all candidates together leave wider than asked for."""
    stop, warnings = design.stop, list[Diagnostic]()
    if stop is None or design.certain:
        return warnings
    for target in design.targets:
        if target.best is None or not np.isfinite(target.best) or target.best <= stop:
            continue
        message = (
            f"{target.name}: ± {100 * stop:.3g} % is out of reach: ± {100 * target.best:.3g} % is "
            "expected after all candidates"
        )
        by_noise = target.noise > stop
        note = f"the noise of a run is ± {100 * target.noise:.3g} %, which no other run lowers"
        help = "accept a wider interval" if by_noise else "add candidates nearer to the target"
        warnings.append(
            Diagnostic("N0113", message, "warning", notes=(note,) if by_noise else (), help=help)
        )
    return warnings


def _unit_warnings(aim: Aim, columns: Array, fitted: Array) -> list[Diagnostic]:
    """A warning for each variable of which all candidates are far from the fitted rows."""
    found = []
    for quantity, here, there in zip(
        aim.fits[0].law_of_spread().variables, columns, fitted, strict=True
    ):
        if not ((here > 0).all() and (there > 0).all()):
            continue
        above, below = np.min(here) / np.max(there), np.min(there) / np.max(here)
        if max(above, below) < OTHER_UNIT_FACTOR:
            continue
        times, which = (
            (above, "times the largest") if above > below else (below, "times below the smallest")
        )
        message = (
            f"{quantity.name} of all candidates is at least {times:.3g} {which} of the runs so far"
        )
        help = f"is it in another unit? write it into the header, or bind it: '{quantity.name}=COLUMN [UNIT]'"
        found.append(Diagnostic("N0111", message, "warning", help=help))
    return found


def _runs_so_far(surface: FittedSurface, done: Mask) -> int:
    """The number of runs that are done: candidates, or others to which the law is fitted."""
    runs = surface.runs
    fitted = surface.columns.shape[1] if runs is None else len(np.unique(runs))
    return max(int(np.sum(done)), fitted)


def _repeats(columns: Array, pool: Pool, fitted: Array) -> Mask:
    """Which candidates have the values of a fitted row, shape (runs,)."""
    ends = np.array([row[row >= 0][-1] for row in pool.rows])
    points = columns[:, ends]
    same = np.abs(points[:, :, None] - fitted[:, None]) <= 1e-6 * np.abs(points[:, :, None])
    return np.asarray(np.any(np.all(same, axis=0), axis=1))


def _check_relevance(now: Sequence[Hypothesis], pool: Pool, available: Mask) -> None:
    """Refuse candidates that have nothing to do with the targets; N0105."""
    rows = pool.rows[available]
    if not len(rows):
        return
    drops = np.max([h.relative_drops(rows) for h in now], axis=0)
    if float(np.max(drops)) > 1e-9:
        return
    message = "no candidate bears on the target: none would narrow its interval"
    help = "add candidates that differ in the variables on which the target depends"
    raise LawdslError(Diagnostic("N0105", message, place=pool.name, help=help))


def _after(now: Sequence[Hypothesis], pool: Pool, chosen: NDArray[np.int64]) -> list[Hypothesis]:
    """The hypotheses once some candidates are measured."""
    later = [h.copied() for h in now]
    for hypothesis in later:
        hypothesis.observe(pool.rows[chosen].ravel())
    return later


def _batch(
    now: Sequence[Hypothesis],
    pool: Pool,
    columns: Array,
    fitted: Array,
    available: Mask,
    done: Mask,
    allowance: float,
    limit: int,
    determined: bool,
) -> tuple[list[Pick], str]:
    """The batch by the criterion, or one that is spread where no target is determined."""
    bought = np.flatnonzero(done)
    ends = np.array([row[row >= 0][-1] for row in pool.rows])
    # far from the fitted rows, too, which need not be candidates
    z = grid_coordinates(np.hstack([columns[:, ends], fitted]))
    return choose_batch(
        now,
        pool.rows,
        z[: len(pool)],
        z[len(pool) :],
        allowance,
        lambda chosen: pool.prices([*bought, *chosen]),
        available=available,
        most=limit,
        determined=determined,
    )


def _reasons(
    picks: Sequence[Pick],
    now: Hypothesis,
    pool: Pool,
    columns: Array,
    surface: FittedSurface,
    aim: Aim,
    available: Mask,
    affordable: Mask,
    otherwise: str,
) -> list[str]:
    """Why each run is in the batch, in its order."""
    model = surface.law_error(DEFAULT_AMPLITUDE)
    ends = np.array([row[row >= 0][-1] for row in pool.rows])
    target = aim.targets[0][0]
    reasons = Reasons(
        coordinates(model.axes, model.names, columns),
        ends,
        model.discrepancy.rows.z,
        coordinates(model.axes, model.names, target.points),
        available,
        affordable,
        [q.name for q in target.fit.law_of_spread().parameters],
        otherwise,
    )
    law, texts = now.laws[0].copied(), []
    for pick in picks:
        rows = pool.rows[pick.candidate]
        rows = rows[rows >= 0]
        texts.append(reasons.of(pick.candidate, law, rows))
        law.observe(rows)
    return texts


def _noise(e: TargetEstimate, more: int) -> float:
    """Half the interval that is noise, once so many further runs are done."""
    factor = 1.0 if e.dof is None else narrowing(e.dof, more)
    return float(np.expm1(factor * np.log1p(e.noise)))


def _record(
    aim: Aim,
    pool: Pool,
    picks: Sequence[Pick],
    method: str,
    reasons: Sequence[str],
    best: Array,
    budget: float,
    spent: float,
    stop: float | None,
    available: Mask,
    done: Mask,
) -> Design:
    """The record of a design."""

    def narrowed(e: TargetEstimate, variance: float, more: int) -> float | None:
        # half an interval of log L is proportional to its standard deviation; noise stays
        if e.half is None or not np.isfinite(e.half):
            return None
        whole, noise = np.log1p(e.half) ** 2, np.log1p(e.noise) ** 2
        factor = 1.0 if e.dof is None else narrowing(e.dof, more)
        return float(np.expm1(factor * np.sqrt(noise + (whole - noise) * variance)))

    def halves(variance: Array, more: int) -> list[float | None]:
        return [narrowed(e, v, more) for e, v in zip(aim.estimates, variance, strict=True)]

    runs, bought = [], np.flatnonzero(done).tolist()
    for count, (pick, reason) in enumerate(zip(picks, reasons, strict=True), start=1):
        cost = float(pool.prices(bought)[pick.candidate])
        bought.append(pick.candidate)
        runs.append(
            DesignedRun(
                pool.labels[pick.candidate],
                _point(pool, pick.candidate, aim.fits),
                cost,
                cost / budget,
                tuple(np.inf if h is None else h for h in halves(pick.variance, count)),
                reason,
            )
        )
    left = int(np.sum(available))
    after = [e.half for e in aim.estimates]
    if picks:
        after = halves(picks[-1].variance, len(picks))
    targets = tuple(
        replace(e, after=later, best=limit, noise=_noise(e, left))
        for e, later, limit in zip(aim.estimates, after, halves(best, left), strict=True)
    )
    return Design(
        aim.subject,
        pool.name,
        left,
        targets,
        tuple(runs),
        method,
        budget,
        spent,
        pool.unit,
        stop,
        aim.rivals,
        aim.warnings,
        int(np.sum(done)),
    )


def _point(pool: Pool, candidate: int, fits: Sequence[Fit]) -> dict[str, float]:
    """The columns that the laws read at the end of a candidate, as the table has them."""
    bound = [columns_for(f.law_of_spread(), f.data.columns, pool.table) for f in fits]
    return pool.point(candidate, [column for each in bound for column in each.values()])
