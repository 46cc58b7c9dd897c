"""The requests that the server answers: one row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lsprotocol import types

from lawdsl.server.code_actions import OPTIONS as CODE_ACTIONS, code_actions
from lawdsl.server.inlay_hints import inlay_hints
from lawdsl.server.session import Session


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
)
