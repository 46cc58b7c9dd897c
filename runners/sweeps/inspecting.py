"""What is known of models, in a process of its own: who asks need not load torch.

A list of folders and configurations is read from standard input as JSON, the answers are its last
line on standard output.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from lawdsl.core.diagnostics import LawdslError


def answer(source: str | dict[str, Any]) -> dict[str, Any]:
    """The facts of one model, or why it cannot be used."""
    from ..training.models import inspect

    try:
        return {"facts": asdict(inspect(source))}
    except LawdslError as error:
        return {"mistakes": [d.to_json() for d in error.diagnostics]}


if __name__ == "__main__":
    print(json.dumps([answer(source) for source in json.load(sys.stdin)]))
