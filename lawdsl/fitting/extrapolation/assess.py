"""Fit -> the range in which it can be used beyond its rows: the rolled check, the trust horizon,
and warnings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import conjunction
from lawdsl.core.objectives import Objective
from lawdsl.fitting.extrapolation.discrepancy import DEFAULT_AMPLITUDE
from lawdsl.fitting.extrapolation.fitted_surface import FittedSurface
from lawdsl.fitting.extrapolation.horizon import Horizon, horizon_of
from lawdsl.fitting.extrapolation.law_error import LawErrorModel
from lawdsl.fitting.extrapolation.result import Extrapolation
from lawdsl.fitting.extrapolation.rolled_check import (
    MAX_RMS_Z,
    RolledCut,
    rms_z,
    rolled_cuts,
    widening_of_horizon,
)
from lawdsl.fitting.intervals.covariance import Covariance
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.solvers.multistart import optimum

Array = NDArray[np.float64]

# codes of errors because of which the minimum, or the law, does not describe the rows
NO_FIT_CODES = ("F0101", "F0105", "F0112")
NO_SIZE = "no variable of the law measures the size of a run"
REQUIRED = 0.02  # the tolerance at a required horizon
REFIT_RTOL = 1e-8
"""Relative decrease of the objective at which refits of the rolled check end. Two digits of z are
shown; along a flat valley the last digits of the objective take thousands of steps."""


def assess(
    law: PreparedLaw,
    objective: Objective,
    surface: FittedSurface,
    covariance: Covariance,
    *,
    rolled: bool = True,
) -> Extrapolation:
    """Assess how far beyond its rows a fit may be used, with the default error of the law.

    Args:
        law: the law.
        objective: the objective that was minimised.
        surface: the fitted law and its rows.
        covariance: the covariance of the fitted parameters.
        rolled: whether to perform the rolled check.
    """
    with np.errstate(all="ignore"):  # an extrapolated law may be undefined
        cuts = rolled_check(law, objective, surface) if rolled else ()
        model = surface.law_error(DEFAULT_AMPLITUDE)
        at_rows = model.at(surface.at(surface.columns), surface.theta)
        misfit = float(np.sqrt(np.mean(at_rows.mean**2)))
        horizon = horizon_of(surface, covariance, model_of_horizon(model, cuts))
        return Extrapolation(horizon, cuts, misfit)


def model_of_horizon(model: LawErrorModel, cuts: tuple[RolledCut, ...]) -> LawErrorModel:
    """The error of the law for a trust horizon: if larger runs deviate from their predictions in
    the rolled check, they will deviate beyond the rows, too.

    Args:
        model: with the default error of the law.
        cuts: the cuts of the rolled check.
    """
    return model.widened(widening_of_horizon(cuts))


def extrapolation_findings(
    extrapolation: Extrapolation | None,
    required: float | None,
    earlier: Sequence[Diagnostic],
    missing: str = "",
) -> list[Diagnostic]:
    """Warnings about predictions beyond the rows of a fit.

    Args:
        extrapolation: the extrapolation of the fit, or None.
        required: the multiple of the largest fitted size up to which the user needs predictions.
        earlier: the other findings about the fit.
        missing: the reason why the fit has no trust horizon, if `extrapolation` is None.
    """
    findings = []
    # a law that does not describe its rows does not describe larger runs either
    is_fit = not any(d.code in NO_FIT_CODES for d in earlier if d.severity == "error")
    if extrapolation is not None and is_fit:
        # a pattern shows where the law deviates from its rows
        if not any(d.code == "F0116" for d in earlier):
            findings += misfit_finding(extrapolation.misfit)
        findings += rolled_finding(extrapolation.rolled)
    if required is not None:
        horizon = None if extrapolation is None else extrapolation.horizon
        findings += horizon_finding(horizon, required, missing or NO_SIZE)
    return findings


def rolled_check(
    law: PreparedLaw,
    objective: Objective,
    surface: FittedSurface,
    amplitude: float = DEFAULT_AMPLITUDE,
) -> tuple[RolledCut, ...]:
    """The rolled check of a fit. Each refit starts at the fitted parameters.

    Args:
        law: the law.
        objective: the objective that was minimised.
        surface: the fitted law and its rows.
        amplitude: standard deviation of log L per decade.
    """

    def refit(rows: NDArray[np.int64]) -> Array | None:
        columns, target = surface.columns[:, rows], surface.target[rows]
        if np.ptp(target) == 0:
            return None
        weights = None if surface.weights is None else surface.weights[rows]
        # a subset of the rows is weighted against the priors by the noise of all rows
        problem = law.problem(columns, target, objective, weights)
        try:
            problem = replace(problem, penalty=surface.penalty)
            return optimum(law, problem, surface.theta, tolerance=REFIT_RTOL).theta
        except LawdslError:
            return None

    return rolled_cuts(surface, refit, amplitude)


def misfit_finding(misfit: float) -> list[Diagnostic]:
    """A warning if the misfit of a law at its rows exceeds the default error of laws.

    Args:
        misfit: the root mean square of the expected error of the law at the rows.
    """
    if not misfit > DEFAULT_AMPLITUDE:
        return []
    message = (
        f"the law misses its own rows by {100 * misfit:.2g} %, in the root mean square and beyond "
        "their noise"
    )
    help = (
        "compare with another law, leave out a bound that the fit lies on, or fit a smaller range"
    )
    return [Diagnostic("F0145", message, "warning", help=help)]


def rolled_finding(cuts: tuple[RolledCut, ...]) -> list[Diagnostic]:
    """A warning if the larger runs of a table deviate too much from their predictions.

    Args:
        cuts: the cuts of the rolled check.
    """
    rms = rms_z(cuts)
    if not rms > MAX_RMS_Z:
        return []
    message = (
        f"predicted from its smaller runs, this table's own largest missed by {z_text(cuts)} standard "
        f"deviations, {rms:.2g} in the root mean square"
    )
    help = "widen intervals by that with --wrong learned, or compare with another law"
    return [Diagnostic("F0140", message, "warning", help=help)]


def horizon_finding(
    horizon: Horizon | None, times: float, missing: str = NO_SIZE
) -> list[Diagnostic]:
    """A warning if predictions at some multiple of the largest fitted size are not within 2 %.

    Args:
        horizon: the horizon of the fit, or None.
        times: the required multiple.
        missing: the reason why the fit has no horizon, if it is None.
    """
    if horizon is None:
        message = f"the fit has no trust horizon: {missing}"
        help = "leave --horizon out, and see the interval of each prediction: `lawdsl predict`"
        return [Diagnostic("F0141", message, "warning", help=help)]
    reach = horizon.times(REQUIRED)
    if reach >= times:
        return []
    message = (
        f"predictions at {times:g} times {horizon.largest_text} are not within {100 * REQUIRED:g} %: "
        f"{horizon.text}"
    )
    help = "add larger runs, or see the interval of each prediction: `lawdsl predict`"
    return [Diagnostic("F0141", message, "warning", help=help)]


def z_text(cuts: tuple[RolledCut, ...]) -> str:
    """The z of each cut as text: `z = 0.9, 1.4, 3.1 and 2.2`."""
    return f"z = {conjunction([f'{cut.z:.1f}' for cut in cuts])}"
