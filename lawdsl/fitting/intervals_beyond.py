"""Fit + intervals of predictions -> the trust horizon for the same error of the law.

A prediction beyond the rows is assessed by its own interval, and by the horizon for the same error
of the law, both at 95 %.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.extrapolation.discrepancy import DEFAULT_AMPLITUDE
from lawdsl.fitting.extrapolation.fitted_surface import FittedSurface
from lawdsl.fitting.extrapolation.horizon import Horizon, horizon_of, law_error_text
from lawdsl.fitting.extrapolation.rolled_check import widening_of_horizon
from lawdsl.fitting.fit_record import FitRecord
from lawdsl.fitting.options import LEARNED
from lawdsl.fitting.prediction_bands import Band

Array = NDArray[np.float64]


@dataclass(frozen=True)
class AssumedError:
    """The error of the law that is included in intervals of predictions.

    Attributes:
        discrepancy: standard deviation of log L per decade; 0 if the law is assumed to be correct.
        widening: the factor by which the rolled check widens it.
        advised: the factor by which it should be widened according to that check; 1 if the check
            passes, or another error was requested.
    """

    discrepancy: float
    widening: float = 1.0
    advised: float = 1.0

    @classmethod
    def of(cls, fit: FitRecord, amplitude: float, discrepancy: float | str | None) -> AssumedError:
        """The error of the law in the intervals of a fit.

        Args:
            fit: the fit.
            amplitude: standard deviation of log L per decade, before it is widened.
            discrepancy: the requested error, as for `Fit.predict_with_errors`.
        """
        if fit.extrapolation is None:
            return cls(amplitude)
        if discrepancy == LEARNED:
            return cls(amplitude, fit.extrapolation.widening)
        usual = amplitude == DEFAULT_AMPLITUDE
        return cls(amplitude, 1.0, widening_of_horizon(fit.extrapolation.rolled) if usual else 1.0)

    @property
    def text(self) -> str:
        """The error in words; empty for the default of 2 % per decade."""
        return law_error_text(self.discrepancy, self.widening)


def horizon_with(
    fit: FitRecord, error: AssumedError, surface: Callable[[], FittedSurface]
) -> Horizon | None:
    """The trust horizon of a fit, with the error of the law that intervals of predictions include.

    Args:
        fit: the fit.
        error: the error of the law.
        surface: the function that returns the fitted law at the rows of the fit.

    Returns:
        The horizon; None where the fit has none.
    """
    extrapolation = fit.extrapolation
    if extrapolation is None or extrapolation.horizon is None or fit.spread is None:
        return None
    own = DEFAULT_AMPLITUDE, widening_of_horizon(extrapolation.rolled)
    if (error.discrepancy, error.widening) == own:
        return extrapolation.horizon
    with np.errstate(all="ignore"):  # an extrapolated law may be undefined
        at_rows, model = surface(), None
        if error.discrepancy:
            model = at_rows.law_error(error.discrepancy).widened(error.widening)
        return horizon_of(at_rows, fit.spread, model)


def half_widths(band: Band, of_logs: bool, scale: float) -> Array:
    """Half-widths of the intervals of a band, in the logarithm, shape (points,); infinite where
    there is no interval.

    Args:
        band: the predictions.
        of_logs: whether its intervals are symmetric in the logarithm.
        scale: the factor from its level to 95 %.
    """
    with np.errstate(all="ignore"):  # a lower end of 0 has no logarithm
        if of_logs:
            half = np.log(band.high / band.low) / 2 * scale
        else:
            half = np.log1p((band.high - band.low) / 2 * scale / np.abs(band.values))
    return np.nan_to_num(half, nan=np.inf, posinf=np.inf)
