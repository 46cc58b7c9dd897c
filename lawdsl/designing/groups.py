"""Mixtures -> random groups of them; groups -> the error of the fit to each group, on all rows.

Groups are a uniform random sample without replacement of the subsets of a given size.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.fitting.options import is_whole

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
ErrorOfRows = Callable[[Rows], float]
"""Positions of rows -> the error on all rows of a fit to these, inf if it has no value at some row.
Raises LawdslError if the fit fails.
"""

MAX_GROUPS = 100_000  # greatest number of groups


def sample_groups(
    mixtures: int, count: int, groups: int, seed: int, name: str
) -> list[tuple[int, ...]]:
    """Draw distinct groups of mixtures; all groups, if there are at most `groups`.

    Args:
        mixtures: the number of mixtures.
        count: the size of a group.
        groups: the number of groups.
        seed: the seed of the draws.
        name: the name of the table, for messages.

    Returns:
        For each group the indices of its mixtures.

    Raises:
        LawdslError: numbers for which no group exists; M0107.
    """
    for number, maximum, what in (
        (count, mixtures - 1, "mixtures"),
        (groups, MAX_GROUPS, "groups"),
    ):
        if not is_whole(number) or not 1 <= number <= maximum:
            message = f"{number} {what} cannot be chosen"
            if what == "mixtures":
                message += f" of {mixtures}"
            help = f"choose 1 to {maximum:,}" if maximum else "give a table of several mixtures"
            raise LawdslError(Diagnostic("M0107", message, place=name, help=help))
    if math.comb(mixtures, count) <= groups:
        return list(itertools.combinations(range(mixtures), count))
    draws = random.Random(seed)
    distinct: dict[tuple[int, ...], None] = {}
    while len(distinct) < groups:
        distinct[tuple(sorted(draws.sample(range(mixtures), count)))] = None
    return list(distinct)


def group_errors(
    error: ErrorOfRows,
    label: Rows,
    groups: Sequence[tuple[int, ...]],
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Array, list[Diagnostic]]:
    """The error of the fit to each group.

    Args:
        error: the function that returns the error of a fit to some rows.
        label: the mixture of each row, shape (rows,).
        groups: the groups of mixtures.
        progress: called with the number of groups done, and their total.

    Returns:
        The errors, shape (groups,), inf where a fit failed, and warnings about those.

    Raises:
        LawdslError: no group could be fitted; M0107.
    """
    errors = np.full(len(groups), np.inf)
    reason = "the fits have no value on some rows"
    for number, group in enumerate(groups):
        try:
            errors[number] = error(np.flatnonzero(np.isin(label, group)))
        except LawdslError as failure:
            reason = failure.diagnostics[0].message
        if progress is not None:
            progress(number + 1, len(groups))
    failed = int(np.sum(~np.isfinite(errors)))
    if not failed:
        return errors, []
    message = f"{failed} of {len(groups)} groups could not be fitted: {reason}"
    help = "choose larger groups, a smaller law, or give more --starts"
    finding = Diagnostic("M0107", message, "warning", help=help)
    if failed == len(groups):
        raise LawdslError(Diagnostic("M0107", message, help=help))
    return errors, [finding]
