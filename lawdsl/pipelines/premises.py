"""Groups of a step -> warnings about rows that break a premise of its law."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.data.premises.findings import PREMISES, premise_findings
from lawdsl.data.premises.pooled_columns import POOLED, pooled_column_findings
from lawdsl.data.premises.rows import PremiseRows
from lawdsl.data.row_codes import row_codes
from lawdsl.pipelines.parts import StepPart

Rows = NDArray[np.int64]


def broken_premises(grouped: Iterable[tuple[StepPart, Rows]]) -> Iterator[Diagnostic]:
    """Warnings about the rows of a step, each group of which is a fit: broken premises of its law, and
    columns that rows of equal settings are pooled over (D0145).

    What is found in all rows of a part may be a difference between its groups, such as several
    tokenizers under `by tokenizer`: the groups are asked only where something is found.

    Args:
        grouped: the groups: the part that each belongs to, and its rows among those of the part.
    """
    for part, rows in grouped:
        runs, law = part.runs, part.law
        codes = {d.code for d in runs.warnings if d.code in PREMISES}
        settings = row_codes(runs.columns[:, rows], len(rows))
        repeated = len(rows) > 0 and int(settings.max()) + 1 < len(rows)
        if runs.target is None or not (codes or repeated):
            continue
        values = {q.name: runs.columns[i, rows] for i, q in enumerate(law.variables)}
        values[law.output] = runs.target[rows]
        table = part.table.at(runs.rows[rows])
        if repeated:
            yield from pooled_column_findings(PremiseRows(law, table, runs.bound, values))
        if codes:
            found = premise_findings(law, table, runs.bound, values)
            yield from (d for d in found if d.code in codes)


def once_each(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Warnings, of which broken premises are given once for each column: steps and groups repeat
    them. As in a fit, D0143 says more of a learning rate than D0141."""
    kept: dict[object, Diagnostic] = {}
    for number, d in enumerate(found):
        kept.setdefault((d.code, _column(d)) if d.code in (*PREMISES, POOLED) else number, d)
    said = {_column(d) for d in kept.values() if d.code == "D0143"}
    return tuple(d for d in kept.values() if d.code != "D0141" or _column(d) not in said)


def _column(found: Diagnostic) -> str:
    return (found.place or "").rpartition(" column ")[2]
