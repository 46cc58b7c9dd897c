"""Law + columns -> points that combine extremes of the variables, which need not occur together in
the rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.diagnostics.design import constant_sums
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]

MAX_BLOCKS = 8  # blocks of variables that are recombined
# relative to their size: sums that differ by less are one number
CONSTANT_SUM_RTOL = 1e-9
# sums of shares that differ from 1 by less are 1 up to rounding of the shares
SHARE_SUM_RTOL = 1e-2
MAX_CORNERS = 256  # combinations of the extremes of blocks


def variable_blocks(law: PreparedLaw, problem: Problem) -> list[list[int]]:
    """Positions of the variables that may be recombined, in blocks.

    Each variable is a block by itself, except that variables with subscripts are in one block, and
    variables with a constant sum: the shares of a simplex, or the measured properties of one
    domain, belong together. Blocks without variation are omitted.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
    """
    names = [q.name for q in law.variables]
    blocks = [{name} for name in names if "[" not in name]
    tied = [{name for name in names if "[" in name}]
    for summands, _ in constant_sums(law, problem):
        if _are_shares(np.sum([problem.columns[names.index(name)] for name in summands], axis=0)):
            tied.append(summands)
    for group in tied:
        disjoint = [block for block in blocks if not block & group]
        blocks = [*disjoint, group.union(*(block for block in blocks if block & group))]
    numbers = [sorted(map(names.index, block)) for block in blocks if block]
    return [block for block in numbers if np.any(np.ptp(problem.columns[block], axis=1) > 0)]


def _are_shares(total: Array) -> bool:
    """Whether variables with such sums are the shares of a whole: the sum is constant up to
    rounding, or about 1, or about 100 in percent. Any other nearly constant sum is a property of
    the chosen rows, and other rows may have another sum.
    """
    if np.ptp(total) < CONSTANT_SUM_RTOL * abs(total[0]):
        return True
    return any(bool(np.all(np.abs(total / unit - 1) < SHARE_SUM_RTOL)) for unit in (1.0, 100.0))


def comparison_problem(law: PreparedLaw, problem: Problem) -> Problem:
    """The problem whose predictions between the rows are compared: that of logarithms if the law is
    a product of powers and exponentials.

    An exponential may underflow between the rows; its value then depends on no parameter, but its
    logarithm still does.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
    """
    if problem.objective.log or not np.all(problem.target > 0) or not law.has_logarithm():
        return problem
    objective = replace(problem.objective, log=True)
    return law.problem(problem.columns, problem.target, objective, problem.weights)


def problem_at_corners(law: PreparedLaw, problem: Problem, blocks: list[list[int]]) -> Problem:
    """The problem at combinations of the extremes of blocks, without measurements.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
        blocks: the blocks returned by `variable_blocks`.
    """
    points = np.array(list(_corner_points(problem.columns, blocks))).T
    return law.problem(points, np.ones(points.shape[1]), problem.objective, None)


def _corner_points(columns: Array, blocks: list[list[int]]) -> Iterator[Array]:
    """Points that combine blocks from rows at their extremes, shape (variables,) each."""
    extremes: list[Mapping[int, None]] = []
    for block in blocks:
        ends = [int(end(columns[i])) for i in block for end in (np.argmin, np.argmax)]
        extremes.append(dict.fromkeys(ends))
    for rows in itertools.islice(itertools.product(*extremes), MAX_CORNERS):
        point = columns[:, 0].copy()
        for block, row in zip(blocks, rows, strict=True):
            point[block] = columns[block, row]
        yield point
