"""A sweep -> its cells as candidate runs of a design: the rows that they will have, and their cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..run.model_facts import ModelFacts
from ..run.schedules import phase
from ..spec import RunOrder
from ..sweeps.grid import orders_of
from ..sweeps.inputs import Source, inputs_of
from ..sweeps.machine import Machine
from ..sweeps.memory import memory_problems
from ..sweeps.plan import PlannedRun, plan_of
from ..sweeps.sweep import Sweep, read_sweep
from .collect import LOT, header

if TYPE_CHECKING:
    from lawdsl.designing.runs.pool import Pool

UNFIT = ("diverged", "oom", "failed")  # statuses of runs that are not proposed again


def pool_of(
    path: Path,
    machine: Machine,
    where: Sequence[str] = (),
    inspect: Callable[[Sequence[Source]], list[ModelFacts]] | None = None,
) -> Pool:
    """The cells of a sweep as candidates.

    A cell is a run, or a stable run with its branches. It costs what `--dry-run` says, in FLOP, for
    training and evaluations. Cells whose model does not fit into the memory are left out.

    Args:
        path: of the sweep.
        machine: that the runs are to be made on.
        where: conditions that rows of a fit meet; those on columns that are only known once a run
            is done are left out.
        inspect: returns the facts of models; by default a process that loads torch.

    Raises:
        LawdslError: mistakes in the sweep; a grid whose rows all fail a condition (N0101).
    """
    # what reads tables for laws loads SymPy, which sweeps do without
    from lawdsl.data.binding import chosen_rows
    from lawdsl.data.read import read_table
    from lawdsl.designing.runs.pool import RUN_COLUMN, Pool, runs_of_table

    sweep = read_sweep(path)
    inputs = inputs_of(sweep, inspect, machine)
    orders = orders_of(sweep, inputs, machine)
    plan = plan_of(sweep, inputs, orders, machine, 1, refuse=False)
    by_cell = _by_cell(sweep, plan.runs)
    rows: list[dict[str, Any]] = []
    costs, done, left_out = dict[str, float](), dict[str, bool](), dict[str, str]()
    too_large = {
        name
        for name, run in {run.order.run.model.name: run for run in plan.runs}.items()
        if any(d.severity == "error" for d in memory_problems({name: run.memory}, 1, str(path)))
    }
    for label, runs in by_cell.items():
        costs[label] = sum(run.flops for run in runs)
        measured = [run for run in runs if not run.order.branch_steps]
        done[label] = all(run.state.status == "done" for run in measured)
        unfit = [run.state.status for run in runs if run.state.status in UNFIT]
        if unfit:
            left_out[label] = f"a run of it is {unfit[0]}"
        elif runs[0].order.run.model.name in too_large and not done[label]:
            left_out[label] = "its model does not fit into the memory"
        else:
            rows += [row | {RUN_COLUMN: label} for run in measured for row in _rows(run.order)]
    table = read_table(_columns(rows))
    if rows:
        smallest = min(row["D"] for row in rows)
        table = replace(table, name=str(path), notes=(f"setting D_min = {smallest} unit token",))
    known = [text for text in where if _names_known(text, table.columns)]
    table, _ = chosen_rows(table, known, False)
    if not len(table):
        message = "no run of the sweep has a row that meets the conditions of the fit"
        help = f"the fit has the conditions {', '.join(known)}: change [evaluation] or [schedule]"
        raise LawdslError(Diagnostic("N0101", message, place=str(path), help=help))
    labels, numbers = runs_of_table(table)
    return Pool(
        str(path),
        table,
        labels,
        numbers,
        np.array([costs[label] for label in labels]),
        done=np.array([done[label] for label in labels]),
        left_out=left_out,
    )


def _by_cell(sweep: Sweep, runs: Sequence[PlannedRun]) -> dict[str, list[PlannedRun]]:
    """Label of a cell -> its runs, a stable run before its branches."""
    result: dict[str, list[PlannedRun]] = {cell.label: [] for cell in sweep.cells}
    iterator = iter(runs)
    for cell in sweep.cells:
        for _ in sweep.stages[cell.model]:
            result[cell.label].append(next(iterator))
    return result


def _rows(order: RunOrder) -> list[dict[str, Any]]:
    """The rows of a run that the table of runs will have, as far as they are known beforehand."""
    run, training = order.run, order.run.training
    declared = {k: v for k, v in order.columns.items() if not k.startswith("dlc_")}
    same: dict[str, Any] = {
        **declared,
        "model": run.model.name,
        "seed": run.seed,
        **{f"r_{name}": float(source.fraction) for name, source in run.corpora.items()},
        **{name: getattr(training, name) for name in ("schedule", "steps", "batch", "sequence")},
    }
    rows = []
    for step in run.evaluate:
        if step > 0:
            tokens = step * training.batch * training.sequence
            at = {"D": tokens, "T": tokens / LOT, "step": step, "phase": phase(training, step)}
            rows.append(same | at)
    return rows


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Header -> cells; the share of a corpus that a run has nothing of is 0."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {
        header(name): [row.get(name, 0.0 if name.startswith("r_") else None) for row in rows]
        for name in names
        if name.startswith("r_") or all(row.get(name) is not None for row in rows)
    }


def _names_known(condition: str, columns: Mapping[str, Any]) -> bool:
    """Whether a condition is on a column that the candidates have."""
    name = condition
    for sign in ("<", ">", "=", "!"):
        name = name.partition(sign)[0]
    return name.strip().strip('"') in columns
