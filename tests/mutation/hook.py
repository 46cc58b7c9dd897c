"""Modules of lawdsl imported from a source that is changed on the way in; no file is touched."""

from __future__ import annotations

import importlib.machinery
import sys
import types
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path

Compile = Callable[[str, bytes], types.CodeType | None]


class _Loader(SourceFileLoader):
    """Compiles a module with `compile_source`; what that makes of it is never cached."""

    compile_source: Compile

    def get_code(self, fullname: str) -> types.CodeType | None:
        path = self.get_filename(fullname)
        source = self.get_data(path)
        code = self.compile_source(path, source)
        return super().get_code(fullname) if code is None else code


class _Finder:
    def __init__(self, compile_source: Compile) -> None:
        self.compile_source = compile_source

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith("lawdsl."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            loader = _Loader(spec.loader.name, spec.loader.path)
            loader.compile_source = self.compile_source
            spec.loader = loader
        return spec


def install(compile_source: Compile) -> None:
    """From now on, modules of lawdsl are what `compile_source(path, source)` makes of them.

    A module for which it returns None is compiled as it is. Raises RuntimeError where lawdsl's
    modules were imported before.
    """
    early = [name for name in sys.modules if name.startswith("lawdsl.")]
    if early:
        raise RuntimeError(f"imported too early: {', '.join(early)}")
    sys.meta_path.insert(0, _Finder(compile_source))


def relative(path: str, root: Path) -> str | None:
    """The path below `root`, with slashes; None for a file elsewhere."""
    file = Path(path).resolve()
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else None
