"""Fits -> predictions and JSON: one fit for each label of the rows of a law, or one for all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.presentation import Exportable, Presented
from lawdsl.core.records import read, to_plain
from lawdsl.core.warning_categories import ExtrapolationWarning, NotTrustedWarning, warn
from lawdsl.data.label_columns import binding_name
from lawdsl.fitting.findings_by_label import label_of, merge_findings
from lawdsl.fitting.fits_record import FitsRecord
from lawdsl.fitting.options import LEARNED, check_amplitude, check_level
from lawdsl.fitting.predict_by_label import BandOptions, predict_rows
from lawdsl.fitting.prediction_bands import Band, law_error_amplitude
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_parts import FixedParameter, Parameter
from lawdsl.fitting.storage import (
    ENSEMBLE_SCHEMA,
    FITS_BY_GROUP_SCHEMA,
    FITS_SCHEMA,
    READERS,
    VERDICTS,
    check_schema,
    load,
)
from lawdsl.fitting.values_by_name import ValuesByName, check_complete, check_names, elements
from lawdsl.fitting.verdicts import NEEDS, NOT_TRUSTED, verdict_for
from lawdsl.language.instances.instance import row_indices

if TYPE_CHECKING:
    import sympy as sp

Array = NDArray[np.float64]

# of intervals: a band marks undetermined predictions itself, by infinite ends
UNDETERMINED = "F0126"


@dataclass(frozen=True)
class Fits(FitsRecord, Presented, Exportable):
    """A law with index sets, fitted to a table: its record, with predictions.

    The attributes are those of `FitsRecord`.
    """

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Parameter of each label, `t[github, web]` -> fitted parameter."""
        return {name: p for part in self.parts for name, p in part.parameters.items()}

    @property
    def held(self) -> dict[str, FixedParameter]:
        """The parameters that are fixed, tied to others, or determined by an `identify`."""
        return {name: h for part in self.parts for name, h in part.held.items()}

    @property
    def values(self) -> dict[str, float]:
        """Parameter of each label -> value, including fixed and tied ones."""
        values = {name: p.value for name, p in self.parameters.items()}
        return values | {name: h.value for name, h in self.held.items()}

    @property
    def verdict(self) -> str:
        """The worst verdict of the parts."""
        verdicts = [*(part.verdict for part in self.parts), *(["caution"] if self.warnings else [])]
        return max(verdicts, key=VERDICTS.index)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The findings on which the verdicts are based, each with the labels that it concerns."""
        return (*self.warnings, *merge_findings(self.parts))

    @property
    def objective(self) -> float:
        """The sum of the objectives of the parts."""
        return math.fsum(part.objective.sum for part in self.parts)

    def part(self, label: str) -> Fit:
        """The fit of the rows with a label.

        Raises:
            KeyError: no part has only this label.
        """
        return {label_of(part): part for part in self.parts}[label]

    @property
    def expressions(self) -> dict[str, sp.Expr]:
        """Label -> the fitted formula of its rows, as for `Fit.expression`; variables with
        subscripts are symbols such as `r[web]`. If one formula applies to all labels, its key is
        "".

        Raises:
            LawdslError: the law of the fits was altered.
        """
        self.read_law()
        return {label_of(part): part.expression for part in self.parts}

    def __call__(self, /, **values: Any) -> Any:
        """Predict the output at values of the variables: `fits(r={"web": 0.7, "code": 0.3})`.

        Args:
            values: variable -> number or array, in the law's units; of a variable with subscripts a
                mapping of labels to these, or an array whose last axis is that of the labels;
                set -> label or array of labels, `validation="code"`. They broadcast as in NumPy.

        Returns:
            A float where all values are scalars, else an array of their common shape; for a law
            with one prediction per label, label -> prediction, unless a label is given.

        Raises:
            LawdslError: as `predict` raises; a name that the law does not have (D0116), values
                that are not numbers (D0106) or do not broadcast (D0151).
        """
        law = self.read_law()
        variables = self.elements_of_variables(law)
        sets = [binding_name(law.declarations, i) for i in row_indices(law.declarations)]
        check_names(law.name, values, [*variables, *sets])
        measured = law.declarations.measures
        check_complete(law.name, values, [name for name in variables if name not in measured])
        numbers: dict[str, Any] = {}
        for name in (name for name in values if name in variables):
            texts = variables[name]
            numbers |= elements(name, values[name], texts) if texts else {name: values[name]}
        labels = {name: values[name] for name in values if name not in variables}
        points = ValuesByName.of(numbers, labels)
        predicted = self.predict(points.columns, **{name: name for name in labels})
        if predicted.ndim == 1:
            return points.shaped(predicted)
        columns = zip(self.outputs, predicted.T, strict=True)
        return {label: points.shaped(column) for label, column in columns}

    def predict(self, table: Any, /, *, runs: Any = None, **columns: str) -> Array:
        """Predict the output on the rows of a table.

        Args:
            table: a path, a data frame, or a mapping of arrays.
            runs: a table of runs of further domains, from which the law's variables are measured.
            columns: variable or set -> column, or pattern of columns, where other than fitted.

        Returns:
            Shape (rows,) where the table contains the label of each row, or the law predicts one
            number; else (rows, labels). Outside the fitted range an `ExtrapolationWarning` is
            issued.

        Raises:
            LawdslError: a column that is missing, a label that was not fitted, a value outside the
                law's domain.
        """
        values, diagnostics = self.predict_with_warnings(table, runs=runs, **columns)
        _warn_of(diagnostics)
        return values

    def predict_with_warnings(
        self, table: Any, /, *, runs: Any = None, **columns: str
    ) -> tuple[Array, tuple[Diagnostic, ...]]:
        """Predict the output on the rows of a table, with warnings.

        Args:
            table: a path, a data frame, or a mapping of arrays.
            runs: a table of runs of further domains, from which the law's variables are measured.
            columns: variable or set -> column, or pattern of columns, where other than fitted.

        Returns:
            The predictions, of the same shape as from `predict`, and a warning for each variable
            outside the range of the fitted rows.

        Raises:
            LawdslError: a column that is missing, a label that was not fitted, a value outside the
                law's domain.
        """
        (values,), warnings = predict_rows(self, table, runs, columns)
        return values, warnings

    def predict_with_errors(
        self,
        table: Any,
        /,
        *,
        level: float = 0.95,
        discrepancy: float | Literal["learned"] | None = None,
        runs: Any = None,
        **columns: str,
    ) -> Band:
        """Predict the output on the rows of a table, with intervals from the fit of each label, as
        `Fit.predict_with_errors` does.

        Args:
            table: a path, a data frame, or a mapping of arrays.
            level: 0.95 for 95 % intervals.
            discrepancy: 0.02 for a law that is wrong by 2 % per decade, 0 for one without error;
                "learned" for 0.02, widened by the rolled check of each part. By default 0.02; but
                0, with a warning (F0134), if a part lacks the required rows.
            runs: a table of runs of further domains, from which the law's variables are measured.
            columns: variable or set -> column, or pattern of columns, where other than fitted.

        Raises:
            LawdslError: a table that cannot be used, a level outside 0.5 to 0.999, or a fit without
                a `spread` (F0125).
        """
        check_level(level)
        if discrepancy is not None:
            check_amplitude(discrepancy)
        # the default is the same for all parts
        amplitudes = [law_error_amplitude(part, discrepancy) for part in self.parts]
        least = min(amplitude for amplitude, _ in amplitudes)
        options = BandOptions(level, LEARNED if least and discrepancy == LEARNED else least)
        arrays, warnings = predict_rows(self, table, runs, columns, options)
        notes = dict.fromkeys(note for _, notes in amplitudes for note in notes)
        _warn_of(d for d in warnings if d.code != UNDETERMINED)
        band = Band.of_arrays(arrays, level, tuple(dict.fromkeys((*warnings, *notes))))
        return replace(band, labels=tuple(self.outputs)) if arrays.ndim == 3 else band

    @property
    def widening(self) -> dict[str, float]:
        """Label -> the factor that multiplies a learned error of the law; 1 without a rolled check."""
        return {label_of(part): part.widening for part in self.parts}

    def verdict_for(self, use: str) -> str:
        """Whether the fits of all labels can be trusted for one use.

        Args:
            use: `optimum`, `parameters`, `residuals` or `prediction`.

        Raises:
            KeyError: another use.
        """
        return verdict_for(use, [*self.warnings, *(d for p in self.parts for d in p.diagnostics)])

    @property
    def has_law_error(self) -> bool:
        """Whether predictions of all labels can take the error of the law into account."""
        return all(part.has_law_error for part in self.parts)

    @property
    def outputs(self) -> list[str]:
        """The labels of the columns that `predict` returns if rows contain no label."""
        return [label_of(part) for part in self.parts]

    def to_json(self) -> dict[str, Any]:
        """The fits as plain data; the keys are stable."""
        content = {
            "schema": FITS_SCHEMA,
            "verdict": self.verdict,
            "verdicts": {use: self.verdict_for(use) for use in NEEDS},
            "labels": {over: list(labels) for over, labels in self.labels.items()},
            "values": self.values,
            "objective": self.objective,
            "columns": dict(self.columns),
            "warnings": [d.to_json() for d in self.warnings],
            "dropped": self.dropped,
            "measured": self.measured and self.measured.to_json(),
            "rests": {name: list(ends) for name, ends in self.rests.items()},
            "parts": [part.to_json() for part in self.parts],
            "law": self.law,
        }
        document: dict[str, Any] = to_plain(content)
        return document

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> Fits:
        """Rebuild fits from the plain data of `to_json`.

        Raises:
            ValueError, TypeError, LookupError, AttributeError, OverflowError: data of another form.
        """
        check_schema(content, FITS_SCHEMA)
        if not content["parts"]:
            raise ValueError("no parts")
        return read(cls, content, READERS | {Fit: Fit.of_json})


def _warn_of(diagnostics: Iterable[Diagnostic]) -> None:
    """Warn the caller of a public method about points at which the fits are not reliable, and about
    fits that are not trusted.
    """
    listed = list(diagnostics)
    untrusted = [d for d in listed if d.code == NOT_TRUSTED]
    warn(untrusted, NotTrustedWarning, stacklevel=4)
    warn([d for d in listed if d not in untrusted], ExtrapolationWarning, stacklevel=4)


def load_fit(path: str | Path) -> Fit | Fits:
    """Read a file written by `save`: a fit, or the fits of a law with index sets.

    Raises:
        LawdslError: the file does not exist, or is not a fit.
    """
    return fit_of(path, None)


def fit_of(path: str | Path, text: str | None) -> Fit | Fits:
    """A fit, or the fits of a law with index sets, from the text of its file.

    Args:
        path: the path of the file.
        text: the text; None if it has not been read.

    Raises:
        LawdslError: the file does not exist, or is not a fit.
    """
    return load(path, _either, text)


def _either(content: Any) -> Fit | Fits:
    if isinstance(content, Mapping) and content.get("schema") == FITS_BY_GROUP_SCHEMA:
        message = "these are the fits of many groups, where one fit is expected"
        help = "choose a group in Python: lawdsl.FitsByGroup.load(FILE)[GROUP].save('fit.json')"
        raise LawdslError(Diagnostic("F0108", message, help=help))
    if isinstance(content, Mapping) and content.get("schema") == ENSEMBLE_SCHEMA:
        message = "this is an ensemble of fits, where one fit is expected"
        help = (
            "`lawdsl predict` takes it, and in Python `lawdsl.Ensemble.load`; for other commands fit the "
            "law without --ensemble"
        )
        raise LawdslError(Diagnostic("F0108", message, help=help))
    several = isinstance(content, Mapping) and content.get("schema") == FITS_SCHEMA
    return Fits.of_json(content) if several else Fit.of_json(content)
