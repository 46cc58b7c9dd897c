"""Fit, fits or law + target -> text: the table of targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.exporting.build import exported
from lawdsl.exporting.content import Exported
from lawdsl.exporting.javascript_module import javascript_module
from lawdsl.exporting.json_document import json_document
from lawdsl.exporting.latex_document import latex_document
from lawdsl.exporting.python_module import DIALECTS, python_module
from lawdsl.fitting.options import check_level
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.language.keywords import did_you_mean
from lawdsl.law.law import Law

WRITERS: Mapping[str, Callable[[Exported], str]] = {
    "latex": latex_document,
    **{d.target.name: partial(python_module, dialect=d) for d in DIALECTS},
    "javascript": javascript_module,
    "json": json_document,
}
"""Target -> its writer."""


def export(what: Fit | Fits | Law, to: str, /, *, level: float = 0.95) -> str:
    """Write a fitted formula for use elsewhere.

    Args:
        what: a fit, the fits of a law with index sets, or a law all parameters of which have values
            (`law.at(E=1.69, …)`).
        to: latex, python, numpy, torch, jax, javascript or json.
        level: of the intervals of predictions.

    Raises:
        LawdslError: another target (E0101), a law without values (E0102), or a level outside 0.5
            to 0.999 (F0120).
    """
    if to not in WRITERS:
        message = f"unknown export target {to!r}"
        help = did_you_mean(to, list(WRITERS), f"there are {', '.join(WRITERS)}")
        raise LawdslError(Diagnostic("E0101", message, help=help))
    check_level(level)
    return WRITERS[to](exported(what, level))
