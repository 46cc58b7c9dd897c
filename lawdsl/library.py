"""Where laws are found: a file by its path, a shipped law by its dotted name.

A law may be built on others; those are looked for beside its file, then among the shipped laws.
Names are dotted words, never paths, and a file that a link leads out of the folder is refused.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from lawdsl.diagnostics import Diagnostic, LawdslError, Text, ordered
from lawdsl.language import limits, tree
from lawdsl.language.parsing import parse
from lawdsl.language.resolving import Declarations, resolve
from lawdsl.language.words import nearest


def shipped_folder() -> Path:
    """The folder of the laws that come with the tool."""
    return Path(str(files("lawdsl.laws").joinpath("chinchilla.law"))).parent


def shipped() -> dict[str, Path]:
    """Dotted name -> file of every shipped law."""
    folder = shipped_folder()
    found = {}
    for path in sorted(folder.rglob("*.law")):
        found[".".join(path.relative_to(folder).with_suffix("").parts)] = path
    return found


def read(path: Path) -> Text:
    """The text of a `.law` file.

    Raises:
        LawdslError: no regular file, too large, or no UTF-8; never with the file's content.
    """
    name = str(path)
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise LawdslError(Diagnostic("L0312", "this is not a regular file", place=name))
        if status.st_size > limits.BYTES:
            raise LawdslError(Diagnostic("L0103", "the file is larger than 1 MiB", place=name))
        return Text(name, path.read_bytes().decode("utf-8"))
    except UnicodeDecodeError as error:
        message = f"the file is not UTF-8 (byte {error.start})"
        help = "save it as UTF-8"
        raise LawdslError(Diagnostic("L0312", message, place=name, help=help)) from None
    except OSError as error:
        message = f"the file cannot be read: {error.strerror}"
        raise LawdslError(Diagnostic("L0312", message, place=name)) from None


def locate(name_or_path: str) -> Path:
    """The file of a law, given its path or the dotted name of a shipped law.

    Raises:
        LawdslError: neither exists.
    """
    path = Path(name_or_path)
    laws = shipped()
    if name_or_path in laws and not path.is_file():
        return laws[name_or_path]
    if path.suffix == ".law" or os.sep in name_or_path or path.exists():
        return path
    alike = nearest(name_or_path, laws)
    help = f"did you mean `{alike}`?" if alike else "`lawdsl laws` lists them; a file ends in .law"
    raise LawdslError(
        Diagnostic("L0310", f"there is no law `{name_or_path}`", place=name_or_path, help=help)
    )


def declarations(name_or_path: str) -> tuple[Declarations, list[Diagnostic]]:
    """A law by name or path, every name resolved, and the warnings about it.

    Raises:
        LawdslError: with every mistake of the file.
    """
    path = locate(name_or_path)
    return declared(read(path), path.parent)


def declared(text: Text, folder: Path) -> tuple[Declarations, list[Diagnostic]]:
    """The law in a text; laws that it names are looked for in the folder first.

    Raises:
        LawdslError: with every mistake of the text.
    """
    return _Reading(folder).resolve(text, ())


class _Reading:
    """One reading of a law and of all laws it is built on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shipped = shipped()
        self.done: dict[str, Declarations] = {}

    def resolve(self, text: Text, path: tuple[str, ...]) -> tuple[Declarations, list[Diagnostic]]:
        document, mistakes = parse(text.text, text.name)
        text = Text(text.name, text.text.removeprefix("\ufeff"))
        header = next((s.name for s in document.statements if isinstance(s, tree.Section)), "")
        path = (*path, header)

        def find(name: str) -> Declarations:
            return self.find(name, path)

        found, more = resolve(document, text, find)
        diagnostics = ordered([*mistakes, *more])
        if found is None or any(d.severity == "error" for d in diagnostics):
            raise LawdslError(diagnostics)
        return found, diagnostics

    def find(self, name: str, path: tuple[str, ...]) -> Declarations:
        if name in path:
            message = f"laws are built on each other: {' -> '.join((*path, name))}"
            raise LawdslError(Diagnostic("L0311", message, help="break the circle"))
        if name not in self.done:
            if len(self.done) >= limits.FILES or len(path) > limits.FILES:
                message = f"the law is built on more than {limits.FILES} others"
                raise LawdslError(Diagnostic("L0311", message))
            file = next(self._candidates(name), None)
            if file is None:
                alike = nearest(name, self.shipped)
                help = f"did you mean `{alike}`?" if alike else "`lawdsl laws` lists the shipped laws"
                raise LawdslError(Diagnostic("L0310", f"there is no law `{name}`", help=help))
            self.done[name], _ = self.resolve(read(file), path)
        return self.done[name]

    def _candidates(self, name: str) -> Iterator[Path]:
        beside = self.folder.joinpath(*name.split(".")).with_suffix(".law")
        if beside.is_file():
            root = self.folder.resolve()
            if not beside.resolve().is_relative_to(root):
                message = f"the file of `{name}` lies outside the folder of the law"
                raise LawdslError(Diagnostic("L0312", message, help="copy it there"))
            yield beside
        if name in self.shipped:
            yield self.shipped[name]
