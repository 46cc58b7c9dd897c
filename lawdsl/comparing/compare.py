"""Laws + table + protocols -> Comparison: every law on every fold, and the rankings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from lawdsl.comparing.compare_by_label import compare_many
from lawdsl.comparing.compare_laws import compare_one
from lawdsl.comparing.protocol_options import ProtocolOptions
from lawdsl.comparing.result import Comparison, Comparisons
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import as_texts
from lawdsl.core.objectives import Objective
from lawdsl.data.header_settings import with_settings_of
from lawdsl.data.read import read_table
from lawdsl.data.table import Table
from lawdsl.fitting.fit import in_one_step, without_priors
from lawdsl.fitting.options import MOST_STARTS, FitOptions, check_amplitude, is_whole
from lawdsl.language.law_changes import LawChanges
from lawdsl.law.law import Law, load

COMPARISON_STARTS = 8  # starts of each fit


def compare(
    laws: Law | str | Path | Sequence[Law | str | Path],
    table: Any,
    /,
    *,
    protocols: str | Sequence[str] | None = None,
    starts: int = COMPARISON_STARTS,
    objective: str | None = None,
    delta: float | None = None,
    quantile: float | None = None,
    over: float | None = None,
    where: str | Sequence[str] = (),
    run: str | Sequence[str] = (),
    cost: str | None = None,
    discrepancy: float | Literal["learned"] | None = None,
    settings: Mapping[str, float] | None = None,
    without: str | Sequence[str] = (),
    fix: Mapping[str, float] | None = None,
    tie: Mapping[str, str] | None = None,
    drop_bad: bool = False,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    columns: Mapping[str, str] | None = None,
    **named_columns: str,
) -> Comparison | Comparisons:
    """Compare laws by how well they predict measurements that they were not fitted to.

    All laws are fitted to the same rows with the same objective. A protocol is `all` (one fit to
    all rows, ranked by AICc), `splits` (ten times a random quarter of the rows is predicted from
    the others, the same rows for all laws and labels), `leave-one-out:N`, `leave-two-out:r`,
    `segments:D`, `growing:N` or `continuing:D` with any variable or column after the colon, or one
    of the names in papers: `leave-one-N-out`, `D-segments`, `r-7-of-9`, `domains-4-of-6`,
    `growing-N`, `growing-D`. All but `all` are ranked by the mean objective of a held-out row.

    `largest:cost`, or `largest` with a variable or column, predicts the largest tenth of the runs
    (where runs share few values, those of the largest) from the runs that cost at most 1/R of
    them, R = 1, 3 and 10. It ranks by the mean interval score of 95 % intervals of a further run:
    width + 40 times the distance of a measurement outside the interval, in logarithms.

    AICc uses the likelihood that corresponds to the objective: residuals with the density
    exp(-rho/tau)/Z(tau), Gaussian for squared losses, Gaussian within Huber's delta and Laplacian
    outside; tau is estimated as one more parameter. It treats rows as independent, which the rows
    of one training run are not. Laws whose AICc differ by less than 4 share ranks.

    Laws that the data do not distinguish share ranks: the difference of two scores has an interval
    by a paired bootstrap over the values of the held-out column, if there are at least six, else
    over curves (rows that differ in D alone), if there are six, else over rows. If it is not over
    held-out values, a law must also be better in every fold. A draw reweights fitted and tested
    rows alike, and each fit is updated by one Newton step.

    Laws with index sets are compared on the rows of each label, by `all` and `splits` by default.

    Args:
        laws: laws, or names or paths of them; a single law is cross-validated.
        table: a path (CSV, Parquet, SQLite), a data frame, an Arrow table or a mapping of arrays.
        protocols: by default those of `all`, `leave-one-out:N`, `segments:D` and `leave-two-out:r`
            that the data allow.
        starts: the number of starts of each fit.
        objective: the objective of all fits, in place of the laws' own, which must otherwise agree.
        delta: Huber's delta in place of the laws' own.
        quantile: the share of rows below the fit under a quantile loss.
        over: how many times an over-estimate counts, relative to an under-estimate.
        where: one condition that rows must satisfy, or several.
        run: the column that identifies the training run of a row, or several, by default as in
            `lawdsl.fit`; "none" for independent rows. The rows of a run are held out together,
            except by `segments` and `continuing`, which split runs.
        cost: the cost of a row, for `largest`: a product or quotient of variables and columns,
            "6*N*D", the default where the laws have N and D.
        discrepancy: the error of the law per decade that the intervals of `largest` include, 0.02
            by default; 0 for laws assumed to be correct, "learned" as in `Fit.predict_with_errors`.
        settings: values of settings, for the laws that have them.
        without: one bound to omit, or several, for the laws that have them.
        fix: parameter -> value at which it is fixed, in the laws that have it.
        tie: parameter -> formula of others that it equals, in the laws that have it.
        drop_bad: exclude rows that are bad for some law, instead of refusing the table.
        seed: the seed of starts and resamples; the same seed gives the same comparison.
        progress: called with the number of fits done, and their total.
        columns: variable or output -> column, where the names differ.
        named_columns: further entries of `columns` as keywords, L="loss".

    Returns:
        The comparison, or the comparisons of all labels.

    Raises:
        LawdslError: laws, a table or protocols that cannot be used.
    """
    changes = LawChanges.of(settings=settings, without=without, fix=fix, tie=tie)
    options = FitOptions(
        starts=starts,
        objective=objective,
        delta=delta,
        quantile=quantile,
        over=over,
        where=as_texts(where),
        run=as_texts(run),
        drop_bad=drop_bad,
        seed=seed,
        progress=progress,
        columns={**(columns or {}), **named_columns},
    )
    names = None if protocols is None else as_texts(protocols)
    held_out = ProtocolOptions(names, cost, discrepancy)
    return compare_with(laws, table, held_out, changes, options)


def compare_with(
    laws: Law | str | Path | Sequence[Law | str | Path],
    table: Any,
    protocols: ProtocolOptions,
    changes: LawChanges,
    options: FitOptions,
) -> Comparison | Comparisons:
    """Compare laws on a table, with the changes and options as records.

    Args:
        laws: the laws, as for `compare`.
        table: the table, as for `compare`.
        protocols: the protocols.
        changes: the changes of the laws; each applies to the laws that have the setting, bound or
            parameter.
        options: the options of all fits.

    Returns:
        The comparison, or the comparisons of all labels.

    Raises:
        LawdslError: laws, a table or protocols that cannot be used.
    """
    if protocols.discrepancy is not None:
        check_amplitude(protocols.discrepancy)
    rows = read_table(table, options.columns)
    changed, objective, warnings = read_laws(laws, rows, changes, options)
    if any(law.indexed for law in changed):
        by_label = compare_many(changed, rows, objective, protocols, options)
        parts = {
            label: replace(part, diagnostics=(*warnings, *part.diagnostics))
            for label, part in by_label.parts.items()
        }
        return replace(by_label, parts=parts)
    compared = compare_one(changed, rows, objective, protocols, options)
    return replace(compared, diagnostics=(*warnings, *compared.diagnostics))


def read_laws(
    laws: Law | str | Path | Sequence[Law | str | Path],
    table: Table,
    changes: LawChanges,
    options: FitOptions,
) -> tuple[list[Law], Objective, list[Diagnostic]]:
    """The laws with their changes, the objective of all fits, and warnings.

    Args:
        laws: the laws, as for `compare`.
        table: the rows, whose header may give settings.
        changes: the changes of the laws.
        options: the options of all fits.

    Raises:
        LawdslError: laws that cannot be compared.
    """
    changed = _with_settings_and_bounds(_load_laws(laws), changes)
    changed = _with_determined([with_settings_of(law, table) for law in changed], changes)
    _check_starts(options.starts)
    objective = _common_objective(changed, options)
    changed, warnings = without_priors(changed, "comparisons")
    return changed, objective, warnings


def _load_laws(laws: Law | str | Path | Sequence[Law | str | Path]) -> list[Law]:
    sources = [laws] if isinstance(laws, (Law, str, Path)) else list(laws)
    if not sources:
        message = "no law is given"
        raise LawdslError(Diagnostic("F0203", message, help="give one law or more"))
    return [law if isinstance(law, Law) else load(law) for law in sources]


def _with_settings_and_bounds(laws: Sequence[Law], changes: LawChanges) -> list[Law]:
    """The laws with changed settings and without some bounds; each change applies to the laws that
    have them.
    """
    changed = list(laws)
    for name, value in changes.settings.items():
        setting = LawChanges(settings={name: value})
        have = [name in {s.name for s in law.settings} for law in changed]
        if not any(have):
            setting.apply(changed[0])  # raises the error for an unknown name
        changed = [
            setting.apply(law) if has else law for law, has in zip(changed, have, strict=True)
        ]
    for bound in changes.dropped:
        unchanged, refused = changed, []
        changed = []
        for law in unchanged:
            try:
                changed.append(LawChanges(dropped=(bound,)).apply(law))
            except LawdslError as error:
                refused.append(error)
                changed.append(law)
        if len(refused) == len(unchanged):
            raise refused[0]
    return changed


def _with_determined(laws: Sequence[Law], changes: LawChanges) -> list[Law]:
    """The laws with fixed and tied parameters, each for the laws that have them."""
    shapes = [
        {
            (symbol.name, len(symbol.indices))
            for symbol in law.declarations.symbols.values()
            if symbol.kind == "parameter"
        }
        for law in laws
    ]
    changed = [
        LawChanges(determined=tuple(s for s in changes.determined if s.shape in of_law)).apply(law)
        for law, of_law in zip(laws, shapes, strict=True)
    ]
    if any(s.shape not in set().union(*shapes) for s in changes.determined):
        # raises the error for unknown names
        LawChanges(determined=changes.determined).apply(laws[0])
    return changed


def _check_starts(starts: Any) -> None:
    if not is_whole(starts) or not 1 <= starts <= MOST_STARTS:
        message = f"`{starts}` is not a valid number of starts"
        help = f"give a number from 1 to {MOST_STARTS:,}"
        raise LawdslError(Diagnostic("F0106", message, help=help))


def _common_objective(laws: Sequence[Law], options: FitOptions) -> Objective:
    """The objective of all fits."""
    objectives = [in_one_step(law, options) for law in laws]
    for law, other in zip(laws, objectives, strict=True):
        if other.name != objectives[0].name:
            message = (
                f"`{laws[0].name}` minimises {objectives[0].name}, `{law.name}` {other.name}: "
                "laws are compared by one objective"
            )
            help = "choose it: --objective 'huber(log)' --delta 1e-3"
            raise LawdslError(Diagnostic("F0203", message, help=help))
    return objectives[0]
