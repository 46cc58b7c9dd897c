"""A sweep and its inputs -> its estimated cost: tokens, passes over the corpora, FLOP, time, disk.

The time is that of list scheduling, the longest run first: each run starts on the first free slot
(Graham (1969), SIAM Journal on Applied Mathematics 17), and a branch after its stable run has the
checkpoint.
"""

from __future__ import annotations

import heapq
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import abridged
from lawdsl.core.presentation import Presented

from ..run import costs, streams
from ..run.disk import free_bytes
from ..spec import RunOrder
from .branches import first_step, stable_folder
from .grid import folder_of
from .inputs import SweepInputs
from .machine import Machine
from .memory import RunMemory, memory_problems, run_memory
from .run_folders import RunState, folders_by_identity, read_state, unexpected_folders
from .sweep import Sweep
from .warnings import disk_space_problem, model_warnings, unused_settings

CPU_FLOPS_PER_CORE = 35e9  # FLOP/s: models of 0.2M to 3M parameters reached 30 to 55e9 in float32
GPU_FLOPS = 100e12  # FLOP/s where the peak of a GPU is unknown
ASSUMED_UTILISATION = 0.35  # of a known peak
START_SECONDS = 10.0  # before a run's first step: libraries, data, model
MAX_RUNS_LISTED = 5  # maximum number of runs listed in a message


@dataclass(frozen=True)
class PlannedRun:
    """A run of the plan.

    Attributes:
        order: its specification.
        folder: its folder.
        state: its progress.
        tokens: number of tokens it is trained on in total, without those of its stable run.
        flops: FLOP of training and evaluations.
        seconds: estimated remaining time; 0 for a finished run.
        begins: the last step taken from the stable run instead of being trained; 0 without one.
        memory: its memory; None if it cannot be estimated.
        uncounted: why not, if the model is the reason.
    """

    order: RunOrder
    folder: Path
    state: RunState
    tokens: int
    flops: float
    seconds: float
    begins: int = 0
    memory: RunMemory | None = None
    uncounted: str = ""

    @property
    def label(self) -> str:
        """The name of the run in messages."""
        return self.order.label

    @property
    def complete(self) -> bool:
        """Whether all that is asked of it is done."""
        return self.state.completes(self.order)

    @property
    def tokens_per_step(self) -> int:
        """Number of tokens per step."""
        return self.order.run.training.batch * self.order.run.training.sequence

    def trained(self, tokens: int) -> int:
        """Return the number of tokens that the run itself was trained on at a row.

        Args:
            tokens: the tokens of the row, including those of its stable run.

        Returns:
            The number without them.
        """
        return max(0, tokens - self.begins * self.tokens_per_step)


@dataclass(frozen=True)
class CorpusDemand:
    """The maximum demand of the runs on a corpus, in rows of their length.

    Attributes:
        corpus: its name.
        tokens: number of tokens of the corpus.
        needed: maximum over runs of the required number of tokens.
        epochs: number of passes of that run.
        allowed: maximum number of passes allowed.
    """

    corpus: str
    tokens: int
    needed: int
    epochs: float
    allowed: float


@dataclass(frozen=True)
class Plan(Presented):
    """A sweep before it starts.

    Attributes:
        name: the name of the sweep.
        folder: the folder of its runs.
        runs: all of them.
        supplies: the demand on each corpus that is used.
        others: existing folders of runs that are not part of this sweep.
        jobs: the number of runs at once.
        rate: the basis of the time estimates.
        seconds: estimated time until all runs are done.
        disk: upper bound of the required bytes.
        free: free bytes.
        warnings: warnings to display before it starts.
        errors: why it cannot start; only in a plan that is merely printed.
    """

    name: str
    folder: Path
    runs: tuple[PlannedRun, ...]
    supplies: tuple[CorpusDemand, ...]
    others: tuple[Path, ...]
    jobs: int
    rate: str
    seconds: float
    disk: int
    free: int
    warnings: tuple[Diagnostic, ...] = ()
    errors: tuple[Diagnostic, ...] = ()

    @property
    def to_do(self) -> list[PlannedRun]:
        """The unfinished runs, the longest first, to shorten the total time."""
        unfinished = [run for run in self.runs if not run.complete]
        return sorted(unfinished, key=_longest_first)

    def to_json(self) -> dict[str, Any]:
        """The plan as plain data; the keys are stable."""
        return {
            "name": self.name,
            "folder": str(self.folder),
            "jobs": self.jobs,
            "rate": self.rate,
            "seconds": self.seconds,
            "disk": self.disk,
            "free": self.free,
            "runs": [
                {
                    "label": run.label,
                    "model": run.order.run.model.name,
                    "N": run.order.columns["N"],
                    "identity": run.order.run.identity(),
                    "folder": str(run.folder),
                    "status": run.state.status,
                    "step": run.state.step,
                    "steps": run.order.last_step,
                    "begins": run.begins,
                    "stable": bool(run.order.branch_steps),
                    "held": run.state.held_by or None,
                    "tokens": run.tokens,
                    "D": run.order.last_step * run.tokens_per_step,
                    "domain": run.order.columns.get("domain"),
                    "shares": {n: float(s.fraction) for n, s in run.order.run.corpora.items()},
                    "losses": dict(run.state.losses),
                    "flop": run.flops,
                    "seconds": run.seconds,
                    "memory": run.memory and run.memory.to_json(),
                    "memory_unknown": run.uncounted or None,
                }
                for run in self.runs
            ],
            "corpora": [vars(supply) for supply in self.supplies],
            "others": [str(folder) for folder in self.others],
        }


def plan_of(
    sweep: Sweep,
    inputs: SweepInputs,
    orders: Sequence[RunOrder],
    machine: Machine,
    jobs: int,
    jobs_per_gpu: int = 1,
    *,
    refuse: bool = True,
) -> Plan:
    """Plan the remaining runs of a sweep, and estimate their cost.

    Args:
        sweep: the sweep.
        inputs: the facts of its corpora and models.
        orders: the orders of its runs.
        machine: its cores and GPUs.
        jobs: the number of runs at once.
        jobs_per_gpu: the number of them that share a GPU.
        refuse: whether to raise errors; otherwise they are stored in the plan.

    Returns:
        The plan.

    Raises:
        LawdslError: runs that would go through a corpus more often than is allowed (R0106), that
            certainly write more than the free space (R0119) or need more memory than there is
            (R0125), or of a precision that the CPU lacks (R0501).
    """
    existing = folders_by_identity(sweep.folder)
    folders = [folder_of(sweep, order, existing) for order in orders]
    states = [read_state(folder) for folder in folders]
    speeds, rate = _estimated_speeds(inputs, orders, states, machine)
    runs = tuple(
        _plan_run(order, folder, run_state, inputs, speeds, machine, jobs_per_gpu)
        for order, folder, run_state in zip(orders, folders, states, strict=True)
    )
    unfinished = [run for run in runs if not run.complete]
    queue = sorted(unfinished, key=_longest_first)
    needed, available = _estimated_bytes(unfinished, inputs, jobs), free_bytes(sweep.folder)
    room = disk_space_problem(
        needed, _certain_bytes(unfinished, inputs), available, str(sweep.folder)
    )
    supplies, too_small = _corpus_demands(sweep, inputs, orders)
    memory = memory_problems(
        {run.order.run.model.name: run.memory for run in unfinished}, jobs, str(sweep.path)
    )
    precision = _lacking_precision(sweep, unfinished, machine)
    problems = [*too_small, *precision, *([room] if room else []), *memory]
    errors = tuple(problem for problem in problems if problem.severity == "error")
    if errors and refuse:
        raise LawdslError(errors)
    warnings = [problem for problem in problems if problem.severity != "error"]
    return Plan(
        name=sweep.name,
        folder=sweep.folder,
        runs=runs,
        supplies=supplies,
        others=() if sweep.is_selection else tuple(unexpected_folders(sweep.folder, folders)),
        jobs=jobs,
        rate=rate,
        seconds=_makespan([run.seconds for run in queue], jobs, _precedence(queue)),
        disk=needed,
        free=available,
        warnings=(*model_warnings(sweep, inputs), *unused_settings(sweep), *warnings),
        errors=errors,
    )


def _longest_first(run: PlannedRun) -> tuple[float, str]:
    return -run.seconds, run.label


def _plan_run(
    order: RunOrder,
    folder: Path,
    run_state: RunState,
    inputs: SweepInputs,
    speeds: Mapping[str, float],
    machine: Machine,
    jobs_per_gpu: int,
) -> PlannedRun:
    training, model = order.run.training, order.run.model.name
    begins = first_step(folder, order, run_state.final)
    trained = (order.last_step - begins) * training.batch * training.sequence
    flops = flops_until(order, order.last_step, inputs, begins)
    step = max(run_state.step, begins)
    steps_left = 0 if run_state.completes(order) else max(0, order.last_step - step)
    fraction_left = steps_left / (order.last_step - begins)
    seconds = fraction_left * flops / speeds[model] + START_SECONDS * (fraction_left > 0)
    memory = run_memory(inputs.models[model], training, order.how, machine, jobs_per_gpu)
    uncounted = inputs.models[model].uncounted
    return PlannedRun(order, folder, run_state, trained, flops, seconds, begins, memory, uncounted)


def flops_until(order: RunOrder, step: int, inputs: SweepInputs, begins: int = 0) -> float:
    """FLOP of the training and evaluations of a run until a step.

    Args:
        order: its specification.
        step: the last step.
        inputs: the facts of the corpora and models of its sweep.
        begins: the last step that is taken from a stable run instead of being trained.
    """
    training = order.run.training
    a_step = training.batch * training.sequence
    per_token = inputs.models[order.run.model.name].flops_per_token(training.sequence)
    validation = sum(
        set_.windows(training.sequence) * training.sequence for set_ in inputs.validation.values()
    )
    evaluations = sum(at <= step and (at > begins or not begins) for at in order.run.evaluate)
    # a forward pass takes a third of the FLOP of an update
    return per_token * ((step - begins) * a_step + evaluations * validation / 3)


def _estimated_speeds(
    inputs: SweepInputs, orders: Sequence[RunOrder], states: Sequence[RunState], machine: Machine
) -> tuple[dict[str, float], str]:
    """Model -> FLOP/s of its runs, and the source of the estimate.

    Measured on runs of the same model, else on those of other models, else a rough rate.
    """
    measured: dict[str, list[float]] = {name: [] for name in inputs.models}
    rough: dict[str, float] = {}
    for order, run_state in zip(orders, states, strict=True):
        name, sequence = order.run.model.name, order.run.training.sequence
        gpu = machine.on_gpu(order.how)
        # the speed of a CPU does not predict that of a GPU
        if run_state.rate and (run_state.device != "cpu") == gpu:
            measured[name].append(run_state.rate * inputs.models[name].flops_per_token(sequence))
        if gpu:
            precision = order.run.training.precision
            peaks = [costs.peak_flops(kind, precision) for kind in machine.gpus.values()]
            per_process = min(
                (ASSUMED_UTILISATION * peak for peak in peaks if peak), default=GPU_FLOPS
            )
        else:
            # threads in excess of the cores share them
            busy = min(order.how.threads * order.how.processes_per_node, machine.cores)
            per_process = CPU_FLOPS_PER_CORE * busy / order.how.processes_per_node
        rough[name] = per_process * order.how.processes
    medians = {name: statistics.median(rates) for name, rates in measured.items() if rates}
    names = list(rough)
    if medians and len(medians) < len(names):
        overall = statistics.median(medians.values())
        return {n: medians.get(n, overall) for n in names}, "measured on some of these models"
    if medians:
        return medians, "measured on these models"
    fastest = max(rough.values(), default=CPU_FLOPS_PER_CORE)
    return rough, f"a rough guess, {fastest:.2g} FLOP/s a run: none has measured its speed here yet"


def _lacking_precision(
    sweep: Sweep, runs: Sequence[PlannedRun], machine: Machine
) -> Iterator[Diagnostic]:
    """An error for each model that is to be trained in TF32 on a CPU."""
    for name, order in {run.order.run.model.name: run.order for run in runs}.items():
        if order.run.training.precision == "tf32" and not machine.on_gpu(order.how):
            location = f"{sweep.path}: models.{name}"
            help = 'precision = "float32" in [training], or a GPU'
            yield Diagnostic("R0501", "a CPU has no TF32", place=location, help=help)


def _corpus_demands(
    sweep: Sweep, inputs: SweepInputs, orders: Sequence[RunOrder]
) -> tuple[tuple[CorpusDemand, ...], list[Diagnostic]]:
    """The demand on each corpus that is used, and an error for each corpus that is too small."""
    largest: dict[str, CorpusDemand] = {}
    short: dict[str, list[RunOrder]] = {}
    for order in orders:
        run, training = order.run, order.run.training
        windows = {name: inputs.corpora[name].windows(training.sequence) for name in run.corpora}
        mix = streams.mixture_of(run, windows)
        rows = dict(zip(mix.names, streams.rows_drawn(mix, order.last_step), strict=True))
        for name, source in run.corpora.items():
            epochs = rows[name] / windows[name]
            needed = rows[name] * training.sequence
            supply = CorpusDemand(
                name, inputs.corpora[name].tokens, needed, epochs, source.max_epochs
            )
            if name not in largest or epochs > largest[name].epochs:
                largest[name] = supply
            if epochs > source.max_epochs:
                short.setdefault(name, []).append(order)
    errors = [_too_small(sweep, largest[name], runs) for name, runs in short.items()]
    return tuple(largest[name] for name in inputs.corpora if name in largest), errors


def _too_small(sweep: Sweep, supply: CorpusDemand, orders: Sequence[RunOrder]) -> Diagnostic:
    """The error for a corpus that is too small for some runs, with the sizes that suffice."""
    name = supply.corpus
    labels = [order.label for order in orders]
    steps = max(order.run.training.steps for order in orders)
    fewer = int(steps * supply.allowed / supply.epochs)
    # rounded first: an exact number of tenths must not be rounded up because of floating-point
    # error
    passes = math.ceil(round(10 * supply.epochs, 6)) / 10
    help = f"train for {fewer:,} steps at most, bring more text, or allow it: "
    help += f"{name} = {{folder = …, max_epochs = {passes:g}}}"
    if not fewer:
        help = "one step takes more than there is: make training.batch smaller, or bring more text"
    return Diagnostic(
        "R0106",
        f"the corpus {name} has {supply.tokens:,} tokens, a run needs {supply.needed:,}:"
        f" {supply.epochs:.3g} passes, and {supply.allowed:g} allowed",
        place=f"{sweep.path}: corpora.{name}",
        notes=(f"too small for {abridged(labels, MAX_RUNS_LISTED)}",),
        help=help,
    )


def _makespan(
    seconds: Sequence[float], jobs: int, after: Mapping[int, tuple[int, float]] | None = None
) -> float:
    """The time at which the last run ends, with `jobs` at once, started in the given order.

    `after` maps the number of a branch to that of its stable run, and the time that this takes
    until the branch can start.
    """
    precedence = after or {}
    waiting, started = list(range(len(seconds))), dict[int, float]()

    def ready(number: int) -> float:
        """The earliest start time of a run; infinite while its stable run has not started."""
        if number not in precedence:
            return 0.0
        stable, delay = precedence[number]
        return started.get(stable, math.inf) + delay

    busy, last = [0.0] * jobs, 0.0
    while waiting:
        now = max(heapq.heappop(busy), min(map(ready, waiting)))
        number = next(number for number in waiting if ready(number) <= now)
        waiting.remove(number)
        started[number] = now
        heapq.heappush(busy, now + seconds[number])
        last = max(last, now + seconds[number])
    return last


def _precedence(runs: Sequence[PlannedRun]) -> dict[int, tuple[int, float]]:
    """Number of a branch -> number of its stable run, and seconds until its checkpoint.

    Branches whose stable run is not among the runs can start at once.
    """
    numbers = {run.folder: number for number, run in enumerate(runs)}
    after = {}
    for number, run in enumerate(runs):
        folder = stable_folder(run.folder, run.order)
        if folder in numbers and run.begins:
            stable = runs[numbers[folder]]
            step, steps = stable.state.step, stable.order.last_step
            part = (run.begins - step) / (steps - step) if steps > step else 0.0
            after[number] = (numbers[folder], max(0.0, part) * stable.seconds)
    return after


def _estimated_bytes(unfinished: Sequence[PlannedRun], inputs: SweepInputs, jobs: int) -> int:
    """Bytes: three checkpoints of every active run, those that stable runs keep for branches, and
    the model of each run that is done."""
    kept = sum(
        len(run.order.branch_steps)
        * costs.checkpoint_bytes(inputs.models[run.order.run.model.name].parameters)
        for run in unfinished
    )
    sizes = [inputs.models[run.order.run.model.name].parameters for run in unfinished]
    working = sum(sorted(sizes, reverse=True)[:jobs])
    final_models = sum(
        n for n, run in zip(sizes, unfinished, strict=True) if run.order.how.save_final
    )
    return 3 * costs.checkpoint_bytes(working) + kept + 4 * final_models


def _certain_bytes(unfinished: Sequence[PlannedRun], inputs: SweepInputs) -> int:
    """The minimum of required bytes: all final models, plus the checkpoints of the last run, or of
    an earlier run if these are larger.
    """
    saved, final_models = [], 0
    for run in unfinished:
        parameters = inputs.models[run.order.run.model.name].parameters
        # a resumed run replaces its earlier checkpoints
        interval, steps = run.order.how.checkpoint_every, run.order.run.training.steps
        reached = steps // interval > run.begins // interval or bool(run.order.branch_steps)
        saves = not run.state.step and reached
        saved.append(costs.checkpoint_bytes(parameters) if saves else 0)
        final_models += 4 * parameters if run.order.how.save_final else 0
    return max(max(saved, default=0), final_models + min(saved, default=0))
