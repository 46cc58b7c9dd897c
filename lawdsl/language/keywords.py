"""The closed tables of words that a `.law` file may use; nothing outside them has a meaning."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable

from lawdsl.core import functions
from lawdsl.core.losses import LOSSES

SECTIONS = ("law", "question", "pipeline")
STATEMENTS = (
    *SECTIONS,
    "source",
    "extends",
    "index",
    "variable",
    "setting",
    "parameter",
    "let",
    "fix",
    "tie",
    "measure",
    "identify",
    "require",
    "minimize",
    "maximize",
    "start",
)
LEADING = ("given", "step", "uses", "choose", "subject", "prior")
"""Words that are names, but where they begin a line and another word follows."""

INNER = ("unit", "for", "in", "is", "as", "expect", "finite")
TRENDS = ("increasing", "decreasing", "convex", "concave")
KEYWORDS = frozenset((*STATEMENTS, *INNER, *TRENDS))
PLACED = {
    "over": (("index",), ("NAME",)),
    "simplex": (("variable", "parameter", "given", "choose"), ("IN",)),
    "integer": (("choose",), ("NAME", "RSQB")),
    "against": (("require",), ("NAME", "RSQB")),
    "by": (("step",), ("NAME",)),
    "where": (("step",), ("NAME",)),
    "at": (("step",), ("NAME", "NUMBER", "STRING", "RPAR", "RSQB", "ORDER")),
    "to": (("subject",), ("SUBJECT",)),
}
"""Words that are names but in one place: in which statements, and behind which terminals."""

PIECEWISE = ("if", "then", "else")
"""Words that are names but in a piecewise formula: `if` where a formula follows it, the others behind it."""

FUNCTIONS = {
    **{name: (row.arity, row.arity) for name, row in functions.FUNCTIONS.items()},
    **dict.fromkeys(functions.EXTREMA, (2, 8)),
}
"""Function names and how many arguments each takes; what they mean is `lawdsl.core.functions`."""

AGGREGATES = ("sum", "prod")  # over indices
CONSTANTS = ("pi", "oo")
SPECIAL = ("diff", *LOSSES, "straightest")
RESERVED = frozenset((*FUNCTIONS, *AGGREGATES, *CONSTANTS, *SPECIAL))

VERDICTS = ("proved", "inside", "conditional", "refuted", "undecided")

INSTEAD = {
    "ln": "log(x)",
    "log2": "log(x)/log(2)",
    "pow": "a^b",
    "arctan": "atan(x)",
    "sigmoid": "1/(1 + exp(-x))",
    "sum": "a + b",
    "prod": "a*b",
    "e": "exp(x)",
    "inf": "oo",
    "Inf": "oo",
    "infty": "oo",
    "infinity": "oo",
}
"""What other languages call it -> how it is written here."""

RENAMED = {
    "ln": "log",
    "Log": "log",
    "Exp": "exp",
    "log_10": "log10",
    "arctan": "atan",
    "fabs": "abs",
    "Abs": "abs",
    "maximum": "max",
    "minimum": "min",
    "fmax": "max",
    "fmin": "min",
    "Max": "max",
    "Min": "min",
    "inf": "oo",
    "Inf": "oo",
    "infty": "oo",
    "infinity": "oo",
    "Infinity": "oo",
}
"""Names of other languages that have one of their own here, with the same meaning."""

GRADIENTS = ("grad", "gradient", "derivative", "Derivative", "D", "partial", "d")
"""What other languages call a derivative."""

GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρσςτυφχψω",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho "
        "sigma sigma tau upsilon phi chi psi omega".split(),
        strict=True,
    )
)
GREEK |= {letter.upper(): name.capitalize() for letter, name in GREEK.items() if letter != "ς"}
GREEK |= {"ϵ": "epsilon", "ϕ": "phi", "ϑ": "theta", "∞": "oo"}

RELATIONS = {"≤": "<=", "≥": ">="}
ORDERS = {digit: n for n, digit in enumerate("²³⁴⁵⁶⁷⁸⁹", start=2)}
SUPERSCRIPTS = {n: digit for digit, n in ORDERS.items()}


def a(kind: str) -> str:
    """The name of a kind with its article: `an index`."""
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def ascii_name(text: str) -> str:
    """A name with each Greek letter written out: α1 is alpha1."""
    return "".join(GREEK.get(char, char) for char in text)


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The known word that a misspelled one most likely stands for, or None: first ignoring case,
    then by similarity (`difflib`: Ratcliff and Metzener (1988), "Pattern Matching: The Gestalt
    Approach", Dr. Dobb's Journal).
    """
    words = [w for w in itertools.islice(candidates, 500) if abs(len(w) - len(word)) <= 4]
    for other in words:
        if other.lower() == word.lower():
            return other
    matches = difflib.get_close_matches(word, words, n=1, cutoff=0.7)
    return matches[0] if matches else None


def did_you_mean(word: str, candidates: Iterable[str], otherwise: str) -> str:
    """Advice about an unknown word: the known word that it most likely stands for.

    Args:
        word: the word.
        candidates: the known words.
        otherwise: the advice where it resembles none of them.
    """
    alike = nearest(word, candidates)
    return f"did you mean `{alike}`?" if alike else otherwise
