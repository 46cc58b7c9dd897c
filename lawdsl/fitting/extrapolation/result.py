"""The record of the assessment of a fit beyond its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lawdsl.core.records import MAY_BE_ABSENT, Null
from lawdsl.fitting.extrapolation.horizon import Horizon
from lawdsl.fitting.extrapolation.rolled_check import RolledCut, rms_z, widening


@dataclass(frozen=True)
class Extrapolation:
    """The assessment of a fit beyond its rows.

    Attributes:
        horizon: how far its predictions are within 1, 2 and 5 %; None if no variable measures the
            size of a run.
        rolled: the rolled check at each cut: how well the larger runs of the table are predicted
            from the smaller ones; empty if the smaller ones do not determine the law.
        misfit: the root mean square of the expected error of the law at the rows, of the logarithm.
    """

    horizon: Horizon | None = None
    rolled: tuple[RolledCut, ...] = ()
    misfit: Annotated[float, Null(np.nan), MAY_BE_ABSENT] = 0.0

    @property
    def rms_z(self) -> float:
        """The root mean square z over cuts; nan without cuts."""
        return rms_z(self.rolled)

    @property
    def widening(self) -> float:
        """The factor, at least 1, by which the rolled check widens the error of the law."""
        return widening(self.rolled)

    @property
    def texts(self) -> list[str]:
        """How far the fit can be used, and how well its own largest runs were predicted, as lines
        of text.
        """
        texts = [] if self.horizon is None else [self.horizon.text]
        if self.rolled:
            zs = ", ".join(f"{cut.z:.1f}" for cut in self.rolled)
            texts.append(f"the largest runs, predicted from smaller ones, missed by z = {zs}")
        return texts
