"""Files -> documents, one after another: text, JSON lines, Parquet, and folders of them.

Documents may be tokenized already: lists of integers in Parquet, and data sets of Megatron.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from .megatron import DATA, INDEX, open_megatron

_HALF = re.compile("[\ud800-\udfff]")  # half of a surrogate pair, which is no character by itself

BLOCK = 1 << 20  # bytes that are read at once
MAX_DOCUMENT_CHARACTERS = 4 << 20  # characters of a document in a text file; longer ones are cut
# bytes of a line of JSON, or of a text in Parquet; larger ones are refused
MAX_RECORD_BYTES = 64 << 20
UNPACKED = 1 << 30  # greatest decompressed size of a part of a Parquet file, unless RATIO permits
RATIO = 100  # a compression ratio that is allowed at any size: that of text is 2 to 20

Progress = Callable[[int, int], None]
Read = Callable[[int], None]
Bytes = IO[bytes] | gzip.GzipFile | io.BufferedReader


@dataclass(frozen=True)
class TextDocument:
    """A text and its source: a file, with the line or row in it.

    A tokenized document has `tokens`, shape (tokens,), and no text until it is decoded.
    """

    text: str
    source: str
    tokens: NDArray[Any] | None = None


def find_files(inputs: Sequence[str | Path], glob: str = "*") -> list[Path]:
    """List the given files, and those in the given folders, sorted within a folder.

    Args:
        inputs: files and folders.
        glob: the glob of the files in folders; those whose names, or folders' names, begin with a
            dot are left out.

    Returns:
        Paths of files.

    Raises:
        LawdslError: no such file, or a folder without a matching one (R0203).
    """
    if not Path(glob).name:
        raise _unreadable_error("the glob is empty", Path(glob), "give another one: --glob '*.txt'")
    files: list[Path] = []
    for path in map(Path, inputs):
        if path.is_dir():
            inside = sorted(_inside(path, glob))
            if not inside:
                message = f"no file in the folder matches {glob}"
                raise _unreadable_error(message, path, "give another folder, or another --glob")
            files += inside
        elif path.is_file():
            files.append(path)
        else:
            exists = path.exists()
            message = "this is not a regular file" if exists else "the file does not exist"
            raise _unreadable_error(message, path, "give the path of a file or folder")
    # the index of a Megatron data set represents its tokens, which are in the same folder
    tokens = (path.with_suffix(DATA) if path.suffix == INDEX else path for path in files)
    files = [of if of.is_file() else path for path, of in zip(files, tokens, strict=True)]
    return list(dict.fromkeys(files))


def read_documents(
    files: Sequence[Path],
    text_field: str = "text",
    progress: Progress | None = None,
    *,
    tokens: bool = False,
) -> Iterator[TextDocument]:
    """Yield every document of the files; a text file is one document, or more if it is very long.

    JSON lines (.jsonl, .json), Parquet and data sets of Megatron (.bin) are recognised by their
    names, all else is text; .gz and .zst are decompressed.

    Args:
        files: their paths.
        text_field: the field of a JSON line, or the column of a Parquet file, that has the text.
        progress: called with the number of bytes read so far and that of all files.
        tokens: whether documents may be tokens, in a Megatron data set or a column of lists.

    Returns:
        An iterator over documents.

    Raises:
        LawdslError: text that is not UTF-8 (R0201), not of its kind (R0202), or a document larger
            than `MAX_RECORD_BYTES` (R0215), with the place; a file that cannot be read (R0203,
            R0217); tokens where text is required (R0218).
    """
    with _readable(files):
        sizes = [path.stat().st_size for path in files]
    total, before = sum(sizes), 0
    for path, size in zip(files, sizes, strict=True):

        def read(done: int, before: int = before) -> None:
            if progress:
                progress(before + done, total)

        with _readable([path]):
            for document in _reader(path)(path, text_field, read):
                if document.tokens is not None and not tokens:
                    raise _tokens_error(document.source)
                yield document
        before += size
        read(0, before)


def part_of(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Return the progress callback of one of several passes over files.

    Args:
        progress: the progress of all passes; None for none.
        before: bytes read in earlier passes.
        total: bytes of all passes.

    Returns:
        A callback of the bytes of this pass; None for none.
    """
    return progress and (lambda done, _: progress(before + done, total))


def end_of_piece(text: str, start: int, most: int) -> int:
    """Find the end of a piece of text: at a blank line, else at a line end, else anywhere.

    Args:
        text: the text.
        start: the position of its first character.
        most: its maximum number of characters.

    Returns:
        The position after the piece.
    """
    if len(text) - start <= most:
        return len(text)
    for gap in ("\n\n", "\n"):
        gap_start = text.rfind(gap, start, start + most)
        if gap_start >= 0:
            return gap_start + len(gap)
    return start + most


def _inside(folder: Path, glob: str) -> Iterator[Path]:
    """The files in a folder and its subfolders that match the glob."""

    def fail(error: OSError) -> None:
        raise _unreadable_error(
            f"the folder cannot be read: {error.strerror}", Path(error.filename)
        )

    for home, folders, names in os.walk(folder, onerror=fail):
        # in place: os.walk descends into what is in the list
        folders[:] = (name for name in folders if not name.startswith("."))
        for name in names:
            path = Path(home, name)
            fits = path.relative_to(folder).match(glob)
            if fits and not name.startswith(".") and path.is_file():
                yield path


@contextmanager
def _readable(files: Iterable[Path]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        path = Path(error.filename) if error.filename else next(iter(files))
        raise _unreadable_error(
            f"the file cannot be read: {error.strerror or error}", path
        ) from None
    except (EOFError, zlib.error):
        raise _unreadable_error("the compressed file is damaged", next(iter(files))) from None


def _reader(path: Path) -> Callable[[Path, str, Read], Iterator[TextDocument]]:
    name = path.name.lower()
    if name.endswith(PACKED):
        name = name.rpartition(".")[0]
    return next((reader for ending, reader in READERS.items() if name.endswith(ending)), _text)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Bytes, Callable[[], int]]]:
    """A file, decompressed if necessary, and a function that returns the number of bytes read so
    far.
    """
    with path.open("rb") as raw:
        ending = path.suffix.lower()
        if ending == ".gz":
            with gzip.open(raw) as file:
                yield file, raw.tell
        elif ending == ".zst":
            from pyarrow import CompressedInputStream

            with io.BufferedReader(CompressedInputStream(raw, "zstd")) as file:
                yield file, raw.tell
        else:
            yield raw, raw.tell


# ---- text ----


def _text(path: Path, text_field: str, read: Read) -> Iterator[TextDocument]:
    text, line = "", 1
    with _opened(path) as (file, position):
        for block in _decoded_blocks(file, path):
            text += block
            while len(text) > MAX_DOCUMENT_CHARACTERS:
                end = end_of_piece(text, 0, MAX_DOCUMENT_CHARACTERS)
                yield TextDocument(text[:end], f"{path}:{line}")
                line += text.count("\n", 0, end)
                text = text[end:]
            read(position())
    if text:
        yield TextDocument(text, f"{path}:{line}" if line > 1 else str(path))


def _decoded_blocks(file: Bytes, path: Path) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    before = 0
    while True:
        block = file.read(BLOCK)
        pending = len(decoder.getstate()[0])  # bytes of a character that is not complete
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            byte = before - pending + error.start
            raise _not_utf8_error(str(path), f"byte {byte:,}", error) from None
        yield text if before else text.removeprefix("\ufeff")
        before += len(block)
        if not block:
            return


# ---- JSON lines ----


def _json_lines(path: Path, text_field: str, read: Read) -> Iterator[TextDocument]:
    with _opened(path) as (file, position):
        # a bounded read: a file without line ends would be read into memory at once
        lines = iter(lambda: file.readline(MAX_RECORD_BYTES + 1), b"")
        for number, content in enumerate(lines, start=1):
            location = f"{path}:{number}"
            if len(content) > MAX_RECORD_BYTES:
                raise _too_large_error("the line", location)
            if number == 1:
                content = content.removeprefix(codecs.BOM_UTF8)
            if content.strip():
                try:
                    line = content.decode("utf-8")
                except UnicodeDecodeError as error:
                    where = f"byte {error.start:,} of the line"
                    raise _not_utf8_error(location, where, error) from None
                yield TextDocument(_field(line, text_field, location), location)
            if number % 100 == 0:
                read(position())


def _field(line: str, text_field: str, location: str) -> str:
    """The text in a line of JSON; lone surrogates are replaced, as browsers do."""
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        nested = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        why = error.msg if isinstance(error, json.JSONDecodeError) else nested
        help = "write one JSON object a line, or leave the file out"
        raise _damaged_document_error(f"the line is not JSON: {why}", location, help) from None
    if not isinstance(value, dict):
        message = f"the line is not a JSON object but a {type(value).__name__}"
        raise _damaged_document_error(
            message, location, f'write objects with the text in the field "{text_field}"'
        )
    text = value.get(text_field)
    if not isinstance(text, str):
        kind = "is not text" if text_field in value else "is missing"
        has = ", ".join(value) or "none"
        help = "name the field of the text with --text-field"
        raise _damaged_document_error(
            f'the field "{text_field}" {kind}', location, help, f"the fields are: {has}"
        )
    return text if text.isascii() else _HALF.sub("\ufffd", text)


# ---- Parquet ----


def _parquet(path: Path, text_field: str, read: Read) -> Iterator[TextDocument]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            names = schema.names
            leaves = [file.schema.column(i).path for i in range(len(file.schema))]
        if text_field not in names:
            message, has = f'the column "{text_field}" is missing', ", ".join(names) or "none"
            help = "name the column of the text with --text-field"
            raise _damaged_document_error(message, str(path), help, f"the columns are: {has}")
        kind = schema.field(text_field).type
        is_tokens = _is_list_of_integers(kind)
        if not (is_tokens or _is_text(kind)):
            message = f'the column "{text_field}" has no text: its type is {kind}'
            help = "name a column of text, or of lists of integers, with --text-field"
            raise _damaged_document_error(message, str(path), help)
        dictionary_columns = (
            [text_field] if text_field in leaves else []
        )  # a repeated text is stored once
        with pq.ParquetFile(path, read_dictionary=dictionary_columns) as file:
            rows, size = file.metadata.num_rows, path.stat().st_size
            number = 0
            for group in range(file.metadata.num_row_groups):
                at_once = _rows_at_once(file.metadata.row_group(group), text_field, path, number)
                for batch in file.iter_batches(at_once, [group], [text_field]):
                    for value in batch.column(0):
                        number += 1
                        location = f"{path}:{number}"
                        if is_tokens:
                            ids = _ids(value, text_field, location)
                            yield TextDocument("", location, ids)
                        else:
                            yield TextDocument(_cell(value, text_field, location), location)
                    read(size * number // rows)
    except pa.ArrowException as error:
        why = str(error).splitlines()[0]
        raise _unreadable_error(f"this is not a readable Parquet file: {why}", path) from None


def _is_list_of_integers(kind: Any) -> bool:
    """Whether an Arrow type is that of a column of lists of integers."""
    import pyarrow as pa

    is_list = (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )
    return is_list and pa.types.is_integer(kind.value_type)


def _is_text(kind: Any) -> bool:
    """Whether an Arrow type is that of a column of text, plain or dictionary-encoded."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return (
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _rows_at_once(group: Any, text_field: str, path: Path, before: int) -> int:
    """The number of rows of a row group that are read together, so that they fit in memory.

    Raises:
        LawdslError: the row group is far larger in memory than on disk (R0215).
    """
    columns = [group.column(i) for i in range(group.num_columns)]
    mine = [c for c in columns if c.path_in_schema.partition(".")[0] == text_field]
    unpacked = sum(column.total_uncompressed_size for column in mine)
    packed = sum(column.total_compressed_size for column in mine)
    # before anything is decompressed: a file of a megabyte may decompress to any size
    if unpacked > max(UNPACKED, RATIO * packed):
        raise _too_large_error(
            f"the text from here on takes {unpacked:,} bytes when it is unpacked; it",
            f"{path}:{before + 1}",
        )
    return max(1, min(256, MAX_RECORD_BYTES * group.num_rows // max(unpacked, 1)))


def _cell(value: Any, text_field: str, location: str) -> str:
    try:
        text = value.as_py()
    except UnicodeDecodeError as error:
        raise _not_utf8_error(location, f"byte {error.start:,} of the row's text", error) from None
    if not isinstance(text, str):
        help = "leave the row out, or name another column with --text-field"
        raise _damaged_document_error(
            f'the column "{text_field}" has no text in this row', location, help
        )
    # the encoded size is computed only for texts that may be too large
    if (
        4 * len(text) > MAX_RECORD_BYTES
        and len(text.encode("utf-8", "surrogatepass")) > MAX_RECORD_BYTES
    ):
        raise _too_large_error("the text", location)
    return text


# ---- tokens ----


def _megatron(path: Path, text_field: str, read: Read) -> Iterator[TextDocument]:
    for number, (ids, position) in enumerate(open_megatron(path).read()):
        yield TextDocument("", f"{path}, document {number}", ids)
        read(position)


def _ids(value: Any, text_field: str, location: str) -> NDArray[Any]:
    """The tokens in a row of a column of lists."""
    ids = value.values
    if ids is None or ids.null_count:
        what = "is null" if ids is None else "has a null"
        help = "leave the row out, or name another column with --text-field"
        raise _damaged_document_error(
            f'the column "{text_field}" {what} in this row', location, help
        )
    if ids.nbytes > MAX_RECORD_BYTES:
        raise _too_large_error("the list of tokens", location)
    return ids.to_numpy()


READERS = {
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _json_lines,
    ".parquet": _parquet,
    ".pq": _parquet,
    DATA: _megatron,
    INDEX: _megatron,
}
"""File extension -> reader; all other files are read as text."""
PACKED = (".gz", ".zst")


# ---- what is wrong ----


def _not_utf8_error(location: str, where: str, error: UnicodeDecodeError) -> LawdslError:
    message = f"the text is not UTF-8: {where} is 0x{error.object[error.start]:02x}"
    help = "convert it with iconv, or leave the file out with --glob"
    return LawdslError(Diagnostic("R0201", message, place=location, help=help))


def _damaged_document_error(message: str, location: str, help: str, *notes: str) -> LawdslError:
    return LawdslError(Diagnostic("R0202", message, place=location, notes=notes, help=help))


def _too_large_error(subject: str, location: str) -> LawdslError:
    message = f"{subject} is larger than a document may be: {MAX_RECORD_BYTES:,} bytes"
    help = "cut it into documents, or leave the file out with --glob"
    return LawdslError(Diagnostic("R0215", message, place=location, help=help))


def _tokens_error(location: str) -> LawdslError:
    message = "the document is tokens, not text"
    help = "make a corpus of it with `lawdsl corpus`, or name a column of text with --text-field"
    return LawdslError(Diagnostic("R0218", message, place=location, help=help))


def _unreadable_error(message: str, path: Path, help: str | None = None) -> LawdslError:
    help = help or "look at the file and its permissions, or leave it out"
    return LawdslError(Diagnostic("R0203", message, place=str(path), help=help))
