"""The record of an ensemble: the members' parameters and weights -> predictions with their spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.presentation import Presented
from lawdsl.core.records import OneOf, read, to_plain
from lawdsl.core.warning_categories import ExtrapolationWarning, NotTrustedWarning, warn
from lawdsl.data.binding import bind
from lawdsl.data.read import read_table
from lawdsl.fitting.ensembles.kinds import KINDS
from lawdsl.fitting.ensembles.weighted_quantiles import quantile, standard_deviation
from lawdsl.fitting.predict_by_label import MemberOptions, predict_rows
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.storage import (
    ENSEMBLE_SCHEMA,
    FITS_SCHEMA,
    READERS,
    StoredRecord,
    altered,
    check_schema,
    load,
)
from lawdsl.fitting.stored_consistency import domain_contradictions
from lawdsl.fitting.verdicts import NOT_TRUSTED

Array = NDArray[np.float64]

QUANTILES = (0.05, 0.95)
"""Of the members, as they are printed."""
SPREAD_ARRAYS = ("median", "standard deviation", "5 % quantile", "95 % quantile")
"""What a prediction of an ensemble consists of."""


@dataclass(frozen=True)
class EnsemblePart:
    """The members for the rows of one label, or for all rows.

    Attributes:
        label: the label; empty for all rows.
        parameters: the names of the parameters.
        members: the parameters of each member, in the order of the names.
        weights: the weight of each member in the median.
        failed: the number of samples to which the law could not be fitted.
        error: mean absolute error of the median on the rows.
        out_of_bag: the same, each row predicted by the members that were not fitted to it; None where
            rows lack such members, and for boosting.
        single_error: mean absolute error of the single fit on the rows.
    """

    label: str
    parameters: tuple[str, ...]
    members: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]
    failed: int
    error: float | None
    out_of_bag: float | None
    single_error: float

    def arrays(self, predictions: Array) -> Array:
        """The median, the standard deviation and the quantiles over the members.

        Args:
            predictions: shape (members, points).

        Returns:
            Shape (arrays, points), in the order of `SPREAD_ARRAYS`.
        """
        weights = np.array(self.weights)
        low, high = (quantile(predictions, weights, level) for level in QUANTILES)
        median = quantile(predictions, weights, 0.5)
        return np.stack([median, standard_deviation(predictions, weights), low, high])


@dataclass(frozen=True)
class EnsemblePrediction:
    """The predictions of an ensemble: their (weighted) median, and the spread of the members.

    The spread tells how much the prediction depends on the rows and starts of the fits. It is no
    confidence interval: an error that all members share does not spread them.

    Attributes:
        values: the median over the members, shape (rows,) or (rows, labels).
        deviations: the standard deviation over the members.
        low: the 5 % quantile over the members.
        high: the 95 % quantile.
        warnings: warnings about the points.
    """

    values: Array
    deviations: Array
    low: Array
    high: Array
    warnings: tuple[Diagnostic, ...] = ()

    def stacked(self) -> Array:
        """All arrays along a first axis, in the order of `SPREAD_ARRAYS`."""
        return np.stack([self.values, self.deviations, self.low, self.high])


@dataclass(frozen=True)
class Ensemble(StoredRecord, Presented):
    """Many fits of one law, combined by their median.

    Attributes:
        kind: bag, subbag, starts or boost.
        requested: the number of members that was asked for.
        seed: the seed of the samples and starts.
        fit: the single fit to all rows, which carries the text of the law.
        parts: the members, for each part of the fit.
        warnings: findings about the members.
    """

    kind: Annotated[str, OneOf(*KINDS)]
    requested: int
    seed: int
    fit: Fit | Fits
    parts: tuple[EnsemblePart, ...]
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def fits(self) -> tuple[Fit, ...]:
        """The single fit, or those of the labels."""
        return self.fit.parts if isinstance(self.fit, Fits) else (self.fit,)

    @property
    def verdict(self) -> str:
        """The verdict on the single fit: a median of fits does not make a law right."""
        return self.fit.verdict

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The findings about the members, and those about the single fit."""
        return (*self.warnings, *self.fit.diagnostics)

    def predict(self, table: Any, /, **columns: str) -> Array:
        """Predict the output on the rows of a table: the median over the members.

        Args:
            table: a path, a data frame, or a mapping of arrays, as `Fit.predict` takes it.
            columns: variable or set -> column, where they differ from those fitted.

        Returns:
            Shape (rows,); (rows, labels) as for `Fits.predict`. Warnings are issued as by the single
            fit.

        Raises:
            LawdslError: a column that is missing, or a value outside the law's domain.
        """
        predicted = self.predict_with_spread(table, **columns)
        untrusted = [d for d in predicted.warnings if d.code == NOT_TRUSTED]
        warn(untrusted, NotTrustedWarning, stacklevel=3)
        others = [d for d in predicted.warnings if d not in untrusted]
        warn(others, ExtrapolationWarning, stacklevel=3)
        return predicted.values

    def predict_with_spread(self, table: Any, /, **columns: str) -> EnsemblePrediction:
        """Predict the output on the rows of a table, with the spread of the members.

        Args:
            table: a path, a data frame, or a mapping of arrays, as `Fit.predict` takes it; a table
                of `runs` of further domains as for `Fits.predict`.
            columns: variable or set -> column, where they differ from those fitted.

        Raises:
            LawdslError: a column that is missing, or a value outside the law's domain.
        """
        parts = self._checked_parts
        if isinstance(self.fit, Fits):
            runs = columns.pop("runs", None)
            options = MemberOptions(len(SPREAD_ARRAYS), self._predict_part)
            arrays, warnings = predict_rows(self.fit, table, runs, columns, options)
        else:
            _, warnings = self.fit.predict_with_warnings(table, **columns)
            arrays = parts[0].arrays(member_predictions(self.fit, parts[0], table, columns))
        values, deviations, low, high = arrays
        return EnsemblePrediction(values, deviations, low, high, warnings)

    def _predict_part(self, part: Fit, table: Any, columns: Mapping[str, str]) -> Array:
        members = self._checked_parts[self.fits.index(part)]
        return members.arrays(member_predictions(part, members, table, columns))

    @cached_property
    def _checked_parts(self) -> tuple[EnsemblePart, ...]:
        """The parts, whose members are of the law and inside its domains.

        Raises:
            LawdslError: the file was altered.
        """
        fits = self.fits
        if len(fits) != len(self.parts):
            raise altered("it has members of other labels")
        for fit, part in zip(fits, self.parts, strict=True):
            law = fit.read_law()
            if part.parameters != tuple(q.name for q in law.parameters):
                raise altered("its members have other parameters than its law")
            if not part.members or len(part.members) != len(part.weights):
                raise altered("its members and their weights differ in number")
            if min(part.weights) <= 0:
                raise altered("a member has a weight that is not above 0")
            for member in part.members:
                if len(member) != len(part.parameters):
                    raise altered("a member lacks parameters")
                values = {
                    name: replace(fit.parameters[name], value=x)
                    for name, x in zip(part.parameters, member, strict=True)
                }
                for why in domain_contradictions(replace(fit, parameters=values), law):
                    raise altered(why)
        return self.parts

    def to_json(self) -> dict[str, Any]:
        """The ensemble as plain data; the keys are stable."""
        content = {
            "schema": ENSEMBLE_SCHEMA,
            "kind": self.kind,
            "requested": self.requested,
            "seed": self.seed,
            "verdict": self.verdict,
            "warnings": [d.to_json() for d in self.warnings],
            "parts": self.parts,
            "fit": self.fit.to_json(),
        }
        document: dict[str, Any] = to_plain(content)
        return document

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> Ensemble:
        """Rebuild an ensemble from the plain data of `to_json`.

        Raises:
            ValueError, TypeError, LookupError, AttributeError, OverflowError: data of another form.
        """
        check_schema(content, ENSEMBLE_SCHEMA)
        kind: type[Fit] | type[Fits] = Fits if content["fit"]["schema"] == FITS_SCHEMA else Fit
        stored = read(_Stored, content, READERS)
        fit = kind.of_json(content["fit"])
        return cls(stored.kind, stored.requested, stored.seed, fit, stored.parts, stored.warnings)

    @classmethod
    def load(cls, path: str | Path) -> Ensemble:
        """Read an ensemble written by `save`.

        Raises:
            LawdslError: the file does not exist, or is not an ensemble.
        """
        return load(path, cls.of_json)


@dataclass(frozen=True)
class _Stored:
    """An ensemble as stored, without its single fit."""

    kind: Annotated[str, OneOf(*KINDS)]
    requested: int
    seed: int
    parts: tuple[EnsemblePart, ...]
    warnings: tuple[Diagnostic, ...]


def member_predictions(
    fit: Fit, part: EnsemblePart, table: Any, columns: Mapping[str, str]
) -> Array:
    """The predictions of each member at the rows of a table, shape (members, rows).

    Args:
        fit: the single fit.
        part: the members.
        table: the table, as for `Fit.predict`.
        columns: variable -> column, where other than fitted.

    Raises:
        LawdslError: a column that is missing, or a value outside the law's domain.
    """
    law = fit.read_law()
    fitted = {q.name: fit.data.columns[q.name] for q in law.variables}
    rows = read_table(table, columns, fitted=fitted)
    columns_of_fit = {name: column for name, column in fitted.items() if column in rows.columns}
    points = bind(law, rows, {**columns_of_fit, **columns}, target=False).columns
    compiled = fit.compiled(law, law.objective.log)
    problem = compiled.problem(points, np.ones(points.shape[1]), law.objective, None)
    with np.errstate(all="ignore"):  # a member may overflow far from the rows
        return np.stack(
            [problem.predictions(np.array([member]))[0].copy() for member in part.members]
        )
