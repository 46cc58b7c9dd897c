"""Rows of a fit -> warnings about rows that break a premise of the law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.data.premises.learning_rates import learning_rate_findings
from lawdsl.data.premises.repetition import repetition_findings
from lawdsl.data.premises.rows import Array, PremiseRows
from lawdsl.data.premises.tokenizers import tokenizer_findings
from lawdsl.data.premises.turning_points import turning_point_findings
from lawdsl.data.table import Table

if TYPE_CHECKING:
    from lawdsl.law.law import Law

CHECKS = (
    turning_point_findings,
    learning_rate_findings,
    tokenizer_findings,
    repetition_findings,
)
"""The checks, each from rows to warnings."""

PREMISES = ("D0141", "D0142", "D0143", "D0144")
"""Their codes."""


def premise_findings(
    law: Law, table: Table, bound: Mapping[str, str], values: Mapping[str, Array]
) -> list[Diagnostic]:
    """Warnings about rows that break a premise of a law, as columns beside those of the law tell.

    Args:
        law: the law.
        table: the rows of the fit, with all columns.
        bound: variable or output -> column.
        values: variable or output -> its values in the law's units, shape (rows,).
    """
    rows = PremiseRows(law, table, bound, values)
    found: list[Diagnostic] = []
    for check in CHECKS:
        found += check(rows)
    if any(d.code == "D0143" for d in found):  # which says more of the learning rate
        found = [d for d in found if d.code != "D0141"]
    return found


def prediction_findings(
    law: Law, table: Table, bound: Mapping[str, str], values: Mapping[str, Array]
) -> list[Diagnostic]:
    """Warnings about rows to predict that repeat data, under a law without a term for repetition.

    Args:
        law: the law.
        table: the rows to predict, with all columns.
        bound: variable -> column.
        values: variable -> its values in the law's units, shape (rows,).
    """
    help = "predict with a law that has unique tokens, such as `repeated`, fitted to rows of several epochs"
    found = repetition_findings(PremiseRows(law, table, bound, values))
    return [replace(d, help=help) for d in found]
