"""Fit, table -> predictions with intervals, and all messages about them; no warning of Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.extrapolation.assess import LEVEL
from lawdsl.fitting.intervals_beyond import half_widths
from lawdsl.fitting.options import LEARNED, check_amplitude, check_level
from lawdsl.fitting.prediction_bands import (
    Band,
    band_with_discrepancy,
    missing_band_diagnostic,
    plain_band,
    undetermined_prediction_warning,
)

if TYPE_CHECKING:
    from lawdsl.fitting.result import Fit


def band_of(
    fit: Fit,
    table: Any,
    columns: Mapping[str, str],
    *,
    level: float = LEVEL,
    discrepancy: float | Literal["learned"] | None = None,
) -> Band:
    """What `Fit.predict_with_errors` returns, for callers that pass its messages on.

    Args:
        fit: the fit.
        table, level, discrepancy: as that method takes them.
        columns: variable -> column, where they differ from those fitted.

    Raises:
        LawdslError: as that method raises.
    """
    check_level(level)
    if discrepancy is not None:
        check_amplitude(discrepancy)
    if fit.spread is None:
        raise LawdslError(missing_band_diagnostic(fit))
    amplitude, notes = fit.amplitude(discrepancy)
    law = fit.law_of_spread()
    objective = replace(law.objective, log=fit.objective.of_logs)
    problem, theta = fit._posed(law, objective, table, columns)
    band = plain_band(problem, theta, fit.spread, level)
    if amplitude:
        surface = fit.fitted_surface(law, theta)
        with np.errstate(all="ignore"):  # an extrapolated law may have no value
            model = surface.law_error(amplitude)
            if discrepancy == LEARNED:
                model = model.widened(fit.widening)
            error = model.at(surface.at(problem.columns), theta)
        band = band_with_discrepancy(band, error, fit.spread.quantile(level))
    undetermined = undetermined_prediction_warning(law.output, band.high)
    widths = None
    if band.law is not None or discrepancy == 0:  # else nobody has said that the law is right
        scale = fit.spread.quantile(LEVEL) / fit.spread.quantile(level)
        widths = half_widths(band, band.law is not None or objective.log, scale)
    warnings = (
        *fit._diagnostics_at(law, problem.columns, widths, discrepancy),
        *undetermined,
        *notes,
    )
    points = {q.name: x for q, x in zip(law.variables, problem.columns, strict=True)}
    return replace(band, warnings=warnings, points=points)
