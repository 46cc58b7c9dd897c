"""Random claims that one law is another, `L(z = z0) is target`, and what they are judged by.

A target is a constant plus one power or exponential of each variable. Whether a law is one, for given
parameters, is seen from its values at four places of each variable: their differences are those of a
geometric progression, and they do not depend on the other variables.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
from independent_cases import Case, Limit, Quantity, Target, Term, added, points
from independent_formulas import (
    DIGITS,
    NoValue,
    Tree,
    Unclear,
    Values,
    name,
    num,
    read,
    replaced,
    value,
)

EXACT = 10 * DIGITS  # digits, of which many are lost where a term is small beside another
RANGES = (
    (Limit(">", num(0)),),
    (Limit(">", num(0)),),
    (Limit(">=", num(1)),),
    (Limit(">", num(0)), Limit("<=", num(1))),
    (Limit(">=", num("0.5")), Limit("<", num(3))),
)
BOUNDS = ((), (Limit(">", num(0)),), (Limit(">", num(0)),), (Limit(">=", num(0)),))


def identity(rng: random.Random) -> Case:
    """A target, and a law that is made from it: half of them are then changed in some place."""
    target = _target(rng, rng.choice((1, 1, 2, 2, 3)))
    variables = [Quantity(q.name, True, rng.choice(RANGES)) for q in target.variables]
    own = [
        Quantity(n, False, rng.choice(BOUNDS) or rng.choice(BOUNDS))
        for n in ("p", "q", "w", "v")[: rng.choice((1, 2, 3, 4))]
    ]
    if rng.random() < 0.4:
        variables.append(Quantity("z", True, rng.choice(RANGES)))
    extra = [q.name for q in variables if q.name == "z"]
    values: dict[str, Tree] = {}
    for q in target.parameters:
        values[q.name] = _expression(rng, [q.name for q in own])
        if extra and any(q.name in (t.coefficient, target.constant) for t in target.terms):
            values[q.name] = rng.choice((values[q.name], ("*", name("z"), values[q.name])))
    parts = [replaced(name(target.constant), values)] if target.constant else []
    parts += [replaced(term.formula, values) for term in target.terms]
    rng.shuffle(parts)
    if rng.random() < 0.5:
        parts = _changed(rng, parts, [q.name for q in variables])
    settled = tuple((n, f"{n}0") for n in extra) if rng.random() < 0.8 else ()
    return Case((*variables, *own), added(parts), "is", target=target, settled=settled)


def _target(rng: random.Random, count: int) -> Target:
    variables = tuple(Quantity(n, True, (Limit(">", num(0)),)) for n in ("x", "y", "u")[:count])
    terms = tuple(
        Term(q.name, f"A{k}", f"a{k}", rng.random() < 0.25, rng.choice((1, -1)))
        for k, q in enumerate(variables)
    )
    constant = "E" if rng.random() < 0.8 else None
    names = [n for term in terms for n in (term.coefficient, term.exponent)]
    bounded = [*([constant] if constant else []), *names]
    parameters = tuple(Quantity(n, False, rng.choice(BOUNDS)) for n in bounded)
    return Target(variables, parameters, constant, terms)


def _expression(rng: random.Random, names: Sequence[str]) -> Tree:
    """What a parameter of the target is in the law's parameters."""
    p, q = name(rng.choice(names)), name(rng.choice(names))
    return rng.choice(
        (
            p,
            p,
            p,
            ("*", num(rng.choice((2, 3, 0.5, -1))), p),
            ("+", p, num(rng.choice((1, -1, 0.5)))),
            ("+", p, q),
            ("-", p, q),
            ("*", p, q),
            ("^", p, num(2)),
            ("/", num(1), ("+", num(1), ("^", p, num(2)))),
            num(rng.choice((1, 2, 0.5))),
        )
    )


def _changed(rng: random.Random, parts: Sequence[Tree], variables: Sequence[str]) -> list[Tree]:
    """A change after which the law may still be one of the target's."""
    x, y = name(rng.choice(variables)), name(rng.choice(variables))
    k = rng.randrange(len(parts))
    one = parts[k]
    others = [*parts[:k], *parts[k + 1 :]]
    more: Tree = rng.choice(
        (
            x,
            ("*", x, y),
            ("/", num(1), ("+", num(1), x)),
            ("^", x, num(2)),
            ("log", x),
            ("exp", ("*", num(-1), x)),
            ("*", num("0.001"), ("/", x, y)),
            num(-1),
        )
    )
    return rng.choice(
        (
            [*parts, more],
            [*parts, ("*", num(Fraction(1, 10**6)), more)],
            [*others, ("*", num(-1), one)],
            [*others, ("*", one, more)],
            [*others, ("+", one, ("*", one, one))],
            [*others, replaced(one, {x[1]: ("+", x, num(1))})],
            [*others, replaced(one, {x[1]: ("*", num(2), x)})],
            others or [num(1)],
        )
    )


# The referee


def objections_to_identity(case: Case, verdict: Mapping[str, Any], seed: int = 0) -> list[str]:
    """What is wrong with a verdict; empty where nothing is known to be."""
    rng = random.Random(seed)
    with mpmath.workdps(EXACT):
        drawn = list(points(case, rng, (), 40))
        if verdict["verdict"] == "proved":
            return [wrong for at in drawn if (wrong := _about_choice(case, verdict, at))][:1]
        if verdict["verdict"] != "refuted":
            return [] if verdict["verdict"] == "undecided" else ["no verdict on an identity"]
        witness = {n: mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator for n, x in (verdict["witness"] or {}).items()}  # fmt: skip
        witness |= {n: witness[value] for n, value in case.settled if value in witness}
        open_ones = [{q.name: at[q.name] for q in case.quantities} | witness for at in drawn]
        if any(member(case, at) for at in open_ones[:5]):
            return [f"refuted, but it is one of the target's at the witness {witness}"]
        if verdict["never"] and any(member(case, at) for at in drawn):
            return ["never, but there are parameters with which it is"]
    return []


def _about_choice(case: Case, verdict: Mapping[str, Any], at: Values) -> str:
    """Whether the parameters that a proof names are the target's, and give the law."""
    assert case.target is not None
    with_values = {**at, **{value: at[n] for n, value in case.settled}}
    any_value = mpmath.mpf(1)  # of an exponent beside a coefficient 0, which is not named
    chosen = {q.name: at.get(q.name, any_value) for q in case.target.parameters}
    stated = verdict["proof"][0].partition(" with ")[2]
    where = ", ".join(f"{n} = {mpmath.nstr(x, 12)}" for n, x in at.items())
    try:
        if stated != "the same parameters":
            for one in re.split(r", (?=\w+ = )", stated):
                n, _, shown = one.partition(" = ")
                chosen[n] = read(shown, with_values)
        for q in case.target.parameters:
            for limit in q.limits:
                room = chosen[q.name] - value(limit.at, {})
                room = room if limit.relation[0] == ">" else -room
                if room < -(mpmath.mpf(10) ** -DIGITS) or (room == 0 and limit.relation in "<>"):
                    return f"proved, but {q.name} is {mpmath.nstr(chosen[q.name], 8)} at {where}"
        own = value(case.formula, at)
        parts = [value(t.formula, {**at, **chosen}) for t in case.target.terms]
        parts += [chosen[case.target.constant]] if case.target.constant else []
    except (NoValue, OverflowError):
        return ""
    scale = max(abs(own), *map(abs, parts))
    if abs(mpmath.fsum(parts) - own) > scale * mpmath.mpf(10) ** (-EXACT // 2):
        return f"proved, but the target with these parameters is another law at {where}"
    return ""


def member(case: Case, at: Values) -> bool | None:
    """Whether, with the parameters of a point, the law is one of the target's; None: not certain."""
    target = case.target
    assert target is not None
    settled = {n for n, _ in case.settled}
    free = {q.name for q in case.quantities if q.varies and q.name not in settled}
    known = {term.variable for term in target.terms}
    try:
        grids = {q.name: _grid(q, target) for q in case.quantities if q.name in free}

        def f(places: Values) -> Any:
            return value(case.formula, {**at, **places})

        starts = {n: grid[0] for n, grid in grids.items()}
        scale = max(abs(f({**starts, **dict.fromkeys([n], x)})) for n in grids for x in grids[n])
        if not _apart(f, grids, starts, scale):
            return False
        for n in free - known:
            if any(_differ(f({**starts, n: x}), f(starts), scale) for x in grids[n]):
                return False
        rest = f(starts)
        for term in target.terms:
            values = [f({**starts, term.variable: x}) for x in grids[term.variable]]
            found = _term(target, term, grids[term.variable], values, scale)
            if found is None:
                return False
            rest -= found
        if target.constant is None:
            return not _differ(rest, 0, scale)
        return _allowed(target, target.constant, 0 if not _differ(rest, 0, scale) else rest)
    except (NoValue, OverflowError, Unclear):
        return None


def _grid(q: Quantity, target: Target) -> list[Any]:
    """Four places of a variable: equal steps where it is in an exponential, else equal ratios."""
    low = max(x.at[1] for x in q.limits if x.relation[0] == ">")
    highs = [x.at[1] for x in q.limits if x.relation[0] == "<"]
    high = min(highs, default=low + 4)
    first, last = (mpmath.mpf(low + (high - low) * share) for share in (0.25, 0.75))
    if any(term.variable == q.name and term.exponential for term in target.terms):
        return [first + (last - first) * k / 3 for k in range(4)]
    return [first * (last / first) ** (mpmath.mpf(k) / 3) for k in range(4)]


def _differ(x: Any, y: Any, scale: Any) -> bool:
    """Whether two numbers differ; what is left of equal ones is rounding."""
    rest = abs(x - y)
    if rest > scale * mpmath.mpf(10) ** (-EXACT // 2):
        return True
    if rest > scale * mpmath.mpf(10) ** (-EXACT * 3 // 4):
        raise Unclear
    return False


def _apart(
    f: Callable[[Values], Any], grids: Mapping[str, Sequence[Any]], starts: Values, scale: Any
) -> bool:
    """Whether no two variables act on each other."""
    for x, y in ((x, y) for x in grids for y in grids if x < y):
        for k in (1, 2, 3):
            moved = {x: grids[x][k], y: grids[y][4 - k]}
            both, one, other = (
                f({**starts, **{n: moved[n] for n in names}}) for names in ((x, y), (x,), (y,))
            )
            larger = max(scale, abs(both), abs(one), abs(other))
            if _differ(both - one, other - f(starts), larger):
                return False
    return True


def _term(
    target: Target, term: Term, grid: Sequence[Any], values: Sequence[Any], scale: Any
) -> Any:
    """The value of the target's term at the first place; None where no parameters give it."""
    first, second, third = (b - a for a, b in pairwise(values))
    if not _differ(first, 0, scale):
        if _differ(second, 0, scale) or _differ(third, 0, scale):
            return None
        if _allowed(target, term.coefficient, 0) or _allowed(target, term.exponent, 0):
            raise Unclear  # 0·x^a, or a constant A·x^0 that the other constant may or may not take
        return None
    if _differ(second * second, first * third, abs(first * third) + second * second):
        return None
    ratio = second / first
    if ratio <= 0 or not _differ(ratio, 1, 1):
        return None
    step = grid[1] - grid[0] if term.exponential else mpmath.log(grid[1] / grid[0])
    exponent = mpmath.log(ratio) / step
    share = mpmath.exp(exponent * grid[0]) if term.exponential else grid[0] ** exponent
    coefficient = first / (share * (ratio - 1))
    allowed = _allowed(target, term.coefficient, coefficient) and _allowed(
        target, term.exponent, exponent * term.sign
    )
    return coefficient * share if allowed else None


def _allowed(target: Target, parameter: str, x: Any) -> bool:
    (q,) = (q for q in target.parameters if q.name == parameter)
    return all(limit.allows(x, {}, (), {}) for limit in q.limits)
