"""A claim, and a verdict on it -> whether they stand up to dense sampling of the domain."""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from hyperdual import Border, Enclosed, Exact, Floats, Kink, NoValue, Rationals, Unclear
from judging import Bound, Judge, bounds_of, draw_point, formula_of, inside

from lawdsl.language import tree
from lawdsl.language.claims import claim_text
from lawdsl.language.symbols import Claim
from lawdsl.law.law import Law
from lawdsl.proof.verdict import Verdict

POINTS = 80  # of float64, for each claim
ON_FACE = 400  # drawn on a face, to see equality there
FACES = 10  # of these looked at with 40 digits and more whatever float64 says


@dataclass(frozen=True)
class Case:
    """A law and one claim on it."""

    law: Law
    claim: Claim
    text: str

    def __str__(self) -> str:
        return f"{self.text}\nrequire {self.shown}"

    @property
    def shown(self) -> str:
        return claim_text(self.claim)


def larger_of(judge: Judge, claim: tree.Claim) -> Any:
    """What the claim says is positive (or not negative)."""
    if isinstance(claim, tree.ComparisonNode):
        gap = judge.value(claim.lhs) - judge.value(claim.rhs)
        return gap if claim.relation in (">", ">=") else -gap
    order = 2 if claim.word in ("convex", "concave") else 1
    slope = judge.value(tree.Derivative("L", (claim.name,) * order, order))
    return slope if claim.word in ("increasing", "convex") else -slope


def is_strict(claim: tree.Claim) -> bool:
    if isinstance(claim, tree.ComparisonNode):
        return claim.relation in "<>"
    return claim.word in ("increasing", "decreasing")


def sign_at(case: Case, point: Mapping[str, Fraction]) -> int | None:
    """The sign of what is claimed to be positive; None where it is not clear.

    Raises:
        NoValue: it has none.
    """
    with mpmath.workdps(50):
        on = Exact()
        larger_of(
            Judge(case.law, {k: on.number(v) for k, v in point.items()}, on), case.claim.claim
        )
    for digits in (50, 160, 330):
        with contextlib.suppress(Unclear), Enclosed.digits(digits) as on:
            judge = Judge(case.law, {k: on.number(v) for k, v in point.items()}, on)
            found = larger_of(judge, case.claim.claim)
            if found > 0 or found < 0 or found == 0:
                return 1 if found > 0 else -1 if found < 0 else 0
    if not moderate(point):
        return None  # it may be exp(-20^3) and no more than look like 0
    with mpmath.workdps(5000):
        on = Exact()
        found = larger_of(
            Judge(case.law, {k: on.number(v) for k, v in point.items()}, on), case.claim.claim
        )
        return 0 if abs(found) < mpmath.mpf(10) ** -4000 else None


def moderate(point: Mapping[str, Fraction]) -> bool:
    """Whether no number is so large or small that what it is the exponent of vanishes."""
    return all(v == 0 or Fraction(1, 100) <= abs(v) <= 20 for v in point.values())


def _is_mixed(claim: tree.Claim) -> bool:
    return any(isinstance(n, tree.Derivative) and len({*n.wrt}) > 1 for n in tree.walk(claim))


def has_value(case: Case, point: Mapping[str, Fraction]) -> bool:
    """Whether the law has a value at a point."""
    with mpmath.workdps(50):
        on = Exact()
        try:
            Judge(case.law, {k: on.number(v) for k, v in point.items()}, on).value(tree.Name("L"))
        except OverflowError:
            return True
        except NoValue:
            return False
    return True


def truth(case: Case, point: Mapping[str, Fraction]) -> tuple[bool | None, str]:
    """Whether a claim is true at a point of its domain (None: that is not clear), and why."""
    if not has_value(case, point):
        return False, "the law has no value"
    if isinstance(case.claim.claim, tree.Finite):
        return True, "the law has a value"
    try:
        sign = sign_at(case, point)
    except OverflowError:
        return None, "too large"
    except NoValue as found:
        if isinstance(found, Border) and isinstance(case.claim.claim, tree.TrendNode):
            return None, "at a border a trend is that of points on both sides"
        if isinstance(found, Kink) and _is_mixed(case.claim.claim):
            return None, "the other derivative, taken first, may have removed the kink"
        if on_face(case, point):
            return None, "at an end of a domain a derivative is what it tends to"
        return False, "the derivative has no value"
    if sign is None:
        return None, "too close"
    return sign == 1 or sign == 0 and not is_strict(case.claim.claim), f"the sign is {sign}"


def fails(case: Case, point: Mapping[str, Fraction]) -> str | None:
    """How a claim fails at a point of its domain; None where it does not, or that is not clear."""
    holds, why = truth(case, point)
    return why if holds is False else None


def on_face(case: Case, point: Mapping[str, Fraction]) -> bool:
    """Whether some quantity is at an end of its domain."""
    with mpmath.workdps(50):
        on = Exact()
        judge = Judge(case.law, {k: on.number(v) for k, v in point.items()}, on)
        stated = bounds_of(case.law, case.claim)
        return any(
            judge.value(tree.Name(b.name)) == judge.value(b.limit)
            for bounds in stated.values()
            for b in bounds
        )


def sampled(
    case: Case,
    rng: random.Random,
    count: int,
    fixed: Mapping[str, Fraction] | None = None,
) -> list[dict[str, Fraction]]:
    bounds = bounds_of(case.law, case.claim)
    found = []
    for _ in range(2 * count):
        point = draw_point(case.law, bounds, rng, fixed or {})
        if point is not None:
            found.append(point)
        if len(found) == count:
            break
    return found


def suspicious(case: Case, points: list[dict[str, Fraction]]) -> list[dict[str, Fraction]]:
    """The points at which float64 sees a failure, or nothing, and the first few."""
    if not points:
        return []
    columns = {k: np.array([float(p[k]) for p in points]) for k in points[0]}
    with np.errstate(all="ignore"):
        judge = Judge(case.law, columns, Floats())
        if isinstance(case.claim.claim, tree.Finite):
            bad = ~np.isfinite(np.broadcast_to(judge.value(tree.Name("L")), len(points)))
        else:
            values = np.broadcast_to(larger_of(judge, case.claim.claim), len(points))
            bad = ~(values > 0)
    order = [*np.flatnonzero(bad)[:FACES], *range(min(FACES, len(points)))]
    return [points[i] for i in dict.fromkeys(order)]


def contradiction(case: Case, verdict: Verdict, seed: int = 0) -> str | None:
    """What is wrong with a verdict, by sampling; None where nothing is."""
    rng = random.Random(seed)
    if verdict.verdict == "refuted":
        return _of_refuted(case, verdict)
    if verdict.verdict == "undecided":
        return None
    if isinstance(case.claim.claim, tree.LimitNode):
        return _of_limit(case, rng)
    points = sampled(case, rng, POINTS)
    if verdict.verdict == "proved":
        for point in suspicious(case, points):
            failure = fails(case, point)
            if failure:
                return f"proved, but {failure} at {_shown(point)}"
        return _of_pairs(case, points, rng)
    if verdict.verdict == "inside":
        return _of_inside(case, verdict, points, rng)
    return _of_conditional(case, verdict, points, rng)


def _is_piecewise(law: Law) -> bool:
    formulas = [s.formula for s in law.declarations.symbols.values() if s.formula is not None]
    return any(isinstance(n, tree.Conditional) for f in formulas for n in tree.walk(f))


def _rise(
    case: Case, low: Mapping[str, Fraction], high: Mapping[str, Fraction]
) -> tuple[Any, Any] | None:
    """How much the law changes between two points, and how large it is; None where that is not known."""
    try:
        below, above = (_number(case, tree.Name("L"), point) for point in (low, high))
    except (NoValue, OverflowError):
        return None
    return above - below, abs(above) + abs(below)


def _of_pairs(case: Case, points: list[dict[str, Fraction]], rng: random.Random) -> str | None:
    """A trend that is proved holds between any two points that differ in the one quantity."""
    claim = case.claim.claim
    if not isinstance(claim, tree.TrendNode) or not is_strict(claim) or not _is_piecewise(case.law):
        return None
    bounds, name = bounds_of(case.law, case.claim), claim.name
    sense = 1 if claim.word == "increasing" else -1
    for point in points:
        step = Fraction(rng.randrange(1, 100), 10 ** rng.choice((2, 2, 3, 5)))
        other = {**point, name: point[name] + step * max(1, abs(point[name]))}
        if rng.random() < 0.5:
            other[name] = rng.choice(points)[name]
        low, high = sorted((point, other), key=lambda p: p[name])
        if low[name] == high[name] or not inside(case.law, bounds, other):
            continue
        found = _rise(case, low, high)
        if found is not None and sense * found[0] < -found[1] * mpmath.mpf(10) ** -40:
            return (
                f"proved, but it is {mpmath.nstr(found[0], 5)} from {_shown(low)} to {high[name]}"
            )
    return None


def _second_point(case: Case, verdict: Verdict, point: dict[str, Fraction]) -> bool:
    """Whether a trend is refuted by a second point, which the value of the verdict names."""
    named = re.search(r" to (\w+) = (-?[\d/]+)", verdict.value or "")
    claim = case.claim.claim
    if named is None or not isinstance(claim, tree.TrendNode) or named[1] != claim.name:
        return False
    other = {**point, claim.name: Fraction(named[2])}
    found = _rise(case, point, other)
    sense = 1 if claim.word == "increasing" else -1
    ordered = other[claim.name] > point[claim.name]
    is_inside = inside(case.law, bounds_of(case.law, case.claim), other)
    return bool(ordered and is_inside and found is not None and sense * found[0] < 0)


def _shown(point: Mapping[str, Fraction]) -> str:
    return ", ".join(f"{k} = {v}" for k, v in point.items())


def _of_refuted(case: Case, verdict: Verdict) -> str | None:
    if verdict.never:
        for point in sampled(case, random.Random(3), FACES):
            if truth(case, point)[0]:
                return f"it never holds, but {truth(case, point)[1]} at {_shown(point)}"
    if not verdict.witness:
        if isinstance(case.claim.claim, tree.LimitNode):
            return _of_other_limit(case)
        return None if "0 everywhere" in (verdict.value or "") else "refuted without a witness"
    point = {q.name: Fraction(repr(q.value)) for q in case.law.settings if q.value is not None} | {
        name: Fraction(value) for name, value in verdict.witness
    }
    bounds = bounds_of(case.law, case.claim)
    complete = _completed(case, bounds, point)
    if complete is None:
        return f"the witness is no point of the domain: {_shown(point)}"
    if isinstance(case.claim.claim, tree.LimitNode):
        return _of_other_limit(case, complete)
    if _second_point(case, verdict, complete):
        return None
    holds, why = truth(case, complete)
    if isinstance(case.claim.claim, tree.Finite):
        wrong = holds
    else:
        wrong = holds or not has_value(case, complete)
    return f"refuted, but {why} at {_shown(point)}" if wrong else None


def _completed(
    case: Case, bounds: Mapping[str, list[Bound]], point: Mapping[str, Fraction]
) -> dict[str, Fraction] | None:
    """The witness with values for all that it leaves open."""
    rng = random.Random(1)
    for _ in range(200):
        found = draw_point(case.law, bounds, rng, point)
        if found is not None and inside(case.law, bounds, found):
            return found
    return None


def _number(case: Case, formula: tree.Formula, point: Mapping[str, Fraction]) -> Any:
    with mpmath.workdps(50):
        on = Exact()
        return Judge(case.law, {k: on.number(v) for k, v in point.items()}, on).value(formula)


def _of_inside(
    case: Case, verdict: Verdict, points: list[dict[str, Fraction]], rng: random.Random
) -> str | None:
    """Where the claim fails there is equality, on a face that is named; and there is some on each."""
    faces = (verdict.face or "").split(" or ")
    if not is_strict(case.claim.claim):
        return "inside, but equality is no failure"
    for point in suspicious(case, points):
        failure = fails(case, point)
        if failure and sign_at(case, point) != 0:
            return f"inside, but {failure} at {_shown(point)}"
        if failure and not any(_on(case, face, point) for face in faces):
            return f"equality off the face {verdict.face}: {_shown(point)}"
    for face in faces:
        signs = set(_signs_on(case, face, rng))
        if signs - {None} and 0 not in signs:
            return f"no equality at {face}"
    return None


def _equations(face: str) -> Iterator[tuple[str, tree.Formula]]:
    for equation in face.split(", "):
        name, at = equation.split(" = ")
        yield name, formula_of(at)


def _on(case: Case, face: str, point: Mapping[str, Fraction]) -> bool:
    gaps = (tree.Sum((("+", tree.Name(name)), ("-", at))) for name, at in _equations(face))
    return all(abs(_number(case, gap, point)) < 1e-25 for gap in gaps)


def _signs_on(case: Case, face: str, rng: random.Random) -> Iterator[int | None]:
    """The signs at random points of a face, where there are any."""
    bounds = bounds_of(case.law, case.claim)
    known = {q.name: Fraction(repr(q.value)) for q in case.law.settings if q.value is not None}
    ends = {}
    for name, at in _equations(face):
        if {n.text for n in tree.walk(at) if isinstance(n, tree.Name)} <= known.keys():
            ends[name] = Judge(case.law, known, Rationals()).value(at)
    for _ in range(ON_FACE):
        point = draw_point(case.law, bounds, rng, ends)
        if point is not None and moderate(point) and _on(case, face, point):
            with contextlib.suppress(NoValue, OverflowError):
                yield sign_at(case, point)


def _of_conditional(
    case: Case, verdict: Verdict, points: list[dict[str, Fraction]], rng: random.Random
) -> str | None:
    """Where the condition holds the claim must; where an exact one fails, so must the claim."""
    text = verdict.condition or ""
    relation = next(r for r in (" <= ", " >= ", " < ", " > ") if r in text)
    left, right = text.split(relation)
    gap = formula_of(f"({left}) - ({right})")
    names = {n.text for n in tree.walk(gap) if isinstance(n, tree.Name)}
    variables = {q.name for q in case.law.variables}
    if names & variables:
        return f"the condition names variables: {text}"
    seen = []
    for point in points:
        try:
            value = _number(case, gap, point)
        except NoValue:
            return f"the condition has no value at {_shown(point)}"
        except OverflowError:
            continue
        seen.append((point, value if ">" in relation else -value))
    good = [p for p, v in seen if v > 0 or v == 0 and "=" in relation]
    for point in suspicious(case, good):
        failure = fails(case, point)
        if failure:
            return f"under `{text}`, but {failure} at {_shown(point)}"
    if not verdict.exact:
        return None
    failing = [({k: p[k] for k in p if k not in variables}, v) for p, v in seen if v < -0.1]
    for fixed, value in [(p, v) for p, v in failing if moderate(p)][:3]:
        if not _fails_somewhere(case, fixed, rng):
            return f"not needed: `{text}` fails by {mpmath.nstr(value, 5)} at {_shown(fixed)}"
    return None


def _fails_somewhere(case: Case, fixed: Mapping[str, Fraction], rng: random.Random) -> bool:
    """Whether a claim fails for some values of the parameters; also where that is not clear."""
    for _ in range(3):
        points = sampled(case, rng, POINTS, fixed)
        if not points:
            return True  # the variables have no domain there
        if not all(truth(case, point)[0] for point in suspicious(case, points)):
            return True
    return False


def _limit_values(
    case: Case, point: Mapping[str, Fraction], digits: int = 60
) -> Iterator[tuple[Any, Any]]:
    """Values of the formula and target on the way to the limit."""
    claim = case.claim.claim
    for power in (50, 400, 10**9):
        with mpmath.workdps(digits + 2 * power if power < 400 else digits):
            on = Exact()
            values = {k: on.number(v) for k, v in point.items()}
            for name, at in claim.approaches:
                far = mpmath.mpf(10) ** power
                if isinstance(at, tree.Name) and at.text == "oo":
                    values[name] = far
                else:
                    to = Judge(case.law, values, on).value(at)
                    values[name] = to + 1 / far if values[name] > to else to - 1 / far
            judge = Judge(case.law, values, on)
            infinite = isinstance(claim.target, tree.Name) and claim.target.text == "oo"
            target = mpmath.inf if infinite else judge.value(claim.target)
            yield judge.value(claim.formula), target


def _of_limit(case: Case, rng: random.Random) -> str | None:
    for point in [p for p in sampled(case, rng, 40) if moderate(p)][:4]:
        gaps = []
        try:
            for value, target in _limit_values(case, point):
                gaps.append(1 / value if target == mpmath.inf else value - target)
        except NoValue:
            continue
        except OverflowError:  # too far out for mpmath; the nearer values count
            if len(gaps) < 2:
                continue
        if abs(gaps[-1]) > 0.3 and abs(gaps[-1]) > 0.9 * abs(gaps[0]):
            return f"proved, but {[mpmath.nstr(g, 5) for g in gaps]} away at {_shown(point)}"
    return None


def _of_other_limit(case: Case, point: Mapping[str, Fraction] | None = None) -> str | None:
    if point is None:
        found = sampled(case, random.Random(2), 1)
        if not found:
            return None
        point = found[0]
    try:
        gaps = [value - target for value, target in _limit_values(case, point)]
    except (NoValue, OverflowError):
        return None
    if abs(gaps[-1]) < mpmath.mpf(10) ** -50 and abs(gaps[-1]) < abs(gaps[0]) / 2:
        return f"refuted, but it comes within {mpmath.nstr(gaps[-1], 5)} at {_shown(point)}"
    return None
