"""Inequality that is strict except on faces of the domain -> those faces, as equations: r = 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import sympy as sp

from lawdsl.law.algebra import merge_powers
from lawdsl.law.text import text
from lawdsl.proof.box import Box, Endpoint, SymbolRange, settings_sign

Proves = Callable[[Box], bool]


@dataclass(frozen=True)
class Face:
    """A face of the box: one symbol at a closed end of its range; `lower`: which end."""

    symbol: sp.Symbol
    end: Endpoint
    lower: bool

    def equation(self, box: Box) -> str:
        """The face as an equation in the law's own quantities: r = 0, C = C0."""
        for quantity, formula in box.slack.items():
            if self.symbol in box.meaning and self.symbol in formula.free_symbols:
                fact = box.facts.get(self.symbol, "").replace(">=", "=").replace("<=", "=")
                if fact.count("=") == 1 and fact.startswith(f"{quantity} = "):
                    return fact
                return f"{quantity} = {text(merge_powers(formula.xreplace({self.symbol: self.end.value})))}"
        return f"{self.symbol} = {text(self.end.value)}"


def closed_faces(box: Box, e: sp.Expr) -> Iterator[Face]:
    """The closed faces of a box in the symbols of an expression, those of variables first.

    Args:
        box: the domain.
        e: the expression.
    """
    symbols = sorted(e.free_symbols, key=lambda s: (s not in box.variables, s.name))
    for s in symbols:
        domain = box.range(s)
        if (
            domain.lower
            and domain.upper
            and settings_sign(box.settings, domain.upper.value - domain.lower.value) != 1
        ):
            continue  # one point: without it the range is empty
        for end, lower in ((domain.lower, True), (domain.upper, False)):
            if end is not None and end.closed and s not in box.settings:
                yield Face(s, end, lower)


def without_faces(box: Box, faces: list[Face]) -> Box:
    """The box without some of its faces: their ends become open.

    Args:
        box: the domain.
        faces: the faces.
    """
    ranges = dict(box.ranges)
    for face in faces:
        domain = ranges[face.symbol]
        open_end = Endpoint(face.end.value, False)
        ranges[face.symbol] = (
            SymbolRange(open_end, domain.upper)
            if face.lower
            else SymbolRange(domain.lower, open_end)
        )
    return replace(box, ranges=ranges)


def equality_locus(
    box: Box, e: sp.Expr, witness: Mapping[sp.Symbol, Fraction], proves: Proves
) -> str | None:
    """The faces on which e is 0, as text, if it is proved positive everywhere else.

    Args:
        box: the domain.
        e: in independent symbols.
        witness: a point at which e is 0, in the law's own quantities.
        proves: whether e > 0 is proved on a box.
    """
    faces = list(closed_faces(box, e))
    vanishing = [f for f in faces if merge_powers(e.xreplace({f.symbol: f.end.value})) == 0]
    if vanishing:
        equations = [face.equation(box) for face in vanishing]
        return " or ".join(equations) if proves(without_faces(box, vanishing)) else None
    touching = [face for face in faces if _lies_on(box, face, witness)]
    needed = [face.equation(box) for face in touching if proves(without_faces(box, [face]))]
    return ", ".join(needed) or None


def _lies_on(box: Box, face: Face, witness: Mapping[sp.Symbol, Fraction]) -> bool:
    """Whether a point is on a face."""
    values = {s: sp.Rational(v.numerator, v.denominator) for s, v in witness.items()}
    settings = {s: sp.Rational(v.numerator, v.denominator) for s, v in box.settings.items()}
    coordinate = box.meaning.get(face.symbol, face.symbol).xreplace(values | settings)
    gap = coordinate - face.end.value.xreplace(settings)
    if gap == 0 or not gap.is_number:
        return bool(gap == 0)
    # the end of a domain may be pi or log(2); of 30 digits, 10 are left for rounding
    number = sp.N(gap, 30)
    return bool(number.is_Float and abs(number) < 1e-20)
