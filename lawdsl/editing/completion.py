"""A place in a document -> what may be written there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lark import Token

from lawdsl.core.diagnostics import Span
from lawdsl.core.losses import LOSSES
from lawdsl.core.units import PREFIXES, UNITS
from lawdsl.editing.document import Document
from lawdsl.editing.hover import file_of
from lawdsl.editing.law_names import law_names
from lawdsl.editing.meanings import (
    CONSTANTS,
    KEYWORDS,
    VERDICTS,
    function_meaning,
    unit_meaning,
)
from lawdsl.editing.names import File, Files, Target
from lawdsl.editing.snippets import Snippet, claim_snippets, statement_snippets
from lawdsl.editing.words import Word, words_of_line
from lawdsl.language.ast_builder import span_of
from lawdsl.language.keywords import (
    AGGREGATES,
    FUNCTIONS,
    PIECEWISE,
    PLACED,
    SECTIONS,
    TRENDS,
    has_header,
    statements_of,
)
from lawdsl.language.lexer import logical_lines
from lawdsl.language.parser import accepted_after, with_types
from lawdsl.language.pipeline_records import MEASUREMENTS

ALONG = "step"  # what runs move along, as a rule
MAX_LINE_BEFORE = 500  # words of a line before the cursor
IN_LAWS = ("setting", "parameter", "variable", "let")
SEEN: dict[str, tuple[str, ...]] = {
    "variable": ("setting",),
    "setting": (),
    "parameter": ("setting", "parameter", "let"),
    "let": (*IN_LAWS, "given", "unknown", "use"),
    "output": IN_LAWS,
    "fix": ("setting", "parameter", "let"),
    "tie": ("setting", "parameter", "let"),
    "measure": ("variable", "output"),
    "identify": ("setting", "parameter", "let"),
    "require": (*IN_LAWS, "output"),
    "start": ("setting", "parameter", "let"),
    "prior": ("parameter", "setting"),
    "given": ("setting",),
    "choose": ("given", "setting", "let"),
    "minimize": (*IN_LAWS, "output", "given", "unknown", "use"),
    "maximize": ("given", "setting", "unknown", "let", "use"),
    "subject": ("given", "setting", "unknown", "let", "use"),
    "step": ("given", "setting"),
    "keep": ("given", "setting"),
}
"""Statement -> the kinds of names that its formulas may use."""
DETAILS = {"use": "law", "unknown": "unknown"}


@dataclass(frozen=True)
class Completion:
    """One proposal.

    Attributes:
        text: what is written.
        kind: keyword, function, constant, unit, verdict, law, label, column, snippet, or the kind of
            a declared name.
        span: what it replaces.
        detail: what it is, in a few words.
        rank: the place in the list; lower ones first.
        snippet: the text with places that are filled in, in the syntax of LSP; empty for none.
    """

    text: str
    kind: str
    span: Span
    detail: str = ""
    rank: int = 5
    snippet: str = ""


@dataclass(frozen=True)
class _Place:
    """The cursor in its line.

    Attributes:
        before: the words of the line before the cursor, with their types.
        word: the word that is being written, as if it were a name.
        line: the statement of the line.
        accepts: the terminals that may stand at the cursor.
        following: the rest of the line behind the cursor.
        span: the part of the text that a proposal replaces.
    """

    before: tuple[Token, ...]
    word: Word
    line: str
    accepts: frozenset[str]
    following: str
    span: Span


def completions(document: Document, offset: int, files: Files) -> list[Completion]:
    """What may be written at an offset; nothing in texts and comments.

    Args:
        document: the document, in any state.
        offset: the place; the word before it is the one that is being written.
        files: how files find each other.
    """
    place = _place(document, offset)
    if place is None:
        return []
    file = file_of(document)
    found: dict[tuple[str, str], Completion] = {}
    for proposal in (*_words(document, place), *_declared(file, place, files)):
        found.setdefault((proposal.text, proposal.kind), proposal)
    return sorted(found.values(), key=lambda c: (c.rank, c.text))


def _place(document: Document, offset: int) -> _Place | None:
    """Where the cursor is; None in a text or comment, or behind too many words."""
    if document.too_large:
        return None
    start = offset
    while start and _in_name(document.text[start - 1]):
        start -= 1
    written = document.text[start:offset]
    if written[:1].isdigit() or written.startswith("."):
        return None
    if _in_text(document, offset):
        return None
    before = document.tokens_before(start)
    name = written or "x"
    cursor = Token("NAME", name, start_pos=start, end_pos=start + len(name))
    lines = logical_lines([*before, cursor])
    line = [t for t in lines[-1].tokens if t is not cursor]
    if len(line) > MAX_LINE_BEFORE or (not line and _in_line(document.text, start)):
        return None
    typed = with_types([*line, cursor])[:-1]
    words = words_of_line([*line, cursor])
    end = document.text.find("\n", offset)
    following = document.text[offset : end if end >= 0 else None].lstrip()
    return _Place(
        tuple(typed),
        words.words[-1],
        words.keyword if line else "",
        frozenset(accepted_after(typed)),
        following,
        Span(start, offset),
    )


def _in_name(char: str) -> bool:
    """Whether a character may be part of a dotted name; digits of derivatives, as in ∂², are not."""
    return char.isalpha() or char in "_." or (char.isascii() and char.isdigit())


def _in_text(document: Document, offset: int) -> bool:
    """Whether a place is in a comment, in a text, or behind a quotation mark that is not closed."""
    illegal = False
    for token in document.line_before(offset):
        span = span_of(token)
        if token.type == "COMMENT" and offset <= span.end:
            return True
        if token.type == "STRING" and offset < span.end:
            return True
        if token.type == "ILLEGAL":
            illegal |= token.value == '"'
    return illegal


def _in_line(text: str, start: int) -> bool:
    """Whether something stands before a place in its line."""
    return bool(text[text.rfind("\n", 0, start) + 1 : start].strip())


def _words(document: Document, place: _Place) -> Iterator[Completion]:
    """Words of the language."""
    span = place.span
    if not place.before:
        yield from _statements(document, place)
        return
    for word in _keywords(place):
        yield Completion(word, "keyword", span, KEYWORDS.get(word, ""), 3)
    role = place.word.role
    if role == "unit" and "NAME" in place.accepts:
        for name in _units():
            rank = 2 if name in UNITS else 4
            yield Completion(name, "unit", span, unit_meaning(name) or "", rank)
    elif role == "verdict":
        for name, meaning in VERDICTS.items():
            yield Completion(name, "verdict", span, meaning, 2)
    elif _is_formula(place):
        yield from _functions(place)
        if place.line == "require" and [t.type for t in place.before] == ["REQUIRE"]:
            yield from _snippets(claim_snippets(file_of(document)), span, rank=0)


def _statements(document: Document, place: _Place) -> Iterator[Completion]:
    """The beginning of a line."""
    span = place.span
    words: tuple[str, ...] = statements_of(document.section)
    if not has_header(document.text[: span.start]):
        words = (*SECTIONS, *words)
    for word in words:
        yield Completion(word, "keyword", span, KEYWORDS.get(word, ""), 2)
        if word == "subject" and not place.following.startswith("to"):
            yield Completion("subject to", "keyword", span, KEYWORDS[word], 2)
    if not place.following:
        yield from _snippets(statement_snippets(document.section), span)


def _snippets(snippets: Sequence[Snippet], span: Span, rank: int = 4) -> Iterator[Completion]:
    for each in snippets:
        yield Completion(each.text, "snippet", span, each.meaning, rank, each.pattern)


def _keywords(place: _Place) -> Iterator[str]:
    """The keywords that may stand at the cursor."""
    for word in (*PLACED, *PIECEWISE, "unit", "for", "in", "is", "as", "expect", "finite"):
        if word.upper() in place.accepts:
            yield word
    if "TREND" in place.accepts:
        yield from TRENDS


def _units() -> Iterator[str]:
    yield from UNITS
    for name in UNITS:
        yield from (prefix + name for prefix in PREFIXES)


def _is_formula(place: _Place) -> bool:
    """Whether a formula may begin at the cursor, in which functions may stand."""
    return "LPAR" in place.accepts and place.word.role in ("name", "function", "constant", "law")


def _functions(place: _Place) -> Iterator[Completion]:
    names = [*FUNCTIONS, *AGGREGATES]
    if place.line == "minimize":
        names += [*LOSSES, "straightest"]
    if place.line == "require":
        names.append("diff")
    for name in names:
        call, meaning = function_meaning(name)
        snippet = "" if place.following.startswith("(") else f"{name}($1)$0"
        yield Completion(name, "function", place.span, f"{call}: {meaning}", 4, snippet)
    for name, meaning in CONSTANTS.items():
        yield Completion(name, "constant", place.span, meaning, 4)


def _declared(file: File, place: _Place, files: Files) -> Iterator[Completion]:
    """Names that are declared in this file, in laws that it builds on, and names of laws."""
    word, span = place.word, place.span
    if not place.before:
        if file.section == "law":  # the equation of the output of an extended law
            for target in files.all_declared(file).values():
                if target.kind == "output":
                    yield Completion(target.name, "output", span, "the output", 2)
            if not any(w.declares == "output" for w in file.declared.values()):
                for name in _undeclared(file, files):
                    yield Completion(name, "output", span, "used, but not declared", 2)
        return
    if word.declares and word.role == "name":
        for name in _undeclared(file, files):
            yield Completion(name, word.declares, span, "used, but not declared", 2)
    if word.role == "law":
        yield from _laws(file, place, files)
    if word.role == "header":
        name = ".".join(file.path.with_suffix("").parts[-2:])
        yield Completion(file.path.stem, "law", span, "the name of the file", 1)
        yield Completion(name, "law", span, "the name of the file in its folder", 2)
    if word.role in ("column", "argument") or (word.alone and word.of in file.uses):
        yield from _of_law(file, place, files)
    if word.role == "set":
        yield from _sets(file, span, files)
    if word.role == "subscript":
        yield from _subscripts(file, place, files)
    if word.role in ("name", "argument", "function", "constant") and not word.declares:
        if "NAME" in place.accepts or not place.accepts:
            yield from _names(file, place, files)


def _undeclared(file: File, files: Files) -> list[str]:
    """Names that formulas of a file mention, and nothing declares."""
    known = files.all_declared(file)
    mentioned = (w.text for w in file.words if w.role == "name" and not w.declares)
    return [n for n in dict.fromkeys(mentioned) if n not in known and n != MEASUREMENTS]


def _laws(file: File, place: _Place, files: Files) -> Iterator[Completion]:
    sections: tuple[str, ...] = ("law", "question") if place.line == "step" else ("law",)
    if place.line not in ("extends", "step", "uses", "require"):
        sections = ()  # in a formula only the law that is extended has a value
        if file.extended:
            yield Completion(file.extended, "law", place.span, "the law that is extended", 3)
    for name, title in law_names(file, sections, files) if sections else ():
        yield Completion(name, "law", place.span, title, 4)


def _names(file: File, place: _Place, files: Files) -> Iterator[Completion]:
    """Names of the kinds that the statement may use, declared above the line if in this file."""
    kinds = SEEN.get(place.line, ())
    before = [t.type for t in place.before]
    aggregated = _behind_for_of_sum(before)
    if before[-1] == "FROM" or ("FROM" in before and place.line in ("step", "keep")):
        kinds = ("step",) if not {"AT", "WHERE", "SINCE"} & set(before) else kinds
        yield Completion(MEASUREMENTS, "column", place.span, "the table of measurements", 3)
    if aggregated:
        kinds = ("index",)
    for target in files.all_declared(file).values():
        here = target.file.path == file.path
        above = not here or target.span.end <= place.span.start
        late = place.line in ("require", "minimize", "maximize", "subject", "measure", "start")
        constrains = place.line in ("fix", "tie", "prior", "identify")
        if target.kind in kinds and (
            above or late or constrains or target.kind in ("use", "output")
        ):
            yield _name(target, place, 1 if here else 2)
    if file.extended and place.line in ("output", "let", "require") and not aggregated:
        yield Completion(file.extended, "law", place.span, "the law that is extended", 3)


def _behind_for_of_sum(types: Sequence[str]) -> bool:
    """Whether the cursor is where `sum(… for …)` has its indices."""
    brackets: list[bool] = []  # of each open one, whether it has a `for`
    for type in types:
        if type == "LPAR":
            brackets.append(False)
        elif type == "RPAR" and brackets:
            brackets.pop()
        elif type == "FOR" and brackets:
            brackets[-1] = True
    return bool(brackets) and brackets[-1]


def _name(target: Target, place: _Place, rank: int) -> Completion:
    calls = target.kind == "use" and not place.following.startswith(("(", "["))
    snippet = f"{target.name}($1)$0" if calls else ""
    kind = DETAILS.get(target.kind, target.kind)
    return Completion(target.name, target.kind, place.span, kind, rank, snippet)


def _of_law(file: File, place: _Place, files: Files) -> Iterator[Completion]:
    """Variables of a law where it is taken at values, and the columns of a step."""
    word = place.word
    if word.role != "column":
        laws = [files.called(word.of, file)]
    else:
        laws = [files.named(step, file) for step in dict.fromkeys((word.of, *file.steps))]
    if place.line == "measure":
        yield Completion(ALONG, "column", place.span, "the column along which runs are read", 2)
    kinds: tuple[str, ...] = ("variable", "given", "setting", "output", "unknown", "parameter")
    if word.alone:
        kinds = ("variable",)
    declared = files.all_declared(file)
    for law in laws:
        for target in files.all_declared(law).values() if law is not None else ():
            if target.kind in kinds:
                named = word.alone and not place.following.startswith("=")
                snippet = f"{target.name} = $0" if named and target.name not in declared else ""
                yield Completion(target.name, target.kind, place.span, target.kind, 1, snippet)
        if law is not None and word.role == "column":
            yield from _sets(law, place.span, files)
    for other in file.words:
        if word.role == "column" and other.role == "column":
            if other.span.start != place.span.start:
                yield Completion(other.text, "column", place.span, "column", 2)


def _sets(file: File, span: Span, files: Files) -> Iterator[Completion]:
    for each in files.chain(file):
        for word in each.words:
            if word.role == "set" and not (each is file and word.span.start == span.start):
                yield Completion(word.text, "column", span, "a set of labels", 2)


def _subscripts(file: File, place: _Place, files: Files) -> Iterator[Completion]:
    for target in files.all_declared(file).values():
        if target.kind == "index":
            yield Completion(target.name, "index", place.span, "index", 1)
    for each in files.chain(file):
        for word in each.words:
            if word.role == "label" and not word.text.startswith('"'):
                yield Completion(word.text, "label", place.span, "label", 2)
