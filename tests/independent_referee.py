"""A referee of verdicts that shares no code with the tool: each verdict is compared with the values
of the law at many points.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, permutations
from typing import Any

import mpmath
from independent_cases import (
    Case,
    drawn_value,
    far_value,
    holds_in,
    label_choices,
    points,
    shares,
)
from independent_formulas import (
    CERTAIN,
    DIGITS,
    LABELS,
    POINTS,
    NoValue,
    Tree,
    Unclear,
    Values,
    certain,
    placed,
    read,
    value,
)
from independent_identities import objections_to_identity

OUTSIDE = 5  # parameters outside an exact condition that are looked at
MOVES = 300  # places of the variables, for each of them


def sign(x: Any, scale: Any) -> int | None:
    """The sign of a difference of numbers of some size; None where it may be rounding."""
    if x == 0:
        return 0
    return int(mpmath.sign(x)) if abs(x) > CERTAIN * scale else None


def margin(case: Case, at: Values, labels: Sequence[str]) -> tuple[Any, Any]:
    """What is positive (or 0, where that is allowed) as the claim says, and its scale.

    Raises:
        NoValue: the claim's formulas have none at the point.
    """
    renamed = dict(zip(case.fresh, labels, strict=False))

    def of(tree: Tree, moved: Values | None = None) -> Any:
        return value(case.whole(tree), {**at, **(moved or {})}, labels, renamed)

    if case.kind == "compare":
        x, y = of(case.left), of(case.right)
        return (x - y if case.relation[0] == ">" else y - x), abs(x) + abs(y)
    by = placed(case.by, renamed)
    if case.kind in ("rise", "slope", "bend"):
        order = 2 if case.kind == "bend" else 1
        slope, scale = _derivative(case, at, labels, by, order, of)
        if case.kind == "slope":
            y = of(case.right)
            slope, scale = slope - y, scale + abs(y)
            return (slope if case.relation[0] == ">" else -slope), scale
        return (slope if case.relation in ("increasing", "convex") else -slope), scale
    raise KeyError(case.kind)


def _derivative(
    case: Case, at: Values, labels: Sequence[str], by: str, order: int, of: Callable[..., Any]
) -> tuple[Any, Any]:
    """By differences on both sides, in the domain; NoValue where the sides differ.

    The step shrinks with the precision: a difference that shrinks with it is no derivative.
    """
    x = at[by]
    h = mpmath.mpf(2) ** (-55 - mpmath.mp.dps // 4) * (abs(x) + mpmath.mpf(2) ** -40)
    q = next(
        q
        for q in case.quantities
        if placed(q.shown, dict(zip(q.indices, [by.partition("[")[2][:-1]], strict=False))) == by
    )
    places = dict(zip(q.indices, [by.partition("[")[2][:-1]], strict=False))
    inside = {
        k: all(limit.allows(x + k * h, {**at, by: x + k * h}, labels, places) for limit in q.limits)
        for k in range(-2, 3)
    }
    with mpmath.workdps(mpmath.mp.dps * 2 + 2 * DIGITS):
        f = {k: of(("name", "L"), {by: x + k * h}) for k, there in inside.items() if there}
        scale = max(map(abs, f.values()))
        if order == 1:
            sides = [(f[k] - f[0]) / (k * h) for k in (-1, 1) if k in f]
        else:
            sides = [(f[2 * k] - 2 * f[k] + f[0]) / h**2 for k in (-1, 1) if 2 * k in f]
    if not sides:
        raise NoValue
    size = max(abs(s) for s in sides)
    if size * h**order < scale * mpmath.mpf(10) ** (-3 * DIGITS):
        raise OverflowError  # lost beside larger numbers
    if len(sides) == 2 and abs(sides[0] - sides[1]) > mpmath.mpf(10) ** -9 * (size + scale):
        raise NoValue
    return sides[-1], (size + scale * mpmath.mpf(10) ** 20) * mpmath.mpf(10) ** 3


def strict(case: Case) -> bool:
    return case.kind == "rise" or case.relation in ("<", ">")


def violated(case: Case, at: Values, labels: Sequence[str]) -> bool | None:
    """Whether the claim certainly fails at a point; False: it certainly holds; None: not certain."""
    try:
        x, scale = certain(lambda: margin(case, at, labels))
    except NoValue:
        return True if case.kind == "compare" else None
    except (OverflowError, Unclear):
        return None
    found = sign(x, scale)
    if found is None:
        return None
    return found < 0 or (found == 0 and strict(case))


def has_value(case: Case, at: Values, labels: Sequence[str]) -> bool | None:
    try:
        certain(lambda: value(case.formula, at, labels))
    except NoValue:
        return False
    except (OverflowError, Unclear):
        return None
    return True


def sizes(case: Case) -> list[Sequence[str]]:
    """The label sets that are looked at, the names of the claim first in each order."""
    if not case.indexed:
        return [()]
    if case.listed:
        return [tuple(p) for p in permutations(case.listed)] if case.fresh else [case.listed]
    return [LABELS[:n] for n in (2, 3, 4)]


def objections(case: Case, verdict: Mapping[str, Any], seed: int = 0) -> list[str]:
    """What is wrong with a verdict (as JSON); empty where nothing is known to be."""
    rng = random.Random(seed)
    with mpmath.workdps(DIGITS):
        if case.kind == "limit":
            return _about_limit(case, verdict, rng)
        if case.kind == "is":
            return objections_to_identity(case, verdict, seed)
        sets = sizes(case)
        drawn = [(at, s) for s in sets for at in points(case, rng, s, POINTS // len(sets) + 1)]
        if verdict["verdict"] == "refuted":
            return _about_refuted(case, verdict, drawn)
        found: list[str] = []
        for at, labels in drawn:
            wrong = _objection(case, verdict, at, labels)
            if wrong:
                where = ", ".join(f"{n} = {mpmath.nstr(x, 12)}" for n, x in at.items())
                found.append(f"{wrong} at {where}")
                break
        if verdict["verdict"] == "proved" and case.kind == "rise" and not case.indexed:
            found += _about_pairs(case, [at for at, _ in drawn], rng)
        if verdict["verdict"] == "conditional" and verdict["exact"]:
            found += _about_exactness(case, verdict, drawn, rng)
        return found


def _rises(case: Case, at: Values, to: Any) -> bool | None:
    """Whether the law changes as the claim says from a point to a larger value of the one quantity;
    None where that is not certain."""
    try:
        x, y = certain(
            lambda: tuple(
                value(case.formula, {**at, case.by: place}) for place in (at[case.by], to)
            )
        )
    except (NoValue, OverflowError, Unclear):
        return None
    found = sign(y - x, abs(x) + abs(y))
    return None if not found else found == (1 if case.relation == "increasing" else -1)


def _about_pairs(case: Case, drawn: Sequence[Values], rng: random.Random) -> list[str]:
    """A trend that is proved holds from any point to any other beyond it in the one quantity."""
    for at in drawn:
        other = rng.choice(drawn)[case.by]
        if rng.random() < 0.5:
            other = at[case.by] * (1 + mpmath.mpf(rng.choice((1, 2, 5))) / rng.choice((10, 1000)))
        if other > at[case.by] and holds_in(case, {**at, case.by: other}, ()):
            if _rises(case, at, other) is False:
                return [f"proved, but not so from {at} to {mpmath.nstr(other, 12)}"]
    return []


def _objection(case: Case, verdict: Mapping[str, Any], at: Values, labels: Sequence[str]) -> str:
    if case.kind == "finite":
        bad = verdict["verdict"] == "proved" and has_value(case, at, labels) is False
        return "proved, but has no value" if bad else ""
    fails = violated(case, at, labels)
    if verdict["verdict"] == "proved":
        return "proved, but fails" if fails else ""
    if verdict["verdict"] == "inside":
        if not fails:
            return ""
        try:
            x, _ = certain(lambda: margin(case, at, labels))
            if x < 0:
                return "proved inside, but fails"
            return "" if read(verdict["face"], at) else "proved inside, but equal off the face"
        except KeyError:
            return ""  # a face in sums of all other labels
        except NoValue:
            return "proved inside, but has no value"
    if verdict["verdict"] == "conditional" and fails and _met(case, verdict, at, labels):
        return "its condition holds, but it fails"
    return ""


def _met(case: Case, verdict: Mapping[str, Any], at: Values, labels: Sequence[str]) -> bool | None:
    """Whether the condition of a verdict holds at a point; None: it cannot be read there."""
    names = dict(zip(case.fresh, labels, strict=False))
    seen = {**at, **{placed(q.shown, {i: n}): at[placed(q.shown, {i: one})]
                     for q in case.quantities for i in q.indices for n, one in names.items()}}  # fmt: skip
    try:
        return bool(read(verdict["condition"], seen))
    except (KeyError, NoValue, OverflowError):
        return None


def _about_exactness(
    case: Case,
    verdict: Mapping[str, Any],
    drawn: Sequence[tuple[Values, Sequence[str]]],
    rng: random.Random,
) -> list[str]:
    """Whether the claim fails somewhere for parameters that do not satisfy an exact condition."""
    parameters = [q.name for q in case.quantities if not q.varies]
    outside = [
        (at, labels)
        for at, labels in drawn
        if _met(case, verdict, at, labels) is False
        and all(
            x == 0 or 1e-3 < abs(x) < 1e4
            for n, x in at.items()
            if n.partition("[")[0] in parameters
        )
    ]  # beyond, the claim may fail only where no number comes
    for at, labels in rng.sample(outside, min(len(outside), OUTSIDE)):
        moved = chain([at], _variables_moved(case, at, labels, rng))
        orders = sizes(case) if case.listed else [labels]  # the claim is about all of them
        if not any(violated(case, there, order) for there in moved for order in orders):
            fixed = {n: mpmath.nstr(x, 12) for n, x in at.items()}
            return [f"said to hold nowhere else, but seems to hold for the parameters of {fixed}"]
    return []


def _variables_moved(
    case: Case, at: Values, labels: Sequence[str], rng: random.Random
) -> Iterator[Values]:
    """Points with the same parameters: ends, near ends, far out, and at random."""
    own = {placed(q.shown, places) for q in case.quantities if not q.varies for places in label_choices(q, labels)}  # fmt: skip
    for attempt in range(MOVES):
        found: dict[str, Any] = {n: x for n, x in at.items() if n in own}
        for q in case.quantities:
            if not q.varies:
                continue
            if q.simplex:
                found |= {f"{q.name}[{one}]": x for one, x in zip(labels, shares(rng, len(labels)), strict=True)}  # fmt: skip
                continue
            for places in label_choices(q, labels):
                n = placed(q.shown, places)
                if attempt % 2:
                    found[n] = drawn_value(q, rng, found, labels, places, 1.0)
                else:
                    found[n] = far_value(q, rng, found, labels, places)
        if holds_in(case, found, labels):
            yield found


def _about_refuted(
    case: Case, verdict: Mapping[str, Any], drawn: Sequence[tuple[Values, Sequence[str]]]
) -> list[str]:
    witness = {n: mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator for n, x in (verdict["witness"] or {}).items()}  # fmt: skip
    if verdict["never"]:
        for at, labels in drawn:
            if violated(case, at, labels) is False:
                return [f"never, but holds at {at}"]
    if not witness:
        if case.kind == "compare" and not any(violated(case, at, s) for at, s in drawn[:40]):
            return ["refuted everywhere, but fails at no point"] if drawn else []
        return []
    labels = _labels_of(case, witness)
    for at in _completed(case, witness, labels):
        orders = permutations(labels) if case.fresh and case.listed else [labels]
        if case.kind == "finite":
            return (
                []
                if has_value(case, at, labels) in (False, None)
                else ["has a value at the witness"]
            )
        second = re.search(r" to (\w+) = (-?[\d/]+)", verdict["value"] or "")
        if case.kind == "rise" and second is not None:
            to = Fraction(second[2])
            beyond = mpmath.mpf(to.numerator) / to.denominator
            there = holds_in(case, {**at, case.by: beyond}, labels) and beyond > at[case.by]
            return [] if there and _rises(case, at, beyond) is False else ["no fall to that point"]
        if any(violated(case, at, tuple(order)) in (True, None) for order in orders):
            return _about_value(case, verdict, at, labels)
        return [f"refuted, but holds at the witness {witness}"]
    return [f"refuted at {witness}, which is not in the domain"]


def _about_value(
    case: Case, verdict: Mapping[str, Any], at: Values, labels: Sequence[str]
) -> list[str]:
    """The value beside a witness, of a comparison without labels."""
    if case.kind != "compare" or case.indexed or " = " not in (verdict["value"] or ""):
        return []
    try:
        x, scale = certain(lambda: margin(case, at, labels))
    except (NoValue, OverflowError, Unclear):
        return []
    shown = mpmath.mpf(verdict["value"].rpartition(" = ")[2])
    true = x if case.relation[0] == ">" else -x
    if sign(x, scale) is None or mpmath.almosteq(shown, true, 2e-3, 0) or shown == true:
        return []
    return [f"the value beside the witness is {mpmath.nstr(true, 8)}, not {shown}"]


def _labels_of(case: Case, witness: Values) -> Sequence[str]:
    if not case.indexed or case.listed:
        return case.listed
    found = [n.partition("[")[2][:-1] for n in witness if "[" in n]
    own = [n for n in case.fresh if n not in found]
    ordered = [*case.fresh, *(n for n in found if n not in case.fresh)]
    labels = list(dict.fromkeys([*ordered, *own]))
    for more in ("other", "other1"):  # a set has two labels at least
        if len(labels) < 2 and more not in labels:
            labels.append(more)
    return tuple(labels)


def _completed(case: Case, witness: Values, labels: Sequence[str]) -> Iterator[Values]:
    """The witness with the quantities that it leaves open, at some place in their domains."""
    rng = random.Random(1)
    for _ in range(400):
        at: dict[str, Any] = {}
        for q in case.quantities:
            if q.simplex:
                own = {one: witness.get(f"{q.name}[{one}]") for one in labels}
                missing = [one for one, x in own.items() if x is None]
                rest = 1 - mpmath.fsum(x for x in own.values() if x is not None)
                for k, one in enumerate(missing):
                    own[one] = rest if k == 0 else mpmath.mpf(0)
                at |= {f"{q.name}[{one}]": x for one, x in own.items()}
                if missing == [] and abs(rest) < mpmath.mpf(10) ** -50:
                    last = labels[-1]
                    at[f"{q.name}[{last}]"] = 1 - mpmath.fsum(own[one] for one in labels[:-1])
                continue
            for places in label_choices(q, labels):
                n = placed(q.shown, places)
                at[n] = witness[n] if n in witness else drawn_value(q, rng, at, labels, places, 1.0)
        if holds_in(case, at, labels):
            yield at


def _about_limit(case: Case, verdict: Mapping[str, Any], rng: random.Random) -> list[str]:
    if verdict["verdict"] not in ("proved", "refuted"):
        return []
    for at in list(points(case, rng, (), 12)):
        try:
            target = value(case.right, at)
            near, far = (
                abs(value(case.formula, {**at, case.by: mpmath.mpf(10) ** k}) - target)
                for k in (1000, 10**6)
            )
        except (NoValue, OverflowError):
            continue
        small = mpmath.mpf(10) ** -30
        if verdict["verdict"] == "proved" and far > small and far > near / 10:
            return [f"proved, but {mpmath.nstr(far, 5)} away far out at {at}"]
    return []
