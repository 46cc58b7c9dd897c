"""A model and a device -> the cost of training: arithmetic, memory, and utilisation of the peak.

FLOP/token = 6 W + 12 layers hidden sequence, and MFU = tokens/s * FLOP/token / (peak * devices):
Chowdhery et al. (2022), PaLM, arXiv:2204.02311, appendix B.
"""

from __future__ import annotations

import re
from typing import Literal

PEAKS: dict[str, float] = {
    # NVIDIA's data sheets, where they print the rate with 2:4 sparsity (1,979 for the H100): half
    "GB200": 2500e12,
    "B200": 2250e12,
    "H200": 989e12,
    "H200 NVL": 835e12,
    "GH200": 989e12,
    "H100": 989e12,  # SXM, whose name does not say so
    "H100 NVL": 835e12,
    "H100 PCIE": 756e12,
    "A100 SXM4": 312e12,
    "A100 PCIE": 312e12,
    "A40": 149.7e12,
    "A30": 165e12,
    "A10": 125e12,
    "L40S": 362e12,
    "L40": 181e12,
    "L4": 121e12,
    # no bfloat16 in the matrix units of these: float16
    "V100 SXM2": 125e12,
    "V100 PCIE": 112e12,
    "V100S PCIE": 130e12,
    "T4": 65e12,
    # NVIDIA's white papers on GA102, Ada and RTX Blackwell: sums in float32, half as fast as others
    "RTX 5090": 209.5e12,
    "RTX 4090": 165.2e12,
    "RTX 3090": 71e12,
    # AMD's data sheet
    "MI300X": 1307e12,
}
"""Dense bfloat16 FLOP/s by the name that the driver gives, less maker and memory."""

_UNTOLD = re.compile(r"NVIDIA|AMD|TESLA|GEFORCE|INSTINCT|\d+GB|HBM3E?")


def flops_per_token(
    parameters: int, embedding: int, layers: int, hidden: int, sequence: int, *, tied: bool
) -> int:
    """Count the FLOP of a forward and a backward pass, for a token of windows of `sequence`.

    6 for each weight that a token is multiplied with, and 12 layers hidden sequence for attention:
    Chowdhery et al. (2022), PaLM, appendix B. The input embedding is looked up and does not count;
    the head does, whether its weights are the embedding's or its own. Attention to the tokens
    that are masked is counted, as in the paper: halved, it would lower the MFU of causal models.

    Args:
        parameters: all of the model's, those that are shared counted once.
        embedding: those of the input embedding.
        layers, hidden: number of layers, and their width.
        sequence: tokens of a window.
        tied: whether the head shares the weights of the input embedding.

    Returns:
        FLOP per token.
    """
    multiplied = parameters if tied else parameters - embedding
    return 6 * multiplied + 12 * layers * hidden * sequence


def peak_flops(device_name: str) -> float | None:
    """Peak FLOP/s of a device by its name, as `torch.cuda.get_device_name` gives it.

    None for a device that is not known: for a part of one (MIG), for laptops, for CPUs.
    """
    words = re.split(r"[\s-]+", device_name.upper())
    return PEAKS.get(" ".join(word for word in words if not _UNTOLD.fullmatch(word)))


def model_flops_utilisation(
    tokens_per_second: float, flops_per_token: float, peak: float | None, devices: int = 1
) -> float | None:
    """Model FLOPs utilisation: the fraction of the devices' peak that the model's arithmetic uses.

    MFU = tokens/s * FLOP/token / (peak * devices): Chowdhery et al. (2022), PaLM, appendix B;
    recomputation that saves memory does not count.

    Args:
        tokens_per_second: the tokens per second of all devices together.
        flops_per_token: see `flops_per_token`.
        peak: FLOP/s of one device; None if it is not known.
        devices: their number.

    Returns:
        The fraction, 0 to 1; None where the peak is not known.
    """
    return None if peak is None else tokens_per_second * flops_per_token / (peak * devices)


def training_bytes(
    parameters: int,
    embedding: int,
    layers: int,
    hidden: int,
    intermediate: int,
    tokens: int,
    *,
    precision: Literal["float32", "bfloat16"] = "float32",
    shards: int = 1,
) -> int:
    """Estimate from above the bytes that training takes on each device.

    * 16 for each parameter, over the shards: weights, gradients and two moments in float32.
    * Activations for the backward pass: 40 hidden + 16 intermediate bytes a token and layer;
      under bfloat16 34 hidden + 8 intermediate, and 2 a parameter for the weights rounded to it.
      That is what autograd stores of Llama and Qwen2 in transformers, attention never materialised
      and nothing recomputed; torch.compile stores less.
    * The head: a chunk of logits, of 1 GiB at most, and its gradient; the gradient of its weights,
      scaled and not.

    Args:
        parameters, embedding, layers, hidden: see `flops_per_token`.
        intermediate: the width of the feed-forward layers.
        tokens: that go through the model at once, a micro-batch's rows times the sequence.
        precision: the precision of the products.
        shards: devices that share the parameters (FSDP).

    Returns:
        Bytes.
    """
    low = precision == "bfloat16"
    state = 16 * parameters // shards
    activation_bytes = 34 * hidden + 8 * intermediate if low else 40 * hidden + 16 * intermediate
    activations = layers * tokens * activation_bytes + (2 * parameters if low else 0)
    logits = min(2**30, 4 * tokens * (embedding // hidden))
    return state + activations + 2 * logits + 8 * embedding


def checkpoint_bytes(parameters: int) -> int:
    """Bytes of one checkpoint, but for a few KB: weights and two moments in float32."""
    return 12 * parameters
