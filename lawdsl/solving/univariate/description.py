"""An answer in words: where it lies, and what is certain of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lawdsl.language.questions import Question
from lawdsl.solving.formulate.problem import AlgebraicConstraint
from lawdsl.solving.univariate.line_minimum import Candidate, Line
from lawdsl.solving.univariate.roots import Range

INSIDE = {"stationary": "inside, where the slope is 0"}
SHOWN = 8  # turning points that are listed


def where_of(
    name: str, best: Candidate, conditions: Sequence[AlgebraicConstraint], whole: Range
) -> str:
    """Where an answer lies."""
    if best.which:
        names = [conditions[k].name for k in best.which]
        law = conditions[best.which[0]].law
        domain = f", the domain of {law}" if law else ""
        return f"on the constraint {' and '.join(names)}{domain}"
    if best.kind == "end":
        side = "lower" if best.at == whole.low else "upper"
        return f"at the {side} end of {name}"
    if best.kind == "plateau":
        return "inside, where the goal is constant"
    return "inside, at a kink" if best.kind == "kink" else INSIDE.get(best.kind, "inside")


def proof_of(
    name: str, line: Line, best: Candidate, whole: Range, question: Question
) -> tuple[str, ...]:
    """What is certain of an answer, in lines."""
    if not line.certain:
        return not_certain(name, line)
    allowed = ", ".join(_interval(name, a, b) for a, b in line.allowed)
    goal = question.goal_text
    better, worse = ("rises", "falls") if question.maximize else ("falls", "rises")
    found = [f"allowed: {allowed}"] if allowed else []
    if line.plateau is not None:
        low, high = line.plateau
        out = [
            f"{end:.6g}"
            for end, is_out in zip(line.plateau, line.left_out, strict=True)
            if is_out and math.isfinite(end)
        ]
        but = f" but {' and '.join(out)} itself" if out else ""
        found.append(
            f"every {_interval(name, low, high)}{but} is optimal: the goal is constant there"
        )
    elif not line.complete:
        found.append("a bound of the goal proves that no place elsewhere is better")
    elif line.trend and not line.others:
        word = better if line.trend < 0 else worse
        found.append(f"{goal} only {word} there: the only optimum")
    elif (
        best.kind == "stationary"
        and len(line.stationary) == 1
        and line.stationary[0][1] == 1
        and not line.others
    ):
        found.append(f"{goal} {better} before it and {worse} behind it: the only optimum")
    elif line.stationary:
        count = len(line.stationary)
        places = ", ".join(f"{x:.6g}" for x, _ in line.stationary[:SHOWN])
        places += f" and {count - SHOWN:,} more" if count > SHOWN else ""
        turns = "the only turning point" if count == 1 else "all turning points"
        best_of = "this is the best" if line.equal else "this is the best to rounding"
        found.append(f"{turns}: {name} = {places}; none is missed, and {best_of}")
    finite = [c for c in line.others if math.isfinite(c.at)]
    if finite:
        places = ", ".join(f"{c.at:.6g}" for c in finite)
        said = "equally good" if line.equal else f"not certain: equal to within {line.apart:.2g}"
        found.append(f"{said}: {name} = {places}")
    for other in line.others:
        if not math.isfinite(other.at):
            end = "oo" if other.at > 0 else "-oo"
            same = "" if line.equal else f", to within {line.apart:.2g}"
            found.append(f"{goal} tends to the same value as {name} -> {end}{same}")
    if not best.attained:
        found.append(f"{name} = {best.at:.6g} itself is left out: the best is approached only")
    return tuple(found)


def not_certain(name: str, line: Line) -> tuple[str, ...]:
    """What may hold a better value."""
    pieces = ", ".join(f"{a:.6g} to {b:.6g}" for a, b in line.unclear) or "a part of the range"
    return (f"not certain: {pieces} of {name} could not be decided",)


def _interval(name: str, low: float, high: float) -> str:
    if low == high:
        return f"{name} = {low:.6g}"
    if math.isinf(high):
        return f"{name} from {low:.6g} on" if not math.isinf(low) else f"any {name}"
    return (
        f"{name} from {low:.6g} to {high:.6g}"
        if not math.isinf(low)
        else f"{name} up to {high:.6g}"
    )
