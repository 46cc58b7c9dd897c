"""How often the intervals of fits cover the truth, by simulation.

    python tests/benchmarks/coverage.py [chinchilla] [kaplan] ... [--simulations 1000]
        [--methods auto delta profile bootstrap] [--resamples 400] [--level 0.95]

Each part is a law whose parameters are known, on a design that determines them. Tables are made with new
noise, each is fitted, and it is counted which intervals contain the truth: of every parameter, and of
predictions (delta method), one in the middle of the data and one beyond them. The method `auto` is what a
fit does by default: the delta method, or a profile if a parameter lies on or near a bound. Parts named `... t3` have heavy-tailed noise
(Student's t with 3 degrees of freedom), parts `... runs` training runs of which all rows share an error. By
the delta method and the bootstrap a parameter on a bound has no interval; how often one lies there is shown. Figures are in per cent; 1000
simulations give one parameter's to 1.4 (two standard errors). CPU times are of this process, which has one
thread.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from planted import PLANTED, grid, sample_of
from rich.console import Console

from lawdsl.fitting.diagnostics.diagnose import bound_findings
from lawdsl.fitting.fit import chosen_objective
from lawdsl.fitting.intervals.compute_intervals import intervals
from lawdsl.fitting.intervals.delta import linearised_errors
from lawdsl.fitting.options import AUTO, FitOptions
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.preparation.prepare import prepare
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.multistart import optimum
from lawdsl.fitting.transforms import without_coupled_limits
from lawdsl.reporting.terminal import show_rows

Array = NDArray[np.float64]
Groups = NDArray[np.int64] | None

SHARED = 0.8  # of the variance of a row, that all rows of its run share

out = Console(highlight=False, width=220)


@dataclass(frozen=True)
class Family:
    """A law on a design.

    Attributes:
        law: its name.
        columns: the design, a value a row.
        parameters: the truth.
        noise: standard deviation, of logarithms where they are compared.
        beyond: a row outside the data at which a prediction is asked for; the other one is the middle row.
        tails: degrees of freedom of Student's t, 0 for Gaussian noise.
        runs: names of the columns whose values tell runs apart.
        by_row: whether the intervals are told nothing of the runs.
        swapped: the order of parameters with two terms in each other's places; of the two, the second number
            is smaller in the one than its partner.
        objective: the objective in place of the law's own.
    """

    law: str
    columns: Mapping[str, Array]
    parameters: Mapping[str, float]
    noise: float
    beyond: Mapping[str, float] = field(default_factory=dict)
    tails: int = 0
    relative: bool = True
    runs: tuple[str, ...] = ()
    by_row: bool = False
    swapped: tuple[int, ...] = ()
    objective: str = ""

    @property
    def groups(self) -> NDArray[np.int64]:
        """The number of each row's run."""
        keys = np.stack([self.columns[name] for name in self.runs], axis=1)
        return np.unique(keys, axis=0, return_inverse=True)[1].ravel()

    def exact(self, columns: Mapping[str, Array]) -> Array:
        return np.asarray(PLANTED[self.law].formula(**columns, **self.parameters), dtype=float)

    def errors(self, rng: np.random.Generator) -> Array:
        rows = len(next(iter(self.columns.values())))
        if self.tails:
            return self.noise * rng.standard_t(self.tails, rows)
        own = rng.normal(0, self.noise, rows)
        if not self.runs:
            return own
        groups = self.groups
        shared = rng.normal(0, self.noise, int(groups.max()) + 1)
        return np.sqrt(1 - SHARED) * own + np.sqrt(SHARED) * shared[groups]


def family(law: str, noise: float = 0.004, **changed: object) -> Family:
    planted = PLANTED[law]
    return replace(Family(law, planted.columns, planted.parameters, noise), **changed)  # type: ignore[arg-type]


CPT_BEYOND = {"N": 14.0, "D": 50.0, "r": 0.3}
SWEEP = grid(N=[0.5, 1.8, 4.0], D=np.geomspace(0.1311, 26, 20), r=np.linspace(0, 1, 9))
SIZES = grid(N=np.geomspace(0.1, 8, 6), D=np.geomspace(0.1311, 26, 10), r=np.linspace(0, 1, 9))
L3 = {**PLANTED["dcpt.l3"].parameters, "C": 2.4}  # further from its bound, 1.31
WIDE = grid(N=np.geomspace(7e7, 1.6e10, 8), D=np.geomspace(5e9, 5e11, 8))
LAWS = {
    "chinchilla": family("chinchilla", columns=WIDE, beyond={"N": 5e10, "D": 1.5e12}),
    "kaplan": family("kaplan", beyond={"N": 6e9, "D": 1e11}),
    "dcpt.l1": family("dcpt.l1", beyond=CPT_BEYOND),
    "dcpt.l2": family("dcpt.l2", beyond=CPT_BEYOND),
    "dcpt.l3": family("dcpt.l3", parameters=L3, beyond=CPT_BEYOND),
    "dcpt.l4": family("dcpt.l4", beyond=CPT_BEYOND),
    "dcpt.l5": family("dcpt.l5", beyond=CPT_BEYOND),
    "dcpt.cross_k3": family(
        "dcpt.cross_k3",
        parameters={**PLANTED["dcpt.cross_k3"].parameters, "C": 2.4},
        beyond={**CPT_BEYOND, "k1[d]": 5.5, "k2[d]": 1.2},
    ),
    "dcpt.share": family(
        "dcpt.share", 0.003, columns={"r": np.linspace(0, 1, 16)}, beyond={"r": 0.03}
    ),
    "mixing.two_domain": family(
        "mixing.two_domain", 0.003, columns={"r": np.linspace(0, 1, 12)}, beyond={"r": 0.97}
    ),
    "mixing.size": family(
        "mixing.size", 0.003, columns={"N": np.geomspace(2e7, 3e9, 12)}, beyond={"N": 1e10}
    ),
    "mixing.step": family(
        "mixing.step", 0.003, columns={"S": np.geomspace(1e3, 1e5, 12)}, beyond={"S": 3e5}
    ),
    "cmr.domain": family("cmr.domain", relative=False, beyond={"T": 150.0}),
    "cmr.general": family(
        "cmr.general",
        0.001,
        relative=False,
        columns={"T": np.geomspace(1, 100, 40)},
        parameters={"alpha2": -0.2, "s2": -0.8, "alpha3": -0.02, "s3": 0.5, "beta2": 0.2},
        beyond={"T": 150.0},
        swapped=(2, 3, 0, 1, 4),
    ),
    "cmr.ratio": family("cmr.ratio", relative=False, beyond={"T": 150.0}),
    "cmr.share": family(
        "cmr.share",
        columns={"R": np.linspace(0.05, 1, 12)},
        parameters={"alpha": 0.5, "s": -0.4, "beta": 0.9},
        beyond={"R": 0.03},
    ),
    "repeated": family("repeated", beyond={"N": 20.0, "D": 600.0, "U": 25.0}),
}
USED = grid(N=[0.5, 1.8, 4.0], D=np.geomspace(0.1311, 26, 8), r=np.linspace(0, 1, 9))
L3_USED = replace(LAWS["dcpt.l3"], columns=USED)
MIXED = {"mixing.m1": 0.001, "mixing.m4": 0.003, "mixing.bimix": 0.003, "mixing.additive": 0.001}


def mixed(law: str, noise: float) -> Family:
    """A mixing law on its planted mixtures; the second prediction is at the first of them."""
    first = {name: float(values[0]) for name, values in PLANTED[law].columns.items()}
    return family(law, noise, beyond=first, objective="squared(log)")


L3_RUNS = replace(LAWS["dcpt.l3"], columns=SWEEP, runs=("N", "r"))
L3_SIZES = replace(LAWS["dcpt.l3"], columns=SIZES, runs=("N", "r"))
FAMILIES = LAWS | {
    "chinchilla 36 rows": family("chinchilla", beyond={"N": 5e10, "D": 1.5e12}),
    "chinchilla t3": replace(LAWS["chinchilla"], tails=3, noise=0.003),
    "dcpt.l3 t3": replace(LAWS["dcpt.l3"], tails=3, noise=0.003),
    "dcpt.share t3": replace(LAWS["dcpt.share"], tails=3, noise=0.002),
    "chinchilla 12 runs": family(
        "chinchilla",
        columns=grid(N=np.geomspace(7e7, 1.6e10, 12), D=np.geomspace(5e9, 5e11, 12)),
        beyond={"N": 5e10, "D": 1.5e12},
        runs=("N",),
    ),
    "dcpt.l3 as used": L3_USED,
    "dcpt.l3 as used, E near 0": replace(L3_USED, parameters={**L3, "E": 0.1}),
    "dcpt.l3 as used, E at 0": replace(L3_USED, parameters={**L3, "E": 1e-3}),
    **{name: mixed(name, noise) for name, noise in MIXED.items()},
    **{
        f"{name}, huber, 0.3 %": replace(mixed(name, 0.003), objective="")
        for name in ("mixing.m1", "mixing.additive")
    },
    "dcpt.l3 27 runs": L3_RUNS,
    "dcpt.l3 54 runs": L3_SIZES,
    "dcpt.l3 54 runs, by row": replace(L3_SIZES, by_row=True),
}


@dataclass(frozen=True)
class Simulated:
    """One table, and its fit.

    Attributes:
        problem, theta: the fit, without bounds that depend on other parameters.
        bounded: the problem with all bounds.
        held: parameters on a bound, shape (parameters,).
        groups: the runs, as far as the intervals are told of them.
        points: the problem on the rows at which predictions are asked for.
    """

    problem: Problem
    bounded: Problem
    theta: Array
    held: NDArray[np.bool_]
    groups: Groups
    points: Problem


def simulated(family: Family, seed: int) -> Simulated:
    law = sample_of(family.law)
    columns = np.array([family.columns[q.name] for q in law.variables], dtype=float)
    objective = chosen_objective(law, family.objective or None, None)
    errors = family.errors(np.random.default_rng([seed, 0xC0FE]))
    exact = family.exact(family.columns)
    target = exact * np.exp(errors) if family.relative else exact + errors
    problem = problem_of(law, columns, target, objective)
    found = optimum(prepare(law), problem, "auto", seed)
    theta = found.theta
    if family.swapped and theta[family.swapped[3]] > theta[family.swapped[1]]:
        theta = theta[list(family.swapped)]
    bounds = bound_findings(prepare(law), problem, theta)[1]
    held = np.array([q.name in bounds for q in law.parameters])
    bounded = problem
    problem = replace(
        problem, transforms=without_coupled_limits(problem.transforms) or problem.transforms
    )
    groups = family.groups if family.runs and not family.by_row else None
    at = np.stack(
        [columns[:, problem.rows // 2], [family.beyond[q.name] for q in law.variables]], 1
    )
    points = problem_of(law, at, np.ones(2), replace(objective, log=False))
    return Simulated(
        problem, bounded, theta, held, groups, replace(points, transforms=problem.transforms)
    )


# Intervals of all parameters, and of the predictions where the method gives them

Ends = tuple[Array, Array]


def by_method(method: str, sim: Simulated, level: float, resamples: int) -> Ends:
    """The ends as a fit reports them, nan for parameters without an interval; behind those of the
    delta method, the ends of the predictions."""
    options = FitOptions(intervals=method, level=level, resamples=resamples)
    none = np.zeros_like(sim.held)
    found = intervals(sim.bounded, sim.theta, sim.held, none, options, sim.groups).intervals.ends
    names = [t.name for t in sim.problem.transforms]
    low, high = np.array([found.get(name, (np.nan, np.nan)) for name in names]).T
    if method != "delta":
        return low, high
    spread = linearised_errors(sim.problem, sim.theta, sim.held, level, sim.groups)
    (made,), (slopes,) = sim.points.residuals_and_slopes(spread.free[None])
    slopes = slopes[:, ~sim.held]
    kept = spread.covariance[np.ix_(~sim.held, ~sim.held)]
    half = spread.half_width * np.sqrt(np.sum(slopes @ kept * slopes, axis=1))
    made = made + sim.points.goal
    return np.append(low, made - half), np.append(high, made + half)


METHODS = {name: partial(by_method, name) for name in (AUTO, "delta", "profile", "bootstrap")}


@dataclass(frozen=True)
class Covered:
    """What was counted.

    Attributes:
        names: the parameters, then the predictions.
        intervals: method -> how many there were of each, shape (names,), or the parameters alone.
        held: the share of the fits with a parameter on a bound.
        hits: method -> how many contained the truth, shape (names,), or the parameters alone.
        cost: method, or fit, -> CPU seconds of one.
    """

    names: tuple[str, ...]
    intervals: Mapping[str, Array]
    held: float
    hits: Mapping[str, Array]
    cost: Mapping[str, float]

    def shares(self, method: str) -> Array:
        """Per cent of the intervals of each."""
        return 100 * self.hits[method] / np.maximum(self.intervals[method], 1)


def covered(
    family: Family, simulations: int, methods: Sequence[str], level: float, resamples: int
) -> Covered:
    """Simulate tables, fit them, and count."""
    law = sample_of(family.law)
    names = [q.name for q in law.parameters]
    rows = {k: np.append(v[len(v) // 2], family.beyond[k]) for k, v in family.columns.items()}
    truth = np.append([family.parameters[name] for name in names], family.exact(rows))
    hits: dict[str, Array] = {}
    cost = dict.fromkeys(["fit", *methods], 0.0)
    counts: dict[str, Array] = {}
    held = 0.0

    def timed(name: str, work: Callable[[], object]) -> object:
        began = time.process_time()
        found = work()
        cost[name] += (time.process_time() - began) / simulations
        return found

    with np.errstate(all="ignore"):
        for seed in range(simulations):
            sim = timed("fit", partial(simulated, family, seed))
            assert isinstance(sim, Simulated)
            held += bool(sim.held.any()) / simulations
            for method in methods:
                low, high = timed(method, partial(METHODS[method], sim, level, resamples))
                count = len(low)
                inside = (low <= truth[:count]) & (truth[:count] <= high)
                hits[method] = hits.get(method, np.zeros(count)) + inside
                counts[method] = counts.get(method, np.zeros(count)) + ~np.isnan(low)
    return Covered((*names, "middle", "beyond"), counts, held, hits, cost)


def shown(shares: Array) -> str:
    return f"{np.mean(shares):.1f} ({np.min(shares):.1f} to {np.max(shares):.1f})"


def show(found: Mapping[str, Covered], methods: Sequence[str], simulations: int) -> None:
    """Two tables: a line a family, and a line a parameter."""
    short, long = [], []
    for part, counted in found.items():
        count = len(counted.names) - 2
        family = FAMILIES[part]
        rows = len(next(iter(family.columns.values())))
        means = [shown(counted.shares(method)[:count]) for method in methods]
        predicted = counted.shares("delta")[count:] if "delta" in methods else np.array([])
        ends = [f"{x:.1f}" for x in predicted]
        costs = [f"{1000 * cost:.3g}" for cost in counted.cost.values()]
        short.append(
            (part, f"{rows:,}", f"{count}", *means, *ends, f"{100 * counted.held:.0f}", *costs)
        )
        for k, name in enumerate(counted.names):
            each = [counted.shares(m) for m in methods]
            long.append((part, name, *(f"{s[k]:.1f}" if k < len(s) else "" for s in each)))
    predictions = ("middle", "beyond") if "delta" in methods else ()
    costs = [f"{name} ms" for name in ("fit", *methods)]
    show_rows(("part", "parameter", *methods), long, out)
    headers = ("part", "rows", "parameters", *methods, *predictions, "on a bound", *costs)
    show_rows(headers, short, out)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(FAMILIES)}")
    parser.add_argument("--simulations", type=int, default=1000, help="tables of each part")
    parser.add_argument("--resamples", type=int, default=400, help="of a bootstrap")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--level", type=float, default=0.95, help="of the intervals")
    options = parser.parse_args()
    unknown = set(options.parts) - set(FAMILIES)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    found = {}
    for name in options.parts or FAMILIES:
        found[name] = covered(
            FAMILIES[name],
            options.simulations,
            options.methods,
            options.level,
            options.resamples,
        )
        count = len(found[name].names) - 2
        means = [f"{m} {shown(found[name].shares(m)[:count])}" for m in options.methods]
        cost = sum(found[name].cost.values()) * options.simulations
        out.print(f"{name}: {', '.join(means)}; {cost:.0f} CPU s")
    show(found, options.methods, options.simulations)


if __name__ == "__main__":
    main()
