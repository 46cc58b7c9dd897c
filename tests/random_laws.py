"""Random laws with claims on them.

The grammar is small and aims at what a sign calculus may get wrong: powers of what may be 0, open
and closed faces, bounds that couple parameters or name settings, differences that vanish.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from claim_sampling import Case, larger_of, sampled
from hyperdual import Floats
from judging import Judge, claims_on

from lawdsl.core.diagnostics import LawdslError
from lawdsl.language import tree
from lawdsl.language.symbols import Claim

_VARIABLES = ("> 0", ">= 0", "in [0, 1]", "in (0, 1]", "in [0, 1)", "in [0, 2]", ">= s", "> s")
_RARE = ("in (0.5, 3)", "in [-1, 1]", "< 0", "<= -1", "")
_PARAMETERS = ("> 0", "> 0", "> 0", ">= 0", "> 1", ">= 1", "in (0, 1)", "in (0, 1]", "", "")
_COUPLED = ("> a", ">= a", "> a*s", "in (0, a)", "in (a, a + 1]", "< a")


def _pick(rng: random.Random, *choices: str) -> str:
    return rng.choice(choices)


def _base(rng: random.Random, names: list[str]) -> str:
    v, p, q = rng.choice(names), rng.choice("abc"), rng.choice("abc")
    return _pick(
        rng,
        v,
        v,
        v,
        v,
        f"({v} + {p})",
        f"({v} + 1)",
        f"(1 - {v})",
        f"({v} + {p}*{q})",
        p,
        f"(1 + {v}*{p})",
    )


def _exponent(rng: random.Random) -> str:
    p, q = rng.choice("abc"), rng.choice("abc")
    return _pick(
        rng,
        p,
        p,
        p,
        f"(-{p})",
        "2",
        "(-1)",
        "3",
        "0.5",
        "(-0.5)",
        "1.5",
        f"({p} - 1)",
        f"({p} + {q})",
    )


def _factor(rng: random.Random, names: list[str]) -> str:
    v, w, p = rng.choice(names), rng.choice(names), rng.choice("abc")
    kind = rng.random()
    if kind < 0.5:
        return f"{_base(rng, names)}^{_exponent(rng)}"
    if kind < 0.62:
        return _pick(rng, f"exp(-{p}*{v})", f"exp({p}*{v})", f"exp(-{v}*{w})", f"exp({v})")
    if kind < 0.72:
        return _pick(rng, f"log(1 + {v})", f"log({v} + {p})", f"log({v})", f"log({p})")
    if kind < 0.82:
        return _pick(rng, f"(1 - exp(-{v}*{w}))", f"(1 - {v})", f"({v} - {p})", f"(1 + {p})^{v}")
    if kind < 0.87:
        return _pick(
            rng, f"abs({v} - {p})", f"max({v}, {p})", f"min({v}, 1)", f"atan({v})", f"tanh({v})"
        )
    return _pick(rng, v, p, f"1/{v}", f"1/({v} + {p})", f"s/{v}", f"(s/{v})^{p}")


def _term(rng: random.Random, names: list[str]) -> str:
    factors = [_factor(rng, names) for _ in range(rng.choice((1, 1, 1, 2, 2, 3)))]
    return "*".join([_pick(rng, "a", "b", "c", "1", "2", "0.5"), *factors])


def _pieces(rng: random.Random, names: list[str], term: str) -> str:
    """A piecewise formula; of some the parts meet where the condition changes."""
    v, w, p = rng.choice(names), rng.choice(names), rng.choice("abc")
    relation = _pick(rng, "<", "<=", ">", ">=")
    other = w if w != v else p
    limit = _pick(rng, p, p, "0.5", "1", "s", f"{p}*s", other, f"{p}*{other}")
    left = _pick(rng, v, v, v, f"{v}*{w}", f"({v} + {p})", f"log({v} + 1)", f"{v}^2")
    other = _term(rng, names)
    if rng.random() < 0.4:
        left, other = v, re.sub(rf"\b{v}\b", limit if limit.isalnum() else f"({limit})", term)
    if rng.random() < 0.2:
        other = f"{_pick(rng, 'a', 'b', '1')}*({other})"
    if rng.random() < 0.15:
        inner = _pick(rng, f"{w} > 1", f"{v} < {p}", f"{v} >= 2")
        other = f"(if {inner} then {other} else {_term(rng, names)})"
    parts = (term, other) if rng.random() < 0.5 else (other, term)
    return f"(if {left} {relation} {limit} then {parts[0]} else {parts[1]})"


def random_law(rng: random.Random, piecewise: bool = False) -> tuple[str, list[str]]:
    """The text of a law without claims, and claims on it."""
    names = list("xyz"[: rng.choice((1, 2, 2, 3))])
    lines = ["law random", f"setting s = {rng.choice(('0.5', '0.1311', '2'))}"]
    for name in names:
        domain = rng.choice(_RARE) if rng.random() < 0.15 else rng.choice(_VARIABLES)
        lines.append(f"variable {name} {domain}")
    lines.append(f"parameter a {rng.choice(_PARAMETERS)}")
    for name in "bc":
        domain = rng.choice(_COUPLED) if rng.random() < 0.25 else rng.choice(_PARAMETERS)
        lines.append(f"parameter {name} {domain}")
    terms = [_term(rng, names) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
    if piecewise:
        chosen = rng.randrange(len(terms))
        terms[chosen] = _pieces(rng, names, terms[chosen])
        if rng.random() < 0.1:
            terms.append(_pieces(rng, names, _term(rng, names)))
    if rng.random() < 0.15:
        lines.append(f"let K = {terms[0]}")
        terms[0] = _pick(rng, "a*K^b", "K", "a/K", "c*exp(-K)")
    shown = terms[0]
    for term in terms[1:]:
        shown += f" {rng.choice('++-')} {term}"
    if rng.random() < 0.1:
        shown = f"({shown})^{_exponent(rng)}"
    lines.append(f"L = {shown}")
    claims = [random_claim(rng, names, "K" in shown) for _ in range(4)]
    if piecewise:
        claims += [f"L {_pick(rng, 'increasing', 'decreasing')} in {rng.choice(names)}"]
    return "\n".join(lines), list(dict.fromkeys(claims))


def random_claim(rng: random.Random, names: list[str], has_let: bool) -> str:
    v, w, p = rng.choice(names), rng.choice(names), rng.choice("abc")
    relation = _pick(rng, "<", "<", ">", ">", "<=", ">=")
    kind = rng.random()
    if kind < 0.35:
        claim = f"diff(L, {v}) {relation} 0"
    elif kind < 0.5:
        claim = f"diff(L, {v}, {w}) {relation} 0"
    elif kind < 0.56:
        claim = f"diff(L, {p}) {relation} 0"
    elif kind < 0.64:
        claim = f"L {_pick(rng, 'increasing', 'decreasing', 'convex', 'concave')} in {v}"
    elif kind < 0.8:
        claim = f"L {relation} {_pick(rng, '0', '0', 'a', 'b', 's')}"
    elif kind < 0.86:
        claim = "L finite"
    elif kind < 0.9 and has_let:
        claim = f"diff(L, K) {relation} 0"
    else:
        claim = (
            f"L -> {_pick(rng, '0', 'a', 'oo', 'c')} as {v} -> {_pick(rng, 'oo', 'oo', '0', '1')}"
        )
    if rng.random() < 0.25:
        claim += f" for {w} {_pick(rng, '> 0', '>= 1', '< 1', '<= 0.5', '> 2', '> a', '< a')}"
    return claim


def cases(seed: int, count: int, piecewise: bool = False) -> Iterator[Case]:
    """So many random pairs of a law and a claim that the language accepts; all laws may be piecewise.

    Few random laws have a value everywhere, and few random claims are true. Most of the others are
    passed over: laws without a value at one of a handful of points, comparisons that they refute
    and whose opposite they refute too.
    """
    rng = random.Random(seed)
    while count > 0:
        text, claims = random_law(rng, piecewise)
        try:
            law, read = claims_on(text, *claims)
            assert law.expression is not None  # or it is a law without a value
        except LawdslError:
            continue
        for claim in read:
            case = Case(law, claim, text)
            if not _has_values(case, rng) and rng.random() < 0.9:
                continue
            if not _plausible(case, rng):
                case = Case(law, _opposite(claim), text)
                if not _plausible(case, rng) and rng.random() < 0.8:
                    continue
            if count > 0:
                yield case
            count -= 1


def _has_values(case: Case, rng: random.Random) -> bool:
    points = sampled(case, rng, 12)
    if not points:
        return rng.random() < 0.3
    columns = {k: np.array([float(p[k]) for p in points]) for k in points[0]}
    with np.errstate(all="ignore"):
        values = Judge(case.law, columns, Floats()).value(tree.Name("L"))
    return bool(np.all(np.isfinite(values)))


def _plausible(case: Case, rng: random.Random) -> bool:
    claim = case.claim.claim
    if isinstance(claim, (tree.Finite, tree.LimitNode)):
        return True
    points = sampled(case, rng, 6)
    if not points:
        return rng.random() < 0.1
    columns = {k: np.array([float(p[k]) for p in points]) for k in points[0]}
    with np.errstate(all="ignore"):
        values = larger_of(Judge(case.law, columns, Floats()), claim)
    return not bool(np.any(values < 0))


_OPPOSITES = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "increasing": "decreasing"}
_OPPOSITES |= {"decreasing": "increasing", "convex": "concave", "concave": "convex"}


def _opposite(claim: Claim) -> Claim:
    stated = claim.claim
    if isinstance(stated, tree.ComparisonNode):
        turned = replace(stated, relation=_OPPOSITES[stated.relation])
    else:
        turned = replace(stated, word=_OPPOSITES[stated.word])
    return replace(claim, claim=turned)
