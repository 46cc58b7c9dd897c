"""Words of the language -> what they mean, in a line each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lawdsl.core.losses import LOSSES
from lawdsl.core.units import PREFIXES, UNITS

KEYWORDS: Mapping[str, str] = {
    "law": "begins the file of a law: its name, which follows from the path of the file, and its title",
    "question": "begins the file of a question: what a fitted law is asked for",
    "pipeline": "begins the file of a pipeline: steps of fits and answers, which may use the results of earlier steps",
    "source": "where the law is published",
    "note": "what a reader of the publication or of a fit should know",
    "extends": "takes over the declarations, claims, objective and starts of a law with the same left-hand side",
    "index": "names that run over the labels of a set: from the data, numbered `1..30`, or listed `{web, code}`",
    "variable": "a column of the table of measurements, converted to its unit",
    "setting": "a known constant, which a user may change",
    "parameter": "a fitted number, within its domain",
    "let": "a name for a part of a formula",
    "fix": "fixes parameters at numbers",
    "tie": "makes parameters formulas of others",
    "measure": "how a variable is measured, for each label, from readings of the output of the law",
    "identify": "of parameters that give the same law, selects those that are meant",
    "require": "a claim: what the law promises on its whole domain, for every admissible parameter",
    "minimize": "the objective of a fit; in a question, its goal",
    "maximize": "the goal of a question",
    "start": "starts of the fit: a grid, `log(A) in {-1, 0, ..., 5}`, or a point, `b1 = 500`",
    "prior": "what is known of a parameter before the fit: a Gaussian of that center ± standard deviation",
    "given": "a number that the user of the question or pipeline gives",
    "step": "a step of a pipeline: a law that is fitted to each group of rows, or a question that is asked",
    "keep": "joins the tables of steps by their groups, and keeps the rows that meet the conditions",
    "uses": "names for fits of a law",
    "choose": "an unknown, whose best value is asked for",
    "subject": "constraints on the answer",
    "to": "constraints on the answer",
    "unit": "the unit of what the line declares",
    "for": "conditions under which a claim is made; in `sum(…)`, the indices that are summed over",
    "in": "the set or interval of values; in a claim, the variable of a trend",
    "is": "claims that the law, at some values, is another law",
    "as": "the variables of a limit, and the values that they approach",
    "expect": "the known verdict on a claim, if it is not `proved`",
    "finite": "claims that the formula has a finite value on the whole domain",
    "increasing": "claims that the formula increases strictly in the variable",
    "decreasing": "claims that the formula decreases strictly in the variable",
    "convex": "claims that the formula is convex in the variable",
    "concave": "claims that the formula is concave in the variable",
    "over": "the set of labels of an index; in an objective, the weight of over-estimates",
    "simplex": "the values are at least 0 and sum to 1 over the last subscript",
    "integer": "a whole number of an interval",
    "against": "the share that decreases as much as the other increases",
    "from": "the steps whose tables a step takes; `data` are the measurements",
    "since": "the value of a variable at which the output of each group is subtracted",
    "by": "the columns whose values the rows of a group share",
    "where": "conditions that rows must meet",
    "at": "the values at which a step predicts, or at which a question is asked",
    "if": "a piecewise formula: `if r > 0.1 then A*r else B + C*r`",
    "then": "the formula where the condition of `if` holds",
    "else": "the formula where the condition of `if` does not hold",
}

IN_PLACE: Mapping[tuple[str, str], str] = {
    ("unit", "output"): "the unit of the output of the law",
    ("in", "require"): "the variable of the trend",
    ("in", "start"): "the values of the grid, from which the fit starts",
    ("in", "variable"): "the interval or set in which the values are",
    ("in", "parameter"): "the interval in which the fit keeps the value",
    ("in", "choose"): "the interval or set from which the value is chosen",
    ("in", "given"): "the interval or set in which the value must be",
    ("for", "("): "the indices that are summed or multiplied over",
    ("for", "require"): "the conditions under which the claim is made",
    ("over", "index"): "the set of labels of the index",
    ("over", "("): "the weight of over-estimates, where the prediction is above the measurement",
    ("minimize", "law"): "the objective of the fit: its sum over the rows is minimised",
    ("minimize", "question"): "the goal: the answer makes this as small as possible",
    ("maximize", "question"): "the goal: the answer makes this as large as possible",
}
"""Keyword, and what begins its line, the section, or a bracket it stands in -> its meaning there."""

FUNCTIONS: Mapping[str, tuple[str, str]] = {
    "exp": ("exp(x)", "the exponential function"),
    "log": ("log(x)", "the natural logarithm, of x > 0"),
    "log10": ("log10(x)", "the logarithm to base 10, of x > 0"),
    "sqrt": ("sqrt(x)", "the square root, of x >= 0"),
    "sin": ("sin(x)", "the sine"),
    "cos": ("cos(x)", "the cosine"),
    "tan": ("tan(x)", "the tangent"),
    "atan": ("atan(x)", "the inverse of the tangent"),
    "tanh": ("tanh(x)", "the hyperbolic tangent"),
    "abs": ("abs(x)", "the absolute value"),
    "min": ("min(x, y)", "the least of 2 to 8 values"),
    "max": ("max(x, y)", "the greatest of 2 to 8 values"),
    "sum": ("sum(t[i, j]*r[j] for j)", "the sum over the labels of indices"),
    "prod": ("prod(t[i, j] for j)", "the product over the labels of indices"),
    "diff": ("diff(L, N)", "the partial derivative, also written ∂L/∂N"),
    "straightest": (
        "straightest(log(L - c), 1000)",
        "chooses c before the fit, so that log(L - c) is nearest to linear",
    ),
    "huber": ("huber(log(L), 1e-3)", "the Huber loss: quadratic up to δ, then linear"),
    "squared": ("squared(log(L))", "half the squared residual"),
    "absolute": ("absolute(log(L))", "the absolute residual"),
    "quantile": (
        "quantile(log(L), 0.9)",
        "the quantile loss: that share of measurements is below the fit",
    ),
}
"""Function -> how it is called, and what it is."""

CONSTANTS: Mapping[str, str] = {"pi": "the number π", "oo": "infinity, in limits"}
OPTIONS: Mapping[str, str] = {
    "over": "the weight of over-estimates, where the prediction is above the measurement"
}
VERDICTS: Mapping[str, str] = {
    "proved": "the claim holds on the whole domain, for every admissible parameter",
    "inside": "the claim is proved strictly inside the domain; on a face of it there is equality",
    "conditional": "the claim holds where the parameters meet a condition",
    "refuted": "there is a point of the domain at which the claim fails",
    "undecided": "the claim is neither proved nor refuted",
}
_UNIT_NAMES: Mapping[str, str] = {
    "param": "parameters of a model",
    "token": "tokens of text",
    "FLOP": "floating-point operations",
    "nat": "natural units of information",
    "bit": "bits of information",
    "byte": "bytes of text",
    "char": "characters of text",
    "example": "training examples",
    "step": "training steps",
    "second": "seconds",
    "hour": "hours",
    "GPU": "accelerators",
}
_POWERS = {"k": "10³", "M": "10⁶", "G": "10⁹", "T": "10¹²", "P": "10¹⁵", "E": "10¹⁸"}


def keyword_meaning(word: str, places: Iterable[str]) -> str:
    """What a keyword means where it stands; empty for a word that is none.

    Args:
        word: the keyword.
        places: `(` in a bracket, what begins its line, the section; the first with a meaning counts.
    """
    meanings = (IN_PLACE[word, place] for place in places if (word, place) in IN_PLACE)
    return next(meanings, KEYWORDS.get(word, ""))


def unit_meaning(name: str) -> str | None:
    """What a unit is: Gtoken is 10⁹ tokens of text; None for a name that is no unit.

    Args:
        name: the name, with its prefix.
    """
    if name in UNITS:
        size, base = UNITS[name]
        return _UNIT_NAMES[name] + (f": {size:.6g} {base}" if size != 1 else "")
    if name[:1] in PREFIXES and name[1:] in UNITS:
        return f"{_POWERS[name[0]]} {_UNIT_NAMES[name[1:]]}"
    return None


def function_meaning(name: str) -> tuple[str, str]:
    """How a function is called, and what it is.

    Args:
        name: a function, aggregate or loss of the language.
    """
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    return f"{name}(x)", "a loss of residuals" if name in LOSSES else "a function of the language"
