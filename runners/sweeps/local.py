"""Runs -> processes on this machine, as many at once as its cores and GPUs permit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..run.locks import release
from ..spec import ExecutionConfig
from . import workers
from .machine import Machine
from .plan import PlannedRun
from .scheduler import Job, Policy
from .workers import WorkerExit


@dataclass(frozen=True)
class _LocalSlot:
    """The processes of an active run and their GPUs."""

    worker: workers.Worker
    gpus: tuple[str, ...]


@dataclass(frozen=True)
class LocalEngine:
    """The engine that executes runs on one machine.

    Attributes:
        machine: its cores and GPUs.
        jobs: the number of runs at once.
        policy: for runs that fail.
        worker: the command that does the run whose folder is its last argument.
    """

    machine: Machine
    jobs: int
    policy: Policy = Policy()
    worker: tuple[str, ...] = workers.WORKER

    def engine(self, runs: Sequence[PlannedRun]) -> LocalEngine:
        """This machine itself: every run can be done here."""
        return self

    def why_blocked(self, waiting: Sequence[Job]) -> str:
        """An empty text: this machine can start every run at some time."""
        return ""

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
        """Give the process that has locked a run, after releasing the lock if the policy says so.

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
        gpus = self._gpus(how, [gpu for other in working for gpu in other.worker.gpus])
        sharing = -(-self.jobs * how.processes // max(1, len(self.machine.gpus)))
        worker = workers.start_worker(
            run.folder, how, self.worker, gpus or None, max(1, sharing) if gpus else 1
        )
        job.worker = _LocalSlot(worker, gpus)

    def exit(self, job: Job) -> WorkerExit | None:
        """How the worker of a run ended; None while it is active."""
        status: WorkerExit | None = job.worker.worker.exit()
        return status

    def send_signal(self, job: Job, number: int) -> None:
        """Send a signal to the worker of a run.

        Args:
            job: the run.
            number: the number of the signal.
        """
        job.worker.worker.send_signal(number)

    def _gpus(self, how: ExecutionConfig, used: Sequence[str]) -> tuple[str, ...]:
        """The GPUs that are used by the fewest runs; none where the run names its own."""
        if not self.machine.on_gpu(how) or ":" in how.device:
            return ()
        return tuple(sorted(self.machine.gpus, key=used.count)[: how.processes])
