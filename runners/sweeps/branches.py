"""Stable runs and their branches in a sweep: when a branch can start, and when checkpoints can be
removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from contextlib import suppress
from pathlib import Path

from lawdsl.core.diagnostics import LawdslError

from ..run.exit_status import checkpoint_path, forget_checkpoint, newest_checkpoint
from ..spec import RunOrder, read_order, write_order
from .run_folders import read_state


def stable_folder(folder: Path, order: RunOrder) -> Path | None:
    """Return the folder of the stable run that a branch begins from.

    Args:
        folder: the folder of the branch.
        order: its order.

    Returns:
        The path; None for a run that is not a branch.
    """
    return None if order.prefix is None else folder.parent / order.prefix.folder


def can_begin(folder: Path, order: RunOrder, unfinished: Set[Path]) -> bool:
    """Decide whether a run can start without waiting for another.

    Args:
        folder: the folder of the run.
        order: its order.
        unfinished: the folders of waiting and active runs.

    Returns:
        True if it is not a branch, has been started before, or if its stable run has reached the
        branching point or never will: the branch then trains the first steps itself.
    """
    stable = stable_folder(folder, order)
    if stable is None or order.prefix is None or stable not in unfinished:
        return True
    return checkpoint_path(stable, order.prefix.step).is_dir() or bool(newest_checkpoint(folder))


def first_step(folder: Path, order: RunOrder, final: bool) -> int:
    """Return the step from which a run is trained; the earlier steps are those of its stable run.

    Args:
        folder: the folder of the run.
        order: its order.
        final: whether the run has ended.

    Returns:
        The step; 0 for a run that is not a branch, and for a branch that cannot use the checkpoint of
        its stable run any more.
    """
    stable = stable_folder(folder, order)
    if stable is None or order.prefix is None:
        return 0
    lost = (
        not final
        and not newest_checkpoint(folder)
        and read_state(stable).final
        and not checkpoint_path(stable, order.prefix.step).is_dir()
    )
    return 0 if lost else order.prefix.step


def release(runs: Iterable[tuple[Path, RunOrder]]) -> None:
    """Remove the checkpoints of stable runs that no branch needs any more.

    A branch needs the checkpoint of its stable run until it has its own, or has ended. Checkpoints
    for other branches remain.

    Args:
        runs: folders and orders of branches; other runs may be among them.
    """
    needs: dict[Path, dict[int, bool]] = {}
    for folder, order in runs:
        stable = stable_folder(folder, order)
        if stable is not None and order.prefix is not None:
            settled = bool(newest_checkpoint(folder)) or read_state(folder).final
            steps = needs.setdefault(stable, {})
            steps[order.prefix.step] = steps.get(order.prefix.step, False) or not settled
    for stable, steps in needs.items():
        ended, newest = read_state(stable).final, newest_checkpoint(stable)
        for step, needed in steps.items():
            # a stable run that was killed resumes from the newest one
            if not needed and (ended or step < newest):
                forget_checkpoint(stable, step)


def record_branches(runs: Iterable[tuple[Path, RunOrder]]) -> None:
    """Record in the folders of finished runs that they are branches in this sweep.

    A sweep without branches may have executed the same runs. With this record, a table has the rows
    shared with the stable run only once.

    Args:
        runs: folders and orders of a sweep's runs.
    """
    for folder, order in runs:
        if order.prefix is None or not read_state(folder).final:
            continue
        # an order that cannot be read or written is an error where the run or its rows are needed
        with suppress(OSError, LawdslError):
            recorded = read_order(folder)
            if recorded.prefix != order.prefix:
                write_order(folder, recorded.model_copy(update={"prefix": order.prefix}))
