"""Claim -> the expression that must be positive, and the formulas that it consists of."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from lawdsl.language import tree
from lawdsl.language.printer import print_formula
from lawdsl.law.algebra import derivative
from lawdsl.law.law import Law
from lawdsl.proof.box import Box


@dataclass(frozen=True)
class SignGoal:
    """The statement of a claim as a sign: `larger > 0` (not strict: `>= 0`) on the whole box.

    `quantity_text` names the quantity of the claim, which is `sense * larger`.
    """

    larger: sp.Expr
    strict: bool
    quantity_text: str
    sense: int

    @property
    def quantity(self) -> sp.Expr:
        """The quantity that the claim is about."""
        return self.sense * self.larger


def formulas(claim: tree.Claim) -> list[tree.Formula]:
    """The formulas that must have a value for a claim to make sense."""
    match claim:
        case tree.ComparisonNode(lhs, _, rhs):
            return [lhs, rhs]
        case tree.LimitNode(formula, target):
            infinite = isinstance(target, tree.Name) and target.text == "oo"
            return [formula] if infinite else [formula, target]
    return [claim.formula]


def goal_of(law: Law, claim: tree.ComparisonNode | tree.TrendNode, box: Box) -> SignGoal:
    """The expression that a comparison or trend requires to be positive.

    `L increasing in N` states ∂L/∂N > 0, and `L convex in N` states ∂²L/∂N² >= 0. At a closed end
    of a range the derivative is the limit of the derivative inside, which is the one-sided
    derivative there (a consequence of the mean value theorem).

    Args:
        law: the law.
        claim: the comparison or trend.
        box: the domain of the claim.
    """
    if isinstance(claim, tree.ComparisonNode):
        sense = 1 if claim.relation in (">", ">=") else -1
        difference = law.to_sympy(claim.lhs) - law.to_sympy(claim.rhs)
        quantity_text = print_formula(claim.lhs)
        if isinstance(claim.rhs, tree.Negative):
            quantity_text = print_formula(tree.Sum((("+", claim.lhs), ("+", claim.rhs.operand))))
        elif claim.rhs != tree.Number("0"):
            quantity_text = print_formula(tree.Sum((("+", claim.lhs), ("-", claim.rhs))))
        return SignGoal(
            _with_lets(law, box, sense * difference), claim.relation in "<>", quantity_text, sense
        )
    if claim.against is not None:
        return _exchange_goal(law, claim, claim.against, box)
    order = 2 if claim.word in ("convex", "concave") else 1
    symbol = law.symbols[tree.name_of(claim.name)]
    opaque = (symbol.name,) if symbol in box.lets else ()
    slope = derivative(law.to_sympy(claim.formula, opaque), *(symbol,) * order)
    sense = 1 if claim.word in ("increasing", "convex") else -1
    named = isinstance(claim.formula, tree.Name)
    of = print_formula(claim.formula) if named else f"({print_formula(claim.formula)})"
    quantity_text = f"∂{of}/∂{claim.name}" if order == 1 else f"∂²{of}/∂{claim.name}²"
    return SignGoal(_with_lets(law, box, sense * slope), order == 1, quantity_text, sense)


def _exchange_goal(law: Law, claim: tree.TrendNode, against: tree.Named, box: Box) -> SignGoal:
    """The goal of a claim about an exchange, in which one share rises as another falls: the
    difference of their derivatives.

    The share that is written as 1 minus the others changes with them, and has no own derivative.
    """
    sense = 1 if claim.word == "increasing" else -1
    expression = law.to_sympy(claim.formula)
    slopes, slope_texts = [], []
    for named in (claim.name, against):
        name = tree.name_of(named)
        moves = law.declarations.symbols[name].kind != "let"
        slopes.append(derivative(expression, law.symbols[name]) if moves else sp.S.Zero)
        slope_texts.append(f"∂{print_formula(claim.formula)}/∂{name}" if moves else "")
    rise, fall = slope_texts
    text = f"{rise} - {fall}" if rise and fall else rise or f"-{fall}"
    difference = _with_lets(law, box, sense * (slopes[0] - slopes[1]))
    if box.slack:
        # a condition such as t[i, a] < t[i, b] is used in the factor that has it: in the products of
        # a sum the slack would stand in every exponential
        difference = sp.factor_terms(difference)
    return SignGoal(difference, True, text, sense)


def _with_lets(law: Law, box: Box, e: sp.Expr) -> sp.Expr:
    """The expression with the formulas of the claim's lets replaced by their symbols."""
    # so that what is declared, or assumed by the claim, of a let can be used
    lets = [(s, formula) for s, formula in box.lets.items() if s.name in law.symbols]
    return e.xreplace({formula: s for s, formula in lets if formula.args})
