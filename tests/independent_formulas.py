"""Formulas as trees of tuples, evaluated with mpmath; and formulas that the tool prints, read back.

No parser and no algebra of the tool is used: what it prints is read by Python's own `ast`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from fractions import Fraction
from typing import Any

import mpmath

Tree = tuple[Any, ...]
Values = Mapping[str, Any]

DIGITS = 60
FUNCTIONS = ("exp", "log", "sqrt", "sin", "cos", "tanh", "atan", "abs", "min", "max")
LABELS = ("a", "b", "c", "d")
POINTS = 160
PRECISIONS = (1, 4, 10, 14)  # times DIGITS
NEAR_ZERO = mpmath.mpf(10) ** -50
CERTAIN = mpmath.mpf(10) ** -38  # relative: below that a difference may be rounding


class NoValue(Exception):
    """A formula has no value at a point."""


class Absorbed(Exception):
    """A number is lost in a sum with a larger one: more digits are needed."""


class Unclear(Exception):
    """No precision decides."""


_MATTERS: ContextVar[bool] = ContextVar("matters", default=False)


def certain(compute: Callable[[], Any]) -> Any:
    """The value of a computation, once two precisions agree on six digits of it.

    A number that is lost beside a larger one at every precision matters only to results near 0.

    Raises:
        NoValue: it has none, at two precisions.
        Unclear: none of the precisions agree.
    """
    found = [_computed(compute, factor, strictly=True) for factor in PRECISIONS[:2]]
    for factor in PRECISIONS[2:]:
        if _is_settled(found):
            break
        found.append(_computed(compute, factor, strictly=True))
    if found[-1] is Absorbed:
        found = [_computed(compute, factor, strictly=False) for factor in PRECISIONS[-2:]]
        size = found[-1][0] if isinstance(found[-1], tuple) else found[-1]
        if not _is_value(size) or abs(size) < NEAR_ZERO:
            raise Unclear
    if not _is_settled(found):
        raise Unclear
    if found[-1] is NoValue:
        raise NoValue
    return found[-1]


def _computed(compute: Callable[[], Any], factor: int, *, strictly: bool) -> Any:
    """A value, or the exception that stands for one."""
    matters = _MATTERS.set(strictly)
    try:
        with mpmath.workdps(DIGITS * factor):
            return compute()
    except (NoValue, Absorbed) as error:
        return type(error)
    finally:
        _MATTERS.reset(matters)


def _is_settled(found: Sequence[Any]) -> bool:
    if _is_value(found[-1]) and _is_value(found[-2]):
        return _agree(found[-1], found[-2])
    return found[-1] is NoValue and found[-2] is NoValue


def _is_value(found: Any) -> bool:
    return found is not Absorbed and found is not NoValue


def _agree(x: Any, y: Any) -> bool:
    pairs = zip(x, y, strict=True) if isinstance(x, tuple) else ((x, y),)
    return all(abs(a - b) <= abs(a) * mpmath.mpf(10) ** -6 for a, b in pairs)


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
    if kind == "if":
        relation, *parts = rest
        left, right, yes, no = map(text, parts)
        return f"(if {left} {relation} {right} then {yes} else {no})"
    return f"{kind}({', '.join(map(text, rest))})"


def replaced(tree: Tree, by: Mapping[str, Tree]) -> Tree:
    """The tree with names replaced by formulas."""
    if tree[0] == "name":
        return by.get(tree[1], tree)
    return (tree[0], *(replaced(t, by) if isinstance(t, tuple) else t for t in tree[1:]))


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
        whole = parts[0]
        for part in parts[1:]:
            whole = apply("+" if kind == "sum" else "*", [whole, part])
        return whole
    if kind == "if":
        relation, left, right, yes, no = rest
        x, y = (value(part, at, labels, places) for part in (left, right))
        if x != y and abs(x - y) < CERTAIN * (abs(x) + abs(y)) and _MATTERS.get():
            raise Absorbed  # which part is taken may be rounding
        taken = yes if {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[relation] else no
        return value(taken, at, labels, places)
    args = [value(part, at, labels, places) for part in rest]
    return apply(kind, args)


def placed(text: str, places: Values) -> str:
    head, bracket, inner = text.partition("[")
    if not bracket:
        return text
    return f"{head}[{', '.join(places.get(i.strip(), i.strip()) for i in inner[:-1].split(','))}]"


def apply(kind: str, args: list[Any]) -> Any:
    """One operation.

    Raises:
        NoValue: outside its domain.
        Absorbed: within `certain`, a sum is equal to one of its terms, though the other is not 0.
        OverflowError: the result has more digits than can be written.
    """
    x, y = args[0], args[-1]
    if kind in ("exp", "sin", "cos") and abs(x) > 10**7:
        raise OverflowError
    match kind:
        case "+" | "-":
            whole = x + y if kind == "+" else x - y
            lost = x != 0 and y != 0 and whole in (x, y if kind == "+" else -y)
            return _kept(whole, lost)
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
        case "exp" | "cos" | "tanh":
            found = getattr(mpmath, kind)(x)
            return _kept(found, x != 0 and abs(found) == 1)
    return getattr(mpmath, kind)(x)


def _kept(found: Any, lost: bool) -> Any:
    """A result, unless every digit that an operand adds to it is lost, where that matters."""
    if lost and _MATTERS.get():
        raise Absorbed
    return found


def power(x: Any, y: Any) -> Any:
    if x == 0 and y <= 0 or x < 0 and y != int(y):
        raise NoValue
    if x != 0 and abs(y * mpmath.log(abs(x))) > 10**7:
        raise OverflowError
    found = x ** int(y) if y == int(y) and abs(y) < 1000 else mpmath.power(x, y)
    return _kept(found, y != 0 and abs(x) != 1 and found == 1)


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
