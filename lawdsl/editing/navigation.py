"""Where a name is declared and mentioned: definitions, references, highlights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lawdsl.core.diagnostics import Span
from lawdsl.editing.names import File, Files, Target
from lawdsl.editing.words import Word


@dataclass(frozen=True)
class Place:
    """A place in a file.

    Attributes:
        file: the file.
        word: the word there.
        declares: whether the word declares the name.
    """

    file: File
    word: Word
    declares: bool

    @property
    def span(self) -> Span:
        """Its range in the text of the file."""
        return self.word.span


def definition(file: File, offset: int, files: Files) -> Target | None:
    """Where the word at an offset is declared; of a law the first line of its file.

    The output of a law that extends another one has an equation in both: a mention leads to that of
    its own file, and that equation to the extended one.

    Args:
        file: the file.
        offset: the place.
        files: how files find each other.
    """
    word = file.words.at(offset)
    target = None if word is None else files.resolve(word, file)
    if word is None or target is None or word.declares:
        return target
    return own_equation(target, file)


def own_equation(target: Target, file: File) -> Target:
    """The equation of a file, for an output that a law which it extends has too; else the target.

    Args:
        target: what a word of the file names.
        file: the file.
    """
    declaration = file.declared.get(target.name)
    if target.kind != "output" or declaration is None or declaration.declares != "output":
        return target
    return Target(file, target.name, "output", declaration.span)


def references(target: Target, among: Iterable[File], files: Files) -> Iterator[Place]:
    """All mentions of what is declared, the declaration included.

    Args:
        target: what is declared.
        among: the files in which mentions are searched for.
        files: how files find each other.
    """
    target = (
        files.declaration(target.name, target.file) or target if target.kind == "output" else target
    )
    for file in among:
        if not file.may_mention(target.name):
            continue
        for word in file.words.called(target.name):
            named = files.resolve(word, file)
            value = files.variable_of_value(word, file)
            keys = [t.key for t in (named, value) if t is not None]
            if target.key in keys:
                yield Place(file, word, bool(word.declares) or word.role == "header")


def highlights(file: File, offset: int, files: Files) -> list[Place]:
    """The mentions in one file of what the word at an offset names.

    A name that a claim alone has, such as the `a` of `r[a]`, is looked for in its line.

    Args:
        file: the file.
        offset: the place.
        files: how files find each other.
    """
    word = file.words.at(offset)
    if word is None or word.role in ("symbol", "number", "string", "comment", "illegal"):
        return []
    target = files.resolve(word, file)
    if target is not None:
        return list(references(target, [file], files))
    whole_file = word.role in ("keyword", "unit", "function", "column", "verdict")
    return [
        Place(file, each, False)
        for each in file.words
        if (each.text, each.role) == (word.text, word.role) or _same_fresh(each, word)
        if whole_file or each.line == word.line
    ]


def _same_fresh(one: Word, other: Word) -> bool:
    roles = ("name", "subscript")
    return one.text == other.text and one.role in roles and other.role in roles
