"""Tables made from laws whose parameters are known, by formulas written here a second time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from lawdsl.diagnostics import Text
from lawdsl.law import Law
from lawdsl.library import declared


def law_of(text: str, name: str = "example") -> Law:
    """A law from the lines below its header."""
    declarations, _ = declared(Text(f"{name}.law", f"law {name}\n{text}\n"), Path())
    return Law(declarations)


def grid(**axes: Any) -> dict[str, np.ndarray]:
    """Every combination of the values of some columns, a row each."""
    return dict(zip(axes, map(np.ravel, np.meshgrid(*axes.values())), strict=True))


def _exp(x: Any) -> Any:
    return mpmath.exp(x) if isinstance(x, mpmath.mpf) else np.exp(x)


def _repeated(
    N: Any, D: Any, U: Any, E: Any, A: Any, alpha: Any, B: Any, beta: Any, R_D: Any, R_N: Any
) -> Any:
    """The law of repeated data, as its paper defines it: R = total/unique - 1 on both sides."""
    least = min if isinstance(N, mpmath.mpf) else np.minimum
    best = (alpha * A / (beta * B)) ** (1 / (alpha + beta))
    unique = least(U, D)
    needed = least((unique * best) ** (beta / alpha) * best, N)
    tokens = unique + unique * R_D * (1 - _exp(-(D / unique - 1) / R_D))
    size = needed + needed * R_N * (1 - _exp(-(N / needed - 1) / R_N))
    return E + A / size**alpha + B / tokens**beta


@dataclass(frozen=True)
class Planted:
    """Where a law is measured, its parameters, and the law once more, as Python."""

    columns: Mapping[str, np.ndarray]
    parameters: Mapping[str, float]
    formula: Callable[..., Any]
    output: str = "L"

    def table(self, noise: float = 0.0, seed: int = 0) -> dict[str, np.ndarray]:
        """Copies of the columns, and the output with relative Gaussian noise."""
        exact = self.formula(**self.columns, **self.parameters)
        factor = np.exp(noise * np.random.default_rng(seed).normal(size=len(exact)))
        return {**{k: v.copy() for k, v in self.columns.items()}, self.output: exact * factor}


# N, D and r as they were measured: sizes in billions, shares from 0 to 1
CPT = grid(N=[0.5, 1.8, 4.0, 7.0], D=[0.2, 1.0, 3.0, 8.0, 26.0], r=np.linspace(0, 1, 9))
# a smaller grid in each of several domains, which differ in two numbers
DOMAINS = grid(
    N=[0.5, 1.8, 4.0], D=[0.2, 1.0, 3.0, 26.0], r=[0.0, 0.25, 0.5, 0.75, 1.0], k1=range(6)
)
DOMAINS |= {
    "k1": np.array([1.1, 1.7, 2.4, 3.0, 3.6, 4.5])[DOMAINS["k1"]],
    "k2": np.array([0.3, 0.05, 0.6, 0.15, 0.9, 0.4])[DOMAINS["k1"]],
}
LOTS = np.linspace(15, 100, 20)

PLANTED = {
    "chinchilla": Planted(
        grid(N=np.geomspace(7e7, 1.6e10, 6), D=np.geomspace(5e9, 5e11, 6)),
        {"E": 1.8172, "A": 482.01, "alpha": 0.3478, "B": 2085.43, "beta": 0.3658},
        lambda N, D, E, A, alpha, B, beta: E + A / N**alpha + B / D**beta,
    ),
    "kaplan": Planted(
        grid(N=np.geomspace(1e6, 1.5e9, 6), D=np.geomspace(2.2e7, 2.3e10, 6)),
        {"Nc": 6.4e13, "alphaN": 0.076, "Dc": 1.8e13, "alphaD": 0.103},
        lambda N, D, Nc, alphaN, Dc, alphaD: ((Nc / N) ** (alphaN / alphaD) + Dc / D) ** alphaD,
    ),
    "cmr.domain": Planted(
        {"T": LOTS},
        {"alpha1": -0.12, "s1": 0.3, "beta1": 0.05},
        lambda T, alpha1, s1, beta1: alpha1 * T**s1 + beta1,
        "dL_domain",
    ),
    "cmr.general": Planted(
        {"T": LOTS},
        {"alpha2": 0.3, "s2": 0.4, "alpha3": -0.05, "s3": 0.9, "beta2": -0.2},
        lambda T, alpha2, s2, alpha3, s3, beta2: alpha2 * T**s2 + alpha3 * T**s3 + beta2,
        "dL_general",
    ),
    "cmr.ratio": Planted(
        {"T": LOTS},
        {"alpha4": 0.22524761, "s4": 0.26944345, "beta3": -0.48139982},
        lambda T, alpha4, s4, beta3: alpha4 * T**s4 + beta3,
        "R",
    ),
    "cmr.share": Planted(
        {"R": np.linspace(0.125, 1, 8)},
        {"alpha": 0.5, "s": -0.15, "beta": 0.9},
        lambda R, alpha, s, beta: alpha * R**s + beta,
    ),
    "dcpt.share": Planted(
        {"r": np.linspace(0, 1, 11)},
        {"E": 2.3114, "C": 0.1536, "gamma": 0.736, "epsilon": 0.1001},
        lambda r, E, C, gamma, epsilon: E + C / (r + epsilon) ** gamma,
    ),
    "dcpt.l1": Planted(
        CPT,
        {
            **{"E": 1.2, "A": 0.3, "alpha": 0.5, "B": 0.2, "beta": 0.4},
            **{"C": 0.4, "gamma": 0.6, "epsilon": 0.1},
        },
        lambda N, D, r, E, A, alpha, B, beta, C, gamma, epsilon: (
            E + A / N**alpha + B / D**beta + C / (r + epsilon) ** gamma
        ),
    ),
    "dcpt.l2": Planted(
        CPT,
        {
            **{"E": 1.2, "A": 0.3, "alpha": 0.5, "B": 0.2, "beta": 0.4},
            **{"C": 0.4, "gamma": 0.6, "epsilon": 0.1, "eta": 0.7},
        },
        lambda N, D, r, E, A, alpha, B, beta, C, gamma, epsilon, eta: (
            E + A / N**alpha + (B / D**beta + C / (r + epsilon) ** gamma) ** eta
        ),
    ),
    "dcpt.l3": Planted(
        CPT,
        {
            **{"E": 1.2, "A": 0.3, "alpha": 0.5, "B": 0.2, "beta": 0.4},
            **{"eta": 1.5, "gamma": 0.6, "epsilon": 0.1, "C": 1.6},
        },
        lambda N, D, r, E, A, alpha, B, beta, eta, gamma, epsilon, C: (
            E + A / N**alpha + B * r**eta / D**beta + C / (r + epsilon) ** gamma
        ),
    ),
    "dcpt.l4": Planted(
        CPT,
        {
            **{"E": 1.2, "A": 0.3, "alpha": 0.5, "B": 0.2, "beta": 0.4},
            **{"C": 0.5, "b": 1.5, "c": 3.0},
        },
        lambda N, D, r, E, A, alpha, B, beta, C, b, c: (
            E + A / N**alpha + B * b**r / D**beta + C / c**r
        ),
    ),
    "dcpt.l5": Planted(
        CPT,
        {"E": 1.2, "A": 0.3, "alpha": 0.5, "B": 0.2, "beta": 0.4, "sigma": 0.05},
        lambda N, D, r, E, A, alpha, B, beta, sigma: (
            E + A / N**alpha + B / (r * D + (1 - r) * sigma) ** beta
        ),
    ),
    "dcpt.cross_k3": Planted(
        DOMAINS,
        {
            **{"E": 1.2, "A": 0.3, "alpha": 0.5, "B": 0.2, "beta": 0.4, "eta": 1.5, "gamma": 0.6},
            **{"epsilon": 0.1, "C": 1.6, "F": 0.5, "mu": 0.8, "w2": 2.0},
        },
        lambda N, D, r, k1, k2, E, A, alpha, B, beta, eta, gamma, epsilon, C, F, mu, w2: (
            E
            + A / N**alpha
            + B * r**eta / D**beta
            + C / (r + epsilon) ** gamma
            + F / (1 / k1 + w2 * k2) ** mu
        ),
    ),
    "mixing.size": Planted(
        {"N": np.geomspace(7e7, 1e9, 8)},
        {"E": 1.9, "A": 320.0, "alpha": 0.33},
        lambda N, E, A, alpha: E + A / N**alpha,
    ),
    "mixing.step": Planted(
        {"S": np.geomspace(1e3, 1e5, 8)},
        {"E": 2.1, "B": 18.0, "beta": 0.4},
        lambda S, E, B, beta: E + B / S**beta,
    ),
    "mixing.two_domain": Planted(
        {"r": np.linspace(0, 1, 7)},
        {"c": 2.6, "k": 0.4, "t": -1.8},
        lambda r, c, k, t: c + k * _exp(t * r),
    ),
    "repeated": Planted(
        grid(
            N=np.geomspace(0.01, 9, 6),
            D=np.geomspace(1, 300, 5),
            U=np.geomspace(0.1, 50, 4),
        ),
        {
            **{"E": 1.87, "A": 0.37, "alpha": 0.35, "B": 0.86, "beta": 0.36},
            **{"R_D": 15.4, "R_N": 5.3},
        },
        _repeated,
    ),
}
