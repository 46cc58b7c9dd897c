"""A schedule -> the steps of a run after which its losses are measured.

The schedules of D-CPT (Que et al. (2024), arXiv:2406.01375), appendix I.1: dense, sparse, sectional
and exponential, with its numbers for 200,000 steps as defaults, and lists. Every schedule includes
step 0, the model before it is trained, and the last step, the model that the run produces.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from hashlib import blake2b
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..spec import Positive, Record, Share


class Dense(Record):
    """Every `every` steps: M1."""

    schedule: Literal["dense"] = "dense"
    every: Positive = 1000


class Sparse(Record):
    """Like `Dense`, with larger intervals: M2."""

    schedule: Literal["sparse"] = "sparse"
    every: Positive = 5000


def _inside(part: str) -> str:
    if not 0 < Fraction(part) < 1:
        raise ValueError(f"the first part of a run lies between 0 and 1, not at {part}")
    return part


class Sectional(Record):
    """Every `every` steps in the first `part` of the run, and every `then` steps after it: M3.

    Of 200,000 steps that makes 30 + 10 points, step 0 not counted.
    """

    schedule: Literal["sectional"] = "sectional"
    every: Positive = 4000
    then: Positive = 8000
    part: Annotated[Share, AfterValidator(_inside)] = "3/5"


class Exponential(Record):
    """Decreasing frequency: M4, each multiple x of `every` steps with probability exp(-rate x).

    The paper states f(x) = exp(-lambda x) (equation 59), lambda = 0.02 and 45 points, and does not
    define how points follow from f. Here each multiple is drawn independently, so their number is
    random: of 200,000 steps 49.6 are expected, including step 0, with a standard deviation of 4.9;
    the last step is added. A seed determines the same steps on every machine.
    """

    schedule: Literal["exponential"] = "exponential"
    every: Positive = 1000
    rate: float = Field(default=0.02, gt=0)
    seed: int = 0


class ListedSteps(Record):
    """Listed steps, in any order."""

    schedule: Literal["list"] = "list"
    steps: tuple[Annotated[int, Field(ge=0)], ...]


MAX_EVALUATIONS = 1_000_000  # candidates of a schedule: bounds the memory

Schedule = Annotated[
    Dense | Sparse | Sectional | Exponential | ListedSteps, Field(discriminator="schedule")
]
"""A schedule as written in a sweep: `schedule = "sectional"` and the numbers that differ from the
defaults.
"""


def steps(schedule: Schedule, total: int) -> tuple[int, ...]:
    """Return the steps after which a run is evaluated.

    Args:
        schedule: the schedule.
        total: the number of steps of the run.

    Returns:
        Increasing steps, from 0 to `total`.

    Raises:
        LawdslError: an interval longer than its part of the run, more than `MAX_EVALUATIONS`
            evaluations, or a listed step beyond the end (R0701).
    """
    between = _between(schedule, total)
    return tuple(sorted({0, total, *between}))


def _between(schedule: Schedule, total: int) -> Iterable[int]:
    match schedule:
        case Dense(every=every) | Sparse(every=every):
            _check(every, total, "run")
            return range(every, total, every)
        case Sectional(every=every, then=then, part=part):
            # exact: a product of floats may fall just below a whole number
            border = math.floor(Fraction(part) * total)
            _check(every, border, "first part of the run")
            _check(then, total - border, "second part of the run")
            return [*range(every, border + 1, every), *range(border + then, total, then)]
        case Exponential(every=every, rate=rate, seed=seed):
            _check(every, total, "run")
            # without the end of the run, which is always evaluated
            drawn = range(1, -(-total // every))
            return [x * every for x in drawn if _uniform(seed, x) < math.exp(-rate * x)]
        case ListedSteps(steps=listed):
            for step in listed:
                if step > total:
                    raise _refused(f"an evaluation after step {step:,} of {total:,}")
            return listed


def _check(every: int, length: int, what: str) -> None:
    if every > length:
        raise _refused(f"an evaluation every {every:,} steps, of a {what} of {length:,}")
    if length // every > MAX_EVALUATIONS:
        count = f"{length // every:,} evaluations, one every {every:,} steps of a {what}"
        raise _refused(count, "evaluate less often, or train for fewer steps")


def _refused(what: str, help: str = "evaluate more often, or train for more steps") -> LawdslError:
    return LawdslError(Diagnostic("R0701", what, place="evaluation", help=help))


def _uniform(seed: int, x: int) -> float:
    """A pseudo-random number in [0, 1) for each x; by a hash, because the generators of libraries
    change with versions.
    """
    digest = blake2b(f"{seed} {x}".encode(), digest_size=8, person=b"evaluation").digest()
    # 53 bits, the precision of a float, so rounding never yields 1.0
    return (int.from_bytes(digest, "big") >> 11) / 2**53
