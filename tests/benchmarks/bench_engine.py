"""What a fit costs beside SciPy by hand, in the same run, and how it grows.

    python tests/benchmarks/bench_engine.py [dcpt] [bootstrap] [chinchilla] [protocols] [growth]
        [--seeds 100] [--starts 200]

The rivals are those of `rivals`. A start of theirs, and a seed of ours, succeeds when it reaches the
best objective of all within 1e-6; "for 99.9 %" is the cost of as many as it takes for that, of one
where all succeed. "grid" is the cost of all published starts; those of D-CPT at which the law has no
value end at once. lawdsl searches from one start, from two, or from as many as it takes until
several agree (auto); each search reads its table anew. Figures are CPU times of this process, which
has one thread.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import argparse
import math
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from planted import PLANTED, grid, sample_of
from rich.console import Console
from rivals import CHINCHILLA, DCPT, Rival, published, tuned

import lawdsl
from lawdsl.data.binding import bind
from lawdsl.data.read import read_table
from lawdsl.fitting.fit import chosen_objective
from lawdsl.fitting.intervals.bootstrap import bootstrap
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.preparation.prepare import prepare
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.multistart import AUTO, Starts, optimum
from lawdsl.reporting.terminal import show_rows

Array = NDArray[np.float64]
Columns = dict[str, Array]

D_MIN = 0.1311
NOISE = 0.004
HIT = 1e-6  # relative: nearer to the best objective is a success
KNOWN, EXACT = 1.0182740178e-3, 1e-9  # Chinchilla's 240 points, and how near every seed comes
CERTAIN = 1e-3  # the chance of a failure that is left
RESAMPLES = 1000
ROOT = Path(__file__).resolve().parents[2]
POINTS = ROOT.parent / "shared" / "data" / "chinchilla_points" / "chinchilla_points.csv"

# satisfies C > C0, which is 0.575
DCPT_TRUE = {"E": 1.0, "A": 0.4, "alpha": 0.35, "B": 0.1, "beta": 0.25, "eta": 1.5}
DCPT_TRUE |= {"gamma": 0.5, "epsilon": 0.1, "C": 0.8}
CHINCHILLA_TRUE = {"E": 1.8172, "A": 482.01, "alpha": 0.3478, "B": 2085.43, "beta": 0.3658}

out = Console(highlight=False, width=120)


# The work


def sweep() -> Columns:
    """540 runs of the D-CPT Law: three sizes, nine shares, twenty numbers of tokens."""
    shares = [0, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 1]
    columns = grid(N=[0.5, 1.8, 4.0], D=np.geomspace(D_MIN, 26, 20), r=shares)
    return measured("dcpt.l3", columns, DCPT_TRUE)


def simulated(rows: int) -> Columns:
    """Runs of Chinchilla's published refit at random sizes."""
    rng = np.random.default_rng(1)
    columns = {"N": 10 ** rng.uniform(7.8, 10.2, rows), "D": 10 ** rng.uniform(8.5, 11.5, rows)}
    return measured("chinchilla", columns, CHINCHILLA_TRUE)


def measured(law: str, columns: Columns, parameters: Mapping[str, float]) -> Columns:
    exact = PLANTED[law].formula(**columns, **parameters)
    noise = np.random.default_rng(0).normal(0, NOISE, len(exact))
    return {**columns, "L": exact * np.exp(noise)}


# lawdsl


def whole_fit(law: lawdsl.Law, table: Columns, seed: int, starts: Starts = AUTO) -> float:
    """All that a user gets: the fit, its diagnostics, and the certificates of the law's claims."""
    return lawdsl.fit(law, table, seed=seed, starts=starts, columns=bound(law)).objective.sum


def bound(law: lawdsl.Law) -> dict[str, str]:
    """Variable -> column: that of `k1[d]`, whose domain is the row's, is `k1`."""
    return {q.name: q.name.removesuffix("[d]") for q in law.variables}


def posed(law: lawdsl.Law, table: Columns) -> Problem:
    """The problem of fitting a law to a table that has been read."""
    runs = bind(law, read_table(table), bound(law))
    assert runs.target is not None
    return problem_of(law, runs.columns, runs.target, chosen_objective(law, None, None))


def search_alone(law: lawdsl.Law, table: Columns, starts: Starts = AUTO) -> Callable[[int], float]:
    """The search for the optimum, the law being compiled: seed -> objective.

    Nothing that a search has found out about the rows is kept for the next one.
    """
    problem = posed(law, table)
    rows = np.arange(problem.rows)

    def search(seed: int) -> float:
        with np.errstate(all="ignore"):
            return optimum(prepare(law), problem.subset(rows), starts, seed).loss

    return search


# Measuring


@dataclass(frozen=True)
class Attempts:
    """The objectives that a method has reached from several starts or seeds, and what one costs."""

    method: str
    reached: Array
    cost: float
    hits: int = 0

    @property
    def certain(self) -> float:
        """The cost of a success in 999 of 1000 cases; nan where there was none."""
        rate = self.hits / len(self.reached)
        if rate == 0:
            return math.nan
        return self.cost * (math.ceil(math.log(CERTAIN) / math.log1p(-rate)) if rate < 1 else 1)


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def attempts(method: str, attempt: Callable[..., float], inputs: Sequence[object]) -> Attempts:
    began = time.process_time()
    reached = np.array([attempt(x) for x in inputs])
    return Attempts(method, reached, (time.process_time() - began) / len(reached))


def compared(found: Sequence[Attempts], grid: int) -> None:
    """The table of all methods: cost of one, successes, cost for 99.9 %, cost of a whole grid."""
    best = min(float(a.reached.min()) for a in found)
    found = [
        Attempts(a.method, a.reached, a.cost, int(np.sum(a.reached <= best * (1 + HIT))))
        for a in found
    ]
    base = found[0].certain
    rows = []
    for a in found:
        whole = a.cost * grid if "defaults" in a.method else math.nan
        hit = f"{a.hits} of {len(a.reached)}"
        numbers = shown(1000 * a.cost, a.certain, a.certain / base, whole, whole / base)
        rows.append((a.method, numbers[0], hit, *numbers[1:]))
    headers = ("method", "CPU ms", "hit", "CPU s for 99.9 %", "ratio", "CPU s, grid", "ratio")
    show_rows(headers, rows, out)


def shown(*numbers: float) -> tuple[str, ...]:
    return tuple(
        f"{x:,.3g}" if x < 1000 else f"{x:,.0f}" if np.isfinite(x) else "" for x in numbers
    )


# The parts


def against(
    rival: Rival, law: lawdsl.Law, table: Columns, seeds: int, starts: int
) -> list[Attempts]:
    """One law on one table: ours over seeds, and SciPy over starts of the published grid."""
    floor = {"D_min": D_MIN} if rival is DCPT else {}
    objective = rival.of(table, **floor)
    anywhere = rival.published_starts(starts, seed=1, inside=False)
    inside = rival.published_starts(starts, seed=1, inside=True)
    near = rival.starts_near(table, starts, seed=1)
    few = anywhere[: max(10, starts // 4)]

    def careful(start: Array) -> float:
        return tuned(rival, objective, start)[0]

    searches = {"one start": 1, "two starts": 2, "auto": AUTO}
    found = [
        attempts(f"lawdsl, the search, {name}", search_alone(law, table, count), range(seeds))
        for name, count in searches.items()
    ]
    found += [
        attempts("lawdsl, a whole fit", partial(whole_fit, law, table), range(min(seeds, 10))),
        attempts("SciPy tuned, starts near the data", careful, near),
        attempts("SciPy tuned, published starts", careful, inside),
        attempts(
            "SciPy's defaults, exact gradients", partial(published, objective, True), anywhere
        ),
        attempts("SciPy's defaults, as published", partial(published, objective, False), few),
    ]
    compared(found, rival.grid)
    return found[: len(searches)]


def dcpt_part(seeds: int, starts: int) -> None:
    out.print(f"\nD-CPT Law, 540 rows; the published grid has {DCPT.grid:,} starts")
    ours = against(DCPT, lawdsl.load("dcpt.l3"), sweep(), seeds, starts)
    best = min(float(a.reached.min()) for a in ours)
    exactly(ours, best, f"the best, {best:.10e},")


def exactly(ours: Sequence[Attempts], known: float, what: str) -> None:
    for a in ours:
        off = np.abs(a.reached / known - 1)
        hit = f"{int(np.sum(off <= EXACT))} of {len(off)} seeds"
        out.print(f"{a.method}: {what} to {EXACT:g}, relative: {hit}; worst {off.max():.1g}")


def bootstrap_part(seeds: int, starts: int) -> None:
    out.print(f"\n{RESAMPLES:,} resamples of that fit, rows drawn with replacement")
    table, rows = sweep(), 540
    law = lawdsl.load("dcpt.l3")
    problem = posed(law, table)
    theta = optimum(prepare(law), problem).theta
    bootstrap(problem, theta, 10)  # what is made ready once
    ours = min(seconds(partial(bootstrap, problem, theta, RESAMPLES, k)) for k in range(3))
    reached = [
        tuned(DCPT, DCPT.of(table, D_MIN), start) for start in DCPT.starts_near(table, 12, seed=2)
    ]
    _, best = min(reached, key=lambda pair: pair[0])
    rng = np.random.default_rng(3)

    def again(start: Array, drawn: Array) -> float:
        counts = np.bincount(drawn, minlength=rows)
        kept = counts > 0
        objective = DCPT.of({k: v[kept] for k, v in table.items()}, D_MIN, counts[kept])
        return tuned(DCPT, objective, start)[0]

    drawn = rng.integers(0, rows, (max(20, starts // 4), rows))
    cold = DCPT.starts_near(table, len(drawn), seed=4)
    warm = attempts("SciPy tuned, from the optimum", partial(again, best), list(drawn))
    once = attempts(
        "SciPy tuned, from one new start each",
        lambda pair: again(*pair),
        list(zip(cold, drawn, strict=True)),
    )
    kept = [
        float(np.mean(a.reached <= np.minimum(warm.reached, once.reached) * (1 + HIT)))
        for a in (warm, once)
    ]
    rows_shown = [("lawdsl, from the optimum", *shown(ours, 1.0), "")]
    for a, share in zip((warm, once), kept, strict=True):
        cost = a.cost * RESAMPLES
        rows_shown.append((a.method, *shown(cost, cost / ours), f"{100 * share:.0f} %"))
    show_rows(("method", "CPU s", "ratio", "in the better minimum of both"), rows_shown, out)


def chinchilla_part(seeds: int, starts: int) -> None:
    if not POINTS.is_file():
        out.print(
            f"\nChinchilla's 240 points: skipped, for lack of ../{POINTS.relative_to(ROOT.parent)}"
        )
        return
    out.print(f"\nChinchilla, 240 points; the published grid has {CHINCHILLA.grid:,} starts")
    points = np.genfromtxt(POINTS, delimiter=",", names=True)
    points = points[points["in240"] == 1]
    table = {"N": points["N"], "D": points["D"], "L": points["loss"]}
    ours = against(CHINCHILLA, lawdsl.load("chinchilla"), table, seeds, starts)
    exactly(ours, KNOWN, f"{KNOWN:.10e}")


def protocols_part(seeds: int, starts: int) -> None:
    out.print("\nThe protocols of the D-CPT paper for its five laws, with intervals, 540 rows")
    laws, table = [lawdsl.load(f"dcpt.l{i}") for i in range(1, 6)], sweep()
    took = seconds(partial(lawdsl.compare, laws, table))
    out.print(f"{took:.1f} CPU s")


def growth_part(seeds: int, starts: int) -> None:
    law = lawdsl.load("chinchilla")
    whole_fit(law, simulated(50), 0)  # what is loaded and compiled once
    by_rows = []
    for rows in (1_000, 10_000, 100_000, 1_000_000):
        table = simulated(rows)
        taken = seconds(partial(whole_fit, law, table, 0))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        by_rows.append((f"{rows:,}", *shown(taken, taken / rows * 1e6, peak)))
    out.print("\nGrowth with the rows: Chinchilla, whole fits")
    show_rows(("rows", "CPU s", "µs a row", "peak MiB"), by_rows, out)
    table = simulated(240)
    by_starts = []
    for count in (6, 24, 96, 384):
        taken = seconds(partial(whole_fit, law, table, 0, count))
        by_starts.append((str(count), *shown(taken, taken / count * 1e3)))
    out.print("\nGrowth with the starts: Chinchilla, 240 rows, whole fits")
    show_rows(("starts", "CPU s", "ms a start"), by_starts, out)
    out.print("\nGrowth with the parameters: 540 rows")
    by_parameters = [of_law(name) for name in LAWS]
    show_rows(("law", "parameters", "CPU s, search", "CPU s, whole fit"), by_parameters, out)


LAWS = ("dcpt.share", "chinchilla", "dcpt.l5", "dcpt.l1", "dcpt.l3", "dcpt.cross_k3")


def of_law(name: str) -> tuple[object, ...]:
    """The cost of a law on the sweep, its loss planted, in the mean of three seeds."""
    law, planted = sample_of(name), PLANTED[name]
    columns = sweep()
    if name == "chinchilla":  # in parameters and tokens, not in billions
        columns |= {"N": columns["N"] * 1e9, "D": columns["D"] * 1e9}
    domain = np.arange(len(columns["N"])) % 6
    columns |= {
        "k1[d]": np.linspace(1.1, 4.5, 6)[domain],
        "k2[d]": np.array([3, 1, 6, 2, 9, 4])[domain] / 10,
    }
    table = measured(name, {q.name: columns[q.name] for q in law.variables}, planted.parameters)
    table = {name.removesuffix("[d]"): column for name, column in table.items()}
    search = search_alone(law, table)
    whole_fit(law, table, 0)
    alone = attempts(name, search, range(3)).cost
    whole = attempts(name, partial(whole_fit, law, table), range(3)).cost
    return (name, len(law.parameters), *shown(alone, whole))


PARTS = {
    "dcpt": dcpt_part,
    "bootstrap": bootstrap_part,
    "chinchilla": chinchilla_part,
    "protocols": protocols_part,
    "growth": growth_part,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--seeds", type=int, default=100, help="seeds of lawdsl")
    parser.add_argument("--starts", type=int, default=200, help="random starts of the rivals")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    for name in options.parts or PARTS:
        PARTS[name](options.seeds, options.starts)


if __name__ == "__main__":
    main()
