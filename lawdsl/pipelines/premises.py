"""Groups of a step -> warnings about rows that break a premise of its law."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.data.premises.findings import PREMISES, premise_findings
from lawdsl.pipelines.parts import StepPart

Rows = NDArray[np.int64]


def broken_premises(grouped: Iterable[tuple[StepPart, Rows]]) -> Iterator[Diagnostic]:
    """Warnings about the rows of a step, each group of which is a fit.

    What is found in all rows of a part may be a difference between its groups, such as several
    tokenizers under `by tokenizer`: the groups are asked only where something is found.

    Args:
        grouped: the groups: the part that each belongs to, and its rows among those of the part.
    """
    for part, rows in grouped:
        codes = {d.code for d in part.runs.warnings if d.code in PREMISES}
        if codes:
            yield from (d for d in _of_group(part, rows) if d.code in codes)


def _of_group(part: StepPart, rows: Rows) -> list[Diagnostic]:
    runs, law = part.runs, part.law
    values = {q.name: runs.columns[i, rows] for i, q in enumerate(law.variables)}
    if runs.target is not None:
        values[law.output] = runs.target[rows]
    return premise_findings(law, part.table.at(runs.rows[rows]), runs.bound, values)


def once_each(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Warnings, of which broken premises are given once for each column: steps and groups repeat
    them. As in a fit, D0143 says more of a learning rate than D0141."""
    kept: dict[object, Diagnostic] = {}
    for number, d in enumerate(found):
        kept.setdefault((d.code, _column(d)) if d.code in PREMISES else number, d)
    said = {_column(d) for d in kept.values() if d.code == "D0143"}
    return tuple(d for d in kept.values() if d.code != "D0141" or _column(d) not in said)


def _column(found: Diagnostic) -> str:
    return (found.place or "").rpartition(" column ")[2]
