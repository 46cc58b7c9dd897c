"""Columns given as plain numbers, which are used as they are: most tables of values to predict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.lazy_modules import lazy_module
from lawdsl.data.arrow_arrays import MAX_BYTES_OF_NUMBER, to_arrow

pa: Any = lazy_module("pyarrow")  # takes longer to load than a prediction


class NumberColumns(Mapping[str, Any]):
    """Columns as Arrow has them, each of which is made of its numbers when it is asked for.

    Args:
        arrays: column name -> its numbers, shape (rows,).
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = dict(arrays)

    def __getitem__(self, name: str) -> Any:
        return pa.chunked_array([to_arrow(self._arrays[name])])

    def __contains__(self, name: object) -> bool:
        return name in self._arrays  # without making the column

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column as float64, shape (rows,).

        Args:
            name: the column.

        Raises:
            KeyError: the table has no column of this name.
        """
        return self._arrays[name].astype(np.float64)  # integers beyond 2^53 are rounded


def plain_numbers(values: Any) -> NDArray[Any] | None:
    """A list of one or more Python numbers as an array; None for anything else.

    Args:
        values: the cells of a column.
    """
    if (
        not isinstance(values, list | tuple)
        or not values
        or not set(map(type, values)) <= {int, float}
    ):
        return None
    array = np.asarray(values)
    is_number = array.dtype.kind in "iuf" and array.dtype.itemsize <= MAX_BYTES_OF_NUMBER
    return array if is_number else None
