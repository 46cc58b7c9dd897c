"""A model's configuration -> the bytes that its passes allocate, counted without computing them.

The passes run on fake tensors, which have shapes and no data; every storage that an operation
creates is counted until nothing refers to it. That takes some seconds for a model of billions of
parameters, and no memory. Only storages are seen: what an operation allocates while it works is
not, but for the head's, which `lawdsl.runners.run.memory` adds.

Operations are those on a CPU. Attention is a fused kernel on both devices, whose matrix is never
stored; elsewhere CPU and GPU store the same tensors, under autocast too.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ..run.memory import Line, MemoryProfile, highest_lines
from . import models
from .activation_checkpointing import blocks_of, checkpoint_activations
from .configurations import Source, configuration, without_randomness

HEAD = "lawdsl::linear_cross_entropy"
ROWS = (2, 3)  # in the two passes from which bytes a row follow; 1 is special to broadcasting


class StorageCounter(TorchDispatchMode):
    """Counts the bytes of all storages that operations create, until they are released.

    Args:
        existing: tensors that exist before, whose storages are not counted.

    Attributes:
        changes: bytes that were allocated, or released if negative, in order.
        at_head: the number of changes before each call of the head.
    """

    def __init__(self, existing: Iterable[Tensor]) -> None:
        super().__init__()
        self.changes: list[int] = []
        self.at_head: list[int] = []
        self._existing = {t.untyped_storage()._cdata for t in existing}
        self._alive: dict[int, weakref.ref[Any]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Do an operation, and count the storages of its results."""
        if func.name() == HEAD:
            self.at_head.append(len(self.changes))
        result = func(*args, **(kwargs or {}))
        for value in tree_leaves(result):
            if isinstance(value, Tensor):
                self._count(value.untyped_storage())
        return result

    def _count(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self._alive or key in self._existing:
            return

        def released(_: object) -> None:
            del self._alive[key]
            self.changes.append(-size)

        self._alive[key] = weakref.ref(storage, released)
        self.changes.append(size)

    def live(self) -> list[int]:
        """Bytes that were allocated after each change, from 0 before the first."""
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
) -> MemoryProfile:
    """Count what the passes of a model allocate.

    Args:
        source: the model's folder, or its configuration as plain data.
        sequence: tokens of a row.
        precision: of the products.
        checkpointed: whether layers store their inputs alone.
        dropout: whether the dropout of the configuration acts.

    Returns:
        The profile.

    Raises:
        LawdslError: see `models.inspect`.
    """
    config = configuration(source)
    if not dropout:
        without_randomness(config, source)
    with FakeTensorMode():
        model = models.from_config(config)
        model.train()
        loss = models.LanguageModelLoss(model)
        if checkpointed:
            checkpoint_activations(loss)
        passes = [_passes(loss, rows, sequence, precision == "bfloat16") for rows in ROWS]
    first, further = (_lines([each[i] for each in passes]) for i in range(2))
    blocks = [_count(block) for block in blocks_of(loss)]
    vocabulary, hidden = loss.head.weight.shape
    transform = loss.transform
    return MemoryProfile(
        parameters=_count(model),
        largest_block=max(blocks, default=0),
        outside=_count(model) - sum(blocks),
        sequence=sequence,
        vocabulary=vocabulary,
        hidden=hidden,
        first=first[0],
        further=further[0],
        at_head=(first[1], further[1]),
        logit_arrays=2
        + (transform.scale != 1 or transform.cap is not None)
        + (transform.cap is not None),
    )


def _passes(
    loss: nn.Module, rows: int, sequence: int, low: bool
) -> tuple[tuple[list[int], int], tuple[list[int], int]]:
    """The live bytes of the first and of a further micro-batch, each with those at the head."""
    tokens = torch.zeros((rows, sequence + 1), dtype=torch.long)
    results = []
    for _ in range(2):
        state = [*loss.parameters(), *loss.buffers(), tokens]
        gradients = [p.grad for p in loss.parameters() if p.grad is not None]
        with StorageCounter([*state, *gradients]) as counter:
            with torch.autocast("cpu", torch.bfloat16, enabled=low):
                value = loss(tokens)
            value.sum().backward()
            del value
        live = counter.live()
        results.append((live, live[counter.at_head[0]]))
    loss.zero_grad()
    return results[0], results[1]


def _lines(passes: Sequence[tuple[list[int], int]]) -> tuple[tuple[Line, ...], Line]:
    """Bytes as lines of the rows, from passes with two numbers of them."""
    (low, low_head), (high, high_head) = passes
    if len(low) != len(high):  # not the same operations: the peaks alone can be compared
        low, high = [max(low)], [max(high)]
    lines = [_line(*pair) for pair in zip(low, high, strict=True)]
    return highest_lines(lines), _line(low_head, high_head)


def _line(low: int, high: int) -> Line:
    slope = (high - low) // (ROWS[1] - ROWS[0])
    return low - slope * ROWS[0], slope


def _count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())
