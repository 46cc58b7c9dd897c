"""Packages that laws and fits do without, and a message where one is missing."""

from __future__ import annotations

import importlib.util

from lawdsl.core.diagnostics import Diagnostic, LawdslError


def missing(*packages: str) -> list[str]:
    """Those of some packages that cannot be imported; none of them is."""
    return [name for name in packages if importlib.util.find_spec(name) is None]


def needs(*packages: str, extra: str = "runner") -> None:
    """Refuse to go on where packages are not installed.

    Args:
        extra: the optional part of lawdsl that brings them.

    Raises:
        LawdslError: R0101.
    """
    if lacking := missing(*packages):
        message = f"{' and '.join(lacking)} cannot be imported"
        help = f"pip install 'lawdsl[{extra}]'"
        raise LawdslError(Diagnostic("R0101", message, help=help))
