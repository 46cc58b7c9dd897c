"""Syntax tree -> SymPy expression, node by node, and its derivatives.

Nothing here parses text, and every construction has a time limit: SymPy itself has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import TracebackType
from typing import Protocol

import sympy as sp

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.functions import EXTREMA
from lawdsl.core.time_limit import OutOfTime, time_limit, unstruck
from lawdsl.language import size_limits, tree
from lawdsl.language.constants import MAX_POWER_BITS, Undefined, literal
from lawdsl.language.printer import print_formula
from lawdsl.language.symbols import Declarations
from lawdsl.law.functions import BUILD, CONSTANTS, NAMES, SYMPY, choice

# SymPy loads some of its modules at the first sum, which must not count towards a time limit
sp.Symbol("x") + 1

MAX_NUMBER_BITS = 14_000  # greatest size of a number; Python converts at most 4,300 digits
ALGEBRA_SECONDS = 1.0  # s for building a law; published laws take a few milliseconds


class NamedLaw(Protocol):
    """The interface of a law from which expressions are built: its declarations, and their SymPy
    symbols.
    """

    @property
    def declarations(self) -> Declarations:
        """The law as declared."""
        ...

    @property
    def symbols(self) -> Mapping[str, sp.Symbol]:
        """Name -> its SymPy symbol."""
        ...


class FormulaLaw(NamedLaw, Protocol):
    """The interface of a law whose formulas can be converted to expressions."""

    def to_sympy(
        self,
        formula: tree.Formula,
        opaque: Iterable[str] = (),
        extra: dict[str, sp.Expr] | None = None,
    ) -> sp.Expr:
        """A formula of this law as a SymPy expression; the names in `opaque` stay symbols."""
        ...


@dataclass
class ExpressionBuilder:
    """The conversion of syntax trees to SymPy, for the names of one law.

    `substitution` maps names to expressions that replace their symbols; `done` holds the
    definitions already expanded.
    """

    law: NamedLaw
    opaque: frozenset[str]
    extra: dict[str, sp.Expr]
    symbols: Mapping[str, sp.Symbol] | None = None
    substitution: Mapping[str, sp.Expr] = field(default_factory=dict)
    done: dict[str, sp.Expr] = field(default_factory=dict)

    def __call__(self, node: tree.Formula) -> sp.Expr:
        expression = self._built(node)
        number, _ = expression.as_coeff_Mul()
        if (
            number.is_Rational
            and max(number.p.bit_length(), number.q.bit_length()) > MAX_NUMBER_BITS
        ):
            # a number too long for Python to convert would raise an error wherever the law is
            # printed
            raise OutOfTime
        imaginary = isinstance(node, (tree.Power, tree.Call)) and expression.has(sp.I)
        if imaginary or expression in (sp.zoo, sp.nan):
            raise Undefined(node, f"`{print_formula(node)}` has no real value")
        return expression

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
            case tree.Conditional(lhs, relation, rhs):
                return self._chosen(self(lhs), relation, self(rhs), node)
            case tree.Derivative(of, derived_by):
                names = [tree.name_of(n) for n in derived_by]
                opaque = self.opaque | {n for n in names if self._kind(n) == "let"}
                inner = ExpressionBuilder(self.law, opaque, self.extra)
                symbols = [self.law.symbols[n] for n in names]
                return derivative(inner(tree.Name(tree.name_of(of))), *symbols)
            case tree.Call(function, arguments, keywords):
                if function in BUILD:
                    argument = self(arguments[0])
                    if function == "exp":
                        _refuse_large_powers(argument)
                    return BUILD[function](argument)
                if function in EXTREMA:
                    return _extremum(function, *map(self, arguments))
                return self._substituted_call(function, keywords)
        raise AssertionError(node)

    def _chosen(self, lhs: sp.Expr, relation: str, rhs: sp.Expr, node: tree.Conditional) -> sp.Expr:
        """A piecewise formula; a part that is never taken is not built, and needs no value."""
        marks = sp.Dummy(), sp.Dummy()
        taken = choice(lhs, relation, rhs, *marks)
        if taken in marks:
            return self(node.yes if taken == marks[0] else node.no)
        return choice(lhs, relation, rhs, self(node.yes), self(node.no))

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
        if name in self.substitution:
            return self.substitution[name]
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

    def _substituted_call(
        self, output: str, keywords: Iterable[tuple[str, tree.Formula]]
    ) -> sp.Expr:
        """`L(r = r0)`: a name introduced by a claim gets the assumptions of the name that it
        replaces.
        """
        substitution = {}
        # a substituted let must stay a symbol, or its expansion would hide the substitution
        opaque = self.opaque | {n for n, _ in keywords if self._kind(n) == "let"}
        for name, argument in keywords:
            symbol = self.law.symbols[name]
            if isinstance(argument, tree.Name) and self._kind(argument.text) is None:
                self.extra.setdefault(
                    argument.text, sp.Symbol(argument.text, **symbol.assumptions0)
                )
            substitution[name] = self(argument)
        return ExpressionBuilder(self.law, opaque, self.extra, substitution=substitution)(
            tree.Name(output)
        )


def _power(base: sp.Expr, exponent: sp.Expr) -> sp.Expr:
    """base^exponent, unless SymPy would expand it to a number of thousands of digits."""
    # SymPy evaluates a rational power of a number at once, before any time limit can stop it
    if exponent.is_Rational:
        number, _ = base.as_coeff_Mul()
        bits = 0
        if number.is_Rational and number not in (1, -1):
            bits = max(number.p.bit_length(), number.q.bit_length())
        if (
            abs(exponent) > size_limits.MAX_LITERAL_EXPONENT
            or bits * abs(exponent) > MAX_POWER_BITS
        ):
            raise OutOfTime
    return sp.Pow(base, exponent)


def _refuse_large_powers(argument: sp.Expr) -> None:
    """Apply the limits on powers to exp(n*log(x)), which SymPy rewrites as a power."""
    for term in sp.Add.make_args(argument):
        number, rest = term.as_coeff_Mul()
        if rest.has(sp.log):
            for logarithm in rest.atoms(sp.log):
                _power(logarithm.args[0], number)


def derivative(expression: sp.Expr, *symbols: sp.Symbol) -> sp.Expr:
    """The partial derivative with respect to each symbol in turn, with powers of one base merged.

    SymPy leaves r^η/r unchanged, which has no value at r = 0; r^(η - 1) has one.

    Args:
        expression: the expression.
        symbols: the symbols, in the order of differentiation.
    """
    for symbol in symbols:
        expression = merge_powers(sp.diff(expression, symbol))
    return expression


def merge_powers(expression: sp.Expr) -> sp.Expr:
    """Merge powers: every product contains each base once, x^a·x^b becomes x^(a + b), and log(b^x)
    becomes x·log(b).
    """
    # by node: a shared part of an expression is merged once, not once per path to it
    done: dict[sp.Expr, sp.Expr] = {}

    def merged(node: sp.Expr) -> sp.Expr:
        if not node.args:
            return node
        if node not in done:
            parts = [merged(part) for part in node.args]
            done[node] = _product(parts) if node.is_Mul else _rebuilt(node, parts)
            if isinstance(done[node], sp.log):
                done[node] = _logarithm(done[node])
        return done[node]

    return merged(expression)


def _rebuilt(node: sp.Expr, parts: list[sp.Expr]) -> sp.Expr:
    # SymPy's constructors simplify again and may take long: called only where a part has changed
    same = all(new is old for new, old in zip(parts, node.args, strict=True))
    if same:
        return node
    name = NAMES.get(node.func)
    return _extremum(name, *parts) if name in EXTREMA else node.func(*parts)


@lru_cache(maxsize=1024)
def _extremum(name: str, *arguments: sp.Expr) -> sp.Expr:
    """A maximum or minimum, unevaluated: SymPy would compare each pair of arguments, which takes
    milliseconds.
    """
    return getattr(SYMPY, name)(*arguments)


def _logarithm(e: sp.Expr) -> sp.Expr:
    """log(a·b^x) as log(a) + x·log(b) where all factors are positive and one is a power."""
    parts = sp.Mul.make_args(e.args[0])
    if not any(p.is_Pow and p.exp.free_symbols for p in parts):
        return e
    if not all((p.base if p.is_Pow else p).is_positive for p in parts):
        return e
    return sp.Add(*(p.exp * sp.log(p.base) if p.is_Pow else sp.log(p) for p in parts))


def _product(factors: list[sp.Expr]) -> sp.Expr:
    exponents: dict[sp.Expr, list[sp.Expr]] = {}
    for factor in factors:
        base, exponent = factor.as_base_exp() if factor.is_Pow else (factor, sp.S.One)
        exponents.setdefault(base, []).append(exponent)
    return sp.Mul(*(sp.Pow(base, sp.Add(*powers)) for base, powers in exponents.items()))


class bounded:
    """A context that limits the time for building a law; a law that exceeds it, or on which SymPy
    fails, is refused.

    It is a class and not a generator for the reason given in `time_limit`.

    Raises:
        LawdslError: a part without a value, or a formula too complicated for computer algebra.
    """

    def __init__(self, declarations: Declarations) -> None:
        self.declarations, self.limit = declarations, time_limit(ALGEBRA_SECONDS)

    @unstruck
    def __enter__(self) -> None:
        self.limit.__enter__()

    @unstruck
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # leaving the time limit may itself raise an exception; both are handled the same way
        instead: Exception | None = None
        try:
            self.limit.__exit__(kind, error, traceback)
        except Exception as other:
            instead = other
        refused = _refused(self.declarations, instead or error)
        if refused is not None:
            raise refused from None
        if instead is not None:
            raise instead from None


def _refused(declarations: Declarations, error: BaseException | None) -> LawdslError | None:
    """The error that corresponds to an exception caused by a formula; None if it has another cause."""
    text = declarations.text
    if isinstance(error, Undefined):
        # otherwise it may belong to another file
        span = None if declarations.laws else error.node.span
        help = "correct the formula"
        return LawdslError(Diagnostic("L0501", error.why, text=text, span=span, help=help))
    if not isinstance(error, Exception):
        return None
    if not (isinstance(error, (OutOfTime, MemoryError)) or is_of_sympy(error)):
        return None
    message = "a formula is too involved for the algebra"
    help = "write it with fewer nested powers and functions"
    return LawdslError(Diagnostic("L0105", message, text=text, help=help))


def is_of_sympy(error: Exception) -> bool:
    """Whether an exception was raised inside SymPy or mpmath, which may raise any type."""
    trace = error.__traceback__
    # the innermost frame is where the exception was raised
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "") if trace else ""
    return module.partition(".")[0] in ("sympy", "mpmath")
