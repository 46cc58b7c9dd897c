"""Checkpoints of a run: folders that are whole or not there, each file known by its SHA-256.

RUN/checkpoints/
    step-00000100/  model.safetensors  optimizer.safetensors  state.json  manifest.json
    step-00000200/

One process at a time writes them, the one that holds the run (`locks.hold`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lawdsl.diagnostics import Diagnostic, LawdslError

from .spec import canonical

if TYPE_CHECKING:
    import torch

    Tensors = dict[str, dict[str, torch.Tensor]]

SCHEMA = 1
MANIFEST = "manifest.json"
STATE = "state.json"
TENSORS = ".safetensors"
TEMPORARY = ".tmp-"
DAMAGED = "damaged-"
NAME = re.compile(r"step-(\d{8,})(-old)?")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint whose files are all as they were written.

    `state` is the plain data that was saved with the tensors, as JSON keeps it.
    """

    step: int
    folder: Path
    state: dict[str, Any]


def save(
    folder: Path,
    step: int,
    tensors: Mapping[str, Mapping[str, torch.Tensor]],
    state: Mapping[str, Any],
    keep: int = 2,
) -> Path:
    """Write the checkpoint of a step, and remove all but the newest `keep`.

    It is written beside the others, synced, and gets its name only when it is whole: at any moment
    that the process may die the newest checkpoint that has a name is whole. Checkpoints of later
    steps are removed too: the run has gone back and comes by there again.

    Args:
        folder: RUN/checkpoints; made if it is not there.
        tensors: for each file, `model` say, its tensors by name. Those that share memory are
            written as often as they are named.
        state: plain data that JSON keeps.

    Raises:
        LawdslError: R0403, it cannot be written; the checkpoints from before are as they were.
    """
    from safetensors import SafetensorError

    temporary = folder / f"{TEMPORARY}{os.getpid()}"
    try:
        _make(folder)
        shutil.rmtree(temporary, ignore_errors=True)  # of a process that had this number before
        temporary.mkdir()
        _fill(temporary, step, tensors, state)
        place = _publish(temporary, folder, step)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(temporary, ignore_errors=True)
        needed = sum(t.nbytes for named in tensors.values() for t in named.values())
        raise LawdslError(_unwritten(folder, step, needed, error)) from None
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    with contextlib.suppress(OSError):  # the next one tries again
        _prune(folder, step, keep)
    return place


def latest(folder: Path) -> tuple[Checkpoint | None, list[Diagnostic]]:
    """The newest checkpoint that is whole, and a warning about each newer one that is not.

    What a killed process left behind is removed. What is damaged is renamed, so that it is not
    counted among the checkpoints, and removed after the next `save`.

    Returns:
        None where there is no checkpoint.

    Raises:
        LawdslError: R0402, there are checkpoints, and none is whole; R0404, the folder cannot be
            read.
    """
    damaged: list[tuple[Path, str]] = []
    try:
        for path in _entries(folder, TEMPORARY):
            shutil.rmtree(path, ignore_errors=True)
        for path, step in _found(folder):
            fault, state = _examine(path, step)
            if not fault:
                warnings = [_set_aside(old, why, step) for old, why in damaged]
                return Checkpoint(step, path, state), warnings
            damaged.append((path, fault))
        damaged += [(path, "it is damaged") for path in _entries(folder, DAMAGED)]
    except FileNotFoundError:
        return None, []
    except OSError as error:
        message = f"the checkpoints cannot be read: {error.strerror}"
        raise LawdslError(Diagnostic("R0404", message, place=str(folder))) from None
    if damaged:
        raise LawdslError(_none_whole(folder, damaged))
    return None, []


def load(checkpoint: Checkpoint) -> Tensors:
    """The tensors that were saved, on the CPU, in memory of their own.

    Raises:
        LawdslError: R0404, a file cannot be read as safetensors.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    tensors = {}
    for path in sorted(checkpoint.folder.glob(f"*{TENSORS}")):
        try:
            # copied, for what is loaded is a window on a file that will be removed
            loaded = {name: tensor.clone() for name, tensor in load_file(path).items()}
        except (OSError, SafetensorError) as error:
            message = f"{path.name} is no file of tensors that can be read: {error}"
            raise LawdslError(
                Diagnostic(
                    "R0404",
                    message,
                    place=str(path),
                    notes=("only safetensors are read; a pickle never is",),
                    help=f"remove {checkpoint.folder}; the run goes on from the one before",
                )
            ) from None
        tensors[path.name.removesuffix(TENSORS)] = loaded
    return tensors


def _make(folder: Path) -> None:
    if not folder.is_dir():
        folder.mkdir(parents=True)
        _sync(folder.parent)


def _fill(
    folder: Path,
    step: int,
    tensors: Mapping[str, Mapping[str, torch.Tensor]],
    state: Mapping[str, Any],
) -> None:
    """Write all files into a new folder, the manifest last, and sync them."""
    from safetensors.torch import save_file

    for name, named in tensors.items():
        save_file(_apart(named), folder / f"{name}{TENSORS}")
    (folder / STATE).write_text(canonical(state), encoding="utf-8")
    names = [STATE, *(f"{name}{TENSORS}" for name in tensors)]
    files = {name: _synced(folder / name) for name in names}
    manifest = {"schema": SCHEMA, "step": step, "files": files}
    (folder / MANIFEST).write_text(canonical(manifest), encoding="utf-8")
    _sync(folder / MANIFEST)
    _sync(folder)


def _publish(temporary: Path, folder: Path, step: int) -> Path:
    """Give the folder its name; one that has it already keeps a name until then."""
    place = folder / f"step-{step:08d}"
    if place.exists():
        old = place.with_name(f"{place.name}-old")
        if old.exists():
            _remove(old)
        place.rename(old)
    temporary.rename(place)
    _sync(folder)
    return place


def _prune(folder: Path, step: int, keep: int) -> None:
    found = _found(folder)
    kept = [path for path, of in found if of <= step and not path.name.endswith("-old")][:keep]
    for path, _ in found:
        if path not in kept:
            _remove(path)
    for path in _entries(folder, DAMAGED):
        _remove(path)


def _remove(path: Path) -> None:
    """Remove a folder; it loses its name first, so that half of it is never a checkpoint."""
    nameless = path.with_name(f"{TEMPORARY}{path.name}")
    shutil.rmtree(nameless, ignore_errors=True)
    path.rename(nameless)
    shutil.rmtree(nameless)


def _apart(named: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The same tensors in whole pieces of memory, no two in the same."""
    taken: set[tuple[str, int]] = set()
    apart = {}
    for name, tensor in named.items():
        tensor = tensor.detach().contiguous()
        where = str(tensor.device), tensor.data_ptr()
        apart[name] = tensor.clone() if where in taken else tensor
        taken.add(where)
    return apart


def _synced(path: Path) -> dict[str, Any]:
    """What the manifest says of a file, once it is on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"sha256": digest, "bytes": file.tell()}


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _entries(folder: Path, start: str) -> list[Path]:
    with os.scandir(folder) as entries:
        return sorted(folder / entry.name for entry in entries if entry.name.startswith(start))


def _found(folder: Path) -> list[tuple[Path, int]]:
    """All that have the name of a checkpoint, and their steps; the newest first."""
    found = [(path, NAME.fullmatch(path.name)) for path in _entries(folder, "step-")]
    steps = [(path, int(match[1])) for path, match in found if match]
    return sorted(steps, key=lambda at: (-at[1], at[0].name))


def _examine(folder: Path, step: int) -> tuple[str, dict[str, Any]]:
    """What is wrong with a checkpoint, nothing if it is whole, and the plain data in it."""
    name = MANIFEST
    try:
        manifest = json.loads((folder / name).read_bytes())
        if manifest["schema"] != SCHEMA:
            return f"{name} is of schema {manifest['schema']}, not {SCHEMA}", {}
        if manifest["step"] != step:
            return f"{name} is of step {manifest['step']}", {}
        for name, wanted in manifest["files"].items():
            with (folder / name).open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size != wanted["bytes"]:
                    return f"{name} has {size:,} bytes of {wanted['bytes']:,}", {}
                if hashlib.file_digest(file, "sha256").hexdigest() != wanted["sha256"]:
                    return f"{name} is not what was written, by its SHA-256", {}
        name = STATE
        return "", json.loads((folder / name).read_bytes())
    except FileNotFoundError:
        return f"{name} is missing", {}
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}", {}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"{name} is not what was written", {}


def _set_aside(path: Path, fault: str, step: int) -> Diagnostic:
    with contextlib.suppress(OSError):
        path.rename(path.with_name(f"{DAMAGED}{path.name}"))
    message = f"the checkpoint {path.name} is damaged: {fault}"
    return Diagnostic(
        "R0401",
        message,
        "warning",
        place=str(path),
        notes=(f"the run goes on from the checkpoint of step {step}",),
        help="nothing is lost but time; if it happens again, check the disk",
    )


def _none_whole(folder: Path, damaged: list[tuple[Path, str]]) -> Diagnostic:
    return Diagnostic(
        "R0402",
        "the run has checkpoints, and none of them is whole",
        place=str(folder),
        notes=tuple(f"{path.name}: {fault}" for path, fault in damaged),
        help=f"to begin the run again from step 0, remove the folder {folder}",
    )


def _unwritten(folder: Path, step: int, needed: int, error: Exception) -> Diagnostic:
    why = error.strerror if isinstance(error, OSError) else str(error)
    notes = [f"it needs about {needed:,} bytes"]
    with contextlib.suppress(OSError):
        there = next(path for path in (folder, *folder.parents) if path.is_dir())
        notes = [f"it needs about {needed:,} bytes; {shutil.disk_usage(there).free:,} are free"]
    return Diagnostic(
        "R0403",
        f"the checkpoint of step {step} cannot be written: {why}",
        place=str(folder),
        notes=(*notes, "the checkpoints from before are as they were"),
        help="make room or mend the folder's permissions, then start the run again: it goes on",
    )
