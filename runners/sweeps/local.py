"""Runs as processes on this machine, as many at once as it bears.

The engine keeps nothing of its own: how far a run is, and how it ended, is read from its folder.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

from ..spec import How
from .machine import Machine
from .plan import Planned
from .run_folders import LOG, POINTS, ended, fail, last_row, prepare, stamp, state, tail

WORKER = (sys.executable, "-m", "lawdsl.runners.cpt")
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone")
SWEEP = "LAWDSL_SWEEP"  # the process that a worker works for: when it is gone the worker stops
POLL = 0.1  # seconds between looks at the workers
STOPPED, INTERRUPTED = 75, 130  # exit codes of a worker that was asked to stop, and saved
WRONG = 3  # of one whose input is wrong: it would be again


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    Attributes:
        status: done, diverged, oom, failed; held by another process; stopped, or left, when the
            sweep was.
        message: what is to be said of it.
        log: the last lines of its log, where it failed.
    """

    run: Planned
    status: str
    message: str = ""
    log: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        last = last_row(self.run.folder)
        losses = last.get("losses", {})
        return {
            "label": self.run.label,
            "folder": str(self.run.folder),
            "status": self.status,
            "step": last.get("step"),
            "message": self.message,
            "losses": {name: found["loss"] for name, found in losses.items()},
        }


class Stop:
    """The signal that asked the sweep to stop, 0 as long as none has, and how many came.

    The workers are told of the first, save and end; the second ends them where they are.
    """

    SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGHUP)

    def __init__(self) -> None:
        self.signal = 0
        self.count = 0

    def __enter__(self) -> Stop:
        self._before = [signal.signal(number, self) for number in self.SIGNALS]
        return self

    def __exit__(self, *error: object) -> None:
        for number, before in zip(self.SIGNALS, self._before, strict=True):
            signal.signal(number, before)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.signal = self.signal or number
        self.count += 1

    @property
    def code(self) -> int:
        """The exit code of the sweep: preempted, and to be run again, or interrupted."""
        return INTERRUPTED if self.signal == signal.SIGINT else STOPPED


@dataclass
class _Job:
    """A run at work."""

    run: Planned
    attempts: int = 0
    halved: bool = False
    process: subprocess.Popen[bytes] | None = None
    gpus: tuple[str, ...] = ()
    told: bool = False
    tokens: int = 0
    rows: int = -1  # bytes of its rows when they were last read
    before: tuple[int, int] = (0, 0)  # the stamp of an end that was not final


@dataclass(frozen=True)
class Engine:
    """How runs are carried out.

    Attributes:
        machine: what there is.
        jobs: how many runs at once.
        jobs_per_gpu: how many of them may share a GPU.
        retries: how often a run whose worker dies is tried again, from where it was.
        halve: whether a run that runs out of memory is tried once more with half the micro-batch.
        worker: the command that does the run whose folder is its last argument.
    """

    machine: Machine
    jobs: int
    jobs_per_gpu: int = 1
    retries: int = 2
    halve: bool = False
    worker: tuple[str, ...] = WORKER

    def run(
        self,
        runs: Sequence[Planned],
        stop: Stop,
        ended: Callable[[Outcome], None] = lambda outcome: None,
        progress: Callable[[int, int], None] = lambda tokens, at_work: None,
    ) -> list[Outcome]:
        """Do runs in the order given.

        Args:
            stop: says when to end.
            ended: is told of each run as it ends.
            progress: is told how many tokens the runs have been trained on by now, and how many
                runs are at work.

        Raises:
            LawdslError: a folder that cannot be a run's.
        """
        waiting = [_Job(run, tokens=run.state.tokens) for run in runs]
        working: list[_Job] = []
        found: list[Outcome] = []
        trained = 0
        try:
            while working or (waiting and not stop.count):
                while waiting and len(working) < self.jobs and not stop.count:
                    job = waiting.pop(0)
                    outcome = self._begin(job, working)
                    if outcome is None:
                        working.append(job)
                    else:
                        found.append(outcome)
                        ended(outcome)
                self._tell(working, stop)
                for job in list(working):
                    _look(job)
                    if job.process is None or job.process.poll() is None:
                        continue
                    working.remove(job)
                    outcome = self._judge(job, job.process.returncode, stop)
                    if outcome is None:
                        waiting.insert(0, job)
                        continue
                    trained += job.tokens
                    found.append(outcome)
                    ended(outcome)
                progress(trained + sum(j.tokens for j in (*working, *waiting)), len(working))
                time.sleep(POLL)
        finally:
            for job in working:
                _kill(job, signal.SIGTERM)
        return found + [Outcome(job.run, "left") for job in waiting]

    def _begin(self, job: _Job, working: Iterable[_Job]) -> Outcome | None:
        """Start a run's worker, unless another sweep has done the run meanwhile, or does it."""
        run = job.run
        now = state(run.folder)
        if now.final:
            job.tokens = run.tokens
            return Outcome(run, now.status, now.message)
        if now.held:
            return Outcome(run, "held", now.held)
        prepare(run.folder, run.order)
        job.before = stamp(run.folder)
        job.gpus = self._gpus(run.order.how, working)
        job.attempts += 1
        with (run.folder / LOG).open("ab") as log:
            job.process = subprocess.Popen(
                [*self._command(run.order.how), str(run.folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(run.order.how, job.gpus),
                start_new_session=True,  # what interrupts the sweep must not reach it twice
            )
        return None

    def _command(self, how: How) -> tuple[str, ...]:
        if how.processes == 1:
            return self.worker
        _, *program = self.worker
        return (*TORCHRUN, "--nproc-per-node", str(how.processes), *program)

    def _gpus(self, how: How, working: Iterable[_Job]) -> tuple[str, ...]:
        """The GPUs on which the fewest runs are at work; none where the run names its own."""
        if not self.machine.on_gpu(how) or ":" in how.device:
            return ()
        used = [gpu for job in working for gpu in job.gpus]
        return tuple(sorted(self.machine.gpus, key=used.count)[: how.processes])

    def _tell(self, working: Iterable[_Job], stop: Stop) -> None:
        """Pass on what the sweep was told: to save and end, and then to end at once."""
        for job in working:
            if stop.count > 1:
                _kill(job, signal.SIGKILL)
            elif stop.count and not job.told:
                job.told = True
                if job.process is not None:
                    job.process.send_signal(signal.SIGTERM)  # torchrun passes it on by itself

    def _judge(self, job: _Job, code: int, stop: Stop) -> Outcome | None:
        """What became of a run whose worker has ended; None where it is to be tried again."""
        run = job.run
        end = ended(run.folder) if stamp(run.folder) != job.before else {}
        status, message = str(end.get("status", "")), str(end.get("message") or "")
        if status in ("done", "diverged"):
            job.tokens = run.tokens if status == "done" else job.tokens
            return Outcome(run, status, message)
        if stop.count:
            return Outcome(run, "stopped")
        if status == "oom":
            smaller = self._smaller(job)
            if smaller is None:
                return Outcome(run, status, message)
            job.run, job.halved = smaller, True
            return None
        lines = tail(run.folder)
        if code == WRONG and any("R0408" in line or "R0409" in line for line in lines):
            return Outcome(run, "held", state(run.folder).held or "another process")
        if code != WRONG and job.attempts <= self.retries:
            return None
        why = lines[-1] if code == WRONG and lines else _death(code)
        fail(run.folder, why)
        return Outcome(run, "failed", why, tuple(lines))

    def _smaller(self, job: _Job) -> Planned | None:
        """The same run with half the micro-batch, and so the same batch; None where it cannot be."""
        how, batch = job.run.order.how, job.run.order.run.training.batch
        micro = min(how.micro_batch or batch, -(-batch // how.processes))
        if not self.halve or job.halved or micro == 1:
            return None
        smaller = how.model_copy(update={"micro_batch": micro // 2})
        return replace(job.run, order=job.run.order.model_copy(update={"how": smaller}))


def _environment(how: How, gpus: Sequence[str]) -> dict[str, str]:
    """What a worker sees: its threads and GPUs alone, and no network."""
    threads = str(how.threads)
    found = {
        **os.environ,
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OMP_WAIT_POLICY": "PASSIVE",  # threads that wait must not keep other runs from working
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUNBUFFERED": "1",
        SWEEP: str(os.getpid()),
    }
    if gpus:
        found["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
    return found


def _look(job: _Job) -> None:
    """Read how many tokens a run has been trained on, if its rows have grown."""
    with suppress(OSError):
        size = (job.run.folder / POINTS).stat().st_size
        if size != job.rows:
            job.rows = size
            job.tokens = int(last_row(job.run.folder).get("tokens", 0))


def _kill(job: _Job, number: int) -> None:
    """A signal to a worker and all that it has started."""
    if job.process is not None and job.process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(job.process.pid, number)


def _death(code: int) -> str:
    if code >= 0:
        return f"its worker ended with exit code {code}"
    name = signal.Signals(-code).name
    by = ", as the system does where memory runs out" if name == "SIGKILL" else ""
    return f"its worker was killed by {name}{by}"
