"""Modules that are imported when they are first used: some take longer than most commands."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class _LazyModule:
    """A module of which an attribute is asked for sooner or later, or never."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, attribute: str) -> Any:
        if self._module is None:
            self._module = import_module(self._name)
        return getattr(self._module, attribute)


def lazy_module(name: str) -> Any:
    """A module that is imported when one of its attributes is first used.

    For modules that take long to load, in modules that often do not use them. Type checkers see the
    module itself under `if TYPE_CHECKING:`.

    Args:
        name: the dotted name of the module.
    """
    return _LazyModule(name)
