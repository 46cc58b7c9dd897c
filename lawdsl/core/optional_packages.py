"""Optional packages: which of them are missing, and the error that names the command to install
them.
"""

from __future__ import annotations

import importlib.util

from lawdsl.core.diagnostics import Diagnostic, LawdslError


def missing(*packages: str) -> list[str]:
    """The given packages that are not installed; none of them is imported."""
    return [name for name in packages if importlib.util.find_spec(name) is None]


def needs(*packages: str, extra: str = "runner") -> None:
    """Raise an error where packages are not installed.

    Args:
        packages: the packages.
        extra: the optional dependency group of lawdsl that installs them.

    Raises:
        LawdslError: R0101.
    """
    if lacking := missing(*packages):
        message = f"{' and '.join(lacking)} cannot be imported"
        help = f"pip install 'lawdsl[{extra}]'"
        raise LawdslError(Diagnostic("R0101", message, help=help))
