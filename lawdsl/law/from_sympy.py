"""SymPy expression -> the text of a law, node by node; no text is ever given to SymPy."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import sympy as sp

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.language import size_limits, tree
from lawdsl.language.foreign.formula import DEFAULT_OUTPUTS
from lawdsl.language.keywords import FUNCTIONS, ascii_name
from lawdsl.language.new_law import USUAL_VARIABLES, chosen_variables, law_text
from lawdsl.language.tree import Formula
from lawdsl.law.functions import NAMES, Choice

HUGE = 10**40
"""Whole numbers from here on are not written out in messages."""
_RELATIONS = {
    sp.StrictGreaterThan: ">",
    sp.GreaterThan: ">=",
    sp.StrictLessThan: "<",
    sp.LessThan: "<=",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def text_of_expression(
    expression: Any, variables: Iterable[str | sp.Symbol] | None, name: str
) -> str:
    """The text of a law with the given right-hand side.

    Floats are rounded to float64, and so are whole numbers that have no exact literal.

    Args:
        expression: a SymPy expression; `Eq(L, …)` also names the output.
        variables: names or symbols that are variables, optionally with a domain; None for the
            conventional ones. The domain is the stated one, else that implied by the assumptions of
            the symbol, else the conventional one (`USUAL_VARIABLES`).
        name: the name of the law.

    Raises:
        LawdslError: a node that the language cannot express, different symbols of one name, a
            number outside the range of float64 (E0204), variables that are not known (E0203), or a
            name that a law cannot have.
    """
    if not isinstance(expression, sp.Basic):
        message = f"a SymPy expression is needed, not {type(expression).__name__}"
        help = "`lawdsl import 'E + A/N**alpha' --name NAME` reads text"
        raise LawdslError(Diagnostic("E0204", message, help=help))
    output = ""
    if isinstance(expression, sp.Equality):
        if not isinstance(expression.lhs, sp.Symbol):
            raise _unsupported(expression)
        output, expression = _name(expression.lhs), expression.rhs
    try:
        formula = _formula(expression, 0)
    except RecursionError:  # raised by SymPy, which recurses into the parts of a deep expression
        raise _too_deep() from None
    symbols = _by_name(expression.free_symbols)
    names = tuple(dict.fromkeys(n.text for n in tree.walk(formula) if isinstance(n, tree.Name)))
    names = tuple(each for each in names if each in symbols)
    given = [each for each in names if each in USUAL_VARIABLES] if variables is None else variables
    texts = [_with_domain(each, symbols) for each in given]
    chosen = chosen_variables(names, texts or None)
    parameters = {each: _domain(symbols[each]) for each in names if each not in chosen}
    output = output or next(each for each in DEFAULT_OUTPUTS if each not in names)
    return law_text(name, output, formula, chosen, parameters)


def _by_name(symbols: Iterable[sp.Symbol]) -> dict[str, sp.Symbol]:
    """Symbols by their names in the law.

    Raises:
        LawdslError: two symbols that would be one parameter: they differ in their assumptions, are
            Dummy symbols, or are spelled in Greek and in Latin letters (E0204).
    """
    named: dict[str, sp.Symbol] = {}
    for symbol in sorted(symbols, key=sp.srepr):
        other = named.setdefault(_name(symbol), symbol)
        if other != symbol:
            message = f"`{sp.srepr(other)}` and `{sp.srepr(symbol)}` would have the same name"
            help = "rename one: expression.subs(old, sympy.Symbol('N1'))"
            raise LawdslError(Diagnostic("E0204", message, help=help))
    return named


def _with_domain(variable: str | sp.Symbol, symbols: Mapping[str, sp.Symbol]) -> str:
    """A variable with the domain that its symbol's assumptions say, unless another is given."""
    text = _name(variable) if isinstance(variable, sp.Symbol) else variable
    return f"{text} {_domain(symbols[text])}".strip() if text in symbols else text


def _name(symbol: sp.Symbol) -> str:
    """The name of a symbol in the law."""
    name = ascii_name(symbol.name)
    if not _NAME.fullmatch(name):
        message = f"`{symbol.name}` cannot be a name of a law"
        help = "rename it: expression.subs(old, sympy.Symbol('N'))"
        raise LawdslError(Diagnostic("E0204", message, help=help))
    return name


def _domain(symbol: sp.Symbol) -> str:
    """The domain implied by the assumptions of a symbol; empty if they imply none."""
    for holds, domain in (
        (symbol.is_positive, "> 0"),
        (symbol.is_negative, "< 0"),
        (symbol.is_nonnegative, ">= 0"),
        (symbol.is_nonpositive, "<= 0"),
    ):
        if holds:
            return domain
    return ""


def _formula(node: sp.Basic, depth: int) -> Formula:
    if depth > size_limits.MAX_NESTING:
        raise _too_deep()
    if isinstance(node, sp.Symbol):
        return tree.Name(_name(node))
    if node is sp.pi:
        return tree.Name("pi")
    if node is sp.E:
        return tree.Call("exp", (tree.Number("1"),))
    if isinstance(node, sp.Number):
        return _number(node)
    if isinstance(node, sp.Add):
        return _sum(node, depth)
    if isinstance(node, sp.Mul):
        return _product(sp.Mul.make_args(node), depth)
    if isinstance(node, sp.Pow):
        return _power(node, depth)
    if isinstance(node, (sp.Piecewise, Choice)):
        return _piecewise(node, depth)
    name = NAMES.get(type(node))
    if name in FUNCTIONS:
        return tree.Call(name, tuple(_formula(part, depth + 1) for part in node.args))
    raise _unsupported(node)


def _piecewise(node: sp.Piecewise | Choice, depth: int) -> Formula:
    """Nested `if`, the last case for all that is left.

    Raises:
        LawdslError: a case without a single comparison, or none for what is left (E0204).
    """
    if isinstance(node, Choice):
        above, yes, no = node.args
        cases = [(yes, sp.StrictGreaterThan(above, 0, evaluate=False)), (no, sp.true)]
    else:
        cases = [(case.expr, case.cond) for case in node.args]
    if cases[-1][1] is not sp.true:
        raise _unsupported(node)
    formula = _formula(cases[-1][0], depth + 1)
    for expression, condition in reversed(cases[:-1]):
        relation = _RELATIONS.get(type(condition))
        if relation is None:
            raise _unsupported(condition)
        depth += 1
        sides = [_formula(side, depth + 1) for side in condition.args]
        formula = tree.Conditional(
            sides[0], relation, sides[1], _formula(expression, depth + 1), formula
        )
    return formula


def _too_deep() -> LawdslError:
    message = f"the expression is nested more than {size_limits.MAX_NESTING} deep"
    return LawdslError(Diagnostic("E0204", message, help="name parts of it with `let`"))


def _abbreviated(node: sp.Basic) -> str:
    """The beginning of an expression, without the digits of huge numbers."""
    huge = {n: sp.Symbol("…") for n in node.atoms(sp.Rational) if max(abs(n.p), n.q) >= HUGE}
    with suppress(Exception):  # printers of SymPy and user-defined classes may raise anything
        return f"`{str(node.xreplace(huge))[:60]}`"
    return "an expression"


def _unsupported(node: sp.Basic) -> LawdslError:
    message = f"{_abbreviated(node)} ({type(node).__name__}) is nothing that a law is made of"
    help = f"laws have + - * / ^, piecewise formulas, min, max and {', '.join(f for f in FUNCTIONS if f not in ('min', 'max'))}"
    return LawdslError(Diagnostic("E0204", message, help=help))


def _number(number: sp.Number) -> Formula:
    """A number in the syntax of the language: exact if a literal can represent it, else rounded to
    float64.

    Raises:
        LawdslError: a number that is not finite, or that is 0 or infinite as float64 (E0204).
    """
    if number.is_finite is not True:
        raise _unsupported(number)
    if number.is_negative:
        return tree.Negative(_number(-number))
    if isinstance(number, sp.Rational) and number.q != 1 and (parts := _quotient(number)):
        return tree.Product(tuple(zip("*/", parts, strict=True)))
    if isinstance(number, sp.Integer) and (text := _exact(int(number))):
        return tree.Number(text)
    return tree.Number(repr(_rounded(number)))


def _quotient(number: sp.Rational) -> tuple[Formula, Formula] | None:
    """Numerator and denominator of a nonnegative fraction; None if a literal cannot represent one
    of them exactly.
    """
    texts = [_exact(int(part)) for part in (number.p, number.q)]
    above, below = (None if text is None else tree.Number(text) for text in texts)
    return None if above is None or below is None else (above, below)


def _exact(whole: int) -> str | None:
    """The literal of a whole number; None if no literal represents it exactly."""
    if whole < 10**size_limits.MAX_DIGITS:
        return str(whole)
    with suppress(OverflowError):
        if int(float(whole)) == whole:
            return repr(float(whole))
    return None


def _rounded(number: sp.Number) -> float:
    """The float64 nearest to a number."""
    try:
        rounded = number.p / number.q if isinstance(number, sp.Rational) else float(number)
    except OverflowError:
        rounded = math.inf
    if math.isinf(rounded) or (rounded == 0 and not number.is_zero):
        size = "large" if math.isinf(rounded) else "small"
        message = f"a number is too {size} for float64, whose range is 5e-324 to 1.8e308"
        help = "divide by a unit: count N in millions, or take logarithms"
        raise LawdslError(Diagnostic("E0204", message, help=help))
    return float(rounded)


def _sum(node: sp.Add, depth: int) -> Formula:
    terms: list[tuple[str, Formula]] = []
    for term in node.as_ordered_terms():
        negative = term.could_extract_minus_sign()
        part = _formula(-term if negative else term, depth + 1)
        if negative and not terms:
            part, negative = tree.Negative(part), False
        terms.append(("-" if negative else "+", part))
    return tree.Sum(tuple(terms))


def _product(factors: tuple[sp.Expr, ...], depth: int) -> Formula:
    """Factors with negative exponents become divisors."""
    above: list[tuple[str, Formula]] = []
    below: list[tuple[str, Formula]] = []
    negative = False
    for factor in factors:
        if isinstance(factor, sp.Number) and factor.is_negative:
            negative, factor = not negative, -factor
        if isinstance(factor, sp.Rational) and (pair := _quotient(factor)):
            above += [("*", pair[0])] if factor.p != 1 else []
            below += [("/", pair[1])] if factor.q != 1 else []
        elif isinstance(factor, sp.Pow) and factor.exp.could_extract_minus_sign():
            below.append(("/", _formula(sp.Pow(factor.base, -factor.exp), depth + 1)))
        else:
            above.append(("*", _formula(factor, depth + 1)))
    parts = (*(above or [("*", tree.Number("1"))]), *below)
    product = parts[0][1] if len(parts) == 1 else tree.Product(parts)
    return tree.Negative(product) if negative else product


def _power(node: sp.Pow, depth: int) -> Formula:
    base, exponent = node.args
    if exponent == sp.Rational(1, 2):
        return tree.Call("sqrt", (_formula(base, depth + 1),))
    if exponent.could_extract_minus_sign():
        return _product((node,), depth)
    return tree.Power(_formula(base, depth + 1), _formula(exponent, depth + 1))
