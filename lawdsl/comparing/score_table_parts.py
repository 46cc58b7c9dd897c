"""Laws + table -> the parts of a table of scores: one for each loss and group, ready to be fitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lawdsl.comparing.compare_by_label import DEFAULT_LABEL_PROTOCOLS, LabelPart, label_parts
from lawdsl.comparing.compare_laws import ComparableRows, comparable_rows
from lawdsl.comparing.protocol_options import ProtocolOptions
from lawdsl.comparing.protocols import parse_protocol
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import conjunction
from lawdsl.core.objectives import Objective
from lawdsl.data.binding import chosen_rows
from lawdsl.data.groups import grouped
from lawdsl.data.read import read_table
from lawdsl.data.table import Table
from lawdsl.fitting.options import FitOptions
from lawdsl.language.keywords import did_you_mean
from lawdsl.law.law import Law

PROTOCOLS_OF_AXES: Mapping[str, str] = {
    "N": "leave-one-out:N",
    "D": "segments:D",
    "r": "leave-two-out:r",
    "domain": "leave-two-out:domain",
}
"""An axis -> the protocol of Que et al. 2024 (Tables 2, 3, 4 and 8) along it."""


@dataclass(frozen=True)
class ScoreTableOptions:
    """What a table of scores is made of.

    Attributes:
        protocols: protocols, or axes: N, D, r, domain; None for the default ones.
        losses: the names of the losses, each of which has columns of its own; empty for one loss.
        by: the columns that tell groups apart.
    """

    protocols: tuple[str, ...] | None = None
    losses: tuple[str, ...] = ()
    by: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...] | None:
        """The protocols in their textual form.

        Raises:
            LawdslError: an unknown protocol (F0201), or one that has other scores (F0202).
        """
        if self.protocols is None:
            return None
        names = []
        for text in self.protocols:
            protocol = parse_protocol(PROTOCOLS_OF_AXES.get(text.strip(), text))
            if protocol.kind.intervals:
                message = f"{protocol.name} scores intervals, and a table has Huber's loss and R²"
                help = f"without --table: --protocol {protocol.name}"
                raise LawdslError(Diagnostic("F0202", message, help=help))
            names.append(protocol.name)
        return tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class ScoreTablePart:
    """The rows of one loss and group.

    Attributes:
        loss: the name of the loss.
        group: the name of the group.
        laws: the laws of these rows.
        rows: the rows and their folds.
    """

    loss: str
    group: str
    laws: tuple[Law, ...]
    rows: ComparableRows


@dataclass(frozen=True)
class ScoreTableParts:
    """All parts of a table of scores, in order; `by` is what the groups are called."""

    by: str
    parts: tuple[ScoreTablePart, ...]
    warnings: tuple[Diagnostic, ...]


def columns_of_loss(
    laws: Sequence[Law], table: Table, given: Mapping[str, str], loss: str
) -> dict[str, str]:
    """The columns of a loss: `*` in a binding is its name, and so is the end of a column `L_name`
    of a name without a binding.

    Args:
        laws: the laws.
        table: the table.
        given: the bindings.
        loss: the name of the loss; empty for the only one.

    Raises:
        LawdslError: the table has no output of that name; D0104.
    """
    if not loss:
        return dict(given)
    columns = {name: column.replace("*", loss) for name, column in given.items()}
    outputs = dict.fromkeys(law.output for law in laws)
    names = dict.fromkeys([*outputs, *(q.name for law in laws for q in law.variables)])
    columns |= {
        name: f"{name}_{loss}"
        for name in names
        if name not in given and f"{name}_{loss}" in table.columns
    }
    for output in outputs:
        if output not in columns or (output in given and "*" not in given[output]):
            message = f"the table has no column `{output}_{loss}` for the loss `{loss}`"
            known = f"the columns are {', '.join(table.source_columns)}"
            help = did_you_mean(f"{output}_{loss}", table.source_columns, known)
            if output in given:
                message = f"the loss `{loss}` has the same column as the others: {given[output]}"
                help = f"write * for the name of the loss: {output}={output}_*"
            raise LawdslError(Diagnostic("D0104", message, place=table.name, help=help))
    return columns


def score_table_parts(
    laws: Sequence[Law],
    table: Table,
    objective: Objective,
    how: ScoreTableOptions,
    options: FitOptions,
) -> ScoreTableParts:
    """Divide a table into the rows of each loss and group, and these into folds.

    Args:
        laws: the laws.
        table: the measurements.
        objective: the objective of all fits.
        how: the protocols, losses and groups.
        options: the options of each fit.

    Raises:
        LawdslError: laws, a table or protocols that cannot be used.
    """
    names = how.names
    indexed = any(law.indexed for law in laws)
    if names is None and indexed:
        names = DEFAULT_LABEL_PROTOCOLS
    parts, warnings = [], []
    by = how.by
    for loss in how.losses or ("",):
        of_loss = replace(options, columns=columns_of_loss(laws, table, options.columns, loss))
        for labels, rows in _groups(read_table(table, of_loss.columns), how.by, of_loss):
            place = LabelPart(", ".join((*filter(None, (loss,)), *labels)), tuple(laws), rows)
            with place.place():
                for part, part_options, found in _labels(laws, rows, of_loss, indexed):
                    protocols = ProtocolOptions(names)
                    ready = comparable_rows(
                        part.laws, part.table, objective, protocols, part_options, part.measures
                    )
                    group = ", ".join(filter(None, (*labels, part.label)))
                    parts.append(ScoreTablePart(loss, group, part.laws, ready))
                    warnings += [*found, *ready.data.warnings, *ready.skipped]
                    if part.label and not how.by:
                        by = ("label",)
    _check_same_groups(parts, table)
    kept = [p for p, _ in parts[0].rows.plan]
    common = [
        p.name for p in kept if all(p.name in {q.name for q, _ in x.rows.plan} for x in parts)
    ]
    if not common:
        message = "none of the protocols can be used for all groups and losses"
        help = "name protocols, --protocols all, to see the reason"
        raise LawdslError(Diagnostic("F0202", message, place=table.name, help=help))
    same = [
        replace(
            part,
            rows=replace(
                part.rows, plan=tuple(pair for pair in part.rows.plan if pair[0].name in common)
            ),
        )
        for part in parts
    ]
    return ScoreTableParts(", ".join(by), tuple(same), tuple(dict.fromkeys(warnings)))


def _groups(
    table: Table, by: Sequence[str], options: FitOptions
) -> Iterator[tuple[tuple[str, ...], Table]]:
    """The groups of rows; all rows without columns that tell groups apart."""
    if not by:
        yield (), table
        return
    rows, _ = chosen_rows(table, options.where, options.drop_bad)
    yield from grouped(rows, by).items()


def _labels(
    laws: Sequence[Law], table: Table, options: FitOptions, indexed: bool
) -> Iterator[tuple[LabelPart, FitOptions, tuple[Diagnostic, ...]]]:
    """The parts of a table for laws with index sets; the whole for other laws."""
    if not indexed:
        yield LabelPart("", tuple(laws), table), options, ()
        return
    labels = label_parts(laws, table, options)
    for part in labels.parts:
        yield part, labels.options, labels.warnings


def _check_same_groups(parts: Sequence[ScoreTablePart], table: Table) -> None:
    """Raise an error if the losses do not have the same groups; F0203."""
    groups: dict[str, list[str]] = {}
    for part in parts:
        groups.setdefault(part.loss, []).append(part.group)
    first = next(iter(groups))
    for loss, names in groups.items():
        if names != groups[first]:
            message = f"the loss `{loss}` has the groups {conjunction(names)}, and `{first}` has {conjunction(groups[first])}"
            help = "choose the rows that have both with --where"
            raise LawdslError(Diagnostic("F0203", message, place=table.name, help=help))
