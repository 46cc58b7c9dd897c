"""A model's configuration -> the memory allocated in its passes, counted without computing them.

The passes run on fake tensors, which have shapes and no data; every storage that an operation
creates is counted until it is released. This takes some seconds for a model of billions of
parameters, and no memory. Only storages are counted: temporary memory within an operation is not,
except that of the head, which `lawdsl.runners.run.memory` adds.

The operations are those on a CPU. Attention is a fused kernel on both devices, whose matrix is
never stored; otherwise CPU and GPU store the same tensors, also under autocast.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ..run.memory import Line, MemoryProfile, highest_lines
from ..spec import ExecutionConfig
from . import models
from .configurations import Source, configuration, without_randomness
from .distributed import ParallelContext
from .sharding import Synced, placed

HEAD = "lawdsl::linear_cross_entropy"
ROWS = (
    2,
    3,
)  # numbers of rows in the two passes that determine the bytes per row; not 1, because of broadcasting


def _grouped_product(
    a: Tensor,
    b: Tensor,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    """An empty result of `torch.nn.functional.grouped_mm`.

    Rows of `a` (M, K) are grouped by matrices (G, K, N); where both are of two dimensions, K is.
    """
    grouped_inside = a.ndim == b.ndim == 2 and offs is not None
    groups = (len(offs),) if grouped_inside and offs is not None else ()
    batch = a.shape[:-2] if a.ndim == b.ndim == 3 else groups
    return a.new_empty((*batch, a.shape[-2], b.shape[-1]), dtype=out_dtype or a.dtype)


SHAPES = {"aten::_grouped_mm": _grouped_product}
"""Operations whose fake version rejects types that the real one supports, here float32."""


class StorageCounter(TorchDispatchMode):
    """Counts the bytes of all storages that operations create, until they are released.

    Args:
        existing: existing tensors, whose storages are not counted.

    Attributes:
        changes: bytes that were allocated, or released if negative, in order.
        at_head: the number of changes before each call of the head.
    """

    _resize: Any  # the original function of torch while it is replaced

    def __init__(self, existing: Iterable[Tensor]) -> None:
        super().__init__()
        self.changes: list[int] = []
        self.at_head: list[int] = []
        self._existing = {t.untyped_storage()._cdata for t in existing}
        self._alive: dict[int, weakref.ref[Any]] = {}
        self._sizes: dict[int, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Execute an operation, and count the storages of its results."""
        if func.name() == HEAD:
            self.at_head.append(len(self.changes))
        known = SHAPES.get(func.name())
        result = (known or func)(*args, **(kwargs or {}))
        for value in tree_leaves(result):
            if isinstance(value, Tensor):
                self._count(value.untyped_storage())
        return result

    def __enter__(self) -> StorageCounter:
        """Begin; FSDP2 frees and allocates storages by their size, which no operation does."""
        original = self._resize = torch.UntypedStorage.resize_

        def resize_(storage: torch.UntypedStorage, size: int) -> Any:
            before = storage.nbytes()
            result = original(storage, size)
            self._count(storage, before)
            return result

        torch.UntypedStorage.resize_ = resize_
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        """End; storages that are released later are not counted."""
        super().__exit__(*error)
        torch.UntypedStorage.resize_ = self._resize

    def _count(self, storage: torch.UntypedStorage, before: int = 0) -> None:
        """Count a new or resized storage; `before` is the previous size of one that was not counted
        yet.
        """
        key, size = storage._cdata, storage.nbytes()
        if key in self._existing:
            return
        if key not in self._alive:

            def released(_: object) -> None:
                del self._alive[key]
                self.changes.append(-self._sizes.pop(key))

            self._alive[key] = weakref.ref(storage, released)
            self._sizes[key] = before
        if size != self._sizes[key]:
            self.changes.append(size - self._sizes[key])
            self._sizes[key] = size

    def live(self) -> list[int]:
        """The number of allocated bytes after each change, starting with 0 before the first."""
        totals = [0]
        for change in self.changes:
            totals.append(totals[-1] + change)
        return totals


def profile(
    source: Source,
    sequence: int,
    precision: str,
    *,
    checkpointed: bool = False,
    dropout: bool = False,
    router_loss: float = 0.0,
    shards: int = 1,
) -> MemoryProfile:
    """Count the memory allocated in the passes of a model.

    If sharded, FSDP2 itself shards the model and gathers its layers, with dummy collectives: the
    bytes are those of process 0, which has the largest shard.

    Args:
        source: the model's folder, or its configuration as plain data.
        sequence: tokens of a row.
        precision: the precision of the products.
        checkpointed: whether layers store only their inputs.
        dropout: whether the dropout of the configuration is enabled.
        router_loss: the coefficient of the router loss of a mixture of experts; 0 for none.
        shards: processes among which the optimizer state is sharded (FSDP2).

    Returns:
        The profile.

    Raises:
        LawdslError: see `models.inspect`.
        RuntimeError: sharded, and this process is in a process group already.
    """
    config = configuration(source)
    if not dropout:
        without_randomness(config, source)
    how = ExecutionConfig(
        device="cpu",
        processes=shards,
        sharded=shards > 1,
        checkpoint_activations=checkpointed,
    )
    fake = FakeTensorMode()
    with fake:
        model = models.from_config(config)
        model.train()
        loss = models.LanguageModelLoss(model, router_loss=router_loss)
    parameters = _count(model)
    vocabulary, hidden = loss.head.weight.shape
    transform = loss.transform
    with _process_group(shards):
        # not on fake tensors: the device mesh is an array with values
        parallel = ParallelContext(0, shards, torch.device("cpu"), "cpu")
        low = precision == "bfloat16"
        placed_loss, synced = placed(loss, parallel, how, low=low)
        with fake:
            steps = [_steps(placed_loss, synced, rows, sequence, low) for rows in ROWS]
    single, several = (_lines([each[i] for each in steps]) for i in range(2))
    return MemoryProfile(
        parameters=parameters,
        local=sum(_local(p).numel() for p in model.parameters()),
        sequence=sequence,
        vocabulary=vocabulary,
        hidden=hidden,
        single=single[0],
        several=several[0],
        at_head=(single[1], several[1]),
        logit_arrays=2
        + (transform.scale != 1 or transform.cap is not None)
        + (transform.cap is not None),
    )


@contextmanager
def _process_group(processes: int) -> Iterator[None]:
    """A process group with dummy collectives; none for one process."""
    if processes == 1:
        yield
        return
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if dist.is_initialized():
        raise RuntimeError("this process is in a process group already")
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=processes)
    try:
        yield
    finally:
        dist.destroy_process_group()


def _steps(
    loss: nn.Module, synced: Synced, rows: int, sequence: int, low: bool
) -> tuple[tuple[list[int], int], tuple[list[int], int]]:
    """The allocated bytes over a step of one and of several micro-batches, each with those at the
    last head.
    """
    tokens = torch.zeros((rows, sequence + 1), dtype=torch.long)
    state = [*map(_local, loss.parameters()), *loss.buffers(), tokens]
    results = []
    # there are no gradients during the first; with FSDP2 they are reduced during the last; so a
    # third one is in between
    for pieces in (1, 3 if isinstance(loss, FSDPModule) else 2):
        with StorageCounter(state) as counter:
            for number in range(pieces):
                with synced(number == pieces - 1):
                    with torch.autocast("cpu", torch.bfloat16, enabled=low):
                        value = loss(tokens)
                    value.sum().backward()
                    del value
        live = counter.live()
        results.append((live, live[counter.at_head[-1]]))
        loss.zero_grad()
    return results[0], results[1]


def _local(parameter: Tensor) -> Tensor:
    """The part of a parameter that this process holds."""
    return parameter.to_local() if isinstance(parameter, DTensor) else parameter


def _lines(passes: Sequence[tuple[list[int], int]]) -> tuple[tuple[Line, ...], Line]:
    """Bytes as linear functions of the rows, from passes with two numbers of rows."""
    (low, low_head), (high, high_head) = passes
    if len(low) != len(high):  # different operations: only the peaks can be compared
        low, high = [max(low)], [max(high)]
    lines = [_line(*pair) for pair in zip(low, high, strict=True)]
    return highest_lines(lines), _line(low_head, high_head)


def _line(low: int, high: int) -> Line:
    slope = (high - low) // (ROWS[1] - ROWS[0])
    return low - slope * ROWS[0], slope


def _count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())
