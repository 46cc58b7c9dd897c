"""Runs and an engine -> outcomes: runs are started in order, monitored, evaluated and retried.

The progress and the end of a run are read from its folder; an engine provides machines, and has no
state that is needed later.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..run.exit_status import FINAL, PAUSED, WRONG, newest_checkpoint, stopped
from ..run.live import LIVE, LiveProgress, read_live
from ..run.metrics_log import POINTS
from ..run.step_plan import read_step_plan
from ..spec import RunOrder
from .branches import can_begin, release, stable_folder
from .plan import PlannedRun
from .run_folders import append_to_log, fail, last_row, losses_of, prepare, read_state
from .workers import WorkerExit

POLL = 0.1  # seconds between checks of the workers
# Codes with which a worker reports that another process has locked the run.
HELD = ("error[R0408]", "error[R0409]")


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run.

    Attributes:
        status: done, paused, diverged, oom, failed; held by another process; stopped or left when the sweep
            was stopped, or left when no machine remained for it.
        message: the cause, for the user.
        log: the last lines of its log, if it failed.
    """

    run: PlannedRun
    status: str
    message: str = ""
    log: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The outcome as plain data; the keys are stable."""
        last = last_row(self.run.folder)
        return {
            "label": self.run.label,
            "folder": str(self.run.folder),
            "status": self.status,
            "step": last.get("step"),
            "message": self.message,
            "losses": losses_of(last),
            "branches": len(self.run.order.branch_steps),
        }


class StopRequest:
    """The signal that requested the sweep to stop, 0 for none, and the number of signals.

    The first makes the workers save and end; the second ends them at once.

    Args:
        announce: called at the first signal, from the signal handler, to notify the user.
    """

    SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGHUP)

    def __init__(self, announce: Callable[[], None] = lambda: None) -> None:
        self.signal = 0
        self.count = 0
        self.announce = announce

    def __enter__(self) -> StopRequest:
        self._before = [signal.signal(number, self) for number in self.SIGNALS]
        return self

    def __exit__(self, *error: object) -> None:
        for number, before in zip(self.SIGNALS, self._before, strict=True):
            signal.signal(number, before)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.signal = self.signal or number
        self.count += 1
        if self.count == 1:
            self.announce()

    @property
    def code(self) -> int:
        """The exit code of the sweep: preempted, to be repeated, or interrupted."""
        return stopped(self.signal)


@dataclass(frozen=True)
class Policy:
    """The handling of failed runs.

    Attributes:
        retries: maximum number of restarts of a run whose worker or node is lost.
        halve: whether a run that is out of memory is retried with half the micro-batch, until it
            fits. If the run has chosen its micro-batch automatically, it always is.
        steal: whether to take over runs whose lock names another host, on a cluster one outside of
            it.
    """

    retries: int = 2
    halve: bool = False
    steal: bool = False


@dataclass(frozen=True)
class SweepSpeed:
    """The speed of the active runs of a sweep.

    Attributes:
        tokens_per_second: the sum over runs; 0 if none is known yet.
        mfu: the mean model FLOPs utilisation over runs, 0 to 1; None if none is known.
    """

    tokens_per_second: float = 0.0
    mfu: float | None = None


Progress = Callable[[int, int, SweepSpeed], None]


@dataclass(eq=False)
class Job:
    """A run to be executed.

    Attributes:
        halving: whether its micro-batch has been halved.
        worker: the worker object of the engine for the current or last attempt.
        signals_sent: the number of signals that its worker has received.
        retry_reason: why it is retried, and how.
    """

    run: PlannedRun
    attempts: int = 0
    halving: bool = False
    worker: Any = None
    signals_sent: int = 0
    retry_reason: str = ""
    tokens: int = 0
    rows: int = -1  # size of its rows when they were last read
    live: LiveProgress | None = None
    live_time: int = -1  # modification time of its live progress, in ns

    def read_progress(self) -> None:
        """Read the number of tokens trained on, if the rows or live progress have changed."""
        with suppress(OSError):
            size = (self.run.folder / POINTS).stat().st_size
            if size != self.rows:
                self.rows = size
                row_tokens = int(last_row(self.run.folder).get("tokens", 0))
                self.tokens = max(self.tokens, self.run.trained(row_tokens))
        with suppress(OSError):
            written = (self.run.folder / LIVE).stat().st_mtime_ns
            if written != self.live_time:
                self.live_time, self.live = written, read_live(self.run.folder)
        if self.live is not None:
            self.tokens = max(self.tokens, self.run.trained(self.live.tokens))


class Engine(Protocol):
    """Starts and monitors the workers of runs."""

    @property
    def policy(self) -> Policy:
        """The handling of failed runs."""

    def why_blocked(self, waiting: Sequence[Job]) -> str:
        """Why none of the waiting runs can ever start; empty if some may."""

    def ready(self, job: Job, working: Sequence[Job]) -> bool:
        """Decide whether a run can start in addition to the active ones.

        Args:
            job: the run.
            working: the active runs.

        Returns:
            Whether there are enough resources.
        """

    def lock_holder(self, job: Job, holder: str) -> str:
        """Return the process that has locked a run.

        Args:
            job: the run.
            holder: the process in its lock file on this host; empty for none.

        Returns:
            The process; empty if the run is free.
        """

    def begin(self, job: Job, working: Sequence[Job]) -> None:
        """Start a worker for a run.

        Args:
            job: the run.
            working: the active runs.
        """

    def exit(self, job: Job) -> WorkerExit | None:
        """How the worker ended; None while it is active."""

    def send_signal(self, job: Job, number: int) -> None:
        """Send a signal to the worker: SIGTERM to save and end, SIGKILL to end.

        Args:
            job: the run.
            number: the number of the signal.
        """


class Machines(Protocol):
    """The resources for runs: this machine, or a cluster."""

    def engine(self, runs: Sequence[PlannedRun]) -> Engine:
        """Return the engine for some runs, after a check that it can execute them.

        Args:
            runs: at least one.

        Raises:
            LawdslError: nodes that do not see the folders (R0115).
        """


def run_jobs(
    machines: Machines,
    runs: Sequence[PlannedRun],
    stop: StopRequest,
    ended: Callable[[RunOutcome], None] = lambda outcome: None,
    progress: Progress = lambda tokens, at_work, speed: None,
    retried: Callable[[PlannedRun, str], None] = lambda run, why: None,
) -> list[RunOutcome]:
    """Execute runs, in the order given where resources permit.

    Args:
        machines: the resources for the runs.
        runs: the runs.
        stop: the request to end.
        ended: called with the outcome of each run as it ends.
        progress: called with the number of tokens trained on so far, the number of active runs, and
            their speed.
        retried: called with each run that is retried, and the reason.

    Returns:
        The outcomes, in the order in which the runs ended, then those of runs that never started.

    Raises:
        LawdslError: a folder that cannot be a run's, a worker that cannot be started (R0107), or
            nodes that do not see the folders (R0115).
    """
    if not runs:
        return []
    engine = machines.engine(runs)
    waiting = [Job(run, tokens=run.trained(run.state.tokens)) for run in runs]
    working: list[Job] = []
    outcomes: list[RunOutcome] = []
    trained, why = 0, ""
    branches: dict[Path, list[tuple[Path, RunOrder]]] = {}
    for run in runs:
        if stable := stable_folder(run.folder, run.order):
            branches.setdefault(stable, []).append((run.folder, run.order))

    def end(job: Job, outcome: RunOutcome) -> None:
        nonlocal trained
        trained += job.tokens
        outcomes.append(outcome)
        ended(outcome)
        release(branches.get(stable_folder(job.run.folder, job.run.order) or job.run.folder, ()))
        if job.run.order.branch_steps and outcome.status not in FINAL and not stop.count:
            for branch in [j for j in waiting if _waits_for(j, job)]:
                waiting.remove(branch)
                why = f"their stable run {job.run.label} is not done"
                end(branch, RunOutcome(branch.run, "left", why))

    try:
        while working or (waiting and not stop.count and not why):
            unfinished = {job.run.folder for job in (*working, *waiting)}
            # a copy, because jobs are removed from the list in the loop
            for job in list(waiting):
                # the end of a run may have removed its branches
                if stop.count or job not in waiting or not engine.ready(job, working):
                    continue
                if not can_begin(job.run.folder, job.run.order, unfinished):
                    continue
                waiting.remove(job)
                outcome = _start_run(engine, job, working)
                if outcome is None:
                    working.append(job)
                else:
                    end(job, outcome)
            _forward_signals(engine, working, stop)
            for job in list(working):
                job.read_progress()
                exit = engine.exit(job)
                if exit is None:
                    continue
                working.remove(job)
                outcome = _outcome_of(engine, job, exit, stop)
                if outcome is None:
                    # first in the queue: started runs are finished before new ones start
                    waiting.insert(0, job)
                    retried(job.run, job.retry_reason)
                else:
                    end(job, outcome)
            tokens = trained + sum(j.tokens for j in (*working, *waiting))
            progress(tokens, len(working), _speed_of(working))
            time.sleep(POLL)
            why = engine.why_blocked(waiting)
    finally:
        for job in working:
            # also after an error here: workers must save before the sweep ends
            engine.send_signal(job, signal.SIGTERM)
    return outcomes + [RunOutcome(job.run, "left", why) for job in waiting]


def _speed_of(working: Sequence[Job]) -> SweepSpeed:
    """The speed of the active runs, as far as it is known."""
    live = [job.live for job in working if job.live is not None]
    known = [progress.mfu for progress in live if progress.mfu is not None]
    mfu = sum(known) / len(known) if known else None
    return SweepSpeed(sum(progress.tokens_per_second for progress in live), mfu)


def _start_run(engine: Engine, job: Job, working: Sequence[Job]) -> RunOutcome | None:
    """Start the worker of a run, unless another sweep has completed the run or is executing it."""
    run = job.run
    now = read_state(run.folder)
    if now.completes(run.order):
        job.tokens = run.tokens
        return RunOutcome(run, now.status, now.message)
    if holder := engine.lock_holder(job, now.held_by):
        return RunOutcome(run, "held", holder)
    prepare(run.folder, run.order)
    job.attempts += 1
    try:
        engine.begin(job, working)
    except OSError as error:
        message = f"no process can be started for the run {run.label}: {error.strerror}"
        help = "make room on the disk or in memory; the same command resumes the runs"
        raise LawdslError(Diagnostic("R0107", message, place=str(run.folder), help=help)) from None
    return None


def _waits_for(branch: Job, stable: Job) -> bool:
    """Whether a run is a branch that has to wait for a stable run."""
    return not can_begin(branch.run.folder, branch.run.order, {stable.run.folder})


def _forward_signals(engine: Engine, working: Sequence[Job], stop: StopRequest) -> None:
    """Forward the signals of the sweep: the first to save and end, the second to end at once."""
    for job in working:
        if job.signals_sent < min(stop.count, 2):
            job.signals_sent = min(stop.count, 2)
            engine.send_signal(job, signal.SIGTERM if job.signals_sent == 1 else signal.SIGKILL)


def _outcome_of(engine: Engine, job: Job, exit: WorkerExit, stop: StopRequest) -> RunOutcome | None:
    """The outcome of a run whose worker has ended; None if it is to be retried."""
    run = job.run
    status, message = str(exit.end.get("status", "")), str(exit.end.get("message") or "")
    if status in (*FINAL, PAUSED):
        job.tokens = job.tokens if status == "diverged" else run.tokens
        return RunOutcome(run, status, message)
    # only now: a run that finished while it was requested to stop is done
    if stop.count:
        return RunOutcome(run, "stopped")
    if status == "oom":
        smaller = _half_micro_batch(run, engine.policy.halve or job.halving)
        if smaller is None:
            return RunOutcome(run, status, message)
        job.run, job.halving = smaller, True
        micro = smaller.order.how.micro_batch
        job.retry_reason = f"out of memory; it is tried again with a micro-batch of {micro}"
        return None
    wrong = exit.code == WRONG
    last_error = next((line for line in reversed(exit.log) if line.startswith("error[")), "")
    if wrong and last_error.startswith(HELD):
        return RunOutcome(run, "held", read_state(run.folder).held_by or "another process")
    if not wrong and job.attempts <= engine.policy.retries:
        append_to_log(run.folder, f"{exit.why}; the run is started again")
        step = newest_checkpoint(run.folder)
        job.retry_reason = f"{exit.why}; it is " + (
            f"resumed from step {step:,}" if step else "started again"
        )
        return None
    why = last_error if wrong and last_error else exit.why
    try:
        fail(run.folder, why, exit.log)
    except OSError as error:
        why += f" (which could not be written there: {error.strerror})"
    return RunOutcome(run, "failed", why, exit.log)


def _half_micro_batch(run: PlannedRun, halve: bool) -> PlannedRun | None:
    """The run with half the micro-batch and an equal batch; None if it cannot be halved.

    Args:
        run: the run that was out of memory.
        halve: whether to halve micro-batches set by the user.
    """
    how, batch = run.order.how, run.order.run.training.batch
    # only runs on GPUs store a plan
    chosen = read_step_plan(run.folder) if how.micro_batch is None else None
    if chosen is None and not halve:
        return None
    micro = min(how.micro_batch or (chosen.micro if chosen else batch), -(-batch // how.processes))
    if micro == 1:
        return None
    smaller = how.model_copy(update={"micro_batch": micro // 2})
    return replace(run, order=run.order.model_copy(update={"how": smaller}))
