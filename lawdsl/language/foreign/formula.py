"""A formula in Python's spelling -> syntax tree: `E + A/N**alpha`, `np.log(x)`, `1e-3`, `.5`.

The text is never executed: its tokens are written in the spelling of the language, whose own parser
reads them, and mistakes are shown in the text as it was given. Functions that the language spells in
another way, `np.maximum(a, b)` or `math.log(N, 10)`, are rewritten in the tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Span, Text
from lawdsl.language import tree
from lawdsl.language.foreign.latex import from_latex, is_latex
from lawdsl.language.foreign.pieces import RELATIONS, ForeignToken, with_pieces
from lawdsl.language.keywords import AGGREGATES, FUNCTIONS, ascii_name, did_you_mean
from lawdsl.language.new_law import stated_domains
from lawdsl.language.parser import parse
from lawdsl.language.tree import Formula

LIBRARIES = (
    *(
        "np",
        "numpy",
        "math",
        "torch",
        "jnp",
        "jax.numpy",
        "sp",
        "sympy",
        "scipy.special",
        "special",
    ),
    *("tf", "tf.math", "torch.special", "jax.nn", "F", "nn.functional", "torch.nn.functional"),
)
"""What may stand before the name of a function: `np.log`."""

WITH_BASE = ("", "math", "sp", "sympy")
"""Libraries whose `log` takes a base as its second argument; that of NumPy is an array."""

DEFAULT_OUTPUTS = ("L", "loss", "output")

_TOKEN = re.compile(
    r"""
    (?P<space>(?:\s|\\\r?\n)+)
  | (?P<number>(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)
  | (?P<name>[^\W\d]\w*(?:[ ]*\.[ ]*[^\W\d]\w*)*)
  | (?P<power>\*\*)
  | (?P<relation><=|>=|<|>)
  | (?P<mark>[-+*/^(),=])
    """,
    re.VERBOSE,
)
_WORDS = frozenset(
    "and as assert await break class def del elif except for from import in is not or"
    " return while with yield None False".split()
)
"""Words of Python that are no names. `lambda` is one of the language."""
_CONSTANTS = {"e": "exp(1)", "E": "exp(1)", "pi": "pi", "tau": "(2*pi)"}
"""Constant of a library -> the formula that it stands for."""

_CALL = re.compile(r"(?:\s|\\\r?\n)*\(")
_FUNCTION = re.compile(r"\s*(?:def\b|lambda\b[^:]*:|return\b)")
"""How a function or statement of Python begins."""
_FROM_ZERO = re.compile(r"(?:>=?|in [\[(])\s*\d")
"""Domains without negative numbers: `> 0`, `in [0, 1]`."""
_FORMULA = "L = "

Rewriting = Callable[..., Formula]


def _call(function: str) -> Rewriting:
    return lambda *arguments: tree.Call(function, arguments)


def _number(text: str) -> Formula:
    return tree.Number(text)


def _times(*factors: tuple[str, Formula]) -> Formula:
    return tree.Product(factors)


def _plus(*terms: tuple[str, Formula]) -> Formula:
    return tree.Sum(terms)


def _sigmoid(x: Formula) -> Formula:
    power = tree.Call("exp", (tree.Negative(x),))
    return _times(("*", _number("1")), ("/", _plus(("+", _number("1")), ("+", power))))


def _log2(x: Formula) -> Formula:
    return _times(("*", tree.Call("log", (x,))), ("/", tree.Call("log", (_number("2"),))))


REWRITINGS: Mapping[str, tuple[int, Rewriting]] = {
    **{name: (2, tree.Power) for name in ("pow", "power", "float_power")},
    **{name: (2, _call("max")) for name in ("maximum", "fmax", "Max")},
    **{name: (2, _call("min")) for name in ("minimum", "fmin", "Min")},
    **{name: (1, _call("abs")) for name in ("fabs", "absolute", "Abs")},
    "arctan": (1, _call("atan")),
    "Rational": (2, lambda p, q: _times(("*", p), ("/", q))),
    "ln": (1, _call("log")),
    "log2": (1, _log2),
    "log1p": (1, lambda x: tree.Call("log", (_plus(("+", _number("1")), ("+", x)),))),
    "expm1": (1, lambda x: _plus(("+", tree.Call("exp", (x,))), ("-", _number("1")))),
    "square": (1, lambda x: tree.Power(x, _number("2"))),
    "reciprocal": (1, lambda x: _times(("*", _number("1")), ("/", x))),
    "negative": (1, tree.Negative),
    "sigmoid": (1, _sigmoid),
    "expit": (1, _sigmoid),
}
"""Function of another library -> how many arguments it takes, and the formula that it stands for."""

_INSTEAD = {
    **dict.fromkeys(AGGREGATES, "write the sum out"),
    # no formula of the language is the real cube root at all three of x < 0, x = 0 and x > 0, with a
    # derivative at the first and the last
    "cbrt": "name the variables in it that are never negative, --variables 'x > 0'; or write x^(1/3), "
    "or x/abs(x)^(2/3) where x is never 0",
}
"""Function that cannot be rewritten -> what a person may write."""


@dataclass(frozen=True)
class ForeignFormula:
    """A formula that was read.

    Attributes:
        output: the name on the left-hand side, or a default.
        formula: the right-hand side.
        names: the names in it, in the order in which they first occur.
        arguments: the names in brackets behind that of the output: N and D of `L(N, D) = …`.
    """

    output: str
    formula: Formula
    names: tuple[str, ...]
    arguments: tuple[str, ...] = ()


def read_foreign_formula(text: str, variables: Iterable[str] | None = None) -> ForeignFormula:
    """Read a formula in Python's spelling or in that of the language; `L = …` names its output, and
    `L(N, D) = …` its variables too.

    Args:
        text: the formula.
        variables: those that are named, each alone or with a domain, `x > 0`; None for those of the
            left-hand side, or by custom. Their domains say of what a cube root may be taken.

    Raises:
        LawdslError: a text that is not a formula of the language (E0201, or a code of its grammar), or
            a function that it lacks (E0202).
    """
    source = Text("the formula", text)
    output, arguments, tokens = _left_side(_translated(source))
    domains = stated_domains(variables or arguments or None)
    written = with_pieces(tokens, source)
    formula = _rewritten(_parsed(written, source), source, domains)
    names = tuple(dict.fromkeys(n.text for n in tree.walk(formula) if isinstance(n, tree.Name)))
    plain = tuple(name for name in names if name != "pi")
    output = output or next(name for name in DEFAULT_OUTPUTS if name not in plain)
    return ForeignFormula(output, formula, plain, arguments)


def _left_side(tokens: list[ForeignToken]) -> tuple[str, tuple[str, ...], list[ForeignToken]]:
    """The output and the arguments that `L = …` or `L(N, D) = …` names, and the other tokens."""
    texts = [token.text for token in tokens]
    if texts[1:2] == ["="]:
        return texts[0], (), tokens[2:]
    end = texts.index(")") if ")" in texts else 0
    if texts[1:2] == ["("] and texts[end + 1 : end + 2] == ["="]:
        names = "".join(texts[2:end]).split(",")
        if all(re.fullmatch(r"[^\W\d]\w*", name) for name in names):
            return texts[0], tuple(map(ascii_name, names)), tokens[end + 2 :]
    return "", (), tokens


def _translated(source: Text) -> list[ForeignToken]:
    """The tokens in the spelling of the language."""
    tokens: list[ForeignToken] = []
    position = 0
    while position < len(source.text):
        match = _TOKEN.match(source.text, position)
        if match is None:
            raise _unread(source, Span(position, position + 1))
        span, kind = Span(position, match.end()), match.lastgroup
        if match[0] in _WORDS or source.text.startswith("//", position):
            raise _unread(source, Span(position, max(match.end(), position + 2)))
        position = match.end()
        if kind == "number":
            tokens.append(ForeignToken(_number_text(match[0], source, span), span))
        elif kind == "name":
            tokens.append(ForeignToken(_plain_name(match[0], source, span), span))
        elif kind == "relation":
            tokens.append(ForeignToken(match[0], span))
        elif kind == "power":
            tokens.append(ForeignToken("^", span))
        elif kind == "mark" and not (match[0] == "+" and _begins_operand(tokens)):
            tokens.append(ForeignToken(match[0], span))
    return tokens


def _begins_operand(tokens: Sequence[ForeignToken]) -> bool:
    """Whether a sign that follows is that of a number, and not between two."""
    return not tokens or tokens[-1].text in (
        "+",
        "-",
        "*",
        "/",
        "^",
        "(",
        ",",
        "=",
        "if",
        "else",
        *RELATIONS,
    )


def _number_text(text: str, source: Text, span: Span) -> str:
    following = source.text[span.end : span.end + 1]
    if following.isalpha() or following == "_":
        raise _unread(source, Span(span.start, span.end + 1))
    mantissa, _, exponent = text.replace("_", "").lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    number = (whole or "0") + (f".{decimals}" if decimals else "")
    return f"{number}e{exponent}" if exponent else number


def _plain_name(text: str, source: Text, span: Span) -> str:
    """A name without its library; `np.e` is exp(1).

    Raises:
        LawdslError: an unknown library, or an attribute of a known one that is neither called nor a
            constant (E0201): it would become a parameter.
    """
    *library, name = [part.strip() for part in text.split(".")]
    if not library:
        return name
    if ".".join(library) not in LIBRARIES:
        help = (
            "functions may be those of np, math, torch, jnp and so on; parameters are plain names"
        )
    elif _CALL.match(source.text, span.end):
        return name
    elif name in _CONSTANTS:
        return _CONSTANTS[name]
    else:
        help = f"constants are {', '.join(_CONSTANTS)}; functions are called; parameters are plain names"
    message = f"`{text}`: unknown module or attribute"
    raise LawdslError(Diagnostic("E0201", message, text=source, span=span, help=help))


def _unread(source: Text, span: Span) -> LawdslError:
    message = f"`{source.text[span.start : span.end]}` has no place in a formula"
    help = "write numbers, names, + - * / **, brackets and functions such as np.log"
    if _FUNCTION.match(source.text):
        help = "give the formula alone, what follows `return` or the colon of `lambda`"
    if is_latex(source.text):
        message = "the formula is in LaTeX"
        written = from_latex(source.text)
        help = f"write '{written}'" if written else f"{help}: A*N**(-alpha) for A N^{{-\\alpha}}"
    return LawdslError(Diagnostic("E0201", message, text=source, span=span, help=help))


def _parsed(tokens: Sequence[ForeignToken], source: Text) -> Formula:
    """The tree of the tokens, whose spans are those of the text that was given."""
    piecewise = any(token.text == "if" for token in tokens)
    for token in tokens:
        # conditions stand in piecewise formulas alone, `True` in the last pair of a Piecewise
        if token.text == "True" or (token.text in RELATIONS and not piecewise):
            raise _unread(source, token.span)
    if not tokens:
        help = "write it as 'E + A/N**alpha'"
        raise LawdslError(
            Diagnostic("E0201", "the formula is missing", text=source, span=Span(0, 0), help=help)
        )
    text, starts = _FORMULA, []
    for token in tokens:
        starts.append(len(text))
        text += f"{token.text} "

    def place(span: Span) -> Span:
        inside = [
            token.span
            for token, start in zip(tokens, starts, strict=True)
            if start < max(span.end, span.start + 1) and start + len(token.text) > span.start
        ]
        return inside[0] | inside[-1] if inside else tokens[-1].span

    document, mistakes = parse(text)
    errors = [d for d in mistakes if d.severity == "error"]
    if errors:
        raise LawdslError([replace(d, text=source, span=d.span and place(d.span)) for d in errors])
    (statement,) = document.statements
    if not isinstance(statement, tree.Definition):
        raise _unread(source, tokens[0].span)
    return _placed(statement.formula, place)


def _placed(node: Any, place: Callable[[Span], Span]) -> Any:
    """A tree with other spans."""
    if isinstance(node, tuple):
        return tuple(_placed(each, place) for each in node)
    if not isinstance(node, tree.Node):
        return node
    changed = {
        field.name: _placed(getattr(node, field.name), place)
        for field in fields(node)
        if field.name != "span"
    }
    return type(node)(**changed, span=place(node.span))


def _rewritten(node: Any, source: Text, domains: Mapping[str, str]) -> Any:
    """A tree in which functions of other libraries are those of the language.

    Args:
        node: the tree.
        source: the text that was given.
        domains: variable -> domain.

    Raises:
        LawdslError: a function that the language lacks, or another number of arguments.
    """
    if isinstance(node, tuple):
        return tuple(_rewritten(each, source, domains) for each in node)
    if not isinstance(node, tree.Node):
        return node
    if isinstance(node, (tree.Derivative, tree.Element, tree.Aggregate)):
        raise _unread(source, node.span)
    changed: dict[str, Any] = {
        field.name: _rewritten(getattr(node, field.name), source, domains)
        for field in fields(node)
        if field.name != "span"
    }
    if not isinstance(node, tree.Call):
        return type(node)(**changed, span=node.span)
    arguments = changed["arguments"]
    if node.function == "cbrt" and len(arguments) == 1 and _never_negative(arguments[0], domains):
        return tree.Power(arguments[0], _times(("*", _number("1")), ("/", _number("3"))))
    if node.function == "log" and len(arguments) == 2 and not node.keywords:
        _check_base(node, source)
        return _times(*(("*/"[k], tree.Call("log", (x,))) for k, x in enumerate(arguments)))
    _check_call(node, source)
    if node.function in REWRITINGS:
        return REWRITINGS[node.function][1](*arguments)
    return type(node)(**changed, span=node.span)


def _never_negative(node: Formula, domains: Mapping[str, str]) -> bool:
    """Whether a formula is plainly at least 0 wherever the variables are in their domains."""
    match node:
        case tree.Number():
            return True
        case tree.Name(text):
            return text == "pi" or _FROM_ZERO.match(domains.get(text, "")) is not None
        case tree.Sum(parts) | tree.Product(parts):
            return all(sign != "-" and _never_negative(part, domains) for sign, part in parts)
        case tree.Power(base, _):
            return _never_negative(base, domains)
        case tree.Call(function):
            return function in ("exp", "sqrt", "abs")
    return False


def _check_base(node: tree.Call, source: Text) -> None:
    """Refuse a base where the function of the library has none (E0202)."""
    library = source.text[node.span.start :].partition("log")[0].strip(" .")
    if library in WITH_BASE:
        return
    of, base = (source.text[x.span.start : x.span.end] for x in node.arguments)
    message = f"`{library}.log` takes no base: its second argument is not one"
    help = f"write {library}.log({of})/{library}.log({base}), or log({of}, {base})"
    raise LawdslError(Diagnostic("E0202", message, text=source, span=node.span, help=help))


def _check_call(node: tree.Call, source: Text) -> None:
    name, count = node.function, len(node.arguments)
    if name in FUNCTIONS:
        least, most = FUNCTIONS[name]
    elif name in REWRITINGS:
        least = most = REWRITINGS[name][0]
    else:
        known = [*FUNCTIONS, *REWRITINGS]
        otherwise = f"the functions are {', '.join(FUNCTIONS)}"
        help = _INSTEAD.get(name) or did_you_mean(name, known, otherwise)
        message = f"`{name}` is not a function of the language"
        if name == "cbrt":
            message = "the language has no `cbrt` of what may be negative"
        raise LawdslError(Diagnostic("E0202", message, text=source, span=node.span, help=help))
    if node.keywords or node.subscripts or not least <= count <= most:
        number = f"{least}" if least == most else f"{least} to {most}"
        plural = "" if most == 1 else "s"
        message = f"`{name}` takes {number} argument{plural}, without names"
        help = f"write {name}({', '.join('abcdefgh'[:least])})"
        raise LawdslError(Diagnostic("E0202", message, text=source, span=node.span, help=help))
