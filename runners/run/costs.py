"""A model and a device -> the cost of training: arithmetic, and utilisation of the peak.

FLOP/token = 6 W + 12 layers hidden sequence, and MFU = tokens/s * FLOP/token / (peak * devices):
Chowdhery et al. (2022), PaLM, arXiv:2204.02311, appendix B.
"""

from __future__ import annotations

import re

PEAKS: dict[str, float] = {
    # NVIDIA's data sheets, half of the rate if it is printed with 2:4 sparsity (1,979 for the H100)
    "GB200": 2500e12,
    "B200": 2250e12,
    "H200": 989e12,
    "H200 NVL": 835e12,
    "GH200": 989e12,
    "H100": 989e12,  # SXM, which is not part of the name
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
    # the matrix units of these lack bfloat16: the rate of float16
    "V100 SXM2": 125e12,
    "V100 PCIE": 112e12,
    "V100S PCIE": 130e12,
    "T4": 65e12,
    # NVIDIA's white papers on GA102, Ada and RTX Blackwell: accumulation in float32, half as fast
    # as in float16
    "RTX 5090": 209.5e12,
    "RTX 4090": 165.2e12,
    "RTX 3090": 71e12,
    # AMD's data sheet
    "MI300X": 1307e12,
}
"""Name of the device in the driver, without vendor and memory -> dense bfloat16 FLOP/s."""

FLOAT32_PEAKS: dict[str, float] = {
    # of float32 outside of the matrix units, from the sources of PEAKS
    "GB200": 80e12,
    "B200": 75e12,
    "H200": 67e12,
    "H200 NVL": 60e12,
    "GH200": 67e12,
    "H100": 67e12,
    "H100 NVL": 60e12,
    "H100 PCIE": 51e12,
    "A100 SXM4": 19.5e12,
    "A100 PCIE": 19.5e12,
    "A40": 37.4e12,
    "A30": 10.3e12,
    "A10": 31.2e12,
    "L40S": 91.6e12,
    "L40": 90.5e12,
    "L4": 30.3e12,
    "V100 SXM2": 15.7e12,
    "V100 PCIE": 14e12,
    "V100S PCIE": 16.4e12,
    "T4": 8.1e12,
    "RTX 5090": 104.8e12,
    "RTX 4090": 82.6e12,
    "RTX 3090": 35.6e12,
    "MI300X": 163.4e12,
}
"""FLOP/s in float32 by the same names."""

FLOAT16_ONLY = frozenset({"V100 SXM2", "V100 PCIE", "V100S PCIE", "T4"})
"""Devices without bfloat16 and TF32."""

_BFLOAT16 = re.compile(
    r"\b(A(2|10G?|16|30|40|100|800)|H(20|100|200|800)|GH200|L(4|20|40S?)|G?B[23]00|RTX [345]0\d0"
    r"|RTX A\d000|MI[23]\d\d[AX]?)\b"
)
_UNTOLD = re.compile(r"NVIDIA|AMD|TESLA|GEFORCE|INSTINCT|\d+GB|HBM3E?")


def flops_per_token(
    parameters: int, embedding: int, layers: int, hidden: int, sequence: int, *, tied: bool
) -> int:
    """Count the FLOP per token of a forward and a backward pass on windows of `sequence` tokens.

    6 for each weight that a token is multiplied with, and 12 layers hidden sequence for attention:
    Chowdhery et al. (2022), PaLM, appendix B. The input embedding is looked up and does not count;
    the head does, whether its weights are the embedding's or its own. Attention to the tokens
    that are masked is counted, as in the paper: halved, it would lower the MFU of causal models.

    Args:
        parameters: number of parameters of the model, shared ones counted once.
        embedding: number of parameters of the input embedding.
        layers, hidden: number of layers, and their width.
        sequence: tokens of a window.
        tied: whether the head shares the weights of the input embedding.

    Returns:
        FLOP per token.
    """
    multiplied = parameters if tied else parameters - embedding
    return 6 * multiplied + 12 * layers * hidden * sequence


def peak_flops(device_name: str, precision: str = "bfloat16") -> float | None:
    """Peak FLOP/s of a device by its name in `torch.cuda.get_device_name`.

    Args:
        device_name: the name.
        precision: the precision of the products, float32, tf32 or bfloat16; TF32 is half as fast as
            bfloat16 on all devices that have both.

    Returns:
        FLOP/s; None for an unknown device, a partition (MIG), a laptop GPU or a CPU, and for an
        unsupported precision.
    """
    kind = _kind(device_name)
    if precision == "float32":
        return FLOAT32_PEAKS.get(kind)
    if precision == "tf32":
        return PEAKS[kind] / 2 if kind in PEAKS and kind not in FLOAT16_ONLY else None
    return PEAKS.get(kind)


def has_bfloat16(device_name: str) -> bool:
    """Whether the matrix units of a device are known to have bfloat16, by the name of the device.

    NVIDIA's have it since Ampere, AMD's since CDNA 2; names are those of the driver or of Ray.
    """
    return _BFLOAT16.search(device_name.upper()) is not None


def _kind(device_name: str) -> str:
    words = re.split(r"[\s-]+", device_name.upper())
    return " ".join(word for word in words if not _UNTOLD.fullmatch(word))


def model_flops_utilisation(
    tokens_per_second: float, flops_per_token: float, peak: float | None, devices: int = 1
) -> float | None:
    """Model FLOPs utilisation: the fraction of the devices' peak that the model's arithmetic uses.

    MFU = tokens/s * FLOP/token / (peak * devices): Chowdhery et al. (2022), PaLM, appendix B;
    recomputation that saves memory does not count.

    Args:
        tokens_per_second: the tokens per second of all devices together.
        flops_per_token: see `flops_per_token`.
        peak: FLOP/s of one device; None if unknown.
        devices: the number of devices.

    Returns:
        The fraction, 0 to 1; None if the peak is unknown.
    """
    return None if peak is None else tokens_per_second * flops_per_token / (peak * devices)


def checkpoint_bytes(parameters: int) -> int:
    """Bytes of one checkpoint, but for a few KB: weights and two moments in float32."""
    return 12 * parameters
