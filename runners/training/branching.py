"""A decay branch -> the checkpoint of its stable run from which it can start.

A branch is an independent run with bitwise equal results whether it starts from that checkpoint or
trains its first steps itself. So a defect of the checkpoint costs time, but no result. The stable
run with branches: Hägele et al. (2024), arXiv:2405.18392.
"""

from __future__ import annotations

from pathlib import Path

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..run.exit_status import CHECKPOINTS, checkpoint_path
from ..run.metrics_log import POINTS, head
from ..run.schedules import learning_rate
from ..spec import Prefix, Run, RunOrder, read_order
from . import checkpoints
from .checkpoints import Checkpoint

DECAY_FIELDS = {
    "steps",
    "schedule",
    "decay",
    "final",
}  # fields of the training settings that define the decay


def newest(
    folder: Path, order: RunOrder, prefix: Prefix
) -> tuple[tuple[Checkpoint, bytes] | None, Diagnostic | None]:
    """Find the newest usable checkpoint of the stable run within the common steps. Nothing is
    modified.

    Args:
        folder: the folder of the branch.
        order: the order of the branch.
        prefix: the stable run, and the last common step.

    Returns:
        The checkpoint and the rows until then, or None; a warning (R0412) where it is not that of
        the last common step.
    """
    stable_folder = folder.parent / prefix.folder
    faults: list[str] = []
    try:
        stable = read_order(stable_folder).run
        if not shares_steps(stable, order.run, prefix.step):
            faults.append(f"{prefix.folder} is not a run with these first {prefix.step:,} steps")
            return None, _unusable(order, prefix, faults, 0)
    except (LawdslError, OSError):
        faults.append(f"{stable_folder} is not the folder of a run")
        return None, _unusable(order, prefix, faults, 0)
    expected = checkpoint_path(stable_folder, prefix.step)
    if not expected.is_dir():
        faults.append(f"{expected.name} is missing")
    for candidate in checkpoints.until(stable_folder / CHECKPOINTS, prefix.step):
        if isinstance(candidate, str):
            faults.append(candidate)
            continue
        try:
            rows = _rows_until(stable_folder / POINTS, candidate, stable)
        except LawdslError as error:
            faults.append(f"{candidate.folder.name}: {error.diagnostics[0].message}")
            continue
        if rows is None:
            faults.append(f"{candidate.folder.name}: the rows beside it are not those of its steps")
            continue
        if candidate.step == prefix.step:
            return (candidate, rows), None
        return (candidate, rows), _unusable(order, prefix, faults, candidate.step)
    return None, _unusable(order, prefix, faults, 0)


def shares_steps(stable: Run, branch: Run, step: int) -> bool:
    """Decide whether the first steps of two runs, and the rows measured in them, are equal.

    Args:
        stable: a run.
        branch: another run.
        step: the number of steps.

    Returns:
        Whether everything that determines the losses up to update `step` is equal.
    """
    if step > min(stable.training.steps, branch.training.steps):
        return False
    rates = all(
        learning_rate(stable.training, i) == learning_rate(branch.training, i) for i in range(step)
    )
    return rates and _without_decay(stable, step) == _without_decay(branch, step)


def _without_decay(run: Run, step: int) -> object:
    """Everything that determines the losses up to a step, except the learning rates."""
    allowed = {"max_epochs"}
    return run.model_dump(
        exclude={
            "training": DECAY_FIELDS,
            "evaluate": True,
            "corpora": {name: allowed for name in run.corpora},
        }
    ), [evaluated for evaluated in run.evaluate if evaluated <= step]


def _rows_until(path: Path, checkpoint: Checkpoint, stable: Run) -> bytes | None:
    """The rows up to a checkpoint; None if they differ from the current rows of the run.

    A stable run that resumed before the checkpoint has removed them, and measures them again.

    Raises:
        LawdslError: the rows are damaged or cannot be read.
    """
    if checkpoint.state["run"] != stable.identity():
        return None
    content, rows = head(path, checkpoint.state["points"])
    measured = [step for step in stable.evaluate if step <= checkpoint.state["measured"]]
    return content if [row.get("step") for row in rows] == measured else None


def _unusable(order: RunOrder, prefix: Prefix, faults: list[str], step: int) -> Diagnostic:
    trained = (
        f"steps {step + 1:,} to {prefix.step:,}" if step else f"its first {prefix.step:,} steps"
    )
    return Diagnostic(
        "R0412",
        f"{order.label} trains {trained} again: its stable run has no usable checkpoint of"
        f" step {prefix.step:,}",
        "warning",
        place=prefix.folder,
        notes=tuple(faults) or ("there is none",),
        help="nothing is lost but time: the losses and the weights are the same",
    )
