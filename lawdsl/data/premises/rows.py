"""The rows of a fit as the checks of premises see them: a law, its columns, and all others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.units import Dimension, size_and_dimension
from lawdsl.data.drafts.column_names import read_name
from lawdsl.data.premises.column_roles import columns_with_role, words_of
from lawdsl.data.row_codes import row_codes
from lawdsl.data.table import Table

if TYPE_CHECKING:
    from lawdsl.law.law import Law, Quantity

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

LENGTHS: tuple[Dimension, ...] = ((("token", 1),), (("step", 1),))
"""The units of the length of training."""


@dataclass(frozen=True)
class PremiseRows:
    """The rows of a table, bound to a law.

    Attributes:
        law: the law.
        table: the rows, with all columns of the source.
        bound: variable or output -> column.
        values: variable or output -> its values in the law's units, shape (rows,).
    """

    law: Law
    table: Table
    bound: Mapping[str, str]
    values: Mapping[str, Array]

    def columns(self, role: str) -> list[str]:
        """The columns with a role that the law does not use."""
        return [name for name in columns_with_role(self.table, role) if not self.uses(name)]

    def uses(self, column: str) -> bool:
        """Whether the law uses a column: as a variable, in a formula, or for its labels."""
        declared = self.law.declarations
        sets = {name for index in declared.indices.values() for name in (index.over,)}
        if column in {*self.bound.values(), *declared.indices, *sets}:
            return True
        words = words_of(column)
        formulas = [text for text in self.bound.values() if text in self.table.computed]
        return any(f" {words} " in f" {words_of(text)} " for text in formulas)

    def mentions(self, *words: str) -> bool:
        """Whether a variable of the law has a word in its name or its description."""
        texts = [f"{words_of(q.name)} {(q.doc or '').lower()}" for q in self.law.variables]
        return any(word in text for word in words for text in texts)

    @property
    def length(self) -> Quantity | None:
        """The variable that is the length of training; None without one that varies."""
        for q in self.law.variables:
            dimension = size_and_dimension(q.unit)[1] if q.unit else None
            named = q.unit is None and (
                read_name(q.name).quantity in ("D", "S") or "token" in (q.doc or "").lower()
            )
            if (dimension in LENGTHS or (named and not q.is_share)) and q.name in self.values:
                if np.ptp(self.values[q.name]) > 0:
                    return q
        return None

    def settings_except(self, name: str) -> Codes:
        """A number for each setting of the other variables, shape (rows,)."""
        others = [self.values[q.name] for q in self.law.variables if q.name != name]
        return row_codes(others, len(self.table))
