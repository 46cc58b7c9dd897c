"""Training settings and a step -> the learning rate of the update, and the areas of the schedule.

Updates are counted from 0, so the number of an update is the number of updates done before it.
Cosine: Loshchilov and Hutter (2017), arXiv:1608.03983; warmup-stable-decay: Hu et al. (2024),
arXiv:2404.06395; areas: Tissue et al. (2024), arXiv:2408.11029.
"""

from __future__ import annotations

import math
from array import array
from functools import lru_cache
from typing import Literal

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..spec import Training


def check_schedule(training: Training) -> None:
    """Raise an error for a schedule that is inconsistent with the run.

    Raises:
        LawdslError: a warm-up or decay that is missing, too long, or without effect (R0702).
    """
    t, decays = training, training.schedule == "warmup-stable-decay"
    if t.decay and not decays:
        why = f"a decay over {t.decay:,} steps, which the schedule {t.schedule} does not have"
        help = 'leave `decay` out, or choose schedule = "warmup-stable-decay"'
    elif decays and not t.decay:
        why = "the schedule warmup-stable-decay without its decay"
        help = "say over how many of the last steps it falls, as decay = 2_000"
    elif t.warmup + t.decay > t.steps or t.warmup == t.steps:
        why = f"a warm-up over {t.warmup:,} steps and a decay over {t.decay:,}, of {t.steps:,}"
        help = "shorten them, or train for more steps"
    else:
        return
    raise LawdslError(Diagnostic("R0702", why, place="training", help=help))


def learning_rate(training: Training, step: int) -> float:
    """Return the learning rate of an update.

    Every schedule rises linearly over the first `warmup` updates, lr (step + 1)/(warmup + 1), so
    that update number `warmup` is the first to have the full rate. Then

    * `constant` is constant,
    * `cosine` falls as final + (1 - final)(1 + cos(pi s))/2 for s from 0 to 1 (Loshchilov and
      Hutter (2017), equation 5, without restarts) to `final` of the rate, which the last update
      has,
    * `warmup-stable-decay` (Hu et al. (2024), MiniCPM, section 4.2) stays, and falls over the last
      `decay` updates to `final` of the rate, which the last one has: linearly, the cooldown
      that Hägele et al. (2024), arXiv:2405.18392, begin with, where Hu et al. decay exponentially.

    Args:
        training: the schedule and its numbers.
        step: the number of the update, 0 <= step < training.steps.

    Returns:
        The learning rate.
    """
    return training.learning_rate * _learning_rate_factor(training, step)


def _learning_rate_factor(training: Training, step: int) -> float:
    """The learning rate as a fraction of the peak learning rate."""
    if step < training.warmup:
        return (step + 1) / (training.warmup + 1)
    if training.schedule == "cosine":
        last = training.steps - 1 - training.warmup
        passed = (step - training.warmup) / last if last > 0 else 0.0
        return training.final + (1 - training.final) * (1 + math.cos(math.pi * passed)) / 2
    if training.schedule == "warmup-stable-decay":
        steps_left = training.steps - 1 - step
        if steps_left < training.decay:
            return training.final + (1 - training.final) * steps_left / training.decay
    return 1.0


def phase(training: Training, step: int) -> Literal["stable", "decay", "end"]:
    """Return the phase of the schedule after some updates.

    Args:
        training: the schedule and its numbers.
        step: the number of updates done, 0 to training.steps.

    Returns:
        `stable` until the learning rate first decreases; `end` after the last update of a decayed
        rate, where the loss is that of a complete run on so many tokens; `decay` in between.
    """
    if step <= training.warmup or _learning_rate_factor(training, step - 1) == 1.0:
        return "stable"
    return "end" if step == training.steps else "decay"


def schedule_areas(training: Training, step: int, decay: float = 0.999) -> tuple[float, float]:
    """Return the forward area S1 and the annealing area S2 of the first `step` updates.

    S1 = sum of lr_i, and S2 = sum over updates i of sum over k <= i of (lr_(k-1) - lr_k)
    decay^(i-k): a falling rate counts up, a warm-up counts down. The first update contributes no
    difference, because the learning rate of the earlier training is unknown. Tissue et al. (2024),
    arXiv:2408.11029; Wang et al. (2025), arXiv:2505.07796, equation 4, which has these two of the
    continual pre-training beside those of the pre-training.

    The first call for a schedule computes all of its updates, in one order, so the same numbers
    result bit for bit at every call; later calls look them up.

    Args:
        training: the schedule and its numbers.
        step: the number of updates, 0 to training.steps.
        decay: the factor per update by which the effect of a decrease decays.

    Returns:
        S1 and S2.
    """
    forward, annealing = _cumulative_areas(training, decay)
    return forward[step], annealing[step]


@lru_cache(maxsize=4)
def _cumulative_areas(training: Training, decay: float) -> tuple[array[float], array[float]]:
    """Both areas after 0, 1, ... `training.steps` updates."""
    forward, annealing = array("d", [0.0]), array("d", [0.0])
    s1 = s2 = momentum = 0.0
    before = learning_rate(training, 0)
    for step in range(training.steps):
        rate = learning_rate(training, step)
        momentum = decay * momentum + (before - rate)
        s1 += rate
        s2 += momentum
        before = rate
        forward.append(s1)
        annealing.append(s2)
    return forward, annealing
