"""The words of a document with their classes, which follow from the declarations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lawdsl.core.diagnostics import Span
from lawdsl.editing.names import File, Files

TYPES = (
    "keyword",
    "parameter",
    "variable",
    "property",
    "function",
    "type",
    "namespace",
    "enumMember",
    "typeParameter",
    "number",
    "string",
    "comment",
    "operator",
)
"""The types of tokens, names of the Language Server Protocol 3.17."""
MODIFIERS = ("declaration", "readonly", "defaultLibrary", "definition")

OF_ROLES: Mapping[str, str] = {
    "keyword": "keyword",
    "number": "number",
    "string": "string",
    "comment": "comment",
    "unit": "type",
    "verdict": "enumMember",
    "label": "enumMember",
    "subscript": "enumMember",
    "function": "function",
    "constant": "variable",
    "option": "property",
    "header": "namespace",
    "law": "namespace",
    "set": "type",
    "column": "property",
    "argument": "property",
}
OF_KINDS: Mapping[str, str] = {
    "parameter": "parameter",
    "variable": "variable",
    "given": "variable",
    "unknown": "parameter",
    "setting": "property",
    "let": "variable",
    "output": "variable",
    "index": "typeParameter",
    "use": "function",
    "step": "namespace",
    "law": "namespace",
    "label": "enumMember",
    "set": "type",
}
"""Kind of a declared name -> type of its token."""
MODIFIERS_OF_KINDS: Mapping[str, tuple[str, ...]] = {
    "setting": ("readonly",),
    "let": ("readonly",),
    "output": ("definition",),
}
LIBRARY = ("function", "constant", "unit")


@dataclass(frozen=True)
class SemanticToken:
    """A word with its class.

    Attributes:
        span: its place, in one line.
        type: one of TYPES.
        modifiers: some of MODIFIERS.
    """

    span: Span
    type: str
    modifiers: tuple[str, ...] = ()


def semantic_tokens(file: File, files: Files) -> list[SemanticToken]:
    """The words of a file that have a class, in their order.

    Args:
        file: the file, in any state.
        files: how files find each other.
    """
    declared = files.all_declared(file)
    laws: dict[str, dict[str, str]] = {}
    tokens = []
    for word in (*file.words, *file.words.comments):
        kind = ""
        if word.role in ("name", "subscript"):
            target = declared.get(word.text)
            kind = target.kind if target is not None else ""
            if word.role == "subscript" and kind != "index":
                kind = ""
            if word.role == "name" and word.text == file.extended:
                kind = kind or "law"
        elif word.role == "argument":
            if word.of not in laws:
                law = files.called(word.of, file)
                names = files.all_declared(law) if law is not None else {}
                laws[word.of] = {name: target.kind for name, target in names.items()}
            kind = laws[word.of].get(word.text, "")
        type = OF_KINDS.get(kind) or OF_ROLES.get(word.role)
        if type is None:
            continue
        modifiers: tuple[str, ...] = (
            ("declaration",) if word.declares or word.role == "header" else ()
        )
        modifiers += MODIFIERS_OF_KINDS.get(kind, ())
        modifiers += ("defaultLibrary",) if word.role in LIBRARY else ()
        tokens.append(SemanticToken(word.span, type, modifiers))
    return sorted(tokens, key=lambda token: token.span.start)
