"""What fits of a mixing law cost beside a search in float32 with torch, in the same run.

    python tests/benchmarks/bench_mixing.py [--starts 6000] [--rival 12] [--data 5Mix.parquet]
    python tests/benchmarks/bench_mixing.py --hidden

M4 with 5 training and 22 validation domains on 26 mixtures: made from a known law, or measured
(the 5-domain runs of Data Mixing Laws, Ye et al. 2024). The rival has the settings of that paper's
released procedure: L-BFGS in float32 (rate 0.01, history 10, 20 steps of up to 20 iterations, strong
Wolfe line search) on the raw loss with Huber's delta 0.01, all 22 curves one after another, each from
every start. A few of its starts are timed, and the rest are taken to cost the same. lawdsl searches
from as many starts, and from as many as it takes until several agree. Figures are CPU times of one
thread; `worse` says in how many of the 22 the rival's best of the timed starts is above the minimum.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console

import lawdsl
from lawdsl.core.diagnostics import Text
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.transforms import to_parameters
from lawdsl.language import library
from lawdsl.language.instances.instance import Instance
from lawdsl.law.law import Law
from lawdsl.reporting.terminal import show_rows

Array = NDArray[np.float64]

DOMAINS, OUTPUTS, MIXTURES = 5, 22, 26
DELTA = 0.01
OPTIONS = {"starts": 1, "objective": "huber(raw)", "delta": DELTA, "claims": False}

LEARNT = """\
law learnt
index i over 1..{count}
index j over training
variable r[j] in simplex
parameter s[i] in simplex
parameter c[i] >= 0, k[i] > 0, t[i, j]
L = sum(s[i]*(c[i] + k[i]*exp(sum(t[i, j]*r[j] for j))) for i)
identify sum(t[i, j] for j) = 0
"""

out = Console(highlight=False, width=120)


@dataclass(frozen=True)
class Runs:
    """Shares of the mixtures, shape (mixtures, domains), and losses, shape (mixtures, outputs)."""

    shares: Array
    losses: Array

    def table(self) -> dict[str, Array]:
        shares = {f"r[d{j}]": column for j, column in enumerate(self.shares.T)}
        return shares | {f"L[v{i}]": column for i, column in enumerate(self.losses.T)}


def planted() -> Runs:
    """Runs of a known law with a noise of 1 %."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(DOMAINS), MIXTURES)
    t = rng.normal(0, 2, (OUTPUTS, DOMAINS))
    c, k = rng.uniform(1, 3, OUTPUTS), rng.uniform(0.2, 1, OUTPUTS)
    losses = c + k * np.exp(shares @ (t - t.mean(1, keepdims=True)).T)
    return Runs(shares, losses * np.exp(rng.normal(0, 0.01, losses.shape)))


def measured(path: Path) -> Runs:
    """The runs of the 70M model at step 30000, from a table with a row an evaluation."""
    import pandas as pd

    table = pd.read_parquet(path)
    table = table[(table["size"] == "70M") & (table["step"] == 30000)]
    shares = [name for name in table.columns if name.startswith("r_")]
    wide = table.pivot_table(index=["run", *shares], columns="valid_domain", values="loss").dropna()
    return Runs(wide.reset_index()[shares].to_numpy(float), wide.to_numpy(float))


def rival(runs: Runs, starts: int) -> tuple[float, list[float]]:
    """Seconds a start of all curves, and the best objective of each curve."""
    rng = np.random.default_rng(1)
    shares = torch.tensor(runs.shares, dtype=torch.float32)
    best = [np.inf] * runs.losses.shape[1]
    begun = time.process_time()
    for _ in range(starts):
        first = rng.normal(0, 1, runs.shares.shape[1] + 2)
        for i, losses in enumerate(runs.losses.T):
            best[i] = min(best[i], _search(shares, torch.tensor(losses).float(), first))
    return (time.process_time() - begun) / starts, best


def _search(shares: torch.Tensor, losses: torch.Tensor, first: Sequence[float] | Array) -> float:
    free = torch.nn.Parameter(torch.tensor(np.asarray(first), dtype=torch.float32))
    descent = torch.optim.LBFGS(
        [free], lr=0.01, history_size=10, max_iter=20, line_search_fn="strong_wolfe"
    )

    def objective() -> torch.Tensor:
        descent.zero_grad()
        made = torch.exp(free[0]) + torch.exp(free[1] + shares @ free[2:])
        total = torch.nn.functional.huber_loss(made, losses, delta=DELTA, reduction="sum")
        total.backward()
        return total

    for _ in range(20):
        descent.step(objective)
    found = objective().item()
    return found if np.isfinite(found) else np.inf


def ours(runs: Runs, starts: int | str) -> tuple[float, list[float]]:
    """Seconds of all fits with their intervals and findings, and the objective of each."""
    begun = time.process_time()
    found = lawdsl.fit("mixing.m4", runs.table(), **{**OPTIONS, "starts": starts})
    assert isinstance(found, Fits)
    return time.process_time() - begun, [part.objective.sum for part in found.parts]


def hidden() -> None:
    """How a law with hidden domains grows: the paper's form, with shares that are learnt too."""
    rows = []
    rng = np.random.default_rng(0)
    for training, count in ((5, 5), (5, 30), (10, 30), (22, 30)):
        shares = rng.dirichlet(np.ones(training), 1000)
        text = LEARNT.format(count=count)
        begun = time.process_time()
        declared, _ = library.declared(Text("learnt.law", text), Path())
        labels = {f"1..{count}": tuple(str(k + 1) for k in range(count))}
        labels["training"] = tuple(f"d{j}" for j in range(training))
        law = Law(declared).at_labels(Instance(labels))
        objective = law.objective
        problem = problem_of(law, shares.T[:-1], np.full(1000, 2.0), objective)
        compiled = time.process_time() - begun
        theta = to_parameters(problem.transforms, np.zeros((1, problem.parameters)))
        begun = time.process_time()
        problem.model.slopes(theta)
        once = time.process_time() - begun
        rows.append((training, count, problem.parameters, compiled, once))
    headers = ("training", "hidden", "parameters", "s to compile", "s for 1000 rows with slopes")
    show_rows(headers, rows, out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=6000)
    parser.add_argument("--rival", type=int, default=12, help="starts of the rival that are timed")
    parser.add_argument("--data", type=Path, help="measured runs in place of made ones")
    parser.add_argument("--hidden", action="store_true", help="how a law with hidden domains grows")
    asked = parser.parse_args()
    if asked.hidden:
        hidden()
        return
    torch.set_num_threads(1)
    runs = measured(asked.data) if asked.data else planted()
    ours(runs, 1)  # what is loaded once
    a_start, theirs = rival(runs, asked.rival)
    auto, best = ours(runs, "auto")
    many, least = ours(runs, asked.starts)
    best = [min(pair) for pair in zip(best, least, strict=True)]
    worse = sum(x > y * (1 + 1e-4) for x, y in zip(theirs, best, strict=True))
    whole = a_start * asked.starts
    count = runs.losses.shape[1]
    rows = [
        (f"torch, {asked.starts} starts", whole, 1e3 * a_start / count, 1.0, f"{worse} of {count}"),
        (
            f"lawdsl, {asked.starts} starts",
            many,
            1e3 * many / asked.starts / count,
            whole / many,
            "",
        ),
        ("lawdsl, until several agree", auto, "", whole / auto, ""),
    ]
    headers = ("search", "CPU seconds", "ms a start and curve", "times faster", "worse")
    show_rows(headers, rows, out)


if __name__ == "__main__":
    main()
