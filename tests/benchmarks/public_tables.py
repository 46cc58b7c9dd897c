"""Which laws predict the largest runs of public tables best: the tables of docs/public-tables.md.

    python tests/benchmarks/public_tables.py PATH [--only TABLE]

PATH is the folder of the tables; what is missing there is said. Each law that the columns of a table feed (`lawdsl laws
--for`) is fitted without the largest runs, and predicts them, with 95 % intervals of a further run.
"""

from __future__ import annotations

import os
import sys

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from public_mixtures import (
    Part,
    continual,
    fine_tuning,
    five_groups,
    seventeen_domains,
    three_domains,
)

import lawdsl
from lawdsl.comparing.interval_score import further_run_interval
from lawdsl.comparing.largest_first import largest_runs
from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.laws_for_table import laws_for_table
from lawdsl.data.read import read_table
from lawdsl.fitting.result import Fit
from lawdsl.language.library import declarations, shipped

Array = NDArray[np.float64]

LEAST_ROWS = 1.25
"""Rows that a law is fitted to, at least, for each of its parameters."""

SAME_FORMULA = ("multimodal.native", "mixing.critical")
"""Laws with the formula of another that is fitted: chinchilla, mixing.two_domain."""


@dataclass(frozen=True)
class PublicTable:
    """A table, where it lies and what is held out; scores are means over its parts."""

    name: str
    file: str
    held_out: str
    parts: Callable[[Any], Iterator[Part]]
    read: Callable[[Path], Any] = pd.read_csv


@dataclass(frozen=True)
class Score:
    """How a law predicts the largest runs of one part."""

    law: str
    parameters: int
    fitted: int
    error: Array
    relative: Array
    alone: Array
    inside: NDArray[np.bool_]
    inside_with_error: NDArray[np.bool_]
    verdict: str


# ---- the parts of each table


def by_compute(table: pd.DataFrame, loss: str = "loss", **more: str) -> Part:
    """Runs in N and D; the most expensive tenth is held out, or the largest budget of a grid."""
    names = {"N": "N", "D": "D", **more}
    columns = {name: table[column].to_numpy(float) for name, column in names.items()}
    cost = 6 * columns["N"] * columns["D"]
    size = table["C"].to_numpy(float) if "C" in table and table["C"].nunique() < 20 else cost
    held_out = largest_runs(size, None, cost).held_out
    return Part({**columns, "L": table[loss].to_numpy(float)}, held_out)


def chinchilla(table: pd.DataFrame) -> Iterator[Part]:
    yield by_compute(table[table["in240"] == 1])


def grid_of_budgets(table: pd.DataFrame) -> Iterator[Part]:
    yield by_compute(table[table["outlier"] == 0])


def repeated(table: pd.DataFrame) -> Iterator[Part]:
    yield by_compute(table, U="U")


def best_cells(table: pd.DataFrame) -> Iterator[Part]:
    """The run with the best rate and batch of each N and D."""
    yield by_compute(table.loc[table.groupby(["N", "D"])["loss_smooth"].idxmin()], "loss_smooth")


def losses_of_sizes(table: pd.DataFrame) -> Iterator[Part]:
    """Losses on web text and on code; the largest budget is held out."""
    runs = table.rename(columns={"params": "N", "tokens": "D", "iso_flop": "C"})
    for loss in ("loss_fineweb", "loss_starcoder"):
        yield by_compute(runs, loss)


def streams(table: pd.DataFrame) -> Iterator[Part]:
    """Both corpora; the largest of six sizes is held out, whatever the number of streams."""
    for _, rows in table.groupby("corpus"):
        base = rows.groupby(rows.groupby("P").cumcount())["N"].transform("min").to_numpy(float)
        columns = {name: rows[name].to_numpy(float) for name in ("N", "P")}
        yield Part({**columns, "L": rows["loss"].to_numpy(float)}, base == base.max())


def upcycled(table: pd.DataFrame) -> Iterator[Part]:
    """Each number of tokens; the largest models, by active parameters."""
    for _, rows in table.groupby("group"):
        N = rows["N_active"].to_numpy(float)
        columns = {"N": N, "P": rows["P"].to_numpy(float), "L": rows["loss"].to_numpy(float)}
        yield Part(columns, largest_runs(N).held_out)


def schedules(table: pd.DataFrame) -> Iterator[Part]:
    """Both sizes; schedules of 72,000 steps from those of 24,000 and one with a drop, each tenth row."""
    for _, rows in table.groupby("size_M"):
        long = rows["schedule"].str.endswith("72000")
        rows = rows[long | (rows["fitted"] == 1)].iloc[::10]
        columns = {name: rows[name].to_numpy(float) for name in ("S1", "S2")}
        columns |= {"S": rows["step"].to_numpy(float), "L": rows["loss"].to_numpy(float)}
        yield Part(columns, rows["schedule"].str.endswith("72000").to_numpy())


def shares(table: pd.DataFrame) -> Iterator[Part]:
    """One model and volume; the three largest of ten shares are held out."""
    r = table["r"].to_numpy(float)
    columns = {**dict.fromkeys(("r", "R"), r), "L": table["L"].to_numpy(float)}
    yield Part(columns, r >= np.sort(r)[-3])


def domain_shares(table: pd.DataFrame) -> Iterator[Part]:
    """Four sizes; the share that the paper holds out, 1/4."""
    for _, rows in table.groupby("size"):
        r = rows["R"].to_numpy(float)
        columns = {**dict.fromkeys(("r", "R"), r), "L": rows["domain_loss"].to_numpy(float)}
        yield Part(columns, r < 0.3)


BUDGET = "the largest budget"
MIXTURES = "every fourth mixture, each loss"
TABLES = (
    PublicTable(
        "Chinchilla's figure 4",
        "chinchilla_points/chinchilla_points.csv",
        "the most expensive tenth",
        chinchilla,
    ),
    PublicTable("IsoFLOP, comma", "isoflops_dev/comma.csv", BUDGET, grid_of_budgets),
    PublicTable("IsoFLOP, dclm", "isoflops_dev/dclm.csv", BUDGET, grid_of_budgets),
    PublicTable("loss to loss", "loss_to_loss/pairs.csv", f"{BUDGET}, two losses", losses_of_sizes),
    PublicTable(
        "repeated data",
        "datablations/runs_182_outliers_removed.csv",
        "the most expensive tenth",
        repeated,
    ),
    PublicTable(
        "best learning rates", "steplaw_dense/runs.csv", "the most expensive tenth", best_cells
    ),
    PublicTable("parallel streams", "parscale/runs.csv", "the largest size, two corpora", streams),
    PublicTable(
        "upcycled experts", "upcycled/runs.csv", "the largest models, three volumes", upcycled
    ),
    PublicTable(
        "learning-rate schedules", "annealing/runs.csv", "72,000 steps, two sizes", schedules
    ),
    PublicTable(
        "shares of C4", "published/c4_share_4p2B_84Btokens.csv", "the three largest shares", shares
    ),
    PublicTable(
        "finance shares",
        "published/cmr_table2_domain_loss_vs_ratio.csv",
        "the share 1/4, four sizes",
        domain_shares,
    ),
    PublicTable("three domains", "mixing_laws/3Mix.csv", MIXTURES, three_domains, Path),
    PublicTable("five groups of domains", "mixing_laws/5Mix.parquet", MIXTURES, five_groups, Path),
    PublicTable(
        "seventeen domains",
        "regmix/train_mixture_1m.csv",
        "256 of 768 mixtures, three losses",
        seventeen_domains,
        Path,
    ),
    PublicTable(
        "fine-tuning",
        "finetune_wmt19/runs.csv",
        "the most examples, eight models",
        fine_tuning,
        Path,
    ),
    PublicTable(
        "continual pre-training",
        "cpt_mini/runs.csv",
        "the last third of the tokens, two losses",
        continual,
        Path,
    ),
)


# ---- scores


def laws_of(part: Part) -> list[str]:
    """The laws of a part, or those without index sets that the columns feed, with an output among them."""
    if part.laws:
        return list(part.laws)
    table = read_table({name: column for name, column in part.columns.items()})
    every = (declarations(name)[0] for name in shipped("law"))
    known = [law for law in every if not law.indices and law.name not in SAME_FORMULA]
    fed = laws_for_table(table, known)
    of = {law.name: law.output.name for law in known}
    most = int(np.sum(~part.held_out)) / LEAST_ROWS
    return [
        law.law
        for law in fed
        if of[law.law] in part.output and not law.bindings and law.parameters <= most
    ]


def score(name: str, part: Part) -> Score | str:
    """The score of a law; or why it has none."""
    law = lawdsl.load(name)
    shares = [column for column in part.columns if "[" in column]
    wanted = [*(shares or (q.name for q in law.variables)), law.output]
    rows = {n: part.columns[n][~part.held_out] for n in wanted}
    points = {n: part.columns[n][part.held_out] for n in wanted[:-1]}
    labels = {"validation": np.repeat(part.label, len(rows[law.output]))} if part.label else {}
    options: dict[str, Any] = {} if part.starts is None else {"starts": part.starts}
    known = {s.name: part.settings[s.name] for s in law.settings if s.name in part.settings}
    try:
        found = lawdsl.fit(
            law, rows | labels, claims=False, rolled_check=False, settings=known, **options
        )
        fit = found if isinstance(found, Fit) else found.part(part.label)
        inside: list[NDArray[np.bool_]] = []
        measured = part.columns[law.output][part.held_out]
        for discrepancy in (0.0, None):
            predicted, low, high = further_run_interval(
                fit, rows, rows[law.output], points, discrepancy
            )
            inside.append((low <= measured) & (measured <= high))
    except LawdslError as error:
        return str(error).splitlines()[0]
    off = np.abs(predicted - measured)
    return Score(
        name,
        len(fit.parameters),
        len(rows[law.output]),
        off,
        off / measured,
        np.abs(fit.predict(points) - measured) / measured,
        inside[0],
        inside[1],
        fit.verdict,
    )


def show(table: PublicTable, parts: list[Part]) -> None:
    """Print the scores of a table, best law first, in Markdown."""
    found: dict[str, list[Score]] = {}
    failed: dict[str, str] = {}
    for part in parts:
        for name in laws_of(part):
            scored = score(name, part)
            if isinstance(scored, Score):
                found.setdefault(name, []).append(scored)
            else:
                failed[name] = scored
    rows = sum(len(part.held_out) for part in parts)
    held_out = sum(int(part.held_out.sum()) for part in parts)
    print(f"\n### {table.name}\n")
    print(f"{rows} rows, {held_out} held out: {table.held_out}.\n")
    print(
        "| law | parameters | error | relative | law alone | inside | with the law's error | trusted |"
    )
    print("|---|---|---|---|---|---|---|---|")
    complete = {name: scores for name, scores in found.items() if name not in failed}
    for name, scores in sorted(complete.items(), key=lambda item: mean(item[1], "relative")):
        inside, with_error = (
            f"{100 * mean(scores, column):.0f} %" for column in ("inside", "inside_with_error")
        )
        trusted = sum(x.verdict == "trusted" for x in scores)
        print(
            f"| `{name}` | {scores[0].parameters} | {mean(scores, 'error'):.4f} "
            f"| {100 * mean(scores, 'relative'):.2f} % | {100 * mean(scores, 'alone'):.2f} % | {inside} | {with_error} "
            f"| {trusted} of {len(scores)} |"
        )
    for name, reason in failed.items():
        print(f"\n`{name}` cannot be fitted: {reason}")


def mean(scores: list[Score], column: str) -> float:
    """The mean over all held-out rows."""
    return float(np.mean(np.concatenate([getattr(x, column) for x in scores])))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("path", type=Path, help="the folder of the tables")
    parser.add_argument("--only", default="", help="only tables whose name contains this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    began = time.process_time()
    missing = []
    for table in TABLES:
        path = options.path / table.file
        if options.only not in table.name:
            continue
        if not path.is_file():
            missing.append(table.file)
            continue
        show(table, list(table.parts(table.read(path))))
        sys.stdout.flush()
        print(f"{table.name}: {time.process_time() - began:.0f} s of CPU so far", file=sys.stderr)
    for file in missing:
        print(f"\nmissing: {file}", file=sys.stderr)
    print(f"{time.process_time() - began:.0f} s of CPU", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
