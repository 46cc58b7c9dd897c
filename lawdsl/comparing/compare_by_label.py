"""Compare laws with index sets: on the rows of each label by themselves, as they are fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lawdsl.comparing.compare_laws import compare_one
from lawdsl.comparing.result import Comparison, Comparisons
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.binding import chosen_rows
from lawdsl.data.melt import Labelled, labelled
from lawdsl.data.table import Table
from lawdsl.fitting.fit_by_label import parts_of, within
from lawdsl.fitting.options import FitOptions
from lawdsl.language.instances.instance import row_indices
from lawdsl.language.symbols import Objective
from lawdsl.law.law import Law

USUAL = ("all", "splits")
"""What is done where nothing is asked for: what Ye et al. 2024 do in Table 1."""


def compare_many(
    laws: Sequence[Law],
    table: Table,
    objective: Objective,
    protocols: Sequence[str] | None,
    options: FitOptions,
) -> Comparisons:
    """Compare laws with index sets on a table.

    Args:
        laws: the laws.
        table: the measurements of all labels.
        objective: of all fits.
        protocols: how rows are held out; None for the usual ones.
        options: of each fit; those of intervals and claims do not matter.

    Raises:
        LawdslError: laws that do not split the rows by the same labels, a table or protocols that
            cannot be used.
    """
    for law in laws:
        if not law.indexed:
            message = f"`{law.name}` has no index sets, `{_indexed(laws).name}` has"
            help = "compare laws of the same labels; write the one with its output as `L[i]`"
            raise LawdslError(Diagnostic("F0203", message, help=help))
    rows, _ = chosen_rows(table, options.where, options.drop_bad)
    read = [
        labelled(law.declarations, rows, _own(law, options), drop_bad=options.drop_bad)
        for law in laws
    ]
    places = [list(parts_of(law, one.instance)) for law, one in zip(laws, read, strict=True)]
    _check_alike(laws, read, [[tuple(at.values()) for at in own] for own in places])
    plain = {name: column for one in read for name, column in one.columns.items()}
    options = replace(options, columns=plain)
    parts: dict[str, Comparison] = {}
    for number, at in enumerate(zip(*places, strict=True)):
        label = ", ".join(at[0].values())
        own = [
            law.at_labels(replace(one.instance, at=place))
            for law, one, place in zip(laws, read, at, strict=True)
        ]
        kept = [one.keep(place) for one, place in zip(read, at, strict=True)]
        columns = {name: column for one in kept for name, column in one.columns.items()}
        part = replace(options, progress=within(options.progress, number, len(places[0])))
        try:
            parts[label] = compare_one(
                own, replace(kept[0], columns=columns), objective, protocols or USUAL, part
            )
        except LawdslError as error:
            found = [
                replace(d, place=", ".join(filter(None, (label, d.place))))
                for d in error.diagnostics
            ]
            raise LawdslError(found) from None
    declared = laws[0].declarations
    over = ", ".join(declared.indices[index].over for index in (places[0][0] if places[0] else ()))
    return Comparisons(over, parts)


def _indexed(laws: Sequence[Law]) -> Law:
    return next(law for law in laws if law.indexed)


def _own(law: Law, options: FitOptions) -> dict[str, str]:
    """The bindings that concern a law: each law has some of the variables."""
    declared = law.declarations
    sets = [*declared.indices, *(declared.indices[index].over for index in row_indices(declared))]
    known = {*(s.name for s in declared.symbols.values()), declared.output.name, *sets}
    return {name: column for name, column in options.columns.items() if name in known}


def _check_alike(
    laws: Sequence[Law], read: Sequence[Labelled], labels: Sequence[Sequence[tuple[str, ...]]]
) -> None:
    """Refuse laws that are not fitted to the same rows."""
    for law, one, own in zip(laws, read, labels, strict=True):
        if own == labels[0] and list(one.table.rows) == list(read[0].table.rows):
            continue
        message = f"`{law.name}` is not fitted to the same rows as `{laws[0].name}`"
        help = "compare laws with the same output, and a fit of its own for the same labels"
        raise LawdslError(Diagnostic("F0203", message, help=help))
