"""What each message about corpora, runs and sweeps means."""

from __future__ import annotations

from lawdsl.messages import Message

_RUNS: dict[str, Message] = {
    "R0101": Message(
        "packages that the runner needs are missing",
        "Training needs torch, transformers, tokenizers, safetensors and pydantic, which laws and "
        "fits do not. `pip install 'lawdsl[runner]'` brings them.",
    ),
    "R0102": Message(
        "a description of a run or a sweep that is wrong",
        "The field that is named is missing, unknown or has a value it cannot have. Correct it; "
        "nothing was started.",
    ),
}

RUNNER_MESSAGES: dict[str, Message] = _RUNS
