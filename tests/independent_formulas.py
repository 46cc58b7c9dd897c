"""Formulas as trees of tuples, evaluated with mpmath; and formulas that the tool prints, read back.

No parser and no algebra of the tool is used: what it prints is read by Python's own `ast`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import mpmath

Tree = tuple[Any, ...]
Values = Mapping[str, Any]

DIGITS = 60
FUNCTIONS = ("exp", "log", "sqrt", "sin", "cos", "tanh", "atan", "abs", "min", "max")
LABELS = ("a", "b", "c", "d")
POINTS = 160
CERTAIN = mpmath.mpf(10) ** -38  # relative: below that a difference may be rounding


class NoValue(Exception):
    """A formula has no value at a point."""


def num(x: object) -> Tree:
    return ("num", Fraction(str(x)))


def name(text: str) -> Tree:
    return ("name", text)


def text(tree: Tree) -> str:
    """The tree as the language writes it, with every bracket."""
    kind, *rest = tree
    if kind == "num":
        (x,) = rest
        whole = str(x.numerator) if x.denominator == 1 else f"{x.numerator}/{x.denominator}"
        return whole if x >= 0 and x.denominator == 1 else f"({whole})"
    if kind == "name":
        return str(rest[0])
    if kind in "+-*/^":
        return f"({text(rest[0])} {kind} {text(rest[1])})"
    if kind in ("sum", "prod"):
        return f"{kind}({text(rest[0])} for {rest[1]})"
    return f"{kind}({', '.join(map(text, rest))})"


def value(tree: Tree, at: Values, labels: Sequence[str] = (), places: Values | None = None) -> Any:
    """The value of a tree in mpmath. Subscripts are looked up with their indices replaced."""
    kind, *rest = tree
    places = places or {}
    if kind == "num":
        return mpmath.mpf(rest[0].numerator) / rest[0].denominator
    if kind == "name":
        return at[placed(rest[0], places)]
    if kind in ("sum", "prod"):
        body, index = rest
        parts = [value(body, at, labels, {**places, index: one}) for one in labels]
        return mpmath.fsum(parts) if kind == "sum" else mpmath.fprod(parts)
    args = [value(part, at, labels, places) for part in rest]
    return apply(kind, args)


def placed(text: str, places: Values) -> str:
    head, bracket, inner = text.partition("[")
    if not bracket:
        return text
    return f"{head}[{', '.join(places.get(i.strip(), i.strip()) for i in inner[:-1].split(','))}]"


def apply(kind: str, args: list[Any]) -> Any:
    """One operation; NoValue outside its domain."""
    x, y = args[0], args[-1]
    if kind in ("exp", "sin", "cos") and abs(x) > 10**7:
        raise OverflowError
    match kind:
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
        case "/":
            if y == 0:
                raise NoValue
            return x / y
        case "^":
            return power(x, y)
        case "log":
            if x <= 0:
                raise NoValue
            return mpmath.log(x)
        case "sqrt":
            if x < 0:
                raise NoValue
            return mpmath.sqrt(x)
        case "abs":
            return abs(x)
        case "min" | "max":
            return min(args) if kind == "min" else max(args)
    return getattr(mpmath, kind)(x)


def power(x: Any, y: Any) -> Any:
    if x == 0 and y <= 0 or x < 0 and y != int(y):
        raise NoValue
    if x != 0 and abs(y * mpmath.log(abs(x))) > 10**7:
        raise OverflowError
    return x ** int(y) if y == int(y) and abs(y) < 1000 else mpmath.power(x, y)


def read(shown: str, at: Values) -> Any:
    """The value or truth of a printed formula, relation, or relations with `and` and `or`."""
    python = shown.replace("^", "**")
    python = python.replace(" = ", " == ")
    python = python.replace(", ", " and ") if "==" in python else python
    try:
        parsed = ast.parse(python, mode="eval").body
    except SyntaxError:  # a sum over all other labels
        raise KeyError(shown) from None
    return _read(parsed, at)


OPERATORS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "^",
}


def _read(node: ast.AST, at: Values) -> Any:
    match node:
        case ast.BoolOp(op, parts):
            found = [_read(part, at) for part in parts]
            return all(found) if isinstance(op, ast.And) else any(found)
        case ast.Compare(left, ops, rights):
            x, y = _read(left, at), _read(rights[0], at)
            return {
                ast.Lt: x < y,
                ast.LtE: x <= y,
                ast.Gt: x > y,
                ast.GtE: x >= y,
                ast.Eq: mpmath.almosteq(x, y, 1e-40, 1e-40),
            }[type(ops[0])]
        case ast.BinOp(left, op, right):
            return apply(OPERATORS[type(op)], [_read(left, at), _read(right, at)])
        case ast.UnaryOp(ast.USub(), operand):
            return -_read(operand, at)
        case ast.Constant(number):
            return mpmath.mpf(str(number))
        case ast.Name("pi"):
            return +mpmath.pi
        case ast.Name(id) if id in at:
            return at[id]
        case ast.Subscript():
            return at[ast.unparse(node).replace("(", "").replace(")", "")]
        case ast.Call(ast.Name(function), args):
            return apply(function, [_read(arg, at) for arg in args])
    raise KeyError(ast.dump(node))
