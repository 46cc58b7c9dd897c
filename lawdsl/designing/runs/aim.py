"""What a design is to teach: targets, how well they are known, and the laws on which they depend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.designing.runs.hypotheses import LawTarget, check_rows, parts_of
from lawdsl.designing.runs.predictions_as_targets import estimates, law_targets
from lawdsl.designing.runs.records import TargetEstimate
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Aim:
    """What is to be known, by which fits.

    Attributes:
        subject: the law or the question.
        estimates: how well each target is known now.
        targets: the same as sums over laws; of rival laws in further entries.
        rests: of each entry the variance that no run lowers, shape (functionals,).
        warnings: about the fits and the targets.
        rivals: the names of the further laws.
    """

    subject: str
    estimates: tuple[TargetEstimate, ...]
    targets: tuple[tuple[LawTarget, ...], ...]
    rests: tuple[Array, ...]
    warnings: tuple[Diagnostic, ...] = ()
    rivals: tuple[str, ...] = ()

    @property
    def fits(self) -> list[Fit]:
        """The fits of the first entry."""
        return [target.fit for target in self.targets[0]]


def aim_at_predictions(
    fit: Fit | Fits,
    points: Sequence[Mapping[str, float]],
    rivals: Sequence[Fit] = (),
    discrepancy: float | None = None,
) -> Aim:
    """Predictions at points as targets.

    Args:
        fit: of the law.
        points: variable -> value, in the units of the law.
        rivals: fits of laws with the same variables.
        discrepancy: standard deviation of log L per decade; None for 2 %, or as the fit learned.

    Raises:
        LawdslError: a fit that keeps no rows; N0104.
    """
    for each in (*parts_of(fit), *rivals):
        check_rows(each)
    known, warnings = estimates(fit, points, discrepancy)
    targets = [law_targets(fit, points), *(law_targets(rival, points) for rival in rivals)]
    rests = tuple(np.zeros(len(known)) for _ in targets)
    distrust = [d for part in parts_of(fit) for d in part.distrust()]
    return Aim(
        parts_of(fit)[0].law.name,
        tuple(known),
        tuple(targets),
        rests,
        tuple(dict.fromkeys([*distrust, *warnings])),
        tuple(rival.law.name for rival in rivals),
    )
