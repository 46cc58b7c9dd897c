"""The commands that editors may run: `workspace/executeCommand`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from lawdsl.language.latex import law_latex
from lawdsl.server.session import Session


def check(session: Session) -> Callable[[str], Awaitable[dict[str, Any] | None]]:
    """The command `lawdsl.check`: the verdicts on the claims of an open law, decided as they are asked for.

    Args:
        session: the connection.
    """

    async def command(uri: str) -> dict[str, Any] | None:
        document = session.current(uri)
        if document is None:
            return None
        messages = [d.to_json() for d in document.diagnostics]
        if document.declarations is None:
            return {"claims": [], "diagnostics": messages}
        verdicts = await session.verdicts(uri)
        return {"claims": [v.to_json() for v in verdicts], "diagnostics": messages}

    return command


def show(session: Session) -> Callable[[str], Awaitable[dict[str, Any] | None]]:
    """The command `lawdsl.show`: the formula of an open law.

    Args:
        session: the connection.
    """

    async def command(uri: str) -> dict[str, Any] | None:
        document = session.current(uri)
        good = document.good if document is not None else None
        law = good.declarations if good is not None else None
        if law is None:
            return None
        return {
            "name": law.name,
            "title": law.title,
            "latex": law_latex(law),
            "text": law.text.text,
        }

    return command


COMMANDS: Mapping[str, Callable[[Session], Callable[..., Any]]] = {
    "lawdsl.check": check,
    "lawdsl.show": show,
}
