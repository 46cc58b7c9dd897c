"""The function of an objective -> the loss that it misspells, or that other languages call so."""

from __future__ import annotations

from lawdsl.core.losses import LOSSES
from lawdsl.language import keywords, tree
from lawdsl.language.tree import Formula

MEANT = {
    "squared": "mse rmse sse rss l2 ols ls least_squares leastsquares squares square gaussian".split(),
    "absolute": "mae l1 lad abs laplace".split(),
    "huber": "huber_loss smooth_l1 logcosh pseudo_huber robust log_huber huberloss".split(),
    "quantile": "pinball tilted check expectile quantile_loss".split(),
}
"""Losses of the language -> what they, or their like, are called elsewhere."""


def misspelt_loss(formula: Formula) -> tuple[str, str] | None:
    """The function of an objective, and the loss whose name it misspells; None for other names.

    Args:
        formula: the objective.
    """
    if not isinstance(formula, tree.Call) or formula.function in LOSSES:
        return None
    elsewhere = [name for names in MEANT.values() for name in names]
    meant = keywords.nearest(formula.function, LOSSES)
    return (
        None
        if meant is None or formula.function.lower() in elsewhere
        else (formula.function, meant)
    )
