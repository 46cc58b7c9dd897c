"""Law with index sets, table -> Trends: its claims at each label, compared with the rows of that
label.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.binding import chosen_rows
from lawdsl.data.covariates import with_measured
from lawdsl.data.melt import labelled
from lawdsl.data.table import Table
from lawdsl.data.trends.result import Trends
from lawdsl.language.instances.instance import row_indices
from lawdsl.law.law import Law

OneLabel = Callable[[Law, Table, Mapping[str, str], int], Trends]
"""The trends of a law without index sets in a table, by bindings of columns, where as many labels
are tested with it."""


def trends_by_label(
    law: Law,
    table: Table,
    columns: Mapping[str, str],
    of_label: OneLabel,
    *,
    where: Sequence[str],
    run: Sequence[str],
    drop_bad: bool,
) -> Trends:
    """Compare the claims of a law with index sets with a table, label by label.

    A difference counts as significant at a level divided by the number of labels, too.

    Args:
        law: the law, with the settings of the table.
        table: the table.
        columns: variable, output or set -> column or pattern of columns.
        of_label: the comparison for the rows of one label.
        where: conditions that rows must meet.
        run: columns that identify runs.
        drop_bad: exclude invalid rows.

    Raises:
        LawdslError: a law or a table that cannot be used.
    """
    declared = law.declarations
    settings = {q.name: q.value for q in law.settings if q.value is not None}
    table, columns, _ = with_measured(
        declared, table, columns, run=run, drop_bad=drop_bad, settings=settings
    )
    rows, dropped = chosen_rows(table, where, drop_bad)
    labels = labelled(declared, rows, columns, drop_bad=drop_bad)
    groups = list(labels.instance.assignments(declared, row_indices(declared)))
    parts: list[Trends] = []
    for group in groups:
        name = ", ".join(group.values())
        law_at_label = law.at_labels(replace(labels.instance, at=group))
        try:
            part = of_label(law_at_label, labels.keep(group), labels.columns, len(groups))
        except LawdslError as error:
            raise LawdslError([_of_label(d, name) for d in error.diagnostics]) from None
        trends = [replace(trend, claim=f"{name}: {trend.claim}") for trend in part.trends]
        found = [_of_label(d, name) for d in part.diagnostics]
        parts.append(replace(part, trends=tuple(trends), diagnostics=tuple(found)))
    digests = "\n".join(part.data_digest for part in parts)
    first = parts[0]
    return replace(
        first,
        digest=law.digest,
        data_digest=hashlib.sha256(digests.encode()).hexdigest(),
        rows=sum(part.rows for part in parts),
        dropped=dropped + labels.dropped + sum(part.dropped for part in parts),
        where=tuple(where),
        columns=dict(columns),
        trends=tuple(trend for part in parts for trend in part.trends),
        diagnostics=(*labels.warnings, *(d for part in parts for d in part.diagnostics)),
    )


def _of_label(diagnostic: Diagnostic, label: str) -> Diagnostic:
    """A diagnostic located at the label of its rows."""
    place = f"{diagnostic.place}, {label}" if diagnostic.place else label
    return replace(diagnostic, place=place)
