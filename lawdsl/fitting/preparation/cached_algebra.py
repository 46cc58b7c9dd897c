"""Results of algebra on a law, as plain data that are cached between commands.

A fit asks for a dozen results of algebra: the compiled law, the parameters in which it is linear, the
scales of its starts. Most commands fit a law whose results are known from an earlier one; then SymPy,
whose import takes longer than many fits, is not loaded. Results are cached within `cached_in` alone,
under the digest of the law; a damaged result is computed again.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from lawdsl.core.diagnostics import LawdslError
from lawdsl.law.law import Law

Result = TypeVar("Result")

DAMAGED = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, LawdslError)
NOT_CACHED: Any = object()
"""Returned for a result that cannot be written as plain data: every command computes it."""


class Cache(Protocol):
    """A cache of plain data, by the text that determines them."""

    def read(self, text: str) -> Any:
        """The entry of a text; None without one. Raises OSError or one of `DAMAGED`."""
        ...

    def keep(self, text: str, content: Any) -> None:
        """Write the entry of a text. Raises OSError or one of `DAMAGED`."""
        ...


class CachedAlgebra:
    """The results of algebra on one law.

    Args:
        cache: the cache; None for results that are not cached.
        text: what determines them.
    """

    def __init__(self, cache: Cache | None = None, text: str = "") -> None:
        self.cache, self.text = cache, text
        self.results: dict[str, Any] = {}
        self.changed = False
        if cache is not None:
            with contextlib.suppress(OSError, *DAMAGED):
                self.results = dict(cache.read(text) or {})

    def get(
        self,
        name: str,
        compute: Callable[[], Result],
        plain: Callable[[Result], Any],
        read: Callable[[Any], Result],
    ) -> Result:
        """A result, which is computed unless it is cached.

        Args:
            name: its name.
            compute: the function that computes it by algebra.
            plain: its plain data; `NOT_CACHED` if it has none.
            read: the result from its plain data, which may be damaged. It raises one of `DAMAGED` then.
        """
        if name in self.results:
            with contextlib.suppress(*DAMAGED):
                return read(self.results[name])
        result = compute()
        if self.cache is not None:
            content = plain(result)
            if content is not NOT_CACHED and _is_json(content):
                self.results[name] = content
                self.changed = True
        return result

    def keep(self) -> None:
        """Write the results, if any are new and the cache is writable."""
        if self.cache is not None and self.changed:
            with contextlib.suppress(OSError, *DAMAGED):
                self.cache.keep(self.text, self.results)


def _is_json(content: Any) -> bool:
    """Whether plain data have a JSON text: infinite numbers have none."""
    try:
        json.dumps(content, allow_nan=False)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class _Used:
    """The cache, and the laws that were asked for."""

    cache: Cache
    laws: dict[str, CachedAlgebra] = field(default_factory=dict)


_used: ContextVar[_Used | None] = ContextVar("used", default=None)


@contextlib.contextmanager
def cached_in(cache: Cache) -> Iterator[None]:
    """A context in which fits read results from a cache; new results are written at its end.

    Args:
        cache: the cache.
    """
    used = _Used(cache)
    token = _used.set(used)
    try:
        yield
    finally:
        _used.reset(token)
        for algebra in used.laws.values():
            algebra.keep()


def algebra_at(law: Law, values: Mapping[str, float]) -> CachedAlgebra:
    """The results of algebra on a law at fitted values.

    Args:
        law: the law, at its labels if it has index sets.
        values: parameter -> its value.
    """
    return algebra_of(law, sorted(values.items()))


def algebra_of(law: Law, *more: object) -> CachedAlgebra:
    """The results of algebra on a law.

    Args:
        law: the law, at its labels if it has index sets.
        more: what else determines the results.
    """
    used = _used.get()
    if used is None or type(law) is not Law:  # a law in other parameters has the digest of the law
        return CachedAlgebra()
    # a law without some of its claims has the same digest
    text = repr((law.name, law.digest, law.claims, more))
    if text not in used.laws:
        used.laws[text] = CachedAlgebra(used.cache, text)
    return used.laws[text]
