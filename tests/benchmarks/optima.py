"""Whether fits without a given start find the optimum, and what their verdict says.

    python tests/benchmarks/optima.py [nist] [planted] [literature] [random] [--random 200] [--seed 0] [--only NAME]

"nist" fits the 27 sets of NIST StRD nonlinear regression (public domain; tests/fixtures/nist/data)
without bounds or starts, and compares with the certified residual sums. "planted" fits laws of the
literature to simulated tables, at the scale of raw columns. "literature" does so for the laws of
SLDBench, Farseer and others, at published or plausible parameters. "random" draws such laws, their
parameters, the scales of their columns and outputs from 1e-9 to 1e12, and their objectives.

The best known objective of a simulated table is that of a descent from the parameters which made
it. A fit is at the optimum if its objective is no larger, up to 1e-6. An alarm is an error about the
search or the rank at the optimum; a wrong verdict is trust above it.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import argparse
import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from literature import PLANTED_CASES
from nist_sets import SETS
from planted import law_of
from published_shapes import LITERATURE, literature_case
from random_shapes import random_case
from rich.console import Console
from simulated import Case

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.verdicts import SUBJECTS
from lawdsl.reporting.terminal import show_rows

AT_OPTIMUM = 1e-6  # relative: a larger difference is another optimum
BELOW_ROUNDING = 1e-20  # relative to the squared outputs: an exact fit

out = Console(highlight=False, width=140)


@dataclass(frozen=True)
class Outcome:
    """One fit without starts: its objective, the best known one, and its verdict."""

    name: str
    found: float
    known: float
    planted: float
    verdict: str
    codes: tuple[str, ...]
    agreed: str
    seconds: float
    rounding: float = 0.0

    @property
    def at_optimum(self) -> bool:
        return self.found <= self.known * (1 + AT_OPTIMUM) + self.rounding

    @property
    def below_truth(self) -> bool:
        """Whether the fit is at the optimum, or no worse than the parameters that made the table."""
        return self.at_optimum or self.found <= self.planted

    @property
    def is_wrong(self) -> bool:
        return self.verdict == "trusted" and not self.below_truth

    @property
    def is_alarm(self) -> bool:
        subjects = (*SUBJECTS["optimum"], *SUBJECTS["rank"])
        return self.at_optimum and any(code.rstrip("!") in subjects for code in self.errors)

    @property
    def errors(self) -> list[str]:
        return [code for code in self.codes if code.endswith("!")]

    @property
    def mark(self) -> str:
        if self.is_wrong:
            return "WRONG"
        if self.is_alarm:
            return "alarm"
        return "" if self.at_optimum else "below truth" if self.below_truth else "missed"


def outcome(case: Case, seed: int) -> Outcome:
    """Fit a case without starts."""
    law = law_of(case.law)
    objective = case.objective
    settings = {"claims": False, "rolled_check": False, "seed": seed}
    known, planted = case.known, math.nan
    if case.truth is not None:
        near = lawdsl.fit(law, case.table, objective=objective, starts=dict(case.truth), **settings)
        known = near.objective.sum
        planted = case.objective_at_truth(law)
    began = time.process_time()
    try:
        fit = lawdsl.fit(law, case.table, objective=objective, **settings)
    except LawdslError as error:
        codes = tuple(d.code for d in error.diagnostics)
        took = time.process_time() - began
        return Outcome(case.name, math.inf, known, planted, "error", codes, "", took)
    return Outcome(
        case.name,
        fit.objective.sum,
        known,
        planted,
        fit.verdict,
        tuple(sorted({d.code + ("!" if d.severity == "error" else "") for d in fit.diagnostics})),
        f"{fit.agreement.agreed}/{fit.agreement.starts}",
        time.process_time() - began,
        case.rounding,
    )


def shown(outcomes: Iterator[Outcome], every: bool) -> None:
    """Print each outcome as it comes, or only what went wrong, and their counts."""
    done = []
    for one in outcomes:
        done.append(one)
        if every or one.mark:
            out.print(
                f"{one.name:44.44} {one.found:13.8g} {one.known:13.8g} {one.verdict:11} "
                f"{one.agreed:>9} {one.seconds:6.2f} s {one.mark:11} {' '.join(one.codes)}"
            )
    count = len(done)
    times = sorted(one.seconds for one in done)
    rows = [
        ("at the optimum", sum(one.at_optimum for one in done)),
        ("no worse than the planted parameters", sum(one.below_truth for one in done)),
        (
            "not trusted at the optimum",
            sum(one.at_optimum and one.verdict == "not trusted" for one in done),
        ),
        ("trusted above it", sum(one.is_wrong for one in done)),
        ("alarms at the optimum", sum(one.is_alarm for one in done)),
    ]
    show_rows(("", f"of {count}"), [(name, str(number)) for name, number in rows], out)
    out.print(f"CPU time: median {times[count // 2]:.2f} s, in all {sum(times):.0f} s")


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help="of nist, planted, literature, random"
    )
    parser.add_argument("--random", type=int, default=200, help="number of random laws")
    parser.add_argument("--first", type=int, default=0, help="number of the first random law")
    parser.add_argument("--table", type=int, default=0, help="seed of the tables of the literature")
    parser.add_argument(
        "--noise", type=float, default=0.01, help="of these, to the outputs' spread"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the fits")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--all", action="store_true", help="print every random law")
    options = parser.parse_args()
    parts = options.parts or ["nist", "planted", "literature", "random"]
    cases = {
        "nist": (SETS, True),
        "planted": (PLANTED_CASES, True),
        "literature": (
            (literature_case(name, options.table, options.noise) for name in LITERATURE),
            True,
        ),
        "random": (
            (random_case(k) for k in range(options.first, options.first + options.random)),
            options.all,
        ),
    }
    for part in parts:
        if part not in cases:
            parser.error(f"no such part: {part}")
        chosen, every = cases[part]
        out.print(f"\n{part}: objective found, best known, verdict, agreement, CPU time, findings")
        shown((outcome(c, options.seed) for c in chosen if options.only in c.name), every)


if __name__ == "__main__":
    main()
