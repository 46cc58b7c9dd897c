"""A cache of what predictions need of the law of a fit, in files of the user.

The first prediction of a fit reads its law, compiles it, and checks that the numbers of the fit are
consistent with it. Later ones find the result here, under the SHA-256 of the whole fit and of the
code of lawdsl: another fit, or the same after an edit of one character, has no entry. So what a fit file
from elsewhere contains is never taken at its word. An entry is checked too, and a damaged one is
replaced; verdicts and proofs are not in the cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from functools import cache
from pathlib import Path

from lawdsl import __version__
from lawdsl.core.files import read_json, write
from lawdsl.core.user_cache import user_cache
from lawdsl.fitting.ready_law import ready, with_ready_law
from lawdsl.fitting.result import Fit
from lawdsl.fitting.storage import NO_FIT, content_of

KIND = "predictions"
FORM = 1  # of the entries; those of another form are not read
FOLDERS = ("core", "language", "law", "compiling", "fitting", "fitting/preparation")
MAX_BYTES = 2**22  # of an entry; laws have some kilobytes
MAX_ENTRIES = 256  # beyond these the oldest are removed


def ready_fit(text: str) -> Fit | None:
    """A fit with its law at hand, for predictions only.

    Args:
        text: the text of the file of the fit.

    Returns:
        The fit; None if the cache has no intact entry for it.
    """
    path = _path(text)
    with contextlib.suppress(OSError, *NO_FIT):
        if path is not None and path.exists():
            entry = read_json(path, limit=MAX_BYTES, finite=True)
            if entry["origin"] == _origin(text):
                return with_ready_law(Fit.of_json(content_of(text)), entry["ready"])
    return None


def keep(text: str, fit: Fit) -> None:
    """Keep what predictions of a fit need, if the cache is writable.

    Args:
        text: the text of the file of the fit.
        fit: the fit that was read from this text, and has predicted.
    """
    path = _path(text)
    if path is None:
        return
    with contextlib.suppress(OSError, *NO_FIT):
        content = ready(fit)
        entry = json.dumps({"origin": _origin(text), "ready": content}, allow_nan=False)
        if content is not None and len(entry) < MAX_BYTES:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, entry + "\n")
            _remove_oldest(path.parent)


def _remove_oldest(folder: Path) -> None:
    entries = list(folder.glob("*.json"))
    if len(entries) > MAX_ENTRIES:
        entries.sort(key=_age)
        for path in entries[: len(entries) - MAX_ENTRIES]:
            path.unlink(missing_ok=True)


def _age(path: Path) -> float:
    with contextlib.suppress(OSError):  # another process may have removed it
        return path.stat().st_mtime
    return 0.0


def _path(text: str) -> Path | None:
    folder = user_cache(KIND)
    return None if folder is None else folder / f"{_digest(text)}.json"


def _digest(text: str) -> str:
    return hashlib.sha256("\n".join([*_made_by(), text]).encode()).hexdigest()


def _origin(text: str) -> list[str]:
    return [*_made_by(), hashlib.sha256(text.encode()).hexdigest()]


@cache
def _made_by() -> tuple[str, ...]:
    """The version, and the sizes and times of the files that compile laws: a change of the code in a
    checkout makes new entries, although the version stays the same.
    """
    states = []
    for folder in FOLDERS:
        for file in sorted((Path(__file__).parent.parent / folder).glob("*.py")):
            with contextlib.suppress(OSError):
                state = file.stat()
                states.append((file.name, state.st_size, state.st_mtime_ns))
    return (__version__, str(FORM), hashlib.sha256(repr(states).encode()).hexdigest())
