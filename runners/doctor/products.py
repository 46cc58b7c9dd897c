"""The rate of matrix products, an upper bound of the training speed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import torch

from ..run import costs
from .records import CheckInput, Measurement, at_least

LEAST_SHARE_OF_PEAK = 0.5  # share of the rate in the data sheet; a working GPU reaches 0.7 to 0.85
SECONDS = 0.4  # seconds for which each kind of product is repeated
SIZE_CPU, SIZE_GPU = 768, 8192  # rows and columns of the factors
FEW = "another program uses the GPU, or its power or clock is limited"


def products(check_input: CheckInput) -> Iterator[Measurement]:
    """The FLOP/s of square products: float32 and bfloat16, on a GPU with TF32 too."""
    device = torch.device(check_input.device)
    size = SIZE_GPU if check_input.on_gpu else SIZE_CPU
    kinds = {"float32": (torch.float32, False)}
    if check_input.on_gpu:
        kinds["float32 with TF32"] = (torch.float32, True)
    kinds["bfloat16"] = (torch.bfloat16, False)
    unit, scale = ("TFLOP/s", 1e12) if check_input.on_gpu else ("GFLOP/s", 1e9)
    before = torch.backends.cuda.matmul.allow_tf32
    for name, (dtype, tf32) in kinds.items():
        torch.backends.cuda.matmul.allow_tf32 = tf32
        rate = product_rate(device, dtype, size)
        what = f"{name} products of {size:,} x {size:,}"
        peak = costs.peak_flops(torch.cuda.get_device_name()) if check_input.on_gpu else None
        if dtype == torch.bfloat16 and peak is not None:
            bound = LEAST_SHARE_OF_PEAK * peak / scale
            yield at_least(what, rate / scale, bound, unit, FEW)
        else:
            yield Measurement(what, rate / scale, unit)
    torch.backends.cuda.matmul.allow_tf32 = before
    if not check_input.on_gpu:
        yield Measurement("threads", torch.get_num_threads())


def product_rate(
    device: torch.device, dtype: torch.dtype, size: int, seconds: float = SECONDS
) -> float:
    """Measure the rate of products of two square matrices.

    Args:
        device: the device.
        dtype: the dtype of the factors.
        size: rows and columns.
        seconds: the minimum time for which they are repeated.

    Returns:
        FLOP/s: 2 size³ a product, by the median time of batches of products.
    """
    a, b = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    out = a @ b
    _synchronize(device)
    # a single product on a GPU takes less time than its launch
    each = 10 if device.type == "cuda" else 1
    times: list[float] = []
    while sum(times) < seconds or len(times) < 3:
        begun = time.perf_counter()
        for _ in range(each):
            torch.mm(a, b, out=out)
        _synchronize(device)
        times.append(time.perf_counter() - begun)
    return 2 * size**3 * each / sorted(times)[len(times) // 2]


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
