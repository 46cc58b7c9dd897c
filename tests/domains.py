"""Runs of several domains, made from the Cross-Domain D-CPT Law, whose covariates are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

TOKENS = 131_072  # of a step
STEPS = (0, 1000, 5000, 10_000, 11_000, 20_000)
SIZES = (0.5, 1.8, 4.0)  # Gparam
SHARES = (0.2, 0.5, 1.0)


@dataclass(frozen=True)
class Domain:
    """What a domain adds to the law that all domains share.

    Its loss is that of the D-CPT Law, with D0 added to D so that it begins somewhere, and F/K^mu.
    """

    K: float
    B: float


DOMAINS = {
    "code": Domain(K=2.0, B=0.30),
    "law": Domain(K=0.8, B=0.10),
    "medical": Domain(K=1.3, B=0.18),
}
E, A, ALPHA, BETA, ETA, C, GAMMA, EPSILON = 1.1, 0.55, 0.34, 0.3, 1.2, 0.4, 0.3, 0.1
F, MU, D0 = 0.7, 0.5, 0.02


def loss(domain: Domain, N: float, step: float, r: float, batch: float = 1.0) -> float:
    """The loss of a run after some steps, without noise."""
    D = step * TOKENS * batch / 1e9 + D0
    shared = E + A / N**ALPHA + domain.B * r**ETA / D**BETA + C / (r + EPSILON) ** GAMMA
    return float(shared + F / domain.K**MU)


Row = Mapping[str, float | str]


def runs(
    domains: Iterable[str] = tuple(DOMAINS),
    sizes: Sequence[float] = SIZES,
    shares: Sequence[float] = SHARES,
    steps: Sequence[float] = STEPS,
    noise: float = 0.0,
    seed: int = 0,
) -> list[dict[str, float | str]]:
    """A row an evaluation: domain, N in Gparam, D in Gtoken, step, r, L."""
    rng = np.random.default_rng(seed)
    return [
        {
            "domain": name,
            "N": N,
            "D": step * TOKENS / 1e9,
            "step": step,
            "r": r,
            "L": loss(DOMAINS[name], N, step, r) + noise * float(rng.normal()),
        }
        for name in domains
        for N in sizes
        for r in shares
        for step in steps
    ]


def columns_of(rows: Sequence[Row]) -> dict[str, list[float | str]]:
    """The table as columns."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def write(path: Path, rows: Sequence[Row]) -> Path:
    """The table as a CSV file."""
    lines = [",".join(rows[0]), *(",".join(str(x) for x in row.values()) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def covariates(
    name: str, sizes: Sequence[float] = SIZES, shares: Sequence[float] = SHARES
) -> dict[str, float]:
    """k1, k2 and k3 of a domain, the means over sizes and shares, by their formulas."""
    domain = DOMAINS[name]

    def mean(step: float) -> float:
        return float(np.mean([loss(domain, N, step, r) for N in sizes for r in shares]))

    change = (mean(11_000) - mean(10_000)) - (mean(1000) - mean(0))
    return {"k1": mean(1000), "k2": mean(0) - mean(5000), "k3": change / 10}
