"""A cache of the results of algebra on fitted laws, in files of the user.

An entry follows from the law, given by the digest of its texts and changes, from the code of lawdsl and
from the libraries of algebra. It is plain data; a damaged part is computed again.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from lawdsl.core.entry_cache import EntryCache
from lawdsl.fitting.preparation.cached_algebra import cached_in
from lawdsl.proof.check_cache import FOLDERS

ENTRIES = EntryCache("fits", 1, (*FOLDERS, "fitting", "fitting/preparation"))
MAX_ENTRIES = 256  # beyond these the oldest are removed


class _Files:
    """The entries, as files."""

    def read(self, text: str) -> Any:
        return ENTRIES.read(text)

    def keep(self, text: str, content: Any) -> None:
        ENTRIES.keep(text, content, MAX_ENTRIES)


def cached_between_commands() -> AbstractContextManager[None]:
    """A context in which fits use the results of algebra of earlier commands."""
    return cached_in(_Files())
