"""Rules for sums with terms of both signs: (signs on a box, sum) -> sign, or None.

One module a method; each rule states the inequality that it uses. A rule asks for the signs of
simpler expressions through `proof.signs.interface`; `proof.signs.calculus` applies the tables here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sympy as sp

from lawdsl.proof.rules.cases import by_cases, by_sign_split, by_symbol_order
from lawdsl.proof.rules.declared_inequalities import by_declared_inequalities
from lawdsl.proof.rules.dominance import dominated
from lawdsl.proof.rules.monotone import (
    between_bounds,
    between_ends,
    by_common_factor,
    by_end_points,
    by_end_points_univariate,
    by_exponential,
    by_logarithm,
    by_scale,
)
from lawdsl.proof.rules.polynomials import by_simplex_shares, by_successive_differences
from lawdsl.proof.rules.squares import by_factors, by_square
from lawdsl.proof.rules.stationary_points import by_stationary_point
from lawdsl.proof.rules.taylor import by_repeated_derivatives
from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.sign import Sign

MAX_RULE_DEPTH = 3  # nesting of rules on sums: each level multiplies the work


@dataclass(frozen=True)
class Rule:
    """A row of the tables of rules.

    Attributes:
        sign: the rule.
        max_depth: the nesting of rules down to which it is tried within others.
        expensive: it may take most of a claim's time, and is omitted where the search for a proof
            need not be thorough.
        displaces: it varies one symbol through its range while the others stay, and so leaves the
            relations that are declared between symbols.
    """

    sign: Callable[[Signs, sp.Expr], Sign | None]
    max_depth: int = MAX_RULE_DEPTH
    expensive: bool = False
    displaces: bool = False


AFFINE_RULES = (
    Rule(by_simplex_shares),
    Rule(by_declared_inequalities),
    Rule(between_ends, displaces=True),
    Rule(between_bounds),
)
"""The rules that are tried first, all of them: the sum has the signs that each of them allows."""

RULES = (
    Rule(by_common_factor, 3),
    Rule(by_cases, 3),
    Rule(by_exponential, 2),
    Rule(by_end_points_univariate, 3, displaces=True),
    Rule(dominated, 3, displaces=True),
    Rule(by_end_points, 3, displaces=True),
    Rule(by_scale, 2, displaces=True),
    Rule(by_square, 2),
    Rule(by_logarithm, 2),
    Rule(by_factors, 1),  # to write a sum as one fraction and factor it is slow
    Rule(by_successive_differences, 2, expensive=True),
    Rule(by_stationary_point, 2, expensive=True, displaces=True),
    Rule(by_repeated_derivatives, 2, expensive=True, displaces=True),
    # these multiply the number of sums by that of their cases, at every level
    Rule(by_symbol_order, 1, expensive=True),
    Rule(by_sign_split, 1, expensive=True),
)
"""The rules that are tried next, in this order, until one gives a sign. Cheap rules that make the
sum smaller come first; those that multiply out, differentiate repeatedly or double the number of
cases come last."""
