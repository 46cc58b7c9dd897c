"""The results of expensive functions for the most recent arguments, by a key of each argument or by its text."""

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
                cached then.
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


class RecentTexts(Generic[Value]):
    """The values of the most recently used texts, bounded by their total length.

    A value takes memory in proportion to its text, so this bounds the memory. The value of the last text
    is always cached.

    Args:
        max_characters: of all cached texts together.
    """

    PER_TEXT = 100  # characters added to the length of each text, for the overhead of its value

    def __init__(self, max_characters: int) -> None:
        self.max_characters = max_characters
        self._values: dict[str, Value] = {}
        self._characters = 0
        self._lock = Lock()

    def get(self, text: str, make: Callable[[], Value]) -> Value:
        """The value of a text, which is made unless it is cached.

        Args:
            text: the text.
            make: the function that makes the value. Its exceptions are passed on, and nothing is
                cached then.
        """
        missing = object()
        with self._lock:
            cached = self._values.pop(text, missing)
            if cached is not missing:  # put back as the last one
                self._values[text] = cached  # type: ignore[assignment]
                return cached  # type: ignore[return-value]
        value = make()
        with self._lock:
            if text not in self._values:  # else another thread was faster
                self._values[text] = value
                self._characters += len(text) + self.PER_TEXT
            while self._characters > self.max_characters and len(self._values) > 1:
                oldest = next(iter(self._values))
                del self._values[oldest]
                self._characters -= len(oldest) + self.PER_TEXT
        return value
