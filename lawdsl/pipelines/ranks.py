"""Stages of a pipeline -> how far the ranks of the groups of a step agree between model sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lawdsl.data.default_runs import is_model_size
from lawdsl.data.size_ranks import rank_agreement
from lawdsl.pipelines.steps import Stage


def ranks_by_size(stages: Sequence[Stage], number: int) -> dict[str, Any]:
    """The fields `ranks` and `size` of the result of a step; none if its law has no model size.

    Groups with one label of a set that a later law runs over, such as a validation domain, are
    ranked among themselves.

    Args:
        stages: all steps.
        number: the number of the step.
    """
    stage = stages[number]
    size = next((q for q in stage.task.law.variables if is_model_size(q)), None)
    if size is None or stage.task.law.indexed:
        return {}
    later = [after.task for after in stages[number + 1 :]]
    sets = {
        task.column(index.over)
        for task in later
        for index in task.law.declarations.indices.values()
    }
    rows = np.concatenate([group.rows for group in stage.groups])
    keys = [group.labels for group in stage.groups for _ in group.rows]
    table = stage.table.at(stage.table.rows[rows])
    found = rank_agreement(
        [tuple(x for name, x in key.items() if name not in sets) for key in keys],
        [tuple(x for name, x in key.items() if name in sets) for key in keys],
        table.numbers(stage.task.column(size.name)),
        table.numbers(stage.task.column(stage.task.law.output)),
    )
    return {} if found is None else {"ranks": found, "size": size.name}
