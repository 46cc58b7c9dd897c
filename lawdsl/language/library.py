"""Path or dotted name -> the law, question or pipeline in that file or shipped with the tool.

A law may extend other laws, and a question or pipeline uses them; these are searched for beside its
file, then among the shipped laws. Names are dotted words, never paths, and a symbolic link that
leads outside the folder is refused.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeVar

from lawdsl.core.diagnostics import Diagnostic, Edit, LawdslError, Span, Text, ordered
from lawdsl.core.files import real_path, similar_file
from lawdsl.language import size_limits, tree
from lawdsl.language.file_names import STANDARD_INPUT, header_name, warnings_of_file_name
from lawdsl.language.keywords import did_you_mean, nearest, section_of_text
from lawdsl.language.parse_cache import CACHE, ParseCache
from lawdsl.language.pipeline_records import Pipeline
from lawdsl.language.pipelines import resolve_pipeline
from lawdsl.language.questions import Question, resolve_question
from lawdsl.language.resolver import resolve
from lawdsl.language.symbols import Declarations, Find

Resolved = TypeVar("Resolved")


@dataclass(frozen=True)
class OpenFiles:
    """The files that an editor has open, whose texts there count instead of those on disk.

    Attributes:
        texts: resolved path -> text.
        named: the paths at which laws were searched for, whether or not there is a file; the
            readers add to it.
        parsed: the cache of parsed texts.
    """

    texts: Mapping[Path, str] = field(default_factory=dict)
    named: set[Path] = field(default_factory=set)
    parsed: ParseCache = CACHE

    def has(self, path: Path) -> bool:
        """Whether there is a file of this path, open or on disk."""
        self.named.add(path)
        return _is_file(path) or bool(self.texts) and real_path(path) in self.texts

    def read(self, path: Path) -> Text:
        """The text of a file.

        Raises:
            LawdslError: a file on disk that cannot be read.
        """
        text = self.texts.get(real_path(path)) if self.texts else None
        return read(path) if text is None else Text(str(path), text)


def shipped_folder() -> Path:
    """The folder of the laws that come with the tool."""
    return Path(str(files("lawdsl.laws").joinpath("chinchilla.law"))).parent


MAX_BESIDE = 200  # files of a folder among which a misspelt name is looked for
MAX_LIKE = 5  # of them, how many texts are looked into


def shipped(kind: str = "law") -> dict[str, Path]:
    """Dotted name -> file of every shipped law, question or pipeline."""
    return dict(_shipped(kind))


@cache
def _shipped(kind: str) -> Mapping[str, Path]:
    return {name: path for name, path in _files().items() if section_of(path) == kind}


def families() -> tuple[str, ...]:
    """The families of the shipped files, the first words of their names, in alphabetical order."""
    return tuple(sorted({name.partition(".")[0] for name in _files()}))


def ships(name: str, text: str, kind: str = "law") -> bool:
    """Whether a text is that of the shipped law, question or pipeline of a name."""
    path = shipped(kind).get(name)
    return path is not None and read(path).text == text


@cache
def _files() -> dict[str, Path]:
    folder = shipped_folder()
    paths = {}
    for path in sorted(folder.rglob("*.law")):
        paths[".".join(path.relative_to(folder).with_suffix("").parts)] = path
    return paths


def section_of(path: Path) -> str:
    """The kind of a readable file (law, question or pipeline), from the line that declares it."""
    return section_of_text(read(path).text) if str(path) == STANDARD_INPUT else _section_of(path)


@cache
def _section_of(path: Path) -> str:
    return section_of_text(read(path).text)


def warnings_of(text: Text, folder: Path) -> list[Diagnostic]:
    """Resolve whatever a text declares, and return the warnings alone.

    Args:
        text: the text of a law, a question or a pipeline.
        folder: where the laws that it names are searched for first.

    Raises:
        LawdslError: with every mistake in the text.
    """
    return declared_section(text, folder)[1]


def declared_section(
    text: Text, folder: Path, opened: OpenFiles | None = None
) -> tuple[Declarations | Question | Pipeline, list[Diagnostic]]:
    """Resolve whatever a text declares, with its warnings.

    Args:
        text: the text of a law, a question or a pipeline.
        folder: where the laws that it names are searched for first.
        opened: files that are open in an editor.

    Raises:
        LawdslError: with every mistake in the text.
    """
    section = section_of_text(text.text)
    if section == "question":
        return declared_question(text, folder, opened)
    if section == "pipeline":
        return declared_pipeline(text, folder, opened)
    return declared(text, folder, opened)


OTHER_FILES = {
    ".csv": "a table",
    ".parquet": "a table",
    ".pq": "a table",
    ".sqlite": "a table",
    ".db": "a table",
    ".xlsx": "a spreadsheet",
    ".json": "a JSON file",
    ".toml": "a TOML file",
    ".py": "a Python file",
    ".yaml": "a YAML file",
    ".yml": "a YAML file",
}
"""Endings of files that are no law files -> what they are."""


def read(path: Path) -> Text:
    """The text of a `.law` file; that of standard input for the path `-`.

    Raises:
        LawdslError: no regular file, too large, or no UTF-8; never with the file's content.
    """
    name = str(path)
    if name == STANDARD_INPUT:
        return Text("<stdin>", _of_stream(sys.stdin.buffer))
    what = OTHER_FILES.get(path.suffix.lower())
    if what is not None:
        help = "a law is the name of one that ships, or a file that ends in .law"
        if path.suffix == ".json":
            help = f"for the claims of a fit `lawdsl check --fit {name}`; a question takes it as NAME={name}"
        raise _unreadable(f"{path.name} is {what}, where a law is expected", name, help)
    try:
        # a FIFO would keep `open` waiting; what is opened is what is looked at and read
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _unreadable("this is not a regular file", name, "give the path of a file")
            data = file.read(size_limits.MAX_BYTES + 1)
    except IsADirectoryError:
        raise _unreadable("this is a folder", name, "give the path of a file") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its name is not a file name"
        similar = similar_file(path) if isinstance(error, FileNotFoundError) else None
        if similar is None and not _is_file(path) and _is_file(path.with_suffix(".law")):
            similar = path.with_suffix(".law")
        help = f"did you mean {similar}?" if similar else "check the path"
        raise _unreadable(f"the file cannot be read: {why}", name, help) from None
    if len(data) > size_limits.MAX_BYTES:
        help = "a law is a few lines long; data belong into a table"
        raise LawdslError(
            Diagnostic("L0103", "the file is larger than 1 MiB", place=name, help=help)
        )
    try:
        return Text(name, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        why = f"the file is not UTF-8 (byte {error.start})"
        raise _unreadable(why, name, "save it as UTF-8") from None


@lru_cache(maxsize=1)
def _of_stream(stream: BinaryIO) -> str:
    """The text of a stream, which can be read only once: as much of it as a file may have.

    Raises:
        LawdslError: it is too large, or not UTF-8.
    """
    data = stream.read(size_limits.MAX_BYTES + 1)
    if len(data) > size_limits.MAX_BYTES:
        message = "standard input is larger than 1 MiB"
        raise LawdslError(Diagnostic("L0103", message, help="a law is a few lines long"))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"standard input is not UTF-8 (byte {error.start})"
        raise LawdslError(Diagnostic("L0312", message, help="give UTF-8 text")) from None


def _unreadable(message: str, name: str, help: str) -> LawdslError:
    return LawdslError(Diagnostic("L0312", message, place=name, help=help))


def locate(name_or_path: str, kind: str = "law") -> Path:
    """The file of a law, question or pipeline.

    Args:
        name_or_path: its path, `-` for standard input, or the dotted name of a shipped one.
        kind: the requested kind: law, question or pipeline.

    Raises:
        LawdslError: neither a file nor a shipped one exists.
    """
    path = Path(name_or_path)
    if name_or_path == STANDARD_INPUT:
        return path
    laws = _files()
    if name_or_path in laws and not _is_file(path):
        return laws[name_or_path]
    if path.suffix == ".law" or os.sep in name_or_path or _is_file(path):
        return path
    help = did_you_mean(name_or_path, laws, "`lawdsl laws` lists them; a file ends in .law")
    if _is_file(Path(f"{name_or_path}.law")):
        help = f"did you mean the file {name_or_path}.law?"
    elif "," in name_or_path:
        help = "separate names by spaces"
    message = f"unknown {kind} `{name_or_path}`"
    raise LawdslError(Diagnostic("L0310", message, place=name_or_path, help=help))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long, a folder that may not be read
        return False


def declarations(name_or_path: str) -> tuple[Declarations, list[Diagnostic]]:
    """Load a law by name or path, every name resolved, with its warnings.

    Raises:
        LawdslError: with every mistake in the file.
    """
    path = locate(name_or_path)
    law, warned = declared(read(path), path.parent)
    return law, [*warned, *warnings_of_file_name(law, path)]


def pipeline(name_or_path: str) -> tuple[Pipeline, list[Diagnostic]]:
    """Load a pipeline by name or path, every name resolved, with its warnings.

    Raises:
        LawdslError: with every mistake in the file.
    """
    path = locate(name_or_path, "pipeline")
    return declared_pipeline(read(path), path.parent)


def question(name_or_path: str) -> tuple[Question, list[Diagnostic]]:
    """Load a question by name or path, every name resolved, with its warnings.

    Raises:
        LawdslError: with every mistake in the file.
    """
    path = locate(name_or_path, "question")
    resolved, warned = declared_question(read(path), path.parent)
    return resolved, [*warned, *warnings_of_file_name(resolved, path)]


def declared_pipeline(
    text: Text, folder: Path, opened: OpenFiles | None = None
) -> tuple[Pipeline, list[Diagnostic]]:
    """Resolve the pipeline in a text, with its warnings.

    Args:
        text: the text of the file.
        folder: where the laws of its steps are searched for first.
        opened: files that are open in an editor.

    Raises:
        LawdslError: with every mistake in the text.
    """
    opened = OpenFiles() if opened is None else opened
    resolve = partial(
        resolve_pipeline, find_question=partial(_question_of, folder=folder, opened=opened)
    )
    return _declared(text, folder, resolve, opened)


def _question_of(name: str, folder: Path, opened: OpenFiles) -> Question | None:
    """The question that a pipeline names: beside its file, or shipped; None for anything else."""
    path = next(_LawLoader(folder, opened)._candidates(name), None) or _files().get(name)
    if path is None:
        return None
    text = opened.read(path)
    if section_of_text(text.text) != "question":
        return None
    return declared_question(text, path.parent, opened)[0]


def declared_question(
    text: Text, folder: Path, opened: OpenFiles | None = None
) -> tuple[Question, list[Diagnostic]]:
    """Resolve the question in a text, with its warnings.

    Args:
        text: the text of the file.
        folder: where the laws that it uses are searched for first.
        opened: files that are open in an editor.

    Raises:
        LawdslError: with every mistake in the text.
    """
    return _declared(text, folder, resolve_question, opened)


def _declared(
    text: Text,
    folder: Path,
    resolved: Callable[[tree.SyntaxTree, Text, Find], tuple[Resolved | None, list[Diagnostic]]],
    opened: OpenFiles | None,
) -> tuple[Resolved, list[Diagnostic]]:
    reading = _LawLoader(folder, opened)
    document, mistakes = reading.opened.parsed.parse(text.text, text.name)
    text = Text(text.name, text.text.removeprefix("\ufeff"))
    section, more = resolved(document, text, lambda name: reading.find(name, ()))
    return _without_errors(section, [*mistakes, *_not_caused(more, mistakes)])


def _not_caused(later: list[Diagnostic], mistakes: list[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics without warnings that a line which could not be read may be the reason for."""
    unread = any(d.severity == "error" for d in mistakes)
    return [d for d in later if d.severity == "error"] if unread else later


def _without_errors(
    section: Resolved | None, mistakes: list[Diagnostic]
) -> tuple[Resolved, list[Diagnostic]]:
    """The parsed result and its warnings; an error is raised where there are mistakes."""
    diagnostics = ordered(mistakes)
    if section is None or any(d.severity == "error" for d in diagnostics):
        raise LawdslError(diagnostics)
    return section, diagnostics


def declared(
    text: Text, folder: Path, opened: OpenFiles | None = None
) -> tuple[Declarations, list[Diagnostic]]:
    """Resolve the law in a text, with its warnings.

    Args:
        text: the text of the file.
        folder: where the laws that it names are searched for first.
        opened: files that are open in an editor.

    Raises:
        LawdslError: with every mistake in the text.
    """
    return _LawLoader(folder, opened).resolve(text, ())


def file_named(name: str, folder: Path, opened: OpenFiles | None = None) -> Path | None:
    """The file of the law, question or pipeline that a file names; None where there is none.

    Args:
        name: its dotted name.
        folder: the folder of the file that names it, which is searched first.
        opened: files that are open in an editor.
    """
    try:
        return next(_LawLoader(folder, opened)._candidates(name), None) or _files().get(name)
    except LawdslError:
        return None


class _LawLoader:
    """One reading of a law and of all laws it is built on."""

    def __init__(self, folder: Path, opened: OpenFiles | None = None) -> None:
        self.folder = folder
        self.opened = OpenFiles() if opened is None else opened
        self.shipped = _shipped("law")
        self.done: dict[str, Declarations] = {}
        self.characters = 0

    def resolve(self, text: Text, path: tuple[str, ...]) -> tuple[Declarations, list[Diagnostic]]:
        """The law in a text; `path` are the laws that are being read, each named in the next."""
        document, mistakes = self.opened.parsed.parse(text.text, text.name)
        text = Text(text.name, text.text.removeprefix("\ufeff"))
        header = next((s.name for s in document.statements if isinstance(s, tree.Section)), "")
        if path and header and header != path[-1]:
            message = f"the file of `{path[-1]}` holds the law `{header}`"
            raise LawdslError(Diagnostic("L0310", message, help="give law and file one name"))
        # the file that is read first is on the path too: a law may not be built on itself
        path = path or (header,)

        def find(name: str) -> Declarations:
            return self.find(name, path)

        law, more = resolve(document, text, find)
        return _without_errors(law, [*mistakes, *more])

    def find(self, name: str, path: tuple[str, ...]) -> Declarations:
        if name in path:
            message = f"laws are built on each other: {' -> '.join((*path, name))}"
            raise LawdslError(Diagnostic("L0311", message, help="break the circle"))
        if name not in self.done:
            file = next(self._candidates(name), None)
            if file is None:
                raise LawdslError(self._unknown(name, path))
            text = self.opened.read(file)
            self.characters += len(text.text)
            if (
                len(self.done) >= size_limits.MAX_FILES
                or len(path) >= size_limits.MAX_CHAIN
                or self.characters > size_limits.MAX_BYTES
            ):
                message = "the law is built on too many others"
                help = f"{size_limits.MAX_FILES} laws, {size_limits.MAX_CHAIN} on each other, may be 1 MiB together"
                raise LawdslError(Diagnostic("L0311", message, help=help))
            self.done[name], _ = self.resolve(text, (*path, name))
        return self.done[name]

    def _unknown(self, name: str, path: tuple[str, ...]) -> Diagnostic:
        """The message for a name without a file; what it suggests replaces the name."""
        meant: str | None = None
        if name.endswith(".law"):
            meant = name[:-4]
            help = f"name a law without the ending of its file: `{meant}`"
        elif name.endswith(".json"):
            help = "name the law here; fits are given on the command line: NAME=FIT.json"
        else:
            meant = self._meant(name, [*self._beside(path), *self.shipped])
            help = "`lawdsl laws` lists the shipped laws"
            help = f"did you mean `{meant}`?" if meant else help
        suggested = (Edit(Span(0, len(name)), meant),) if meant else ()
        return Diagnostic("L0310", f"unknown law `{name}`", help=help, suggested=suggested)

    def _meant(self, name: str, known: list[str]) -> str | None:
        """The law that a name without a file most likely stands for, of those that may be named."""
        for _ in range(MAX_LIKE):
            meant = nearest(name, known)
            if meant is None or self._holds(meant):
                return meant
            known.remove(meant)
        return None

    def _holds(self, name: str) -> bool:
        """Whether the file of a name holds the law of this name, and not another one."""
        file = file_named(name, self.folder, self.opened)
        try:
            return file is None or header_name(self.opened.read(file).text) in ("", name)
        except LawdslError:
            return False

    def _beside(self, path: tuple[str, ...]) -> Iterator[str]:
        """The laws in the folder, without those that are being read."""
        try:
            names = sorted(p.stem for p in islice(self.folder.glob("*.law"), MAX_BESIDE))
        except OSError:
            return
        yield from (name for name in names if name not in path)

    def _candidates(self, name: str) -> Iterator[Path]:
        beside = self.folder.joinpath(*name.split(".")).with_suffix(".law")
        if self.opened.has(beside):
            root = real_path(self.folder)
            # a file from somebody else must not read others through a symbolic link
            if not real_path(beside).is_relative_to(root):
                message = f"the file of `{name}` lies outside the folder of the law"
                raise LawdslError(Diagnostic("L0312", message, help="copy it there"))
            yield beside
        if name in self.shipped:
            yield self.shipped[name]
