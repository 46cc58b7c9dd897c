"""A referee of answers to questions with several unknowns; it shares no code with the solver.

It minimises the NumPy functions of a random question by differential evolution and by many local
searches from random starts. It finds points, and so refutes answers: a feasible point that is
clearly better than an answer, a feasible point of a question that is said to have none.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.optimize
from random_joint_questions import Array, Question

import lawdsl
from lawdsl.solving.result import Answer

FAR = 20.0  # e-folds over which an unknown without an end is looked at
CLOSE = 1e-6  # relative: a point that is better by more refutes an answer
KEPT = 1e-7  # by so much constraints may be missed


@dataclass(frozen=True)
class Found:
    """What the referee has found, in natural units.

    Attributes:
        x: the best feasible point; None where none was found.
        value: of the goal there.
        missed: the least violation that was seen.
    """

    x: Array | None
    value: float
    missed: float


def referee(question: Question, seed: int) -> Found:
    """The best of differential evolution and of local searches from random starts."""
    rng = np.random.default_rng(seed)
    low, high = np.array(question.low), np.array(question.high)
    ends = np.where(np.isfinite(low), np.where(np.isfinite(high), 0.0, 0.0), -FAR)
    tops = np.where(np.isfinite(low) & np.isfinite(high), 1.0, FAR)

    def place(u: Array) -> Array:
        z = np.empty_like(u)
        for i in range(len(low)):
            if np.isfinite(low[i]) and np.isfinite(high[i]):
                z[i] = low[i] + u[i] * (high[i] - low[i])
            elif np.isfinite(low[i]):
                z[i] = low[i] + np.expm1(u[i])
            else:
                z[i] = np.sinh(u[i])
        return z

    def merit(u: Array) -> Array:
        z = place(u if u.ndim == 2 else u[:, None])
        over = missed(question, z)
        value = question.goal(z)
        found: Array = np.where(over > 0, 1e12 * over + np.maximum(value, -1e6), value)
        found = np.nan_to_num(found, nan=1e30, posinf=1e30, neginf=-1e30)
        return found if u.ndim == 2 else found[0]

    starts = [rng.uniform(ends, tops) for _ in range(12)]
    starts += [np.clip(rng.normal(size=len(low)), ends, tops) for _ in range(8)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if not question.zero:
            evolved = scipy.optimize.differential_evolution(
                merit,
                list(zip(ends, tops, strict=True)),
                vectorized=True,
                updating="deferred",
                maxiter=120,
                popsize=25,
                polish=False,
                rng=rng,
            )
            starts.insert(0, evolved.x)
        reached = [np.asarray(s) for s in starts] + [
            _local(question, place, start, ends, tops) for start in starts
        ]
        points = place(np.clip(np.array(reached).T, ends[:, None], tops[:, None]))
        over, values = missed(question, points), question.goal(points)
    kept = (over <= 1e-9) & np.isfinite(values)
    least = float(np.nanmin(np.where(np.isfinite(over), over, np.inf)))
    if not kept.any():
        return Found(None, math.inf, least)
    best = int(np.argmin(np.where(kept, values, np.inf)))
    return Found(points[:, best], float(values[best]), least)


def _local(
    question: Question, place: Callable[[Array], Array], start: Array, ends: Array, tops: Array
) -> Array:
    conditions = [
        {"type": kind, "fun": lambda u, f=f, s=s: s * float(f(place(u[:, None]))[0])}
        for kind, s, functions in (("ineq", -1, question.below), ("eq", 1, question.zero))
        for f in functions
    ]
    found = scipy.optimize.minimize(
        lambda u: float(np.clip(question.goal(place(u[:, None]))[0], -1e30, 1e30)),
        start,
        method="SLSQP",
        bounds=list(zip(ends, tops, strict=True)),
        constraints=conditions,
        options={"maxiter": 60, "ftol": 1e-12},
    )
    return np.asarray(found.x)


def missed(question: Question, z: Array) -> Array:
    """By how much the constraints are missed at points, shape (points,)."""
    over = [np.maximum(f(z), 0.0) for f in question.below]
    over += [np.abs(f(z)) for f in question.zero]
    if not over:
        return np.zeros(z.shape[1])
    found: Array = np.max(np.broadcast_arrays(*over, np.zeros(z.shape[1])), axis=0)
    return found


@dataclass(frozen=True)
class Judged:
    """What is thought of an answer.

    Attributes:
        word: right, wrong or undecided.
        certain: whether the answer was called certain.
        why: what is wrong with it.
    """

    word: str
    certain: bool
    why: str = ""


def answered(question: Question, folder: Path) -> tuple[lawdsl.Asked, Answer]:
    """The answer of the solver to the text."""
    path = folder / "random.law"
    path.write_text(question.text, encoding="utf-8")
    asked = lawdsl.Asked(path)
    return asked, asked.answer(k=question.given)


def judged(question: Question, answer: Answer, seed: int) -> Judged:
    """An answer, against what the referee finds."""
    found = referee(question, seed)
    if answer.status == "undecided":
        return Judged("undecided", answer.certain, "; ".join(answer.proof))
    wrong = _wrong(question, answer, found)
    return Judged("wrong" if wrong else "right", answer.certain, wrong)


def _wrong(question: Question, answer: Answer, found: Found) -> str:
    if answer.status == "infeasible":
        return f"feasible: {found.x}" if found.x is not None else ""
    if answer.status == "unbounded":
        if question.kind == "approached":
            return ""
        falls = found.x is not None and found.value < -1e6
        return "" if falls else f"bounded, as far as the referee sees: {found.value}"
    z = np.array([answer[n] / u for n, u in zip(question.names, question.units, strict=True)])
    sign = -1 if answer.goal is not None and answer.goal.maximize else 1
    over = float(missed(question, z[:, None])[0])
    value = float(question.goal(z[:, None])[0])
    low, high = np.array(question.low), np.array(question.high)
    if (
        over > KEPT * max(1.0, float(np.max(np.abs(z))))
        or np.any(z < low - KEPT)
        or np.any(z > high + KEPT)
    ):
        return f"infeasible by {over}"
    assert answer.goal is not None
    size = max(1.0, abs(value))
    if abs(sign * answer.goal.value / question.size - value) > CLOSE * size:
        return f"the goal is {value}, not {answer.goal.value / question.size}"
    if found.x is not None and found.value < value - CLOSE * size:
        return f"{found.value} at {found.x} is better than {value} at {z}"
    return ""


def sensitivities_off(asked: lawdsl.Asked, answer: Answer, given: float) -> str | None:
    """How sensitivities differ from differences between answers; empty where they agree, None where
    the answer is not smooth there."""
    if answer.status != "answered" or answer.alternatives or not answer.sensitivities:
        return None
    step = 1e-4 * given
    near = [asked.answer(k=given + by * step) for by in (-2, -1, 1, 2)]
    if any(a.status != "answered" or a.where != answer.where for a in near):
        return None
    (told,) = answer.sensitivities
    for name, slope in told.unknowns.items():
        x = [a[name] for a in near]
        wide, narrow = (x[3] - x[0]) / (4 * step), (x[2] - x[1]) / (2 * step)
        size = max(abs(wide), abs(narrow), 1e-6 * abs(answer[name]) / given)
        if abs(wide - narrow) > 3e-5 * size:
            return None
        if abs(slope - narrow) > 1e-4 * size:
            return f"{name}: {slope} where differences say {narrow}"
    return ""
