"""A task of a job array -> its runs, executed on this node or on all nodes of the task.

    python -m lawdsl.runners.sweeps.array_task LIST.json NUMBER

`slurm.write_arrays` writes the list. Exit codes: 0 if all runs are done, 75 if a signal stopped one
and it was saved, else 1.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import LawdslError, render

from ..run.exit_status import PAUSED, WRONG
from ..run.locks import array_task, named, release
from ..spec import RunOrder, read_order
from .local import LocalEngine
from .machine import this_machine
from .nodes import follow, lead, listen, this_node
from .plan import PlannedRun
from .run_folders import read_state
from .scheduler import Policy, RunOutcome, StopRequest, run_jobs


def main(arguments: list[str]) -> int:
    """Execute the runs of a task; return the exit code."""
    listing, number = json.loads(Path(arguments[0]).read_bytes()), int(arguments[1])
    folders = [Path(folder) for folder in listing["tasks"][number]]
    try:
        runs = [_planned(folder, read_order(folder)) for folder in folders]
        with StopRequest() as stop:
            outcomes = _execute(listing, runs, stop)
    except LawdslError as error:
        for diagnostic in error.diagnostics:
            print(render(diagnostic), file=sys.stderr)
        return WRONG
    if outcomes is None:
        return stop.code if stop.count else 0
    for outcome in outcomes:
        message = f"{outcome.run.label}: {outcome.status} {outcome.message}"
        print(message.rstrip(), file=sys.stderr)
    statuses = {outcome.status for outcome in outcomes}
    if statuses <= {"done", PAUSED}:
        return 0
    return stop.code if stop.count and statuses & {"stopped", "left"} else 1


def _execute(
    listing: dict[str, Any], runs: Sequence[PlannedRun], stop: StopRequest
) -> list[RunOutcome] | None:
    """The outcomes of the runs; None on nodes other than the first."""
    policy = Policy(listing["retries"], listing["halve"], listing["steal"])
    local = LocalEngine(this_machine(), 1, policy, tuple(listing["worker"]))
    outcomes = [RunOutcome(r, r.state.status, r.state.message) for r in runs if r.complete]
    remaining = [run for run in runs if not run.complete]
    if not remaining:
        return outcomes
    nodes = remaining[0].order.how.nodes
    if nodes == 1:
        _take_back(remaining)
        return outcomes + run_jobs(local, remaining, stop)
    node = this_node(os.environ, nodes)
    if node.number:
        follow(node, local, stop)
        return None
    _take_back(remaining)
    engine = lead(listen(node, nodes), node, nodes, local, stop)
    try:
        return outcomes + run_jobs(engine, remaining, stop)
    finally:
        engine.dismiss()


def _planned(folder: Path, order: RunOrder) -> PlannedRun:
    """A planned run without an estimate of its cost."""
    training = order.run.training
    tokens = order.last_step * training.batch * training.sequence
    return PlannedRun(order, folder, read_state(folder), tokens, 0.0, 0.0)


def _take_back(runs: Sequence[PlannedRun]) -> None:
    """Release the locks that an earlier attempt of this task has left on a failed node.

    Slurm ends all processes of a task before it starts the task again. If locks of other hosts are
    visible on the file system, that of an active process remains.
    """
    task = array_task()
    for run in runs:
        if task and named(run.folder).get("task") == task:
            release(run.folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
