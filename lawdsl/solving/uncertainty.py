"""The errors of fits, and gradients with respect to their parameters -> intervals of an answer.

First-order propagation: the variance of a function with gradient g is sum_i g_i' C_i g_i over
independent fits with covariances C_i, and the half-width is t sqrt(variance), with the quantile t
of Student's distribution at effective degrees of freedom (Satterthwaite (1946), Welch (1947)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.core.distributions import student_quantile
from lawdsl.fitting.intervals.covariance import Spread
from lawdsl.solving.formulate.sources import FitSource
from lawdsl.solving.result_under_law_error import Ends

Array = NDArray[np.float64]


ZERO_WIDTH_RTOL = 1e-12  # relative: such a narrow interval is rounding error


def interval(value: float, half: float) -> Ends | None:
    """Return the ends of an interval from its centre and half-width.

    Args:
        value: the centre.
        half: the half-width, which may be nan or inf.

    Returns:
        value - half and value + half; None if the half-width is not finite, or zero up to rounding.
    """
    is_known = math.isfinite(half) and half > ZERO_WIDTH_RTOL * abs(value)
    return (value - half, value + half) if is_known else None


@dataclass(frozen=True)
class FitErrors:
    """The errors of one fit.

    Attributes:
        spread: their joint distribution; None if it is not known.
        positions: the positions of its parameters among those of all fits, once for each use of it.
    """

    spread: Spread | None
    positions: tuple[slice, ...]


@dataclass(frozen=True)
class FitUncertainty:
    """The errors of several independent fits.

    Attributes:
        symbols: the fitted parameters, in the order of the uses.
        parts: the fits, each once.
    """

    symbols: tuple[sp.Symbol, ...]
    parts: tuple[FitErrors, ...]

    @classmethod
    def of(cls, sources: Sequence[FitSource]) -> FitUncertainty:
        """Combine the errors of fits; a fit that is used twice has the same errors for both uses."""
        symbols: list[sp.Symbol] = []
        parts: list[FitErrors] = []
        for source in sources:
            spread = source.fit.spread if source.fit is not None else None
            names = list(spread.names if spread is not None else source.symbols)
            if set(names) != set(source.symbols):
                spread, names = None, list(source.symbols)
            positions = slice(len(symbols), len(symbols) + len(names))
            symbols += [source.symbols[name] for name in names]
            # errors of one fit are not independent: contributions of its uses are added to the
            # gradient, not to the variance
            earlier = [] if spread is None else [part.spread for part in parts]
            if spread not in earlier:
                parts.append(FitErrors(spread, (positions,)))
            else:
                same = earlier.index(spread)
                parts[same] = FitErrors(spread, (*parts[same].positions, positions))
        return cls(tuple(symbols), tuple(parts))

    def half_widths(self, gradients: Array, level: float) -> Array:
        """Return half-widths of intervals of functions of the fitted parameters.

        half = t(dof) sqrt(V) with V = sum_i V_i and dof = V^2 / sum_i (V_i^2 / dof_i), where V_i =
        g' C_i g is the variance by fit i: Satterthwaite (1946), Welch (1947).

        Args:
            gradients: the gradients of functions with respect to the parameters, shape (parameters,
                points).
            level: 0.95 for 95 %.

        Returns:
            Shape (points,): nan if the errors of a relevant fit are not known, inf if its rows do
            not determine the function.
        """
        if not self.parts:
            return np.zeros(gradients.shape[1])
        variances, dofs = [], []
        for part in self.parts:
            fit_gradients = np.sum([gradients[positions] for positions in part.positions], axis=0).T
            size = np.sum([np.abs(gradients[positions]) for positions in part.positions], axis=0).T
            fit_gradients = np.where(
                np.abs(fit_gradients) <= ZERO_WIDTH_RTOL * size, 0.0, fit_gradients
            )  # contributions that cancel up to rounding
            errors = np.nan if part.spread is None else part.spread.errors(fit_gradients)
            # a fit without influence must not make the result unknown due to its unknown errors
            variances.append(np.where(np.any(fit_gradients != 0, axis=1), errors**2, 0.0))
            dofs.append(1.0 if part.spread is None else part.spread.dof)
        total = np.sum(variances, axis=0)
        with np.errstate(
            all="ignore"
        ):  # degrees of freedom of a sum: Welch (1947), Satterthwaite (1946)
            parts = sum(v**2 / d for v, d in zip(variances, dofs, strict=True))
            dof = np.where(total > 0, total**2 / parts, 1.0)
            far = student_quantile((1 + level) / 2, np.where(np.isfinite(dof), dof, min(dofs)))
            half: Array = np.where(total == 0, 0.0, far * np.sqrt(total))
        return half

    def draws(self, count: int, seed: int) -> Array | None:
        """Draw deviations of all parameters from their fitted values.

        Args:
            count: the number of draws.
            seed: the seed of the draws.

        Returns:
            Shape (count, parameters), 0 for a fit without known errors; None if no fit has known
            errors.
        """
        if all(part.spread is None for part in self.parts):
            return None
        deviations = np.zeros((count, len(self.symbols)))
        for number, part in enumerate(self.parts):
            if part.spread is not None:
                # a separate seed each: equal draws would correlate independent fits
                drawn = part.spread.draws(count, seed + number)
                for positions in part.positions:
                    deviations[:, positions] = drawn
        return deviations

    def is_known(self, gradients: Array) -> bool:
        """Whether the errors are known of all fits on which functions with these gradients, shape
        (parameters, points), depend.
        """
        return bool(np.all(np.isfinite(self.half_widths(gradients, 0.9))))
