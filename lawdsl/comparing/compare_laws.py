"""Laws without index sets + table -> Comparison: every law on every fold, and the rankings."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lawdsl.comparing.common_rows import CommonRows, common_rows
from lawdsl.comparing.cross_validation import ComparisonEntry
from lawdsl.comparing.extrapolation import FoldFits, rankings_by_intervals
from lawdsl.comparing.findings import findings
from lawdsl.comparing.fold_measures import FoldMeasures, held_out_findings, measured_rows
from lawdsl.comparing.protocol_options import ProtocolOptions
from lawdsl.comparing.protocols import DEFAULT_PROTOCOLS, Fold, Protocol, parse_protocol
from lawdsl.comparing.result import ComparedData, ComparedLaw, Comparison, Ranking
from lawdsl.comparing.standings import rankings_by
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.objectives import Objective
from lawdsl.core.units import unit_text
from lawdsl.data.table import Table
from lawdsl.fitting.diagnostics.diagnose import insufficient_data_errors
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.preparation.prepare import prepare
from lawdsl.law.law import Law
from lawdsl.proof.identifiability import freedom


@dataclass(frozen=True)
class ComparableRows:
    """Laws and rows that are ready to be fitted.

    Attributes:
        data: the rows that all laws use.
        entries: the laws.
        plan: each protocol and its folds.
        skipped: why default protocols are skipped, and other warnings about the folds.
    """

    data: CommonRows
    entries: tuple[ComparisonEntry, ...]
    plan: tuple[tuple[Protocol, list[Fold]], ...]
    skipped: tuple[Diagnostic, ...]


def comparable_rows(
    laws: Sequence[Law],
    table: Table,
    objective: Objective,
    protocols: ProtocolOptions,
    options: FitOptions,
    measures: Sequence[FoldMeasures | None] = (),
) -> ComparableRows:
    """Select the rows of a comparison, and divide them into folds.

    Args:
        laws: the laws.
        table: the measurements.
        objective: the objective of all fits.
        protocols: the protocols, by default those that the data allow.
        options: the options of each fit.
        measures: for each law what it measures in each fold; empty where no law does.

    Raises:
        LawdslError: laws, a table or protocols that cannot be used.
    """
    data = common_rows(laws, table, options, positive=objective.log, cost=protocols.cost)
    problems = [
        problem_of(law, law_columns, data.target, objective)
        for law, law_columns in zip(laws, data.columns, strict=True)
    ]
    for law, problem in zip(laws, problems, strict=True):
        too_few_rows = insufficient_data_errors(prepare(law), problem)
        if too_few_rows:
            raise LawdslError([replace(d, place=data.table.name) for d in too_few_rows])
    entries = [
        ComparisonEntry(law, name, problem, freedom(law), measured_rows(of_law, law, data.table))
        for law, name, problem, of_law in zip(
            laws, _unique_names(laws), problems, measures or [None] * len(laws), strict=True
        )
    ]
    plan, skipped = _plan_folds(data, objective, protocols.names)
    all_folds = [fold for _, folds in plan for fold in folds]
    for entry in entries:
        if entry.measured is not None:
            skipped += held_out_findings(entry.name, entry.measured, all_folds)
    return ComparableRows(data, tuple(entries), tuple(plan), tuple(skipped))


def compare_one(
    laws: Sequence[Law],
    table: Table,
    objective: Objective,
    protocols: ProtocolOptions,
    options: FitOptions,
    measures: Sequence[FoldMeasures | None] = (),
) -> Comparison:
    """Compare laws without index sets on a table.

    Args:
        laws: the laws.
        table: the measurements.
        objective: the objective of all fits.
        protocols: the protocols, by default those that the data allow.
        options: the options of each fit; those for intervals and claims are ignored.
        measures: for each law what it measures in each fold; empty where no law does.

    Raises:
        LawdslError: laws, a table or protocols that cannot be used.
    """
    rows = comparable_rows(laws, table, objective, protocols, options, measures)
    data, entries, plan = rows.data, rows.entries, rows.plan
    done = itertools.count(1)
    total = len(entries) * sum(len(folds) for _, folds in plan)

    def report() -> None:
        if options.progress is not None:
            options.progress(next(done), total)

    rankings: list[Ranking] = []
    fits = FoldFits(options.starts, options.seed, protocols.discrepancy, report)
    for protocol, folds in plan:
        if protocol.kind.intervals:
            rankings += rankings_by_intervals(entries, data, protocol, folds, fits)
        else:
            rankings += rankings_by(
                entries, data, protocol, folds, options.seed, options.starts, report
            )
    return Comparison(
        laws=tuple(
            ComparedLaw(
                e.name, e.law.digest, e.problem.parameters, dict(e.law.given), e.law.dropped
            )
            for e in entries
        ),
        data=ComparedData(
            data.table.name,
            data.digest,
            data.rows,
            data.dropped,
            dict(data.bound),
            options.where,
            data.run_columns,
            None if data.runs is None else int(data.runs.max()) + 1,
            laws[0].output,
            unit_text(declared.factors) if (declared := laws[0].declarations.output.unit) else "",
        ),
        objective=objective.name.replace("L", laws[0].output),
        rankings=tuple(rankings),
        diagnostics=(*data.warnings, *rows.skipped, *findings(rankings)),
        starts=int(options.starts),
        seed=int(options.seed),
    )


def _unique_names(laws: Sequence[Law]) -> list[str]:
    """A unique name for each law."""
    names: list[str] = []
    for law in laws:
        same_name_count = sum(other.name == law.name for other in laws[: len(names)])
        names.append(f"{law.name} ({same_name_count + 1})" if same_name_count else law.name)
    return names


def _no_intervals(objective: Objective) -> Diagnostic:
    """The diagnostic for an objective whose fits have no intervals of further runs."""
    message = (
        f"residuals of {objective.name} are not centered at 0: its fits give no interval of a"
        " further run"
    )
    help = "choose another objective, such as huber(log), or another protocol"
    return Diagnostic("F0202", message, help=help)


def _plan_folds(
    data: CommonRows, objective: Objective, requested: Sequence[str] | None
) -> tuple[list[tuple[Protocol, list[Fold]]], list[Diagnostic]]:
    """The folds of each protocol, and the reasons why some default protocols are skipped."""
    names = DEFAULT_PROTOCOLS if requested is None else requested
    parsed = {protocol.name: protocol for protocol in map(parse_protocol, names)}
    plan, problems = [], []
    for protocol in parsed.values():
        if requested is None and protocol.kind.column and protocol.column not in data.variables:
            continue
        try:
            if protocol.kind.intervals and not objective.is_centered:
                raise LawdslError(_no_intervals(objective))
            plan.append((protocol, protocol.folds(data)))
        except LawdslError as error:
            explained = [
                # a mistake in a formula is reported there
                replace(d, message=f"{protocol.name}: {d.message}") if d.text is None else d
                for d in error.diagnostics
            ]
            problems += explained
    if requested is not None and problems:
        raise LawdslError(problems)
    return plan, [replace(d, severity="warning") for d in problems]
