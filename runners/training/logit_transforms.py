"""The configuration of a model -> the transform of the logits of its head."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transformers.configuration_utils import PretrainedConfig

from .losses import LogitTransform

SCALES: dict[str, Callable[[float], float]] = {
    "logit_scale": lambda value: value,  # Cohere
    "logits_scaling": lambda value: 1 / value,  # Granite
    "lm_head_multiplier": lambda value: value,  # Falcon-H1
}
"""Field -> function from its value to the factor of the logits."""
CAPS = (
    "final_logit_softcapping",  # Gemma 2 and later, nanochat
    "logits_soft_cap",  # RecurrentGemma
    "output_logit_soft_cap",  # xLSTM
)
"""Fields with the cap of the logits: cap tanh(z / cap)."""
ATTENTION_CAP = "attn_logit_softcapping"
"""The field with the cap of attention scores, which no kernel of SDPA supports."""


def logit_transform(config: PretrainedConfig) -> LogitTransform:
    """The transform of the logits of a model's head, from the fields of its configuration.

    Other families may use the same fields differently, and new fields may be added; therefore
    `models.load` compares the result with the model's own logits.
    """
    text = config.get_text_config()
    scale = 1.0
    for name, factor in SCALES.items():
        if (value := _positive(getattr(text, name, None))) is not None:
            scale *= factor(value)
    caps = (_positive(getattr(text, name, None)) for name in CAPS)
    return LogitTransform(scale, next((cap for cap in caps if cap is not None), None))


def attention_options(config: PretrainedConfig) -> dict[str, str]:
    """The arguments with which transformers selects an attention suitable for training.

    By default this is torch's SDPA in all families that support it.
    """
    capped = _positive(getattr(config.get_text_config(), ATTENTION_CAP, None)) is not None
    return {"attn_implementation": "eager"} if capped else {}


def _positive(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and value > 0 else None
