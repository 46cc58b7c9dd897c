"""Degrees of freedom -> how much wider an interval is on which a decision to stop rests.

An interval is ± quantile × standard deviation, which is estimated. Runs stop when it looks small enough,
which is first where it is underestimated. So the interval is one that holds 95 % with a confidence of
90 %: it is multiplied by the upper confidence limit of the standard deviation over its estimate, as for
tolerance intervals (Howe 1969, Journal of the American Statistical Association 64).
"""

from __future__ import annotations

import numpy as np
from scipy.special import chdtri

from lawdsl.core.distributions import student_quantile

CONFIDENCE = 0.9
LEVEL = 0.95


def tolerance(dof: float) -> float:
    """The factor by which an interval is wider, for so many degrees of freedom."""
    return float(np.sqrt(dof / chdtri(dof, CONFIDENCE))) if np.isfinite(dof) else 1.0


def narrowing(dof: float, more: int) -> float:
    """What the factors of an interval become by further runs, relative to those of now.

    Args:
        dof: degrees of freedom now.
        more: further runs.
    """

    def factors(dof: float) -> float:
        return float(student_quantile((1 + LEVEL) / 2, dof)) * tolerance(dof)

    return factors(dof + more) / factors(dof)
