"""Law with index sets + columns + parameters -> the arrays of the leaves of its formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lawdsl.language import tree
from lawdsl.language.instances.identities import CONSTANT, linear
from lawdsl.language.instances.instance import Differing, IndexValue, Instance, indicator
from lawdsl.language.label_texts import with_subscripts
from lawdsl.language.symbols import Declarations

if TYPE_CHECKING:
    import scipy.sparse

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Leaf = tuple[str, tuple[IndexValue | int, ...]]  # a name and its subscripts

OUTER_AXES = 2  # axes before those of the indices: starts and rows
KEPT_ROWS = 100_000  # of a longer table, arrays of variables are not kept, to save memory
SHARE_ATOL = 1e-12  # below it, a share is rounding error


@dataclass(frozen=True)
class Leaves:
    """The parameters and variables of a law with index sets at given labels.

    Attributes:
        declared: the law, with its index sets.
        grounded: the law written out for the labels.
        variables: names of the columns, in their order.
        parameters: names of the free parameters, in their order.
        settings: setting or fixed parameter -> value.
    """

    declared: Declarations
    grounded: Declarations
    variables: tuple[str, ...]
    parameters: tuple[str, ...]
    settings: Mapping[str, float]

    @property
    def instance(self) -> Instance:
        """The labels of the index sets."""
        assert self.grounded.instance is not None
        return self.grounded.instance

    @cached_property
    def rows(self) -> dict[str, IndexValue]:
        """The label, or labels by row, of each index of the rows."""
        return self.instance.rows(self.declared)

    def axis(self, index: str) -> int:
        """The axis of an index, after those of starts and rows."""
        return OUTER_AXES + list(self.declared.indices).index(index)

    def is_leaf(self, name: str) -> bool:
        """Whether a name is a setting, parameter or variable, and not a definition."""
        return self.declared.symbols[name].kind in ("setting", "parameter", "variable")

    def is_parameter(self, name: str) -> bool:
        """Whether a name is a parameter."""
        return self.declared.symbols[name].kind == "parameter"

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Free parameters, then tied ones and constants -> position among all of them."""
        tied = [n for n in self.forms if n not in self.parameters]
        return {name: number for number, name in enumerate((*self.parameters, *tied))}

    @cached_property
    def forms(self) -> dict[str, dict[str, float]]:
        """Element of a parameter that is not free -> its coefficients of the free ones."""
        forms = {}
        symbols = self.grounded.symbols
        for name, symbol in symbols.items():
            if symbol.kind == "setting":
                forms[name] = {CONSTANT: self.settings[name]}
            elif symbol.kind == "let" and symbol.determined_by == "tie":
                assert symbol.formula is not None
                form = linear(symbol.formula, symbols)
                if form is not None:
                    forms[name] = {n: float(x) for n, x in form.items()}
        return forms

    @cached_property
    def affine_map(self) -> tuple[scipy.sparse.csr_array, Array]:
        """The affine map from the free parameters to all: a sparse matrix and a constant vector."""
        count = len(self.parameters)
        rows, columns, entries = list(range(count)), list(range(count)), [1.0] * count
        added = np.zeros(len(self.numbers))
        for name, form in self.forms.items():
            for part, factor in form.items():
                if part == CONSTANT:
                    added[self.numbers[name]] = factor
                else:
                    rows.append(self.numbers[name])
                    columns.append(self.numbers[part])
                    entries.append(factor)
        import scipy.sparse  # slow to import, and few laws have so many parameters

        shape = (len(self.numbers), count)
        return scipy.sparse.csr_array((entries, (rows, columns)), shape=shape), added


class Source:
    """The leaves of a law on one table, at many parameter vectors.

    Args:
        leaves: the leaves of the law.
        columns: its variables, shape (variables, rows).
        everything: all parameters, including tied ones, shape (starts, parameters).
        known: the positions of parameters that earlier evaluations on these columns have found; it is
            extended.
        arrays: the arrays of variables that they have made, unless the table is long; it is extended.
    """

    def __init__(
        self,
        leaves: Leaves,
        columns: Array,
        everything: Array,
        known: dict[Leaf, Index] | None = None,
        arrays: dict[Leaf, Array] | None = None,
    ) -> None:
        self.leaves, self.columns, self.everything = leaves, columns, everything
        self.known = {} if known is None else known
        self.arrays = {} if arrays is None else arrays

    def value(self, name: str, labels: tuple[IndexValue | int, ...]) -> Array:
        """The array of one leaf, shape (starts or 1, rows or 1, a length for each index).

        Args:
            name: the name of the parameter or variable.
            labels: its subscripts.
        """
        if self.leaves.declared.symbols[name].kind == "variable":
            if self.columns.shape[1] > KEPT_ROWS:
                return self._variable_array(name, labels)
            if (name, labels) not in self.arrays:
                self.arrays[name, labels] = self._variable_array(name, labels)
            return self.arrays[name, labels]
        return self.everything[:, self.numbers(name, labels)]

    def numbers(self, name: str, labels: tuple[IndexValue | int, ...]) -> Index:
        """The positions of a parameter's elements, shape (rows or 1, a length for each index).

        Args:
            name: the name of the parameter.
            labels: its subscripts.
        """
        if (name, labels) not in self.known:
            self.known[name, labels] = self._numbers(name, labels)
        return self.known[name, labels]

    def _numbers(self, name: str, labels: tuple[IndexValue | int, ...]) -> Index:
        leaves = self.leaves
        labels_of_axes = [
            self._labels(subscript, position, name) for position, subscript in enumerate(labels)
        ]
        elements = (
            [with_subscripts(name, chosen) for chosen in product(*labels_of_axes)]
            if labels_of_axes
            else [name]
        )
        positions = np.array([leaves.numbers[element] for element in elements], dtype=np.int64)
        positions = positions.reshape([len(axis_labels) for axis_labels in labels_of_axes])
        if not labels:
            return positions.reshape(self._shape())
        axes = zip(labels, labels_of_axes, strict=True)
        return positions[
            tuple(self._label_positions(subscript, axis_labels) for subscript, axis_labels in axes)
        ]

    def _labels(self, subscript: IndexValue | int, k: int, name: str) -> list[str]:
        """The labels that the subscript of a name at a position takes."""
        if isinstance(subscript, str):
            return [subscript]
        index = self.leaves.declared.symbols[name].indices[k]
        return list(self.leaves.instance.of(self.leaves.declared, index))

    def _label_positions(self, subscript: IndexValue | int, labels: list[str]) -> Index:
        """The position of the label in `labels`, for each row and along the axis of the index."""
        if isinstance(subscript, Differing):
            names = [indicator(subscript.index, label) for label in labels]
            numbers = [self.leaves.variables.index(name) for name in names]
            first, last = numbers[0], numbers[-1] + 1
            if numbers == list(range(first, last)):  # one label a row: its number is a product
                found = np.rint(np.arange(last - first, dtype=float) @ self.columns[first:last])
                return found.astype(np.int64).reshape(self._shape(rows=-1))
            return np.argmax(self.columns[numbers], axis=0).reshape(self._shape(rows=-1))
        if isinstance(subscript, str):
            return np.zeros(self._shape(), dtype=np.int64)
        return np.arange(len(labels)).reshape(self._shape(**{f"axis{subscript}": len(labels)}))

    def _shape(self, rows: int = 1, **axes: int) -> tuple[int, ...]:
        """The shape of an array with an axis for the rows and one for each index."""
        count = len(self.leaves.declared.indices)
        return rows, *(axes.get(f"axis{k + OUTER_AXES}", 1) for k in range(count))

    def _variable_array(self, name: str, labels: tuple[IndexValue | int, ...]) -> Array:
        """The array of a variable, shape (1, rows or 1, a length for each index)."""
        leaves = self.leaves
        symbol = leaves.declared.symbols[name]
        if not symbol.indices or name in leaves.instance.by_row:
            return self._column(symbol.text).reshape(1, *self._shape(rows=-1))
        set_labels = self._labels(labels[0], 0, name)
        stacked = np.stack([self._column(with_subscripts(name, (label,))) for label in set_labels])
        rows = np.arange(stacked.shape[1]).reshape(self._shape(rows=-1))
        return stacked[self._label_positions(labels[0], set_labels), rows][None]

    def _column(self, text: str) -> Array:
        leaves = self.leaves
        if text in leaves.variables:
            return self.columns[leaves.variables.index(text)]
        # a share without a column is 1 minus the others
        form = linear(tree.Name(text), leaves.grounded.symbols)
        assert form is not None
        others = [part for part in form if part != CONSTANT]
        return rest_of(np.stack([self._column(part) for part in others]))


def rest_of(shares: Array) -> Array:
    """The share that others leave of 1, max(0, 1 - Σ shares), 0 where that is rounding.

    Args:
        shares: shape (shares, rows).

    Returns:
        Shape (rows,).
    """
    # rounding of the others must not make a share that is 0 positive, or negative
    remainder = 1 - shares.sum(axis=0)
    rest: Array = np.where(remainder < SHARE_ATOL, 0.0, remainder)
    return rest
