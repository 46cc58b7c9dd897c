"""A model on the first process -> its shards on all, layer by layer, and back, tensor by tensor.

The first process loads or initialises the weights as a single process does, so they are bitwise
equal. No other process, and no GPU, has the complete model at any time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor
from transformers import PreTrainedModel

from lawdsl.core.diagnostics import LawdslError

from ..spec import RunOrder
from . import models
from .attention import CAUSAL_ATTENTION, set_attention
from .distributed import ParallelContext, of_first
from .sharding import Synced, placed, rows_of, saved_buffers


def sharded_model(
    order: RunOrder, parallel: ParallelContext
) -> tuple[PreTrainedModel, nn.Module, Synced]:
    """Load or initialise the model of a run, sharded over the processes.

    Args:
        order: the order of the run.
        parallel: this process and the others.

    Returns:
        The model, its loss and the context of backward passes; see `sharding.placed`.

    Raises:
        LawdslError: see `models.load`; in all processes.
    """
    whole = _of_first_process(order, parallel)
    run, training = order.run, order.run.training
    model = models.skeleton(order.paths.model, run.model.initialization, dropout=training.dropout)
    # the attention was tested by the first process; the others have no weights yet
    is_causal = whole is not None and whole.config._attn_implementation == CAUSAL_ATTENTION
    if of_first(parallel, int(is_causal)):
        set_attention(model, CAUSAL_ATTENTION)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    source = None if whole is None else dict(whole.named_parameters())
    complete: dict[int, nn.Parameter] = {}

    def fill(module: nn.Module) -> None:
        for part in module.modules():
            for name, parameter in part._parameters.items():
                if parameter is not None and parameter.is_meta:
                    if id(parameter) not in complete:
                        complete[id(parameter)] = _sent(
                            parameter, source, names[id(parameter)], parallel
                        )
                    # modules with tied parameters get the same object
                    part._parameters[name] = complete[id(parameter)]
        complete.clear()  # release the complete tensors after sharding

    loss, synced = placed(
        models.LanguageModelLoss(model, router_loss=training.router_loss),
        parallel,
        order.how,
        low=training.precision == "bfloat16",
        fill=fill,
    )
    for name, buffer in saved_buffers(model, copy=False).items():
        value = buffer if whole is None else whole.get_buffer(name).to(parallel.device)
        dist.broadcast(value, 0)
        buffer.copy_(value)
    model.train()
    return model, loss, synced


def _of_first_process(order: RunOrder, parallel: ParallelContext) -> PreTrainedModel | None:
    """The model on the CPU of the first process; None in the others."""
    run = order.run

    def load() -> PreTrainedModel:
        return models.load(
            order.paths.model,
            run.model.initialization,
            run.seed,
            dropout=run.training.dropout,
            router_loss=run.training.router_loss,
        )

    model = None
    if parallel.first:
        try:
            model = load()
        except LawdslError:
            of_first(parallel, 0)
            raise
    if not of_first(parallel, 1):
        load()  # raises the same error here, instead of one about a lost process
    return model


def _sent(
    parameter: nn.Parameter,
    source: Mapping[str, nn.Parameter] | None,
    name: str,
    parallel: ParallelContext,
) -> nn.Parameter:
    """A parameter with the values that the first process has."""
    value = torch.empty(parameter.shape, dtype=parameter.dtype, device=parallel.device)
    if source is not None:
        value.copy_(source[name].detach())
    dist.broadcast(value, 0)
    return nn.Parameter(value, parameter.requires_grad)


def parts(
    loss: nn.Module,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    parallel: ParallelContext,
) -> dict[str, dict[str, Tensor]]:
    """Copy the rows of all parameters and moments that this process has to the CPU.

    Args:
        loss: the sharded loss of the model.
        model: the model.
        optimizer: the optimizer whose moments are copied.
        parallel: this process and the others.

    Returns:
        File -> name -> rows. Tensors that are not sharded are returned by the first process only.
    """
    assert isinstance(loss, FSDPModule)
    loss.reshard()  # after an evaluation its parameters are unsharded, and have no moments
    files: dict[str, dict[str, Tensor]] = {"model": {}, "optimizer": {}}
    for name, parameter in model.named_parameters():
        values = {f"{name}/{what}": v for what, v in optimizer.state.get(parameter, {}).items()}
        _add_rows(files["model"], name, parameter, parallel)
        for key, value in values.items():
            _add_rows(files["optimizer"], key, value, parallel)
    if parallel.first:
        files["model"] |= saved_buffers(model)
    return files


def _add_rows(
    named: dict[str, Tensor], name: str, value: Tensor, parallel: ParallelContext
) -> None:
    """Add the rows of a tensor that this process has, if it has any."""
    value = value.detach()
    if not isinstance(value, DTensor):
        if parallel.first:
            named[name] = value.to("cpu", copy=True).contiguous()
        return
    rows = value.to_local()
    if rows.shape[0]:
        # a copy, because the next step may run while a checkpoint is written
        named[name] = rows.to("cpu", copy=True).contiguous()


def whole_tensors(
    loss: nn.Module, model: nn.Module, parallel: ParallelContext
) -> Iterator[tuple[str, Tensor]]:
    """Send the weights and saved buffers to the first process, one at a time, sorted by name.

    Every process must exhaust the iterator, because all of them send rows.

    Args:
        loss: the sharded loss of the model.
        model: the model.
        parallel: this process and the others.

    Returns:
        In the first process, name and complete tensor on the CPU; in the others, nothing.
    """
    assert isinstance(loss, FSDPModule)
    loss.reshard()
    tensors = dict(model.named_parameters()) | saved_buffers(model, copy=False)
    for name in sorted(tensors):
        tensor = tensors[name].detach()
        if isinstance(tensor, DTensor):
            whole = _collected(tensor, parallel)
        else:
            whole = tensor.cpu().contiguous() if parallel.first else None
        if whole is not None:
            yield name, whole


def _collected(tensor: DTensor, parallel: ParallelContext) -> Tensor | None:
    """A sharded tensor in the first process; None in the others. By gloo, from CPU to CPU."""
    rows = tensor.to_local().cpu().contiguous()
    if not parallel.first:
        if rows.shape[0]:
            dist.send(rows, 0)
        return None
    whole = torch.empty(tensor.shape, dtype=tensor.dtype)
    for rank in range(parallel.world):
        begin, end = rows_of(tensor, parallel, rank)
        if rank == 0:
            whole[begin:end] = rows
        elif end > begin:
            dist.recv(whole[begin:end], rank)
    return whole
