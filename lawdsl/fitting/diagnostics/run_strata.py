"""Residuals + the run of each row -> residuals between and within runs, for tests of patterns.

Rows of one run share an error, and are not independent. Were the errors u_run + e_row, run means and
deviations from them would be independent of each other, and so would be the two tests on them: the
strata of a split plot (Cochran and Cox 1957, Experimental Designs, chapter 7). A pattern between
runs is judged by the scatter of runs, one within runs by that of rows.
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

# rows are taken as independent of their run where runs have no effect at this level (a preliminary
# test, as Bancroft 1964, Biometrics 20); effects too small for it raise few alarms
POOLING_PVALUE = 0.05
# with fewer, runs beside the law and its patterns do not tell whether they have an effect
MIN_RUN_DOF = 2


@dataclass(frozen=True)
class RunStrata:
    """The residuals of a fit between and within runs.

    Attributes:
        between: the means of runs, a row each, weighted so that all have one variance.
        within: the deviations of rows, with the means of runs in the basis.
        averaging: rows -> weighted run means, shape (runs, rows).
    """

    between: ResidualView
    within: ResidualView
    averaging: Array


def run_strata(view: ResidualView, runs: Groups) -> RunStrata:
    """Divide the residuals of a fit.

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
        # medians, which keep a value that all rows of a run share exactly
        axes=np.stack([np.median(view.axes[:, m > 0], axis=1) for m in members], axis=1),
        residual=averaging @ view.residual,
        basis=orthonormal_basis(averaging @ view.basis),
        rows=view.rows[first],
    )
    return RunStrata(between, within, averaging)


def _weights(view: ResidualView, within: ResidualView, means: Array, sizes: Array) -> Array:
    """Weights by which run means of variance τ² + σ²/m have one variance, shape (runs,)."""
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
    """Whether the residuals show no effect of runs, so that rows count by themselves.

    Args:
        view: the residuals, patterns in them removed.
        runs: the run of each of its rows, shape (rows,).
    """
    within = run_strata(view, runs).within
    extra = view.dof - within.dof
    if extra < MIN_RUN_DOF or within.dof < 1:
        return False
    noise = float(np.sum(within.projected**2))
    effect = float(np.sum(view.projected**2)) - noise
    return f_test_pvalue(effect, extra, noise, within.dof) > POOLING_PVALUE
