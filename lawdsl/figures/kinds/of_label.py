"""`residuals` and `profile` of a law with index sets: those of the fit of one label."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import abridged
from lawdsl.figures import theme
from lawdsl.figures.figure import Figure
from lawdsl.figures.kinds.profile import profile_figure
from lawdsl.figures.kinds.residuals import residuals_figure
from lawdsl.fitting.findings_by_label import label_of
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.storage import VERDICTS
from lawdsl.language.keywords import did_you_mean

MAX_LABELS_LISTED = 12


def residuals_of_label_figure(fits: Fits, *, label: str | None = None) -> Figure:
    """Draw the residuals of the fit of one label.

    Args:
        fits: the fits.
        label: the label; by default the one with the worst verdict. Labels that share parameters
            have one fit.

    Raises:
        LawdslError: an unknown label (G0104), a fit without rows (G0103).
    """
    part = _part(fits, label)
    return _labelled(residuals_figure(part), fits, part)


def profile_of_label_figure(
    fits: Fits, *, label: str | None = None, parameters: Any = None
) -> Figure:
    """Draw the profile of the objective along the parameters of one label.

    Args:
        fits: the fits.
        label: the label, as for the residuals.
        parameters: the parameters, as for the profile of a fit.

    Raises:
        LawdslError: an unknown label or parameter (G0104), a fit without rows (G0103).
    """
    part = _part(fits, label)
    return _labelled(profile_figure(part, parameters=parameters), fits, part)


def _part(fits: Fits, label: str | None) -> Fit:
    """The fit of a label, or the one with the worst verdict."""
    if label is None or len(fits.parts) == 1 and not label_of(fits.parts[0]):
        return max(fits.parts, key=lambda part: VERDICTS.index(part.verdict))
    parts = {label_of(part): part for part in fits.parts}
    if label not in parts:
        message = f"no fit has the label {label!r}"
        help = did_you_mean(label, parts, f"the labels are {abridged([*parts], MAX_LABELS_LISTED)}")
        raise LawdslError(Diagnostic("G0104", message, help=help))
    return parts[label]


def _labelled(figure: Figure, fits: Fits, part: Fit) -> Figure:
    """The figure of a part, which says whose rows it shows."""
    label = label_of(part)
    if not label:
        return figure
    note = f"the rows of {label}"
    if len(fits.parts) > 1:
        note += f", of {len(fits.parts)} labels; label=NAME draws another"
    description = f"{note[0].upper()}{note[1:]}. {figure.description}"
    theme.add_to_subtitle(figure.chart, [note], description)
    notes = (note, *figure.notes)
    return replace(figure, description=description, notes=notes)
