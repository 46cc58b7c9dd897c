"""Laws of a loss that turns -> whether the learning rate of the rows may be what turns it.

Where continual pre-training begins, the warm-up of the learning rate raises the loss on the old
domain, and a decay lowers it: Gupta et al. (2023), arXiv:2308.04014. So the peak of the general loss
depends on both.
"""

from __future__ import annotations

import numpy as np

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.enumerations import abridged
from lawdsl.data.premises.column_roles import numbers_or_none
from lawdsl.data.premises.rows import PremiseRows

TURNING = frozenset(("cmr.general", "cmr.general_apart", "cmr.general_by_ratio", "cmr.ratio"))
"""Laws of turning points, or whose maximum is one."""
MAX_NAMED = 4


def turning_point_findings(rows: PremiseRows) -> list[Diagnostic]:
    """A warning (D0143) if a law of turning points is fitted to rows with a warm-up, or with several
    schedules.

    Args:
        rows: the rows.
    """
    if rows.law.name not in TURNING:
        return []
    help = "compare and predict turning points for runs with this warm-up and schedule only"
    for column in rows.columns("warm-up"):
        numbers = numbers_or_none(rows.table, column)
        if numbers is None or not np.nanmax(numbers) > 0:
            continue
        values = [f"{x:g}" for x in np.unique(numbers[np.isfinite(numbers)])]
        listed = abridged(values, MAX_NAMED)
        message = f"the turning point depends on the warm-up of the learning rate, here {column} = {listed}"
        if len(values) > 1:
            message = (
                f"rows of {len(values)} warm-ups, {column} = {listed}, in one fit: the turning point "
                "depends on the warm-up"
            )
        place = f"{rows.table.name} column {column}"
        return [Diagnostic("D0143", message, "warning", place=place, help=help)]
    for column in rows.columns("schedule"):
        texts = [text for text in dict.fromkeys(rows.table.texts(column)) if text]
        if not texts or (len(texts) == 1 and texts[0].lower().startswith("const")):
            continue
        listed = abridged(texts, MAX_NAMED)
        message = (
            f"the turning point depends on the schedule of the learning rate, here {listed}: the paper "
            "has a constant rate after a warm-up"
        )
        place = f"{rows.table.name} column {column}"
        return [Diagnostic("D0143", message, "warning", place=place, help=help)]
    return []
