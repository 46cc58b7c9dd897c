"""What `lawdsl predict` does with an ensemble of fits: the median and the spread of its members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from lawdsl.core.diagnostics import Diagnostic
    from lawdsl.fitting.ensembles.ensemble import Ensemble
    from lawdsl.fitting.result import Fit
    from lawdsl.fitting.result_by_label import Fits

HEADERS = ["", "sd", "q5", "q95"]
"""What is added to the name of the output, in the order of `SPREAD_ARRAYS`."""


def is_ensemble(text: str | None) -> bool:
    """Whether the text of a file is that of an ensemble.

    Args:
        text: the text; None if it could not be read.
    """
    from lawdsl.fitting.storage import ENSEMBLE_SCHEMA

    # the schema is the first key; the rest may be long
    return text is not None and f'"schema": "{ENSEMBLE_SCHEMA}"' in text[:200]


def has_members(fit: Fit | Fits | Ensemble) -> TypeIs[Ensemble]:
    """Whether a fit is an ensemble; its class is not loaded for other fits."""
    return hasattr(fit, "requested")


def check_options(intervals: bool | None, level: Any, wrong: Any, plot: str | None) -> None:
    """Refuse options that concern intervals of single fits.

    Raises:
        click.UsageError: such an option.
    """
    stated = [
        name
        for name, value in (("--level", level), ("--wrong", wrong), ("--plot", plot))
        if value is not None
    ]
    if intervals:
        stated.append("--intervals")
    if stated:
        raise click.UsageError(
            f"{stated[0]} needs a single fit, and this file is an ensemble, which has the spread of its "
            "members: leave it out, or fit the law without --ensemble"
        )


def predicted_spread(
    ensemble: Ensemble, table: Any, more: Mapping[str, str], with_spread: bool
) -> tuple[Any, tuple[Diagnostic, ...]]:
    """The predictions of an ensemble, shape (points, arrays) or (points, labels, arrays), and the
    warnings.

    Args:
        ensemble: the ensemble.
        table: the points.
        more: columns, and further runs.
        with_spread: whether the spread of the members is wanted.
    """
    import numpy as np

    predicted = ensemble.predict_with_spread(table, **more)
    arrays = np.moveaxis(predicted.stacked(), 0, -1)
    return arrays if with_spread else arrays[..., :1], predicted.warnings


def spread_document(ensemble: Ensemble, predictions: Any) -> dict[str, Any]:
    """The spread of the members as in the JSON document; null for an infinite one.

    Args:
        ensemble: the ensemble.
        predictions: the arrays of the predictions.
    """
    from lawdsl.core.records import to_plain

    names = ("standard_deviation", "quantile_5", "quantile_95")
    arrays = {name: to_plain(predictions[..., k].tolist()) for k, name in enumerate(names, 1)}
    members = [len(part.members) for part in ensemble.parts]
    return {"ensemble": ensemble.kind, "members": members, **arrays}
