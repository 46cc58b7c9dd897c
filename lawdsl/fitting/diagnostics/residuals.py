"""What the residuals of a fit say of the law and of its noise: outliers, patterns, scatter.

Every test here is exact for Gaussian noise of one size, in the law made linear at the fit: what
the parameters could still take up is projected out, so it does not matter which loss has chosen
them. Its chance is multiplied by the number of things looked at. For noise of another shape each
test is done a second time on ranks, and both must agree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.distributions import average_ranks, f_sf, normal_quantile
from lawdsl.data.quality_checks import MAX_COPIED_SHARE
from lawdsl.data.rounding import in_single_precision
from lawdsl.fitting.problem import ROUNDING, Problem
from lawdsl.law.law import Law

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

ALARM = 1.4e-6  # chance of a false alarm on a table, for each of seven looks: 1e-3 on a hundred
MOST = 4000  # rows looked at: what so many do not show is below a hundredth of the variance
RANK = 1e-10  # of columns of length 1: what is narrower is rounding
TAKEN = 0.1  # of a column's length: one of which the parameters leave less cannot be judged


@dataclass(frozen=True)
class View:
    """The residuals of a fit, as measured above predicted, and what the parameters could change.

    Attributes:
        names: of the axes along which a pattern is looked for.
        axes: the law's variables, and at the end the prediction; shape (axes, rows).
        residual: measured less predicted, of logarithms where the objective compares them;
            shape (rows,).
        basis: orthonormal columns that span what the parameters can do, shape (rows, rank).
        rows: where each row stands in the problem.
        log: whether residuals are those of logarithms.
    """

    names: tuple[str, ...]
    axes: Array
    residual: Array
    basis: Array
    rows: Rows
    log: bool

    def __len__(self) -> int:
        return len(self.residual)

    @property
    def freedom(self) -> int:
        """Rows that are left when the parameters have taken theirs."""
        return len(self) - self.basis.shape[1]

    @cached_property
    def left(self) -> Array:
        """What the parameters cannot take up of the residuals: those of least squares."""
        return without(self.basis, self.residual)

    @cached_property
    def scores(self) -> Array:
        """The same as normal scores: only the order counts, so no residual is far out."""
        ranks = average_ranks(self.left)
        return without(self.basis, normal_quantile((ranks - 0.5) / len(self)))

    def keep(self, rows: NDArray[np.bool_]) -> View:
        """Only the rows that are marked."""
        return View(
            self.names,
            self.axes[:, rows],
            self.residual[rows],
            spanned(self.basis[rows]),
            self.rows[rows],
            self.log,
        )

    def also(self, columns: Array) -> View:
        """The same where the law could also do what some columns do, shape (rows, columns)."""
        return replace(self, basis=np.hstack([self.basis, judged(self.basis, columns)]))

    def shown(self, size: float) -> str:
        """A residual in words: a share of the output, or in its unit."""
        return f"{100 * np.expm1(size):+.2g} %" if self.log else f"{size:+.2g}"


def view(law: Law, problem: Problem, theta: Array, rows: Rows) -> View:
    """The residuals of some rows of a fit.

    Parameters on a bound may follow too: what they would take up is said with the bound (F0103).

    Args:
        law: the law.
        problem: its fit.
        theta: the fitted parameters, shape (parameters,).
        rows: which rows of the problem.
    """
    part = problem.subset(rows)
    residual, jacobian = (x[0] for x in part.slopes(theta[None]))
    if part.weights is not None:  # a row of more weight scatters less
        root = np.sqrt(part.weights)
        residual, jacobian = residual * root, jacobian * root[:, None]
    axes = np.vstack([part.columns, part.predictions(theta[None])[0]])
    names = (*(q.name for q in law.variables), f"the predicted {law.output}")
    basis = spanned(jacobian[:, np.all(np.isfinite(jacobian), axis=0)])
    return View(names, axes, -residual, basis, rows, problem.objective.log)


def distinct(problem: Problem) -> Rows:
    """The numbers of the rows without copies, which are no further measurements; numbers that are
    equal in single precision are equal. Rows are sorted, so copies are neighbours."""
    cells = in_single_precision(np.vstack([problem.columns, problem.target]))
    same = np.all(cells[:, 1:] == cells[:, :-1], axis=0)
    return np.flatnonzero(np.append(True, ~same))


def are_mostly_copies(problem: Problem) -> bool:
    """Whether so many rows are copies that they cannot be measurements of few digits which agree."""
    return problem.rows - len(distinct(problem)) >= MAX_COPIED_SHARE * problem.rows


def with_copies_as_one(problem: Problem) -> Problem:
    """The fit with all weights divided by the design effect of exact copies: its minimum is the same,
    and what is concluded from the number of rows is what the measurements without copies allow.

    Copies share their error, so m of them multiply the variance that a row adds by m² and not by m
    (the design effect of clusters whose correlation is 1; Kish 1965).
    """
    weights = np.ones(problem.rows) if problem.weights is None else problem.weights
    first = distinct(problem)
    together = np.add.reduceat(weights, first)
    largest = np.maximum.reduceat(weights, first)
    used = largest > 0
    effect = float(np.sum(together[used] ** 2 / largest[used]) / np.sum(together))
    return replace(problem, weights=weights / effect)


def sampled(rows: Rows) -> Rows:
    """Some of many rows, the same ones every time."""
    if len(rows) <= MOST:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, MOST, replace=False))


def rounding(problem: Problem) -> float:
    """Residuals below this are those of an exact fit."""
    return ROUNDING * (1.0 if problem.objective.log else float(np.max(np.abs(problem.target))))


def spanned(columns: Array) -> Array:
    """Orthonormal columns with the same span."""
    length = np.linalg.norm(columns, axis=0)
    scaled = columns[:, length > 0] / length[length > 0]
    if not scaled.size:
        return np.zeros((len(columns), 0))
    left, widths, _ = np.linalg.svd(scaled, full_matrices=False)
    return left[:, widths > RANK * widths[0]]


def without(basis: Array, columns: Array) -> Array:
    """What is left of columns, or of one, when a basis has taken its part; twice, to the last digit."""
    once = columns - basis @ (basis.T @ columns)
    left: Array = once - basis @ (basis.T @ once)
    return left


def judged(basis: Array, columns: Array) -> Array:
    """Orthonormal columns for what some can do and a basis cannot; what it nearly can is left out.

    There the law's curvature would be taken for a pattern.
    """
    own = spanned(columns)
    left, widths, _ = np.linalg.svd(without(basis, own), full_matrices=False)
    return without(basis, left[:, widths > TAKEN])


def chance(fitted: float, extra: int, left: float, freedom: int, inflation: float = 1.0) -> float:
    """The chance that noise gives so large a ratio of squares.

    Args:
        fitted: the sum of squares taken up by `extra` more columns.
        extra: how many columns.
        left: the sum of squares left.
        freedom: rows less columns.
        inflation: how many rows that go together count as one.
    """
    if extra < 1 or freedom < 1 or fitted <= 0:
        return 1.0
    if left <= 0:
        return 0.0
    ratio = fitted / extra / (left / freedom) / inflation
    return float(f_sf(ratio, extra, max(1.0, freedom / inflation)))
