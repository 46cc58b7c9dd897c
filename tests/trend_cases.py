"""Laws of N, D and r, tables that break their claims, and what a trend says of them."""

from __future__ import annotations

import numpy as np
from planted import PLANTED, law_of

import lawdsl
from lawdsl.data.trends.result import DifferenceSeries, Trend, Trends

Columns = dict[str, np.ndarray]

HEAD = "variable N, D > 0\nvariable r in [0, 1]\nparameter E > 0\nL = E\n"
L3 = PLANTED["dcpt.l3"]
SHARES = (0.0, 0.125)  # where the planted loss rises with D


def law(*claims: str, head: str = HEAD) -> lawdsl.Law:
    """A law of N, D and r that claims this."""
    return law_of(head + "".join(f"require {claim}\n" for claim in claims))


def cpt(noise: float = 0.0, seeds: int = 1, of_run: float = 0.0, seed: int = 0) -> Columns:
    """The planted table of dcpt.l3, measured with several seeds, each run with an offset."""
    rng = np.random.default_rng(seed)
    table = {name: np.tile(values, seeds) for name, values in L3.columns.items()}
    exact = L3.formula(**table, **L3.parameters)
    table["seed"] = np.repeat(np.arange(seeds), len(L3.columns["r"]))
    names = np.stack([table["N"], table["r"], table["seed"]])
    run = np.unique(names, axis=1, return_inverse=True)[1].reshape(-1)
    offset = of_run * rng.normal(size=run.max() + 1)[run]
    return {**table, "L": exact + offset + noise * rng.normal(size=len(run))}


def rising(table: Columns, slope: float = 0.05) -> Columns:
    """The same with a loss that rises with D at the smallest shares."""
    rise = slope * np.isin(table["r"], SHARES) * np.log(table["D"])
    return {**table, "L": table["L"] + rise}


def claim(found: Trends, text: str) -> Trend:
    return next(trend for trend in found.trends if trend.claim.startswith(text))


def counts(series: DifferenceSeries) -> tuple[int, int, int, int]:
    return series.pairs, series.as_claimed, series.too_small, series.against
