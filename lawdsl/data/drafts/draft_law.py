"""The roles of columns -> the text of a proposed law, with the bindings of its variables.

Size, tokens and steps have a power law each, as in Hoffmann et al. (2022, arXiv:2203.15556, Eq.
10), L = E + Σ A_i/x_i^α_i; a share has F/(r + r0)^γ, as in the D-CPT Law (Que et al. 2024,
arXiv:2406.01375, Eq. 6); a mixture k·exp(Σ t_j·r_j), as in Data Mixing Laws (Ye et al. 2024,
arXiv:2403.16952, Eq. 7). The draft is only a starting point: nothing is fitted here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import conjunction
from lawdsl.data.computed_columns import with_computed_columns
from lawdsl.data.drafts.columns import UNITS, Column, columns_of
from lawdsl.data.table import Table
from lawdsl.language.keywords import KEYWORDS, RESERVED

MAX_OTHERS = 3  # columns of unknown meaning that get a term; if there are more, none does
# of the standard deviation of a column's logarithm: the part not explained by other columns
MIN_OWN_VARIATION = 1e-2
MAX_COLUMNS_LISTED = 12  # columns that a message lists

TITLES: Mapping[str, str] = {
    "N": "model size",
    "D": "training tokens",
    "C": "training compute",
    "S": "training steps",
    "r": "share",
}
POWER_LAWS: Mapping[str, tuple[str, str]] = {
    "N": ("A", "alpha"),
    "D": ("B", "beta"),
    "C": ("A", "alpha"),
    "S": ("B", "beta"),
}
"""Variable -> the coefficient and the exponent of its power law."""


@dataclass(frozen=True)
class Draft:
    """A proposed law.

    Attributes:
        text: the text of its file.
        columns: the role of each column of the table.
        bindings: `variable=column` for each variable and output, as commands take them.
        warnings: guesses that the reader should check.
    """

    text: str
    columns: tuple[Column, ...]
    bindings: tuple[str, ...]
    warnings: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class _Term:
    """One variable's part of the formula."""

    variable: str
    declaration: str
    formula: str
    parameters: tuple[str, ...]
    claim: str = ""


def draft_law(name: str, table: Table, bound: Mapping[str, str]) -> Draft:
    """Propose a law for a table.

    Args:
        name: the name of the law.
        table: the table.
        bound: variable or output -> column, as chosen by the user.

    Returns:
        The text of the law, and the role of each column.

    Raises:
        LawdslError: no column of losses (D0138), or none that a loss could depend on (D0139); a
            chosen column that the table lacks (D0104).
    """
    _check_bound(table, bound)
    columns = columns_of(table, bound)
    used = {column.variable: column for column in columns if column.variable}
    if "L" not in used:
        raise LawdslError(_no_output(table, columns))
    columns = _without_redundant(columns, used)
    columns = _without_unknown(columns, bound)
    columns = _without_determined(table, columns)
    used = {column.variable: column for column in sorted(columns, key=_place) if column.variable}
    terms = _terms(table, used)
    if not terms:
        raise LawdslError(_no_variable(table, columns))
    bindings = tuple(
        f"{column.variable}={column.binding}"
        for column in sorted(columns, key=lambda c: c.variable == "L")
        if column.variable and column.variable != column.binding
    )
    warnings = tuple(
        _guess(table, column) for column in columns if column.guessed and column.variable
    )
    return Draft(_text(name, table, used["L"], columns, terms), columns, bindings, warnings)


def _place(column: Column) -> int:
    """The order of terms: sizes, tokens, compute and steps first, then shares, then other
    variables.
    """
    order = [*POWER_LAWS, "r"]
    return order.index(column.variable) if column.variable in order else len(order)


def _check_bound(table: Table, bound: Mapping[str, str]) -> None:
    from lawdsl.data.missing_columns import binding, no_column

    missing = [(n, c) for n, c in bound.items() if c not in table.columns]
    turned = [(n, c) for n, c in missing if n in table.columns and len(c) < 3 <= len(n)]
    if turned:  # val_loss=L
        name, column = turned[0]
        help = f"the variable comes first: write {binding(column, name)}"
        message = f"unknown column `{column}` for `{name}`"
        raise LawdslError(Diagnostic("D0104", message, place=table.name, help=help))
    if missing:
        raise LawdslError([no_column(table, c, f"`{n}`", n) for n, c in missing])


def _without_redundant(columns: Sequence[Column], used: Mapping[str, Column]) -> tuple[Column, ...]:
    """Omit columns that others determine: C beside N and D, S beside D, batch and length always."""
    reasons = {}
    if "N" in used and "D" in used:
        reasons["C"] = "follows from N and D"
    trained = "D" if "D" in used else "C with N" if {"C", "N"} <= used.keys() else ""
    if trained:
        reasons["S"] = f"{trained} says how much was trained"
    reasons |= dict.fromkeys(("batch", "length"), "bind D=steps*batch*length to use it")
    return tuple(_left_out(c, reasons[c.variable]) if c.variable in reasons else c for c in columns)


def _without_unknown(columns: Sequence[Column], bound: Mapping[str, str]) -> tuple[Column, ...]:
    """Omit columns of unknown meaning, if there are many or no term suits them."""

    def unknown(column: Column) -> bool:
        return bool(column.variable) and column.variable not in (*POWER_LAWS, "r", "L", *bound)

    many = sum(unknown(column) for column in columns) > MAX_OTHERS
    kept = []
    for column in columns:
        if unknown(column) and many:
            column = _left_out(column, f"unknown meaning: {column.variable}={column.name} uses it")
        elif column.variable and column.variable not in (*POWER_LAWS, "r", "L"):
            if column.lowest <= 0:
                column = _left_out(column, "has values of 0 or less")
            elif column.variable in KEYWORDS or column.variable in RESERVED:
                column = _left_out(
                    column, f"`{column.variable}` is a word of the language: rename it"
                )
        kept.append(column)
    return tuple(kept)


def _without_determined(table: Table, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Omit columns that are a product of powers of other columns in every row."""
    known, kept = [np.ones(len(table))], []
    names: list[str] = []
    for column in columns:
        power = column.variable not in ("", "r", "L") and not column.labels
        if not power:
            kept.append(column)
            continue
        logarithms = np.log(_values(table, column))
        others = np.stack(known, axis=1)
        residual = logarithms - others @ np.linalg.lstsq(others, logarithms, rcond=None)[0]
        if names and np.std(residual) < MIN_OWN_VARIATION * np.std(logarithms):
            kept.append(_left_out(column, f"is determined by {conjunction(names)} in every row"))
            continue
        known.append(logarithms)
        names.append(column.variable)
        kept.append(column)
    return tuple(kept)


def _left_out(column: Column, reason: str) -> Column:
    return Column(column.name, lowest=column.lowest, highest=column.highest, reason=reason)


def _terms(table: Table, used: Mapping[str, Column]) -> list[_Term]:
    terms, others = [], 0
    losses = _losses(table, used["L"])
    for variable, column in used.items():
        if variable == "L":
            continue
        if column.labels:
            terms.append(_mixture(indexed=bool(used["L"].labels)))
        elif variable == "r":
            terms.append(_share(column, falls=_falls(table, column, losses)))
        elif variable in POWER_LAWS:
            terms.append(_power_law(variable, column, used))
        else:
            others += 1
            terms.append(_other(variable, column, others, falls=_falls(table, column, losses)))
    return terms


def _losses(table: Table, output: Column) -> NDArray[np.float64] | None:
    return None if output.labels else _values(table, output)


def _values(table: Table, column: Column) -> NDArray[np.float64]:
    bound = {column.variable: column.binding}
    return with_computed_columns(table, bound).numbers(column.binding)


def _falls(table: Table, column: Column, losses: NDArray[np.float64] | None) -> bool:
    """Whether the loss falls as the column rises, by the rank correlation of all rows."""
    if losses is None or np.ptp(losses) == 0:
        return True
    return bool(spearmanr(_values(table, column), losses).statistic <= 0)


def _power_law(variable: str, column: Column, used: Mapping[str, Column]) -> _Term:
    coefficient, exponent = POWER_LAWS[variable]
    unit = f"  unit {UNITS[variable]}"
    declaration = f'variable  {variable} > 0{unit}  "{TITLES[variable]}"'
    if variable == "C" and "N" in used:
        # C = 6·N·D: given N, compute determines tokens (Kaplan et al. 2020, section 2.1)
        declaration += (
            '\nsetting   k = 6  unit FLOP/param/token  "compute of training, for each parameter and token"'
            "\nlet       D = C/(k*N)"
        )
        return _Term("C", declaration, "B/D^beta", ("B", "beta"), "∂L/∂C < 0")
    formula = f"{coefficient}/{variable}^{exponent}"
    # at fixed compute a larger model sees fewer tokens: the loss has a minimum in N
    claim = "" if variable == "N" and "C" in used else f"∂L/∂{variable} < 0"
    return _Term(variable, declaration, formula, (coefficient, exponent), claim)


def _share(column: Column, *, falls: bool) -> _Term:
    declaration = 'variable  r in [0, 1]  "share"'
    base = "r + r0" if falls else "1 - r + r0"
    sign = "<" if falls else ">"
    return _Term("r", declaration, f"F/({base})^gamma", ("F", "r0", "gamma"), f"∂L/∂r {sign} 0")


def _mixture(*, indexed: bool) -> _Term:
    declaration = 'index     j over training\nvariable  r[j] in simplex  "shares of the mixture"'
    if indexed:
        return _Term("r", declaration, "k[i]*exp(sum(t[i, j]*r[j] for j))", ("k[i]", "t[i, j]"))
    return _Term("r", declaration, "k*exp(sum(t[j]*r[j] for j))", ("k", "t[j]"))


def _other(variable: str, column: Column, number: int, *, falls: bool) -> _Term:
    coefficient, exponent = f"K{number}", f"kappa{number}"
    operator, sign = ("/", "<") if falls else ("*", ">")
    unit = f"  unit {column.unit}" if column.unit else ""
    return _Term(
        variable,
        f"variable  {variable} > 0{unit}",
        f"{coefficient}{operator}{variable}^{exponent}",
        (coefficient, exponent),
        f"∂L/∂{variable} {sign} 0",
    )


def _text(
    name: str, table: Table, output: Column, columns: Sequence[Column], terms: Sequence[_Term]
) -> str:
    indexed = bool(output.labels)
    target, constant = ("L[i]", "E[i]") if indexed else ("L", "E")
    inputs = ", ".join(term.variable for term in terms)
    lines = [
        f'law {name} "Loss by {inputs}"',
        f'source    "proposed for {_plain(Path(table.name).name)}"',
        "",
    ]
    lines += [f"# {line}" for line in _comments(columns)]
    lines += ["", *(["index     i over validation"] if indexed else [])]
    lines += [term.declaration for term in terms]
    positive = [p for term in terms for p in term.parameters if not p.startswith("t[")]
    free = [p for term in terms for p in term.parameters if p.startswith("t[")]
    lines += ["", f"parameter {', '.join([constant, *positive])} > 0"]
    lines += [f"parameter {p}" for p in free]
    formula = " + ".join([constant, *(term.formula for term in terms)])
    unit = f"  unit {output.unit}" if output.unit else ""
    lines += ["", f'{target} = {formula}{unit}  "loss"', ""]
    lines += [f"identify  sum({p} for j) = 0" for p in free]
    lines += [""] if free else []
    lines += [f"require   {target} finite"]
    lines += [f"require   {term.claim}" for term in terms if term.claim and not indexed]
    return "\n".join(lines) + "\n"


def _comments(columns: Sequence[Column]) -> list[str]:
    """One comment line per used column: the data from which the law was derived."""
    lines = ["Columns:"]
    for column in columns:
        if column.variable:
            where = f" {column.unit}" if column.unit else ""
            guess = ", a guess: change it where it is wrong" if column.guessed else ""
            lines.append(
                f"  {column.variable} = {_plain(column.binding)}, "
                f"from {column.lowest:.4g} to {column.highest:.4g}{where}{guess}"
            )
    return lines


def _plain(text: str) -> str:
    """The name of a file or a column, made safe for a comment or a title of a law."""
    return "".join(c if c.isprintable() and c not in '"\\' else "?" for c in text)[:80]


def _guess(table: Table, column: Column) -> Diagnostic:
    place = f"{table.name} column {column.name}"
    unit = f" in {column.unit}" if column.unit else ""
    message = (
        f"{column.variable} is read as `{column.binding}`{unit}, "
        f"{column.lowest:.4g} to {column.highest:.4g}: a guess by the numbers"
    )
    help = (
        "write the unit into the header, "
        f"`{column.name} [{column.unit or 'UNIT'}]`, or correct the binding in the commands"
    )
    return Diagnostic("D0140", message, "warning", place=place, help=help)


def _numeric(columns: Sequence[Column]) -> str:
    names = [column.name for column in columns if np.isfinite(column.lowest)]
    more = " and others" if len(names) > MAX_COLUMNS_LISTED else ""
    return ", ".join(names[:MAX_COLUMNS_LISTED]) + more


def _no_output(table: Table, columns: Sequence[Column]) -> Diagnostic:
    numeric = _numeric(columns)
    help = f"name it, L=COLUMN; columns of numbers: {numeric}" if numeric else "add the losses"
    return Diagnostic("D0138", "which column is the loss?", place=table.name, help=help)


def _no_variable(table: Table, columns: Sequence[Column]) -> Diagnostic:
    reasons = "; ".join(f"{c.name}: {c.reason}" for c in columns if c.reason)[:400]
    return Diagnostic(
        "D0139",
        "the table has no column that the loss could depend on",
        place=table.name,
        help="add runs of other sizes, tokens or shares, or name a column: N=COLUMN",
        notes=(reasons,) if reasons else (),
    )
