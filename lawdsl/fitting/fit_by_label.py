"""Fit a law with index sets: the rows of each label by themselves wherever the law allows it.

`L[i] = c[i] + k[i]*exp(sum(t[i, j]*r[j] for j))` is as many laws as there are labels of i: no
parameter is of two of them. So each is a small problem of its own. What labels share is fitted at
once, with a variable for each label that is 1 in its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.binding import chosen_rows
from lawdsl.data.covariates import with_measured
from lawdsl.data.melt import Labelled, labelled
from lawdsl.data.read import Table
from lawdsl.data.weights_and_runs import with_weights
from lawdsl.fitting.fit_single import fit_one
from lawdsl.fitting.options import FitOptions, Progress
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.result_parts import FittedLaw
from lawdsl.language.instances.instance import Instance, row_indices
from lawdsl.language.keywords import nearest
from lawdsl.language.printer import with_subscripts
from lawdsl.language.symbols import Objective
from lawdsl.law.law import Law


def fit_many(law: Law, table: Table, objective: Objective, options: FitOptions) -> Fits:
    """Fit a law with index sets to a table.

    Args:
        law: the law, changed as the fit is to have it.
        table: the measurements of all labels.
        objective: what is minimised: the law's own, or what the options say instead.
        options: the others.

    Raises:
        LawdslError: a law or table that cannot be used.
    """
    if options.enforce:
        message = "claims of a law with index sets are certified, but not enforced"
        raise LawdslError(Diagnostic("F0123", message, help="leave --enforce out"))
    table, weights = with_weights(table, options.weights)
    options = replace(options, weights=weights)
    table, columns, known = with_measured(
        law.declarations,
        table,
        options.columns,
        run=options.run,
        drop_bad=options.drop_bad,
        settings={q.name: q.value for q in law.settings if q.value is not None},
    )
    rows, lost = chosen_rows(table, options.where, options.drop_bad)
    found = labelled(law.declarations, rows, columns, drop_bad=options.drop_bad)
    places = list(parts_of(law, found.instance))
    fits = []
    for number, at in enumerate(places):
        own = law.at_labels(replace(found.instance, at=at))
        part = replace(
            options,
            columns=found.columns,
            progress=within(options.progress, number, len(places)),
        )
        try:
            fits.append(fit_one(own, found.keep(at), objective, part))
        except LawdslError as error:
            labels = [", ".join(other.values()) for other in places if other != at]
            raise LawdslError([_placed(d, at, labels) for d in error.diagnostics]) from None
    return Fits(
        FittedLaw.of(law),
        found.instance.labels,
        tuple(fits),
        dict(options.columns),
        (*(known.warnings if known else ()), *found.warnings),
        lost + found.dropped,
        known and replace(known, warnings=()),
        _rests(found),
    )


def _rests(found: Labelled) -> dict[str, tuple[float, float]]:
    """The shares that are 1 minus the others, and their ranges."""
    names = [with_subscripts(n, (label,)) for n, label in found.instance.left_out.items()]
    values = {name: found.table.numbers(name) for name in names if name in found.table.columns}
    return {name: (float(own.min()), float(own.max())) for name, own in values.items()}


def parts_of(law: Law, instance: Instance) -> Iterator[dict[str, str]]:
    """The labels of the rows of each part that has no parameter in common with the others."""
    declared = law.declarations
    alone = [index for index in row_indices(declared) if _apart(law, instance, index)]
    yield from instance.assignments(declared, alone)


def _apart(law: Law, instance: Instance, index: str) -> bool:
    """Whether rows with different labels of an index share no parameter."""
    seen: set[str] = set()
    for label in instance.of(law.declarations, index):
        own = {q.name for q in law.at_labels(replace(instance, at={index: label})).parameters}
        if own & seen:
            return False
        seen |= own
    return True


def within(progress: Progress | None, number: int, parts: int) -> Progress | None:
    """The progress of one of several parts as that of all."""
    if progress is None:
        return None
    return lambda done, of: progress(number * of + done, parts * of)


def _placed(diagnostic: Diagnostic, at: Mapping[str, str], others: Sequence[str]) -> Diagnostic:
    """A message about the rows of a label. One of too few rows may have been misspelt."""
    label = ", ".join(at.values())
    place = f"{diagnostic.place}, {label}" if diagnostic.place and label else diagnostic.place
    alike = nearest(label, others) if diagnostic.code == "D0110" else None
    help = f"is `{label}` meant to be `{alike}`? else " if alike else ""
    return replace(diagnostic, place=place or label, help=f"{help}{diagnostic.help}")
