"""A word in a place of another kind -> where it belongs: a file to be written, a question, an input."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import disjunction
from lawdsl.data.formats import SUFFIXES

FIGURES = (".svg", ".pdf", ".png", ".html")
WRITTEN: tuple[tuple[str, str, Sequence[str]], ...] = (
    ("--from", "is a table", tuple(SUFFIXES)),
    ("--candidates", "is a sweep", (".toml",)),
    ("--plot", "is a figure", FIGURES),
)
"""Option -> what it takes, and the endings of such files."""
OUTPUTS = {
    "fit": (".json",),
    "pipeline": (".json",),
    "plot": (*FIGURES, ".json"),
    "report": (".html", ".md"),
    "export": (".py", ".tex", ".js", ".json"),
    "import": (".law",),
    "new": (".law",),
    "design": (".toml", *SUFFIXES),
    **dict.fromkeys(
        ("solve", "predict", "measure", "halving", "spread", "select"), tuple(SUFFIXES)
    ),
}
"""Command -> endings of the files that it writes with -o."""


FILES = {suffix for endings in OUTPUTS.values() for suffix in endings}
"""Endings of files, which no value has."""


def misplaced_file(word: str, context: click.Context | None) -> str:
    """The advice about a file that stands where its option is missing; empty for other words.

    Args:
        word: the word.
        context: the command; None outside of one.
    """
    if context is None or not re.fullmatch(r"[^=\s]+\.\w+", word):
        return ""
    suffix = Path(word).suffix.lower()
    options = {opt: p.name for p in context.command.params for opt in p.opts}
    name = shlex.quote(word)
    for option, what, suffixes in WRITTEN:
        if (
            option in options
            and suffix in suffixes
            and not context.params.get(options[option] or "")
        ):
            return f"{word} {what}: write {option} {name}"
    written = OUTPUTS.get(context.info_name or "", ())
    if suffix in written and "-o" in options:
        return f"{word} is a file to be written: write -o {name}"
    if written and suffix in FILES:
        endings = disjunction(written)
        return f"{word} has no place here; a file to be written is given with -o, and ends in {endings}"
    return ""


def law_in_place_of_question(name: str, arguments: Sequence[str]) -> LawdslError | None:
    """The error for a law that is to be solved, with the questions about it; None for anything else.

    Args:
        name: the law, or the question.
        arguments: the words after it.
    """
    from lawdsl.language import library

    try:
        path = library.locate(name)
        if str(path) == "-" or library.section_of(path) != "law":
            return None
    except LawdslError:
        return None
    law = name.removesuffix(".law") if path.suffix == ".law" and Path(name) == path else name
    questions = [question for question, uses in _questions(path.parent) if law in uses]
    message = f"`{name}` is a law, and `solve` answers a question"
    help = f"`lawdsl fit` fits a law; `lawdsl new NAME --question` begins a question about {law}"
    if questions:
        given = {word.partition("=")[0] for word in arguments if "=" in word}
        best = next((q for q in questions if given <= _inputs(q)), questions[0])
        line = shlex.join(["lawdsl", "solve", best, *(arguments if given <= _inputs(best) else ())])
        listed = f"questions about it are {', '.join(questions)}: write `{line}`"
        help = listed if len(questions) > 1 else f"the question about it is {best}: write `{line}`"
    return LawdslError(Diagnostic("L0601", message, place=name, help=help))


def _questions(folder: Path) -> list[tuple[str, set[str]]]:
    """The questions that ship and those in a folder, each with the laws that it names."""
    from lawdsl.language import library

    files = {name: path for name, path in library.shipped("question").items()}
    own = sorted(folder.glob("*.law"))[:MAX_FILES] if folder not in _shipped_folders(files) else []
    for path in own:
        try:
            if library.section_of(path) == "question":
                files.setdefault(str(path), path)
        except LawdslError:
            continue
    pattern = re.compile(r"^\s*uses\s+\w+\s*:\s*([\w.]+)", re.MULTILINE)
    return [(name, set(pattern.findall(library.read(path).text))) for name, path in files.items()]


MAX_FILES = 200  # law files of a folder that are looked at


def _shipped_folders(files: dict[str, Path]) -> set[Path]:
    return {path.parent for path in files.values()}


def _inputs(question: str) -> set[str]:
    """The names of the fits, inputs and settings of a question; none of one that cannot be read."""
    from lawdsl.language import library

    try:
        parsed, _ = library.question(question)
    except LawdslError:
        return set()
    kinds = ("given", "setting")
    return {*parsed.uses, *(symbol.name for kind in kinds for symbol in parsed.of_kind(kind))}


def check_report_files(names: Sequence[str]) -> None:
    """Refuse a question, or inputs of one, among the files of a report.

    Args:
        names: the words, where no question is named.

    Raises:
        click.UsageError: there is one.
    """
    from lawdsl.language import library

    pairs = [name for name in names if re.fullmatch(r"[A-Za-z][\w.\[\]]*=.*", name)]
    inputs = [pair for pair in pairs if not Path(pair).exists()]
    for name in names:
        if name in inputs or Path(name).suffix == ".json":
            continue
        try:
            kind = library.section_of(library.locate(name))
        except LawdslError:
            continue
        if kind == "question":
            message = f"`{name}` is a question, not a fit: write --question {shlex.quote(name)}"
            raise click.UsageError(message)
    if inputs:
        raise click.UsageError(
            f"{inputs[0]} is an input of a question: name the question, --question QUESTION"
        )
