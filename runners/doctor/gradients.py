"""Loss and gradients of a small model, as the runner computes them, against float64 on the CPU.

The reference is the model in float64 with the attention that transformers writes out, and torch's
own cross-entropy of all logits: it shares neither kernels nor the chunked loss with the runner.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..training import models
from .records import CheckInput, Measurement, at_most, not_measured
from .small_runs import VOCABULARY, configuration

SHAPE = configuration(64, 2, 2, 128)
COMPILED_ON_CPU = configuration(64, 1, 2, 128)  # a layer takes some 10 s to compile there
ROWS, SEQUENCE = 4, 64
WRONG = "the kernels of this device are less accurate than their precision"


@dataclass(frozen=True)
class Precision:
    """A precision, and the allowed relative deviation of its results from float64.

    The bounds are several times the unit roundoff: 2^-24 for float32, 2^-11 for TF32, 2^-9 for
    bfloat16. A wrong mask, or a lost micro-batch, deviates by more than 0.1.
    """

    name: str
    loss: float
    gradient: float
    autocast: bool = False
    tf32: bool = False
    gpu_only: bool = False


PRECISIONS = (
    Precision("float32", 1e-5, 1e-4),
    Precision("float32 with TF32", 1e-3, 1e-2, tf32=True, gpu_only=True),
    Precision("bfloat16", 1e-2, 5e-2, autocast=True),
)


def eager_gradients(check_input: CheckInput) -> Iterator[Measurement]:
    """Loss and gradients in each precision, not compiled."""
    yield from _gradients(check_input, compiled=False)


def compiled_gradients(check_input: CheckInput) -> Iterator[Measurement]:
    """Loss and gradients in each precision, compiled; in float32 alone on a CPU."""
    missing = _compiler_missing(check_input)
    if missing:
        yield not_measured("loss and gradients, compiled", missing)
        return
    yield from _gradients(check_input, compiled=True)


def _compiler_missing(check_input: CheckInput) -> str:
    """Why torch.compile cannot work; empty if it can."""
    if check_input.on_gpu:
        return "" if find_spec("triton") else "Triton is not installed"
    has_compiler = any(shutil.which(name) for name in ("g++", "clang++", "c++"))
    return "" if has_compiler else "no C++ compiler was found"


def _gradients(check_input: CheckInput, *, compiled: bool) -> Iterator[Measurement]:
    shape = COMPILED_ON_CPU if compiled and not check_input.on_gpu else SHAPE
    model = models.load(shape, "width-scaled", seed=0)
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(VOCABULARY, (ROWS, SEQUENCE + 1), generator=generator)
    loss, gradient = reference(model, tokens)
    before = torch.backends.cuda.matmul.allow_tf32
    for precision in PRECISIONS:
        # compiling takes half a minute on a CPU
        if not check_input.on_gpu and (precision.gpu_only or (compiled and precision.autocast)):
            continue
        torch.backends.cuda.matmul.allow_tf32 = precision.tf32
        own_loss, own_gradient = loss_and_gradient(
            copy.deepcopy(model), tokens, check_input.device, precision, compiled=compiled
        )
        what = f"{precision.name}, {'compiled' if compiled else 'eager'}"
        error = abs(own_loss - loss) / abs(loss)
        yield at_most(f"relative error of the loss, {what}", error, precision.loss, why=WRONG)
        off = float((own_gradient - gradient).norm() / gradient.norm())
        name = f"relative error of the gradient, {what}"
        yield at_most(name, off, precision.gradient, why=WRONG)
    torch.backends.cuda.matmul.allow_tf32 = before


def reference(model: Any, tokens: Tensor) -> tuple[float, Tensor]:
    """Compute the mean loss and its gradient in float64 on the CPU.

    Args:
        model: the model, in float32 on the CPU; it is not changed.
        tokens: shape (rows, T + 1).

    Returns:
        The loss in nats per token, and all gradients as one vector of float64.
    """
    exact = copy.deepcopy(model).double()
    exact.set_attn_implementation("eager")
    logits = exact(input_ids=tokens[:, :-1], use_cache=False).logits
    loss = cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    return float(loss.detach()), _flat(exact)


def loss_and_gradient(
    model: Any, tokens: Tensor, device: str, precision: Precision, *, compiled: bool
) -> tuple[float, Tensor]:
    """Compute the mean loss and its gradient as the runner does.

    Args:
        model: the model, which is moved to the device.
        tokens: shape (rows, T + 1), on the CPU.
        device: cpu or cuda.
        precision: the precision.
        compiled: whether by torch.compile.

    Returns:
        The loss in nats per token, and all gradients as one vector of float64 on the CPU.
    """
    model.to(device).train()
    loss = models.LanguageModelLoss(model)
    if compiled:
        torch.compiler.reset()
        loss.compile(dynamic=False)
    with torch.autocast(device, torch.bfloat16, enabled=precision.autocast):
        mean = loss(tokens.to(device)) / (tokens.numel() - len(tokens))
    mean.backward()
    return float(mean.detach()), _flat(model)


def _flat(model: Any) -> Tensor:
    """The gradients of all parameters as one vector of float64 on the CPU."""
    parts = [p.grad.detach().double().cpu().flatten() for p in model.parameters()]
    return torch.cat(parts)
