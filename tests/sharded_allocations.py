"""A process of several, for `torchrun`: what a step allocates in it, beside parameters and moments.

    torchrun sharded_allocations.py CASES FILE

CASES is JSON: a model's configuration, whether its state is shared out between the processes, and
a list of (precision, checkpointed, rows, micro-batches). Process 0 writes the most bytes of each
case into FILE. Collectives use the buffers of their caller and others that exist before: gloo's own
copy what they gather and add up.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from allocations import most_allocated

from lawdsl.runners.spec import ExecutionConfig
from lawdsl.runners.training import models
from lawdsl.runners.training.distributed import ParallelContext, join, leave
from lawdsl.runners.training.sharding import placed

STAGES: dict[torch.dtype, torch.Tensor] = {}  # of gloo, whose threads release tensors late


def stage(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dtype not in STAGES:
        STAGES[tensor.dtype] = torch.empty(2**21, dtype=tensor.dtype)
    whole = STAGES[tensor.dtype]
    return whole[: tensor.numel()].view_as(tensor)


def gather(output: torch.Tensor, input: torch.Tensor, **_: object) -> None:
    staged = stage(output)
    parts = staged.chunk(dist.get_world_size())
    parts[dist.get_rank()].copy_(input)
    for rank, part in enumerate(parts):
        dist.broadcast(part, rank)
    output.copy_(staged)


def scatter(output: torch.Tensor, input: torch.Tensor, **_: object) -> None:
    staged = stage(input)
    staged.copy_(input)
    dist.all_reduce(staged)
    output.copy_(staged.chunk(dist.get_world_size())[dist.get_rank()])


# the second are the names before torch 2.13
COLLECTIVES = {
    "all_gather_single": gather,
    "all_gather_into_tensor": gather,
    "reduce_scatter_single": scatter,
    "reduce_scatter_tensor": scatter,
}


def bytes_of(
    config: dict[str, object],
    how: ExecutionConfig,
    parallel: ParallelContext,
    precision: str,
    rows: int,
    pieces: int,
) -> int:
    model = models.load(config, "transformers", 0).train()
    low = precision == "bfloat16"
    loss, synced = placed(models.LanguageModelLoss(model), parallel, how, low=low)
    tokens = torch.randint(0, 2048, (rows, 257))

    def step() -> None:
        for number in range(pieces):
            with synced(number == pieces - 1):
                with torch.autocast("cpu", torch.bfloat16, enabled=low):
                    value = loss(tokens)
                value.backward()
                del value

    for _ in range(2):  # what is set up once; DDP makes its buckets again after the first step
        step()
        loss.zero_grad()
    return most_allocated(step)


def main(cases: str, file: str) -> None:
    config, sharded, settings = json.loads(cases)
    how = ExecutionConfig(device="cpu", processes=2, sharded=sharded)
    parallel = join(how)
    for name, collective in COLLECTIVES.items():
        setattr(dist, name, collective)
    counts = []
    for precision, checkpointed, rows, pieces in settings:
        so = how.model_copy(update={"checkpoint_activations": checkpointed})
        counts.append(bytes_of(config, so, parallel, precision, rows, pieces))
    if parallel.first:
        Path(file).write_text(json.dumps(counts))
    leave(parallel)


if __name__ == "__main__":
    main(*sys.argv[1:])
