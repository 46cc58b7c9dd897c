"""Tables of mixtures of four domains, with losses on three of them by a Data Mixing Law, and their fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import lawdsl
from lawdsl.fitting.result_by_label import Fits

ROOT = Path(__file__).resolve().parent.parent
INDICES = ROOT / "tests" / "fixtures" / "indices"
M4 = INDICES / "mixing_m4.law"

OUTPUTS, DOMAINS = ("github", "books", "wiki"), ("web", "code", "news", "math")
C, K = np.array([1.0, 2.1, 0.6]), np.array([0.5, 0.2, 0.9])
T = np.array([[-1.5, 1.1, 0.3, 0.1], [0.8, 0.7, -1.2, -0.3], [0.2, -0.9, 1.3, -0.6]])


def wide(rows: int = 30, noise: float = 0.0) -> dict[str, Any]:
    """Mixtures of four domains, and the losses of a Data Mixing Law on three."""
    rng = np.random.default_rng(7)
    shares = rng.dirichlet(np.ones(len(DOMAINS)), rows)
    losses = C + K * np.exp(shares @ T.T)
    losses *= np.exp(noise * rng.normal(size=losses.shape))
    table = {f"r[{name}]": shares[:, j] for j, name in enumerate(DOMAINS)}
    return table | {f"L[{name}]": losses[:, i] for i, name in enumerate(OUTPUTS)}


def long(table: dict[str, Any]) -> dict[str, Any]:
    """A table of `wide` with a row for each loss."""
    melted = {n: np.tile(v, len(OUTPUTS)) for n, v in table.items() if n.startswith("r")}
    rows = len(table["r[web]"])
    melted["validation"] = [name for name in OUTPUTS for _ in range(rows)]
    return melted | {"L": np.concatenate([table[f"L[{name}]"] for name in OUTPUTS])}


def fitted(law: Any, table: Any, **options: Any) -> Fits:
    fits = lawdsl.fit(law, table, **{"starts": 8, "claims": False, **options})
    assert isinstance(fits, Fits)
    return fits
