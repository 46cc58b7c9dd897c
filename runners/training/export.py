"""A trained model -> its hash, and a folder that transformers loads."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor
from transformers import PreTrainedModel

from ..run.disk import replace_folder, sync
from ..run.exit_status import unwritten


def export(
    folder: Path, model: PreTrainedModel, tensors: Mapping[str, Tensor], tokenizer: Path
) -> None:
    """Write a model with its tokenizer into a folder, atomically; an existing folder is replaced.

    Args:
        folder: the target.
        model: whose configuration is written.
        tensors: its weights by name, whole and on the CPU.
        tokenizer: the tokenizer.json of the tokens that it was trained on.

    Raises:
        LawdslError: it cannot be written (R0508).
    """
    temporary = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        model.config.save_pretrained(temporary)
        save_file(dict(tensors), temporary / "model.safetensors", metadata={"format": "pt"})
        shutil.copy(tokenizer, temporary / "tokenizer.json")
        for path in (*temporary.iterdir(), temporary):
            sync(path)
        replace_folder(temporary, folder)
    except (OSError, SafetensorError) as error:
        needed = sum(tensor.nbytes for tensor in tensors.values())
        raise unwritten("the trained model", folder, needed, error) from None


def digest(tensors: Mapping[str, Tensor]) -> str:
    """A hash of all weights: two runs are equal, bit for bit, where theirs are."""
    hasher = hashlib.blake2b(digest_size=16)
    for name in sorted(tensors):
        hasher.update(name.encode())
        hasher.update(tensors[name].flatten().view(torch.uint8).numpy().tobytes())
    return hasher.hexdigest()
