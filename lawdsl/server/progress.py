"""Answers that wait for a while for verdicts on claims, which another process decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Progress:
    """Wakes the requests that wait whenever more is known, so that none of them polls."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def notify(self) -> None:
        """Wake the waiting requests, which test their conditions again."""
        self._next.set()
        self._next = asyncio.Event()

    async def wait(self, ready: Callable[[], bool], seconds: float) -> None:
        """Wait until a condition holds or a time has passed; other requests are answered meanwhile.

        Args:
            ready: the condition, which must be cheap: it is tested after each notification.
            seconds: the longest wait (s).
        """
        try:
            async with asyncio.timeout(seconds):
                while not ready():
                    await self._next.wait()
        except TimeoutError:
            pass
