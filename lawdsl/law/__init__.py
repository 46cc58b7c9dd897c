"""Declarations -> Law: SymPy expressions, domains, claims."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lawdsl.law.law import Law as Law, load as load


def __getattr__(name: str) -> Any:
    """The class and the function that a user of the package needs."""
    if name not in ("Law", "load"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lawdsl.law import law

    return getattr(law, name)
