"""Fit + points -> predictions with intervals.

If the law is correct, the interval of the fitted curve is value_i ± t·sqrt(g_iᵀ·C·g_i) on the scale
of the residuals, with C the covariance of the parameters, g_i the gradient of the prediction and t
a quantile of Student's t; it accounts for the noise of the fitted rows. With a discrepancy the
prediction is the posterior mean, and the interval includes the error of the law.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.presentation import Presented
from lawdsl.fitting.extrapolation.discrepancy import DEFAULT_AMPLITUDE, MAX_DEVIATION
from lawdsl.fitting.extrapolation.law_error import LawError
from lawdsl.fitting.fit_record import FitRecord
from lawdsl.fitting.intervals.covariance import MAX_COVARIANCE_PARAMETERS, Covariance
from lawdsl.fitting.options import LEARNED
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]

PLAIN_ARRAYS = ("values", "low", "high")
BAND_ARRAYS = (*PLAIN_ARRAYS, "law", "run_low", "run_high", "noise", "run", "law_error")
PART_NAMES = {"noise": "noise", "run": "run", "law_error": "law"}
"""Array of a part of an interval -> what readers see."""


@dataclass(frozen=True, eq=False)
class ErrorParts:
    """The components of the interval of a further run: half-widths at its level, in the law's unit.

    Their squares add up to the square of the total half-width.

    Attributes:
        noise: due to the noise of a row, and to the uncertainty from the noise of the fitted rows,
            if the law is correct.
        run: due to the run effect; 0 if each row is a run.
        law: due to the error of the law.
    """

    noise: Array
    run: Array
    law: Array


@dataclass(frozen=True, eq=False)
class Band(Presented):
    """A fitted law at some points, with an interval at each.

    Attributes:
        values: the values in the law's unit, shape (points,), or (points, labels): with a
            discrepancy the prediction, which differs from the fitted law; without one the fitted
            law.
        low, high: the ends, of the same shape. If the rows do not determine the value they are
            infinite, or 0 for the lower end if residuals are those of logarithms.
        level: the level of the intervals, 0.95 for 95 %.
        warnings: warnings about the points.
        law: the values of the fitted law; None without a discrepancy.
        run_low, run_high: the ends of the interval of a further run, which includes its noise; None
            without a discrepancy.
        parts: the components of that interval; None without a discrepancy.
        points: variable -> its values, shape (points,); empty for a law with index sets.
        labels: the labels of the second axis; empty if there is none.
    """

    values: Array
    low: Array
    high: Array
    level: float
    warnings: tuple[Diagnostic, ...] = field(default=(), repr=False)
    law: Array | None = None
    run_low: Array | None = None
    run_high: Array | None = None
    parts: ErrorParts | None = None
    points: Mapping[str, Array] = field(default_factory=dict, repr=False)
    labels: tuple[str, ...] = ()

    def stacked(self) -> Array:
        """Its arrays in the order of BAND_ARRAYS, or of PLAIN_ARRAYS: shape (9 or 3, points)."""
        if self.parts is None:
            return np.stack([getattr(self, name) for name in PLAIN_ARRAYS])
        parts = (self.parts.noise, self.parts.run, self.parts.law)
        return np.stack([*(getattr(self, name) for name in BAND_ARRAYS[:6]), *parts])

    @classmethod
    def of_arrays(cls, arrays: Array, level: float, warnings: tuple[Diagnostic, ...]) -> Band:
        """Rebuild a band from the arrays of `stacked`, of any further shape."""
        if len(arrays) == len(PLAIN_ARRAYS):
            values, low, high = arrays
            return cls(values, low, high, level, warnings)
        values, low, high, law, run_low, run_high, *parts = arrays
        return cls(values, low, high, level, warnings, law, run_low, run_high, ErrorParts(*parts))


@np.errstate(all="ignore")  # an extrapolated law may be undefined
def plain_band(problem: Problem, theta: Array, spread: Covariance, level: float) -> Band:
    """Values of a fitted law with intervals due to the noise of the fitted rows.

    Args:
        problem: the law at the points. Residuals are those of logarithms if those of the fit are,
            so that an interval of a positive value stays positive.
        theta: the parameters, shape (parameters,).
        spread: their covariance.
        level: 0.95 for 95 % intervals.
    """
    values = problem.predictions(theta[None])[0].copy()
    half = spread.quantile(level) * spread.errors(problem.slopes(theta[None])[1][0])
    if not problem.objective.log:
        return Band(values, values - half, values + half, level)
    positive = values > 0  # other values have no logarithm
    low = np.where(positive, values * np.exp(-half), -np.inf)
    return Band(values, low, np.where(positive, values * np.exp(half), np.inf), level)


@np.errstate(all="ignore")  # an extrapolated law may be undefined
def band_with_discrepancy(plain: Band, error: LawError, quantile: float) -> Band:
    """Predictions with intervals that include the error of the law.

    Args:
        plain: the band of the law itself. Infinite ends, where the rows do not determine the value,
            stay infinite.
        error: the error of the law at the points.
        quantile: half the width of an interval in standard deviations.
    """
    predicted = plain.values * np.exp(error.mean)
    determined = np.isfinite(plain.high) & (plain.values > 0)
    # a prediction that underflows to 0 has no interval around it: 0·exp(inf) is NaN
    determined &= np.isfinite(predicted) & (predicted > 0) & (error.curve <= MAX_DEVIATION)
    values = np.where(determined, predicted, plain.values)

    def ends(deviation: Array) -> tuple[Array, Array]:
        half = quantile * deviation
        low = np.where(plain.values > 0, 0.0, -np.inf)
        high = np.full_like(values, np.inf)
        return (
            np.where(determined, values * np.exp(-half), low),
            np.where(determined, values * np.exp(half), high),
        )

    low, high = ends(error.curve)
    run_low, run_high = ends(error.further_run)
    noise = np.hypot(error.parameters, error.levels.noise)
    run = np.full_like(noise, error.levels.run)
    parts = ErrorParts(
        *(
            np.where(determined, quantile * values * part, np.inf)
            for part in (noise, run, error.law)
        )
    )
    return replace(
        plain,
        values=values,
        low=low,
        high=high,
        law=plain.values,
        run_low=run_low,
        run_high=run_high,
        parts=parts,
    )


def undetermined_prediction_warning(name: str, high: Array) -> list[Diagnostic]:
    """A warning if the rows do not determine predictions.

    Args:
        name: the name of the predicted quantity.
        high: upper ends of its intervals, shape (points,).
    """
    count, points = int(np.sum(~np.isfinite(high))), len(high)
    if not count:
        return []
    where = "there" if points == 1 else "at any point" if count == points else None
    where = where or f"at {count:,} of {points:,} points"
    message = f"the rows that were fitted do not determine {name} {where}"
    help = "`lawdsl fit` says what they leave open (F0101); measure there"
    return [Diagnostic("F0126", message, "warning", help=help)]


def missing_band_diagnostic(fit: FitRecord) -> Diagnostic:
    """The diagnostic that explains why a fit without a covariance has no intervals of predictions."""
    intervals = fit.intervals
    finding = next((d for d in fit.diagnostics if d.code == "F0122"), None)
    if finding is not None:
        why, help = finding.message, finding.help
    elif len(fit.parameters) > MAX_COVARIANCE_PARAMETERS:
        why = f"it has more than {MAX_COVARIANCE_PARAMETERS} parameters, whose errors are not kept together"
        help = "leave --intervals out"
    elif not intervals.ends:
        why, help = "no row is left to tell the noise by", "measure more, or fit a smaller law"
    elif intervals.failed > intervals.resamples // 2:
        why, help = "too few resamples ended in a minimum", "measure more, and fit again"
    else:
        why = "it was made before fits kept the covariance of their parameters"
        help = "make it again: `lawdsl fit LAW DATA -o FIT.json`"
    return Diagnostic("F0125", f"predictions of this fit have no intervals: {why}", help=help)


def missing_rows_diagnostic(fit: FitRecord) -> Diagnostic:
    """The diagnostic that explains why a fit without rows has no discrepancy."""
    why = missing_rows_reason(fit)
    again = "fit again" if fit.objective.is_centered else "fit by another loss, such as huber"
    help = f"{again}, or take the law as right: --wrong 0 (discrepancy=0 in Python)"
    return Diagnostic("F0134", f"the error of the law is not known: {why}", help=help)


def missing_horizon_warning(fit: FitRecord) -> list[Diagnostic]:
    """A warning if the loss of a fit leaves the error of its law, and so its trust horizon,
    unknown.
    """
    if fit.rows is not None or fit.objective.is_centered:
        return []
    message = f"predictions beyond the rows have no trust horizon: {missing_rows_reason(fit)}"
    help = "fit by a loss such as huber to know how far the law may be used"
    return [Diagnostic("F0134", message, "warning", help=help)]


def missing_intervals_warning(fit: FitRecord) -> Diagnostic:
    """The warning that explains why predictions of a fit are shown without intervals."""
    if fit.spread is None:
        return replace(missing_band_diagnostic(fit), severity="warning")
    message = f"no interval is shown: the error of the law is not known: {missing_rows_reason(fit)}"
    again = "fit again" if fit.objective.is_centered else "fit by another loss, such as huber"
    help = f"--wrong 0 gives the interval of a law that is right; for its error {again}"
    return Diagnostic("F0134", message, "warning", help=help)


def missing_rows_reason(fit: FitRecord) -> str:
    """The reason why a fit without rows has no discrepancy, as text."""
    if not fit.objective.is_centered:
        return f"residuals of {fit.objective.name} are not centered at 0, as noise is"
    why = "the fit has no rows: an earlier version made it"
    if not fit.objective.of_logs:
        why += ", or some measurement or fitted value is not positive and has no logarithm"
    return why


def law_error_amplitude(
    fit: FitRecord, discrepancy: float | str | None
) -> tuple[float, list[Diagnostic]]:
    """The error of a law per decade for predictions of a fit, and a warning if it is not known.

    Args:
        fit: the fit.
        discrepancy: as for `Fit.predict_with_errors`; None for the default.
    """
    if discrepancy is not None and not isinstance(discrepancy, str):
        return float(discrepancy), []
    if fit.rows is None:
        return 0.0, [replace(missing_rows_diagnostic(fit), severity="warning")]
    lacking = discrepancy == LEARNED and not fit.has_rolled_check
    return DEFAULT_AMPLITUDE, [missing_rolled_check_warning()] if lacking else []


def missing_rolled_check_warning(name: str = "") -> Diagnostic:
    """The warning that no error of the law can be learned without a rolled check.

    Args:
        name: the name of the fit; empty if there is only one.
    """
    which = f"the fit `{name}`" if name else "the fit"
    message = (
        f"{which} has no rolled check: no variable of its law measures the size of a run, or its "
        "smaller runs do not determine the law"
    )
    help = "without it the error of the law is 2 % per decade: leave --wrong out"
    return Diagnostic("F0142", message, "warning", help=help)
