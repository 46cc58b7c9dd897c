"""Derivatives for hovers: computed by the worker, and cached for each text of a law."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Protocol

from lawdsl.editing.claims import law_key
from lawdsl.editing.document import Document
from lawdsl.editing.hover import Derivative

MAX_LAWS = 32  # laws, each state of one counted, whose derivatives are cached


class Connection(Protocol):
    """What is used of a session."""

    def request_for(self, read: Document) -> dict[str, Any]:
        """What the tasks of the worker need of a document."""

    async def ask_worker(self, kind: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """The answer of the worker; None if it has none."""


@dataclass
class Derivatives:
    """The derivatives of the laws that were asked for last, by `law_key` and name.

    Attributes:
        laws: key of a law -> name -> its derivative; None for one that cannot be computed.
        asked: the requests that the worker works on.
    """

    laws: OrderedDict[str, dict[str, Derivative | None]] = field(default_factory=OrderedDict)
    asked: dict[tuple[str, str], asyncio.Task[None]] = field(default_factory=dict)

    def of(self, document: Document) -> dict[str, Derivative | None]:
        """The derivatives of a law that are known; none of a text with errors.

        Args:
            document: the document.
        """
        if document.declarations is None:
            return {}
        return self.laws.get(law_key(document.declarations, document), {})

    async def ask(self, session: Connection, document: Document, name: str, seconds: float) -> bool:
        """Have a derivative computed, and wait a moment for it.

        Args:
            session: the connection.
            document: a law.
            name: with respect to what.
            seconds: how long.

        Returns:
            Whether it is known now, or known not to be computable.
        """
        if document.declarations is None:
            return False
        key = law_key(document.declarations, document)
        if name in self.laws.get(key, {}):
            return True
        if (key, name) not in self.asked:
            task = asyncio.get_running_loop().create_task(
                self._compute(session, document, key, name)
            )
            self.asked[key, name] = task
            task.add_done_callback(lambda _: self.asked.pop((key, name), None))
        await asyncio.wait([self.asked[key, name]], timeout=seconds)
        return name in self.laws.get(key, {})

    async def _compute(self, session: Connection, document: Document, key: str, name: str) -> None:
        request = {**session.request_for(document), "of": name}
        answer = await session.ask_worker("derivative", request)
        if answer is None:
            return
        known = self.laws.setdefault(key, {})
        self.laws.move_to_end(key)
        while len(self.laws) > MAX_LAWS:
            self.laws.popitem(last=False)
        text = answer.get("text")
        known[name] = Derivative(name, text, answer["latex"]) if text else None
