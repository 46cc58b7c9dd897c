"""The algebra of a law with index sets: its sums stay sums.

The law is taken at labels that are called like its indices, and each sum is one symbol,
`sum(t[i, j]*r[j] for j)`. Its derivative by `t[i, j]` is that of the term with that label; by
`k[i]`, which is in all terms, it is the sum of their derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import sympy as sp

from lawdsl.language.instances.declarations import written_out
from lawdsl.language.instances.grounding import Grounding, Rest, renamed
from lawdsl.language.instances.sample_labels import general
from lawdsl.language.symbols import Declarations
from lawdsl.law.algebra import derivative
from lawdsl.law.text import text

if TYPE_CHECKING:
    from lawdsl.law.law import Law


@dataclass(frozen=True)
class Whole:
    """A sum, or product, over all labels of an index.

    Attributes:
        function: sum or prod.
        index: over which.
        body: what is summed, at the label that is called like the index.
        depends: names that are in every term.
    """

    function: str
    index: str
    body: sp.Expr
    depends: frozenset[str]


@dataclass(frozen=True)
class General:
    """A law with index sets at labels that are called like its indices.

    Attributes:
        law: without index sets; what a sum has beside the term of its index is a variable.
        rests: name of such a variable -> the sum that it is of.
        wholes: symbol -> the sum that it stands for; derivatives of sums are added as they come up.
        places: symbol of such a variable -> the whole sum without the named terms.
    """

    law: Law
    rests: Mapping[str, Rest]
    wholes: dict[sp.Symbol, Whole] = field(default_factory=dict)
    places: dict[sp.Symbol, sp.Expr] = field(default_factory=dict)

    def expression(self, opaque: tuple[str, ...] = ()) -> sp.Expr:
        """The law with its sums whole; some lets may stay symbols."""
        formula = self.law.declarations.output.formula
        assert formula is not None
        return self.whole(self.law.to_sympy(formula, opaque))

    def whole(self, expression: sp.Expr) -> sp.Expr:
        """An expression in which the rests of sums are the whole sums without the named terms."""
        for _ in self.places:  # what is summed may have sums in it
            if not expression.free_symbols & self.places.keys():
                break
            expression = expression.xreplace(self.places)
        return expression

    def derivative(self, *names: str) -> sp.Expr:
        """The exact derivative by each of the names in turn; a let is varied by itself."""
        symbols = self.law.declarations.symbols
        expression = self.expression(tuple(n for n in names if symbols[n].kind == "let"))
        for name in names:
            expression = self._derived(expression, self.law.symbols[name])
        return expression

    def _derived(self, expression: sp.Expr, by: sp.Symbol) -> sp.Expr:
        found = derivative(expression, by)
        for symbol in sorted(expression.free_symbols & self.wholes.keys(), key=str):
            moved = self._moved(symbol, by)
            if moved != 0:
                found += derivative(expression, symbol) * moved
        return found

    def _moved(self, symbol: sp.Symbol, by: sp.Symbol) -> sp.Expr:
        """How a sum changes: one of its terms, or all."""
        whole = self.wholes[symbol]
        inner = self._derived(whole.body, by)
        if whole.function == "prod":
            inner = inner / whole.body
        if by.name in whole.depends and inner != 0:
            own = Whole("sum", whole.index, inner, whole.depends)
            name = f"sum({text(inner)} for {whole.index})"
            inner = sp.Symbol(name, real=True, positive=inner.is_positive)
            self.wholes[inner] = own
        return symbol * inner if whole.function == "prod" else inner

    def latex(self, expression: sp.Expr) -> str:
        """An expression as LaTeX: elements with subscripts, sums as sums."""
        names = {
            s: sp.Symbol(self._sum(s) if s in self.wholes else _subscripted(s.name))
            for s in expression.free_symbols
        }
        return str(sp.latex(expression.xreplace(names)))

    def _sum(self, symbol: sp.Symbol) -> str:
        whole = self.wholes[symbol]
        return rf"\{whole.function}_{{{whole.index}}} {{{self.latex(whole.body)}}}"


def general_of(law: Law, declared: Declarations) -> General:
    """A law with index sets as algebra.

    Args:
        law: the law.
        declared: its declarations.
    """
    ground = general(declared)
    own = replace(law, declarations=written_out(ground), root=None)
    found = General(own, ground.rests)
    for rest in list(ground.rests.values()):
        _add(found, ground, rest)
    return found


def _add(found: General, ground: Grounding, rest: Rest) -> None:
    """Take a sum whole: what it has beside the named terms is it without them."""
    labels = ground.instance.of(ground.declared, rest.index)
    parts = [renamed(rest.body, {rest.index: label}) for label in labels]
    terms = [found.law.to_sympy(ground(part, ground.rows)) for part in parts]
    function = "prod" if rest.full_sum.startswith("prod") else "sum"
    symbol = sp.Symbol(rest.full_sum, **found.law.symbols[rest.name].assumptions0)
    here = terms[labels.index(rest.index)]
    found.wholes[symbol] = Whole(function, rest.index, found.whole(here), rest.depends)
    left = symbol
    for term in terms:
        left = left / term if function == "prod" else left - term
    found.places[found.law.symbols[rest.name]] = left


def _subscripted(name: str) -> str:
    base, _, subscripts = name.partition("[")
    shown = str(sp.latex(sp.Symbol(base)))
    return f"{{{shown}}}_{{{subscripts.rstrip(']')}}}" if subscripts else shown
