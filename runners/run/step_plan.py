"""The micro-batch and checkpointing of a run's steps on a GPU, stored in its folder for resuming.

Another micro-batch changes the rounding, and the free memory may change meanwhile.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from lawdsl.core.files import write

from .memory import StepPlan

STEP_PLAN = "execution.json"


def read_step_plan(folder: Path) -> StepPlan | None:
    """Read the plan in a run's folder; None if there is no readable one.

    Args:
        folder: the folder of the run.

    Returns:
        The plan.
    """
    try:
        plan = StepPlan(**json.loads((folder / STEP_PLAN).read_text(encoding="utf-8")))
        return plan if plan.micro > 0 else None
    except (OSError, ValueError, TypeError):
        return None


def write_step_plan(folder: Path, plan: StepPlan) -> None:
    """Store the plan in a run's folder.

    Args:
        folder: the folder of the run.
        plan: the plan.

    Raises:
        OSError: it cannot be written.
    """
    write(folder / STEP_PLAN, json.dumps(asdict(plan)) + "\n")
