"""Points at which a prediction is wanted -> targets, with their intervals by the present fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.units import unit_text
from lawdsl.designing.runs.hypotheses import LawTarget, parts_of
from lawdsl.designing.runs.records import TargetEstimate
from lawdsl.designing.runs.tolerance import tolerance
from lawdsl.fitting.prediction_bands import Band
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.language.keywords import did_you_mean
from lawdsl.language.label_texts import with_subscripts
from lawdsl.law.law import Law

Array = NDArray[np.float64]

SUM_TOLERANCE = 1e-6

Wrong = float | Literal["learned"] | None
Point = Mapping[str, float]
"""Variable -> value, in the units of the law."""


def with_left_out_shares(fit: Fit | Fits, point: Point) -> dict[str, float]:
    """A point without the shares that the law of a fit writes as 1 minus the others.

    All shares may be given, or all but one of them.

    Args:
        fit: of a law, whose variables may be shares of domains.
        point: variable -> value.

    Raises:
        LawdslError: shares that do not sum to 1; N0103.
    """
    part = parts_of(fit)[0]
    instance, result = part.law.instance, dict(point)
    for variable, label in (instance.left_out if instance else {}).items():
        own = [q.name for q in part.read_law().variables if q.name.startswith(f"{variable}[")]
        names = [*own, with_subscripts(variable, (label,))]
        missing = [name for name in names if name not in result]
        if len(missing) == 1:
            result[missing[0]] = 1 - sum(result[name] for name in names if name in result)
            if result[missing[0]] < -SUM_TOLERANCE:
                total = 1 - result[missing[0]]
                message = f"the shares of the target sum to {total:.6g} without {missing[0]}"
                help = "shares sum to 1: lower them"
                raise LawdslError(Diagnostic("N0103", message, help=help))
        total = sum(result.get(name, 0.0) for name in names)
        if not missing and abs(total - 1) > SUM_TOLERANCE:
            message = f"the shares of the target sum to {total:.6g}, not to 1"
            help = f"correct them, or leave one out: {', '.join(names)}"
            raise LawdslError(Diagnostic("N0103", message, help=help))
        if len(missing) <= 1:
            del result[names[-1]]
    return result


def check_point(law: Law, point: Point) -> None:
    """Refuse a target that does not have exactly the variables of the law.

    Raises:
        LawdslError: N0103.
    """
    names = [q.name for q in law.variables]
    for name in point:
        if name not in names:
            help = did_you_mean(name, names, f"`{law.name}` has {', '.join(names)}")
            raise LawdslError(
                Diagnostic("N0103", f"unknown variable `{name}` in a target", help=help)
            )
    missing = [name for name in names if name not in point]
    if missing:
        message = f"the target has no value of {', '.join(missing)}"
        written = " ".join(
            f"{name}={f'{point[name]:.12g}' if name in point else '…'}" for name in names
        )
        help = f'write all variables of `{law.name}`: --target "{written}"'
        raise LawdslError(Diagnostic("N0103", message, help=help))


def law_targets(fit: Fit | Fits, points: Sequence[Point]) -> tuple[LawTarget, ...]:
    """Each point, of each label, as a target of its law.

    Args:
        fit: of the law.
        points: where a prediction is wanted.
    """
    parts = parts_of(fit)
    total, result = len(points) * len(parts), []
    for number, part in enumerate(parts):
        names = [q.name for q in part.law_of_spread().variables]
        columns = np.array([[point[name] for point in points] for name in names], dtype=np.float64)
        weights = np.zeros((total, len(points)))
        weights[number * len(points) + np.arange(len(points)), np.arange(len(points))] = 1.0
        result.append(LawTarget(part, columns.reshape(len(names), len(points)), weights))
    return tuple(result)


def estimates(
    fit: Fit | Fits, points: Sequence[Point], discrepancy: float | None
) -> tuple[list[TargetEstimate], list[Diagnostic]]:
    """What the fit predicts at the points, and how well it knows what would be measured there.

    Args:
        fit: of the law.
        points: where a prediction is wanted.
        discrepancy: standard deviation of log L per decade; None for 2 %, and where the larger runs
            of the fit were missed by more, for as much as they were.

    Returns:
        The estimates in the order of `law_targets`, and warnings of the predictions.
    """
    result: list[TargetEstimate] = []
    warnings: dict[Diagnostic, None] = {}
    for part in parts_of(fit):
        law = part.read_law()
        columns = {q.name: [p[q.name] for p in points] for q in law.variables}
        wrong: Wrong = discrepancy
        if discrepancy is None and part.has_rolled_check:
            wrong = "learned"  # where the larger runs were missed by more than 2 % per decade
        band = part.predict_with_errors(columns, discrepancy=wrong)
        warnings |= dict.fromkeys(band.warnings)
        output = law.declarations.output
        unit = unit_text(output.unit.factors) if output.unit else ""
        assert part.spread is not None  # or it has no intervals
        dof = part.spread.dof
        halves, noises = _halves(band, tolerance(dof))
        for point, value, half, noise in zip(points, band.values, halves, noises, strict=True):
            at = ", ".join(f"{name} = {x:.6g}" for name, x in point.items())
            name = f"{law.output} at {at}"
            known = TargetEstimate(
                name, unit, float(value), float(half), noise=float(noise), dof=dof
            )
            result.append(known)
    return result, list(warnings)


@np.errstate(all="ignore")  # ends may be infinite, or 0
def _halves(band: Band, factor: float) -> tuple[Array, Array]:
    """Half the intervals of what would be measured, and the part of it that is the run's noise.

    Args:
        band: of the predictions; without an error of the law the intervals are those of the curve.
        factor: by which the intervals are wider.

    Returns:
        Both relative to the values, shape (points,); infinite where the rows determine nothing.
    """
    of_curve = np.log(band.high / band.low) / 2
    of_run = of_curve
    if band.run_low is not None and band.run_high is not None:
        of_run = np.log(band.run_high / band.run_low) / 2
    determined = np.isfinite(of_run) & np.isfinite(of_curve)
    noise = np.sqrt(np.maximum(of_run**2 - of_curve**2, 0.0))
    halves = np.where(determined, np.expm1(factor * of_run), np.inf)
    return halves, np.where(determined, np.expm1(factor * noise), 0.0)
