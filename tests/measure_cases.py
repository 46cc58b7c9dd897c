"""Laws that measure variables of domains, and what they measure on tables of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import domains
import pytest

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Text
from lawdsl.data.measured_values import Measured
from lawdsl.data.measured_variables import measured
from lawdsl.data.read import read_table
from lawdsl.language import library
from lawdsl.language.symbols import Declarations

CROSS = """\
law cross
extends dcpt.l3
index d over domain
setting low = 0
variable k1[d], k2[d] > low unit nat/token
variable k3[d] unit nat/token
measure k1[d] = L(step = 1000)
measure k2[d] = L(step = 0) - L(step = 5000)
measure k3[d] = ((L(step = 11000) - L(step = 10000)) - (L(step = 1000) - L(step = 0)))/10
parameter F, mu, w2, w3 > 0
let K[d] = 1/k1[d] + w2*k2[d] + w3/k3[d]
"""
EQUATION = "L = dcpt.l3 + F/K[d]^mu unit nat/token\n"
Table = dict[str, Any]


def law(text: str = CROSS + EQUATION, folder: Path = Path()) -> Declarations:
    found, warnings = library.declared(Text("example.law", text), folder)

    assert warnings == []
    return found


def rule(formula: str, head: str = "variable N, D > 0 unit token") -> Declarations:
    """A law that measures one variable so."""
    return law(
        f"law a\nindex d over domain\n{head}\nvariable k[d]\nparameter E > 0\n"
        f"measure k[d] = {formula}\nL = E*N*D*k[d]\n"
    )


def mistakes(text: str) -> list[Diagnostic]:
    try:
        return library.declared(Text("example.law", text), Path())[1]
    except LawdslError as error:
        return list(error.diagnostics)


def values(declared: Declarations, table: Table, **options: Any) -> dict[str, float]:
    """The values of k, of which nothing is to be said."""
    found = measured(declared, read_table(table), **options)

    assert found.warnings == ()
    return dict(found.values["k"])


def refused(declared: Declarations, table: Any, **options: Any) -> tuple[Diagnostic, ...]:
    with pytest.raises(LawdslError) as error:
        measured(declared, read_table(table), **options)
    return error.value.diagnostics


def of_runs(rows: Sequence[domains.Row], **options: Any) -> Measured:
    return measured(law(), read_table(domains.columns_of(rows)), **options)


# What is measured

ONE_RUN = {
    "domain": ["code"] * 4,
    "N": [1.0] * 4,
    "D": [0.0, 10.0, 20.0, 40.0],
    "step": [0, 1, 2, 4],
    "L": [4.0, 3.0, 2.5, 2.0],
}
