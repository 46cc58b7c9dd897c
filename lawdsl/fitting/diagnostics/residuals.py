"""Fit + rows -> ResidualView: its residuals, with the span of the Jacobian, for tests of law and
noise.

Every test on a view is exact for homoscedastic Gaussian noise and the law linearised at the fit:
residuals and patterns are projected onto the complement of the span of the Jacobian, (I - QQᵀ)·r,
so that the result does not depend on the loss of the fit. p-values are multiplied by the number of
tests (Bonferroni). For robustness to other noise distributions each test is repeated on ranks, and
both must agree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.distributions import average_ranks, f_sf, normal_quantile
from lawdsl.data.quality_checks import MAX_COPIED_SHARE
from lawdsl.data.rounding import in_single_precision
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

# level of each of seven tests: over a hundred tables, a false alarm has a probability of 1e-3
FALSE_ALARM_RATE = 1.4e-6
# an effect that is not visible in so many rows explains less than a hundredth of the variance
MAX_TESTED_ROWS = 4000
# of many parameters in blocks, those of so many are tested
MAX_TESTED_PARAMETERS = 150
# relative to columns of length 1: smaller singular values are rounding
BASIS_RANK_RTOL = 1e-10
# relative to the length of a column: one that is almost in the span of the Jacobian is not tested
MIN_OUTSIDE_SHARE = 0.1


@dataclass(frozen=True)
class ResidualView:
    """The residuals of a fit, as measured minus predicted, and the span of its Jacobian.

    Attributes:
        names: the names of the axes along which patterns are tested.
        axes: the law's variables and, last, the prediction; shape (axes, rows).
        residual: measured minus predicted, of logarithms if the objective compares these; shape
            (rows,).
        basis: orthonormal columns that span the Jacobian, shape (rows, rank).
        rows: the number of each row in the problem.
        log: whether residuals are those of logarithms.
        blocks: the block of each row, shape (rows,), whose labels are then no axes; None for a law
            without many parameters in blocks.
    """

    names: tuple[str, ...]
    axes: Array
    residual: Array
    basis: Array
    rows: Rows
    log: bool
    blocks: Rows | None = None

    def __len__(self) -> int:
        return len(self.residual)

    @property
    def dof(self) -> int:
        """The residual degrees of freedom: rows minus rank."""
        return len(self) - self.basis.shape[1]

    @cached_property
    def projected(self) -> Array:
        """The residuals after projection off the Jacobian, as by least squares, shape (rows,)."""
        return project_out(self.basis, self.residual)

    @cached_property
    def scores(self) -> Array:
        """Normal scores of these residuals by rank, shape (rows,), which have no outliers."""
        ranks = average_ranks(self.projected)
        return project_out(self.basis, normal_quantile((ranks - 0.5) / len(self)))

    def keep(self, rows: NDArray[np.bool_]) -> ResidualView:
        """The view restricted to the marked rows."""
        return ResidualView(
            self.names,
            self.axes[:, rows],
            self.residual[rows],
            orthonormal_basis(self.basis[rows]),
            self.rows[rows],
            self.log,
            None if self.blocks is None else self.blocks[rows],
        )

    def with_columns(self, columns: Array) -> ResidualView:
        """The view for a law extended by some columns, shape (rows, columns)."""
        return replace(self, basis=np.hstack([self.basis, basis_outside(self.basis, columns)]))

    def size_text(self, size: float) -> str:
        """A residual as text: in percent of the output, or in its unit."""
        return f"{100 * np.expm1(size):+.2g} %" if self.log else f"{size:+.2g}"


def residual_view(law: PreparedLaw, problem: Problem, theta: Array, rows: Rows) -> ResidualView:
    """Build the view of some rows of a fit.

    The basis includes parameters on a bound: a finding about the bound (F0103) covers their effect.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
        rows: the indices of the rows in the problem.
    """
    part = problem.subset(rows)
    residual, jacobian = (x[0] for x in part.slopes(theta[None]))
    if part.weights is not None:  # a row of larger weight has a smaller variance
        root = np.sqrt(part.weights)
        residual, jacobian = residual * root, jacobian * root[:, None]
    tested = tested_variables(law, problem)
    axes = np.vstack([part.columns[tested], part.predictions(theta[None])[0]])
    names = (*(law.variables[i].name for i in tested), f"the predicted {law.output}")
    basis = orthonormal_basis(jacobian[:, np.all(np.isfinite(jacobian), axis=0)])
    blocks = None if problem.arrow is None else problem.arrow.block_of_rows[rows]
    return ResidualView(names, axes, -residual, basis, rows, problem.objective.log, blocks)


def tested_variables(law: PreparedLaw, problem: Problem) -> list[int]:
    """Positions of the variables along which patterns are tested: all of them, but for the labels of
    many parameters in blocks, since each block has parameters of its own.
    """
    numbers = range(len(law.variables))
    if problem.arrow is None:
        return list(numbers)
    return [i for i in numbers if not law.variables[i].name.startswith("[")]


def distinct_rows(problem: Problem) -> Rows:
    """The indices of the rows without copies, which are not independent measurements. Rows that are
    equal in single precision count as copies; rows are sorted, so that copies are neighbours.
    """
    second = np.arange(1, problem.rows)
    # most rows differ from their predecessor in the measured value
    for cells in (problem.target, *problem.columns):
        before, after = (in_single_precision(cells[rows]) for rows in (second - 1, second))
        second = second[after == before]
    return np.delete(np.arange(problem.rows), second)


def are_mostly_copies(problem: Problem) -> bool:
    """Whether so many rows are copies that chance agreement of coarsely rounded measurements cannot
    explain it.
    """
    return problem.rows - len(distinct_rows(problem)) >= MAX_COPIED_SHARE * problem.rows


def weight_copies_as_one(problem: Problem) -> Problem:
    """Divide all weights by the design effect of exact copies, Σm²/Σm over rows with m copies.

    The minimum does not change, and inference based on the number of rows becomes that of the
    measurements without copies. Copies share their error, so that m of them multiply the variance
    contributed by a row by m² and not by m (the design effect of clusters with correlation 1: Kish,
    Survey Sampling, 1965).
    """
    weights = np.ones(problem.rows) if problem.weights is None else problem.weights
    first = distinct_rows(problem)
    together = np.add.reduceat(weights, first)
    largest = np.maximum.reduceat(weights, first)
    used = largest > 0
    effect = float(np.sum(together[used] ** 2 / largest[used]) / np.sum(together))
    return replace(problem, weights=weights / effect)


def sample_rows(rows: Rows) -> Rows:
    """A random sample of many rows, the same for every call; all rows if they are few."""
    if len(rows) <= MAX_TESTED_ROWS:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, MAX_TESTED_ROWS, replace=False))


def sample_blocks(problem: Problem, rows: Rows, sizes: Array) -> tuple[Rows, Rows]:
    """Rows of random blocks, the same for every call, and those together with the rows of the blocks
    that have the largest residuals; all rows if they have few parameters.

    Args:
        problem: a problem with many parameters in blocks.
        rows: the rows to choose from.
        sizes: the absolute residuals of all rows, shape (rows of the problem,).
    """
    arrow = problem.arrow
    assert arrow is not None
    count = max(1, MAX_TESTED_PARAMETERS // arrow.members.shape[1])
    blocks = arrow.block_of_rows[rows]
    largest = np.zeros(len(arrow.ends))
    np.maximum.at(largest, blocks, np.nan_to_num(sizes[rows], nan=np.inf))
    chosen = np.random.default_rng(0).permutation(len(largest))[:count]
    furthest = np.argsort(-largest, kind="stable")[: max(1, count // 4)]
    within = np.isin(blocks, chosen)
    tested, further = sample_rows(rows[within]), rows[np.isin(blocks, furthest)]
    # of long blocks the rows with the largest residuals, and others beside them
    extreme = further[np.argsort(-sizes[further], kind="stable")[: MAX_TESTED_ROWS // 8]]
    return tested, np.union1d(tested, np.union1d(sample_rows(further), extreme))


def orthonormal_basis(columns: Array) -> Array:
    """Orthonormal columns with the span of the given ones, shape (rows, rank)."""
    length = np.linalg.norm(columns, axis=0)
    scaled = columns[:, length > 0] / length[length > 0]
    if not scaled.size:
        return np.zeros((len(columns), 0))
    vectors, widths, _ = np.linalg.svd(scaled, full_matrices=False)
    return vectors[:, widths > BASIS_RANK_RTOL * widths[0]]


def project_out(basis: Array, columns: Array) -> Array:
    """Project columns, or one column, onto the complement of a basis: (I - QQᵀ)·x, applied twice
    for full precision.

    Args:
        basis: Q, orthonormal, shape (rows, rank).
        columns: shape (rows, columns) or (rows,).
    """
    # a single projection leaves a component along the basis if most of a column cancels
    projected = columns - basis @ (basis.T @ columns)
    twice: Array = projected - basis @ (basis.T @ projected)
    return twice


def basis_outside(basis: Array, columns: Array) -> Array:
    """Orthonormal columns for the component of some columns outside the span of a basis.

    Columns that are almost in the span of the basis are omitted, since the curvature of the law
    would be mistaken for a pattern there.

    Args:
        basis: orthonormal, shape (rows, rank).
        columns: shape (rows, columns).
    """
    spanning = orthonormal_basis(columns)
    vectors, widths, _ = np.linalg.svd(project_out(basis, spanning), full_matrices=False)
    return project_out(basis, vectors[:, widths > MIN_OUTSIDE_SHARE])


def f_test_pvalue(
    explained_squares: float,
    extra: int,
    residual_squares: float,
    dof: int,
    inflation: float = 1.0,
) -> float:
    """The p-value of the F test, F = (explained_squares/extra)/(residual_squares/dof).

    Args:
        explained_squares: the sum of squares explained by `extra` more columns.
        extra: the number of additional columns.
        residual_squares: the residual sum of squares.
        dof: residual degrees of freedom, rows minus columns.
        inflation: the design effect of dependent rows; it divides F and the degrees of freedom.
    """
    if extra < 1 or dof < 1 or explained_squares <= 0:
        return 1.0
    if residual_squares <= 0:
        return 0.0
    ratio = explained_squares / extra / (residual_squares / dof) / inflation
    return float(f_sf(ratio, extra, max(1.0, dof / inflation)))
