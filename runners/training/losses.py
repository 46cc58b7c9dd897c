"""Hidden states and the head of a language model -> its loss, a chunk of tokens at a time.

-log p(y) = log sum_v exp(z_v) - z_y, with logits z = W h + b, and d(-log p)/dz_v = p_v - [v = y].
The logits of a batch are the largest array in training: 64 x 2,048 tokens by a vocabulary of
151,936 take 80 GB in float32, and their gradient takes as much. Here they exist for one chunk of
tokens at a time. The gradients are computed from each chunk while its logits exist, in the forward
pass, with three matrix products per chunk, as many as with all logits at once; the backward pass
only scales them.

Some families multiply their logits by a number s, or bound them by a soft cap c: z' = s z, or
z' = c tanh(s z / c), with dz'/dz = s (1 - (z'/c)^2).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..run.memory import default_chunk

IGNORED = -100
"""The target of ignored tokens, as in torch."""


@dataclass(frozen=True)
class LogitTransform:
    """The transform of the logits of a model's head before the softmax: cap tanh(scale z / cap).

    Attributes:
        scale: the factor s of the logits.
        cap: the bound c of their magnitude; None for none.
    """

    scale: float = 1.0
    cap: float | None = None


UNCHANGED = LogitTransform()


def chunked_loss(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    *,
    chunk: int | None = None,
    bias: Tensor | None = None,
    transform: LogitTransform = UNCHANGED,
) -> Tensor:
    """Sum -log p over the targets, in nats: a scalar that can be differentiated once.

    On a GPU under autocast the products are computed in the autocast type; logits, the sum and the
    gradient with respect to the weights are float32. On a CPU everything is float32 (float64 if
    `hidden` is).

    Args:
        hidden: the last hidden states, (rows, tokens, width) or (tokens, width).
        weight: the head of the model, (vocabulary, width).
        targets: the token that follows each hidden state, (rows, tokens) or (tokens,); -100 for
            one that is not counted.
        chunk: tokens whose logits exist at once; by the size of the vocabulary if None.
        bias: the bias of the head, (vocabulary,).
        transform: what is done to the logits of the head.

    Returns:
        A scalar tensor, in nats.
    """
    hidden, targets = hidden.flatten(0, -2), targets.flatten()
    chunk = chunk or default_chunk(len(targets), len(weight), hidden.device.type)
    needs_gradient = any(t is not None and t.requires_grad for t in (hidden, weight, bias))
    if not (torch.is_grad_enabled() and needs_gradient):
        return token_losses(hidden, weight, targets, chunk, bias=bias, transform=transform).sum()
    product, scale, cap = _product_type(hidden), transform.scale, transform.cap
    return _with_gradients(hidden, weight, bias, targets, chunk, product, scale, cap)[0]


def token_losses(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    chunk: int | None = None,
    *,
    bias: Tensor | None = None,
    transform: LogitTransform = UNCHANGED,
) -> Tensor:
    """Return -log p of every target in nats, without a gradient.

    Args:
        hidden: the last hidden states, (rows, tokens, width) or (tokens, width).
        weight: the head of the model, (vocabulary, width).
        targets: the token that follows each hidden state, (rows, tokens) or (tokens,); -100 for
            one that is not counted.
        chunk: tokens whose logits exist at once; by the size of the vocabulary if None.
        bias: the bias of the head, (vocabulary,).
        transform: what is done to the logits of the head.

    Returns:
        Shape (rows * tokens,), float32 (float64 if `hidden` is), 0 where the target is -100.
    """
    hidden, targets = hidden.flatten(0, -2), targets.flatten()
    chunk = chunk or default_chunk(len(targets), len(weight), hidden.device.type)
    product, high = _product_type(hidden), _high(hidden)
    with torch.no_grad(), torch.autocast(hidden.device.type, enabled=False):
        narrow = weight.to(product)
        losses = [
            cross_entropy(
                transformed(_logits(some.to(product), narrow, bias, high), transform),
                target,
                reduction="none",
                ignore_index=IGNORED,
            )
            for some, target in zip(hidden.split(chunk), targets.split(chunk), strict=True)
        ]
        return torch.cat(losses).to(high)


def transformed(logits: Tensor, transform: LogitTransform) -> Tensor:
    """Scale and cap the logits of a head.

    Args:
        logits: logits, of any shape.
        transform: their transform.

    Returns:
        The transformed logits; `logits` itself for the identity.
    """
    if transform.scale != 1:
        logits = logits * transform.scale
    return logits if transform.cap is None else transform.cap * (logits / transform.cap).tanh()


def _high(hidden: Tensor) -> torch.dtype:
    """The type of logits, losses and sums of gradients."""
    return torch.promote_types(hidden.dtype, torch.float32)


def _product_type(hidden: Tensor) -> torch.dtype:
    """The type of the factors of matrix products.

    It differs from the result type only on a GPU, because elsewhere the products would be rounded to it.
    """
    if hidden.device.type != "cuda":
        return _high(hidden)
    return torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else hidden.dtype


def _logits(hidden: Tensor, weight: Tensor, bias: Tensor | None, high: torch.dtype) -> Tensor:
    """The logits of some tokens, shape (tokens, vocabulary)."""
    if hidden.dtype == high:
        logits = hidden @ weight.T
    else:
        logits = torch.mm(hidden, weight.T, out_dtype=high)
    return logits if bias is None else logits + bias


def _gradients(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    chunk: int,
    product: torch.dtype,
    scale: float = 1.0,
    cap: float | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The loss and its gradients with respect to hidden, weight and bias."""
    transform = LogitTransform(scale, cap)
    high, on_cpu = _high(hidden), hidden.device.type == "cpu"
    new = functools.partial(torch.zeros, dtype=high, device=hidden.device)
    losses, by_hidden = new(len(targets)), torch.empty_like(hidden)
    # the memory layout with which the last product is a quarter faster on a CPU
    by_weight = new(weight.shape[::-1]).T if on_cpu else new(weight.shape)
    by_bias = new(0 if bias is None else len(bias))
    slopes_of = _slopes_in_place if on_cpu else _fused()
    with torch.autocast(hidden.device.type, enabled=False):
        # cast once for all chunks: the weight is as large as the logits of several chunks
        narrow = weight.to(product)
        for start in range(0, len(targets), chunk):
            part = slice(start, start + chunk)
            some, counted = hidden[part].to(product), targets[part] != IGNORED
            # gather does not accept -100: ignored targets get a valid index and are masked below
            target = targets[part].where(counted, 0).unsqueeze(1)
            logits = transformed(_logits(some, narrow, bias, high), transform)
            losses[part], slopes = slopes_of(logits, target, product, scale, cap)
            # ignored tokens are zeroed in the narrow products, not in the wide gradients of the
            # logits
            by_hidden[part] = (slopes @ narrow) * counted.unsqueeze(1)
            some = some * counted.unsqueeze(1)
            if product == high:
                by_weight.addmm_(slopes.T, some)
            else:
                torch.addmm(by_weight, slopes.T, some, out_dtype=high, out=by_weight)
            if bias is not None:
                by_bias += counted.to(high) @ slopes.to(high)
            # otherwise they would exist at the same time as those of the next chunk
            del logits, slopes
    # not multiplied by 0: an overflowed logit times 0 is NaN
    losses.masked_fill_(targets == IGNORED, 0.0)
    kind = high if bias is None else bias.dtype
    return losses.sum(), by_hidden, by_weight.contiguous().to(weight.dtype), by_bias.to(kind)


def _slopes(
    logits: Tensor,
    target: Tensor,
    product: torch.dtype,
    scale: float = 1.0,
    cap: float | None = None,
) -> tuple[Tensor, Tensor]:
    """-log p of the targets, and its gradient with respect to the logits of the head: the
    probabilities, minus 1 at the target, times the derivative of the transform.

    logits (tokens, vocabulary), transformed; target (tokens, 1).
    """
    logs = logits.log_softmax(1)
    at_target = torch.arange(logits.shape[1], device=logits.device) == target
    slopes = _chained(logs.exp() - at_target.to(logits.dtype), logits, scale, cap)
    return -logs.gather(1, target).squeeze(1), slopes.to(product)


def _slopes_in_place(
    logits: Tensor,
    target: Tensor,
    product: torch.dtype,
    scale: float = 1.0,
    cap: float | None = None,
) -> tuple[Tensor, Tensor]:
    """-log p and its gradient without a compiler: one exponential per logit, with a minimum of
    passes over memory.

    The largest probability is 1 over the sum of exp(logit - largest logit).
    """
    largest = logits.amax(1, keepdim=True)
    slopes = logits.softmax(1)
    above = largest - logits.gather(1, target)
    losses = (above - slopes.amax(1, keepdim=True).log()).squeeze(1)
    slopes.scatter_add_(1, target, slopes.new_full((1, 1), -1.0).expand_as(target))
    return losses, _chained(slopes, logits, scale, cap).to(product)


def _chained(slopes: Tensor, logits: Tensor, scale: float, cap: float | None) -> Tensor:
    """Gradient with respect to the transformed logits -> gradient with respect to the logits of the
    head, by the chain rule.
    """
    if cap is not None:
        slopes = slopes * (1 - (logits / cap).square())
    return slopes if scale == 1 else slopes * scale


Slopes = Callable[[Tensor, Tensor, torch.dtype, float, float | None], tuple[Tensor, Tensor]]


@functools.cache
def _fused() -> Slopes:
    """Compiled kernels with two passes over the logits if Triton is installed, else the in-place
    version.
    """
    return torch.compile(_slopes) if find_spec("triton") else _slopes_in_place


def _shapes(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    chunk: int,
    product: torch.dtype,
    scale: float = 1.0,
    cap: float | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Uninitialised results of `_gradients`."""
    high = _high(hidden)
    by_bias = weight.new_empty(0, dtype=high) if bias is None else torch.empty_like(bias)
    by_weight = weight.new_empty(weight.shape)
    return hidden.new_empty((), dtype=high), torch.empty_like(hidden), by_weight, by_bias


def _keep(ctx, inputs, output):  # type: ignore[no-untyped-def]
    ctx.with_bias = inputs[2] is not None
    ctx.save_for_backward(*output[1:])
    # otherwise torch allocates zeros of the size of the weight for outputs that are not
    # differentiated
    ctx.set_materialize_grads(False)


def _scale(ctx, slope, *_):  # type: ignore[no-untyped-def]
    if slope is None:
        return (None,) * 8
    by_hidden, by_weight, by_bias = ctx.saved_tensors
    scaled = (by_hidden * slope.to(by_hidden.dtype), by_weight * slope.to(by_weight.dtype))
    bias_slopes = by_bias * slope if ctx.with_bias else None
    return *scaled, bias_slopes, None, None, None, None, None


# A custom operator, which is opaque to torch.compile: otherwise it would defer the gradients to the
# backward pass, and keep all logits until then.
_with_gradients = torch.library.custom_op(
    "lawdsl::linear_cross_entropy", _gradients, mutates_args=()
)
_with_gradients.register_fake(_shapes)
_with_gradients.register_autograd(_scale, setup_context=_keep)
