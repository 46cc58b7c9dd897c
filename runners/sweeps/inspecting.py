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

from ..run.memory import PassSettings


def answer(source: str | dict[str, Any], passes: Mapping[str, Any] | None) -> dict[str, Any]:
    """The facts of one model, or why it cannot be used."""
    from ..training.models import inspect

    try:
        facts = inspect(source)
    except LawdslError as error:
        return {"mistakes": [d.to_json() for d in error.diagnostics]}
    coefficient = facts.experts.router_loss if facts.experts else 0.0
    return {"facts": asdict(facts), "memory": _memory(source, passes, coefficient)}


def _memory(
    source: str | dict[str, Any], passes: Mapping[str, Any] | None, router_loss: float
) -> list[dict[str, Any]] | None:
    """The memory profiles that are asked for, without checkpointed activations first.

    Args:
        router_loss: that of the model's configuration, unless the passes state another one.
    """
    from ..training.memory_profiles import profiles_of

    if passes is None:
        return None
    try:
        profiles = profiles_of(source, PassSettings(**{"router_loss": router_loss} | dict(passes)))
    except Exception:  # a family whose shapes depend on its numbers fails in any way
        return None
    return [asdict(profiles[checkpointed]) for checkpointed in (False, True)]


if __name__ == "__main__":
    print(json.dumps([answer(*request) for request in json.load(sys.stdin)]))
