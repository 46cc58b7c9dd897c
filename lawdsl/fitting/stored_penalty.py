"""Record of a fit -> the penalty of its declared priors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lawdsl.fitting.fit_record import FitRecord
from lawdsl.fitting.penalty import NoiseScale, Penalty

if TYPE_CHECKING:
    from lawdsl.law.law import Law


def penalty_of(fit: FitRecord, law: Law, share: float = 1.0) -> Penalty | None:
    """The penalty of the declared priors of a fit; None without priors.

    Args:
        fit: the fit.
        law: its law.
        share: the factor of the penalty.
    """
    if fit.priors is None:
        return None
    noise = NoiseScale(fit.priors.kappa, 1.0, 1)
    penalty = Penalty.of(law.priors, [q.name for q in law.parameters], noise)
    return replace(penalty, share=share)
