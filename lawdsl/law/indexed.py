"""Law with index sets -> its algebra, in which sums over labels stay symbolic.

Each index serves as its own label, and each sum is one symbol, `sum(t[i, j]*r[j] for j)`. Its
derivative with respect to `t[i, j]` is that of the term with this label; by `k[i]`, which occurs in
all terms, it is the sum of their derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import sympy as sp

from lawdsl.language.instances.grounding import Grounding, Rest, renamed
from lawdsl.law.algebra import FormulaLaw, derivative
from lawdsl.law.text import text

LawOfFormulas = TypeVar("LawOfFormulas", bound=FormulaLaw)


@dataclass(frozen=True)
class IndexedSum:
    """A sum, or product, over all labels of an index.

    Attributes:
        function: sum or prod.
        index: the index of summation.
        body: the summand, at the label with the name of the index.
        depends: names that occur in every term.
    """

    function: str
    index: str
    body: sp.Expr
    depends: frozenset[str]


@dataclass(frozen=True)
class IndexedAlgebra(Generic[LawOfFormulas]):
    """The algebra of a law with index sets, in which each index serves as its own label.

    Attributes:
        law: the law without index sets; the remainder of a sum, without the term of its index, is a
            variable.
        rests: name of such a variable -> the sum to which it belongs.
        sums: symbol -> the sum that it represents; derivatives of sums are added as they arise.
        rest_values: symbol of such a variable -> the whole sum minus the named terms.
    """

    law: LawOfFormulas
    rests: Mapping[str, Rest]
    sums: dict[sp.Symbol, IndexedSum] = field(default_factory=dict)
    rest_values: dict[sp.Symbol, sp.Expr] = field(default_factory=dict)

    def expression(self, opaque: tuple[str, ...] = ()) -> sp.Expr:
        """The law with whole sums; the lets named in `opaque` stay symbols."""
        formula = self.law.declarations.output.formula
        assert formula is not None
        return self.with_whole_sums(self.law.to_sympy(formula, opaque))

    def with_whole_sums(self, expression: sp.Expr) -> sp.Expr:
        """The expression with each rest of a sum written as the whole sum minus the named terms."""
        for _ in self.rest_values:  # the summand may itself contain sums
            if not expression.free_symbols & self.rest_values.keys():
                break
            expression = expression.xreplace(self.rest_values)
        return expression

    def derivative(self, *names: str) -> sp.Expr:
        """The exact derivative with respect to each name in turn; a let counts as an independent
        variable.
        """
        symbols = self.law.declarations.symbols
        expression = self.expression(tuple(n for n in names if symbols[n].kind == "let"))
        for name in names:
            expression = self._derived(expression, self.law.symbols[name])
        return expression

    def _derived(self, expression: sp.Expr, variable: sp.Symbol) -> sp.Expr:
        total = derivative(expression, variable)
        # sorted, since the order of a set would decide the order in which new sums are added
        for symbol in sorted(expression.free_symbols & self.sums.keys(), key=str):
            sum_slope = self._sum_slope(symbol, variable)
            if sum_slope != 0:
                total += derivative(expression, symbol) * sum_slope
        return total

    def _sum_slope(self, symbol: sp.Symbol, variable: sp.Symbol) -> sp.Expr:
        """The derivative of a sum or product: that of one of its terms, or of all."""
        indexed_sum = self.sums[symbol]
        inner = self._derived(indexed_sum.body, variable)
        if indexed_sum.function == "prod":
            inner = inner / indexed_sum.body
        if variable.name in indexed_sum.depends and inner != 0:
            slope_sum = IndexedSum("sum", indexed_sum.index, inner, indexed_sum.depends)
            # the same text is the same sum, so that equal sums cancel
            name = f"sum({text(inner)} for {indexed_sum.index})"
            inner = sp.Symbol(name, real=True, positive=inner.is_positive)
            self.sums[inner] = slope_sum
        return symbol * inner if indexed_sum.function == "prod" else inner


def indexed_algebra(ground: Grounding, law: LawOfFormulas) -> IndexedAlgebra[LawOfFormulas]:
    """Build the algebra of a law with index sets.

    Args:
        ground: the law with each index as its own label.
        law: the law of the declarations that are written out in it.
    """
    algebra = IndexedAlgebra(law, ground.rests)
    for rest in list(ground.rests.values()):
        _add_sum(algebra, ground, rest)
    return algebra


def _add_sum(algebra: IndexedAlgebra[Any], ground: Grounding, rest: Rest) -> None:
    """Add the symbol of a whole sum; the rest of the sum is the whole minus the named terms."""
    labels = ground.instance.of(ground.declared, rest.index)
    parts = [renamed(rest.body, {rest.index: label}) for label in labels]
    terms = [algebra.law.to_sympy(ground(part, ground.rows)) for part in parts]
    function = "prod" if rest.full_sum.startswith("prod") else "sum"
    symbol = sp.Symbol(rest.full_sum, **algebra.law.symbols[rest.name].assumptions0)
    body = terms[labels.index(rest.index)]
    algebra.sums[symbol] = IndexedSum(
        function, rest.index, algebra.with_whole_sums(body), rest.depends
    )
    remainder = symbol
    for term in terms:
        remainder = remainder / term if function == "prod" else remainder - term
    algebra.rest_values[algebra.law.symbols[rest.name]] = remainder
