"""The loss of a language model straight from its hidden states, a chunk of tokens at a time.

The logits of a batch are the largest thing in training: 64 x 2,048 tokens by a vocabulary of
151,936 are 80 GB in float32, and as much again for their gradient. Here they exist for one chunk
of tokens at a time. The gradients are made from each chunk while its logits are there, in the
forward pass: three products of matrices a chunk, as many as with all logits at once, and what is
left for the backward pass is to scale them.
"""

from __future__ import annotations

import torch
from torch import Tensor

IGNORED = -100
"""The target of a token that is not counted, as in torch."""

CPU_LOGITS = 2**18
GPU_LOGITS = 2**28
"""How many logits a chunk has by default: 1 MiB of float32, which a cache holds, or 1 GiB."""


def chunked_loss(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    *,
    chunk: int | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """The sum of -log p over the targets, in nats: a scalar that can be differentiated once.

    Under autocast the products are made in its type; logits, the sum and the gradient of the
    weights are float32 all the same (float64 if `hidden` is).

    Args:
        hidden: the last hidden states, (rows, tokens, width) or (tokens, width).
        weight: the head of the model, (vocabulary, width).
        targets: the token that follows each hidden state, (rows, tokens) or (tokens,); -100 for
            one that is not counted.
        chunk: tokens whose logits exist at once; by the size of the vocabulary if None.
        bias: of the head, (vocabulary,).
    """
    hidden, targets = hidden.flatten(0, -2), targets.flatten()
    chunk = chunk or default_chunk(len(targets), len(weight), hidden.device.type)
    wanted = any(t is not None and t.requires_grad for t in (hidden, weight, bias))
    if not (torch.is_grad_enabled() and wanted):
        return token_losses(hidden, weight, targets, chunk, bias=bias).sum()
    return _with_gradients(hidden, weight, bias, targets, chunk, _product_type(hidden))[0]


def token_losses(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    chunk: int | None = None,
    *,
    bias: Tensor | None = None,
) -> Tensor:
    """-log p of every target in nats, (tokens,) in float32, 0 where it is -100; no gradient.

    The arguments are those of `chunked_loss`.
    """
    hidden, targets = hidden.flatten(0, -2), targets.flatten()
    chunk = chunk or default_chunk(len(targets), len(weight), hidden.device.type)
    product = _product_type(hidden)
    weight = weight.to(product)
    losses = []
    with torch.no_grad(), torch.autocast(hidden.device.type, enabled=False):
        for some, target in zip(hidden.split(chunk), targets.split(chunk), strict=True):
            logits = _logits(some.to(product), weight, bias)
            chosen = logits.gather(1, target.clamp_min(0).unsqueeze(1)).squeeze(1)
            loss = logits.logsumexp(1) - chosen
            losses.append(loss.masked_fill(target == IGNORED, 0.0))
    return torch.cat(losses).float()


def default_chunk(tokens: int, vocabulary: int, device: str) -> int:
    """How many tokens go through the head at once: chunks of one size that fit the cache or GPU.

    It depends on shapes alone, never on how much memory is free, for the order in which gradients
    are added up decides their last bits.
    """
    most = max(1, (CPU_LOGITS if device == "cpu" else GPU_LOGITS) // vocabulary)
    chunks = max(1, -(-tokens // most))
    return max(1, -(-tokens // chunks))


def _product_type(hidden: Tensor) -> torch.dtype:
    device = hidden.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype


def _logits(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """(tokens, vocabulary), in float32 at least."""
    logits = hidden @ weight.T
    logits = logits if logits.dtype == torch.float64 else logits.float()
    return logits if bias is None else logits + bias


def _gradients(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    chunk: int,
    product: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The loss and its gradients by hidden, weight and bias.

    An operator of its own, that torch.compile does not look into: it would put off the gradients
    to the backward pass, and keep all logits until then.
    """
    high = torch.promote_types(hidden.dtype, torch.float32)
    by_hidden = torch.empty_like(hidden)
    by_weight = torch.zeros(weight.shape, dtype=high, device=weight.device)
    by_bias = torch.zeros(0 if bias is None else len(bias), dtype=high, device=weight.device)
    losses = torch.empty(len(targets), dtype=high, device=hidden.device)
    narrow = weight.to(product)
    with torch.autocast(hidden.device.type, enabled=False):
        for start in range(0, len(targets), chunk):
            part = slice(start, start + chunk)
            counted = targets[part] != IGNORED
            some = hidden[part].to(product)
            slopes = torch.log_softmax(_logits(some, narrow, bias), 1)
            target = targets[part].where(counted, 0).unsqueeze(1)
            losses[part] = slopes.gather(1, target).squeeze(1).neg().where(counted, 0.0)
            slopes.exp_()
            slopes.scatter_add_(1, target, slopes.new_full((1, 1), -1.0).expand_as(target))
            # what is not counted is zeroed in the two narrow products, not in the wide slopes
            slopes = slopes.to(product)
            by_hidden[part] = (slopes @ narrow) * counted.unsqueeze(1)
            by_weight += slopes.T @ (some * counted.unsqueeze(1))
            if bias is not None:
                by_bias += counted.to(high) @ slopes.to(high)
    kind = high if bias is None else bias.dtype
    return losses.sum(), by_hidden, by_weight.to(weight.dtype), by_bias.to(kind)


def _shapes(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    chunk: int,
    product: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    high = torch.promote_types(hidden.dtype, torch.float32)
    by_bias = weight.new_empty(0, dtype=high) if bias is None else torch.empty_like(bias)
    loss = hidden.new_empty((), dtype=high)
    return loss, torch.empty_like(hidden), torch.empty_like(weight), by_bias


def _keep(ctx, inputs, output):  # type: ignore[no-untyped-def]
    ctx.with_bias = inputs[2] is not None
    ctx.save_for_backward(*output[1:])
    ctx.set_materialize_grads(False)


def _scale(ctx, slope, *_):  # type: ignore[no-untyped-def]
    if slope is None:
        return (None,) * 6
    by_hidden, by_weight, by_bias = ctx.saved_tensors
    scaled = (by_hidden * slope.to(by_hidden.dtype), by_weight * slope.to(by_weight.dtype))
    return *scaled, by_bias * slope if ctx.with_bias else None, None, None, None


_with_gradients = torch.library.custom_op(
    "lawdsl::linear_cross_entropy", _gradients, mutates_args=()
)
_with_gradients.register_fake(_shapes)
_with_gradients.register_autograd(_scale, setup_context=_keep)
