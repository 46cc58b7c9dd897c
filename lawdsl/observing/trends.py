"""Law + table -> Trends: every claim on a derivative, held against the differences in the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from lawdsl.data.binding import Runs, bind, conversion
from lawdsl.data.grouping import check_columns, groups_of
from lawdsl.data.noted import with_settings_of
from lawdsl.data.table import Table, bad_rows
from lawdsl.data.tables import read_table
from lawdsl.diagnostics import LawdslError
from lawdsl.language.declared import Claim
from lawdsl.law import Law, load, unit_text
from lawdsl.observing.claimed import Slope, rows_of, slope_of, untold
from lawdsl.observing.findings import findings
from lawdsl.observing.moves import (
    Array,
    Mask,
    Moves,
    Scatter,
    differences,
    merged,
    numbered,
    varying,
)
from lawdsl.observing.records import Noise, Series, Trend, Trends
from lawdsl.observing.where import Seen, place, ranges, split
from lawdsl.proof.goals import claim_text

ERRORS = 2.0  # standard errors: a smaller difference is too small to tell
CHANCE = 0.01  # how often chance alone may contradict a claim, where nothing moves at all
ENOUGH = 5  # degrees of freedom: fewer repeats say nothing of the noise
SIGNS = 3.0  # standard deviations by which those against outnumber the others
ROUNDING = 1e-12  # of the largest value: smaller differences are none
LABELS = ("run", "seed")  # columns that tell runs apart, wherever a table has them


@dataclass(frozen=True)
class _Task:
    """The measurements, and what they are called."""

    law: Law
    runs: Runs
    names: tuple[str, ...]
    levels: tuple[Array, ...]
    rows: Moves
    given: bool  # whether standard errors are


def trends(
    law: Law | str | Path,
    table: Any,
    /,
    *,
    se: str | None = None,
    run: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
    where: str | Sequence[str] = (),
    settings: Mapping[str, float] | None = None,
    drop_bad: bool = False,
    columns: Mapping[str, str] | None = None,
    **named_columns: str,
) -> Trends:
    """Hold every trend that a law claims against a table of measurements; nothing is fitted.

    For ∂L/∂D < 0 each two neighbouring values of D are compared at which all else is equal, and,
    where three or more lie on a line, the first of them with the last; for ∂²L/∂D∂r < 0 the corners
    of each smallest rectangle; for L convex in r each value with the line between its neighbours.
    Values that were measured repeatedly are averaged.

    A difference within 2 standard errors is too small to tell. They are those of a column, taken as
    independent; else they come from repeats, pooled: of the same differences (other seeds), or,
    where these have fewer than 5 degrees of freedom, of the same rows. With few degrees of freedom
    it takes as many more standard errors as Student's distribution says.

    A claim is contradicted where a difference against it is so large that chance would make one
    such in 100 tables if nothing moved at all (Bonferroni's bound, so differences need not be
    independent), or where those against outnumber the others by more than 3 of the standard
    deviations that tossed coins have: of as many coins as there are differences, counted without
    the variable in which most of them are crowded, since those may come from one run.

    That L rises with D below some share was seen in D-CPT (Que et al. 2024, arXiv:2406.01375,
    appendix I.3), which calls it the inflection ratio: it lies below the smallest r from which on
    there are no exceptions to ∂L/∂D < 0.

    Args:
        law: the law, or the name or path of one.
        table: a path (CSV, Parquet, SQLite), a data frame, an Arrow table or a mapping of arrays.
        se: the column of the standard errors of the output, in its unit.
        run: columns that tell training runs apart, and so repeats; `run` and `seed` where none is
            given and the table has them. Runs are compared with themselves; with others only over
            what does not vary within any of them.
        by: columns of what else differs and is held equal, such as a schedule; there are no
            repeats across them.
        where: one condition that rows must meet, or several.
        settings: other values of settings of the law.
        drop_bad: leave bad rows out, and count them, instead of refusing the table.
        columns: variable or output -> column, where the names differ.
        named_columns: the same in another form, L="loss".

    Raises:
        LawdslError: a law or a table that cannot be used.
    """
    read = read_table(table)
    law = law if isinstance(law, Law) else load(law)
    law = law.with_settings(**settings) if settings else law
    law = with_settings_of(law, read)
    where, by, held = (
        (names,) if isinstance(names, str) else tuple(names) for names in (where, by, run)
    )
    bound = {**(columns or {}), **named_columns}
    own = {bound.get(name, name) for name in (law.output, *(q.name for q in law.variables))}
    held = held or tuple(name for name in LABELS if name in read.columns and name not in own)
    labels = tuple(dict.fromkeys((*by, *held)))
    runs = bind(law, read, bound, where=where, drop_bad=drop_bad, positive=False, run=labels)
    task = _task(law, read.at(runs.rows), runs, se, len(by))
    found = tuple(t for claim in law.claims if (t := _trend(task, claim)) is not None)
    unit = law.declarations.output.unit
    return Trends(
        law=law.name,
        digest=law.digest,
        data=runs.name,
        data_digest=runs.digest,
        rows=len(runs.rows),
        dropped=runs.dropped,
        where=where,
        columns=dict(runs.bound),
        held=held,
        by=by,
        unit=unit_text(unit.factors) if unit else "",
        trends=found,
        diagnostics=(*runs.warnings, *findings(law, runs.name, found)),
    )


def _task(law: Law, table: Table, runs: Runs, se: str | None, apart: int) -> _Task:
    """The rows as places in a grid; the first labels mean more than a repetition."""
    assert runs.target is not None
    pairs = [numbered(column) for column in runs.columns]
    codes = np.array([code for code, _ in pairs], dtype=np.int64).reshape(-1, len(table))
    labels = np.array([groups_of(table, [name]) for name in runs.run_columns], dtype=np.int64)
    error = np.full(len(table), np.nan) if se is None else _errors(law, table, se) ** 2
    labels = labels.reshape(-1, len(table))
    rows = Moves(runs.target, np.ones(len(table)), error, codes, codes, labels, apart)
    names = tuple(q.name for q in law.variables)
    return _Task(law, runs, names, tuple(levels for _, levels in pairs), rows, se is not None)


def _errors(law: Law, table: Table, se: str) -> Array:
    """The standard errors of the rows, in the output's unit.

    Raises:
        LawdslError: no such column, or a cell that is no finite number above 0; D0119.
    """
    check_columns(table, [se], "standard errors")
    unit = law.declarations.output.unit
    errors = table.numbers(se) * conversion(table, law.output, se, unit.factors if unit else None)
    bad = np.flatnonzero(~(np.isfinite(errors) & (errors > 0)))
    if len(bad):
        message = f"column {se}: {errors[bad[0]]:g} is no standard error"
        help = "give a finite number above 0, or choose rows with --where"
        raise LawdslError(bad_rows("D0119", table, se, np.sort(bad), message, help))
    return errors


def _trend(task: _Task, claim: Claim) -> Trend | None:
    """One claim; None where it is not on a derivative of the output."""
    slope = slope_of(task.law, claim.claim)
    if slope is None:
        return None
    text = claim_text(claim)
    why = untold(task.law, slope, claim)
    if why:
        return Trend(text, claim.expect, "nothing to compare", why)
    inside = rows_of(task.law, claim, task.runs)
    rows = task.rows.take(inside)
    found, seen = [], []
    for ends in (False, True) if len(set(slope.by)) == len(slope.by) else (False,):
        order = _order(task, slope)
        moves, scatter = differences(rows, order, task.levels, ends=ends)
        if len(moves):
            one, against = _series(task, slope, order, moves, scatter, ends)
            found.append(one)
            seen.append(Seen(moves, against, order[0] if ends else -1))
    if not found:
        why = _why(task, slope, rows)
        return Trend(text, claim.expect, "nothing to compare", why)
    parted = split(seen, task.names, task.levels) if any(s.against for s in found) else None
    return Trend(text, claim.expect, _verdict(found), "", tuple(found), parted)


def _order(task: _Task, slope: Slope) -> list[int]:
    """The variables of a claim, first the one that varies in more of what is held: that of runs."""
    own = [task.names.index(name) for name in slope.by]
    return sorted(own, key=lambda i: -int(np.sum(varying(task.rows, i))))


def _series(
    task: _Task, slope: Slope, order: Sequence[int], moves: Moves, scatter: Scatter, ends: bool
) -> tuple[Series, Mask]:
    """All differences of one kind, and which of them go against the claim."""
    error, noise = _noise(task, moves, scatter)
    as_claimed = slope.sense * moves.value
    least = _least(task)
    room = np.maximum(least, 0 if noise.limit is None else noise.limit * error)
    against = as_claimed < -room
    good = as_claimed > room
    sure = np.zeros(len(moves), dtype=bool)
    if noise.limit is not None:
        sure = against & (-as_claimed > _limit(noise.df, CHANCE / len(moves)) * error)
    sizes = -as_claimed[against]
    times = sizes / error[against]
    known = noise.limit is not None and len(sizes) > 0
    named = (task.names, task.levels)
    return Series(
        compared=_title([task.names[i] for i in order], ends),
        pairs=len(moves),
        as_claimed=int(np.sum(good)),
        too_small=int(np.sum(~good & ~against)),
        against=len(sizes),
        beyond_chance=int(np.sum(sure)),
        largest=float(np.max(sizes)) if len(sizes) else None,
        place=place(moves, int(np.argmin(as_claimed)), *named) if len(sizes) else "",
        median=float(np.median(sizes)) if len(sizes) else None,
        largest_errors=float(np.max(times)) if known else None,
        median_errors=float(np.median(times)) if known else None,
        noise=noise,
        ranges=ranges(moves, against, *named) if against.any() else (),
        sure_ranges=ranges(moves, sure, *named) if sure.any() else (),
        contradicts=bool(sure.any()) or _outnumbered(moves, as_claimed, least),
    ), against


def _noise(task: _Task, moves: Moves, scatter: Scatter) -> tuple[Array, Noise]:
    """The standard error of each difference, shape (n,), and where it is known from."""
    if task.given:
        error = np.sqrt(moves.error)
        return error, Noise("column", float(np.median(error)), None, _limit(None))
    source = "repeats"
    if scatter.df < ENOUGH:
        source = "repeated rows"
        scatter = merged(task.rows)[1]
    if scatter.df < ENOUGH or scatter.variance <= _least(task) ** 2:  # copies are no repeats
        return np.full(len(moves), np.nan), Noise()
    error = np.sqrt(scatter.variance * moves.spread)
    return error, Noise(source, float(np.median(error)), scatter.df, _limit(scatter.df))


def _least(task: _Task) -> float:
    """A smaller difference is one of rounding."""
    return ROUNDING * float(np.max(np.abs(task.rows.value)))


def _limit(df: int | None, tail: float = float(ndtr(-ERRORS))) -> float:
    """How many standard errors a difference exceeds by chance with this probability."""
    return -float(ndtri(tail) if df is None else stdtrit(df, tail))


def _outnumbered(moves: Moves, as_claimed: Array, least: float) -> bool:
    """Whether differences against a claim outnumber the others by more than chance explains."""
    signs = np.sign(np.where(np.abs(as_claimed) > least, as_claimed, 0.0))
    places = np.stack([moves.low, moves.high])
    counts = [len(moves)]
    for i in range(places.shape[1]):
        if (moves.low[i] == moves.high[i]).all():  # held: it may be that of one run
            rest = np.delete(places, i, axis=1).reshape(-1, len(moves))
            counts.append(np.unique(rest, axis=1).shape[1])
    return -float(np.mean(signs)) > SIGNS / np.sqrt(min(counts))


def _verdict(found: Sequence[Series]) -> str:
    if any(series.contradicts for series in found):
        return "contradicted"
    if any(series.against for series in found):
        return "exceptions"
    return "holds" if any(series.as_claimed for series in found) else "too small to tell"


def _title(names: Sequence[str], ends: bool) -> str:
    """What is compared, in words."""
    first, *second = names
    if second and second[0] == first:
        return f"neighbours in {first}, three at a time"
    if ends:
        return f"{first} first to last" + (f", neighbours in {second[0]}" if second else "")
    return f"neighbours in {' and '.join(names)}"


def _why(task: _Task, slope: Slope, rows: Moves) -> str:
    """Why there is nothing to compare."""
    for name in slope.by:
        i = task.names.index(name)
        values = np.unique(rows.low[i])
        if len(values) == 0:
            return "no row meets its condition"
        if len(values) == 1:
            return f"{name} has one value, {task.levels[i][values[0]]:.6g}"
    if len(slope.by) == 1:
        return f"no two rows differ in {slope.by[0]} alone"
    if slope.by[0] == slope.by[1]:
        return f"no three rows differ in {slope.by[0]} alone"
    return f"no four rows differ in {' and '.join(slope.by)} alone"
