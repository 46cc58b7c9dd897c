"""The learning rate of every update, and the two areas that it has swept.

Updates are counted from 0, so the number of an update is the number of updates done before it.
"""

from __future__ import annotations

import math
from array import array
from functools import lru_cache

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..spec import Training


def check(training: Training) -> None:
    """Refuse a schedule that does not fit into the run.

    Raises:
        LawdslError: a warm-up or a decay that is missing, longer than the run, or without effect
            (R0702).
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
    """The learning rate of the update number `step`, 0 <= step < training.steps.

    Every schedule rises on a line over the first `warmup` updates and gives the full rate first to
    the update number `warmup`: 1/(warmup + 1) of it to update 0, all of it where there is no
    warm-up. Then

    * `constant` stays,
    * `cosine` falls along half a cosine (Loshchilov and Hutter 2017, equation 5, without
      restarts) to `final` of the rate, which the last update has,
    * `warmup-stable-decay` (Hu et al. 2024, MiniCPM, section 4.2) stays, and falls over the last
      `decay` updates to `final` of the rate, which the last one has: on a line, the cooldown
      that Hägele et al. 2024 (2405.18392) begin with, where Hu et al. let it fall exponentially.
    """
    return training.learning_rate * _part(training, step)


def _part(training: Training, step: int) -> float:
    """The learning rate as a part of the full one."""
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


def areas(training: Training, step: int, decay: float = 0.999) -> tuple[float, float]:
    """What the learning rates of the first `step` updates come to: S1 and S2.

    The forward area S1 is their sum. The annealing area is
    S2 = sum over updates i of sum over updates k <= i of (lr_(k-1) - lr_k) decay^(i-k):
    what falls counts up, a warm-up counts down. The first update has no difference: what the
    learning rate was in an earlier training is not known here. Tissue et al. 2024 (2408.11029);
    Wang et al. 2025 (CPT dynamics), equation 4, which has these two of the continual pre-training
    beside those of the pre-training.

    The first call for a schedule goes through all of its updates, in one order, so the same
    numbers come out bit for bit whenever they are asked for; the others look them up.
    """
    forward, annealing = _all_areas(training, decay)
    return forward[step], annealing[step]


@lru_cache(maxsize=4)
def _all_areas(training: Training, decay: float) -> tuple[array[float], array[float]]:
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
