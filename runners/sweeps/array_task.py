"""A task of a job array -> its run, done on this node or on all nodes of the task.

    python -m lawdsl.runners.sweeps.array_task LIST.json NUMBER

`slurm.write_arrays` writes the list. Exits with 0 where the run is done, 75 where a signal stopped
it and it was saved, else with 1.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import LawdslError, render
from lawdsl.core.files import write

from ..run.exit_status import WRONG
from ..run.locks import named
from ..spec import RunOrder, read_order
from .local import LocalEngine
from .machine import this_machine
from .nodes import follow, lead, this_node
from .plan import PlannedRun
from .run_folders import read_state
from .scheduler import Outcome, Policy, StopRequest, run_jobs

RECORD = "slurm.json"  # in the folder of a run: the job and the host that did it last


def main(arguments: list[str]) -> int:
    """Do the run of a task; the exit code."""
    listing, number = json.loads(Path(arguments[0]).read_bytes()), int(arguments[1])
    folder = Path(listing["folders"][number])
    try:
        order = read_order(folder)
        with StopRequest() as stop:
            outcome = _done(listing, folder, order, stop)
    except LawdslError as error:
        for diagnostic in error.diagnostics:
            print(render(diagnostic), file=sys.stderr)
        return WRONG
    if outcome is None:
        return stop.code if stop.count else 0
    print(f"{order.label}: {outcome.status} {outcome.message}".rstrip(), file=sys.stderr)
    if outcome.status == "done":
        return 0
    return stop.code if outcome.status == "stopped" else 1


def _done(
    listing: dict[str, Any], folder: Path, order: RunOrder, stop: StopRequest
) -> Outcome | None:
    """The outcome of the run; None on nodes that only help with it."""
    machine = this_machine()
    policy = Policy(listing["retries"], listing["halve"], listing["steal"] or _is_own_lock(folder))
    local = LocalEngine(machine, 1, policy, tuple(listing["worker"]))
    run = _run(folder, order)
    if run.state.final:
        return Outcome(run, run.state.status, run.state.message)
    if order.how.nodes == 1:
        _record(folder)
        return run_jobs(local, [run], stop)[0]
    place = this_node(os.environ, order.how.nodes)
    if place.number:
        follow(place, local, stop)
        return None
    _record(folder)
    engine = lead(place, order.how.nodes, local, stop)
    try:
        return run_jobs(engine, [run], stop)[0]
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


def _record(folder: Path) -> None:
    if _job():
        record = {"job": _job(), "host": os.uname().nodename}
        write(folder / RECORD, json.dumps(record) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
