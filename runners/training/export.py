"""A trained model -> its hash, and a folder that transformers loads."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor
from transformers import PreTrainedModel

from ..run.disk import replace_folder, sync
from ..run.exit_status import unwritten
from .sharding import saved_buffers

TYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
"""Type -> its name in safetensors."""


def export(
    folder: Path, model: PreTrainedModel, tensors: Mapping[str, Tensor], tokenizer: Path
) -> None:
    """Write a model with its tokenizer into a folder, atomically; an existing folder is replaced.

    Args:
        folder: the target.
        model: the model whose configuration is written.
        tensors: its complete weights by name, on the CPU.
        tokenizer: the tokenizer.json of the tokens that it was trained on.

    Raises:
        LawdslError: it cannot be written (R0508).
    """

    def write(path: Path) -> None:
        save_file(dict(tensors), path, metadata={"format": "pt"})

    size = sum(tensor.nbytes for tensor in tensors.values())
    _export(folder, model, tokenizer, write, size)


def export_stream(
    folder: Path | None,
    model: PreTrainedModel,
    tensors: Iterable[tuple[str, Tensor]],
    tokenizer: Path,
) -> str:
    """Write a model with one tensor at a time in memory; see `export`.

    Args:
        folder: the target; None to compute the hash only.
        model: the model whose configuration is written; on any device, and sharded or not.
        tensors: its weights and saved buffers on the CPU, sorted by name.
        tokenizer: the tokenizer.json of the tokens that it was trained on.

    Returns:
        The hash of all weights, that of `digest`.

    Raises:
        LawdslError: it cannot be written (R0508).
    """
    hasher = hashlib.blake2b(digest_size=16)
    if folder is None:
        for name, tensor in tensors:
            _add(hasher, name, tensor)
        return hasher.hexdigest()
    weights = dict(model.named_parameters()) | saved_buffers(model, copy=False)
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name in sorted(weights):
        value = weights[name]
        begin, end = end, end + value.numel() * value.element_size()
        kind = {"dtype": TYPES[value.dtype], "shape": list(value.shape)}
        header[name] = {**kind, "data_offsets": [begin, end]}

    def write(path: Path) -> None:
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)  # alignment of the data
        with path.open("wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for name, tensor in tensors:
                file.write(_add(hasher, name, tensor).data)

    _export(folder, model, tokenizer, write, end)
    return hasher.hexdigest()


def _export(
    folder: Path,
    model: PreTrainedModel,
    tokenizer: Path,
    write: Callable[[Path], None],
    size: int,
) -> None:
    """Write the folder of a model, whose weights `write` puts into a file."""
    temporary = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        model.config.save_pretrained(temporary)
        write(temporary / "model.safetensors")
        shutil.copy(tokenizer, temporary / "tokenizer.json")
        for path in (*temporary.iterdir(), temporary):
            sync(path)
        replace_folder(temporary, folder)
    except (OSError, SafetensorError) as error:
        raise unwritten("the trained model", folder, size, error) from None


def digest(tensors: Mapping[str, Tensor]) -> str:
    """A hash of all weights: it is equal if and only if the weights are bitwise equal."""
    hasher = hashlib.blake2b(digest_size=16)
    for name in sorted(tensors):
        _add(hasher, name, tensors[name])
    return hasher.hexdigest()


def _add(hasher: Any, name: str, tensor: Tensor) -> NDArray[np.uint8]:
    """Add a tensor on the CPU to a hash; return its bytes, which are not copied."""
    content: NDArray[np.uint8] = tensor.contiguous().flatten().view(torch.uint8).numpy()
    hasher.update(name.encode())
    hasher.update(content)
    return content
