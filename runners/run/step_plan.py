"""How a run computes its steps on a GPU, as its folder keeps it: a resumed run does the same.

Other micro-batches give other last bits, and how much memory is free may change meanwhile.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from lawdsl.core.files import write

from .memory import StepPlan

STEP_PLAN = "execution.json"


def read_step_plan(folder: Path) -> StepPlan | None:
    """Read the plan that a run's folder keeps; None where it has none that can be read.

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
    """Keep the plan in a run's folder.

    Args:
        folder: the folder of the run.
        plan: the plan.

    Raises:
        OSError: it cannot be written.
    """
    write(folder / STEP_PLAN, json.dumps(asdict(plan)) + "\n")
