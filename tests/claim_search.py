"""A search for the lowest value of what a claim speaks of -> points where it, or a verdict on it, fails."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from claim_sampling import Case, contradiction, fails, sampled, sign_at, suspicious, truth
from hyperdual import Exact, Floats
from judging import Bound, Judge, bounds_of, draw_point, formula_of, inside

from lawdsl.language import tree
from lawdsl.law.law import Law
from lawdsl.proof.verdict import Verdict

POINTS = 40  # at which float64 looks for the sign of what a claim is to speak of
LOOKED_AT = 8  # of these, at which it must have a value exactly

Columns = dict[str, np.ndarray]


def values_on(
    law: Law, columns: Mapping[str, Any], formula: tree.Formula, count: int
) -> np.ndarray:
    with np.errstate(all="ignore"):
        found = Judge(law, columns, Floats()).value(formula)
    return np.array(np.broadcast_to(np.asarray(found, dtype=float), count))


FAR = 9.0  # as a power of ten, how far from a bound a search goes where there is no other
FARTHER = 40.0
FIRST = 256
KEPT = 6
CHILDREN = 20
ROUNDS = 22
SHRINK = 0.4


class Search:
    """Points of a domain as points of a unit cube, so that bounds that name others are kept."""

    def __init__(self, case: Case, fixed: Mapping[str, Fraction], far: float = FAR) -> None:
        self.law = case.law
        self.far = far
        self.bounds = {n: b for n, b in bounds_of(case.law, case.claim).items() if n not in fixed}
        self.given = {name: float(v) for name, v in (_settings(case.law) | fixed).items()}

    def place(self, cube: np.ndarray) -> Columns:
        columns: Columns = {k: np.full(len(cube), v) for k, v in self.given.items()}
        for t, (name, bounds) in zip(cube.T, self.bounds.items(), strict=True):
            columns[name] = self._placed(t, bounds, columns)
        return columns

    def _placed(self, t: np.ndarray, bounds: list[Bound], columns: Columns) -> np.ndarray:
        low, high = np.full(len(t), -np.inf), np.full(len(t), np.inf)
        open_low = open_high = False
        for bound in bounds:
            limit = values_on(self.law, columns, bound.limit, len(t))
            if bound.relation.startswith(">"):
                low, open_low = np.maximum(low, limit), open_low or "=" not in bound.relation
            else:
                high, open_high = np.minimum(high, limit), open_high or "=" not in bound.relation
        t = np.where(open_low, np.maximum(t, 1e-7), t)
        t = np.where(open_high, np.minimum(t, 1 - 1e-7), t)
        with np.errstate(all="ignore"):
            far = np.where(t > 0, 10 ** (self.far * (2 * t - 1)), 0.0)
            both = np.where(t == 1, high, low + (high - low) * t)
            middle = np.sign(t - 0.5) * 10 ** (self.far * (2 * np.abs(2 * t - 1) - 1))
            alone = np.where(np.isfinite(low), low + far, high - far)
        neither = ~np.isfinite(low) & ~np.isfinite(high)
        return np.where(
            np.isfinite(low) & np.isfinite(high), both, np.where(neither, middle, alone)
        )

    def lowest(
        self, formula: tree.Formula, sense: int, seed: int = 0
    ) -> tuple[np.ndarray, Columns]:
        """The least values found of a formula (sense -1: the greatest, negated), and where."""
        rng = np.random.default_rng(seed)
        cube = rng.random((FIRST, len(self.bounds)))
        ends = rng.integers(0, 3, cube.shape) / 2
        cube = np.where(rng.random(cube.shape) < 0.25, ends, cube)
        scale = 0.2
        values = self._valued(cube, formula, sense)
        for _ in range(ROUNDS):
            best = np.argsort(values, kind="stable")[:KEPT]
            parents, least = cube[best], values[best]
            steps = rng.normal(0, scale, (KEPT, CHILDREN, cube.shape[1]))
            steps *= rng.random(steps.shape) < 0.7
            children = np.clip(parents[:, None] + steps, 0, 1).reshape(-1, cube.shape[1])
            values = np.concatenate([least, self._valued(children, formula, sense)])
            cube = np.concatenate([parents, children])
            scale *= SHRINK
        best = np.argsort(values, kind="stable")[:KEPT]
        return values[best], self.place(cube[best])

    def _valued(self, cube: np.ndarray, formula: tree.Formula, sense: int) -> np.ndarray:
        found = sense * values_on(self.law, self.place(cube), formula, len(cube))
        return np.where(np.isnan(found), np.inf, found)


def failures(
    case: Case, seed: int = 0, fixed: Mapping[str, Fraction] | None = None
) -> Iterator[dict[str, Fraction]]:
    """Points at which a claim fails, verified exactly: corners, and the lowest that a search finds.

    It sees what plain sampling misses: failures in a sliver, or by a hair.
    """
    fixed = {**_settings(case.law), **(fixed or {})}
    sense, formula = _gap(case.claim.claim)
    bounds = bounds_of(case.law, case.claim)
    yield from (point for point in corner_points(case.law, bounds, fixed)[:4] if fails(case, point))
    for far in (FAR, FARTHER):
        _, columns = Search(case, fixed, far).lowest(formula, sense, seed)
        for i in range(KEPT):
            at = {k: float(v[i]) for k, v in columns.items()}
            if not all(map(np.isfinite, at.values())):
                continue
            for short in _SHORT:  # where two sides touch, it is often at a short number
                point = {k: short(x) for k, x in at.items()} | fixed
                if inside(case.law, bounds, point) and fails(case, point):
                    yield point


_SHORT: tuple[Callable[[float], Fraction], ...] = (
    lambda x: Fraction(f"{x:.17g}"),
    lambda x: Fraction(f"{x:.6g}"),
    lambda x: Fraction(f"{x:.3g}"),
    lambda x: Fraction(x).limit_denominator(1000),
)


def counterexample(
    case: Case, seed: int = 0, fixed: Mapping[str, Fraction] | None = None
) -> dict[str, Fraction] | None:
    """The first of the failures; None where none is found."""
    return next(failures(case, seed, fixed), None)


def contradicted(case: Case, verdict: Verdict, seed: int = 0) -> str | None:
    """What is wrong with a verdict, by sampling and by search; None where nothing is."""
    if verdict.verdict == "refuted" and not verdict.witness:  # it fails everywhere
        points = sampled(case, random.Random(seed), LOOKED_AT)
        true = next((p for p in points if truth(case, p)[0]), None)
        return true and f"refuted everywhere, but it holds at {_shown(true)}"
    if verdict.verdict == "inside":
        return _of_inside(case, verdict, seed)
    wrong = contradiction(case, replace(verdict, exact=False), seed)
    if wrong is None and verdict.verdict == "proved":
        point = counterexample(case, seed)
        return point and f"proved, but {fails(case, point)} at {_shown(point)}"
    if wrong is None and verdict.exact:
        return _not_needed(case, verdict, seed)
    return wrong


def _of_inside(case: Case, verdict: Verdict, seed: int) -> str | None:
    """Where the claim fails, there is equality, on a face that the verdict names."""
    seen = suspicious(case, sampled(case, random.Random(seed), POINTS))
    for point in (*(p for p in seen if fails(case, p)), *failures(case, seed)):
        on_one = any(_all_hold(case, face, point) for face in (verdict.face or "").split(" or "))
        if not on_one or sign_at(case, point) != 0:
            return f"proved inside, but {fails(case, point)} at {_shown(point)}"
    return None


def _all_hold(case: Case, equations: str, point: Mapping[str, Fraction]) -> bool:
    on = Exact()
    judge = Judge(case.law, {k: on.number(v) for k, v in point.items()}, on)
    sides = (equation.split(" = ") for equation in equations.split(", "))
    gaps = (formula_of(f"({left}) - ({right})") for left, right in sides)
    return all(abs(judge.value(gap)) < 1e-12 for gap in gaps)


def _not_needed(case: Case, verdict: Verdict, seed: int) -> str | None:
    """Where an exact condition fails, so must the claim, somewhere among the variables."""
    left, relation, right = re.split(r" (<=|>=|<|>) ", verdict.condition or "")
    gap = formula_of(f"({left}) - ({right})")
    on = Exact()
    for point in sampled(case, random.Random(seed), POINTS)[:LOOKED_AT]:
        if any(abs(value) > 20 for value in point.values()):
            continue  # nothing could be told apart from 0 there
        value = Judge(case.law, {k: on.number(v) for k, v in point.items()}, on).value(gap)
        if (value if relation.startswith(">") else -value) < -0.1:
            fixed = {q.name: point[q.name] for q in case.law.parameters}
            if counterexample(case, seed, fixed) is None:
                return f"not needed: {verdict.condition} fails at {_shown(fixed)}"
    return None


def _shown(point: Mapping[str, Fraction]) -> str:
    return ", ".join(f"{k} = {v}" for k, v in point.items())


def _settings(law: Law) -> dict[str, Fraction]:
    return {q.name: Fraction(repr(q.value)) for q in law.settings if q.value is not None}


def _gap(claim: tree.Claim) -> tuple[int, tree.Formula]:
    """What a claim says is positive or not negative: a sense and a formula."""
    if isinstance(claim, tree.ComparisonNode):
        gap = tree.Sum((("+", claim.lhs), ("-", claim.rhs)))
        return 1 if claim.relation in (">", ">=") else -1, gap
    order = 2 if claim.word in ("convex", "concave") else 1
    sense = 1 if claim.word in ("increasing", "convex") else -1
    return sense, tree.Derivative("L", (claim.name,) * order, order)


def corner_points(
    law: Law, bounds: Mapping[str, list[Bound]], given: Mapping[str, Fraction]
) -> list[dict[str, Fraction]]:
    """Points at which many quantities are at a closed end of their ranges."""
    rng = random.Random(0)
    ends = {
        name: [b.limit.text for b in stated if "=" in b.relation and _is_number(b.limit)]
        for name, stated in bounds.items()
    }
    found = []
    for share in (1, 0.7, 0.4, 1, 0.7, 0.7, 0.4, 0.4):
        fixed = {
            n: Fraction(rng.choice(at)) for n, at in ends.items() if at and rng.random() < share
        }
        point = draw_point(law, bounds, rng, fixed | given)
        if point is not None and point not in found:
            found.append(point)
    return found


def _is_number(formula: tree.Formula) -> bool:
    return isinstance(formula, tree.Number)
