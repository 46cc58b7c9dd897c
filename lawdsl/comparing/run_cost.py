"""Formula of a cost + rows -> the cost of each row."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.comparing.common_rows import CommonRows
from lawdsl.core.diagnostics import Diagnostic, LawdslError, Span, Text
from lawdsl.data.table import bad_rows
from lawdsl.language import tree
from lawdsl.language.constants import TooLarge, Undefined, value
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_formula

Array = NDArray[np.float64]

COST = "cost"  # the name of the quantity that a formula defines


def costs(data: CommonRows) -> Array:
    """The cost of each row, shape (rows,): by the given formula, else from the column `cost`, else
    6·N·D.

    Raises:
        LawdslError: no formula, or one that is not a product of variables, columns and numbers,
            F0207; an unknown name, F0202; a cost that is not positive, F0208.
    """
    has_column = COST in data.variables or COST in data.table.columns
    text = data.cost or (COST if has_column else data.default_cost)
    if text is None:
        message = "what a run costs is not known: the laws have no variables N and D"
        help = "give it with --cost 6*N*D, or name a column: --protocol largest:flops"
        raise LawdslError(Diagnostic("F0207", message, place=data.table.name, help=help))
    if text in data.table.columns:  # even a name that the language does not allow
        result = data.values(text)
    else:
        try:
            with np.errstate(all="ignore"):
                result = np.broadcast_to(_evaluate(_parsed(text), data), (data.rows,))
        except LawdslError as error:
            written = _with_signs(text, data)
            if written is None:
                raise
            first = replace(error.diagnostics[0], help=f"write --cost {written}")
            raise LawdslError(first) from None
    return check_costs(data, text, result)


def _with_signs(text: str, data: CommonRows) -> str | None:
    """A product without its signs, `6ND`, as 6*N*D; None where it is none of known names."""
    names = sorted({*data.variables, *data.table.columns}, key=len, reverse=True)
    factor = re.compile("|".join(["[0-9.]+(?:[eE][-+]?[0-9]+)?", *map(re.escape, names)]))
    written, position = "", 0
    plain = re.sub(r"\s*(?:[×·]|(?<=[\s0-9])x(?=[\s0-9]))\s*", "*", text.strip())
    while position < len(plain):
        sign = re.compile(r"\s*(\*\*|[*/^])\s*|\s+").match(plain, position)
        if sign is not None:
            position = sign.end()
        found = factor.match(plain, position)
        if found is None or sign is not None and not written:
            return None
        written += f"{((sign and sign[1]) or '*') if written else ''}{found[0]}"
        position = found.end()
    return written if written not in ("", text.strip()) else None


def check_costs(data: CommonRows, name: str, costs: Array) -> Array:
    """Check that costs are positive and finite, and return them.

    Args:
        data: the rows.
        name: the formula, or the column.
        costs: the cost of each row, shape (rows,).

    Raises:
        LawdslError: a cost that is not, with its row; F0208.
    """
    bad = ~(np.isfinite(costs) & (costs > 0))
    if bad.any():
        rows = np.flatnonzero(bad)
        message = f"{name} is {costs[rows[0]]:g} here: a cost is a finite number above 0"
        help = "correct it, or choose rows with --where"
        raise LawdslError(bad_rows("F0208", data.table, name, rows, message, help))
    return costs


def _parsed(text: str) -> tree.Formula:
    """The syntax tree of a formula, read as the right-hand side of a statement."""
    before, line = f"tie {COST} = ", re.sub(r"\s", " ", text)
    document, mistakes = parse(f"{before}{line}\n", "--cost")
    if any(d.severity == "error" for d in mistakes):
        raise LawdslError([_in_formula(d, line, len(before)) for d in mistakes])
    match document.statements:
        case (tree.Hold(values=((_, formula),)),):
            return formula
    raise _not_a_product(text)


def _in_formula(mistake: Diagnostic, text: str, offset: int) -> Diagnostic:
    """A mistake in a statement as a mistake in the formula that the user wrote, which starts at an
    offset.
    """
    if mistake.span is None:
        return mistake
    start, end = (
        min(max(x - offset, 0), len(text)) for x in (mistake.span.start, mistake.span.end)
    )
    return replace(mistake, text=Text("--cost", text), span=Span(start, end))


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
