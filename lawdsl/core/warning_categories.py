"""The categories of `warnings.warn`: warnings to Python callers that commands print on a terminal."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from lawdsl.core.diagnostics import Diagnostic


class LawdslWarning(UserWarning):
    """A result with an important qualification.

    Args:
        message: a diagnostic as text.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


class NotTrustedWarning(LawdslWarning):
    """A fit that is not trusted; its `diagnostics` state the reasons."""


class ExtrapolationWarning(LawdslWarning):
    """A prediction beyond the trust horizon, or where the fitted rows contradict a claim of the
    law.
    """


def warn(
    diagnostics: Iterable[Diagnostic], category: type[LawdslWarning], *, stacklevel: int = 3
) -> None:
    """Issue a warning for each message, each once.

    Args:
        diagnostics: the messages.
        category: the category of the warnings.
        stacklevel: the stack level; 3 refers to the caller of the function that calls this one.
    """
    for d in dict.fromkeys(diagnostics):
        text = f"[{d.code}] {d.message}"
        warnings.warn(f"{text}; {d.help}" if d.help else text, category, stacklevel=stacklevel)
