"""Which steps of a run are measured, by each schedule of D-CPT and by a list."""

from __future__ import annotations

import math
import statistics
import tomllib

import pytest
from pydantic import TypeAdapter, ValidationError

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.run.evaluation_steps import (
    Dense,
    Exponential,
    ListedSteps,
    Schedule,
    Sectional,
    Sparse,
    steps,
)

PAPER = 200_000
READER: TypeAdapter[Schedule] = TypeAdapter(Schedule)

CASES = [
    (Dense(every=3), 10, (0, 3, 6, 9, 10)),
    (Dense(every=5), 10, (0, 5, 10)),
    (Dense(every=10), 10, (0, 10)),
    (Sparse(every=4), 10, (0, 4, 8, 10)),
    (Sectional(every=2, then=3, part="1/2"), 12, (0, 2, 4, 6, 9, 12)),
    # the second part counts from the border, wherever the first one ended
    (Sectional(every=4, then=5, part="0.6"), 20, (0, 4, 8, 12, 17, 20)),
    (Sectional(every=5, then=5, part="0.6"), 20, (0, 5, 10, 17, 20)),
    (ListedSteps(steps=(7, 3, 3, 5)), 10, (0, 3, 5, 7, 10)),
    (ListedSteps(steps=()), 10, (0, 10)),
    (ListedSteps(steps=(0, 10)), 10, (0, 10)),
    (Dense(every=1), 1, (0, 1)),
]


@pytest.mark.parametrize(("schedule", "total", "expected"), CASES)
def test_the_steps_of_a_schedule(schedule: Schedule, total: int, expected: tuple[int, ...]):
    assert steps(schedule, total) == expected


POINTS = [(Dense(), 200), (Sparse(), 40), (Sectional(), 40)]


@pytest.mark.parametrize(("schedule", "points"), POINTS)
def test_the_points_of_the_paper(schedule: Schedule, points: int):
    assert len([step for step in steps(schedule, PAPER) if step]) == points


def test_the_sections_of_the_paper():
    found = [step for step in steps(Sectional(), PAPER) if step]

    assert found[:30] == list(range(4000, 120_001, 4000))
    assert found[30:] == list(range(128_000, 200_001, 8000))


def counts() -> list[int]:
    """Points before the last step, step 0 among them, of 400 seeds."""
    return [len(steps(Exponential(seed=seed), PAPER)) - 1 for seed in range(400)]


def test_the_exponential_schedule_has_the_expected_number_of_points():
    """The sum of exp(-0.02 x) for x < 200 is 49.6, with a standard deviation of 4.9."""
    chances = [math.exp(-0.02 * x) for x in range(200)]
    mean, spread = sum(chances), math.sqrt(sum(p * (1 - p) for p in chances))
    found = counts()

    assert (round(mean, 1), round(spread, 1)) == (49.6, 4.9)
    assert abs(statistics.mean(found) - mean) < 3 * spread / 20
    assert 0.9 < statistics.stdev(found) / spread < 1.1


def test_the_paper_s_45_points_are_an_ordinary_draw():
    found = counts()

    assert 0.1 < sum(count <= 45 for count in found) / len(found) < 0.3


def test_the_draws_of_a_seed_are_the_same_everywhere_and_always():
    found = steps(Exponential(every=10, rate=0.1, seed=7), 300)

    assert found == (0, 10, 20, 30, 40, 60, 70, 80, 110, 120, 300)


def test_seeds_draw_apart():
    assert len({steps(Exponential(seed=seed), PAPER) for seed in range(20)}) == 20


def test_a_longer_run_is_measured_at_the_same_steps():
    short, long = steps(Exponential(), 50_000), steps(Exponential(), PAPER)

    assert short[:-1] == tuple(step for step in long if step < 50_000)


BAD = [
    (Dense(every=11), 10, "every 11 steps, of a run of 10"),
    (Sparse(), 2000, "every 5,000 steps, of a run of 2,000"),
    (Sectional(), 6000, "every 4,000 steps, of a first part of the run of 3,600"),
    (Sectional(every=1), 6000, "every 8,000 steps, of a second part of the run of 2,400"),
    (Exponential(), 999, "every 1,000 steps"),
    (ListedSteps(steps=(3, 11)), 10, "after step 11 of 10"),
    (Dense(), 10**22, "10,000,000,000,000,000,000 evaluations"),
    (Exponential(every=1), 10**22, "evaluations, one every 1 steps of a run"),
]


@pytest.mark.parametrize(("schedule", "total", "why"), BAD)
def test_a_schedule_that_does_not_fit_is_refused(schedule: Schedule, total: int, why: str):
    with pytest.raises(LawdslError) as error:
        steps(schedule, total)

    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "R0701"
    assert why in diagnostic.message
    assert diagnostic.help


READ = [
    ('schedule = "dense"', Dense()),
    ('schedule = "sparse"\nevery = 2000', Sparse(every=2000)),
    ('schedule = "sectional"\npart = 0.5', Sectional(part="1/2")),
    ('schedule = "exponential"\nseed = 3', Exponential(seed=3)),
    ('schedule = "list"\nsteps = [10, 20]', ListedSteps(steps=(10, 20))),
]


@pytest.mark.parametrize(("text", "expected"), READ)
def test_a_table_is_read_by_the_name_of_its_schedule(text: str, expected: Schedule):
    assert READER.validate_python(tomllib.loads(text)) == expected


UNREADABLE = [
    'schedule = "often"',
    "every = 100",
    'schedule = "dense"\nevery = 0',
    'schedule = "dense"\nseed = 1',
    'schedule = "sectional"\npart = 1',
    'schedule = "sectional"\npart = "half"',
    'schedule = "exponential"\nrate = 0',
    'schedule = "list"',
    'schedule = "list"\nsteps = [-1]',
]


@pytest.mark.parametrize("text", UNREADABLE)
def test_a_table_of_another_form_is_refused(text: str):
    with pytest.raises(ValidationError):
        READER.validate_python(tomllib.loads(text))
