"""Laws and tables for tests of priors."""

from __future__ import annotations

from typing import Any

import numpy as np
from planted import law_of

import lawdsl
from lawdsl.fitting.result import Fit

LINEAR = """variable x, y
parameter a, b, c
z = a + b*x + c*y
minimize squared(z)
"""
POWER = """variable N unit Gparam
variable D unit token
parameter E, A, B, alpha, beta > 0
L = E + A/N^alpha + B/D^beta
minimize squared(log(L))
""".replace("variable N ", "variable N > 0 ").replace("variable D ", "variable D > 0 ")
NAMES = ("E", "A", "alpha", "B", "beta")
TWO_SIZES = (0.1, 1.0)
BEYOND = {"N": [7.0], "D": [3e11]}


def fitted(text: str, table: Any, *priors: str, **options: Any) -> Fit:
    fit = lawdsl.fit(law_of(text), table, priors=priors, claims=False, **options)
    assert isinstance(fit, Fit)
    return fit


def linear_rows(count: int = 12, weights: bool = False) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, count))
    table = {"x": x, "y": y, "z": 1 + 1.8 * x - 0.5 * y + 0.3 * rng.normal(size=count)}
    return table | ({"w": rng.integers(1, 4, count).astype(float)} if weights else {})


def power_rows(sizes: tuple[float, ...] = (0.1, 0.2, 0.5, 1, 2, 5)) -> dict[str, np.ndarray]:
    """Runs of sizes in billions, with noise of .4 %."""
    rng = np.random.default_rng(1)
    N, D = (g.ravel() for g in np.meshgrid(sizes, [2e9, 8e9, 3e10, 1e11]))
    loss = 1.8 + 0.34 / N**0.35 + 2000 / D**0.366
    return {"N": N, "D": D, "L": loss * np.exp(0.004 * rng.normal(size=len(N)))}


def codes(fit: Fit) -> set[str]:
    return {d.code for d in fit.diagnostics}
