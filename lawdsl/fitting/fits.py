"""The result of fitting a law with index sets: a fit for the rows of each label, or one for all."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.data.labels import Labelled, labelled
from lawdsl.data.tables import read_table
from lawdsl.diagnostics import Diagnostic, LawdslError
from lawdsl.files import plain, write
from lawdsl.fitting.fitted import Fit
from lawdsl.fitting.keeping import VERDICTS, altered, declarations
from lawdsl.fitting.records import FittedLaw, Held, Parameter
from lawdsl.language.instances.instance import row_indices
from lawdsl.law import Law

Array = NDArray[np.float64]

SCHEMA = "fits 1"


@dataclass(frozen=True)
class Fits:
    """A law with index sets, fitted to a table.

    Where no parameter is of two labels of the rows, those of each label have a fit of their own.

    Attributes:
        law: the law that was fitted.
        labels: set -> its labels.
        parts: a fit for each label of the rows, or a single one.
        columns: variable, output or set -> column, or pattern of columns, as they were given.
        diagnostics: what there is to say of the table as a whole.
    """

    law: FittedLaw = field(repr=False)
    labels: Mapping[str, tuple[str, ...]]
    parts: tuple[Fit, ...]
    columns: Mapping[str, str]
    warnings: tuple[Diagnostic, ...] = field(default=(), repr=False)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Parameter of each label, `t[github, web]` -> fitted parameter."""
        return {name: p for part in self.parts for name, p in part.parameters.items()}

    @property
    def held(self) -> dict[str, Held]:
        """The parameters that are fixed, tied to others, or left by an `identify`."""
        return {name: h for part in self.parts for name, h in part.held.items()}

    @property
    def values(self) -> dict[str, float]:
        """Parameter of each label -> value, those that are held among them."""
        found = {name: p.value for name, p in self.parameters.items()}
        return found | {name: h.value for name, h in self.held.items()}

    @property
    def verdict(self) -> str:
        """That of the worst part."""
        found = [*(part.verdict for part in self.parts), *(["caution"] if self.warnings else [])]
        return max(found, key=VERDICTS.index)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What the verdicts rest on, each with the label that it is about."""
        found = [*self.warnings]
        for part in self.parts:
            label = label_of(part)
            for d in part.diagnostics:
                place = f"{label}, {d.place}" if label and d.place else label or d.place
                found.append(replace(d, place=place))
        return tuple(found)

    @property
    def objective(self) -> float:
        """The sum of what was minimised."""
        return math.fsum(part.objective.sum for part in self.parts)

    def part(self, label: str) -> Fit:
        """The fit of the rows with a label.

        Raises:
            KeyError: there is none of that label alone.
        """
        return {label_of(part): part for part in self.parts}[label]

    def read_law(self) -> Law:
        """The fitted law, from the text kept in the fits.

        Raises:
            LawdslError: the text is not the one that was fitted.
        """
        law = Law(declarations(self.law))
        if self.law.settings:
            law = law.with_settings(**self.law.settings)
        for bound in self.law.dropped:
            law = law.without(bound)
        for bound in self.law.added:
            law = law.with_bound(bound)
        law = law.holding(self.law.held)
        if law.digest != self.law.digest:
            raise altered("its law is not the one that was fitted")
        return law

    def predict(self, table: Any, /, **columns: str) -> Array:
        """The fitted law on the rows of a table.

        Args:
            table: a path, a data frame, or a mapping of arrays.
            columns: variable or set -> column, or pattern of columns, where they differ from those
                fitted.

        Returns:
            Shape (rows,) where the table says the label of each row, or the law predicts one
            number; else (rows, labels).

        Raises:
            LawdslError: a column that is missing, a label that was not fitted, a value outside the
                law's domain.
        """
        return self.predict_with_warnings(table, **columns)[0]

    def predict_with_warnings(
        self, table: Any, /, **columns: str
    ) -> tuple[Array, tuple[Diagnostic, ...]]:
        """The same, and a warning for each variable that leaves the range it was fitted on."""
        law = self.read_law()
        rows = read_table(table)
        known = self._columns(law, rows.columns)
        found = labelled(
            law.declarations, rows, {**known, **columns}, target=False, known=self.labels
        )
        if set(found.of_rows) == set(row_indices(law.declarations)):
            return self._by_rows(found)
        missing = [i for i in row_indices(law.declarations) if i not in found.of_rows]
        if missing != list(law.declarations.output.indices) or len(self.parts) == 1:
            over = law.declarations.indices[missing[0]].over
            message = f"no column says the label of each row over {over}"
            help = f"name the column: {over}=COLUMN"
            raise LawdslError(Diagnostic("D0104", message, place=rows.name, help=help))
        made = [self._part(part, found, {}) for part in self.parts]
        warnings = tuple(dict.fromkeys(d for _, more in made for d in more))
        return np.stack([values for values, _ in made], axis=1), (*found.warnings, *warnings)

    @property
    def outputs(self) -> list[str]:
        """The labels of the columns that `predict` gives where rows have none."""
        return [label_of(part) for part in self.parts]

    def _columns(self, law: Law, there: Mapping[str, Any]) -> dict[str, str]:
        """The columns that were fitted, as far as the table has such."""
        found = {}
        for name, column in self.columns.items():
            before, star, after = column.partition("*")
            alike = any(c.startswith(before) and c.endswith(after) for c in there)
            if name != law.output and (column in there or (star and alike)):
                found[name] = column
        return found

    def _by_rows(self, found: Labelled) -> tuple[Array, tuple[Diagnostic, ...]]:
        """Each row with the part of its label."""
        predicted = np.full(len(found.table), np.nan)
        warnings: list[Diagnostic] = list(found.warnings)
        for part in self.parts:
            instance = part.law.instance
            assert instance is not None
            mine = np.ones(len(found.table), dtype=bool)
            for index, label in instance.at.items():
                mine &= np.array(found.of_rows[index]) == label
            if mine.any():
                predicted[mine], more = self._part(part, found, instance.at)
                warnings += more
        return predicted, tuple(dict.fromkeys(warnings))

    def _part(
        self, part: Fit, found: Labelled, at: Mapping[str, str]
    ) -> tuple[Array, tuple[Diagnostic, ...]]:
        return part.predict_with_warnings(found.keep(at), **found.columns)

    def to_json(self) -> dict[str, Any]:
        """The fits as plain data; the keys are stable."""
        content = {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "labels": {over: list(labels) for over, labels in self.labels.items()},
            "values": self.values,
            "objective": self.objective,
            "columns": dict(self.columns),
            "warnings": [d.to_json() for d in self.warnings],
            "parts": [part.to_json() for part in self.parts],
            "law": {
                "name": self.law.name,
                "digest": self.law.digest,
                "texts": dict(self.law.texts),
                "settings": dict(self.law.settings),
                "dropped": list(self.law.dropped),
                "added": list(self.law.added),
                "held": list(self.law.held),
            },
        }
        found: dict[str, Any] = plain(content)
        return found

    def save(self, path: str | Path) -> None:
        """Write the fits as JSON, whole or not at all.

        Raises:
            LawdslError: the file cannot be written.
        """
        text = json.dumps(self.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        try:
            write(Path(path), text)
        except OSError as error:
            message = f"the fit cannot be written: {error.strerror}"
            help = "give the path of a file in a folder that you may write to"
            raise LawdslError(Diagnostic("F0108", message, place=str(path), help=help)) from None


def label_of(part: Fit) -> str:
    """The label of the rows of a part; empty where it is all there is."""
    return part.law.instance.text if part.law.instance else ""
