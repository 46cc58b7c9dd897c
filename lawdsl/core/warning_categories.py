"""The categories of `warnings.warn`: what a caller in Python has to know, as a terminal prints it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from lawdsl.core.diagnostics import Diagnostic


class LawdslWarning(UserWarning):
    """A result that is not what it may seem.

    Args:
        message: a diagnostic as text.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


class NotTrustedWarning(LawdslWarning):
    """A fit that is not trusted: its `diagnostics` say why."""


class ExtrapolationWarning(LawdslWarning):
    """A prediction beyond the trust horizon, or where the fitted rows break what the law claims."""


def warn(
    diagnostics: Iterable[Diagnostic], category: type[LawdslWarning], *, stacklevel: int = 3
) -> None:
    """Warn of each message once.

    Args:
        diagnostics: the messages.
        category: the category of the warning.
        stacklevel: 3 for the caller of the function that calls this one.
    """
    for d in dict.fromkeys(diagnostics):
        text = f"[{d.code}] {d.message}"
        warnings.warn(f"{text}; {d.help}" if d.help else text, category, stacklevel=stacklevel)
