"""The loop of design, runs and fits on the runs that ship: how near is its answer to that of the whole table?

    python tests/benchmarks/closed_loop.py                  a tenth of what all runs of the table cost
    python tests/benchmarks/closed_loop.py --budget 0.05 --stop 5%

The candidates are the ends of the decays in laws/data/code_and_english.csv, which has their losses already: a run is
made by looking it up. Nothing is known at first. The question is the largest share of code with which the general loss
of the largest model rises by at most 2 %.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import lawdsl
from lawdsl.data.read import read_table
from lawdsl.designing.design import design_for_question, first_design
from lawdsl.designing.runs.pool import Pool, runs_of_table
from lawdsl.fitting.result import Fit
from lawdsl.reporting.terminal import show_rows

TABLE = Path(__file__).resolve().parents[2] / "laws" / "data" / "code_and_english.csv"
WHERE = ("phase = end", "step >= 400")
GIVEN = {"N": 6.3888e-4, "D": 1.024e-3, "L0": 3.75, "T": 0.02}
LOSSES = {"general": "general", "domain": "code"}

out = Console(highlight=False, width=140)


def fits(table: Any) -> dict[str, Any]:
    """The laws of the question, fitted to some runs."""
    law = lawdsl.load("dcpt.l3")
    return {
        use: lawdsl.fit(
            law,
            table,
            columns={"L": f"L_{loss}", "r": f"r_{loss}"},
            fix={"E": 0.5},
            claims=False,
        )
        for use, loss in LOSSES.items()
    }


def main() -> None:
    """Replay the loop, and print the answer after each batch."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--budget", type=float, default=0.1, help="part of the cost of all runs")
    parser.add_argument("--stop", type=float, default=0.02)
    arguments = parser.parse_args()
    table = read_table(TABLE)
    kept = (np.array(table.texts("phase")) == "end") & (table.numbers("step") >= 400)
    table = table.keep(kept)
    labels, rows = runs_of_table(table)
    costs = 6 * table.numbers("N") * table.numbers("D")
    done = np.zeros(len(labels), dtype=np.bool_)
    whole = lawdsl.Asked("dcpt.tradeoff", **fits(table)).answer(GIVEN, discrepancy=0.02)
    lines: list[list[str]] = []
    law = lawdsl.load("dcpt.l3").with_held({"E": 0.5}, {})
    columns = {"L": "L_general", "r": "r_general"}
    budget, start = arguments.budget * float(np.sum(costs)), time.process_time()
    while True:
        pool = Pool(TABLE.name, table, labels, rows, costs[rows[:, 0]], done=done.copy())
        if not done.any():
            design = first_design(law, pool, budget, None, columns)
            assert design is not None
        else:
            measured = table.keep(np.isin(np.arange(len(table)), rows[done, 0]))
            asked = lawdsl.Asked("dcpt.tradeoff", **fits(measured))
            assert all(isinstance(fit, Fit) for fit in asked.fits.values())
            design = design_for_question(asked, GIVEN, pool, budget=budget, stop=arguments.stop)
            target = design.targets[0]
            share = 100 * design.spent / float(np.sum(costs))
            half = (
                "open"
                if target.half is None or np.isinf(target.half)
                else f"± {100 * target.half:.1f} %"
            )
            lines.append(
                [str(int(done.sum())), f"{share:.2f} %", f"{asked.answer(GIVEN)['r_d']:.4f}", half]
            )
            out.print("  ".join(lines[-1]))
        if not design.runs:
            break
        done |= np.isin(labels, design.labels)
    ends = whole.law_error.ends["r_d"] if whole.law_error else (np.nan, np.nan)
    half = (ends[1] - ends[0]) / 2 / whole["r_d"]
    lines.append([str(len(labels)), "100 %", f"{whole['r_d']:.4f}", f"± {100 * half:.1f} %"])
    show_rows(["runs", "of all FLOP", "share of code", "95 %"], lines, out)
    out.print(f"{time.process_time() - start:.0f} s CPU")


if __name__ == "__main__":
    main()
