"""A place in a document -> what may be written there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lawdsl.core.diagnostics import Span
from lawdsl.core.losses import LOSSES
from lawdsl.core.units import PREFIXES, UNITS
from lawdsl.editing.completion_names import called_in_claim, declared_names, gives_parameter
from lawdsl.editing.completion_place import Completion, Place, place_in
from lawdsl.editing.document import Document
from lawdsl.editing.hover import file_of
from lawdsl.editing.meanings import (
    CONSTANTS,
    KEYWORDS,
    VERDICTS,
    function_meaning,
    unit_meaning,
)
from lawdsl.editing.names import File, Files
from lawdsl.editing.snippets import Snippet, claim_snippets, statement_snippets
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

ONCE = ("extends", "minimize", "maximize")
"""Statements of which a file has one."""
ONLY_IN = {
    "integer": ("choose",),
    "if": ("output", "let", "require", "minimize", "maximize", "subject"),
}
"""Keyword that the grammar allows in more places than the language -> the statements that have it."""


def completions(document: Document, offset: int, files: Files) -> list[Completion]:
    """What may be written at an offset; nothing in texts and comments.

    Args:
        document: the document, in any state.
        offset: the place; the word before it is the one that is being written.
        files: how files find each other.
    """
    place = place_in(document, offset)
    if place is None:
        return []
    file = file_of(document)
    proposals_by_text: dict[tuple[str, str], Completion] = {}
    declared = files.all_declared(file).values()
    indexed = any(target.kind == "index" for target in declared)
    words = _words(document, place, file, files, indexed=indexed)
    for proposal in (*words, *declared_names(file, place, files)):
        proposals_by_text.setdefault((proposal.text, proposal.kind), proposal)
    return sorted(proposals_by_text.values(), key=lambda c: (c.rank, c.text))


def _words(
    document: Document, place: Place, file: File, files: Files, *, indexed: bool
) -> Iterator[Completion]:
    """Words of the language; sums only where there is an index."""
    span = place.span
    if not place.before:
        yield from _statements(document, place)
        return
    for word in _keywords(place, document.section):
        yield Completion(word, "keyword", span, KEYWORDS.get(word, ""), 3)
    role = place.word.role
    if role == "unit" and "NAME" in place.accepts:
        for name in _units():
            rank = 2 if name in UNITS else 4
            yield Completion(name, "unit", span, unit_meaning(name) or "", rank)
    elif role == "verdict":
        for name, meaning in VERDICTS.items():
            yield Completion(name, "verdict", span, meaning, 2)
    elif _is_formula(place, document.section):
        yield from _functions(place, document.section, indexed=indexed)
        if place.line == "require" and [t.type for t in place.before] == ["REQUIRE"]:
            yield from _snippets(claim_snippets(file, files), span, rank=0)


def _statements(document: Document, place: Place) -> Iterator[Completion]:
    """The beginning of a line."""
    span = place.span
    words: tuple[str, ...] = statements_of(document.section)
    if not has_header(document.text[: span.start]):
        words = (*SECTIONS, *words)
    begun = {str(line.tokens[0].value) for line in document.logical_lines if line.tokens}
    for word in words:
        if word in ONCE and word in begun:
            continue
        yield Completion(word, "keyword", span, KEYWORDS.get(word, ""), 2)
        if word == "subject" and not place.following.startswith("to"):
            yield Completion("subject to", "keyword", span, KEYWORDS[word], 2)
    if not place.following:
        yield from _snippets(statement_snippets(document.section), span)


def _snippets(snippets: Sequence[Snippet], span: Span, rank: int = 4) -> Iterator[Completion]:
    for each in snippets:
        yield Completion(each.text, "snippet", span, each.meaning, rank, each.pattern)


def _keywords(place: Place, section: str) -> Iterator[str]:
    """The keywords that may stand at the cursor."""
    if called_in_claim(place):
        return
    for word in (*PLACED, *PIECEWISE, "unit", "for", "in", "is", "as", "expect", "finite"):
        if word.upper() in place.accepts and place.line in ONLY_IN.get(word, (place.line,)):
            if word == "if" and place.line == "minimize" and section == "law":
                continue  # the objective of a fit is a loss
            if word == "simplex" and place.before[-2].type != "RSQB":
                continue  # over what would a name without subscripts sum to 1?
            yield word
    if "TREND" in place.accepts:
        yield from TRENDS


def _units() -> Iterator[str]:
    yield from UNITS
    for name in UNITS:
        yield from (prefix + name for prefix in PREFIXES)


def _is_formula(place: Place, section: str) -> bool:
    """Whether a formula may begin at the cursor, in which functions may stand."""
    begins = {"LPAR", "NAME"} <= place.accepts  # behind a name a bracket begins a call
    begins = begins and not place.following.startswith("=")  # the variable in `L(N = 1)`
    begins = begins and not called_in_claim(place)
    begins = begins and not (section == "question" and place.word.alone)  # nor in `loss(N)`
    return begins and place.word.role in ("name", "function", "constant", "law")


def _functions_in_objective(place: Place) -> list[str]:
    """A loss; in it the logarithm of the output, or where the values of a parameter come from."""
    if len(place.before) == 1:
        return list(LOSSES)
    if place.before[-1].type == "EQUAL":
        return ["straightest"]
    if gives_parameter(place):
        return []
    part = [str(token) for token in place.before]
    part = part[len(part) - part[::-1].index(",") :] if "," in part else part
    return [] if "log" in part or place.before[-1].type == "MINUS" else ["log"]


def _functions(place: Place, section: str, *, indexed: bool) -> Iterator[Completion]:
    names = [*FUNCTIONS, *(AGGREGATES if indexed else ())]
    if place.line == "minimize" and section == "law":
        names = _functions_in_objective(place)
    if place.line in ("prior", "start") and not {"EQUAL", "IN"} & {t.type for t in place.before}:
        names = ["log"] if place.before[-1].type != "LPAR" else []
    if place.line == "fix" and "EQUAL" not in {t.type for t in place.before}:
        names = []
    if place.line == "require":
        names.append("diff")
    for name in names:
        call, meaning = function_meaning(name)
        snippet = "" if place.following.startswith("(") else f"{name}($1)$0"
        yield Completion(name, "function", place.span, f"{call}: {meaning}", 4, snippet)
    for name, meaning in CONSTANTS.items() if "exp" in names else ():
        endless = place.line == "require" and "->" in [t.value for t in place.before]
        if (name != "oo" or endless) and not place.following.startswith(("(", "[")):
            yield Completion(name, "constant", place.span, meaning, 4)
