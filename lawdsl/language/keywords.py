"""The closed tables of words that a `.law` file may use; nothing outside them has a meaning."""

from __future__ import annotations

import difflib
import itertools
import re
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
LEADING = ("given", "step", "keep", "uses", "choose", "subject", "prior", "note")
"""Words that are names, but where they begin a line and another word follows."""

INTENDED_STATEMENTS = (
    (
        "param params parameters par coef coeff coefficient coefficients theta free",
        "parameter",
        "given",
        "given",
    ),
    (
        "var vars variables column columns covariate covariates predictor feature data input inputs x",
        "variable",
        "given",
        "given",
    ),
    (
        "const constant constants settings option options hyperparameter",
        "setting",
        "setting",
        "setting",
    ),
    (
        "assert claim claims ensure check assume property must prove requires assertion theorem expects",
        "require",
        "subject to",
        "step",
    ),
    ("define local expr expression transformed where with", "let", "let", "setting"),
    (
        "loss objective criterion cost goal argmin optimize minimum min least",
        "minimize",
        "minimize",
        "step",
    ),
    ("argmax maximise maximum max", "minimize", "maximize", "step"),
    ("init initial initialize guess p0 starts starting startvalues", "start", "choose", "given"),
    ("extend inherit inherits import include base parent from", "extends", "uses", "step"),
    ("use using load fits fit", "extends", "uses", "step"),
    ("indices dim dims dimension set sets labels levels index_set", "index", "index", "given"),
    ("constraint constraints constrain such st restrict s", "require", "subject to", "given"),
    (
        "find decide decision unknown vary solve optimise pick select choice",
        "variable",
        "choose",
        "step",
    ),
    ("known arg args argument", "setting", "given", "given"),
    ("stage steps then run pipe apply", "law", "question", "step"),
    (
        "reference references ref cite citation paper doi bibliography authors",
        "source",
        "source",
        "source",
    ),
    ("remark notes caveat erratum errata comment", "note", "note", "note"),
    ("hold freeze fixed held", "fix", "setting", "setting"),
    ("equal equate link bind same", "tie", "let", "setting"),
    ("normal priors gaussian", "prior", "given", "given"),
    ("model formula equation scaling_law laws name title", "law", "question", "pipeline"),
)
"""Words by which other languages begin a statement -> the statement of a law, a question, a pipeline."""
SIGNS = {
    "positive": "> 0",
    "pos": "> 0",
    "nonnegative": ">= 0",
    "nonneg": ">= 0",
    "negative": "< 0",
    "nonpositive": "<= 0",
}
"""Words for signs -> bounds."""

DEFINING = ("return", "def", "function", "func", "fn", "lambda", "output", "predict")
"""Words by which other languages begin the formula of a law."""

INNER = ("unit", "for", "in", "is", "as", "expect", "finite")
TRENDS = ("increasing", "decreasing", "convex", "concave")
KEYWORDS = frozenset((*STATEMENTS, *INNER, *TRENDS))
PLACED = {
    "over": (("index",), ("NAME",)),
    "simplex": (("variable", "parameter", "given", "choose"), ("IN",)),
    "integer": (("choose",), ("NAME", "RSQB")),
    "against": (("require",), ("NAME", "RSQB")),
    "from": (("step", "keep"), ("NAME",)),
    "since": (("step",), ("NAME",)),
    "by": (("step",), ("NAME", "NUMBER", "RPAR")),
    "where": (("step", "keep"), ("NAME", "NUMBER", "RPAR")),
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
    "log_2": "log(x)/log(2)",
    "lb": "log(x)/log(2)",
    "lg": "log10(x)",
    "log1p": "log(1 + x)",
    "expm1": "exp(x) - 1",
    "logit": "log(x/(1 - x))",
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

NO_NUMBERS = ("None", "null", "NULL", "NaN", "nan", "NA", "True", "False", "TRUE", "FALSE", "auto")
"""What other languages have in place of a number."""

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

STATEMENT_HOMES: dict[str, tuple[str, ...]] = {
    "source": SECTIONS,
    "note": SECTIONS,
    "setting": SECTIONS,
    "index": ("law", "question"),
    "let": ("law", "question"),
    "minimize": ("law", "question"),
    "given": ("question", "pipeline"),
    "step": ("pipeline",),
    "keep": ("pipeline",),
    "uses": ("question",),
    "choose": ("question",),
    "maximize": ("question",),
    "subject": ("question",),
}
"""Statement -> the sections that it may stand in; all others are of a law."""

NAME_PATTERN = "[A-Za-z_Α-ΡΣ-Ωα-ωϑϕϵ][A-Za-z0-9_Α-ΡΣ-Ωα-ωϑϕϵ]*"
"""What a name matches, as the terminal NAME of the grammar, without ∞."""
_FIRST_WORD = re.compile(r"^[ \t]*([A-Za-z]+)", re.MULTILINE)
_SECTION = re.compile(rf"^[ \t]*({'|'.join(SECTIONS)})\b", re.MULTILINE)

RELATIONS = {"≤": "<=", "≥": ">="}
ORDERS = {digit: n for n, digit in enumerate("²³⁴⁵⁶⁷⁸⁹", start=2)}
SUPERSCRIPTS = {n: digit for digit, n in ORDERS.items()}


def section_of_text(text: str) -> str:
    """The kind of a text: law, question or pipeline."""
    match = _SECTION.search(text)
    if match:
        return match[1]
    first = _FIRST_WORD.search(text)  # which may be misspelt: pipline
    return (nearest(first[1], SECTIONS) if first else None) or "law"


def has_header(text: str) -> bool:
    """Whether a line of a text names its section: `law chinchilla`."""
    return _SECTION.search(text) is not None


def statements_of(section: str) -> tuple[str, ...]:
    """The words that begin the statements of a section, but for its first line."""
    words = (*STATEMENTS[len(SECTIONS) :], *LEADING)
    return tuple(w for w in words if section in STATEMENT_HOMES.get(w, ("law",)))


def function_named(word: str) -> str | None:
    """The function that another language calls so: Sqrt, ln, Tanh; None where there is none."""
    known = (*FUNCTIONS, *AGGREGATES)
    return next((w for w in (word, RENAMED.get(word, ""), word.lower()) if w in known), None)


def intended_statement(word: str, section: str, *, defining: bool = False) -> str | None:
    """The statement that a word of another language, or a misspelled one, most likely stands for.

    Args:
        word: the word.
        section: law, question or pipeline.
        defining: whether `=` follows it: `set k = 3` is no set of labels.
    """
    if defining and word.lower() == "set":
        return "setting"
    own = statements_of(section)
    for words, *meant in INTENDED_STATEMENTS:
        if word.lower() in words.split():
            return meant[SECTIONS.index(section)]
    return nearest(word, (*own, *SECTIONS)) or nearest(word, (*STATEMENTS, *LEADING))


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
    sounds = {_sound(other): other for other in words if len(other) > 2}
    if len(word) > 2 and _sound(word) in sounds:
        return sounds[_sound(word)]
    matches = difflib.get_close_matches(word, words, n=1, cutoff=0.7)
    if matches:
        return matches[0]
    # an abbreviation: eps and epsilon
    short = [w for w in words if min(len(w), len(word)) > 2]
    return next((w for w in short if w.startswith(word) or word.startswith(w)), None)


def _sound(word: str) -> str:
    """A word without what is often written otherwise: case, underscores, ph for f."""
    return word.lower().replace("_", "").replace("ph", "f")


def did_you_mean(word: str, candidates: Iterable[str], otherwise: str) -> str:
    """Advice about an unknown word: the known word that it most likely stands for.

    Args:
        word: the word.
        candidates: the known words.
        otherwise: the advice where it resembles none of them.
    """
    alike = nearest(word, candidates)
    return f"did you mean `{alike}`?" if alike else otherwise
