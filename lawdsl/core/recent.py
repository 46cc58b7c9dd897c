"""The results of expensive functions for the most recent arguments, by a key of each argument."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """The values of the most recently used keys; the oldest is forgotten when it is full.

    Args:
        size: the number of values that are kept.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._values: dict[Hashable, Value] = {}
        self._lock = Lock()

    def get(
        self,
        key: Hashable,
        make: Callable[[], Value],
        keep: Callable[[Value], bool] = lambda value: True,
    ) -> Value:
        """The value of a key, which is made unless it is kept already.

        Args:
            key: the key; equal keys have equal values.
            make: the function that makes the value. Its exceptions are passed on, and nothing is
                kept then.
            keep: whether a new value is worth keeping.
        """
        # taken out and put back, so that the first key is the one that was not used for longest
        missing = object()
        with self._lock:
            kept = self._values.pop(key, missing)
        value: Value = make() if kept is missing else kept  # type: ignore[assignment]
        if kept is not missing or keep(value):
            with self._lock:
                self._values[key] = value
                while len(self._values) > self.size:
                    self._values.pop(next(iter(self._values)))
        return value
