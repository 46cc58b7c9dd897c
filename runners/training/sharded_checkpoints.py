"""Checkpoints of sharded runs: each process writes its rows, and reads the rows that it needs.

RUN/checkpoints/step-00000100/
    model-00000-of-00002.safetensors  optimizer-00000-of-00002.safetensors   of the first process
    model-00001-of-00002.safetensors  optimizer-00001-of-00002.safetensors
    state.json  manifest.json                                                the SHA-256 of them all

A tensor is the concatenation of its rows in the order of the files, so that any number of processes
can resume. torch.distributed.checkpoint is not used, because its metadata are a pickle.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..run.disk import discard, sync
from . import checkpoints
from .checkpoints import SUFFIX, TEMPORARY, Checkpoint
from .distributed import ParallelContext, any_of, of_first, summed
from .sharding import rows_of, saved_buffers

Named = Mapping[str, Mapping[str, Tensor]]
DIGEST_BYTES = 32  # size of SHA-256


def save(
    parallel: ParallelContext,
    folder: Path,
    step: int,
    parts: Named,
    state: Mapping[str, Any],
    keep: int = 2,
    kept_steps: Iterable[int] = (),
) -> None:
    """Write the checkpoint of a step, each process its part; see `checkpoints.save`.

    All processes call it. The first one publishes the checkpoint when all parts are on the disk.

    Args:
        parallel: this process and the others.
        folder: RUN/checkpoints, which all processes see.
        step: the number of updates done.
        parts: file -> name -> rows of this process; see `sharded_weights.parts`.
        state: plain data in JSON; that of the first process is written.
        keep: the number of checkpoints that remain.
        kept_steps: earlier steps whose checkpoints remain besides.

    Raises:
        LawdslError: R0403, in all processes; the earlier checkpoints are unchanged.
    """
    from safetensors.torch import save_file

    error: Exception | None = None
    # a new name for each step: a network file system may cache an earlier name, and a host would
    # write into the checkpoint to which this folder was renamed
    temporary = folder / f"{TEMPORARY}{of_first(parallel, os.getpid())}-{step}"
    if parallel.first:
        try:
            checkpoints.create(folder, temporary)
        except OSError as caught:
            error = caught
    _agree(parallel, folder, step, parts, error)
    names = [_name(stem, parallel.rank, parallel.world) for stem in parts]
    entries = np.zeros((parallel.world, len(names), DIGEST_BYTES + 1))
    try:
        for number, (name, named) in enumerate(zip(names, parts.values(), strict=True)):
            save_file(dict(named), temporary / name)
            sync(temporary / name)
            entry = checkpoints.described(temporary / name)
            entries[parallel.rank, number] = [*bytes.fromhex(entry["sha256"]), entry["bytes"]]
    except (OSError, SafetensorError) as caught:
        error = caught
    # bytes and sizes below 2**53 are exact in float64
    entries = summed(parallel, entries)
    try:
        _agree(parallel, folder, step, parts, error)
    except LawdslError:
        if parallel.first:
            discard(temporary)
        raise
    if parallel.first:
        files = {
            _name(stem, rank, parallel.world): {
                "sha256": bytes(entries[rank, number, :DIGEST_BYTES].astype(np.uint8)).hex(),
                "bytes": int(entries[rank, number, DIGEST_BYTES]),
            }
            for rank in range(parallel.world)
            for number, stem in enumerate(parts)
        }
        try:
            _check_sizes(temporary, files)
            checkpoints.complete(temporary, step, files, state)
            checkpoints.publish(temporary, folder, step, keep, kept_steps)
        except OSError as caught:
            discard(temporary)
            error = caught
    _agree(parallel, folder, step, parts, error)


def _check_sizes(folder: Path, files: Mapping[str, Mapping[str, Any]]) -> None:
    """Check that all parts are visible to this process, before an earlier checkpoint is removed.

    Raises:
        OSError: a part is missing or incomplete.
    """
    for name, entry in files.items():
        size = (folder / name).stat().st_size
        if size != entry["bytes"]:
            why = f"{name} has {size:,} bytes as seen from the first process"
            raise OSError(errno.EIO, why)


def parts_of_others(parallel: ParallelContext) -> list[str]:
    """The suffixes of the files that this process need not read, because other processes wrote
    them.
    """
    others = (rank for rank in range(parallel.world) if rank != parallel.rank)
    return [_name("", rank, parallel.world) for rank in others]


def _name(stem: str, rank: int, world: int) -> str:
    return f"{stem}-{rank:05d}-of-{world:05d}{SUFFIX}"


def _agree(
    parallel: ParallelContext, folder: Path, step: int, parts: Named, error: Exception | None
) -> None:
    """Raise an error in all processes if one of them has failed."""
    if not any_of(parallel, int(error is not None)):
        return
    if error is None:
        error = OSError(0, "another process of the run could not write its part")
    needed = sum(t.nbytes for named in parts.values() for t in named.values())
    raise LawdslError(checkpoints.unwritten(folder, step, needed, error)) from None


class SavedTensors:
    """The tensors of a checkpoint of one or several processes, read by rows.

    Raises:
        LawdslError: R0404, a file cannot be read as safetensors.
    """

    def __init__(self, checkpoint: Checkpoint, exit_stack: ExitStack) -> None:
        self._rows: dict[str, dict[str, list[tuple[Any, int]]]] = {}
        self._shapes: dict[str, dict[str, tuple[int, ...]]] = {}
        for name in sorted(checkpoint.names):  # by stem, then by process
            stem = name.partition("-")[0]
            path = checkpoint.folder / f"{name}{SUFFIX}"
            try:
                file = exit_stack.enter_context(safe_open(path, "pt"))
            except (OSError, SafetensorError) as error:
                raise LawdslError(checkpoints.unreadable(path, error)) from None
            for key in file.keys():  # noqa: SIM118 - no mapping
                shape = tuple(file.get_slice(key).get_shape())
                self._add(stem, key, file, shape)

    def _add(self, stem: str, key: str, file: Any, shape: tuple[int, ...]) -> None:
        pieces = self._rows.setdefault(stem, {}).setdefault(key, [])
        pieces.append((file, shape[0] if shape else 1))
        rows = sum(rows for _, rows in pieces)
        self._shapes.setdefault(stem, {})[key] = (rows, *shape[1:]) if shape else ()

    def shapes(self, stem: str) -> Mapping[str, tuple[int, ...]]:
        """Name -> shape of the whole tensors of `model` or `optimizer`."""
        return self._shapes.get(stem, {})

    def fill(self, stem: str, key: str, target: Tensor, begin: int = 0) -> None:
        """Copy rows of a saved tensor into another.

        Args:
            stem: `model` or `optimizer`.
            key: the name of the saved tensor.
            target: the tensor to fill, with as many rows as it has.
            begin: the first row.
        """
        if not target.ndim:
            target.copy_(self._rows[stem][key][0][0].get_tensor(key))
            return
        end, first = begin + target.shape[0], 0
        for file, rows in self._rows[stem][key]:
            low, high = max(begin, first), min(end, first + rows)
            if low < high:
                piece = file.get_slice(key)[low - first : high - first]
                target[low - begin : high - begin].copy_(piece)
            first += rows


@torch.no_grad()
def restore(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    checkpoint: Checkpoint,
    parallel: ParallelContext,
) -> None:
    """Load a checkpoint: each process reads its rows, for any number of processes that wrote it.

    Args:
        model, optimizer: changed in place.
        checkpoint: the checkpoint of one or several processes.
        parallel: this process and the others.

    Raises:
        LawdslError: R0404, a file cannot be read, or its tensors are not those of the model.
    """
    with ExitStack() as exit_stack:
        saved = SavedTensors(checkpoint, exit_stack)
        weights = dict(model.named_parameters())
        for name, target in (weights | saved_buffers(model, copy=False)).items():
            if saved.shapes("model").get(name) != tuple(target.shape):
                raise LawdslError(_other_shape(checkpoint, name))
            _fill(saved, "model", name, target, parallel)
        for key, shape in saved.shapes("optimizer").items():
            name, _, what = key.rpartition("/")
            parameter = weights[name]
            if shape == tuple(parameter.shape):
                value = torch.zeros_like(parameter)
            else:
                value = torch.empty(shape, device=parameter.device)
            _fill(saved, "optimizer", key, value, parallel)
            optimizer.state[parameter][what] = value


def _fill(
    saved: SavedTensors, stem: str, key: str, target: Tensor, parallel: ParallelContext
) -> None:
    if isinstance(target, DTensor):
        begin, _ = rows_of(target, parallel, parallel.rank)
        saved.fill(stem, key, target.to_local(), begin)
    else:
        saved.fill(stem, key, target)


def _other_shape(checkpoint: Checkpoint, name: str) -> Diagnostic:
    return Diagnostic(
        "R0404",
        f"the checkpoint of step {checkpoint.step} has not the tensor {name} of the model",
        place=str(checkpoint.folder),
        help=f"remove {checkpoint.folder}, and the run goes on from the checkpoint before",
    )
