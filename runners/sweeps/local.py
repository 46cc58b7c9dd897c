"""Runs -> processes on this machine, as many at once as its cores and GPUs allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..run.exit_status import DIVERGED, DONE
from ..run.locks import release
from ..spec import ExecutionConfig
from . import workers
from .machine import Machine
from .plan import PlannedRun
from .reused_workers import (
    CLOSE_SECONDS,
    ROOM_SECONDS,
    ReusableProcess,
    ReusedWorker,
    assign,
    end_all,
    process_key,
    start_reusable,
)
from .scheduler import Job, Policy
from .workers import WorkerExit


@dataclass(frozen=True)
class _LocalSlot:
    """The processes of an active run and their GPUs."""

    worker: workers.Worker | ReusedWorker
    gpus: tuple[str, ...]


@dataclass(frozen=True)
class LocalEngine:
    """The engine that executes runs on one machine.

    Attributes:
        machine: its cores and GPUs.
        jobs: the number of runs at once.
        policy: the handling of failed runs.
        worker: the command that executes the run whose folder is its last argument.
        reuse: whether a process executes one run after another, of runs with one process each.
        idle: processes that wait for a run; see `close`. Together with the active ones at most
            `jobs`, and on a GPU at most the number of runs that may share it.
        ending: processes that were requested to end; they have ended before another one is started.
    """

    machine: Machine
    jobs: int
    policy: Policy = Policy()
    worker: tuple[str, ...] = workers.WORKER
    reuse: bool = False
    idle: list[ReusableProcess] = field(default_factory=list)
    ending: list[ReusableProcess] = field(default_factory=list)

    def engine(self, runs: Sequence[PlannedRun]) -> LocalEngine:
        """The engine for some runs: this machine itself, which can execute all of them."""
        return self

    def why_blocked(self, waiting: Sequence[Job]) -> str:
        """Empty: this machine can start every run at some time."""
        return ""

    def close(self) -> None:
        """End the processes that wait for a run."""
        self._close(list(self.idle))
        self._wait_for_ending(CLOSE_SECONDS)

    def ready(self, job: Job, working: Sequence[Job]) -> bool:
        """Decide whether a run can start.

        Args:
            job: the run.
            working: the active runs.

        Returns:
            Whether fewer than `jobs` runs are active.
        """
        return len(working) < self.jobs

    def lock_holder(self, job: Job, holder: str) -> str:
        """Return the process that has locked a run, after releasing the lock if the policy allows
        it.

        Args:
            job: the run.
            holder: the process named in its lock; empty for none.

        Returns:
            The process; empty if the run is free.
        """
        return "" if holder and self.policy.steal and release(job.run.folder) else holder

    def begin(self, job: Job, working: Sequence[Job]) -> None:
        """Start a worker for a run, on the GPUs that the fewest runs use.

        Args:
            job: the run.
            working: the active runs.
        """
        run, how = job.run, job.run.order.how
        used = [gpu for other in working for gpu in other.worker.gpus]
        if self.reuse and how.processes == 1:
            job.worker = self._begin_reused(run, used, len(working))
            return
        gpus = self.gpus_for(how, used)
        sharing = self._runs_per_gpu(how, gpus)
        self._make_room(gpus, used, len(working), sharing)
        worker = workers.start_worker(run.folder, how, self.worker, gpus or None, sharing)
        job.worker = _LocalSlot(worker, gpus)

    def _begin_reused(self, run: PlannedRun, used: Sequence[str], active: int) -> _LocalSlot:
        """Assign a run to an idle process that can execute it, or to a new one."""
        how = run.order.how
        self._close([p for p in self.idle if p.process.poll() is not None])  # killed while idle
        warm = [g for p in self.idle for g in p.gpus if p.key == process_key(run.order, p.gpus)]
        without = [g for g in self.machine.gpus if all(g not in p.gpus for p in self.idle)]
        gpus = self.gpus_for(how, used, warm or without)
        key = process_key(run.order, gpus)
        reusable = next((p for p in self.idle if p.key == key), None)
        if reusable is None:
            sharing = self._runs_per_gpu(how, gpus)
            self._make_room(gpus, used, active, sharing)
            reusable = start_reusable(run.folder, how, self.worker, gpus, key, sharing)
        else:
            self.idle.remove(reusable)
        return _LocalSlot(assign(run.folder, reusable), gpus)

    def _make_room(
        self, gpus: Sequence[str], used: Sequence[str], active: int, sharing: int
    ) -> None:
        """End idle processes, which keep their models in memory, if a new one would be too many.

        Args:
            gpus: the GPUs of the run that starts.
            used: GPUs of the active runs, one entry for each use.
            active: the number of active runs.
            sharing: the number of runs that may share a GPU.
        """
        for gpu in gpus:
            idle = [process for process in self.idle if gpu in process.gpus]
            self._close(idle[: max(0, used.count(gpu) + len(idle) + 1 - sharing)])
        self._close(self.idle[: max(0, active + len(self.idle) + 1 - self.jobs)])
        self._wait_for_ending(ROOM_SECONDS)

    def _runs_per_gpu(self, how: ExecutionConfig, gpus: Sequence[str]) -> int:
        """The number of runs that may share a GPU with a run on some GPUs."""
        return max(1, -(-self.jobs * how.processes // len(self.machine.gpus))) if gpus else 1

    def _close(self, idle: Sequence[ReusableProcess]) -> None:
        """Ask some of the idle processes to end."""
        for process in idle:
            self.idle.remove(process)
            process.request_end()
            self.ending.append(process)

    def _wait_for_ending(self, seconds: float) -> None:
        """Wait for processes that were requested to end; kill them after the timeout."""
        end_all(self.ending, seconds)
        self.ending.clear()

    def exit(self, job: Job) -> WorkerExit | None:
        """How the worker of a run ended; None while it is active."""
        worker = job.worker.worker
        status: WorkerExit | None = worker.exit()
        if status is not None and isinstance(worker, ReusedWorker):
            if status.code in (DONE, DIVERGED):
                self.idle.append(worker.reusable)
            else:
                # it ends by itself while the other runs continue
                worker.reusable.request_end()
                self.ending.append(worker.reusable)
        return status

    def send_signal(self, job: Job, number: int) -> None:
        """Send a signal to the worker of a run.

        Args:
            job: the run.
            number: the number of the signal.
        """
        job.worker.worker.send_signal(number)

    def gpus_for(
        self, how: ExecutionConfig, used: Sequence[str], preferred: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Choose the GPUs of this machine that are used by the fewest runs.

        Args:
            how: the execution settings of a run.
            used: GPUs of the active runs, one entry for each use.
            preferred: GPUs that are chosen first among equally used ones.

        Returns:
            One GPU for each process of the run here; empty if the run uses none, or specifies its
            own.
        """
        if not self.machine.on_gpu(how) or ":" in how.device:
            return ()
        gpus = sorted(self.machine.gpus, key=lambda gpu: (used.count(gpu), gpu not in preferred))
        return tuple(gpus[: how.processes_per_node])
