"""The attention kernels that run in a forward and a backward pass, by the profiler of torch."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from ..training import models
from .attention_backends import KERNEL, backends
from .records import CheckInput, Measurement
from .small_runs import VOCABULARY, configuration

SHAPE = configuration(256, 2, 4, 512)  # head size 64, the usual one
ROWS = 2
SEQUENCE_CPU, SEQUENCE_GPU = 128, 1024
FAST = ("flash", "cuDNN")
"""Backends that never store the matrix of attention weights and are the fastest."""

SLOW = "attention runs without a fast kernel: a mask is passed, or this torch lacks the kernel"


def attention_kernels(check_input: CheckInput) -> Iterator[Measurement]:
    """The backend of attention, by precision; on a GPU flash or cuDNN is expected in bfloat16."""
    for compiled in (False, True) if check_input.on_gpu and not check_input.quick else (False,):
        for low in (True, False):
            names = profiled_operators(check_input.device, low=low, compiled=compiled)
            used = backends(names)
            what = f"{'bfloat16' if low else 'float32'}, {'compiled' if compiled else 'eager'}"
            # the flash kernels of a GPU have no float32
            expected = low or not check_input.on_gpu
            ok = not expected or any(name in FAST for name in used)
            kinds = "flash or cuDNN" if check_input.on_gpu else "flash"
            yield Measurement(
                f"attention in {what}",
                ", ".join(used) or "none recognised",
                "",
                kinds if expected else "",
                ok,
                "" if ok else SLOW,
            )
            if check_input.on_gpu:
                kernels = sorted({name[:80] for name in names if KERNEL.search(name)})
                yield Measurement(f"kernels in {what}", ", ".join(kernels) or "none recognised")


def profiled_operators(device: str, *, low: bool, compiled: bool) -> list[str]:
    """Profile the loss of a small model with its gradient.

    Args:
        device: cpu or cuda.
        low: whether to compute in bfloat16.
        compiled: whether the model is compiled by torch.compile.

    Returns:
        The names of all operators and of all kernels of the device.
    """
    model = models.load(SHAPE, "width-scaled", seed=0).to(device).train()
    loss = models.LanguageModelLoss(model)
    if compiled:
        torch.compiler.reset()
        loss.compile(dynamic=False)
    length = SEQUENCE_CPU if device == "cpu" else SEQUENCE_GPU
    tokens = torch.randint(VOCABULARY, (ROWS, length + 1), device=device)

    def both_passes() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=low):
            value = loss(tokens) / tokens.numel()
        value.backward()

    both_passes()  # compilation is not profiled_operators
    activities = [ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(ProfilerActivity.CUDA)
        torch.cuda.synchronize()
    with profile(activities=activities, acc_events=True) as profiler:
        both_passes()
        if device == "cuda":
            torch.cuda.synchronize()
    kinds = (DeviceType.CPU, DeviceType.CUDA)
    return [event.name for event in profiler.events() if event.device_type in kinds]
