"""The settings of a model -> its runs in a cell of the grid: one run, or a stable run and branches.

A stable run has a warm-up and then a constant learning rate; from its checkpoints branch runs with
short decays, one for each number of tokens: Hu et al. (2024), arXiv:2404.06395, section 4; Hägele
et al. (2024), arXiv:2405.18392. A branch is equal to an independent run with the schedule
warmup-stable-decay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..run.evaluation_steps import Schedule, steps
from ..run.schedules import check_schedule
from ..spec import Training
from .file import Branching

LOCATION = "schedule.branches"
OWN_FIELDS = ("schedule", "decay")  # fields of [training] that are determined by [schedule]


@dataclass(frozen=True)
class TrainingStage:
    """One of the runs of a cell.

    Attributes:
        training: its training settings.
        evaluate: the steps after which it is evaluated.
        begins: the last step that it shares with the stable run of the cell; 0 without one.
        branch_steps: in a stable run, the steps at which branches start.
        suffix: the end of its label.
    """

    training: Training
    evaluate: tuple[int, ...]
    begins: int = 0
    branch_steps: tuple[int, ...] = ()
    suffix: str = ""

    @property
    def has_rows(self) -> bool:
        """Whether it is evaluated after training, so that it contributes rows to a table."""
        return self.evaluate[-1] > 0


def stages_of(
    training: Training, evaluation: Schedule, branching: Branching | None
) -> tuple[tuple[TrainingStage, ...], list[Diagnostic]]:
    """Return the runs of each cell of a model, a stable run before its branches.

    Args:
        training: the settings of the model's runs.
        evaluation: the schedule of evaluations; with branches, at constant rate only if requested.
        branching: the branches; None for one run per cell.

    Returns:
        The runs, and the mistakes: a schedule that does not fit (R0701, R0702), branches that do
        not differ or have no steps before their decay (R0102).
    """
    if branching is not None:
        return _branches(training, evaluation, branching)
    problems = list(_schedule_problems(training))
    try:
        return (TrainingStage(training, steps(evaluation, training.steps)),), problems
    except LawdslError as error:
        return (), [*problems, *error.diagnostics]


def doubly_specified(raw: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """Yield errors about fields of [training] or of a model that are determined by [schedule].

    Args:
        raw: the tables of a sweep's file.

    Returns:
        An iterator over diagnostics, R0102.
    """
    if "schedule" not in raw:
        return
    models = raw.get("models")
    tables = [("training", raw.get("training"))]
    tables += [
        (f"models[{number}]", model)
        for number, model in enumerate(models if isinstance(models, list) else (), 1)
    ]
    for table_name, table in tables:
        for name in OWN_FIELDS:
            if isinstance(table, dict) and name in table:
                location = f"{table_name}.{name}"
                message = f"{location} and the table [schedule] both specify the learning rate"
                help = "leave one of them out"
                yield Diagnostic("R0102", message, place=location, help=help)


def _branches(
    training: Training, evaluation: Schedule, branching: Branching
) -> tuple[tuple[TrainingStage, ...], list[Diagnostic]]:
    if branching.decay_steps is not None and "decay" in branching.model_fields_set:
        message = "schedule.decay and schedule.decay_steps both specify the length of a decay"
        return (), [_mistake(message, "leave one of them out", "schedule.decay_steps")]
    ends = sorted(_rounded(Fraction(part) * training.steps) for part in branching.branches)
    runs = [_decaying(training, end, branching) for end in ends if end]
    problems = list(_distinct(ends, training.steps))
    problems += (problem for run in runs for problem in _branch_problems(run, branching))
    if problems:
        return (), problems
    begins = [run.steps - run.decay for run in runs]
    constant: Sequence[int] = (0,)
    if branching.constant_rows:
        try:
            constant = steps(evaluation, training.steps)
        except LawdslError as error:
            return (), list(error.diagnostics)
    several = len(runs) > 1
    branches = [
        TrainingStage(
            run,
            (*_steps_until(constant, begin), run.steps),
            begins=begin if several else 0,
            suffix=f"_steps={run.steps}",
        )
        for run, begin in zip(runs, begins, strict=True)
    ]
    if not several:  # no steps to share
        return tuple(branches), []
    stable = training.model_copy(
        update={
            "steps": begins[-1],
            "schedule": "constant",
            # without effect at a constant rate, and therefore not part of the run's identity
            "decay": 0,
            "final": Training.model_fields["final"].default,
        }
    )
    stage = TrainingStage(
        stable, _steps_until(constant, stable.steps), branch_steps=_unique(begins), suffix="_stable"
    )
    return (stage, *branches), list(_stable_problems(stable))


def _decaying(training: Training, end: int, branching: Branching) -> Training:
    """The training settings of a branch of `end` steps, the last of which are the decay."""
    # 0 is reported by _branch_problems
    decay = branching.decay_steps or _rounded(Fraction(branching.decay) * end)
    changes = {"steps": end, "schedule": "warmup-stable-decay", "decay": decay}
    return training.model_copy(update=changes)


def _distinct(ends: Sequence[int], total: int) -> Iterator[Diagnostic]:
    if not ends:
        yield _mistake(f"{LOCATION} names no branch", "name the ends of decays: [0.25, 0.5, 1]")
    elif not ends[0]:
        yield _mistake(f"a branch has no step, of {total:,}", "train for more steps")
    for end in sorted({end for end in ends if end and ends.count(end) > 1}):
        yield _mistake(f"two branches have {end:,} steps", "name each number of steps once")


def _schedule_problems(training: Training) -> Iterator[Diagnostic]:
    try:
        check_schedule(training)
    except LawdslError as error:
        yield from (replace(problem, place="training") for problem in error.diagnostics)


def _branch_problems(run: Training, branching: Branching) -> Iterator[Diagnostic]:
    """Errors about the decay of a branch and its warm-up."""
    has_steps = branching.decay_steps is not None
    location = "schedule.decay_steps" if has_steps else "schedule.decay"
    if run.steps == max(1, run.decay):
        message = f"the branch of {_steps_text(run.steps)} has none before its decay"
        yield _mistake(message, "train for more steps, or shorten the decay")
        return
    if not run.decay:
        part = float(Fraction(branching.decay))
        message = f"a decay over {part:g} of the branch of {_steps_text(run.steps)} has no step"
        yield _mistake(message, "lengthen it, or set decay_steps in its place", location)
        return
    room = run.steps - run.warmup
    if run.decay <= room:
        return
    if room < 1:
        location = LOCATION
        help = "shorten training.warmup, or leave this branch out"
    else:
        parts = "decay or training.warmup" if run.warmup else "decay"
        help = f"shorten the {parts}: {_steps_text(room)} of this branch come after its warm-up"
    message = (
        f"the branch of {run.steps:,} steps: a warm-up over {run.warmup:,} steps and a decay over"
        f" {run.decay:,}, of {run.steps:,}"
    )
    yield Diagnostic("R0702", message, place=location, help=help)


def _stable_problems(stable: Training) -> Iterator[Diagnostic]:
    """An error about a warm-up that leaves no steps at the constant rate in a stable run."""
    if stable.warmup >= stable.steps:
        message = (
            f"a warm-up over {stable.warmup:,} steps, and the last decay begins after"
            f" {stable.steps:,}: none has the constant rate"
        )
        help = "shorten training.warmup, or the decay"
        yield Diagnostic("R0702", message, place="schedule", help=help)


def _mistake(message: str, help: str, location: str = LOCATION) -> Diagnostic:
    return Diagnostic("R0102", message, place=location, help=help)


def _steps_text(number: int) -> str:
    return f"{number:,} step{'' if number == 1 else 's'}"


def _rounded(number: Fraction) -> int:
    """The nearest integer; halves are rounded up."""
    return math.floor(number + Fraction(1, 2))


def _steps_until(evaluated: Sequence[int], step: int) -> tuple[int, ...]:
    return tuple(evaluation for evaluation in evaluated if evaluation <= step)


def _unique(values: Sequence[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(values))
