"""Formula of a cost + rows -> what each row costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.comparing.common_rows import CommonRows
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.table import bad_rows
from lawdsl.language import tree
from lawdsl.language.constants import TooLarge, Undefined, value
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_formula

Array = NDArray[np.float64]

COST = "cost"  # the name of the quantity that a formula gives


def costs(data: CommonRows) -> Array:
    """What each row costs, shape (rows,): the formula given, else a column `cost`, else 6·N·D.

    Raises:
        LawdslError: no formula, or one that is not a product of variables, columns and numbers,
            F0207; an unknown name, F0202; a cost that is not above 0, F0208.
    """
    has_column = COST in data.variables or COST in data.table.columns
    text = data.cost or (COST if has_column else data.default_cost)
    if text is None:
        message = "what a run costs is not known: the laws have no variables N and D"
        help = "say it: --cost 6*N*D; or name a column: --protocol largest:flops"
        raise LawdslError(Diagnostic("F0207", message, place=data.table.name, help=help))
    if text in data.table.columns:  # also a name that is no name of the language
        found = data.values(text)
    else:
        with np.errstate(all="ignore"):
            found = np.broadcast_to(_evaluate(_parsed(text), data), (data.rows,))
    return check_costs(data, text, found)


def check_costs(data: CommonRows, name: str, found: Array) -> Array:
    """The costs, which are positive and finite.

    Args:
        data: the rows.
        name: the formula, or the column.
        found: the cost of each row, shape (rows,).

    Raises:
        LawdslError: another cost, with its row; F0208.
    """
    bad = ~(np.isfinite(found) & (found > 0))
    if bad.any():
        rows = np.flatnonzero(bad)
        message = f"{name} is {found[rows[0]]:g} here: a cost is a finite number above 0"
        help = "correct it, or choose rows with --where"
        raise LawdslError(bad_rows("F0208", data.table, name, rows, message, help))
    return found


def _parsed(text: str) -> tree.Formula:
    """The syntax tree of a formula, read as the right-hand side of a statement."""
    document, mistakes = parse(f"tie {COST} = {' '.join(text.split())}\n", "--cost")
    if any(d.severity == "error" for d in mistakes):
        raise LawdslError(mistakes)
    match document.statements:
        case (tree.Hold(values=((_, formula),)),):
            return formula
    raise _not_a_product(text)


def _evaluate(formula: tree.Formula, data: CommonRows) -> Array | float:
    match formula:
        case tree.Name(name):
            return data.values(name)
        case tree.Product(factors):
            product: Array | float = 1.0
            for sign, factor in factors:
                number = _evaluate(factor, data)
                product = product * number if sign == "*" else product / np.asarray(number)
            return product
        case tree.Power(base, exponent):
            return np.asarray(_evaluate(base, data)) ** _number(exponent)
    return _number(formula)


def _number(formula: tree.Formula) -> float:
    try:
        number = value(formula)
    except (Undefined, TooLarge):
        number = None
    if number is None:
        raise _not_a_product(print_formula(formula))
    return float(number)


def _not_a_product(text: str) -> LawdslError:
    message = f"`{text}` is not a product of variables, columns and numbers"
    help = "write a cost with *, / and powers: --cost 6*N*D"
    return LawdslError(Diagnostic("F0207", message, help=help))
