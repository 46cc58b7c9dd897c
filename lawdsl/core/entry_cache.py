"""Results as plain data in files of the user, by the text that they follow from and the code that made
them: another text, or the same after an edit of one character, has no entry.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lawdsl import __version__
from lawdsl.core.files import read_json, write
from lawdsl.core.user_cache import user_cache

MAX_BYTES = 2**22  # of an entry; laws have some kilobytes
PACKAGE = Path(__file__).parent.parent
LAW_FOLDERS = ("core", "language", "language/instances", "law", "compiling")
"""The folders of the code from which a text becomes a compiled law."""
LIBRARIES = ("sympy", "flint", "mpmath", "numpy")  # what verdicts and derivatives come from


@dataclass(frozen=True)
class EntryCache:
    """The entries of one kind.

    Attributes:
        kind: the name of their folder in the cache of the user.
        form: the number of their form; those of another form are not read.
        folders: the folders of the code that they depend on, in the package.
    """

    kind: str
    form: int
    folders: tuple[str, ...]

    def read(self, text: str) -> Any:
        """The entry of a text; None without one.

        Raises:
            OSError, ValueError, KeyError, TypeError: an entry that cannot be read.
        """
        path = self._path(text)
        if path is None or not path.exists():
            return None
        entry = read_json(path, limit=MAX_BYTES, finite=True)
        return entry["ready"] if entry["origin"] == self._origin(text) else None

    def keep(self, text: str, content: Any, most: int) -> None:
        """Write the entry of a text, if the cache is writable.

        Args:
            text: the text.
            content: the entry, plain data.
            most: the number of entries; beyond it, the oldest are removed.

        Raises:
            ValueError, TypeError: the content is no plain data.
        """
        path = self._path(text)
        entry = json.dumps({"origin": self._origin(text), "ready": content}, allow_nan=False)
        if path is not None and len(entry) < MAX_BYTES:
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                write(path, entry + "\n")
                _remove_oldest(path.parent, most)

    def _path(self, text: str) -> Path | None:
        folder = user_cache(self.kind)
        if folder is None:
            return None
        return folder / f"{_sha256(chr(10).join([*_made_by(self), text]))}.json"

    def _origin(self, text: str) -> list[str]:
        return [*_made_by(self), _sha256(text)]


def _remove_oldest(folder: Path, most: int) -> None:
    entries = list(folder.glob("*.json"))
    if len(entries) > most:
        entries.sort(key=_age)
        for path in entries[: len(entries) - most]:
            path.unlink(missing_ok=True)


def _age(path: Path) -> float:
    with contextlib.suppress(OSError):  # another process may have removed it
        return path.stat().st_mtime
    return 0.0


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def _made_by(entries: EntryCache) -> tuple[str, ...]:
    """The version, and the sizes and times of the files of the code and of the libraries of algebra: a
    change of the code in a checkout or another library makes new entries, although the version stays
    the same.
    """
    states = []
    for library in LIBRARIES:
        spec = find_spec(library)  # does not import it
        if spec is not None and spec.origin is not None:
            with contextlib.suppress(OSError):
                state = os.stat(spec.origin)
                states.append((library, state.st_size, state.st_mtime_ns))
    for folder in entries.folders:
        for file in sorted((PACKAGE / folder).glob("*.py")):
            with contextlib.suppress(OSError):
                state = file.stat()
                states.append((file.name, state.st_size, state.st_mtime_ns))
    return (__version__, str(entries.form), _sha256(repr(states)))
