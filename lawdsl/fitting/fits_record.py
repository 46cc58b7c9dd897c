"""The frozen record of the fits of a law with index sets, without values computed from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.data.measured_values import Measured
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_parts import FittedLaw
from lawdsl.fitting.storage import StoredRecord, altered, read_again
from lawdsl.language.instances.instance import Instance, row_indices
from lawdsl.language.label_texts import with_subscripts

if TYPE_CHECKING:
    from lawdsl.law.law import Law


@dataclass(frozen=True)
class FitsRecord(StoredRecord):
    """A law with index sets, fitted to a table.

    If no parameter is shared between labels of the rows, the rows of each label have their own fit.

    Attributes:
        law: the law that was fitted.
        labels: set -> its labels.
        parts: one fit per label of the rows, or a single one.
        columns: variable, output or set -> column, or pattern of columns, as the user gave them.
        warnings: warnings about the table as a whole.
        dropped: the number of rows excluded from all parts: without a label, or with invalid
            shares.
        measured: the variables that the law measures for each domain, and the points of
            measurement.
        rests: share that is 1 minus the others -> its smallest and largest value.
    """

    law: FittedLaw = field(repr=False)
    labels: Mapping[str, tuple[str, ...]]
    parts: tuple[Fit, ...]
    columns: Mapping[str, str]
    warnings: tuple[Diagnostic, ...] = field(default=(), repr=False)
    dropped: int = 0
    measured: Measured | None = None
    rests: Mapping[str, tuple[float, float]] = field(default_factory=dict, repr=False)

    def read_law(self) -> Law:
        """The fitted law, from the text kept in the fits.

        Raises:
            LawdslError: the text has been altered.
        """
        law = read_again(self.law)
        if law.digest != self.law.digest:
            raise altered("its law is not the one that was fitted")
        self._check_parts(law)
        return law

    def _check_parts(self, law: Law) -> None:
        """Raise an error for parts that are not the law at each of the labels."""
        for part in self.parts:
            law_of_part = replace(part.law, digest=self.law.digest, instance=None)
            if part.law.instance is None or law_of_part != self.law:
                raise altered("a part of it is of another law")
            if part.law.instance.labels != self.labels:
                raise altered("a part of it has other labels")
        labels_of_parts = [dict(part.law.instance.at) for part in self.parts if part.law.instance]
        part_indices = [
            index for index in row_indices(law.declarations) if index in labels_of_parts[0]
        ]
        has_labels = all(
            law.declarations.indices[index].over in self.labels for index in part_indices
        )
        if not has_labels or labels_of_parts != list(
            Instance(self.labels).assignments(law.declarations, part_indices)
        ):
            raise altered("its parts are not those of its labels")

    @property
    def apart(self) -> tuple[str, ...]:
        """The indices whose labels have separate fits."""
        instance = self.parts[0].law.instance
        return tuple(instance.at) if instance else ()

    def asked(self, law: Law) -> tuple[str, ...]:
        """The indices whose label each row must contain: those of parameters. If only variables
        have labels, such as measured properties of a domain, a row may have a new label.
        """
        marks = self.parts[0].data.ranges
        return tuple(
            index
            for index in row_indices(law.declarations)
            if index in self.apart or any(name.startswith(f"[{index} = ") for name in marks)
        )

    def elements_of_variables(self, law: Law) -> dict[str, dict[str, str]]:
        """Variable -> label -> the name of that element, `r[web]`; no labels for a variable with
        one value per row.

        Args:
            law: the law of the fits.
        """
        instance = self.parts[0].law.instance
        assert instance is not None
        names: dict[str, dict[str, str]] = {}
        for symbol in law.declarations.symbols.values():
            if symbol.kind == "variable":
                by_label = symbol.indices and symbol.name not in instance.by_row
                labels = (
                    self.labels[law.declarations.indices[symbol.indices[0]].over]
                    if by_label
                    else ()
                )
                names[symbol.name] = {x: with_subscripts(symbol.name, (x,)) for x in labels}
        return names
