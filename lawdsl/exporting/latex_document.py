"""Exported -> LaTeX: the law and its definitions as the paper writes them, and the values.

Formulas come from the syntax tree, so that nothing is expanded, reordered or simplified.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import product

from lawdsl.core.diagnostics import printable
from lawdsl.exporting.content import Constant, Exported, Nested
from lawdsl.exporting.module import heading
from lawdsl.language import tree
from lawdsl.language.keywords import GREEK
from lawdsl.language.tree import Formula

FUNCTIONS = {
    "log": r"\ln",
    "log10": r"\log_{10}",
    "atan": r"\arctan",
    "min": r"\min",
    "max": r"\max",
} | {name: rf"\{name}" for name in ("exp", "sin", "cos", "tan", "tanh")}
GREEK_NAMES = frozenset(GREEK.values()) - {"omicron"}
ESCAPES = {
    **{c: f"\\{c}" for c in "{}$&#%_"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}
PLAIN_EXPONENTS = range(-4, 6)  # powers of ten of numbers that are written out

ROUNDING = 1e-9  # relative: a smaller error is that of a fit to exact values

# How tightly a text binds. A negative is below a product: a factor, a later term or the operand of
# another negative that begins with `-` needs brackets.
_SUM, _UNARY, _PRODUCT, _POWER, _ATOM = range(5)
Text = tuple[str, int]


def latex_document(made: Exported) -> str:
    """The formulas as an `align*`, and the values as a `tabular`.

    Args:
        made: the content.
    """
    lines = [f"% {printable(' '.join(line.split()))}".rstrip() for line in heading(made)]
    *lets, law = made.formulas
    equations = [f"{_named(name)} &= {formula_latex(formula)}" for name, formula in (law, *lets)]
    lines += [r"\begin{align*}", *_lines(equations), r"\end{align*}"]
    title = r"parameter & value $\pm$ standard error"
    rows = [row for constant in made.constants for row in _rows(constant, made)]
    head = r"\begin{tabular}{ll}"
    return "\n".join([*lines, head, *_lines([title, *rows]), r"\end{tabular}"]) + "\n"


def _lines(texts: Sequence[str]) -> Iterator[str]:
    """Each text on a line of its own."""
    for number, text in enumerate(texts, start=1):
        yield text if number == len(texts) else rf"{text} \\"


def _rows(constant: Constant, made: Exported) -> Iterator[str]:
    """A row of the table for each element of a parameter."""
    sets = [made.labels[over] for over in constant.over]
    for chosen in product(*(enumerate(labels) for labels in sets)):
        value, error = constant.values, constant.errors
        for position, _ in chosen:
            value, error = _at(value, position), _at(error, position)
        labels = [rf"\mathrm{{{escaped(label)}}}" for _, label in chosen]
        assert isinstance(value, float) and isinstance(error, float)
        yield f"${name_latex(constant.name, labels)}$ & ${value_latex(value, error)}$"


def _at(values: Nested, position: int) -> Nested:
    assert isinstance(values, tuple)
    nested: Nested = values[position]
    return nested


def escaped(text: str) -> str:
    """A text of any origin as LaTeX."""
    return "".join(ESCAPES.get(c, c) for c in printable(text))


def _named(text: str) -> str:
    """The name of a definition, with its subscripts."""
    base, _, rest = text.partition("[")
    return name_latex(base, [escaped(x.strip()) for x in rest.rstrip("]").split(",") if x.strip()])


def name_latex(name: str, subscripts: Sequence[str] = ()) -> str:
    """A name of a law as LaTeX: `R_D`, `alphaN` and `k1` have subscripts.

    Args:
        name: the name, or the dotted name of a law.
        subscripts: further ones, as LaTeX.
    """
    if "." in name:
        base, below = rf"\text{{{escaped(name)}}}", []
    else:
        letters, *parts = [part for part in name.split("_") if part] or [name]
        greek = next(
            (g for g in sorted(GREEK_NAMES, key=len, reverse=True) if letters.startswith(g)), ""
        )
        split = greek or letters[:1]
        rest = letters[len(split) :]
        if (
            rest.isdigit()
            or re.fullmatch("[A-Z]", rest)
            or (split.isupper() and re.fullmatch("[a-z]", rest))
        ):
            letters, parts = split, [rest, *parts]
        base, below = _word(letters), [_word(part) for part in parts]
    below += subscripts
    return f"{base}_{{{','.join(below)}}}" if below else base


def _word(text: str) -> str:
    if text in GREEK_NAMES:
        return rf"\{text}"
    return text if len(text) == 1 or text.isdigit() else rf"\mathrm{{{escaped(text)}}}"


def number_latex(text: str) -> str:
    """A number, with a power of ten for an exponent."""
    mantissa, _, exponent = text.lower().partition("e")
    if not exponent:
        return text
    power = f"10^{{{int(exponent)}}}"
    return power if mantissa in ("1", "1.0") else rf"{mantissa} \cdot {power}"


def value_latex(value: float, error: float) -> str:
    """A value with two digits of its standard error, or with six digits where there is none."""
    if not ROUNDING * abs(value) < error < math.inf or not math.isfinite(value):
        return number_latex(f"{value:.6g}")
    size = math.floor(math.log10(max(abs(value), error)))
    shift = 0 if size in PLAIN_EXPONENTS else size
    digits = 1 - math.floor(math.log10(error))  # decimals before the shift
    scaled = [round(x, digits) / 10.0**shift for x in (value, error)]
    shown = [f"{x:.{max(0, digits + shift)}f}" for x in scaled]
    text = rf"{shown[0]} \pm {shown[1]}"
    return text if not shift else rf"({text}) \cdot 10^{{{shift}}}"


def formula_latex(node: Formula) -> str:
    """A formula as LaTeX, in the order of the law."""
    return _formula(node)[0]


def _formula(node: Formula) -> Text:
    match node:
        case tree.Number(text):
            number = number_latex(text)
            return number, _PRODUCT if "cdot" in number else _ATOM if number == text else _POWER
        case tree.Name("pi"):
            return r"\pi", _ATOM
        case tree.Name(text):
            return name_latex(text), _ATOM
        case tree.Element(name, subscripts):
            return name_latex(name, [_subscript(x) for x in subscripts]), _ATOM
        case tree.Negative(operand):
            return f"-{_bound(operand, _PRODUCT)}", _UNARY
        case tree.Sum(terms):
            first, *others = terms
            text = _bound(first[1], _SUM)
            return text + "".join(f" {sign} {_bound(t, _PRODUCT)}" for sign, t in others), _SUM
        case tree.Product(factors):
            return _quotient(
                [f for sign, f in factors if sign == "*"], [f for sign, f in factors if sign == "/"]
            )
        case tree.Power(base, exponent):
            return f"{_bound(base, _ATOM)}^{{{formula_latex(exponent)}}}", _POWER
        case tree.Aggregate(function, body, over):
            below = ",".join(over)
            return rf"\{function}_{{{below}}} {_bound(body, _PRODUCT)}", _SUM
        case tree.Call("sqrt", (argument,)):
            return rf"\sqrt{{{formula_latex(argument)}}}", _ATOM
        case tree.Call("abs", (argument,)):
            return rf"\left|{formula_latex(argument)}\right|", _ATOM
        case tree.Call(function, arguments):
            spelled = FUNCTIONS.get(function, rf"\operatorname{{{escaped(function)}}}")
            inner = ", ".join(map(formula_latex, arguments))
            return rf"{spelled}\left({inner}\right)", _PRODUCT
    raise AssertionError(node)


def _quotient(above: Sequence[Formula], below: Sequence[Formula]) -> Text:
    if isinstance(above[0], tree.Negative):  # -(a/b) for (-a)/b
        text, binding = _quotient([above[0].operand, *above[1:]], below)
        return f"-{_enclosed(text, binding, _PRODUCT)}", _UNARY
    if not below:
        return (_times(above), _PRODUCT) if len(above) > 1 else _formula(above[0])
    return rf"\frac{{{_times(above)}}}{{{_times(below)}}}", _PRODUCT


def _times(factors: Sequence[Formula]) -> str:
    if len(factors) == 1:
        return formula_latex(factors[0])
    text, *others = [_bound(factor, _PRODUCT) for factor in factors]
    for other in others:
        # `2 \, 3` would be read as 23, and `2 \, \frac{1}{3}` as a mixed number
        joined = other[0].isdigit() or (text[-1].isdigit() and other.startswith(r"\frac"))
        text += (r" \cdot " if joined else r" \, ") + other
    return text


def _subscript(text: str) -> str:
    return text if len(text) == 1 else rf"\mathrm{{{escaped(text)}}}"


def _bound(node: Formula, at_least: int) -> str:
    return _enclosed(*_formula(node), at_least)


def _enclosed(text: str, binding: int, at_least: int) -> str:
    """A text, in brackets where it binds less tightly than its place needs."""
    return text if binding >= at_least else rf"\left({text}\right)"
