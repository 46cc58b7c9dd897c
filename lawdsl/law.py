"""A law as mathematics: names resolved, a SymPy expression, domains, claims, provenance.

This is what every stage after the language sees. Nothing here reads text: formulas come from the
syntax tree, node by node.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import sympy as sp

from lawdsl import library
from lawdsl.budget import OutOfTime, time_limit
from lawdsl.diagnostics import Diagnostic, LawdslError
from lawdsl.functions import CONSTANTS, EXTREMA, FUNCTIONS
from lawdsl.language import limits, tree
from lawdsl.language.numbers import POWER_BITS, Undefined, literal, value
from lawdsl.language.printing import print_formula, print_unit
from lawdsl.language.resolving import Claim, Declarations, Objective, Symbol

sp.Symbol("x") + 1  # SymPy loads parts of itself at its first sum; not on anybody's time limit

WRITTEN_BITS = 14_000  # of a number; Python writes out no more than 4300 digits
ALGEBRA_SECONDS = 1.0  # for building a law; those of the papers take a few milliseconds


@dataclass(frozen=True)
class Bound:
    """One relation of a domain: `symbol relation limit`, e.g. C > C0."""

    relation: str
    limit: sp.Expr
    text: str

    @property
    def strict(self) -> bool:
        return self.relation in "<>"

    @property
    def lower(self) -> bool:
        return self.relation.startswith(">")


@dataclass(frozen=True)
class Quantity:
    """A variable, setting or parameter of a law.

    Attributes:
        name: as declared.
        symbol: its SymPy symbol.
        bounds: its domain; empty for a free one.
        unit: as (unit name, power) pairs, or None.
        doc: what the author says of it.
        value: of a setting, in its unit; None otherwise.
    """

    name: str
    symbol: sp.Symbol
    bounds: tuple[Bound, ...]
    unit: tuple[tuple[str, int], ...] | None
    doc: str | None
    value: float | None = None

    @property
    def domain(self) -> str:
        """The domain as text: `N > 0`; the name alone for a free one."""
        if not self.bounds:
            return self.name
        return ", ".join(f"{self.name} {b.relation} {b.text}" for b in self.bounds)


@dataclass(frozen=True, repr=False)
class Law:
    """A law.

    Attributes:
        declarations: the law as declared, and the laws it names.
        settings_: values that replace those of its settings.
        dropped: texts of the bounds that were dropped.
    """

    declarations: Declarations
    settings_: tuple[tuple[str, float], ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.declarations.name

    @property
    def title(self) -> str:
        return self.declarations.title

    @property
    def sources(self) -> tuple[str, ...]:
        """Where the law is printed."""
        return self.declarations.sources

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What the law promises."""
        return self.declarations.claims

    @property
    def objective(self) -> Objective:
        """What a fit minimises unless it is told otherwise."""
        return self.declarations.objective

    @property
    def output(self) -> str:
        """The name of what the law predicts."""
        return self.declarations.output.name

    @cached_property
    def variables(self) -> tuple[Quantity, ...]:
        return self._quantities("variable")

    @cached_property
    def settings(self) -> tuple[Quantity, ...]:
        return self._quantities("setting")

    @cached_property
    def parameters(self) -> tuple[Quantity, ...]:
        return self._quantities("parameter")

    @property
    def texts(self) -> dict[str, str]:
        """Name -> text of this law and of all it is built on: what is needed to read it."""
        laws = {self.name: self.declarations, **self.declarations.laws}
        return {name: found.text.text for name, found in laws.items()}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the law says: its texts, changed settings and dropped bounds."""
        parts = sorted(self.texts.items())
        said = repr((parts, sorted(self.settings_), sorted(self.dropped)))
        return hashlib.sha256(said.encode()).hexdigest()

    @cached_property
    def symbols(self) -> Mapping[str, sp.Symbol]:
        """Name -> SymPy symbol: one table, so that a name is one symbol everywhere."""
        found: dict[str, sp.Symbol] = {}
        build = _Building(self, frozenset(), {}, found)
        with _algebra(self.declarations):
            for symbol in self.declarations.symbols.values():
                if symbol.kind in ("variable", "parameter", "setting", "let"):
                    found[symbol.name] = sp.Symbol(symbol.name, **self._assumptions(symbol, build))
        return found

    @cached_property
    def expression(self) -> sp.Expr:
        """The right-hand side in variables, settings and parameters, all lets written out."""
        formula = self.declarations.output.formula
        assert formula is not None
        return self.to_sympy(formula)

    def derivative(self, *names: str) -> sp.Expr:
        """The exact partial derivative of the law by each of the names in turn.

        A name may be a let: it is then varied as if it were a variable.

        Raises:
            KeyError: a name that the law does not have.
        """
        opaque = tuple(n for n in names if self.declarations.symbols[n].kind == "let")
        formula = self.declarations.output.formula
        assert formula is not None
        expression = self.to_sympy(formula, opaque) if opaque else self.expression
        symbols = [self.symbols[n] for n in names]
        with _algebra(self.declarations):
            return derivative(expression, *symbols)

    def to_sympy(
        self,
        formula: tree.Formula,
        opaque: Iterable[str] = (),
        extra: dict[str, sp.Expr] | None = None,
    ) -> sp.Expr:
        """A formula of this law as a SymPy expression.

        Args:
            formula: its syntax tree, whose names are those of the law.
            opaque: lets that stay symbols instead of being written out.
            extra: symbols of names that a claim brings in; those it lacks are added.
        """
        build = _Building(self, frozenset(opaque), {} if extra is None else extra)
        with _algebra(self.declarations):
            return build(formula)

    def with_settings(self, **values: float) -> Law:
        """The law with other values of its settings.

        Raises:
            LawdslError: a name that is no setting.
        """
        for name in values:
            if name not in {s.name for s in self.settings}:
                listed = ", ".join(s.name for s in self.settings) or "none"
                message = f"`{self.name}` has no setting `{name}`"
                raise LawdslError(Diagnostic("L0301", message, help=f"its settings: {listed}"))
        merged = {**dict(self.settings_), **{k: float(v) for k, v in values.items()}}
        return replace(self, settings_=tuple(sorted(merged.items())))

    def without(self, bound: str) -> Law:
        """The law without one bound, written as `lawdsl show` prints it: `C > C0`.

        Where the limit is proved positive, the bound becomes `C > 0`.

        Raises:
            LawdslError: no such bound.
        """
        wanted = "".join(bound.split())
        known = [f"{q.name} {b.relation} {b.text}" for q in self.parameters for b in q.bounds]
        for text in known:
            if "".join(text.split()) == wanted:
                return replace(self, dropped=(*self.dropped, text))
        message = f"`{self.name}` has no bound `{bound}`"
        raise LawdslError(Diagnostic("L0301", message, help="its bounds: " + ", ".join(known)))

    def latex(self) -> str:
        """The law as LaTeX: `L = …`."""
        names = {s: sp.Symbol(s.name) for s in self.symbols.values()}
        with _algebra(self.declarations):  # SymPy simplifies while it prints
            return f"{self.output} = {sp.latex(self.expression.xreplace(names))}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def __repr__(self) -> str:
        formula = self.declarations.output.formula
        assert formula is not None
        return f"<Law {self.name}: {self.output} = {print_formula(formula)}>"

    def _quantities(self, kind: str) -> tuple[Quantity, ...]:
        found = []
        settings = dict(self.settings_)
        for s in self.declarations.symbols.values():
            if s.kind == kind:
                bounds = tuple(self._bounds(s))
                number = value(s.formula) if s.kind == "setting" and s.formula else None
                known = None if number is None else settings.get(s.name, float(number))
                unit = s.unit.factors if s.unit else None
                symbol = self.symbols[s.name]
                found.append(Quantity(s.name, symbol, bounds, unit, s.doc, known))
        return tuple(found)

    def _bounds(self, symbol: Symbol) -> Iterable[Bound]:
        for relation, limit in symbol.bounds:
            text = print_formula(limit)
            expression = self.to_sympy(limit)
            if f"{symbol.name} {relation} {text}" not in self.dropped:
                yield Bound(relation, expression, text)
            elif relation.startswith(">") and expression.is_positive and expression != 0:
                yield Bound(">", sp.S.Zero, "0")

    def _assumptions(self, symbol: Symbol, build: _Building) -> dict[str, bool]:
        """What SymPy may assume of a symbol: that it is real, and the sign that its domain gives.

        `build` knows the symbols that were declared above it.
        """
        signs = {"real": True}
        if symbol.kind == "setting":
            number = value(symbol.formula) if symbol.formula else None
            changed = dict(self.settings_).get(symbol.name)
            number = number if changed is None else changed
            if number is not None and number != 0:
                signs["positive" if number > 0 else "negative"] = True
        elif symbol.kind == "let" and symbol.formula is not None:
            if build(symbol.formula).is_positive:
                signs["positive"] = True
        for relation, limit in symbol.bounds:
            at = build(limit)
            if f"{symbol.name} {relation} {print_formula(limit)}" in self.dropped:
                relation, at = relation[0], at if at.is_positive else sp.nan
            if relation.startswith(">") and at.is_nonnegative:
                strict = relation == ">" or at.is_positive
                signs["positive" if strict else "nonnegative"] = True
            elif relation.startswith("<") and at.is_nonpositive:
                strict = relation == "<" or at.is_negative
                signs["negative" if strict else "nonpositive"] = True
        return signs


@dataclass
class _Building:
    """Syntax tree -> SymPy, for the names of one law.

    `places` are what names stand for instead of their symbols; `done` the definitions that are
    written out already.
    """

    law: Law
    opaque: frozenset[str]
    extra: dict[str, sp.Expr]
    symbols: Mapping[str, sp.Symbol] | None = None
    places: Mapping[str, sp.Expr] = field(default_factory=dict)
    done: dict[str, sp.Expr] = field(default_factory=dict)

    def __call__(self, node: tree.Formula) -> sp.Expr:
        found = self._built(node)
        number, _ = found.as_coeff_Mul()
        if number.is_Rational and max(number.p.bit_length(), number.q.bit_length()) > WRITTEN_BITS:
            raise OutOfTime
        imaginary = isinstance(node, (tree.Power, tree.Call)) and found.has(sp.I)
        if imaginary or found in (sp.zoo, sp.nan):
            raise Undefined(node, f"`{print_formula(node)}` has no real value")
        return found

    def _built(self, node: tree.Formula) -> sp.Expr:
        match node:
            case tree.Number(text):
                exact = literal(text)
                return sp.Rational(exact.numerator, exact.denominator)
            case tree.Name(text):
                return self._name(text)
            case tree.Negative(operand):
                return -self(operand)
            case tree.Sum(terms):
                return sp.Add(*(self(t) if sign == "+" else -self(t) for sign, t in terms))
            case tree.Product(factors):
                parts = (self(f) if sign == "*" else self._inverse(f) for sign, f in factors)
                return sp.Mul(*parts)
            case tree.Power(base, exponent):
                return _power(self(base), self(exponent))
            case tree.Derivative(of, by):
                opaque = self.opaque | {n for n in by if self._kind(n) == "let"}
                inner = _Building(self.law, opaque, self.extra)
                names = [self.law.symbols[n] for n in by]
                return derivative(inner(tree.Name(of)), *names)
            case tree.Call(function, arguments, keywords):
                if function in FUNCTIONS:
                    argument = self(arguments[0])
                    if function == "exp":
                        _refuse_large_powers(argument)
                    return FUNCTIONS[function].build(argument)
                if function in EXTREMA:
                    return EXTREMA[function](*map(self, arguments))
                return self._taken_at(function, keywords)
        raise AssertionError(node)

    def _inverse(self, divisor: tree.Formula) -> sp.Expr:
        inverse = sp.Pow(self(divisor), -1)
        if inverse is sp.zoo:
            raise Undefined(
                divisor, f"`{print_formula(divisor)}` is 0, and something is divided by it"
            )
        return inverse

    def _kind(self, name: str) -> str | None:
        symbol = self.law.declarations.symbols.get(name)
        return symbol.kind if symbol else None

    def _name(self, name: str) -> sp.Expr:
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in self.places:
            return self.places[name]
        symbol = self.law.declarations.symbols.get(name)
        if symbol is None:
            if name not in self.extra:
                self.extra[name] = sp.Symbol(name, real=True)
            return self.extra[name]
        if symbol.kind in ("let", "output", "law") and name not in self.opaque:
            assert symbol.formula is not None
            if name not in self.done:
                self.done[name] = self(symbol.formula)
            return self.done[name]
        symbols = self.law.symbols if self.symbols is None else self.symbols
        return symbols[name]

    def _taken_at(self, output: str, keywords: Iterable[tuple[str, tree.Formula]]) -> sp.Expr:
        """`L(r = r0)`: a name that the claim brings in is assumed to be like what it replaces."""
        places = {}
        opaque = self.opaque | {n for n, _ in keywords if self._kind(n) == "let"}
        for name, at in keywords:
            symbol = self.law.symbols[name]
            if isinstance(at, tree.Name) and self._kind(at.text) is None:
                self.extra.setdefault(at.text, sp.Symbol(at.text, **symbol.assumptions0))
            places[name] = self(at)
        return _Building(self.law, opaque, self.extra, places=places)(tree.Name(output))


def _power(base: sp.Expr, exponent: sp.Expr) -> sp.Expr:
    """base^exponent, unless SymPy would write out a number of thousands of digits."""
    if exponent.is_Rational:
        number, _ = base.as_coeff_Mul()
        bits = 0
        if number.is_Rational and number not in (1, -1):
            bits = max(number.p.bit_length(), number.q.bit_length())
        if abs(exponent) > limits.EXPONENT or bits * abs(exponent) > POWER_BITS:
            raise OutOfTime
    return sp.Pow(base, exponent)


def _refuse_large_powers(argument: sp.Expr) -> None:
    """SymPy makes a power of exp(n*log(x)); that obeys the same limits."""
    for term in sp.Add.make_args(argument):
        number, rest = term.as_coeff_Mul()
        if rest.has(sp.log):
            for logarithm in rest.atoms(sp.log):
                _power(logarithm.args[0], number)


def derivative(expression: sp.Expr, *symbols: sp.Symbol) -> sp.Expr:
    """The partial derivative by each symbol in turn, powers of one base merged.

    SymPy leaves r^η/r as it is, which has no value at r = 0; r^(η - 1) has.
    """
    for symbol in symbols:
        expression = merge_powers(sp.diff(expression, symbol))
    return expression


def merge_powers(expression: sp.Expr) -> sp.Expr:
    """Every product with each base once: x^a·x^b becomes x^(a + b)."""
    done: dict[sp.Expr, sp.Expr] = {}

    def merged(node: sp.Expr) -> sp.Expr:
        if not node.args:
            return node
        if node not in done:
            parts = [merged(part) for part in node.args]
            done[node] = _product(parts) if node.is_Mul else _rebuilt(node, parts)
        return done[node]

    return merged(expression)


def _rebuilt(node: sp.Expr, parts: list[sp.Expr]) -> sp.Expr:
    same = all(new is old for new, old in zip(parts, node.args, strict=True))
    return node if same else node.func(*parts)


def _product(factors: list[sp.Expr]) -> sp.Expr:
    exponents: dict[sp.Expr, list[sp.Expr]] = {}
    for factor in factors:
        base, exponent = factor.as_base_exp() if factor.is_Pow else (factor, sp.S.One)
        exponents.setdefault(base, []).append(exponent)
    return sp.Mul(*(sp.Pow(base, sp.Add(*powers)) for base, powers in exponents.items()))


@contextmanager
def _algebra(declarations: Declarations) -> Iterator[None]:
    """Bound the time of building a law; beyond it, and where SymPy gives up, it is refused."""
    text = declarations.text
    try:
        with time_limit(ALGEBRA_SECONDS):
            yield
    except Undefined as found:
        span = None if declarations.laws else found.node.span  # else it may be of another file
        help = "correct the formula"
        raise LawdslError(Diagnostic("L0501", found.why, text=text, span=span, help=help)) from None
    except Exception as error:
        if not (isinstance(error, (OutOfTime, MemoryError)) or _is_of_sympy(error)):
            raise
        message = "a formula is too involved for the algebra"
        help = "write it with fewer nested powers and functions"
        raise LawdslError(Diagnostic("L0105", message, text=text, help=help)) from None


def _is_of_sympy(error: Exception) -> bool:
    """Whether SymPy itself has failed, which it does with exceptions of every kind."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "") if trace else ""
    return module.partition(".")[0] in ("sympy", "mpmath")


def load(name_or_path: str | Path) -> Law:
    """A law by the dotted name of a shipped one, or by the path of its file.

    Raises:
        LawdslError: with every mistake of the file.
    """
    declarations, _ = library.declarations(str(name_or_path))
    return Law(declarations)


def unit_text(unit: tuple[tuple[str, int], ...] | None) -> str:
    """A unit as text; empty for none."""
    return "" if unit is None else print_unit(tree.UnitOf(unit))
