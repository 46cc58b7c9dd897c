"""Runs as processes on this machine, as many at once as it bears."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..run.locks import release
from ..spec import ExecutionConfig
from . import workers
from .machine import Machine
from .plan import Planned
from .scheduler import Job, Outcome, Policy, StopRequest, carry_out
from .workers import Exit


@dataclass(frozen=True)
class _LocalSlot:
    """Where a run is at work."""

    worker: workers.Worker
    gpus: tuple[str, ...]


@dataclass(frozen=True)
class LocalEngine:
    """How runs are carried out on one machine.

    Attributes:
        machine: what there is.
        jobs: how many runs at once.
        policy: what is done about runs that do not go through.
        worker: the command that does the run whose folder is its last argument.
    """

    machine: Machine
    jobs: int
    policy: Policy = Policy()
    worker: tuple[str, ...] = workers.WORKER

    def run(
        self,
        runs: Sequence[Planned],
        stop: StopRequest,
        ended: Callable[[Outcome], None] = lambda outcome: None,
        progress: Callable[[int, int], None] = lambda tokens, at_work: None,
    ) -> list[Outcome]:
        """Do runs in the order given; see `carry_out`."""
        return carry_out(self, runs, stop, ended, progress)

    def hopeless(self, waiting: Sequence[Job]) -> str:
        return ""

    def ready(self, job: Job, working: Sequence[Job]) -> bool:
        return len(working) < self.jobs

    def held(self, job: Job, holder: str) -> str:
        return "" if holder and self.policy.steal and release(job.run.folder) else holder

    def begin(self, job: Job, working: Sequence[Job]) -> None:
        run = job.run
        gpus = self._gpus(run.order.how, [gpu for other in working for gpu in other.worker.gpus])
        job.worker = _LocalSlot(
            workers.start(run.folder, run.order.how, self.worker, gpus or None), gpus
        )

    def exit(self, job: Job) -> Exit | None:
        status: Exit | None = job.worker.worker.exit()
        return status

    def tell(self, job: Job, number: int) -> None:
        job.worker.worker.tell(number)

    def _gpus(self, how: ExecutionConfig, used: Sequence[str]) -> tuple[str, ...]:
        """The GPUs that are used by the fewest runs; none where the run names its own."""
        if not self.machine.on_gpu(how) or ":" in how.device:
            return ()
        return tuple(sorted(self.machine.gpus, key=used.count)[: how.processes])
