"""A task of a job array -> its runs, done on this node or on all nodes of the task.

    python -m lawdsl.runners.sweeps.array_task LIST.json NUMBER

`slurm.write_arrays` writes the list. Exits with 0 where all runs are done, 75 where a signal stopped
one and it was saved, else with 1.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import LawdslError, render
from lawdsl.core.files import write

from ..run.exit_status import WRONG
from ..run.locks import named, release
from ..spec import RunOrder, read_order
from .local import LocalEngine
from .machine import this_machine
from .nodes import follow, lead, this_node
from .plan import PlannedRun
from .run_folders import read_state
from .scheduler import Outcome, Policy, StopRequest, run_jobs

RECORD = "slurm.json"  # in the folder of a run: the job and the host that took it last


def main(arguments: list[str]) -> int:
    """Do the runs of a task; the exit code."""
    listing, number = json.loads(Path(arguments[0]).read_bytes()), int(arguments[1])
    folders = [Path(folder) for folder in listing["tasks"][number]]
    try:
        runs = [_run(folder, read_order(folder)) for folder in folders]
        with StopRequest() as stop:
            outcomes = _done(listing, runs, stop)
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
    if statuses == {"done"}:
        return 0
    return stop.code if stop.count and statuses & {"stopped", "left"} else 1


def _done(
    listing: dict[str, Any], runs: Sequence[PlannedRun], stop: StopRequest
) -> list[Outcome] | None:
    """The outcomes of the runs; None on nodes that only help with them."""
    policy = Policy(listing["retries"], listing["halve"], listing["steal"])
    local = LocalEngine(this_machine(), 1, policy, tuple(listing["worker"]))
    outcomes = [Outcome(r, r.state.status, r.state.message) for r in runs if r.state.final]
    remaining = [run for run in runs if not run.state.final]
    if not remaining:
        return outcomes
    nodes = remaining[0].order.how.nodes
    if nodes == 1:
        _take(remaining)
        return outcomes + run_jobs(local, remaining, stop)
    place = this_node(os.environ, nodes)
    if place.number:
        follow(place, local, stop)
        return None
    _take(remaining)
    engine = lead(place, nodes, local, stop)
    try:
        return outcomes + run_jobs(engine, remaining, stop)
    finally:
        engine.dismiss()


def _run(folder: Path, order: RunOrder) -> PlannedRun:
    training = order.run.training
    tokens = training.steps * training.batch * training.sequence
    return PlannedRun(order, folder, read_state(folder), tokens, 0.0, 0.0)


def _job() -> str:
    """The name of this task, which it keeps when it goes back into the queue."""
    job = os.environ.get("SLURM_ARRAY_JOB_ID", "")
    return job and f"{job}_{os.environ.get('SLURM_ARRAY_TASK_ID', '')}"


def _is_own_lock(folder: Path) -> bool:
    """Whether this task itself has locked the run, on a node that it lost.

    Slurm has ended all of a task before it starts the task again.
    """
    try:
        record = json.loads((folder / RECORD).read_bytes())
        return bool(_job()) and record == {"job": _job(), "host": named(folder).get("host")}
    except (OSError, ValueError):
        return False


def _take(runs: Sequence[PlannedRun]) -> None:
    """Release the locks that this task itself left, and record where it does its runs now."""
    for run in runs:
        if _is_own_lock(run.folder):
            release(run.folder)
        if _job():
            record = {"job": _job(), "host": os.uname().nodename}
            write(run.folder / RECORD, json.dumps(record) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
