"""Fits and a question that the tests of answers under the error of the laws share."""

from __future__ import annotations

from planted import PLANTED

import lawdsl
from lawdsl.fitting.result import Fit

LEAST = """question least "The smallest share that keeps the loss"
uses      loss : dcpt.share
given     T >= 0
given     L0 > 0  unit nat/token
choose    r in [0, 1]
minimize  r
subject to loss(r) <= (1 + T)*L0  "loss"
"""


def planted_fit(name: str, seed: int = 0) -> Fit:
    """A law fitted to its planted table, with noise of 0.3 %."""
    fit = lawdsl.fit(name, PLANTED[name].table(0.003, seed), starts=6, claims=False)
    assert isinstance(fit, Fit)
    return fit


def limit(share: Fit, r: float) -> dict[str, float]:
    """Values of the givens at which this share just keeps the loss, by the fitted law."""
    return {"T": 0.0, "L0": float(share.predict({"r": [r]})[0])}
