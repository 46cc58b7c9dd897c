"""The facts of models, computed in a process of its own, so that the caller need not load torch.

A list of folders and configurations, each with its pass settings, is read from standard input as
JSON; the answers are the last line on standard output.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from lawdsl.core.diagnostics import LawdslError

from ..run.memory import PassSettings

MAX_REASON = 120  # maximum number of displayed characters of a library's error


def answer(source: str | dict[str, Any], passes: Mapping[str, Any] | None) -> dict[str, Any]:
    """The facts of one model, or why it cannot be used."""
    from ..training.models import inspect

    try:
        facts = inspect(source)
        coefficient = facts.experts.router_loss if facts.experts else 0.0
        memory, uncounted = _memory(source, passes, coefficient)
    except LawdslError as error:
        return {"mistakes": [d.to_json() for d in error.diagnostics]}
    return {"facts": asdict(facts), "memory": memory, "uncounted": uncounted}


def _memory(
    source: str | dict[str, Any], passes: Mapping[str, Any] | None, router_loss: float
) -> tuple[list[dict[str, Any]] | None, str]:
    """The memory profiles that are requested, without checkpointed activations first; else why not.

    Args:
        router_loss: the router loss of the model's configuration, unless the passes state another
            one.

    Raises:
        LawdslError: the passes fail, and so would training: numbers of the configuration do not
            agree (R0302).
    """
    from ..training.configurations import check_numbers
    from ..training.memory_profiles import profiles_of

    if passes is None:
        return None, ""
    try:
        profiles = profiles_of(source, PassSettings(**{"router_loss": router_loss} | dict(passes)))
    except Exception as error:  # a family whose shapes depend on its numbers fails in any way
        check_numbers(source)
        lines = str(error).splitlines() or [type(error).__name__]
        return None, lines[0][:MAX_REASON]
    return [asdict(profiles[checkpointed]) for checkpointed in (False, True)], ""


if __name__ == "__main__":
    print(json.dumps([answer(*request) for request in json.load(sys.stdin)]))
