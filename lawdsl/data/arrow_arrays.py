"""NumPy arrays <-> Arrow arrays, without pandas.

`pa.array` and `to_numpy` import pandas if it is installed, which takes half a second per command;
these functions share the memory of the numbers instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.lazy_modules import lazy_module

if TYPE_CHECKING:
    import pyarrow as pa
else:  # it takes long to load, and values given as numbers need none of it
    pa = lazy_module("pyarrow")

MAX_BYTES_OF_NUMBER = 8
"""Arrow has no longer numbers of those that NumPy has."""
MAX_BYTES_OF_TEXTS = 2**31 - 1
"""The offsets of Arrow's type `string` have 32 bits."""


def to_arrow(values: NDArray[Any]) -> pa.Array:
    """Convert values to an Arrow array, as `pa.array(values)` does.

    Args:
        values: the values, shape (rows,).

    Raises:
        pa.ArrowException, TypeError: values that Arrow cannot represent.
    """
    kind = values.dtype
    if type(values) is np.ndarray and kind.isnative and kind.itemsize <= MAX_BYTES_OF_NUMBER:
        if kind.kind in "iuf":
            buffer = pa.py_buffer(np.ascontiguousarray(values))
            return pa.Array.from_buffers(pa.from_numpy_dtype(kind), len(values), [None, buffer])
        if kind.kind == "b":
            buffer = pa.py_buffer(np.packbits(values, bitorder="little"))
            return pa.Array.from_buffers(pa.bool_(), len(values), [None, buffer])
    if type(values) is np.ndarray and kind.kind == "U":
        return texts_to_arrow(values.tolist())
    return pa.array(values)  # a masked array, bytes, objects


def texts_to_arrow(texts: Sequence[str]) -> pa.Array:
    """Convert texts to an Arrow array, as `pa.array(texts)` does.

    Args:
        texts: the texts.

    Raises:
        pa.ArrowException, TypeError: texts that Arrow cannot represent.
    """
    try:
        encoded = [text.encode() for text in texts]
    except UnicodeEncodeError:  # half of a surrogate pair
        return pa.array(texts)
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    if offsets[-1] > MAX_BYTES_OF_TEXTS:
        return pa.array(texts)
    buffers = [pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(b"".join(encoded))]
    return pa.StringArray.from_buffers(len(encoded), *buffers)


def to_numpy(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Convert a column of numbers or booleans as its method `to_numpy` does, shape (rows,).

    Args:
        column: the column; missing numbers become nan.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if not column.null_count:
        if pa.types.is_boolean(kind):
            return np.from_dlpack(column.cast(pa.uint8())).astype(bool)
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            return np.from_dlpack(column)
    return column.to_numpy(zero_copy_only=False)
