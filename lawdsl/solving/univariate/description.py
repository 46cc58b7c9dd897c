"""A minimum on a range -> text: where it is, and what is proved about it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lawdsl.core.enumerations import abridged
from lawdsl.language.questions import Question
from lawdsl.solving.formulate.problem import AlgebraicConstraint
from lawdsl.solving.univariate.line_minimum import Candidate, LineMinimum
from lawdsl.solving.univariate.roots import UnknownRange

INSIDE_TEXTS = {"stationary": "inside, where the slope is 0"}
MAX_LISTED_POINTS = 8  # stationary points that a text lists


def describe_location(
    name: str, best: Candidate, conditions: Sequence[AlgebraicConstraint], domain: UnknownRange
) -> str:
    """Describe where an answer is.

    Args:
        name: the name of the unknown.
        best: the answer.
        conditions: the constraints of the question.
        domain: the range of the unknown.

    Returns:
        A phrase.
    """
    if best.constraints:
        names = [conditions[k].name for k in best.constraints]
        law = conditions[best.constraints[0]].law
        law_domain = f", the domain of {law}" if law else ""
        return f"on the constraint {' and '.join(names)}{law_domain}"
    if best.kind == "end":
        side = "lower" if best.point == domain.low else "upper"
        return f"at the {side} end of {name}"
    if best.kind == "plateau":
        return "inside, where the goal is constant"
    return "inside, at a kink" if best.kind == "kink" else INSIDE_TEXTS.get(best.kind, "inside")


def describe_certainty(
    name: str, line: LineMinimum, best: Candidate, domain: UnknownRange, question: Question
) -> tuple[str, ...]:
    """Describe what is proved about an answer, in lines.

    Args:
        name: the name of the unknown.
        line: the minimum and its certificates.
        best: the answer.
        domain: the range of the unknown.
        question: says whether the goal is maximised.

    Returns:
        Lines of text.
    """
    if not line.certain:
        return describe_undecided(name, line)
    allowed = ", ".join(_interval_text(name, a, b) for a, b in line.allowed)
    goal = question.goal_text
    better, worse = ("increases", "decreases") if question.maximize else ("decreases", "increases")
    lines = [f"feasible: {allowed}"] if allowed else []
    if line.plateau is not None:
        low, high = line.plateau
        excluded = [
            f"{end:.6g}"
            for end, is_out in zip(line.plateau, line.open_ends, strict=True)
            if is_out and math.isfinite(end)
        ]
        exclusion = f" but {' and '.join(excluded)} itself" if excluded else ""
        lines.append(
            f"every {_interval_text(name, low, high)}{exclusion} is optimal: the goal is constant there"
        )
    elif not line.complete:
        lines.append("a bound of the goal proves that no place elsewhere is better")
    elif line.trend and not line.others:
        word = better if line.trend < 0 else worse
        lines.append(f"{goal} {word} monotonically there, so the optimum is unique")
    elif (
        best.kind == "stationary"
        and len(line.stationary) == 1
        and line.stationary[0][1] == 1
        and not line.others
    ):
        lines.append(f"{goal} {better} up to it and {worse} beyond it, so the optimum is unique")
    elif line.stationary:
        count = len(line.stationary)
        points_text = abridged([f"{x:.6g}" for x, _ in line.stationary], MAX_LISTED_POINTS)
        turns = "the only stationary point" if count == 1 else "all stationary points"
        best_of = "this is the best" if line.equal else "this is the best to rounding"
        lines.append(f"{turns}: {name} = {points_text}; the list is complete, and {best_of}")
    finite = [c for c in line.others if math.isfinite(c.point)]
    if finite:
        points_text = ", ".join(f"{c.point:.6g}" for c in finite)
        quality = "equally good" if line.equal else f"not certain: equal to within {line.gap:.2g}"
        lines.append(f"{quality}: {name} = {points_text}")
    for other in line.others:
        if not math.isfinite(other.point):
            end = "oo" if other.point > 0 else "-oo"
            same = "" if line.equal else f", to within {line.gap:.2g}"
            lines.append(f"{goal} tends to the same value as {name} -> {end}{same}")
    if not best.attained:
        lines.append(
            f"{name} = {best.point:.6g} is excluded, so the optimum is a limit that is not attained"
        )
    return tuple(lines)


def describe_undecided(name: str, line: LineMinimum) -> tuple[str, ...]:
    """List the pieces of the range that may contain a better value, in one line.

    Args:
        name: the name of the unknown.
        line: the minimum and its undecided pieces.

    Returns:
        One line.
    """
    pieces = ", ".join(f"{a:.6g} to {b:.6g}" for a, b in line.undecided) or "a part of the range"
    return (f"not certain: {pieces} of {name} could not be decided",)


def _interval_text(name: str, low: float, high: float) -> str:
    if low == high:
        return f"{name} = {low:.6g}"
    if math.isinf(high):
        return f"{name} from {low:.6g} on" if not math.isinf(low) else f"any {name}"
    return (
        f"{name} from {low:.6g} to {high:.6g}"
        if not math.isinf(low)
        else f"{name} up to {high:.6g}"
    )
