"""Fits + candidates + targets -> what may be true, as distributions that batches are judged by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.binding import bind
from lawdsl.data.label_columns import WILDCARD
from lawdsl.data.table import Table
from lawdsl.designing.runs.batch import Hypothesis
from lawdsl.designing.runs.of_fit import posterior_of, surface_of
from lawdsl.designing.runs.pool import Pool
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.language.label_texts import split_element
from lawdsl.law.law import Law

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class LawTarget:
    """Targets as sums of logarithms of one fitted law.

    Attributes:
        fit: of the law.
        points: the variables of the law where it is asked about, shape (variables, points).
        weights: of the points in each target, shape (functionals, points).
    """

    fit: Fit
    points: Array
    weights: Array


def hypothesis_of(
    targets: Sequence[LawTarget], pool: Pool, rest: Array, amplitude: float
) -> Hypothesis:
    """What the laws of some fits, with their errors, leave open in targets and at candidates.

    Args:
        targets: of each law.
        pool: the candidates.
        rest: the variance of each target that no run lowers, shape (functionals,).
        amplitude: standard deviation of log L per decade.

    Raises:
        LawdslError: columns of the candidates that the law cannot use.
    """
    numbers = np.full(len(pool.table.rows), -1)
    for number, row in enumerate(pool.rows):
        numbers[row[row >= 0]] = number
    laws = []
    for target in targets:
        surface = surface_of(target.fit)
        columns = candidate_columns(target.fit.law_of_spread(), target.fit, pool.table)
        laws.append(
            posterior_of(surface, columns, numbers, target.points, target.weights, amplitude)
        )
    return Hypothesis(tuple(laws), rest)


def candidate_columns(law: Law, fit: Fit, table: Table) -> Array:
    """The variables of a law at candidate rows, shape (variables, rows).

    Args:
        law: that of the fit.
        fit: which says from which columns its variables are read.
        table: the candidates.

    Raises:
        LawdslError: a column that is missing, in another unit, or outside the domain of the law.
    """
    return bind(
        law, table, columns_for(law, fit.data.columns, table), target=False, warn=False
    ).columns


def columns_for(law: Law, fitted: Mapping[str, str], table: Table) -> dict[str, str]:
    """Variable -> column of the candidates: that of the fitted table, or the variable's own name.

    Args:
        law: whose variables are bound.
        fitted: variable or output -> column of the fitted table; `share_*` for a column for each label.
        table: the candidates.
    """
    result = {}
    for quantity in law.variables:
        name = quantity.name
        # the shares of a law with index sets, r[web], are columns such as r_web
        base, labels = split_element(name)
        from_pattern = fitted.get(base, base).replace(WILDCARD, "_".join(labels))
        spellings = (fitted.get(name, name), name, from_pattern, "_".join((base, *labels)))
        result[name] = next((s for s in spellings if s in table.columns), fitted.get(name, name))
    return result


def parts_of(fit: Fit | Fits) -> tuple[Fit, ...]:
    """The fits of all labels, or the one fit; those of labels know also the patterns of columns from
    which their shares were read.
    """
    if isinstance(fit, Fit):
        return (fit,)
    return tuple(
        replace(part, data=replace(part.data, columns={**fit.columns, **part.data.columns}))
        for part in fit.parts
    )


def check_rows(fit: Fit) -> None:
    """Refuse a fit of which the error of the law, or that of its parameters, is not known.

    Raises:
        LawdslError: N0104.
    """
    if fit.rows is not None and fit.spread is not None:
        return
    what = "the measured rows" if fit.rows is None else "the covariance of its parameters"
    message = f"the fit of {fit.law.name} does not have {what}, from which a design starts"
    help = "fit by a loss such as huber to more rows than the law has parameters"
    raise LawdslError(Diagnostic("N0104", message, help=help))
