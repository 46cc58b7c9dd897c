"""What each message about index sets and subscripts means, with an example."""

from __future__ import annotations

from lawdsl.messages.message import Message


def _law(lines: str = "", equation: str = "L[i] = c[i] + k[i]*N") -> str:
    """A small law with an index and further lines."""
    head = "law example\nindex i over domain\nvariable N > 0\nparameter c[i], k[i] > 0\n"
    between = f"{lines}\n" if lines else ""
    return f"{head}{between}{equation}\n"


def _mixing(lines: str = "", equation: str = "L[i] = c[i] + sum(t[i, j]*r[j] for j)") -> str:
    """A law over two index sets with shares of a mixture, and further lines."""
    head = "law example\nindex i over domain\nindex j over training\nvariable r[j] in simplex\n"
    between = f"{lines}\n" if lines else ""
    return f"{head}parameter c[i], t[i, j]\n{between}{equation}\n"


def _measured(lines: str, equation: str = "L = E/N*k[d]") -> str:
    """A small law with a variable that has a value for each domain."""
    head = "law example\nindex d over domain\nvariable N > 0\nvariable k[d] > 0\nparameter E > 0\n"
    return f"{head}{lines}\n{equation}\n"


INDICES: dict[str, Message] = {
    "L0314": Message(
        "subscripts that a name does not have",
        "A name that is declared with subscripts, as `t[i, j]`, has just as many wherever it "
        "stands, and a name without has none; `fix`, `tie` and `start` speak of all elements and "
        "repeat the declaration. A name has at most 3 subscripts, all different; a setting none.",
        (
            _law(equation="L[i] = c + k[i]*N"),
            _law(equation="L[i] = c[i] + k[i, i]*N"),
            _law(equation="L[i] = c[i] + k[i]*N[i]"),
            _law("require L > 0"),
            _law("parameter t[i, i]", "L[i] = c[i] + k[i]*N*t[i, i]"),
            _law("setting s[i] = 2", "L[i] = c[i] + k[i]*N"),
            _law("parameter c < 1"),
            _law("fix c[web] = 0.5"),
            _law("start log(k) in {0, 1}"),
        ),
        _law("start log(k[i]) in {0, 1}"),
    ),
    "L0315": Message(
        "a subscript that does not fit",
        "A subscript is an index over the set for which the name was declared, or a label of a "
        "set that the law lists. In a claim another name, that is nothing else, stands for any "
        "label, and two names for two different labels: `L[a] > L[b]`.",
        (
            _law(equation="L[i] = c[q] + k[i]*N"),
            _law(equation="L[i] = c[N] + k[i]*N"),
            _mixing(equation="L[i] = c[i] + sum(t[j, j]*r[j] for j)"),
            _law("index g over {web, code}\nparameter s[g]", "L[i] = c[i] + k[i]*N*s[wbe]"),
            _law("require L[N] > 0"),
            _mixing("require t[a, a] > 0"),
        ),
        _law("require L[a] > c[a]"),
    ),
    "L0316": Message(
        "an index that is bound or free where it cannot be",
        "`sum(… for j)` and `prod(… for j)` bind an index, once, and it occurs in them. What "
        "defines or bounds a name has no free index but the name's own subscripts; only the law "
        "itself may: each row of the table then says its label.",
        (
            _law("let a = 2*k[i]", "L[i] = c[i] + a*N"),
            _law("parameter s > c[i]", "L[i] = c[i] + k[i]*N*s"),
            _law(equation="L[i] = c[i] + k[i]*N + sum(c[i] for i)"),
            _law("let a = sum(sum(c[i] for i) for i)", "L[i] = c[i] + k[i]*N + a"),
            _law("let a = sum(2*N for i)", "L[i] = c[i] + k[i]*N + a"),
        ),
        _law("let a = sum(c[i] for i)", "L[i] = c[i] + k[i]*N + a"),
    ),
    "L0317": Message(
        "a set of labels that cannot be",
        "An index runs over a set whose labels the data name, over numbers from 1 as 1..30, or "
        "over names that are listed, 2 to 100 of them. A law has at most 8 indices; indices, sets "
        "and labels have different names.",
        (
            _law("index m over 1..500\nparameter s[m]", "L[i] = c[i] + k[i]*N + sum(s[m] for m)"),
            _law("index m over {a, a}\nparameter s[m]", "L[i] = c[i] + k[i]*N + sum(s[m] for m)"),
            _law("index m over N\nparameter s[m]", "L[i] = c[i] + k[i]*N + sum(s[m] for m)"),
            _law("index m over {i, k}\nparameter s[m]", "L[i] = c[i] + k[i]*N + sum(s[m] for m)"),
        ),
        _law("index m over 1..30\nparameter s[m]", "L[i] = c[i] + k[i]*N + sum(s[m] for m)"),
    ),
    "L0318": Message(
        "a simplex that is none, or shares of it that change alone",
        "`r[j] in simplex` is a whole domain of what has subscripts: no share is below 0, and over "
        "the last subscript they sum to 1. So none changes alone: say which one falls as another "
        "rises, `L[i] decreasing in r[a] against r[b]`.",
        (
            _law("parameter s in simplex", "L[i] = c[i] + k[i]*N*s"),
            _law("parameter s[i] in simplex, s[i] < 1", "L[i] = c[i] + k[i]*N*s[i]"),
            _mixing("require ∂L[i]/∂r[a] < 0"),
            _mixing("require L[i] decreasing in r[a]"),
            _mixing("require L[i] decreasing in r[a] against c[i]"),
            _mixing("require L[i] convex in r[a] against r[b]"),
            _mixing("require L[i] decreasing in r[a] against r[a]"),
        ),
        _mixing("require L[i] decreasing in r[a] against r[b]"),
    ),
    "L0319": Message(
        "an identity about no parameter",
        "Where different parameters give one and the same law, `identify` says which of them are "
        "meant: `identify sum(t[i, j] for j) = 0`. Name parameters in it.",
        (_law("identify 1 = 0"),),
        _law("identify sum(c[i] for i) = 0"),
    ),
    "L0320": Message(
        "a law with index sets that is called or compared",
        "`L(N = 7)` and `L is chinchilla` are for laws without index sets. State the claim as a "
        "relation, a trend or a limit.",
        (_law("require L(N = 7) > 0"), _law("require L is chinchilla")),
        _law("require L[i] > 0 for N > 7"),
    ),
    "L0321": Message(
        "a law with index sets where there can be none",
        "A law with index sets is checked, shown, fitted, compared and used to predict. "
        "scikit-learn takes laws whose variables are single columns: write the law of one label "
        "without indices, or do what the message says.",
    ),
    "L0322": Message(
        "an identity that is not linear",
        "`identify` chooses one of the many parameters that give the same law, by an equation that "
        "each fit keeps exactly: one parameter follows from the others. So it is a sum of numbers "
        "times parameters: `identify sum(t[i, j] for j) = 0`, `identify k[i] = 1`.",
    ),
    "L0324": Message(
        "a label in an option that nothing has, or that has no effect",
        "`--fix 't[en, code]=2'`, `--tie`, `--prior` and `--start` may name one element of what has "
        "subscripts, each subscript a label or an index for all of them. The labels are those of "
        "the table. `lawdsl check` decides claims for all labels: what one label has is decided "
        "for a fit, with `--fit FIT.json`.",
    ),
    "L0330": Message(
        "a rule of measurement for what is not measured",
        "`measure k1[d] = …` says how a variable that has a value for each label is read from the "
        "runs of that label. A variable without subscript is a column of the table; parameters are "
        "fitted. The law has the variable in each row: its index is that of the row's label.",
        (
            _measured("measure N = L(step = 1000)"),
            _measured("measure E = L(step = 1000)"),
            _measured("measure k[d] = L(step = 1000)\nmeasure k[d] = L(step = 2000)"),
            _measured(
                "index j over training\nvariable s[j] > 0\nmeasure s[j] = L(step = 1000)",
                "L = E/N*k[d]*sum(s[j] for j)",
            ),
        ),
        _measured("measure k[d] = L(step = 1000)"),
    ),
    "L0331": Message(
        "a rule of measurement that cannot be computed",
        "A measure is made of numbers, + - * / and readings: `L(step = 1000, N = 1.8)` is the "
        "measured output in the rows of the label in which the column `step` is 1000 and the "
        "variable N is 1.8. What is read at is a variable without subscript, or another column.",
        (
            _measured("measure k[d] = L"),
            _measured("measure k[d] = L(1000)"),
            _measured("measure k[d] = loss(step = 1000)"),
            _measured("measure k[d] = log(L(step = 1000))"),
            _measured("measure k[d] = L(step = 1000) - E"),
            _measured("measure k[d] = L(step = 0) - L(step = E)"),
            _measured("measure k[d] = L(E = 1)"),
            _measured("measure k[d] = 2"),
        ),
        _measured("measure k[d] = L(step = 0) - L(step = 5000)"),
    ),
}
