"""What is known of models, in a process of its own: who asks need not load torch.

A list of folders and configurations, each with the rows that it is to be trained on, is read from
standard input as JSON, the answers are its last line on standard output.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from lawdsl.core.diagnostics import LawdslError


def answer(source: str | dict[str, Any], passes: Mapping[str, Any] | None) -> dict[str, Any]:
    """The facts of one model, or why it cannot be used."""
    from ..training.models import inspect

    try:
        return {"facts": asdict(inspect(source)), "memory": _memory(source, passes)}
    except LawdslError as error:
        return {"mistakes": [d.to_json() for d in error.diagnostics]}


def _memory(
    source: str | dict[str, Any], passes: Mapping[str, Any] | None
) -> list[dict[str, Any]] | None:
    """The memory profiles that are asked for, without checkpointed activations first."""
    from ..training.memory import profile

    if passes is None:
        return None
    try:
        return [
            asdict(
                profile(
                    source,
                    passes["sequence"],
                    passes["precision"],
                    checkpointed=checkpointed,
                    dropout=passes["dropout"],
                )
            )
            for checkpointed in (False, True)
        ]
    except Exception:  # a family whose shapes depend on its numbers fails in any way
        return None


if __name__ == "__main__":
    print(json.dumps([answer(*request) for request in json.load(sys.stdin)]))
