"""The budget, what is spent -> what the next batch may cost.

Batches end at fixed parts of the budget, so that no dear run is bought before cheap ones have said
what it would teach.
"""

from __future__ import annotations

PHASES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
MIN_GROWTH = 1.25  # of what is spent, by each batch but the last
ROUNDING_RTOL = 1e-9


def next_allowance(budget: float, spent: float, cheapest: float) -> float:
    """What the next batch may cost: up to the next phase that affords a run.

    Args:
        budget: of all runs.
        spent: on those that are done.
        cheapest: the cost of the cheapest run that is left.

    Returns:
        The allowance; 0 where the rest of the budget affords no run.
    """
    for part in PHASES:
        allowance = part * budget - spent
        grows = part * budget >= MIN_GROWTH * spent or part == PHASES[-1]
        if grows and allowance >= cheapest * (1 - ROUNDING_RTOL):
            return allowance
    return 0.0
