"""What is to be said of an answer: fits that are not trusted, places outside what was measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import sympy as sp

from lawdsl.diagnostics import Diagnostic
from lawdsl.fitting.fitted import beyond
from lawdsl.solving.along import Drawn
from lawdsl.solving.giving import evaluated
from lawdsl.solving.posing import Posed
from lawdsl.solving.records import Answer

SURE = 0.99  # of the draws have an answer


def warnings_of(
    posed: Posed, values: Mapping[sp.Symbol, float], drawn: Drawn | None, answer: Answer
) -> tuple[Diagnostic, ...]:
    """The warnings about an answer.

    Args:
        posed: the question.
        values: of all symbols, unknowns at the answer.
        drawn: answers to draws of the noise.
        answer: the answer so far.
    """
    found: list[Diagnostic] = []
    for source in posed.sources:
        if source.fit is not None:
            found += [_of(source.use, d) for d in source.fit.distrust()]
    for taken in posed.taken:
        fit = taken.source.fit
        if fit is None or taken.quantity.name not in fit.data.ranges:
            continue
        at = np.array([evaluated(taken.at, values)])
        name = taken.quantity.name
        said = [*beyond(name, at, fit.data.ranges[name]), *fit.below_inflection({name: at})]
        found += [_of(taken.source.use, d) for d in said]
    if any(s.fit is None for s in posed.sources):
        message = "parameters were given as numbers: their errors are not known"
        help = "give a fit, USE=FIT.json, for intervals"
        found.append(Diagnostic("F0504", message, "warning", help=help))
    elif drawn is None and answer.unknowns and answer.unknowns[0].place != "upper end":
        message = "the errors of the fits do not say how far off the answer is"
        help = "fit again with `lawdsl fit`, which keeps the errors, or measure what they depend on"
        found.append(Diagnostic("F0504", message, "warning", help=help))
    elif drawn is not None and drawn.answered < SURE:
        share = math.floor(100 * drawn.answered)
        message = f"within the errors of the fits there is an answer in {share} % of cases only"
        help = "the interval is of those; measure near the constraint, or relax it"
        found.append(Diagnostic("F0505", message, "warning", help=help))
    return tuple(dict.fromkeys(found))


def _of(use: str, diagnostic: Diagnostic) -> Diagnostic:
    return replace(diagnostic, place=diagnostic.place or use)
