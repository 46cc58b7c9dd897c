"""The name in the first line of a file, and the name of the file, by which others find it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from lawdsl.core.diagnostics import Diagnostic, Edit, Span, Text
from lawdsl.language.keywords import NAME_PATTERN, SECTIONS, ascii_name
from lawdsl.language.pipeline_records import Pipeline
from lawdsl.language.questions import Question
from lawdsl.language.symbols import Declarations

STANDARD_INPUT = "-"
_HEADER = re.compile(
    rf"^[ \t]*(?:{'|'.join(SECTIONS)})[ \t]+({NAME_PATTERN}(?:[ \t]*\.[ \t]*{NAME_PATTERN})*)",
    re.MULTILINE,
)


def header_name(text: str) -> str:
    """The dotted name that a text gives its law, question or pipeline; empty without one.

    Args:
        text: the text, of which nothing else is read.
    """
    match = _HEADER.search(text)
    return ascii_name(re.sub(r"[ \t]", "", match[1])) if match else ""


def warnings_of_file_name(
    declared: Declarations | Question | Pipeline, path: Path
) -> list[Diagnostic]:
    """A warning if a file has another name than the law or question in it.

    Args:
        declared: what the file declares.
        path: the file; `-` for standard input, which has no name.
    """
    if path.name == STANDARD_INPUT:
        return []
    if isinstance(declared, Declarations):
        return _of_law(declared.name, declared.text, path)
    if isinstance(declared, Pipeline) or declared.name.rpartition(".")[2] == _stem(path):
        return []
    message = f"the file of the question `{declared.name}` is called {path.name}"
    help = f"ask by the file, `lawdsl solve {path}`, or give file and question one name"
    return [Diagnostic("L0340", message, "warning", place=declared.text.name, help=help)]


def has_name_of_file(name: str, path: Path) -> bool:
    """Whether others find a law under its name: `a.b` in the file `b.law` of a folder `a`.

    Args:
        name: its dotted name.
        path: its file.
    """
    parts = name.split(".")
    return (*_folders(path), _stem(path))[-len(parts) :] == tuple(parts)


def _of_law(name: str, text: Text, path: Path) -> list[Diagnostic]:
    """The warning about a law that no other file can name; the edit gives it the name of its file."""
    header = _HEADER.search(text.text)
    if header is None or has_name_of_file(name, path):
        return []
    span = Span(*header.span(1))
    stem, called = _stem(path), name.replace(".", "/") + ".law"
    message = f"the law `{name}` stands in {path.name}: other files cannot name it"
    help = f"rename the file to {called}"
    suggested: tuple[Edit, ...] = ()
    if re.fullmatch(NAME_PATTERN, stem) and ascii_name(stem) == stem:
        help += f", or write `law {stem}`"
        suggested = (Edit(span, stem),)
    return [
        Diagnostic(
            "L0340",
            message,
            "warning",
            text=text,
            span=span,
            help=help,
            suggested=suggested,
        )
    ]


def _stem(path: Path) -> str:
    return path.name.removesuffix(".law")


def _folders(path: Path) -> tuple[str, ...]:
    """The folders that a file is in, the outermost first."""
    return Path(os.path.abspath(path)).parent.parts
