"""The requests that the server answers: one row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lsprotocol import types

from lawdsl.server.code_actions import OPTIONS as CODE_ACTIONS, code_actions
from lawdsl.server.inlay_hints import inlay_hints
from lawdsl.server.reading_features import (
    COMPLETION,
    completion,
    definition_of,
    highlights_of,
    hover_at,
    references_to,
)
from lawdsl.server.session import Session
from lawdsl.server.structure_features import (
    LEGEND,
    RENAME,
    folding,
    formatted,
    prepare_rename,
    renamed,
    selections,
    symbols,
    tokens,
)


@dataclass(frozen=True)
class Feature:
    """One request.

    Attributes:
        method: its name in the protocol.
        answer: session, parameters -> answer; it must be fast, since other requests wait for it, or
            be a coroutine.
        options: what the server says about it when the connection begins.
    """

    method: str
    answer: Callable[[Session, Any], Any]
    options: Any = None


FEATURES: tuple[Feature, ...] = (
    Feature(types.TEXT_DOCUMENT_CODE_ACTION, code_actions, CODE_ACTIONS),
    Feature(types.TEXT_DOCUMENT_INLAY_HINT, inlay_hints),
    Feature(types.TEXT_DOCUMENT_HOVER, hover_at),
    Feature(types.TEXT_DOCUMENT_COMPLETION, completion, COMPLETION),
    Feature(types.TEXT_DOCUMENT_DEFINITION, definition_of),
    Feature(types.TEXT_DOCUMENT_REFERENCES, references_to),
    Feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, highlights_of),
    Feature(types.TEXT_DOCUMENT_PREPARE_RENAME, prepare_rename),
    Feature(types.TEXT_DOCUMENT_RENAME, renamed, RENAME),
    Feature(types.TEXT_DOCUMENT_FORMATTING, formatted),
    Feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, symbols),
    Feature(types.TEXT_DOCUMENT_FOLDING_RANGE, folding),
    Feature(types.TEXT_DOCUMENT_SELECTION_RANGE, selections),
    Feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, tokens, LEGEND),
)
