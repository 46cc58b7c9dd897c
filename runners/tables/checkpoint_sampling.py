"""A dense table of checkpoints -> the rows that a sparser schedule of evaluations would have measured.

D-CPT (Que et al. (2024), arXiv:2406.01375), appendix I.1, compares four methods on the evaluations of
the same runs: M1 dense, M2 sparse, M3 sectional, M4 exponential. They are the schedules of
`run/evaluation_steps.py`, whose intervals are here relative to the first evaluation of a run, if none
are given: of 200 evaluations at equal distances M1 to M3 keep 200, 40 and 40, as in the paper.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import disjunction

from ..run.evaluation_steps import Dense, Exponential, Schedule, Sectional, Sparse, steps

SCHEDULES = {"dense": Dense, "sparse": Sparse, "sectional": Sectional, "exponential": Exponential}
METHODS = dict(zip(("M1", "M2", "M3", "M4"), SCHEDULES, strict=True))
"""The names of the paper -> those of schedules."""

INTERVALS: Mapping[str, Mapping[str, int]] = {
    "dense": {"every": 1},
    "sparse": {"every": 5},
    "sectional": {"every": 4, "then": 8},
    "exponential": {"every": 1},
}
"""Intervals of each schedule, in evaluations of a dense one: those of the paper."""

OPTION = "--sample"
_READER: TypeAdapter[Any] = TypeAdapter(Schedule)


@dataclass(frozen=True)
class Sampling:
    """A method of sampling, of which intervals may be left to each run.

    Attributes:
        schedule: its name, a key of SCHEDULES.
        given: the numbers that were given, as text: `{"every": "40"}`.
    """

    schedule: str
    given: Mapping[str, str]

    def __str__(self) -> str:
        numbers = ",".join(f"{name}={value}" for name, value in self.given.items())
        return f"{self.schedule}:{numbers}" if numbers else self.schedule


def read_sampling(text: str) -> Sampling:
    """Read a method as the command line writes it: `M3`, `sectional:every=40,then=80`.

    Args:
        text: METHOD, or METHOD:NAME=NUMBER,...

    Raises:
        LawdslError: an unknown method or number; R0806.
    """
    method, _, numbers = text.strip().partition(":")
    by_name = {name.lower(): name for name in SCHEDULES} | {
        m.lower(): s for m, s in METHODS.items()
    }
    schedule = by_name.get(method.strip().lower())
    if schedule is None:
        known = [f"{s} ({m})" for m, s in METHODS.items()]
        raise _refused(f"unknown method {method!r}", f"choose {disjunction(known)}")
    given: dict[str, str] = {}
    fields = [name for name in SCHEDULES[schedule].model_fields if name != "schedule"]
    for pair in numbers.split(",") if numbers.strip() else ():
        name, equals, value = (word.strip() for word in pair.partition("="))
        if not equals or name not in fields or name in given:
            why = (
                f"{name} is given twice"
                if name in given
                else f"{schedule} takes no {pair.strip()!r}"
            )
            shown = ",".join(f"{name}=…" for name in fields)
            raise _refused(why, f"write {schedule}:{shown}; each may be left out")
        given[name] = value
    sampling = Sampling(schedule, given)
    _schedule(sampling, 1)  # numbers that no run can have are refused before any run is read
    return sampling


def kept_steps(
    measured: Sequence[int], total: int, sampling: Sampling, label: str
) -> frozenset[int]:
    """The evaluations of a run that a method keeps.

    Of each step of the schedule the nearest evaluation is kept, the earlier of two; the last is always
    kept, as step 0 is.

    Args:
        measured: the steps at which the run was evaluated.
        total: its number of steps, also if it ended before.
        sampling: the method.
        label: of the run, for messages.

    Returns:
        A subset of `measured`.

    Raises:
        LawdslError: an interval shorter than those of the evaluations, or longer than its part of the
            run; R0806.
    """
    at = sorted({step for step in measured if step > 0})
    if len(at) < 2:  # a branch has its last row alone, and nothing to choose from
        return frozenset(measured)
    unit = min(at[0], *(b - a for a, b in zip(at, at[1:-1], strict=False)))
    schedule = _schedule(sampling, unit)
    shortest = min(getattr(schedule, name) for name in INTERVALS[sampling.schedule])
    if shortest < unit:
        raise _refused(
            f"an interval of {shortest:,} steps, of a run that was evaluated every {unit:,}",
            "choose a multiple of it, or evaluate more often in a sweep: [evaluation] every = …",
            label,
        )
    try:
        wanted = steps(schedule, total)
    except LawdslError as error:
        (found,) = error.diagnostics
        intervals = ",".join(f"{name}=…" for name in INTERVALS[sampling.schedule])
        raise _refused(
            f"{sampling.schedule} would keep {found.message}",
            f"give shorter intervals, {OPTION} {sampling.schedule}:{intervals}, or evaluate more often",
            label,
        ) from None
    kept = {_nearest(at, step) for step in wanted if 0 < step <= at[-1]}
    return frozenset({*kept, at[-1]} | {step for step in measured if step == 0})


def _nearest(at: Sequence[int], step: int) -> int:
    """Of increasing steps the nearest to one that is not after all of them; the earlier of two."""
    i = bisect_left(at, step)
    before = at[max(i - 1, 0)]
    return before if step - before <= at[i] - step else at[i]


def _schedule(sampling: Sampling, unit: int) -> Any:
    """The schedule for a run whose evaluations are `unit` steps apart.

    Raises:
        LawdslError: a number that is none or out of its range; R0806.
    """
    intervals = {name: times * unit for name, times in INTERVALS[sampling.schedule].items()}
    try:
        return _READER.validate_python(
            {"schedule": sampling.schedule} | intervals | dict(sampling.given)
        )
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][-1])
        why = f"{name}={sampling.given.get(name, '')}: {first['msg'].lower()}"
        raise _refused(why, f"for example {OPTION} {_EXAMPLES[sampling.schedule]}") from None


_EXAMPLES = {
    "dense": "dense:every=40",
    "sparse": "sparse:every=200",
    "sectional": "sectional:every=160,then=320,part=0.6",
    "exponential": "exponential:every=40,rate=0.02,seed=0",
}


def _refused(message: str, help: str, place: str = OPTION) -> LawdslError:
    return LawdslError(Diagnostic("R0806", message, place=place, help=help))
