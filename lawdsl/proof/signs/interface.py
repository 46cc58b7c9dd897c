"""What rules may ask of the sign calculus: signs on one box.

Rules, limits and branch and bound depend on this interface alone; `calculus` implements it and
applies them. So a rule can ask for the signs of simpler expressions without importing the calculus
that calls it.
"""

from __future__ import annotations

from typing import Protocol

import sympy as sp

from lawdsl.proof.box import Box, Endpoint
from lawdsl.proof.signs.boundary import Face
from lawdsl.proof.signs.sign import Sign


class Signs(Protocol):
    """Signs on one box; `calculus.SignCalculus` says what the attributes and answers mean."""

    box: Box
    evaluated: frozenset[sp.Symbol]
    explained: frozenset[sp.Expr]
    notes: list[str]
    depth: int
    displacing: int

    def sign(self, e: sp.Expr) -> Sign:
        """The possible signs of an expression on the box."""

    def finite(self, e: sp.Expr) -> bool:
        """Whether the expression has a finite real value on the whole box."""

    def inequalities(self) -> list[tuple[sp.Expr, bool]]:
        """(r, strict): declared inequalities r > 0 (not strict: r >= 0) on the box."""

    def movable(self, e: sp.Expr) -> list[sp.Symbol]:
        """The symbols of an expression that may be varied through their ranges: variables first."""

    def at(self, e: sp.Expr, symbol: sp.Symbol, end: Endpoint) -> sp.Expr | None:
        """The value or limit, at an end of a range, of an expression that is finite on the box."""

    def limit_at(self, e: sp.Expr, symbol: sp.Symbol, to: sp.Expr) -> sp.Expr | None:
        """The limit of an expression as a symbol goes to the end of its range."""

    def use(self, symbol: sp.Symbol) -> None:
        """Record that the range of a symbol has been used."""

    def used(self) -> frozenset[sp.Symbol]:
        """The symbols whose ranges have led to the answers given so far."""

    def without_faces(self, faces: list[Face]) -> Signs:
        """Signs on the box without some of its faces, by rules at the deepest level only."""

    def on_part(self, box: Box) -> Signs:
        """Signs on a part of the box, with the rules available at this depth."""

    def deepest(self) -> Signs:
        """Signs on the box with settings at their values, by rules at the deepest level only."""
