"""What algebra finds out about a law, as plain data that is kept between commands.

A fit asks for a dozen results of algebra: the compiled law, the parameters in which it is linear, the
scales of its starts. Most commands fit a law whose results are known from an earlier one; then SymPy,
whose import takes longer than many fits, is not loaded. Results are kept within `kept_between_commands`
alone, under the digest of the law and the code of lawdsl; a damaged result is computed again.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.entry_cache import EntryCache
from lawdsl.law.law import Law
from lawdsl.proof.check_cache import FOLDERS

Result = TypeVar("Result")

CACHE = EntryCache("fits", 1, (*FOLDERS, "fitting", "fitting/preparation"))
MAX_ENTRIES = 256  # beyond these the oldest are removed
DAMAGED = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, LawdslError)
NOT_KEPT: Any = object()
"""What stands for a result that is no plain data: it is computed by every command."""


class KeptAlgebra:
    """The results of algebra on one law.

    Args:
        text: what determines them; None for results that are not kept.
    """

    def __init__(self, text: str | None = None) -> None:
        self.text = text
        self.results: dict[str, Any] = {}
        self.changed = False
        if text is not None:
            with contextlib.suppress(OSError, *DAMAGED):
                self.results = dict(CACHE.read(text) or {})

    def get(
        self,
        name: str,
        compute: Callable[[], Result],
        plain: Callable[[Result], Any],
        read: Callable[[Any], Result],
    ) -> Result:
        """A result, which is computed unless it is kept.

        Args:
            name: its name.
            compute: the function that computes it by algebra.
            plain: its plain data; `NOT_KEPT` if it has none.
            read: the result from its plain data, which may be damaged. It raises one of `DAMAGED` then.
        """
        if name in self.results:
            with contextlib.suppress(*DAMAGED):
                return read(self.results[name])
        result = compute()
        if self.text is not None:
            content = plain(result)
            if content is not NOT_KEPT and _is_json(content):
                self.results[name] = content
                self.changed = True
        return result

    def keep(self) -> None:
        """Write the results, if any are new and the cache is writable."""
        if self.text is not None and self.changed:
            with contextlib.suppress(OSError, *DAMAGED):
                CACHE.keep(self.text, self.results, MAX_ENTRIES)


def _is_json(content: Any) -> bool:
    """Whether plain data have a JSON text: infinite numbers have none."""
    try:
        json.dumps(content, allow_nan=False)
    except ValueError:
        return False
    return True


_used: ContextVar[dict[str, KeptAlgebra] | None] = ContextVar("used", default=None)


@contextlib.contextmanager
def kept_between_commands() -> Iterator[None]:
    """Within it, fits use what earlier commands have kept, and what is new is kept at its end."""
    used: dict[str, KeptAlgebra] = {}
    token = _used.set(used)
    try:
        yield
    finally:
        _used.reset(token)
        for algebra in used.values():
            algebra.keep()


def algebra_of(law: Law, *more: object) -> KeptAlgebra:
    """The results of algebra on a law.

    Args:
        law: the law, at its labels if it has index sets.
        more: what else determines the results.
    """
    used = _used.get()
    if used is None or type(law) is not Law:  # a law in other parameters has the digest of the law
        return KeptAlgebra()
    # a law without some of its claims has the same digest
    text = repr((law.name, law.digest, law.claims, more))
    if text not in used:
        used[text] = KeptAlgebra(text)
    return used[text]
