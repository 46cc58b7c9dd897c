"""Slopes at several shares -> the inflection ratio: the share below which a claim on them fails.

Que et al. (2024), arXiv:2406.01375, appendix I.3: below some share of the corpus whose loss is
predicted, the loss rises with the tokens, and the D-CPT law does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lawdsl.data.binding import Runs
from lawdsl.data.table import Table
from lawdsl.data.trends.grid import Axes, grid_values, run_columns
from lawdsl.data.trends.hypotheses import Slope, claimed_slope, rows_of_claim, why_untestable
from lawdsl.data.trends.inflection_result import Crossing, Inflection
from lawdsl.data.trends.paired_differences import Array, Codes, GridValues, RepeatScatter
from lawdsl.data.trends.significance import (
    MIN_DF,
    DifferenceScale,
    critical_value,
    difference_scale,
)
from lawdsl.data.trends.slopes import slopes
from lawdsl.data.trends.zero_crossing import CriticalErrors, crossing
from lawdsl.law.law import Law, Quantity

LEVEL = 0.95
TAIL = (1 - LEVEL) / 2
MIN_DF_OF_REPEATS = (
    2  # degrees of freedom of repeats that are taken into account, if they indicate more noise
)


def inflections(law: Law, table: Table, runs: Runs, run: tuple[str, ...]) -> list[Inflection]:
    """The inflections of all claims of a law that a table contradicts below some share.

    Args:
        law: the law.
        table: the table, possibly with rows excluded.
        runs: the rows that are used.
        run: columns that identify training runs; by default `run` and `seed`.
    """
    claims = [
        (claim, slope)
        for claim in law.claims
        if (slope := claimed_slope(law, claim.claim)) is not None
    ]
    testable = [
        (claim, slope)
        for claim, slope in claims
        if claim.expect != "refuted"
        and only_share_variable(law, slope)
        and not why_untestable(law, slope, claim)
    ]
    if not testable or len(np.unique(table.rows)) < len(table):
        return []
    used_rows = table.at(runs.rows)
    run_labels = run_columns(law, table, runs.bound, run)
    rows, axes = grid_values(law, used_rows, runs, run_labels, np.full(len(used_rows), np.nan))
    scale = difference_scale(rows, len(claims))
    results = (
        inflection(law, slope, rows.take(rows_of_claim(law, claim, runs)), axes, scale)
        for claim, slope in testable
    )
    return [
        measured_inflection for measured_inflection in results if measured_inflection is not None
    ]


def inflection(
    law: Law,
    slope: Slope,
    rows: GridValues,
    axes: Axes,
    scale: DifferenceScale,
    label_cells: Mapping[str, Sequence[str]] | None = None,
) -> Inflection | None:
    """The share below which a claim on a first derivative fails.

    An inflection is reported if the claim fails at some share beyond chance at the 1 % level, by
    Bonferroni's inequality over all shares, places and claims. Of all places with such a failure
    the largest estimate is taken, the conservative choice; the error probability of the lower end
    of its interval is divided among them.

    Args:
        law: the law.
        slope: the sign of the derivative that it claims.
        rows: the measurements.
        axes: the variables.
        scale: the scale of noise and rounding.
        label_cells: column of a leading label of the rows -> its distinct cells by code.

    Returns:
        None where the law does not have exactly one variable that is a share; or where the table
        shows no place at which the claim fails, as when its noise is unknown.
    """
    share = only_share_variable(law, slope)
    if share is None or not len(rows):
        return None
    wrt, along = axes.names.index(slope.wrt[0]), axes.names.index(share.name)
    curves, repeats, about = slopes(rows, wrt, axes.levels[wrt])
    noise = _noise(curves, repeats, about, scale) if len(curves) else None
    if noise is None:
        return None
    curves = replace(curves, value=-slope.sense * curves.value)  # positive where the claim fails
    surely = critical_value(noise.df, scale.chance / len(curves))
    if not np.any(curves.value > surely * noise.error):
        return None
    sure = CriticalErrors(critical_value(noise.df, TAIL), surely)
    groups = list(_share_curves(curves, along, wrt))
    names = [
        _group_text(axes, (along, wrt), curves.take(members[:1]), label_cells or {})
        for members in groups
    ]
    shares = axes.levels[along][curves.low[along]]

    def crossing_of(n: int, sure: CriticalErrors) -> Crossing:
        members = groups[n]
        return crossing(
            names[n], shares[members], curves.value[members], noise.error[members], sure
        )

    crossings = [crossing_of(n, sure) for n in range(len(groups))]
    # a place without a detected inflection must not widen the results for the others
    failing = [n for n, one in enumerate(crossings) if one.fails and one.high is not None]
    shared = CriticalErrors(critical_value(noise.df, TAIL / max(len(failing), 1)), surely)
    estimate, low, high = _largest_ratio(
        [crossings[n] for n in failing], [crossing_of(n, shared) for n in failing]
    )
    return Inflection(
        share.name,
        law.output,
        slope.wrt[0],
        slope.sense < 0,
        estimate,
        low,
        high,
        LEVEL,
        noise.source,
        tuple(crossings),
    )


def _largest_ratio(
    failing: Sequence[Crossing], shared: Sequence[Crossing]
) -> tuple[float | None, float | None, float | None]:
    """The largest of some ratios, and the ends of its interval.

    Args:
        failing: the inflections, each tested individually.
        shared: the same, with the error probability divided among them (Bonferroni).
    """
    highs = [one.high for one in failing if one.high is not None]
    if not highs:
        return None, None, None
    estimates = [one.estimate for one in failing if one.estimate is not None]
    estimate = max(estimates) if len(estimates) == len(failing) else None
    return estimate, max(one.low or 0.0 for one in shared), max(highs)


def only_share_variable(law: Law, slope: Slope) -> Quantity | None:
    """The only variable that is a share; None if there is none, or several, or if `slope` is not a
    first derivative, or is the derivative with respect to that share.

    Args:
        law: the law.
        slope: the sign of the derivative that it claims.
    """
    shares = [q for q in law.variables if _is_share(q)]
    if len(slope.wrt) != 1 or len(shares) != 1 or shares[0].name == slope.wrt[0]:
        return None
    return shares[0]


def _is_share(q: Quantity) -> bool:
    """Whether the domain of a variable is within [0, 1]."""
    limits = [(b.lower, b.number) for b in q.bounds if b.number is not None]
    return any(low and limit >= 0 for low, limit in limits) and any(
        not low and limit <= 1 for low, limit in limits
    )


@dataclass(frozen=True)
class _Noise:
    """The standard error of each slope, where it is known from, and its degrees of freedom."""

    error: Array
    source: str
    df: int | None


def _noise(
    curves: GridValues, repeats: RepeatScatter, about: RepeatScatter, scale: DifferenceScale
) -> _Noise | None:
    """The standard errors of slopes: from a column, from repeats, or from the scatter about the
    curves.

    Repeats are preferred, since runs differ by more than their points scatter. If repeats are few,
    the larger of both estimates is used.
    """
    if not np.isnan(curves.error).any():
        return _Noise(np.sqrt(curves.error), "column", None)
    enough = repeats.df >= MIN_DF and repeats.squares > repeats.df * scale.least**2
    sources = [("repeats", repeats)] if repeats.df >= MIN_DF_OF_REPEATS else []
    sources += [("scatter", about)] if about.df >= MIN_DF and not enough else []
    if not sources:
        return None
    sizes = [max(np.sqrt(s.squares / s.df), scale.least) for _, s in sources]
    # compared by their quantiles: few degrees of freedom make an estimate less certain
    best = int(
        np.argmax(
            [x * critical_value(s.df, TAIL) for x, (_, s) in zip(sizes, sources, strict=True)]
        )
    )
    source, chosen = sources[best]
    return _Noise(sizes[best] * np.sqrt(curves.spread), source, chosen.df)


def _share_curves(curves: GridValues, along: int, wrt: int) -> Iterator[Codes]:
    """Groups of curves that differ in the share only, in ascending order of the share."""
    others = np.delete(curves.low, [along, wrt], axis=0)
    # a row of zeros, since `unique` needs a key even if the share is the only variable
    keys = np.concatenate([others, curves.labels, np.zeros((1, len(curves)), dtype=np.int64)])
    group = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)
    for number in range(int(group.max()) + 1):
        members = np.flatnonzero(group == number)
        yield members[np.argsort(curves.low[along, members])].astype(np.int64)


def _group_text(
    axes: Axes,
    moving: Sequence[int],
    one: GridValues,
    label_cells: Mapping[str, Sequence[str]],
) -> str:
    """The values shared by a group, as text: `N = 1.8, schedule = cosine`."""
    equal = {
        name: axes.text(i, one.low[i, 0]) for i, name in enumerate(axes.names) if i not in moving
    }
    cells = zip(label_cells.items(), one.labels[:, 0], strict=False)
    equal |= {name: texts[number] for (name, texts), number in cells}
    return ", ".join(f"{name} = {text}" for name, text in equal.items())
