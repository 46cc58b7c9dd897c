"""A model on one process or on several: replicated on all (DDP) or sharded among them (FSDP2).

Data parallelism: Li et al. (2020), arXiv:2006.15704; fully sharded: Zhao et al. (2023),
arXiv:2304.11277.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from inspect import signature

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from ..spec import ExecutionConfig
from .activation_checkpointing import blocks_of, checkpoint_activations
from .distributed import ParallelContext

# buffers are equal in all processes and need not be sent; torch 2.12 has renamed the argument
_BUFFERS = (
    "forward_sync_buffers"
    if "forward_sync_buffers" in signature(DistributedDataParallel).parameters
    else "broadcast_buffers"
)

Tensors = dict[str, dict[str, Tensor]]
Synced = Callable[[bool], AbstractContextManager[None]]


Fill = Callable[[nn.Module], None]


def placed(
    loss: nn.Module,
    parallel: ParallelContext,
    how: ExecutionConfig,
    *,
    low: bool = False,
    fill: Fill = lambda module: None,
) -> tuple[nn.Module, Synced]:
    """Wrap the loss for the process group, and compile it if this pays off.

    Args:
        loss: the loss of the model.
        parallel: this process and the others.
        how: the execution settings of the run.
        low: whether products are in bfloat16. Sharded layers are then gathered in bfloat16, to
            which autocast would round them anyway (except norms and biases); gradients are summed
            in float32.
        fill: called with each module before it is sharded, so that weights are allocated one layer
            at a time; finally with the whole model.

    Returns:
        The wrapped loss, and a context for the pass over each micro-batch: gradients are reduced
        over the processes only in the last one of a step.
    """
    if how.checkpoint_activations is True:
        checkpoint_activations(loss)
    if is_compiled(how, parallel):
        # shapes never change, so dynamic shapes are disabled
        loss.compile(dynamic=False)
    if parallel.world == 1:
        return loss, lambda last: nullcontext()
    if how.sharded:
        mesh = init_device_mesh(parallel.device.type, (parallel.world,))
        for block in blocks_of(loss):
            fill(block)
            fully_shard(block, mesh=mesh, mp_policy=_policy(block, parallel, low=low))
        fill(loss)
        sharded = fully_shard(loss, mesh=mesh)

        @contextmanager
        def synced(last: bool) -> Iterator[None]:
            sharded.set_requires_gradient_sync(last)
            yield

        return sharded, synced
    ids = [parallel.device.index] if parallel.device.type == "cuda" else None
    copied = DistributedDataParallel(loss, device_ids=ids, **{_BUFFERS: False})
    return copied, lambda last: nullcontext() if last else copied.no_sync()


def _policy(block: nn.Module, parallel: ParallelContext, *, low: bool) -> MixedPrecisionPolicy:
    """The precision in which the weights of a layer are gathered, and their gradients summed.

    Embedding, head and the residual stream remain in float32.
    """
    # on a CPU, unlike on a GPU, LayerNorm does not accept bfloat16 weights with float32 activations
    has_layer_norm = any(isinstance(module, nn.LayerNorm) for module in block.modules())
    refuses = parallel.device.type == "cpu" and has_layer_norm
    gathered = torch.bfloat16 if low and not refuses else None
    return MixedPrecisionPolicy(gathered, torch.float32, cast_forward_inputs=False)


def is_compiled(how: ExecutionConfig, parallel: ParallelContext) -> bool:
    """Whether the loss is compiled: the setting of the run; by default on a GPU only."""
    return how.compile or (how.compile is None and parallel.device.type == "cuda")


def settle(loss: nn.Module, tokens: Tensor, parallel: ParallelContext) -> None:
    """Fix the order in which gradients are summed over the processes.

    DDP uses the order of its first backward pass in all later ones, so the first update of a
    resumed run would be summed in another order than in an uninterrupted run, with other rounding
    for three or more processes.

    Args:
        tokens: a micro-batch, (rows, T + 1), with arbitrary tokens.
    """
    if isinstance(loss, DistributedDataParallel):
        loss(tokens.to(parallel.device)).sum().backward()
        loss.zero_grad()


def rows_of(tensor: DTensor, parallel: ParallelContext, rank: int) -> tuple[int, int]:
    """Return the rows of a sharded tensor in a process: FSDP2 shards the first dimension.

    Args:
        tensor: a tensor sharded over all processes.
        parallel: this process and the others.
        rank: the rank of the process.

    Returns:
        The first row, and the one after the last.
    """
    size = tensor.shape[0]
    each = -(
        -size // parallel.world
    )  # like torch.chunk: the last processes may have fewer rows, or none
    return min(rank * each, size), min((rank + 1) * each, size)


def gathered(model: nn.Module, optimizer: torch.optim.Optimizer | None) -> Tensors:
    """Copy all parameters, saved buffers and moments of a model that is not sharded to the CPU.

    Args:
        model: the model.
        optimizer: the optimizer whose moments are copied; None for none.

    Returns:
        File -> name -> tensor.
    """
    weights = dict(model.named_parameters())
    tensors = {name: _copied(p) for name, p in weights.items()}
    moments = {}
    if optimizer is not None:
        for name, p in weights.items():
            for what, value in optimizer.state.get(p, {}).items():
                moments[f"{name}/{what}"] = _copied(value)
    return {"model": tensors | saved_buffers(model), "optimizer": moments}


@torch.no_grad()
def restore(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: Tensors) -> None:
    """Load the tensors of `gathered` into a model that is not sharded.

    Args:
        model, optimizer: are changed in place.
        tensors: file -> name -> tensor.
    """
    weights = dict(model.named_parameters())
    for name, target in (weights | saved_buffers(model, copy=False)).items():
        target.copy_(tensors["model"][name])
    for key, value in tensors["optimizer"].items():
        name, _, what = key.rpartition("/")
        optimizer.state[weights[name]][what] = value.to(weights[name].device, copy=True)


def saved_buffers(model: nn.Module, copy: bool = True) -> dict[str, Tensor]:
    """Return the persistent buffers of a model; others are determined by its configuration.

    Args:
        model: the model.
        copy: whether to return copies on the CPU instead of the buffers themselves.

    Returns:
        Name -> buffer.
    """
    parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    # tied weights appear in state_dict under both names, hence remove_duplicate=False above
    buffers = {n: t for n, t in model.state_dict().items() if n not in parameters}
    return {n: t.detach().cpu().contiguous() if copy else t for n, t in buffers.items()}


def _copied(value: Tensor) -> Tensor:
    # a copy: the next step may run while a checkpoint is written from it
    return value.detach().to("cpu", copy=True).contiguous()
