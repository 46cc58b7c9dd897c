"""Rows of runs -> whether they lie on a learning rate that still falls, or at different stages of it.

While the learning rate falls, the loss at D tokens is not the one that a run of D tokens would end
with (Hägele et al. (2024), arXiv:2405.18392): in a law of D such rows confound D with the rate.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.enumerations import abridged
from lawdsl.data.premises.column_roles import (
    codes_of,
    columns_with_role,
    numbers_or_none,
    words_of,
)
from lawdsl.data.premises.curve_shapes import bent_down
from lawdsl.data.premises.rows import Codes, PremiseRows
from lawdsl.data.row_codes import row_codes

Mask = NDArray[np.bool_]

DECAYING = frozenset(
    ("cosine", "cos", "linear", "polynomial", "poly", "exponential", "exp", "sqrt", "rsqrt")
    + ("inverse", "inv", "onecycle", "annealing", "anneal", "decay", "step")
)
"""Words of schedules whose learning rate falls from the warm-up to the end."""
STABLE_FIRST = frozenset(("wsd", "trapezoidal", "trapezoid", "stable"))
"""Words of schedules with a constant rate before a decay at the end."""
CONSTANT = frozenset(("constant", "const", "none", "fixed", "flat", "wsdcon"))

FALLING_RTOL = 0.02  # a later learning rate that is lower by more falls
AT_END_RTOL = 0.02  # steps relative to those of the whole schedule
MIN_CHECKPOINTS = 6  # evenly spaced values of D that are taken for checkpoints of one run
MIN_FALL = 2.0  # of the learning rate along rows that no column assigns to a run
EVEN_SPACING = 1.5  # ratio of the largest to the smallest distance of checkpoints
MAX_SCHEDULES_NAMED = 3

LEVELS = "the order of mixtures at one D suffers less than the level"


def learning_rate_findings(rows: PremiseRows) -> list[Diagnostic]:
    """A warning (D0141) if rows of a law of D lie where the learning rate still falls, or mix rows
    at a constant rate with those at the end of a decay.

    The evidence is, in this order: the phase of the schedule, the learning rate, the name of the
    schedule, and the shape of the curves of runs. Without a column of runs, rows are taken for
    checkpoints of one run only if they are evenly spaced in D.

    Args:
        rows: the rows.
    """
    length = rows.length
    if length is None or rows.mentions("learning rate", "anneal", "schedule"):
        return []
    if any(
        words_of(name) in ("lr", "learning rate") or name in ("S1", "S2") for name in rows.bound
    ):
        return []
    for evidence in (_by_phase, _by_rate, _by_schedule, _by_shape):
        found = evidence(rows, length.name)
        if found is not None:
            return [_diagnostic(rows, *found)] if found[0] else []
    return []


Evidence = tuple[str, str]
"""The message and its column; an empty message if the rows are comparable."""


def _diagnostic(rows: PremiseRows, message: str, column: str) -> Diagnostic:
    place = f"{rows.table.name} column {column}"
    is_phase = column in columns_with_role(rows.table, "phase")
    ends = f" (--where '{column} = end')" if is_phase else ""
    help = f"fit rows at the ends of runs{ends}, or a law with the learning rate in it; {LEVELS}"
    return Diagnostic("D0141", message, "warning", place=place, help=help)


def _by_phase(rows: PremiseRows, length: str) -> Evidence | None:
    for column in rows.columns("phase"):
        counts = Counter(text.lower() for text in rows.table.texts(column))
        if not counts.keys() <= {"stable", "decay", "end", "warmup", "warm-up", "cooldown", ""}:
            continue
        falling = counts["decay"] + counts["cooldown"]
        if falling:
            return _falling(rows, falling, length), column
        constant = counts["stable"]
        if constant and counts["end"]:
            return (
                f"{constant:,} rows are at a constant learning rate and {counts['end']:,} at the end of "
                f"a decay: equal {length} do not mean equal training"
            ), column
        return "", column
    return None


def _falling(rows: PremiseRows, count: int, length: str) -> str:
    return (
        f"{count:,} of {len(rows.table):,} rows lie where the learning rate still falls: their losses are "
        f"not those of runs that end at that {length}"
    )


def _by_rate(rows: PremiseRows, length: str) -> Evidence | None:
    for column in rows.columns("learning rate"):
        rates = numbers_or_none(rows.table, column)
        if rates is None or np.isnan(rates).any() or np.ptp(rates) == 0:
            continue
        runs = _runs(rows)
        groups = _alike(rows, length) if runs is None else runs
        will_fall = np.zeros(len(rates), dtype=bool)
        for members in _members(groups):
            values, positions = rows.values[length][members], members
            order = np.argsort(values, kind="stable")
            values, positions = values[order], positions[order]
            if runs is None and not _are_checkpoints(values, rates[positions]):
                continue
            along = rates[positions]
            later = np.minimum.accumulate(along[::-1])[::-1]
            will_fall[positions] = along > later * (1 + FALLING_RTOL)
        if will_fall.any():
            return _falling(rows, int(will_fall.sum()), length), column
    return None


def _are_checkpoints(values: NDArray[np.float64], rates: NDArray[np.float64]) -> bool:
    """Whether rows that no column assigns to a run are evidently checkpoints of one: evenly spaced,
    at a learning rate that never rises again and falls by a factor.
    """
    if len(values) < MIN_CHECKPOINTS or not _evenly_spaced(values):
        return False
    after_peak = rates[int(np.argmax(rates)) :]
    falls = bool(np.all(np.diff(after_peak) <= 0)) and len(after_peak) >= MIN_CHECKPOINTS
    return falls and after_peak[0] >= MIN_FALL * max(after_peak[-1], 0.0)


def _evenly_spaced(values: NDArray[np.float64]) -> bool:
    gaps = np.diff(values)
    return bool(np.min(gaps) > 0 and np.max(gaps) <= EVEN_SPACING * np.min(gaps))


def _by_schedule(rows: PremiseRows, length: str) -> Evidence | None:
    for column in rows.columns("schedule"):
        texts = rows.table.texts(column)
        kinds = {text: _kind(text) for text in dict.fromkeys(texts)}
        if any(kind is None for kind in kinds.values()):
            continue
        named = abridged(
            [text for text, kind in kinds.items() if kind != "constant"], MAX_SCHEDULES_NAMED
        )
        before_end = _before_end(rows, length)
        if before_end is None or not named:
            return None if before_end is None else ("", column)
        decays = np.array([kinds[text] == "decaying" for text in texts])
        stable = np.array([kinds[text] == "stable first" for text in texts])
        falling = int(np.sum(before_end & decays))
        constant = int(np.sum(before_end & stable))
        if falling:
            message = (
                f"{falling:,} of {len(texts):,} rows lie before the end of a run with a decaying learning "
                f"rate ({named}): their losses are not those of runs that end at that {length}"
            )
            return message, column
        if constant:
            message = (
                f"{constant:,} of {len(texts):,} rows lie before the end of a run ({named}), where the "
                f"learning rate has not decayed yet: equal {length} do not mean equal training"
            )
            return message, column
        return "", column
    return None


def _kind(text: str) -> str | None:
    """The kind of a schedule by its name; None if no word is known."""
    words = set(words_of(text).split())
    if words & STABLE_FIRST:
        return "stable first"
    if words & CONSTANT:
        return "constant"
    return "decaying" if words & DECAYING else None


def _before_end(rows: PremiseRows, length: str) -> Mask | None:
    """The rows before the end of their runs; None if that is not known."""
    for step_column in columns_with_role(rows.table, "step"):
        steps = numbers_or_none(rows.table, step_column)
        for total_column in rows.columns("total steps"):
            totals = numbers_or_none(rows.table, total_column)
            if steps is not None and totals is not None and np.all(totals >= steps):
                return np.asarray(steps < totals * (1 - AT_END_RTOL))
    runs = _runs(rows)
    values = rows.values[length]
    groups = _alike(rows, length) if runs is None else runs
    before = np.zeros(len(values), dtype=bool)
    for members in _members(groups):
        inside = values[members]
        if runs is None and not (
            len(inside) >= MIN_CHECKPOINTS and _evenly_spaced(np.sort(inside))
        ):
            return None
        before[members] = inside < np.max(inside)
    return before


def _by_shape(rows: PremiseRows, length: str) -> Evidence | None:
    if rows.columns("schedule") or rows.columns("learning rate"):
        return None
    runs, column = _runs(rows), next(iter(rows.columns("run")), "")
    if runs is None:
        return None
    output = rows.values[rows.law.output]
    curves = [(rows.values[length][m], output[m]) for m in _members(runs)]
    bent = bent_down(curves)
    if not bent:
        return None
    message = (
        f"the curves of {bent:,} runs bend downwards at their ends, as they do where the learning rate "
        f"decays: losses inside runs may not be those of runs that end at that {length}"
    )
    return message, column


def _runs(rows: PremiseRows) -> Codes | None:
    """The number of the run of each row; None if no column identifies runs."""
    for column in rows.columns("run"):
        if "" not in rows.table.texts(column):
            return codes_of(rows.table, column)
    return None


def _alike(rows: PremiseRows, length: str) -> Codes:
    """A number for each group of rows that differ in the length and what moves with it, as far as
    columns tell: columns with few different cells are settings of runs. A different text in each row
    may name a run of its own.
    """
    groups = [rows.settings_except(length)]
    moving = {rows.bound[length], rows.bound[rows.law.output], *rows.columns("learning rate")}
    for name in rows.table.source_columns:
        if name in moving or rows.uses(name):
            continue
        codes = codes_of(rows.table, name)
        different = int(codes.max()) + 1
        named = different == len(codes) and not rows.table.readable(name).any()
        if named or different <= len(codes) / MIN_CHECKPOINTS:
            groups.append(codes)
    return row_codes(groups, len(rows.table))


def _members(codes: Codes) -> list[NDArray[np.int64]]:
    """The positions of the rows of each group."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
