"""Learning rates at the turning points of every schedule, and the areas under them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.run import schedules
from lawdsl.runners.run.schedules import check_schedule, learning_rate, schedule_areas
from lawdsl.runners.spec import Training

WSD = "warmup-stable-decay"


def training(schedule: str = "cosine", **more: Any) -> Training:
    given = {"steps": 100, "batch": 4, "sequence": 8, "learning_rate": 0.5} | more
    return Training(schedule=schedule, **given)


RATES = [
    # schedule, step, part of the full rate
    (training(), 0, 1.0),
    (training(), 99, 0.1),
    (training(steps=101), 50, 0.55),
    (training(steps=101, final=0.0), 25, (1 + math.sqrt(0.5)) / 2),
    (training(final=0.0), 99, 0.0),
    (training(warmup=9), 0, 0.1),
    (training(warmup=9), 8, 0.9),
    (training(warmup=9), 9, 1.0),
    (training(warmup=9), 99, 0.1),
    (training(warmup=10, steps=111), 60, 0.55),
    (training(steps=1), 0, 1.0),
    (training(steps=2), 1, 0.1),
    (training(warmup=1, steps=2), 1, 1.0),
    (training("constant"), 0, 1.0),
    (training("constant"), 99, 1.0),
    (training("constant", warmup=3), 0, 0.25),
    (training("constant", warmup=3), 3, 1.0),
    (training(WSD, decay=10), 0, 1.0),
    (training(WSD, decay=10), 89, 1.0),
    (training(WSD, decay=10), 90, 0.91),
    (training(WSD, decay=10), 94, 0.55),
    (training(WSD, decay=10), 99, 0.1),
    (training(WSD, decay=10, final=0.0, warmup=4), 3, 0.8),
    (training(WSD, decay=10, final=0.0, warmup=4), 4, 1.0),
    (training(WSD, decay=10, final=0.0, warmup=4), 98, 0.1),
    (training(WSD, decay=10, final=0.0, warmup=4), 99, 0.0),
    (training(WSD, decay=96, final=0.0, warmup=4), 4, 95 / 96),
]


@pytest.mark.parametrize(("t", "step", "part"), RATES)
def test_the_rate_at_a_step(t: Training, step: int, part: float):
    assert learning_rate(t, step) == pytest.approx(0.5 * part, rel=1e-13, abs=1e-15)


FITTING = [training(), training("constant", warmup=99), training(WSD, warmup=40, decay=60)]
BAD = [
    (training(decay=10), "does not have"),
    (training("constant", decay=10), "does not have"),
    (training(WSD), "without its decay"),
    (training(WSD, warmup=50, decay=51), "of 100"),
    (training(WSD, decay=101), "of 100"),
    (training(warmup=100), "of 100"),
    (training("constant", warmup=101), "of 100"),
]


@pytest.mark.parametrize("t", FITTING)
def test_a_schedule_that_fits_is_taken(t: Training):
    check_schedule(t)


@pytest.mark.parametrize(("t", "why"), BAD)
def test_a_schedule_that_does_not_fit_is_refused(t: Training, why: str):
    with pytest.raises(LawdslError) as error:
        check_schedule(t)

    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "R0702"
    assert why in diagnostic.message
    assert diagnostic.help


AREAS = [
    training(steps=60, warmup=7),
    training("constant", steps=40, warmup=5),
    training(WSD, steps=50, warmup=5, decay=20, final=0.0),
]


@pytest.mark.parametrize("t", AREAS)
@pytest.mark.parametrize("decay", [0.999, 0.5])
def test_the_areas_are_the_sums_of_their_definition(t: Training, decay: float):
    rates = [learning_rate(t, step) for step in range(t.steps)]

    for step in (0, 1, 2, 10, t.steps):
        s1 = math.fsum(rates[:step])
        s2 = math.fsum(
            (rates[k - 1] - rates[k]) * decay ** (i - k)
            for i in range(1, step)
            for k in range(1, i + 1)
        )
        assert schedule_areas(t, step, decay) == pytest.approx((s1, s2), rel=1e-12, abs=1e-15)


def test_a_constant_rate_has_no_annealing_area():
    assert schedule_areas(training("constant"), 100) == (50.0, 0.0)


def test_a_warm_up_counts_down_and_a_decay_up():
    flat, falling = training("constant", warmup=10), training(WSD, warmup=10, decay=50)

    assert schedule_areas(flat, 50)[1] == schedule_areas(falling, 50)[1] < 0
    assert schedule_areas(flat, 100)[1] < schedule_areas(falling, 100)[1]
    assert schedule_areas(training(WSD, decay=50), 100)[1] > 0


def test_without_memory_the_annealing_area_is_the_fall():
    """All differences but the first and the last rate cancel: the sum telescopes."""
    t = training(final=0.25)

    assert schedule_areas(t, 100, decay=0.0)[1] == pytest.approx(0.5 - 0.125, rel=1e-12)


def test_the_areas_are_the_same_bit_for_bit_whenever_they_are_asked_for():
    t = training(steps=3000, warmup=100)
    asked = (3000, 17, 1500, 0, 2999)
    before = [schedule_areas(t, step) for step in asked]
    schedules._cumulative_areas.cache_clear()

    assert [schedule_areas(t, step) for step in reversed(asked)] == before[::-1]


def test_the_areas_of_the_published_length_are_those_of_integrals():
    """200,000 steps of a cosine to a tenth: the mean rate is 0.55 of the full one, and the memory
    of 1,000 steps is short beside the run, so S2 is near 1,000 times what the rate fell."""
    t = training(steps=200_000)

    s1, s2 = schedule_areas(t, 200_000)

    assert s1 == pytest.approx(0.5 * 0.55 * 200_000, rel=1e-5)
    assert s2 == pytest.approx(1000 * 0.45, rel=1e-2)
