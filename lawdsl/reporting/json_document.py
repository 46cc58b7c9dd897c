"""The one JSON document that every command prints with `--json`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.files import plain

DOCUMENT_SCHEMA = 1


def document(
    command: str,
    result: Any,
    diagnostics: Iterable[Diagnostic] = (),
    *,
    ok: bool = True,
    plot: str | None = None,
) -> str:
    """Format the result of a command as JSON.

    Args:
        command: the name of the command.
        result: plain data; None where the command failed.
        diagnostics: the messages.
        ok: whether the command succeeded without findings.
        plot: the path of its figure, which is included in the document; None for none.

    Returns:
        The document; numbers that are not finite are null.
    """
    content = {
        "schema": DOCUMENT_SCHEMA,
        "ok": ok,
        "command": command,
        "result": plain(result),
        "diagnostics": [d.to_json() for d in diagnostics],
        **({"plot": plot} if plot else {}),
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
