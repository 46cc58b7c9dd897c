"""Another name for what is declared, in all files that mention it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lawdsl.core.diagnostics import Edit, Span
from lawdsl.editing.names import File, Files, Target
from lawdsl.editing.navigation import Place, references
from lawdsl.editing.words import Word
from lawdsl.language.file_names import has_name_of_file
from lawdsl.language.keywords import KEYWORDS, NAME_PATTERN, RESERVED, a, ascii_name
from lawdsl.language.size_limits import MAX_NAME_LENGTH

NAME = re.compile(NAME_PATTERN)
FIXED = {
    "law": "a law has the name of its file: rename the file",
    "label": "labels are values in tables, which would not be renamed",
    "set": "a set of labels has the name of a column in tables, which would not be renamed",
}
"""Kinds that are not renamed -> why."""
OTHERWISE_CALLED = (
    "a law has the name of its file, and this name differs from it: correct the first line"
)
OUTSIDE = {
    "keyword": "is a keyword",
    "function": "is a function",
    "constant": "is a constant",
    "unit": "is a unit",
    "verdict": "is a verdict",
    "option": "is an option of the objective",
    "column": "is a column of tables, which would not be renamed",
}
"""Roles of words that are not declared -> what they are."""


class RenameRefused(Exception):
    """The name cannot be changed; the message says why."""


@dataclass(frozen=True)
class FileEdits:
    """The edits of one file, by place."""

    path: Path
    edits: tuple[Edit, ...]


def renamed_word(file: File, offset: int, files: Files) -> tuple[Word, Target]:
    """The word at an offset and what it names, if that may have another name.

    Args:
        file: the file.
        offset: the place.
        files: how files find each other.

    Raises:
        RenameRefused: it may not.
    """
    word = file.words.at(offset)
    if word is None or word.role in ("symbol", "number", "string", "comment", "illegal"):
        raise RenameRefused("there is no name here")
    if word.role in OUTSIDE:
        raise RenameRefused(f"`{word.text}` {OUTSIDE[word.role]}")
    target = files.resolve(word, file)
    if target is None:
        raise RenameRefused(f"`{word.text}` is not declared in a file")
    if target.kind == "law" and not has_name_of_file(ascii_name(target.name), target.file.path):
        raise RenameRefused(OTHERWISE_CALLED)
    if target.kind in FIXED:
        raise RenameRefused(FIXED[target.kind])
    if target.file.ships:
        where = target.file.path.name
        raise RenameRefused(f"`{word.text}` is declared in {where}, which ships with lawdsl")
    return word, target


def rename(
    file: File, offset: int, new: str, among: Sequence[File], files: Files
) -> tuple[FileEdits, ...]:
    """The edits that give a declared name another one, wherever it is mentioned.

    A name alone that stands for the variable of that name where a law is taken, as in `loss(N)`,
    keeps its meaning: it becomes `loss(M = N)`.

    Args:
        file: the file.
        offset: the place of a mention.
        new: the new name.
        among: all files that may mention it.
        files: how files find each other.

    Raises:
        RenameRefused: the name cannot be changed, or not to this one.
    """
    _, target = renamed_word(file, offset, files)
    _check_name(new)
    if ascii_name(new) == target.name:
        return ()
    _check_others(target, among, files)
    edits: dict[Path, list[Edit]] = {}
    for file in among:  # all of one before the next: the words of the last files are in memory
        _check_free(target, ascii_name(new), file, files)
        _check_arguments(target, ascii_name(new), file, files)
        for place in references(target, [file], files):
            text = _replacement(place, target, new, files)
            edits.setdefault(place.file.path, []).append(Edit(place.span, text))
    return tuple(
        FileEdits(path, tuple(sorted(parts, key=lambda e: e.span.start)))
        for path, parts in edits.items()
    )


def _check_name(new: str) -> None:
    if not NAME.fullmatch(new):
        raise RenameRefused(f"`{new}` is not a name: letters, digits and _, no digit first")
    plain = ascii_name(new)
    if len(plain) > MAX_NAME_LENGTH:
        raise RenameRefused(f"a name has at most {MAX_NAME_LENGTH} characters")
    if plain in KEYWORDS:
        raise RenameRefused(f"`{new}` is a keyword")
    if plain in RESERVED:
        raise RenameRefused(f"`{new}` is a function, or has a fixed meaning")


def _check_others(target: Target, among: Iterable[File], files: Files) -> None:
    """Refuse to rename what pipelines pass from step to step by its name."""
    if target.kind not in ("variable", "output", "setting", "given", "unknown", "use", "step"):
        return
    for file in among:
        if file.section != "pipeline":
            continue
        if target.kind == "step" and file.path != target.file.path:
            continue
        for step in dict.fromkeys(file.steps):
            law = files.named(step, file)
            if law is None:
                continue
            taken = any(each.path == target.file.path for each in files.chain(law))
            if target.kind == "step":
                taken = law.section == "question" and target.name in law.uses
            if taken:
                what = f"the pipeline in {file.path.name} passes `{target.name}` on by its name"
                raise RenameRefused(f"{what}: change both by hand")


def _check_free(target: Target, new: str, file: File, files: Files) -> None:
    """Refuse a name that a file in which the old one is declared or inherited has already."""
    declared = files.declaration(target.name, file)
    if declared is None or declared.key != target.key:
        return  # an argument of a call: the names of this file are others
    taken = files.declaration(new, file)
    if taken is not None:
        where = _where(taken.file, taken.span)
        raise RenameRefused(f"`{new}` is {a(taken.kind)} already, in {where}")
    for word in file.words.called(new) if file.may_mention(new) else ():
        if word.role in ("name", "subscript", "set", "label"):
            raise RenameRefused(f"`{new}` is in use already, in {_where(file, word.span)}")


def _check_arguments(target: Target, new: str, file: File, files: Files) -> None:
    """Refuse a name that a call gives to the law already, which has no such variable as yet."""
    for word in file.words.called(new) if file.may_mention(new) else ():
        if word.role != "argument" and not word.alone:
            continue
        called = files.called(word.of, file)
        declared = files.declaration(target.name, called) if called is not None else None
        if declared is not None and declared.key == target.key:
            raise RenameRefused(f"`{new}` is in use already, in {_where(file, word.span)}")


def _where(file: File, span: Span) -> str:
    return f"{file.path.name}, line {file.text.count(chr(10), 0, span.start) + 1}"


def _replacement(place: Place, target: Target, new: str, files: Files) -> str:
    """What stands at a mention afterwards."""
    word = place.word
    variable = files.variable_of_value(word, place.file)
    if variable is None:
        return new
    if word.indexed:
        raise RenameRefused(
            f"a value for each label has the name of the law's variable, `{word.text}`"
        )
    if variable.key == target.key:  # the variable of the law has the new name
        return f"{new} = {word.text}"
    return f"{word.text} = {new}"
