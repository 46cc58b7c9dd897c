"""Table with a column of the output for each label -> the long table that a pipeline works on.

The steps of a pipeline need one value in each row: they predict a value for each group, and store it
as a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.arrow_arrays import texts_to_arrow
from lawdsl.data.label_columns import elements
from lawdsl.data.stacked_columns import stacked
from lawdsl.data.table import Table
from lawdsl.pipelines.plan import StepTask


def long_table(
    tasks: Sequence[StepTask], table: Table, bindings: Mapping[str, str]
) -> tuple[Table, dict[str, str]]:
    """The table with one value of the output in each row, and the bindings of its columns.

    A table that has this form is returned as it is. The rows of a long table have numbers of their
    own.

    Args:
        tasks: the steps of the pipeline.
        table: the table.
        bindings: name -> column, or pattern of columns.

    Raises:
        LawdslError: a column has the name of the output already, or columns do not fit each other.
    """
    for task in tasks:
        declared = task.law.declarations
        output = declared.output
        column = bindings.get(output.name, output.name)
        if len(output.indices) != 1 or column in table.columns:
            continue
        names = {symbol.name for symbol in declared.symbols.values()} | {output.name}
        of_law = {name: text for name, text in bindings.items() if name in names}
        wide = elements(declared, table, of_law, {}, target=True).wide.get(output.name)
        if wide is None:
            continue
        over = declared.indices[output.indices[0]].over
        if output.name in table.columns:
            message = (
                f"column {output.name} stands beside a column of `{output.text}` for each label"
            )
            help = f"rename it: the long table has a column {output.name} of its own"
            raise LawdslError(Diagnostic("D0120", message, place=table.name, help=help))
        long, labels = stacked(output, table, wide)
        columns = {name: x for name, x in long.columns.items() if name not in wide.values()}
        columns[over] = pa.chunked_array([texts_to_arrow(labels)])
        long = replace(long, columns=columns, rows=np.arange(1, len(long) + 1))
        return long, {**bindings, output.name: output.name, over: over}
    return table, dict(bindings)
