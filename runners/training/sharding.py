"""A model on one process or on several: replicated on all (DDP) or sharded among them (FSDP2).

Data parallelism: Li et al. (2020), arXiv:2006.15704; fully sharded: Zhao et al. (2023),
arXiv:2304.11277.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from ..spec import ExecutionConfig
from .activation_checkpointing import blocks_of, checkpoint_activations
from .distributed import ParallelContext

# buffers are alike everywhere and need not be sent; torch 2.12 has given the argument a new name
_BUFFERS = (
    "forward_sync_buffers"
    if "forward_sync_buffers" in signature(DistributedDataParallel).parameters
    else "broadcast_buffers"
)

Tensors = dict[str, dict[str, Tensor]]
Synced = Callable[[bool], AbstractContextManager[None]]


def placed(
    loss: nn.Module, parallel: ParallelContext, how: ExecutionConfig
) -> tuple[nn.Module, Synced]:
    """Wrap the loss for the processes, compiled where that pays.

    Args:
        loss: the loss of the model.
        parallel: this process and the others.
        how: how the run is run.

    Returns:
        What is called in place of it, and a context for the pass over each micro-batch: gradients
        are reduced over the processes only with the last one of a step.
    """
    if how.checkpoint_activations is True:
        checkpoint_activations(loss)
    if how.compile or (how.compile is None and parallel.device.type == "cuda"):
        # shapes never change, so no recompilation for others is prepared
        loss.compile(dynamic=False)
    if parallel.world == 1:
        return loss, lambda last: nullcontext()
    if how.sharded:
        for block in blocks_of(loss):
            fully_shard(block)
        sharded = fully_shard(loss)

        @contextmanager
        def synced(last: bool) -> Iterator[None]:
            sharded.set_requires_gradient_sync(last)
            yield

        return sharded, synced
    ids = [parallel.device.index] if parallel.device.type == "cuda" else None
    copied = DistributedDataParallel(loss, device_ids=ids, **{_BUFFERS: False})
    return copied, lambda last: nullcontext() if last else copied.no_sync()


def settle(loss: nn.Module, tokens: Tensor, parallel: ParallelContext) -> None:
    """Let the processes settle now in which order they add up their gradients.

    DDP goes by its first backward pass in all that follow, so the first update after a run is
    resumed would add up in another order than in the unbroken run: with three processes or more
    that gives other last bits.

    Args:
        tokens: a micro-batch, (rows, T + 1); which tokens does not matter.
    """
    if isinstance(loss, DistributedDataParallel):
        loss(tokens.to(parallel.device)).sum().backward()
        loss.zero_grad()


def gathered(loss: nn.Module, model: nn.Module, optimizer: torch.optim.Optimizer | None) -> Tensors:
    """Gather all parameters, saved buffers and moments, whole and on the CPU.

    Every process must call it, because the parts of sharded ones come from all of them.

    Args:
        loss: the first result of `placed` for the model.
        model: the model.
        optimizer: whose moments are gathered; None for none.

    Returns:
        File -> name -> tensor.
    """
    if isinstance(loss, FSDPModule):
        loss.reshard()  # an evaluation leaves its own parameters whole, which have no moments
    weights = dict(model.named_parameters())
    tensors = {name: _whole(p) for name, p in weights.items()}
    moments = {}
    if optimizer is not None:
        for name, p in weights.items():
            for what, value in optimizer.state.get(p, {}).items():
                moments[f"{name}/{what}"] = _whole(value)
    return {"model": tensors | _buffers(model), "optimizer": moments}


@torch.no_grad()
def restore(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: Tensors) -> None:
    """Load the tensors of `gathered`, each process its part.

    Args:
        model, optimizer: are changed in place.
        tensors: file -> name -> tensor.
    """
    weights = dict(model.named_parameters())
    for name, target in (weights | _buffers(model, saved=False)).items():
        target.copy_(_like(tensors["model"][name], target))
    for key, value in tensors["optimizer"].items():
        name, _, what = key.rpartition("/")
        p = weights[name]
        alike = p if value.shape == p.shape else None
        optimizer.state[p][what] = (
            value.to(p.device, copy=True) if alike is None else _like(value, p).clone()
        )


def _buffers(model: nn.Module, saved: bool = True) -> dict[str, Tensor]:
    """Buffers that belong to the state of a model; others follow from its configuration."""
    parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    # tied weights appear in state_dict under both names, hence remove_duplicate=False above
    buffers = {n: t for n, t in model.state_dict().items() if n not in parameters}
    return {n: t.detach().cpu().contiguous() if saved else t for n, t in buffers.items()}


def _whole(value: Any) -> Tensor:
    value = value.detach()
    if isinstance(value, DTensor):
        value = value.full_tensor()
    # a copy: the next step may run while a checkpoint is written from it
    return value.to("cpu", copy=True).contiguous()


def _like(value: Tensor, target: Tensor) -> Tensor:
    """A complete tensor with the sharding and on the device of another."""
    if isinstance(target, DTensor):
        return distribute_tensor(value.to(target.device), target.device_mesh, target.placements)
    return value.to(target.device)
