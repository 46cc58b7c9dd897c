"""Parquet <-> table: typed columns, and the notes as JSON in the metadata of the schema.

Apache Parquet, https://parquet.apache.org/docs/file-format/
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lawdsl.data import size_limits
from lawdsl.data.columns import table_from_arrow
from lawdsl.data.formats import RUN_TABLE_SCHEMA, text_instead, unreadable
from lawdsl.data.table import Table

METADATA_KEY = b"lawdsl"  # key of the schema's metadata under which the notes are stored


def read(content: bytes, name: str) -> Table:
    """Read a Parquet file, after checking the size of its data as stated in the footer.

    Args:
        content: the bytes of the file.
        name: its name in messages.

    Raises:
        LawdslError: it is not a readable Parquet file (D0101) or too large (D0150).
    """
    try:
        footer = pq.read_metadata(io.BytesIO(content))
        rows, columns = footer.num_rows, footer.num_columns
        size_limits.check_shape(rows, columns, rows * columns, name)
        groups = footer.num_row_groups
        size_limits.check_shape(groups, columns, groups * columns, name)
        parts = [footer.row_group(g).column(c) for g in range(groups) for c in range(columns)]
        size_limits.check_shape(rows, columns, sum(part.num_values for part in parts), name)
        size = sum(part.total_uncompressed_size for part in parts)
        if size > size_limits.MAX_TABLE_BYTES:
            message = f"uncompressed the table has {size:,} bytes; at most {size_limits.MAX_TABLE_BYTES:,} are read"
            raise size_limits.too_large(message, name)
        schema = (footer.schema.column(c) for c in range(columns))
        texts = [c.path for c in schema if c.physical_type == "BYTE_ARRAY"]
        # repeated texts stay dictionary-encoded until the total length of all texts is known
        table = pq.ParquetFile(io.BytesIO(content), read_dictionary=texts).read()
        size_limits.check_text(sum(map(_text_size, table.itercolumns())), name)
        return table_from_arrow(
            table, name, _notes_of((table.schema.metadata or {}).get(METADATA_KEY))
        )
    except (pa.ArrowException, OSError) as error:
        of_text = text_instead(content, name, "Parquet")
        if of_text is not None:
            raise of_text from None
        why = str(error).splitlines()[0]
        raise unreadable(f"this is not a readable Parquet file: {why}", name) from None


def _text_size(column: Any) -> int:
    """The size (bytes) of a dictionary-encoded column after decoding all its texts."""
    if not pa.types.is_dictionary(column.type):
        return 0
    size = 0
    for chunk in column.chunks:
        if pa.types.is_primitive(chunk.dictionary.type):
            size += len(chunk) * 8
        else:
            lengths = pc.binary_length(chunk.dictionary)
            size += pc.sum(lengths.take(chunk.indices)).as_py() or 0
    return size


def _notes_of(metadata: bytes | None) -> tuple[str, ...]:
    """The notes that a Parquet file carries."""
    try:
        notes = json.loads(metadata or b"{}")["notes"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return ()
    return tuple(map(str, notes)) if isinstance(notes, list) else ()


def write(columns: Mapping[str, Sequence[Any]], notes: Sequence[str]) -> bytes:
    """The content of a Parquet file.

    Args:
        columns: header, with its unit -> a value for each row; None where it is not known.
        notes: the lines of comment on the table.
    """
    metadata = json.dumps({"schema": RUN_TABLE_SCHEMA, "notes": notes}).encode()
    content = pa.table(dict(columns)).replace_schema_metadata({METADATA_KEY: metadata})
    out = io.BytesIO()
    pq.write_table(content, out)
    return out.getvalue()
