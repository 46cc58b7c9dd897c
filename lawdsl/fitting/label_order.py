"""Optimum -> the same optimum with the parameters of hidden labels in a fixed order.

The labels of a hidden set can be exchanged (`preparation/hidden_labels.py`), and which of them has
which values would depend on the draws of the starts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.multistart import Optimum
from lawdsl.fitting.transforms import to_free

EQUAL_LOSS_RTOL = 1e-9  # an exchange of labels changes the objective by rounding errors only


def with_ordered_labels(law: PreparedLaw, problem: Problem, best: Optimum) -> Optimum:
    """The optimum in which the first parameter of hidden labels rises from label to label.

    If the objective tells the labels apart, as by the prior of one of them, the optimum is kept.

    Args:
        law: the law.
        problem: the problem that was minimised.
        best: its minimum.
    """
    if not law.hidden_labels:
        return best
    theta, number = best.theta.copy(), {name: k for k, name in enumerate(law.names)}
    for blocks in law.hidden_labels:
        positions = np.array([[number[name] for name in block] for block in blocks])
        order = sorted(range(len(blocks)), key=lambda k: tuple(theta[positions[k]]))
        theta[positions] = theta[positions[order]]
    loss = float(problem.losses_at(theta[None])[0])
    if abs(loss - best.loss) > EQUAL_LOSS_RTOL * abs(best.loss) + problem.exact:
        return best
    return replace(best, theta=theta, free=to_free(problem.transforms, theta[None])[0])
