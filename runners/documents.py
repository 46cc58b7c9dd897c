"""Files -> documents, one after another: text, JSON lines and Parquet, and folders of them."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from lawdsl.diagnostics import Diagnostic, LawdslError

JSON_LINES = (".jsonl", ".jsonl.gz")
PARQUET = (".parquet", ".pq")
LONGEST = 4 << 20  # characters of a document in a text file; longer ones are cut at a line's end

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Document:
    """A text, and where it was read: a file, with the line or row in it."""

    text: str
    source: str


def find_files(inputs: Sequence[str | Path], glob: str = "*") -> list[Path]:
    """The files that are named, and those in the folders that are named, in the order of names.

    Args:
        glob: of the files in folders; names that begin with a dot are left out.
    Raises:
        LawdslError: there is no such file, or a folder has none that fits.
    """
    found: list[Path] = []
    for given in map(Path, inputs):
        if given.is_dir():
            inside = sorted(path for path in given.rglob(glob) if _is_plain(path, given))
            if not inside:
                message = f"the folder has no file that fits {glob}"
                raise _unreadable(message, given, "give another folder, or another --glob")
            found += inside
        elif given.exists():
            found.append(given)
        else:
            raise _unreadable("there is no such file", given, "give the path of a file or folder")
    return found


def read_documents(
    files: Sequence[Path], text_field: str = "text", progress: Progress | None = None
) -> Iterator[Document]:
    """Every document of the files; a text file is one document.

    Args:
        text_field: the field of a JSON line, or the column of a Parquet file, that has the text.
        progress: called with the bytes read so far, and the bytes of all files.
    Raises:
        LawdslError: a file that is not UTF-8 or not of its kind, with the place.
    """
    total = sum(path.stat().st_size for path in files)
    before = 0

    for path in files:

        def read(done: int, before: int = before) -> None:
            if progress:
                progress(before + done, total)

        try:
            yield from _reader(path)(path, text_field, read)
        except OSError as error:
            raise _unreadable(f"the file cannot be read: {error.strerror or error}", path) from None
        except EOFError:
            raise _unreadable("the compressed file ends too early", path) from None
        before += path.stat().st_size
        read(0, before)


def _is_plain(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return path.is_file() and not hidden


def _reader(path: Path) -> Callable[[Path, str, Callable[[int], None]], Iterator[Document]]:
    name = path.name.lower()
    if name.endswith(JSON_LINES):
        return _json_lines
    return _parquet if name.endswith(PARQUET) else _text


def _text(path: Path, text_field: str, read: Callable[[int], None]) -> Iterator[Document]:
    with path.open("rb") as file:
        number = first = 1
        lines: list[str] = []
        size = start = 0
        for content in file:
            lines.append(_decoded(content, path, number, start))
            size += len(lines[-1])
            start += len(content)
            number += 1
            if size >= LONGEST:
                yield Document("".join(lines), f"{path}:{first}")
                lines, size, first = [], 0, number
                read(start)
        if lines:
            yield Document("".join(lines), str(path))


def _json_lines(path: Path, text_field: str, read: Callable[[int], None]) -> Iterator[Document]:
    with path.open("rb") as raw:
        packed = path.name.lower().endswith(".gz")
        file: IO[bytes] = io.BufferedReader(gzip.GzipFile(fileobj=raw)) if packed else raw  # type: ignore[type-var, assignment, arg-type]
        for number, content in enumerate(file, start=1):
            if content.strip():
                text = _decoded(content, path, number, None)
                yield Document(_field(text, text_field, path, number), f"{path}:{number}")
            if number % 100 == 0:
                read(raw.tell())


def _field(line: str, text_field: str, path: Path, number: int) -> str:
    place = f"{path}:{number}"
    try:
        value: Any = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
        help = "write one JSON object a line, or name the file .txt if it is text"
        raise LawdslError(
            Diagnostic("R0202", f"the line is no JSON: {why}", place=place, help=help)
        ) from None
    if not isinstance(value, dict):
        message = f"the line is no JSON object but a {type(value).__name__}"
        help = f'write one object a line, with the text in the field "{text_field}"'
        raise LawdslError(Diagnostic("R0202", message, place=place, help=help))
    if not isinstance(value.get(text_field), str):
        has = ", ".join(map(str, value)) or "none"
        kind = "is no text" if text_field in value else "is missing"
        raise LawdslError(
            Diagnostic(
                "R0202",
                f'the field "{text_field}" {kind}',
                place=place,
                notes=(f"the fields are: {has}",),
                help="name the field of the text with --text-field",
            )
        )
    return value[text_field]


def _parquet(path: Path, text_field: str, read: Callable[[int], None]) -> Iterator[Document]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        if text_field not in file.schema_arrow.names:
            names = ", ".join(file.schema_arrow.names)
            raise LawdslError(
                Diagnostic(
                    "R0202",
                    f'the column "{text_field}" is missing',
                    place=str(path),
                    notes=(f"the columns are: {names}",),
                    help="name the column of the text with --text-field",
                )
            )
        rows, size = file.metadata.num_rows, path.stat().st_size
        number = 0
        for batch in file.iter_batches(batch_size=256, columns=[text_field]):
            for text in batch.column(0).to_pylist():
                number += 1
                if not isinstance(text, str):
                    message = f'the column "{text_field}" has no text in row {number}'
                    help = "leave the row out, or name another column with --text-field"
                    raise LawdslError(Diagnostic("R0202", message, place=str(path), help=help))
                yield Document(text, f"{path}:{number}")
            read(size * number // rows)
    except pa.ArrowException as error:
        why = str(error).splitlines()[0]
        raise _unreadable(f"this is no readable Parquet file: {why}", path) from None


def _decoded(content: bytes, path: Path, line: int, start: int | None) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        where = f"byte {error.start}" + (" of the line" if start is None else "")
        if start is not None:
            where = f"byte {start + error.start}"
        raise LawdslError(
            Diagnostic(
                "R0201",
                f"the file is not UTF-8 ({where}: 0x{content[error.start]:02x})",
                place=f"{path}:{line}",
                help=f"convert it: iconv -f latin1 -t utf8 {path.name} > converted/{path.name}",
            )
        ) from None


def _unreadable(message: str, path: Path, help: str | None = None) -> LawdslError:
    return LawdslError(Diagnostic("R0203", message, place=str(path), help=help))
