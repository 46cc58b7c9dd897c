"""Tables of measurements, written as files with one thing changed, and the refusals they meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import lawdsl

SOURCES = Path(__file__).resolve().parent.parent / "lawdsl"
CHINCHILLA = lawdsl.load("chinchilla")

LINES = [
    "N,D,L",
    "1e8,2e9,3.4248",
    "1e8,2e10,2.9684",
    "1e8,2e11,2.7770",
    "1e9,2e9,2.9942",
    "1e9,2e10,2.5351",
    "1e9,2e11,2.3183",
    "1e10,2e9,2.8034",
    "1e10,2e10,2.3426",
    "1e10,2e11,2.1265",
]
COLUMNS = {name: [float(line.split(",")[i]) for line in LINES[1:]] for i, name in enumerate("NDL")}


def csv(changed: dict[int, str] | None = None, end: str = "\n") -> str:
    """The good table with some of its lines replaced; they are counted from 1."""
    lines = list(LINES)
    for number, text in (changed or {}).items():
        lines[number - 1] = text
    return end.join(lines) + end


def written(folder: Path, content: str | bytes, name: str = "runs.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusals(table: Any, law: Any = CHINCHILLA, **options: Any) -> tuple[lawdsl.Diagnostic, ...]:
    with pytest.raises(lawdsl.LawdslError) as error:
        lawdsl.fit(law, table, starts=2, **options)
    return error.value.diagnostics


def refusal(table: Any, law: Any = CHINCHILLA, **options: Any) -> lawdsl.Diagnostic:
    """The one message that a table is refused with; it says what to do."""
    (diagnostic,) = refusals(table, law, **options)
    assert diagnostic.severity == "error"
    assert diagnostic.help and "\n" not in diagnostic.help
    return diagnostic


def parquet(folder: Path, **columns: Any) -> Path:
    path = folder / "runs.parquet"
    pyarrow.parquet.write_table(pa.table({**COLUMNS, **columns}), path)
    return path


def with_cell(column: str, cell: Any, row: int = 4) -> dict[str, list[Any]]:
    """The good columns with one cell replaced; rows are counted from 1."""
    columns = {name: list(values) for name, values in COLUMNS.items()}
    columns[column][row - 1] = cell
    return columns
