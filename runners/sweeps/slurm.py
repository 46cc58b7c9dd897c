"""Runs -> Slurm job arrays: one script per kind of resources, one task per run.

Decay branches are executed in the task of their stable run, after it: tasks of an array start in
any order, and a branch that starts first trains all steps itself.

    runs/cpt/slurm/array-1a2b3c4d.sh the script for sbatch runs/cpt/slurm/array-1a2b3c4d.json its
    runs: task number -> folders

A task executes its runs like a sweep on one machine, with the same worker and the same retries.
Before the time limit Slurm sends SIGUSR1: the run is saved, and the task is requeued. Slurm: Yoo et
al. (2003), Job Scheduling Strategies for Parallel Processing.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.files import write

from ..run.exit_status import STOPPED
from ..spec import ExecutionConfig
from . import workers
from .branches import stable_folder
from .plan import PlannedRun
from .run_folders import prepare
from .scheduler import Policy
from .sweep import Sweep

FOLDER = "slurm"  # in the folder of a sweep
NOTICE_SECONDS = 300  # before the time limit, for saving the run
FIRST_PORT, PORTS = 20_000, 20_000  # range of MASTER_PORT of a task, by the number of its job

SCRIPT = """\
#!/bin/bash
# written by `lawdsl run {sweep} --slurm`: each task does a run, or a stable run and its branches
{directives}

task="$SLURM_ARRAY_TASK_ID"
warned=
signalled=
trap 'warned=1; signalled=1; kill -USR1 "$worker"' USR1
trap 'signalled=1; kill -TERM "$worker"' TERM
{start} &
worker=$!
wait "$worker"
code=$?
while [ "$code" -gt 128 ] && [ -n "$signalled" ]; do  # a signal interrupts `wait`
    signalled=
    wait "$worker"
    code=$?
done
if [ "$code" -eq {stopped} ] && [ -n "$warned" ]; then
    scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$task"  # the time limit; the run is saved
fi
exit "$code"
"""


@dataclass(frozen=True)
class JobArray:
    """A job array that has been written.

    Attributes:
        script: the file for sbatch.
        runs: number of runs in its tasks.
        job: its number in Slurm; empty if sbatch is not installed.
    """

    script: Path
    runs: int
    job: str = ""

    @property
    def logs(self) -> Path:
        """The logs of its tasks, as a pattern."""
        return self.script.parent / f"{self.job}_*.log"


def write_arrays(
    sweep: Sweep,
    runs: Sequence[PlannedRun],
    policy: Policy,
    *,
    jobs: int | None = None,
    options: Sequence[str] = (),
) -> list[JobArray]:
    """Write the job arrays that execute some runs, one for each kind of resources.

    Args:
        sweep: the sweep.
        runs: the runs, none of them held by another process.
        policy: the handling of failed runs.
        jobs: the maximum number of concurrent tasks per array; None for no limit.
        options: options of sbatch, which are last and so override others: `--partition=gpu`.

    Returns:
        The arrays; none where there are no runs.

    Raises:
        LawdslError: a folder cannot be written (R0107).
    """
    kinds: dict[tuple[str, ...], list[list[PlannedRun]]] = {}
    for task in _tasks(runs):
        kinds.setdefault(_resources(task[0].order.how), []).append(task)
    arrays = []
    folder = sweep.folder / FOLDER
    for resources, tasks in kinds.items():
        for run in (run for task in tasks for run in task):
            prepare(run.folder, run.order)
        content = {
            "tasks": [[str(run.folder) for run in task] for task in tasks],
            "worker": list(workers.WORKER),
            "retries": policy.retries,
            "halve": policy.halve,
            "steal": policy.steal,
        }
        listing = json.dumps(content, indent=2) + "\n"
        # the name depends on the content, because a queued task reads its list when it starts
        name = f"array-{hashlib.blake2b(listing.encode(), digest_size=4).hexdigest()}"
        numbers = f"0-{len(tasks) - 1}" if len(tasks) > 1 else "0"
        limit = f"%{jobs}" if jobs and jobs < len(tasks) else ""
        directives = (
            f"--job-name={shlex.quote('lawdsl ' + sweep.name)}",
            f"--array={numbers}{limit}",
            *resources,
            "--requeue",
            "--open-mode=append",
            f"--signal=B:USR1@{NOTICE_SECONDS}",
            f"--output={shlex.quote(str(folder / '%A_%a.log'))}",
            *options,
        )
        script = SCRIPT.format(
            sweep=shlex.quote(sweep.path.name),
            directives="\n".join(f"#SBATCH {directive}" for directive in directives),
            start=_start(tasks[0][0].order.how, folder / f"{name}.json"),
            stopped=STOPPED,
        )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write(folder / f"{name}.json", listing)
            write(folder / f"{name}.sh", script)
        except OSError as error:
            message = f"the job array cannot be written: {error.strerror}"
            help = "make room, or choose another `folder` for the sweep"
            raise LawdslError(Diagnostic("R0107", message, place=str(folder), help=help)) from None
        arrays.append(JobArray(folder / f"{name}.sh", sum(map(len, tasks))))
    return arrays


def submit(array: JobArray) -> JobArray:
    """Submit an array to Slurm, if `sbatch` is installed.

    Args:
        array: the array.

    Returns:
        The array with the number of its job; unchanged if `sbatch` is not installed.

    Raises:
        LawdslError: Slurm rejects it (R0143); the script remains.
    """
    if shutil.which("sbatch") is None:
        return array
    done = subprocess.run(
        ["sbatch", "--parsable", str(array.script)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        why = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        help = f"give options of this cluster with --sbatch, or edit and submit {array.script}"
        message = f"Slurm does not take the job array: {why}"
        raise LawdslError(Diagnostic("R0143", message, place=str(array.script), help=help))
    # `12345` or `12345;cluster`
    return JobArray(array.script, array.runs, done.stdout.strip().partition(";")[0])


def _tasks(runs: Sequence[PlannedRun]) -> list[list[PlannedRun]]:
    """The runs of each task: one run, or an unfinished stable run with its branches."""
    folders = {run.folder for run in runs}
    tasks: dict[Path, list[PlannedRun]] = {}
    for run in runs:
        stable = stable_folder(run.folder, run.order)
        tasks.setdefault(stable if stable in folders else run.folder, []).append(run)
    return list(tasks.values())


def _resources(how: ExecutionConfig) -> tuple[str, ...]:
    """The options of sbatch for a run. Whether `device = "auto"` is a GPU is not known here."""
    gpus = how.processes_per_node
    return (
        f"--nodes={how.nodes}",
        "--ntasks-per-node=1",
        f"--cpus-per-task={how.threads * how.processes_per_node}",
        *((f"--gpus-per-node={gpus}",) if how.device.startswith("cuda") else ()),
    )


def _start(how: ExecutionConfig, listing: Path) -> str:
    """The command of a task; on several nodes, srun starts it on each."""
    command = f"{shlex.quote(sys.executable)} -P -m lawdsl.runners.sweeps.array_task"
    command += f' {shlex.quote(os.path.abspath(listing))} "$task"'
    if how.nodes == 1:
        return command
    # from Slurm 22.05 on, srun does not inherit the number of cores from sbatch
    options = '--kill-on-bad-exit=0 --cpus-per-task="$SLURM_CPUS_PER_TASK"'
    port = f"$(( {FIRST_PORT} + SLURM_JOB_ID % {PORTS} ))"
    first = '$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
    return (
        f'export MASTER_ADDR="{first}" MASTER_PORT="{port}"\n'
        f"srun {options} bash -c 'NODE_RANK=$SLURM_PROCID exec \"$@\"' task {command}"
    )
