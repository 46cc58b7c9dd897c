"""Declared names of a law -> quantities: domains, values, assumptions of their symbols."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.lazy_modules import lazy_module
from lawdsl.language.constants import TooLarge, Undefined, value
from lawdsl.language.keywords import did_you_mean
from lawdsl.language.printer import print_formula
from lawdsl.language.tree import Formula, Name

if TYPE_CHECKING:
    import sympy as sp

    from lawdsl.language.symbols import Declarations, Symbol

    Build = Callable[[Formula], sp.Expr]  # a formula of the law as an expression
else:
    sp = lazy_module("sympy")


@dataclass(frozen=True)
class Bound:
    """One relation of a domain: `symbol relation limit`, e.g. C > C0.

    Attributes:
        relation: one of > >= < <=.
        text: the limit as the law writes it.
        build: the function that returns the limit in SymPy, which is not loaded before.
        exact: the limit, where it is a rational number; None otherwise, or if it is not known.
        name: the limit, where it is a variable, setting or parameter; None otherwise.
    """

    relation: str
    text: str
    build: Callable[[], sp.Expr] = field(compare=False, repr=False)
    exact: Fraction | None = None
    name: str | None = None

    @classmethod
    def of(cls, relation: str, limit: sp.Expr, text: str) -> Bound:
        """The bound with a limit that is an expression already.

        Args:
            relation: one of > >= < <=.
            limit: the limit.
            text: the limit in the spelling of the language.
        """
        exact = Fraction(int(limit.p), int(limit.q)) if limit.is_Rational else None
        return cls(relation, text, lambda: limit, exact)

    @cached_property
    def limit(self) -> sp.Expr:
        """The limit as an expression."""
        return self.build()

    @cached_property
    def number(self) -> float | None:
        """The limit as a number; None where it depends on settings or parameters."""
        if self.exact is not None or self.name is not None:
            return None if self.exact is None else float(self.exact)
        return float(self.limit) if self.limit.is_number else None

    def at(self, settings: Mapping[str, float]) -> float:
        """The limit as a number at values of the settings, which it may depend on.

        Args:
            settings: setting -> its value.
        """
        if self.exact is not None:
            return float(self.exact)
        if self.name is not None and self.name in settings:
            return settings[self.name]
        # 17 digits represent a float64 exactly
        symbols = (s for s in self.limit.free_symbols if s.name in settings)
        return float(self.limit.xreplace({s: sp.Float(settings[s.name], 17) for s in symbols}))

    @property
    def strict(self) -> bool:
        """Whether the limit itself is excluded."""
        return self.relation in "<>"

    @property
    def lower(self) -> bool:
        """Whether it is a lower bound."""
        return self.relation.startswith(">")

    @property
    def is_nonnegative(self) -> bool:
        """Whether the limit is known to be 0 or more."""
        return self.exact >= 0 if self.exact is not None else bool(self.limit.is_nonnegative)

    @property
    def is_nonpositive(self) -> bool:
        """Whether the limit is known to be 0 or less."""
        return self.exact <= 0 if self.exact is not None else bool(self.limit.is_nonpositive)


@dataclass(frozen=True)
class Quantity:
    """A variable, setting or parameter of a law.

    Attributes:
        name: as declared.
        build: the function that returns its SymPy symbol.
        bounds: the bounds of its domain; empty if it is unbounded.
        unit: as (unit name, power) pairs, or None.
        doc: the author's description.
        value: the value of a setting, in its unit; None otherwise.
    """

    name: str
    build: Callable[[], sp.Symbol] = field(compare=False, repr=False)
    bounds: tuple[Bound, ...]
    unit: tuple[tuple[str, int], ...] | None
    doc: str | None
    value: float | None = None

    @cached_property
    def symbol(self) -> sp.Symbol:
        """Its SymPy symbol."""
        return self.build()

    @property
    def domain(self) -> str:
        """The domain as text: `N > 0`; only the name if it is unbounded."""
        if not self.bounds:
            return self.name
        return ", ".join(f"{self.name} {b.relation} {b.text}" for b in self.bounds)

    @property
    def is_share(self) -> bool:
        """Whether its domain lies within [0, 1]."""
        # the upper bound first: most variables have none, and a limit may need algebra
        upper = any(not b.lower and _is_at_most_one(b) for b in self.bounds)
        return upper and any(b.lower and b.is_nonnegative for b in self.bounds)


def _is_at_most_one(bound: Bound) -> bool:
    if bound.exact is not None:
        return bound.exact <= 1
    return bool((bound.limit <= 1) == True)  # noqa: E712


@dataclass(frozen=True)
class Names:
    """The declared names of a law, with values and removed bounds applied.

    Attributes:
        values: setting or fixed parameter -> its value, which replaces a declared one.
        dropped: texts of the removed bounds.
    """

    values: Mapping[str, float]
    dropped: tuple[str, ...]

    def kind(self, symbol: Symbol) -> str:
        """The kind of a name in this law: a parameter with a given value counts as a setting."""
        fixed = symbol.kind == "parameter" and symbol.name in self.values
        return "setting" if fixed else symbol.kind

    def value(self, symbol: Symbol) -> float | None:
        """The value of a setting; None for other kinds and for a setting without a value."""
        if self.kind(symbol) != "setting":
            return None
        number = value(symbol.formula) if symbol.formula else None
        return self.values.get(symbol.name, None if number is None else float(number))

    def quantity(
        self,
        symbol: Symbol,
        sympy_symbol: Callable[[], sp.Symbol],
        build: Build,
        others: Collection[str],
    ) -> Quantity:
        """The record of a variable, setting or parameter.

        Args:
            symbol: the declared name.
            sympy_symbol: the function that returns its SymPy symbol.
            build: the conversion of formulas to SymPy.
            others: the names of all variables, settings and parameters.
        """
        is_setting = self.kind(symbol) == "setting"
        bounds = () if is_setting else tuple(self.bounds(symbol, build, others))
        unit = symbol.unit.factors if symbol.unit else None
        return Quantity(symbol.name, sympy_symbol, bounds, unit, symbol.doc, self.value(symbol))

    def bounds(self, symbol: Symbol, build: Build, others: Collection[str]) -> Iterator[Bound]:
        """The bounds of a name. A removed bound with a positive limit leaves `> 0`.

        Args:
            symbol: the declared name.
            build: the conversion of formulas to SymPy.
            others: the names of all variables, settings and parameters.
        """
        for relation, limit in symbol.bounds:
            name = limit.text if isinstance(limit, Name) and limit.text in others else None
            text = print_formula(limit)
            bound = Bound(relation, text, partial(build, limit), _exact(limit), name)
            if not self._is_dropped(symbol, relation, limit):
                yield bound
            elif bound.lower and bound.limit.is_positive and bound.limit != 0:
                yield Bound(">", "0", lambda: sp.S.Zero, Fraction(0))

    def assumptions(self, symbol: Symbol, build: Build) -> dict[str, bool]:
        """The assumptions of a SymPy symbol: real, and the sign that its domain implies.

        Args:
            symbol: the declared name.
            build: the conversion of formulas to SymPy, for names declared before this one.
        """
        signs = {"real": True}
        if self.kind(symbol) == "setting":
            number = self.value(symbol)
            if number is not None and number != 0:
                signs["positive" if number > 0 else "negative"] = True
            return signs
        free = symbol.determined_by and not symbol.bounds  # tied, and its domain makes no promise
        # the sign of a let follows from its formula alone
        if symbol.kind == "let" and symbol.formula is not None and not free:
            if build(symbol.formula).is_positive:
                signs["positive"] = True
        for relation, limit in symbol.bounds:
            value = build(limit)
            if self._is_dropped(symbol, relation, limit):
                # as in `bounds`: a removed bound leaves only the sign of its limit
                relation, value = relation[0], value if value.is_positive else sp.nan
            if relation.startswith(">") and value.is_nonnegative:
                strict = relation == ">" or value.is_positive
                signs["positive" if strict else "nonnegative"] = True
            elif relation.startswith("<") and value.is_nonpositive:
                strict = relation == "<" or value.is_negative
                signs["negative" if strict else "nonpositive"] = True
        return signs

    def _is_dropped(self, symbol: Symbol, relation: str, limit: Formula) -> bool:
        return f"{symbol.name} {relation} {print_formula(limit)}" in self.dropped


def _exact(limit: Formula) -> Fraction | None:
    """A limit that is a rational number; None for any other."""
    with contextlib.suppress(Undefined, TooLarge):
        number = value(limit)
        return number if isinstance(number, Fraction) else None
    return None


def check_finite(kind: str, values: Mapping[str, float]) -> None:
    """Check that the value of a setting or parameter is finite.

    Args:
        kind: setting or parameter.
        values: name -> value.

    Raises:
        LawdslError: the value is infinite or not a number.
    """
    for name, number in values.items():
        if not math.isfinite(number):
            message = f"the {kind} `{name}` cannot be {float(number)}"
            help = f"give a finite number: {name}=1e6"
            raise LawdslError(Diagnostic("L0111", message, help=help))


def lacks(
    law: str,
    declared: Declarations,
    kind: str,
    name: str,
    names: list[str],
    value: float | None = None,
) -> LawdslError:
    """The error of a setting, parameter or bound that a law does not have.

    Args:
        law: the name of the law.
        declared: its declarations.
        kind: setting, parameter or bound.
        name: what it lacks.
        names: what it has of this kind.
        value: the value that was given for it; None for none.
    """
    help = f"its {kind}s: {', '.join(names) or 'none'}"
    if kind != "bound":
        help = did_you_mean(name, names, help)
    symbol = declared.symbols.get(name)
    if value is not None and symbol is not None and symbol.kind == "parameter":
        help = f"`{name}` is a parameter: write --fix {name}={value:g}"
    elif value is not None and symbol is not None and symbol.kind == "variable":
        help = f'`{name}` is a variable: choose rows with --where "COLUMN = {value:g}"'
    return LawdslError(Diagnostic("L0301", f"`{law}` has no {kind} `{name}`", help=help))
