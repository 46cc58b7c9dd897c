"""The memory of a GPU that continual pre-training of Qwen1.5 takes: estimated, not measured.

    python -m lawdsl.runners.recipes.qwen.memory [GIGABYTES]

prints a table in Markdown for a GPU with so much memory, 141 GB by default. Configurations are
those that Hugging Face publishes (Qwen/Qwen1.5-0.5B, -1.8B and -4B); neither their weights nor a
GPU are needed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from ...run.memory import PassSettings, Placement, step_bytes
from ...run.model_facts import ModelFacts
from ...spec import ExecutionConfig, Training
from ...sweeps.inputs import describe
from ...sweeps.machine import Machine
from ...sweeps.memory import run_memory

GIGABYTES = 141.0  # of an H200
ROWS, SEQUENCE, PRECISION = 64, 2048, "bfloat16"
HEADINGS = (
    "model",
    "parameters",
    "micro-batch that fits",
    "GB with it",
    "GB of one row",
    "micro-batch with checkpoints",
    "GB with it",
    "GB of one row",
)


def qwen(hidden: int, intermediate: int, layers: int, heads: int, tied: bool) -> dict[str, Any]:
    """A configuration of the family Qwen1.5.

    Args:
        hidden, intermediate: widths of the hidden states and within the MLP.
        layers, heads: how many there are.
        tied: whether the head has the weights of the input embedding.

    Returns:
        The configuration as plain data.
    """
    return {
        "model_type": "qwen2",
        "vocab_size": 151_936,
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "max_position_embeddings": 32_768,
        "tie_word_embeddings": tied,
    }


MODELS = {
    "Qwen1.5-0.5B": qwen(1024, 2816, 24, 16, tied=True),
    "Qwen1.5-1.8B": qwen(2048, 5504, 24, 16, tied=False),
    "Qwen1.5-4B": qwen(2560, 6912, 40, 20, tied=False),
}


def table(gigabytes: float = GIGABYTES) -> Iterator[str]:
    """Return the lines of the table.

    Args:
        gigabytes: of the GPU.

    Yields:
        Lines of Markdown.
    """
    settings = asdict(PassSettings(SEQUENCE, PRECISION))
    facts = describe(list(MODELS.values()), [settings] * len(MODELS))
    yield f"| {' | '.join(HEADINGS)} |"
    yield "|---" * len(HEADINGS) + "|"
    for name, model in zip(MODELS, facts, strict=True):
        cells = [name, f"{model.parameters / 1e9:.2f}e9"]
        for checkpointed in (False, True):
            cells += _cells(model, checkpointed, gigabytes)
        yield f"| {' | '.join(cells)} |"


def _cells(model: ModelFacts, checkpointed: bool, gigabytes: float) -> list[str]:
    """The micro-batch that fits, its bytes, and those of one row."""
    gpu = Machine(1, {"0": "NVIDIA H200"}, {"0": int(gigabytes * 1e9)})
    how = ExecutionConfig(device="cuda", checkpoint_activations=checkpointed)
    training = Training(
        steps=1, batch=ROWS, sequence=SEQUENCE, learning_rate=1e-5, precision=PRECISION
    )
    memory = run_memory(model, training, how, gpu)
    place = Placement("cuda", PRECISION, compiled=True)
    one = step_bytes(model.memory[checkpointed], ROWS, 1, place)
    if memory is None or memory.available is None or memory.bytes > memory.available:
        return ["none", "", f"{one / 1e9:.0f}"]
    return [str(memory.micro), f"{memory.bytes / 1e9:.0f}", f"{one / 1e9:.0f}"]


if __name__ == "__main__":
    print(*table(*map(float, sys.argv[1:2])), sep="\n")
