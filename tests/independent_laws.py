"""Random laws as text, for the referee of verdicts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import mpmath
from independent_cases import Case, Limit, Quantity, points
from independent_formulas import FUNCTIONS, NoValue, Tree, name, num, replaced, text, value
from independent_identities import identity


def make_piecewise(rng: random.Random) -> Case:
    """A random piecewise law with one claim."""
    quantities = _quantities(rng)
    names = [q.name for q in quantities]
    variables = [q.name for q in quantities if q.varies]
    formula = _sum_of_terms(rng, names)
    for _ in range(rng.choice((1, 1, 1, 2))):
        piece = _piece(rng, names, variables)
        formula = (rng.choice("++-*"), formula, piece) if rng.random() < 0.8 else piece
    return _claimed(rng, Case(tuple(quantities), formula, "compare"), variables)


def _piece(rng: random.Random, names: Sequence[str], variables: Sequence[str]) -> Tree:
    """`if … then … else …`; of some the parts meet at the border."""
    v = rng.choice(variables)
    others = [n for n in names if n != v]
    limit = num(rng.choice((0.5, 1, 2)))
    if others and rng.random() < 0.5:
        limit = name(rng.choice(others))
    left, one, other = name(v), _term(rng, names), _term(rng, names)
    pick = rng.random()
    if pick < 0.35:
        other = replaced(one, {v: limit})
    elif pick < 0.5:
        left = ("*", num(2), ("^", name(v), num(2)))
    elif pick < 0.6 and others:
        left = ("+", name(v), name(rng.choice(others)))
    return ("if", rng.choice((">", ">=", "<", "<=")), left, limit, one, other)


def make(rng: random.Random) -> Case:
    """A random law with one claim."""
    found = rng.random()
    if found < 0.25:
        return _with_labels(rng)
    if found < 0.35:
        return identity(rng)
    quantities = _quantities(rng)
    names = [q.name for q in quantities]
    variables = [q.name for q in quantities if q.varies]
    formula = _sum_of_terms(rng, names) if rng.random() < 0.75 else _tree(rng, names, 3)
    lets: tuple[tuple[str, Tree], ...] = ()
    written = None
    if rng.random() < 0.2:
        inner = _term(rng, names)
        lets, written = (("u", inner),), ("+", formula, ("^", name("u"), num(2)))
        formula = ("+", formula, ("^", inner, num(2)))
    case = Case(tuple(quantities), formula, "compare", lets=lets, written=written)
    return _claimed(rng, case, variables)


def _quantities(rng: random.Random) -> list[Quantity]:
    found = []
    for n in ("x", "y", "z")[: rng.choice((1, 1, 2, 2, 3))]:
        found.append(Quantity(n, True, _range(rng)))
    parameters = ("p", "q", "w")[: rng.choice((0, 1, 1, 2, 3))]
    for k, n in enumerate(parameters):
        limits = _range(rng, positive=rng.random() < 0.7)
        if k and rng.random() < 0.5:  # bounds against one declared above
            other = name(parameters[rng.randrange(k)])
            shape = rng.choice(("above", "between", "below", "both"))
            relation = rng.choice((">", ">="))
            limits = (Limit(relation, other),)
            if shape == "between":
                limits += (Limit("<", ("+", other, num(rng.choice((1, 2, 5))))),)
            elif shape == "below":
                limits = (Limit("<", other), Limit(">", ("-", other, num(3))))
            elif shape == "both":
                limits += (Limit(rng.choice(("<", "<=")), num(rng.choice((9, 20)))),)
        found.append(Quantity(n, False, limits))
    return found


def _range(rng: random.Random, *, positive: bool = False) -> tuple[Limit, ...]:
    shape = rng.random()
    low = num(
        rng.choice((0, 0, 0, 1, 0.5)) if positive or shape < 0.75 else rng.choice((-1, -2, -0.5))
    )
    lower = Limit(rng.choice((">", ">=")), low)
    if shape < 0.4 and not (positive and shape < 0.1):
        return (lower,)
    if shape > 0.93 and not positive:
        return ()
    width = rng.choice((1, 2, 3, 0.5))
    high = Limit(rng.choice(("<", "<=")), num(Fraction(str(width)) + low[1]))
    return (lower, high) if rng.random() < 0.8 else (lower,)


COEFFICIENTS = (1, 1, 2, 3, 0.5, 0.25, 0.1, 5)
EXPONENTS = (1, 1, 2, 3, 0.5, -1, -0.5, 1.5, -2, 4)


def _term(rng: random.Random, names: Sequence[str]) -> Tree:
    """A coefficient times powers and functions."""
    tree = num(rng.choice(COEFFICIENTS))
    for n in rng.sample(list(names), rng.randint(1, min(2, len(names)))):
        exponent = num(rng.choice(EXPONENTS)) if rng.random() < 0.85 else name(rng.choice(names))
        part: Tree = ("^", name(n), exponent)
        pick = rng.random()
        if pick < 0.2:
            part = name(n)
        elif pick < 0.3:
            part = ("exp", ("*", num(rng.choice((-1, 1, -0.5))), name(n)))
        elif pick < 0.37:
            part = ("log", ("+", num(rng.choice((1, 2))), name(n)))
        elif pick < 0.43:
            part = (rng.choice(("sin", "cos", "tanh", "atan")), name(n))
        elif pick < 0.5:
            part = ("/", num(1), ("+", num(rng.choice((1, 2))), ("^", name(n), num(2))))
        elif pick < 0.6:
            other = name(rng.choice(names)) if rng.random() < 0.6 else num(rng.choice((0, 1, 2)))
            inner: Tree = rng.choice(
                (("abs", ("-", name(n), other)), ("max", name(n), other), ("min", name(n), other))
            )
            part = inner
        tree = ("*", tree, part)
    return tree


def _sum_of_terms(rng: random.Random, names: Sequence[str]) -> Tree:
    tree = _term(rng, names)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        tree = (rng.choice("++-"), tree, _term(rng, names))
    return tree


def _tree(rng: random.Random, names: Sequence[str], depth: int) -> Tree:
    if depth == 0 or rng.random() < 0.1:
        return name(rng.choice(names)) if rng.random() < 0.7 else num(rng.choice(COEFFICIENTS))
    kind = rng.choice(("+", "+", "*", "*", "-", "/", *FUNCTIONS))
    if kind in "+-*/" or kind in ("min", "max"):
        return (kind, _tree(rng, names, depth - 1), _tree(rng, names, depth - 1))
    return (kind, _tree(rng, names, depth - 1))


def _claimed(rng: random.Random, case: Case, variables: Sequence[str]) -> Case:
    kind = rng.choice(
        (
            "compare",
            "compare",
            "compare",
            "tight",
            "tight",
            "rise",
            "slope",
            "bend",
            "finite",
            "limit",
        )
    )
    by = rng.choice(variables)
    conditions: tuple[tuple[str, Limit], ...] = ()
    if rng.random() < 0.15:
        conditions = ((by, Limit(rng.choice((">", ">=")), num(rng.choice((0, 0.25, 0.5))))),)
    case = replace(case, by=by, conditions=conditions)
    if kind == "finite":
        return replace(case, kind=kind)
    if kind == "limit":
        q = next(q for q in case.quantities if q.name == by)
        unbounded = all(x.relation[0] == ">" for x in q.limits)
        right = num(rng.choice((0, 0, 1))) if rng.random() < 0.6 else _free_part(case.formula, by)
        return (
            replace(case, kind=kind, right=right, conditions=())
            if unbounded
            else _claimed(rng, case, variables)
        )
    if kind == "rise":
        return replace(case, kind=kind, relation=rng.choice(("increasing", "decreasing")))
    if kind == "bend":
        return replace(case, kind=kind, relation=rng.choice(("convex", "concave")))
    relation = rng.choice((">", ">=", "<", "<="))
    if kind == "slope":
        return replace(case, kind=kind, relation=relation)
    right = (
        num(rng.choice((0, 0, 1, -1)))
        if rng.random() < 0.7
        else _term(rng, [q.name for q in case.quantities])
    )
    if kind == "tight":
        right = near_extreme(rng, case, relation) or right
    return replace(case, kind="compare", relation=relation, right=right)


def _free_part(formula: Tree, by: str) -> Tree:
    """The terms of a sum that a name is not in."""
    if formula[0] == "+":
        parts = [p for p in (_free_part(formula[1], by), _free_part(formula[2], by)) if p != num(0)]
        return ("+", *parts) if len(parts) == 2 else parts[0] if parts else num(0)
    return num(0) if by in text(formula) else formula


TINY = mpmath.mpf(10) ** -25  # smaller values are not written into a law


def near_extreme(rng: random.Random, case: Case, relation: str) -> Tree | None:
    """A number near the least or greatest value at some points, so that little is left."""
    seen = []
    for at in points(case, rng, (), 40):
        try:
            seen.append(value(case.formula, at))
        except (NoValue, OverflowError):
            continue
    if not seen:
        return None
    best = min(seen) if relation[0] == ">" else max(seen)
    if not TINY < abs(best) < 10**4 and best != 0:
        return None
    step = Fraction(rng.choice((0, 0, 0, 1, -1)), rng.choice((10, 100, 10**6)))
    near = Fraction(str(mpmath.nstr(best, 5, min_fixed=-30, max_fixed=30))) + step
    return ("num", near)


def _with_labels(rng: random.Random) -> Case:
    """A law with one index set, listed or of any labels."""
    listed = rng.choice(((), (), ("a", "b"), ("a", "b", "c")))
    simplex = rng.random() < 0.5
    x = Quantity(
        "x",
        True,
        () if simplex else (Limit(rng.choice((">", ">=")), num(rng.choice((0, 1)))),),
        ("j",),
        simplex,
    )
    k = Quantity(
        "k",
        False,
        (Limit(rng.choice((">", ">=", ">")), num(0)),) if rng.random() < 0.8 else (),
        ("j",),
    )
    body: Tree = ("*", name("k[j]"), name("x[j]"))
    pick = rng.random()
    if pick < 0.2:
        body = ("*", name("k[j]"), ("^", name("x[j]"), num(2)))
    elif pick < 0.3:
        body = ("*", name("x[j]"), ("exp", ("*", num(-1), name("k[j]"))))
    elif pick < 0.4:
        body = ("abs", ("-", name("x[j]"), name("k[j]")))
    elif pick < 0.5:
        body = ("max", name("x[j]"), name("k[j]"))
    whole: Tree = ("sum", body, "j")
    if rng.random() < 0.3:
        whole = (
            ("exp", ("*", num(-1), whole)) if rng.random() < 0.5 else ("log", ("+", num(1), whole))
        )
    if rng.random() < 0.15:
        whole = ("prod", ("+", num(rng.choice((1, 0.5))), name("x[j]")), "j")
    e = Quantity("e", False, (Limit(">", num(0)),))
    formula: Tree = ("+", name("e"), whole) if rng.random() < 0.5 else whole
    used = text(formula)
    quantities = tuple(q for q in (x, k, e) if q.shown in used or q.name == "e" and formula[0] == "+" and formula[1] == name("e"))  # fmt: skip
    fresh = ("m",) if rng.random() < 0.5 else ("m", "n")
    right: Tree = num(rng.choice((0, 0, 1)))
    if rng.random() < 0.6:
        right = ("*", name("k[m]"), name("x[m]")) if "k[j]" in used else name("x[m]")
        if len(fresh) == 2:
            right = (
                "+",
                right,
                ("*", name("k[n]"), name("x[n]")) if "k[j]" in used else name("x[n]"),
            )
    else:
        fresh = ()
    relation = rng.choice((">", ">=", "<", "<="))
    return Case(quantities, formula, "compare", relation=relation, right=right, indexed=True, listed=listed, fresh=fresh)  # fmt: skip
