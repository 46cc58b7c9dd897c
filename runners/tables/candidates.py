"""A sweep -> its runs as candidate runs of a design: the rows that they will have, and their cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..run.model_facts import ModelFacts
from ..run.schedules import phase
from ..spec import RunOrder
from ..sweeps.grid import orders_of
from ..sweeps.inputs import Source, SweepInputs, inputs_of
from ..sweeps.machine import Machine
from ..sweeps.memory import memory_problems
from ..sweeps.plan import PlannedRun, flops_until, plan_of
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
    """The runs of a sweep as candidates.

    A run of the grid is a candidate, and each branch of a stable run is. It costs what `--dry-run`
    says, in FLOP, for training and evaluations; branches share the cost of their stable run. Runs
    whose model does not fit into the memory are left out.

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
    cells = _by_cell(sweep, plan.runs)
    rows: list[dict[str, Any]] = []
    prices, left_out = dict[str, Price](), dict[str, str]()
    sunk = 0.0
    too_large = {
        name
        for name, run in {run.order.run.model.name: run for run in plan.runs}.items()
        if any(d.severity == "error" for d in memory_problems({name: run.memory}, 1, str(path)))
    }
    for number, runs in enumerate(cells):
        stable = runs[0] if runs[0].order.branch_steps else None
        seen = 0  # steps of the stable run whose rows are those of a shorter branch
        for run in runs[1:] if stable else runs:
            unfit = [r.state.status for r in (run, stable) if r and r.state.status in UNFIT]
            done = run.state.status == "done"
            if unfit and not done:
                left_out[run.label] = f"it is {unfit[0]}"
                sunk += _sunk(run)
                continue
            if run.order.run.model.name in too_large and not done:
                left_out[run.label] = "its model does not fit into the memory"
                continue
            prices[run.label] = _price(run, stable, number, inputs)
            rows += [row | {RUN_COLUMN: run.label} for row in _rows(run.order, seen)]
            seen = run.order.prefix.step if run.order.prefix else 0
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
    listed = [prices[label] for label in labels]
    return Pool(
        str(path),
        table,
        labels,
        numbers,
        np.array([price.own + price.trunk for price in listed]),
        done=np.array([price.done for price in listed]),
        left_out=left_out,
        stems=np.array([price.stem for price in listed]),
        trunks=np.array([price.trunk for price in listed]),
        begun=np.array([price.begun for price in listed]),
        sunk=sunk,
    )


@dataclass(frozen=True)
class Price:
    """What a run costs, in FLOP.

    Attributes:
        own: of the run itself; of a branch, of its decay.
        trunk: of the stable run until the branch.
        begun: of the stable run as far as it is trained.
        stem: the number of the stable run; -1 for a run without one.
        done: whether the run is done.
    """

    own: float
    trunk: float
    begun: float
    stem: int
    done: bool


def _price(run: PlannedRun, stable: PlannedRun | None, number: int, inputs: SweepInputs) -> Price:
    """The price of a run, whose stable run has some number."""
    done = run.state.status == "done"
    # a branch that cannot begin from its stable run any more trains everything itself
    if stable is None or not run.begins:
        return Price(run.flops, 0.0, 0.0, -1, done)
    begun = min(stable.state.step, stable.order.run.training.steps)
    return Price(
        run.flops,
        flops_until(stable.order, run.begins, inputs),
        flops_until(stable.order, begun, inputs) if begun else 0.0,
        number,
        done,
    )


def _sunk(run: PlannedRun) -> float:
    """The FLOP of a run that was given up, until its last row."""
    steps = run.order.last_step - run.begins
    return run.flops * min(1.0, max(0, run.state.step - run.begins) / steps)


def _by_cell(sweep: Sweep, runs: Sequence[PlannedRun]) -> list[list[PlannedRun]]:
    """The runs of each cell, a stable run before its branches."""
    iterator = iter(runs)
    return [[next(iterator) for _ in sweep.stages_of(cell)] for cell in sweep.cells]


def _rows(order: RunOrder, after: int) -> list[dict[str, Any]]:
    """The rows of a run that the table of runs will have, as far as they are known beforehand.

    Args:
        order: of the run.
        after: the step until which rows are those of another run.
    """
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
        if step > after:
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
