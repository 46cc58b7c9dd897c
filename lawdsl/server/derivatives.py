"""Derivatives for hovers: computed by the worker, and cached for each text of a law."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from lawdsl.editing.claims import law_key
from lawdsl.editing.document import Document
from lawdsl.editing.hover import WITH_DERIVATIVE, Derivative

MAX_LAWS = 32  # laws, each state of one counted, whose derivatives are cached


class Connection(Protocol):
    """What is used of a session."""

    def request_for(self, read: Document) -> dict[str, Any]:
        """What the tasks of the worker need of a document."""

    async def ask_worker(
        self, kind: str, arguments: dict[str, Any], until_edit_of: str | None = None
    ) -> dict[str, Any] | None:
        """The answer of the worker; None if it has none."""


@dataclass
class Derivatives:
    """The derivatives of the laws that were asked for last, by `law_key` and name.

    Attributes:
        laws: key of a law -> name -> its derivative; None for one that cannot be computed.
        computing: the requests that the worker works on, by key and name.
    """

    laws: OrderedDict[str, dict[str, Derivative | None]] = field(default_factory=OrderedDict)
    computing: dict[tuple[str, str], asyncio.Task[bool]] = field(default_factory=dict)

    def of(self, document: Document) -> dict[str, Derivative | None]:
        """The derivatives of a law that are known; none of a text with errors.

        Args:
            document: the document.
        """
        if document.declarations is None:
            return {}
        return self.laws.get(law_key(document.declarations, document), {})

    def request(self, session: Connection, document: Document, name: str) -> None:
        """Have a derivative computed, unless it is known or being computed.

        Args:
            session: the connection.
            document: a law.
            name: with respect to what.
        """
        if document.declarations is None:
            return
        key = law_key(document.declarations, document)
        if name in self.laws.get(key, {}) or (key, name) in self.computing:
            return

        self._started(session, document, key, name)

    def is_computing(self, document: Document, name: str) -> bool:
        """Whether a derivative may be known soon.

        Args:
            document: a law.
            name: with respect to what.
        """
        law = document.declarations
        return law is not None and (law_key(law, document), name) in self.computing

    async def compute_all(
        self, session: Connection, document: Document, uri: str, is_current: Callable[[], bool]
    ) -> None:
        """Compute the derivatives that hovers show, one after the other, so that other tasks come between.

        Args:
            session: the connection.
            document: a law without errors.
            uri: its address; an edit of it ends the computation.
            is_current: whether the document is still that of the editor.
        """
        law = document.declarations
        assert law is not None
        key = law_key(law, document)
        for symbol in law.symbols.values():
            if symbol.kind not in WITH_DERIVATIVE or symbol.name in self.laws.get(key, {}):
                continue
            if (key, symbol.name) in self.computing:
                continue
            if not is_current():
                return
            if not await self._started(session, document, key, symbol.name, uri):
                return

    def _started(
        self,
        session: Connection,
        document: Document,
        key: str,
        name: str,
        until_edit_of: str | None = None,
    ) -> asyncio.Task[bool]:
        """The computation of a derivative, recorded so that it is not started twice."""
        computation = self._compute(session, document, key, name, until_edit_of)
        task = asyncio.get_running_loop().create_task(computation)
        self.computing[key, name] = task
        task.add_done_callback(lambda _: self.computing.pop((key, name), None))
        return task

    async def _compute(
        self,
        session: Connection,
        document: Document,
        key: str,
        name: str,
        until_edit_of: str | None,
    ) -> bool:
        """Have the worker compute a derivative, and record it; False if the worker has no answer."""
        request = {**session.request_for(document), "of": name}
        answer = await session.ask_worker("derivative", request, until_edit_of)
        if answer is None:
            return False
        known = self.laws.setdefault(key, {})
        self.laws.move_to_end(key)
        while len(self.laws) > MAX_LAWS:
            self.laws.popitem(last=False)
        text = answer.get("text")
        known[name] = Derivative(name, text, answer["latex"]) if text else None
        return True
