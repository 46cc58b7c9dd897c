"""The record of how far beyond its rows a fit may be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lawdsl.core.records import MAY_BE_ABSENT, Null
from lawdsl.fitting.extrapolation.horizon import Horizon
from lawdsl.fitting.extrapolation.rolled_check import RolledCut, rms_z, widening


@dataclass(frozen=True)
class Extrapolation:
    """How far a fit may be used.

    Attributes:
        horizon: how far its predictions stay within 1, 2 and 5 %; None where no variable measures the
            size of a run.
        rolled: how well the larger runs of the table are predicted from the smaller ones, at each
            cut; none where those do not determine the law.
        misfit: the root mean square of the expected error of the law at the rows, of the logarithm.
    """

    horizon: Horizon | None = None
    rolled: tuple[RolledCut, ...] = ()
    misfit: Annotated[float, Null(np.nan), MAY_BE_ABSENT] = 0.0

    @property
    def rms_z(self) -> float:
        """The root mean square z over cuts; nan without any."""
        return rms_z(self.rolled)

    @property
    def widening(self) -> float:
        """What the rolled check multiplies the error of the law by, 1 or more."""
        return widening(self.rolled)

    @property
    def texts(self) -> list[str]:
        """How far the fit may be used, and how it predicted its own largest runs."""
        texts = [] if self.horizon is None else [self.horizon.text]
        if self.rolled:
            zs = ", ".join(f"{cut.z:.1f}" for cut in self.rolled)
            texts.append(f"the largest runs, predicted from smaller ones, missed by z = {zs}")
        return texts
