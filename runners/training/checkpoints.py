"""Checkpoints of a run: folders that are complete or absent, each file verified by its SHA-256.

RUN/checkpoints/
    step-00000100/  model.safetensors  optimizer.safetensors  state.json  manifest.json
    step-00000200/

Only the process that has locked the run writes them (`locks.hold`); in a sharded run every process
writes its part (`sharded_checkpoints`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..run.disk import discard, room_text, sync
from ..spec import canonical_json

if TYPE_CHECKING:
    import torch

CHECKPOINT_SCHEMA = 1
MANIFEST = "manifest.json"
STATE = "state.json"
SUFFIX = ".safetensors"
TEMPORARY = ".tmp-"
DAMAGED = "damaged-"
NAME = re.compile(r"step-(\d{8,})(-old)?")


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint.

    `state` is the plain data that was saved, as JSON keeps it; `names` are those of the tensors'
    files, `model` say.
    """

    step: int
    folder: Path
    state: dict[str, Any]
    names: tuple[str, ...]

    @property
    def in_parts(self) -> bool:
        """Whether several processes wrote it, each its rows."""
        return any("-" in name for name in self.names)


def save(
    folder: Path,
    step: int,
    tensors: Mapping[str, Mapping[str, torch.Tensor]],
    state: Mapping[str, Any],
    keep: int = 2,
    kept_steps: Iterable[int] = (),
) -> Path:
    """Write the checkpoint of a step, then remove all but the newest `keep`.

    It is written and synced under a temporary name and renamed when complete, so a folder with the
    name of a checkpoint is always complete. Those of later steps are removed too: the run was
    resumed from an earlier step and will reach them again.

    Args:
        folder: RUN/checkpoints; created if it does not exist.
        step: the number of updates done.
        tensors: for each file, `model` say, its tensors by name. Tensors that share memory are
            written once per name.
        state: plain data in JSON; numbers are finite.
        keep: the number of checkpoints that remain.
        kept_steps: earlier steps whose checkpoints remain besides.

    Returns:
        The folder of the checkpoint.

    Raises:
        LawdslError: R0403, it cannot be written; the earlier checkpoints are unchanged.
    """
    from safetensors import SafetensorError

    temporary = folder / f"{TEMPORARY}{os.getpid()}"
    try:
        create(folder, temporary)
        _fill(temporary, step, tensors, state)
        return publish(temporary, folder, step, keep, kept_steps)
    except (OSError, SafetensorError) as error:
        needed = sum(t.nbytes for named in tensors.values() for t in named.values())
        discard(temporary)
        raise LawdslError(unwritten(folder, step, needed, error)) from None
    except BaseException:
        discard(temporary)
        raise


def create(folder: Path, temporary: Path) -> None:
    """Create the folder of a checkpoint that is to be written.

    Args:
        folder: RUN/checkpoints; created if it does not exist.
        temporary: the new folder in it; an existing one is removed.

    Raises:
        OSError: it cannot be created.
    """
    if not folder.is_dir():
        folder.mkdir(parents=True)
        # a new folder survives a crash only once its parent is synced
        sync(folder.parent)
    discard(temporary)  # of an earlier process with the same number
    temporary.mkdir()


def publish(
    temporary: Path, folder: Path, step: int, keep: int, kept_steps: Iterable[int] = ()
) -> Path:
    """Rename a complete checkpoint to its final name, then remove all but the newest ones.

    Args:
        temporary: its folder.
        folder: RUN/checkpoints.
        step: the number of updates done.
        keep: the number of checkpoints that remain.
        kept_steps: earlier steps whose checkpoints remain besides.

    Returns:
        The folder of the checkpoint.

    Raises:
        OSError: it cannot be renamed.
    """
    published = _publish(temporary, folder / f"step-{step:08d}")
    with contextlib.suppress(OSError):  # the next call tries again
        _prune(folder, published, step, keep, frozenset(kept_steps))
    return published


def latest(folder: Path) -> tuple[Checkpoint | None, list[Diagnostic]]:
    """The newest intact checkpoint, and a warning about each newer damaged one.

    Remains of killed processes are removed. A damaged checkpoint is renamed, so that it does not
    count as a kept one, and is removed after the next `save`.

    Returns:
        The checkpoint, None if there is none; and the warnings.

    Raises:
        LawdslError: R0402, no checkpoint is complete; R0404, the folder cannot be read.
    """
    damaged: list[tuple[Path, str]] = []
    try:
        for path in _entries(folder, TEMPORARY):
            discard(path)
        for path, step in _found(folder):
            examined = _examine(path, step)
            if isinstance(examined, Checkpoint):
                return examined, [_rename_damaged(old, why, step) for old, why in damaged]
            damaged.append((path, examined))
        damaged += [(path, "set aside before") for path in _entries(folder, DAMAGED)]
    except FileNotFoundError:
        return None, []
    except OSError as error:
        message = f"the checkpoints cannot be read: {error.strerror}"
        raise LawdslError(Diagnostic("R0404", message, place=str(folder))) from None
    if damaged:
        raise LawdslError(_none_intact_error(folder, damaged))
    return None, []


def of_step(folder: Path, step: int, by_size: Collection[str] = ()) -> Checkpoint:
    """Open the checkpoint of a step that another process has verified. Nothing is modified.

    Args:
        folder: RUN/checkpoints.
        step: the number of updates done.
        by_size: suffixes of files for which only the size is checked, because other processes read
            them.

    Returns:
        The checkpoint.

    Raises:
        LawdslError: R0404, it is incomplete for this process.
    """
    whys = []
    try:
        for path in (path for path, of in _found(folder) if of == step):
            examined = _examine(path, step, tuple(by_size))
            if isinstance(examined, Checkpoint):
                return examined
            whys.append(f"{path.name}: {examined}")
    except OSError as error:
        whys.append(f"{folder}: {error.strerror}")
    raise LawdslError(
        Diagnostic(
            "R0404",
            f"the checkpoint of step {step} cannot be read by another process of the run",
            place=str(folder),
            notes=tuple(whys) or (f"no checkpoint of step {step} is seen there",),
            help="see that all processes see the same files, then start the run again",
        )
    )


def until(folder: Path, step: int) -> Iterator[Checkpoint | str]:
    """Verify the checkpoints of a step and of earlier ones, the newest first. Nothing is modified.

    Args:
        folder: the checkpoints of a run, which another process may be writing.
        step: the number of updates done.

    Returns:
        An iterator over complete checkpoints, and the faults of those that are not.
    """
    try:
        saved = _found(folder)
    except OSError as error:
        yield f"{folder.name}: {error.strerror}"
        return
    for path, of in saved:
        if of <= step:
            examined = _examine(path, of)
            yield examined if isinstance(examined, Checkpoint) else f"{path.name}: {examined}"


def load(checkpoint: Checkpoint) -> dict[str, dict[str, torch.Tensor]]:
    """Load the saved tensors, bitwise equal, on the CPU and in separate memory.

    Raises:
        LawdslError: R0404, a file cannot be read as safetensors.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    tensors = {}
    for name in checkpoint.names:
        path = checkpoint.folder / f"{name}{SUFFIX}"
        try:
            # loaded tensors are memory-mapped from the file, which will be removed, so they are
            # copied
            tensors[name] = {key: tensor.clone() for key, tensor in load_file(path).items()}
        except (OSError, SafetensorError) as error:
            raise LawdslError(unreadable(path, error)) from None
    return tensors


def _fill(
    folder: Path,
    step: int,
    tensors: Mapping[str, Mapping[str, torch.Tensor]],
    state: Mapping[str, Any],
) -> None:
    """Write all files into a new folder, the manifest last, and sync them."""
    from safetensors.torch import save_file

    names = [f"{name}{SUFFIX}" for name in tensors]
    for name, named in zip(names, tensors.values(), strict=True):
        save_file(_unshared(named), folder / name)
    for name in names:
        sync(folder / name)
    complete(folder, step, {name: described(folder / name) for name in names}, state)


def complete(
    folder: Path, step: int, files: Mapping[str, Mapping[str, Any]], state: Mapping[str, Any]
) -> None:
    """Write the state and the manifest into the folder of the tensor files, and sync them.

    Args:
        folder: the new folder, in which the files of tensors are synced.
        step: the number of updates done.
        files: name of each file -> its entry in the manifest.
        state: plain data in JSON.

    Raises:
        OSError: it cannot be written.
    """
    (folder / STATE).write_text(canonical_json(state), encoding="utf-8")
    # sync data before the manifest, and the manifest before the rename
    sync(folder / STATE)
    entries = {**files, STATE: described(folder / STATE)}
    manifest = {"schema": CHECKPOINT_SCHEMA, "step": step, "files": entries}
    (folder / MANIFEST).write_text(canonical_json(manifest), encoding="utf-8")
    sync(folder / MANIFEST)
    sync(folder)


def _unshared(named: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Contiguous tensors without shared memory, copied only if necessary."""
    storages: set[tuple[str, int]] = set()
    independent = {}
    for name, tensor in named.items():
        tensor = tensor.detach().contiguous()
        where = str(tensor.device), tensor.data_ptr()
        # safetensors rejects tensors that share memory
        independent[name] = tensor.clone() if where in storages else tensor
        storages.add(where)
    return independent


def described(path: Path) -> dict[str, Any]:
    """The entry of a file in the manifest: its SHA-256 and its size."""
    with path.open("rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": file.tell()}


def _publish(temporary: Path, target: Path) -> Path:
    """Rename a complete folder to its final name; an older folder of that name stays a valid
    checkpoint until then."""
    if target.exists():
        old = target.with_name(f"{target.name}-old")
        if old.exists():
            _remove(old)
        # rename does not replace a nonempty folder; the old one has a valid name until then
        target.rename(old)
    temporary.rename(target)
    sync(target.parent)
    return target


def _prune(folder: Path, newest: Path, step: int, keep: int, kept_steps: frozenset[int]) -> None:
    saved = _found(folder)
    older = [path for path, of in saved if of < step]
    # reversed: of two folders of one step the first one remains
    kept = {of: path for path, of in reversed(saved) if of < step and of in kept_steps}
    retained = {newest, *older[: keep - 1], *kept.values()}
    for path in (*(path for path, _ in saved if path not in retained), *_entries(folder, DAMAGED)):
        _remove(path)


def _remove(path: Path) -> None:
    """Remove a checkpoint, renamed first so that a partial one is never taken for a checkpoint."""
    nameless = path.with_name(f"{TEMPORARY}{path.name}")
    discard(nameless)
    path.rename(nameless)
    discard(nameless)


def _entries(folder: Path, start: str) -> list[Path]:
    with os.scandir(folder) as entries:
        return sorted(folder / entry.name for entry in entries if entry.name.startswith(start))


def _found(folder: Path) -> list[tuple[Path, int]]:
    """All folders with the name of a checkpoint, and their steps; the newest first."""
    matches = [(path, NAME.fullmatch(path.name)) for path in _entries(folder, "step-")]
    steps = [(path, int(match[1])) for path, match in matches if match]
    # for equal steps the name without `-old` sorts first
    return sorted(steps, key=lambda entry: (-entry[1], entry[0].name))


def _examine(folder: Path, step: int, by_size: tuple[str, ...] = ()) -> Checkpoint | str:
    """Verify the checkpoint in a folder; return it, or the fault."""
    name = MANIFEST
    try:
        manifest = json.loads((folder / name).read_bytes())
        if manifest["schema"] != CHECKPOINT_SCHEMA:
            return (
                f"{name} is of schema {manifest['schema']}, and {CHECKPOINT_SCHEMA} is known here"
            )
        if manifest["step"] != step:
            return f"{name} is of step {manifest['step']}"
        files = {STATE: manifest["files"].pop(STATE), **manifest["files"]}
        for name, expected in files.items():
            if by_size and name.endswith(by_size):
                actual = {**expected, "bytes": (folder / name).stat().st_size}
            else:
                actual = described(folder / name)
            # distinguishes a truncated file from a changed bit, although the hash detects both
            if actual["bytes"] != expected["bytes"]:
                return f"{name} has {actual['bytes']:,} bytes, not {expected['bytes']:,}"
            if actual != expected:
                return f"{name} is not what was written, by its SHA-256"
        names = tuple(name.removesuffix(SUFFIX) for name in manifest["files"])
        return Checkpoint(step, folder, json.loads((folder / STATE).read_bytes()), names)
    except FileNotFoundError:
        return f"{name} is missing"
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}"
    # a damaged manifest may be any JSON, or nested too deeply
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"{name} is not what was written"


def _rename_damaged(path: Path, fault: str, step: int) -> Diagnostic:
    aside = path.with_name(f"{DAMAGED}{path.name}")
    with contextlib.suppress(OSError):
        if path.exists():  # another process may have renamed it at the same time
            discard(aside)
            path.rename(aside)
    return Diagnostic(
        "R0401",
        f"the checkpoint {path.name} is damaged: {fault}",
        "warning",
        place=str(path.parent),
        notes=(f"the run goes on from the checkpoint of step {step}",),
        help="nothing is lost but time; if it happens again, check the disk",
    )


def _none_intact_error(folder: Path, damaged: list[tuple[Path, str]]) -> Diagnostic:
    return Diagnostic(
        "R0402",
        "the run has checkpoints, and none of them is whole",
        place=str(folder),
        notes=tuple(f"{path.name}: {fault}" for path, fault in damaged),
        help=f"to begin the run again at step 0, remove the folder {folder}",
    )


def unwritten(folder: Path, step: int, needed: int, error: Exception) -> Diagnostic:
    """Create the diagnostic for a checkpoint that cannot be written.

    Args:
        folder: RUN/checkpoints.
        step: the number of updates done.
        needed: the required bytes.
        error: the cause.

    Returns:
        R0403.
    """
    why = error.strerror if isinstance(error, OSError) else error
    return Diagnostic(
        "R0403",
        f"the checkpoint of step {step} cannot be written: {why}",
        place=str(folder),
        notes=(room_text(folder, needed), "the checkpoints from before are as they were"),
        help="make room or mend the permissions, then start the run again: it goes on",
    )


def unreadable(path: Path, error: Exception) -> Diagnostic:
    """Create the diagnostic for a file of tensors that cannot be read: R0404."""
    return Diagnostic(
        "R0404",
        f"{path.name} is not a file of tensors that can be read: {error}",
        place=str(path.parent),
        notes=("checkpoints hold safetensors; a pickle is never read",),
        help=f"remove {path.parent}, and the run goes on from the checkpoint before",
    )
