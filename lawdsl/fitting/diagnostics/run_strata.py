"""Residuals + the run of each row -> residuals between and within runs, for tests of patterns.

Rows of one run share an error, and are not independent. For errors u_run + e_row, run means and
deviations from them are independent of each other, and so are the two tests on them: the strata of
a split-plot design (Cochran and Cox 1957, Experimental Designs, chapter 7). A pattern between runs
is tested against the scatter of runs, one within runs against that of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.diagnostics.residuals import (
    ResidualView,
    f_test_pvalue,
    orthonormal_basis,
    project_out,
)

Array = NDArray[np.float64]
Groups = NDArray[np.int64]

# rows are treated as independent if runs have no effect at this level (a preliminary test, as in
# Bancroft 1964, Biometrics 20); smaller effects cause few false alarms
POOLING_PVALUE = 0.05
# with fewer runs, in addition to the law and its patterns, an effect of runs cannot be detected
MIN_RUN_DOF = 2


@dataclass(frozen=True)
class RunStrata:
    """The residuals of a fit between and within runs.

    Attributes:
        between: the means of runs, one row each, weighted to equal variances.
        within: the deviations of rows from run means; the basis includes the run means.
        averaging: the matrix from rows to weighted run means, shape (runs, rows).
    """

    between: ResidualView
    within: ResidualView
    averaging: Array


def run_strata(view: ResidualView, runs: Groups) -> RunStrata:
    """Split the residuals of a fit into strata.

    Args:
        view: the residuals.
        runs: the run of each of its rows, shape (rows,).
    """
    first, numbers = np.unique(runs, return_index=True, return_inverse=True)[1:]
    members = (numbers.reshape(-1) == np.arange(len(first))[:, None]).astype(np.float64)
    sizes = members.sum(axis=1)
    means = members / sizes[:, None]
    within = replace(view, basis=orthonormal_basis(np.hstack([view.basis, members.T])))
    averaging = _weights(view, within, means, sizes)[:, None] * means
    between = replace(
        view,
        # medians, which preserve a value that all rows of a run share exactly
        axes=np.stack([np.median(view.axes[:, m > 0], axis=1) for m in members], axis=1),
        residual=averaging @ view.residual,
        basis=orthonormal_basis(averaging @ view.basis),
        rows=view.rows[first],
    )
    return RunStrata(between, within, averaging)


def _weights(view: ResidualView, within: ResidualView, means: Array, sizes: Array) -> Array:
    """Weights with which run means of variance τ² + σ²/m have equal variances, shape (runs,)."""
    noise = float(np.sum(within.projected**2)) / max(within.dof, 1)
    basis = orthonormal_basis(means @ view.basis)
    left = project_out(basis, means @ view.residual)
    scatter = float(left @ left) / max(len(sizes) - basis.shape[1], 1)
    variances = max(scatter - noise * float(np.mean(1 / sizes)), 0.0) + noise / sizes
    if not np.all(variances > 0):
        return np.ones(len(sizes))
    weights: Array = np.sqrt(np.mean(variances) / variances)
    return weights


def are_rows_independent(view: ResidualView, runs: Groups) -> bool:
    """Whether the residuals show no effect of runs, so that rows are treated as independent.

    Args:
        view: the residuals, after removal of patterns.
        runs: the run of each of its rows, shape (rows,).
    """
    within = run_strata(view, runs).within
    extra = view.dof - within.dof
    if extra < MIN_RUN_DOF or within.dof < 1:
        return False
    noise = float(np.sum(within.projected**2))
    effect = float(np.sum(view.projected**2)) - noise
    return f_test_pvalue(effect, extra, noise, within.dof) > POOLING_PVALUE
