"""Texts kept in a file of results <-> the laws and the question that they declare; no other file is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lawdsl.core.diagnostics import LawdslError, Text
from lawdsl.language import library
from lawdsl.language.parse_cache import CACHE
from lawdsl.language.questions import Question, resolve_question
from lawdsl.language.resolver import resolve
from lawdsl.language.symbols import Declarations, Find


@dataclass(frozen=True)
class QuestionTexts:
    """The texts from which a question can be read again.

    Attributes:
        file: that of the question, as it was named; empty for one that ships.
        text: of the question.
        laws: name -> text of each law that it uses, and of all that these extend.
    """

    file: str
    text: str
    laws: Mapping[str, str]


def texts_of(question: Question) -> QuestionTexts:
    """The texts of a question and of its laws."""
    laws = {name: law.text.text for name, law in question.laws.items()}
    return QuestionTexts(question_file(question), question.text.text, laws)


def question_file(question: Question) -> str:
    """The file of a question as it was named; empty for one that ships, as it is."""
    if library.ships(question.name, question.text.text, "question"):
        return ""
    name = question.text.name
    # standard input, and a text that was in no file, have a name in angle brackets
    return f"{question.name}.law" if not name or name.startswith("<") else name


def question_of(texts: QuestionTexts) -> Question:
    """Resolve the question of kept texts.

    Raises:
        LawdslError: the texts do not give a question.
    """
    text = Text(texts.file, texts.text)
    document, mistakes = CACHE.parse(text.text, text.name)
    question, more = resolve_question(document, text, law_finder(texts.laws, "answer", _refused))
    if question is None or any(d.severity == "error" for d in (*mistakes, *more)):
        raise LawdslError([*mistakes, *more])
    return question


def _refused(why: str) -> Exception:
    return ValueError(why)


def law_finder(texts: Mapping[str, str], kept_in: str, altered: Callable[[str], Exception]) -> Find:
    """A function that finds laws in kept texts.

    Args:
        texts: name -> text.
        kept_in: fit or answer, for messages.
        altered: the reason why the texts do not belong together -> the error that is raised.
    """
    done: dict[str, Declarations] = {}
    path: list[str] = []

    def find(name: str) -> Declarations:
        if name not in texts:
            raise altered(f"it lacks the law `{name}`")
        # texts in a file may be edited into a circle
        if name in path:
            raise altered(f"its laws are built on each other: {' -> '.join([*path, name])}")
        if name not in done:
            path.append(name)
            text = Text(f"{name} (kept in the {kept_in})", texts[name])
            document, mistakes = CACHE.parse(text.text, text.name)
            try:
                declared, more = resolve(document, text, find)
            finally:
                path.pop()
            if declared is None or any(d.severity == "error" for d in (*mistakes, *more)):
                raise LawdslError([*mistakes, *more])
            done[name] = declared
        return done[name]

    return find
