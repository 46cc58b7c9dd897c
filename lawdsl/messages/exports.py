"""Messages about exports and imports of formulas."""

from __future__ import annotations

from lawdsl.messages.message import Message

EXPORTS: dict[str, Message] = {
    "E0101": Message(
        "an export to an unknown language",
        "Fits are exported to LaTeX, Python, NumPy, PyTorch, JAX, JavaScript and JSON: "
        '`lawdsl export fit.json --to numpy`, in Python `fit.export("numpy")`.',
    ),
    "E0102": Message(
        "an export of a law without values",
        "An exported formula has numbers for its parameters and settings. Fit the law and export the "
        "fit, or give all values: `lawdsl export chinchilla --to python --set E=1.69 …`, in Python "
        '`law.at(E=1.69, …).export("python")`. Index sets get their labels from a fit.',
    ),
    "E0201": Message(
        "an imported text that is not a formula",
        "`lawdsl import` reads numbers, names, + - * / **, brackets, functions such as np.log or "
        "math.exp, and `a if N > 1 else b`, np.where(N > 1, a, b) or Piecewise((a, N > 1), (b, True)); "
        "nothing else of Python: no indexing, other comparison or keyword. Write the formula alone, each "
        "parameter as a plain name.",
    ),
    "E0202": Message(
        "an imported function that the language lacks",
        "Formulas have the functions of the language and what can be written with them: power, log2, "
        "log1p, expm1, maximum, sigmoid and so on. Write another function as a formula of these.",
    ),
    "E0203": Message(
        "an imported formula whose variables are not known",
        "Which names are columns of a table and which are fitted, a formula does not say. N, D and r "
        'are variables by custom; others are named: `--variables C,M`, in Python `variables=["C"]`.',
    ),
    "E0204": Message(
        "a SymPy expression that is not a formula of a law",
        "`Law.from_sympy` takes sums, products, powers, Piecewise with a last case for all that is "
        "left, Min, Max, Abs, exp, log and the other functions of the language, of symbols with plain names. Rewrite the node that is named, for instance "
        "by `expression.rewrite(...)` or `doit()`.",
    ),
}
