"""The weights in a model's folder: safetensors files of that folder, and nothing else.

The file of each tensor is determined here, not by transformers, which would also accept pickles,
files outside the folder that an index refers to, and adapters with their base models.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.files import read_json

from ..spec import canonical_json
from .configurations import inside, refused

ENDING = ".safetensors"
WHOLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
ADAPTER = "adapter_config.json"
PICKLES = ("pytorch_model*.bin", "pytorch_model*.json", "model*.pt", "*.pth", "*.ckpt")
SAVE = "convert it where you trust it: model.save_pretrained(folder), which writes safetensors"


@dataclass(frozen=True)
class Weights:
    """The files of a model's weights; none if there is only a configuration.

    Attributes:
        source: the model's folder.
        files: name in the index or in transformers -> path, sorted.
        weight_map: tensor -> name of its file, from the index; None for a single file.
    """

    source: str
    files: dict[str, Path]
    weight_map: dict[str, str] | None = None

    def hash(self, digest: Any) -> None:
        """Add everything that determines the weights to a hash.

        Raises:
            LawdslError: a file cannot be read (R0303).
        """
        for path in self.files.values():
            try:
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
            except OSError as error:
                raise _refused(self.source, f"{path.name}: {error.strerror}") from None
        if self.weight_map is not None:
            digest.update(canonical_json(self.weight_map).encode())

    def tensors(self) -> dict[str, Tensor]:
        """Every tensor by name, memory-mapped from its file.

        Raises:
            LawdslError: a file is damaged, or lacks a tensor of the index (R0303).
        """
        tensors: dict[str, Tensor] = {}
        for name, path in self.files.items():
            try:
                with safe_open(path, "pt") as file:
                    names = set(file.keys())
                    expected = sorted(names) if self.weight_map is None else self._placed(name)
                    if lacking := [tensor for tensor in expected if tensor not in names]:
                        raise _refused(
                            self.source, f"{name} lacks {lacking[0]}, which {INDEX} names"
                        )
                    tensors |= {tensor: file.get_tensor(tensor) for tensor in expected}
            except (OSError, SafetensorError) as error:
                message = str(error).partition("\n")[0][:200]
                raise _refused(self.source, f"{name} cannot be read: {message}") from None
        return tensors

    def _placed(self, name: str) -> list[str]:
        return [tensor for tensor, file in (self.weight_map or {}).items() if file == name]


def weights_of(source: Any) -> Weights:
    """The weights in a model's folder; none for a configuration as plain data.

    `model.safetensors` if it exists, as in transformers, else the files of its index.

    Raises:
        LawdslError: weights only as a pickle, or in a file outside the folder; an adapter; an
            unreadable index (all R0303).
    """
    if not isinstance(source, str):
        return Weights("", {})
    folder = Path(source)
    if (folder / ADAPTER).exists():
        why = f"it holds an adapter ({ADAPTER}), which is not a model by itself"
        raise _refused(source, why, "merge it: PeftModel.merge_and_unload(), then save_pretrained")
    # a dangling link does not exist, but must be rejected instead of ignored
    if (folder / WHOLE).exists() or (folder / WHOLE).is_symlink():
        return Weights(source, {WHOLE: _file(source, WHOLE)})
    if (folder / INDEX).exists() or (folder / INDEX).is_symlink():
        weight_map = _index(source)
        files = {name: _file(source, name) for name in sorted(set(weight_map.values()))}
        return Weights(source, files, weight_map)
    if pickles := [path.name for like in PICKLES for path in sorted(folder.glob(like))]:
        why = f"its weights are only in {pickles[0]}, a pickle, which can run any code when it is read"
        raise _refused(source, why, SAVE)
    if others := sorted(path.name for path in folder.glob(f"*{ENDING}")):
        why = f"it holds {others[0]}, but neither {WHOLE} nor {INDEX}"
        raise _refused(source, why, "save it with model.save_pretrained(folder)")
    return Weights(source, {})


def _index(source: str) -> dict[str, str]:
    """Tensor -> name of its file."""
    path = inside(Path(source), INDEX)
    if path is None:
        raise _refused(source, f"its {INDEX} is not a file of this folder")
    try:
        document = read_json(path)
    except (OSError, ValueError) as error:
        raise _refused(source, f"its index cannot be read: {error}") from None
    weight_map = document.get("weight_map") if isinstance(document, dict) else None
    if not isinstance(weight_map, dict) or not weight_map:
        raise _refused(source, f"{INDEX} has no weight_map")
    if any(not isinstance(name, str) for name in weight_map.values()):
        raise _refused(source, f"the weight_map of {INDEX} does not name files")
    return weight_map


def _file(source: str, name: str) -> Path:
    """The path of a weights file by its untrusted name."""
    if not name.endswith(ENDING):
        raise _refused(source, f"{INDEX} names {name!r}, which is not a {ENDING} file", SAVE)
    folder = Path(source)
    # joining an absolute name would discard the folder
    path = None if Path(name).is_absolute() or ".." in Path(name).parts else inside(folder, name)
    if path is None:
        # exists() raises ValueError for a name with a zero byte
        exists = (folder / name).exists() if "\0" not in name else False
        why = "lies outside the folder" if exists else "is not a file of this folder"
        raise _refused(source, f"the file of weights {name!r} {why}", "put the file itself there")
    return path


def _refused(source: str, why: str, help: str | None = None) -> LawdslError:
    return refused("R0303", source, why, help)
