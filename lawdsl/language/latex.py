"""Syntax tree -> LaTeX.

Formulas come from the syntax tree, so that nothing is expanded, reordered or simplified, and a name
is never taken for a constant or an accent: `e` is a letter, `ahat` a word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lawdsl.core.diagnostics import printable
from lawdsl.language import tree
from lawdsl.language.keywords import GREEK
from lawdsl.language.label_texts import split_element
from lawdsl.language.symbols import Declarations
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

# How tightly a text binds. A negative is below a product: a factor, a later term or the operand of
# another negative that begins with `-` needs brackets.
_SUM, _UNARY, _PRODUCT, _POWER, _ATOM = range(5)
Text = tuple[str, int]


def escaped(text: str) -> str:
    """A text of any origin as LaTeX."""
    return "".join(ESCAPES.get(c, c) for c in printable(text))


@dataclass(frozen=True)
class LatexNames:
    """How the names of one document are written.

    Attributes:
        verbatim: names that are written letter by letter, because another would look the same.
    """

    verbatim: frozenset[str] = frozenset()

    def __call__(self, name: str, subscripts: Sequence[str] = ()) -> str:
        """A name of a law as LaTeX: `R_D`, `alphaN` and `k1` have subscripts.

        Args:
            name: the name, with subscripts in brackets or without, or the dotted name of a law.
            subscripts: further ones, as LaTeX.
        """
        base_name, labels = split_element(name)
        inner = [subscript_latex(x) for x in labels if x]
        if base_name in self.verbatim:
            base, below = rf"\mathrm{{{escaped(base_name)}}}", list[str]()
        else:
            base, below = _parts(base_name)
        below = [*below, *inner, *subscripts]
        return f"{base}_{{{','.join(below)}}}" if below else base


def latex_names(names: Iterable[str]) -> LatexNames:
    """Write the names of a document so that no two look alike.

    Args:
        names: all of them, those with subscripts as `t[i, j]`.
    """
    texts = dict.fromkeys(names)
    bases = dict.fromkeys(text.partition("[")[0] for text in texts)
    plain = LatexNames()
    count = Counter(plain(base) for base in bases)
    # `t_a` would look like the element `t[a]`, whatever the labels are
    indexed = tuple(f"{text.partition('[')[0]}_" for text in texts if "[" in text)
    return LatexNames(
        frozenset(b for b in bases if count[plain(b)] > 1 or (indexed and b.startswith(indexed)))
    )


def _parts(name: str) -> tuple[str, list[str]]:
    """The letters of a name and its subscripts, as LaTeX."""
    if "." in name:
        return rf"\text{{{escaped(name)}}}", []
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
    return _word(letters), [_word(part) for part in parts]


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


def law_latex(declared: Declarations) -> str:
    """A law as LaTeX: `L = …`, with the definitions that it needs below it.

    Args:
        declared: the law, without the values of its index sets where it has some.

    Returns:
        One equation, or an `aligned` block of several, without delimiters.
    """
    formulas = list(declared.needed_formulas())
    names = latex_names([*(s.text for s in declared.symbols.values()), declared.output.text])
    *lets, law = [(names(name), formula_latex(f, names)) for name, f in formulas]
    if not lets:
        return " = ".join(law)
    lines = [f"{name} &= {formula}" for name, formula in (law, *lets)]
    body = r" \\ ".join(lines)
    return rf"\begin{{aligned}} {body} \end{{aligned}}"


def formula_latex(node: Formula, names: LatexNames | None = None) -> str:
    """A formula as LaTeX, in the order of the law.

    Args:
        node: the formula.
        names: how the names of the document are written; by default each for itself.
    """
    return _formula(node, names or LatexNames())[0]


def _formula(node: Formula, names: LatexNames) -> Text:
    match node:
        case tree.Number(text):
            number = number_latex(text)
            return number, _PRODUCT if "cdot" in number else _ATOM if number == text else _POWER
        case tree.Name("pi"):
            return r"\pi", _ATOM
        case tree.Name(text):
            return names(text), _ATOM
        case tree.Element(name, subscripts):
            return names(name, [subscript_latex(x) for x in subscripts]), _ATOM
        case tree.Negative(operand):
            return f"-{_bound(operand, names, _PRODUCT)}", _UNARY
        case tree.Sum(terms):
            first, *others = terms
            text = _bound(first[1], names, _SUM)
            return text + "".join(
                f" {sign} {_bound(t, names, _PRODUCT)}" for sign, t in others
            ), _SUM
        case tree.Product(factors):
            above, below = ([f for s, f in factors if s == sign] for sign in "*/")
            return _quotient(above, below, names)
        case tree.Power(base, exponent):
            return f"{_bound(base, names, _ATOM)}^{{{formula_latex(exponent, names)}}}", _POWER
        case tree.Aggregate(function, body, over):
            indices = ",".join(map(subscript_latex, over))
            return rf"\{function}_{{{indices}}} {_bound(body, names, _PRODUCT)}", _SUM
        case tree.Conditional():
            return _cases(node, names), _ATOM
        case tree.Call("sqrt", (argument,)):
            return rf"\sqrt{{{formula_latex(argument, names)}}}", _ATOM
        case tree.Call("abs", (argument,)):
            return rf"\left|{formula_latex(argument, names)}\right|", _ATOM
        case tree.Call(function, arguments):
            spelled = FUNCTIONS.get(function, rf"\operatorname{{{escaped(function)}}}")
            inner = ", ".join(formula_latex(argument, names) for argument in arguments)
            return rf"{spelled}\left({inner}\right)", _PRODUCT
    raise AssertionError(node)


def _cases(node: Formula, names: LatexNames) -> str:
    """A piecewise formula; of one in its last part the cases stand below its own."""
    lines = []
    while isinstance(node, tree.Conditional):
        relation = {"<=": r"\le", ">=": r"\ge"}.get(node.relation, node.relation)
        lhs, rhs, yes = (formula_latex(part, names) for part in (node.lhs, node.rhs, node.yes))
        lines.append(rf"{yes} & \text{{if }} {lhs} {relation} {rhs}")
        node = node.no
    lines.append(rf"{formula_latex(node, names)} & \text{{otherwise}}")
    body = r" \\ ".join(lines)
    return rf"\begin{{cases}} {body} \end{{cases}}"


def _quotient(above: Sequence[Formula], below: Sequence[Formula], names: LatexNames) -> Text:
    if isinstance(above[0], tree.Negative):  # -(a/b) for (-a)/b
        text, binding = _quotient([above[0].operand, *above[1:]], below, names)
        return f"-{_enclosed(text, binding, _PRODUCT)}", _UNARY
    if not below:
        return (_times(above, names), _PRODUCT) if len(above) > 1 else _formula(above[0], names)
    return rf"\frac{{{_times(above, names)}}}{{{_times(below, names)}}}", _PRODUCT


def _times(factors: Sequence[Formula], names: LatexNames) -> str:
    if len(factors) == 1:
        return formula_latex(factors[0], names)
    text, *others = [_bound(factor, names, _PRODUCT) for factor in factors]
    for other in others:
        # `2 \, 3` would be read as 23, and `2 \, \frac{1}{3}` as a mixed number
        joined = other[0].isdigit() or (text[-1].isdigit() and other.startswith(r"\frac"))
        text += (r" \cdot " if joined else r" \, ") + other
    return text


def subscript_latex(text: str) -> str:
    """An index or a label as a subscript."""
    return text if len(text) == 1 else rf"\mathrm{{{escaped(text)}}}"


def _bound(node: Formula, names: LatexNames, at_least: int) -> str:
    return _enclosed(*_formula(node, names), at_least)


def _enclosed(text: str, binding: int, at_least: int) -> str:
    """A text, in brackets where it binds less tightly than its place needs."""
    return text if binding >= at_least else rf"\left({text}\right)"
