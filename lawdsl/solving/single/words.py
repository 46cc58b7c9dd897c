"""An answer in words: where it lies, and what is certain of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lawdsl.language.questions import Question
from lawdsl.solving.posing.posed import Condition
from lawdsl.solving.single.line import Candidate, Line
from lawdsl.solving.single.roots import Range


def where_of(name: str, best: Candidate, conditions: Sequence[Condition], whole: Range) -> str:
    """Where an answer lies."""
    if best.which:
        names = [conditions[k].name for k in best.which]
        law = conditions[best.which[0]].law
        domain = f", the domain of {law}" if law else ""
        return f"on the constraint {' and '.join(names)}{domain}"
    if best.kind == "end":
        side = "lower" if best.at == whole.low else "upper"
        return f"at the {side} end of {name}"
    return "inside, where the slope is 0"


def proof_of(
    name: str, line: Line, best: Candidate, whole: Range, question: Question
) -> tuple[str, ...]:
    """What is certain of an answer, in lines."""
    if not line.certain:
        pieces = ", ".join(f"{a:.6g} to {b:.6g}" for a, b in line.unclear) or "a part of the range"
        return (f"not certain: {pieces} of {name} could not be decided",)
    allowed = ", ".join(_interval(name, a, b) for a, b in line.allowed)
    goal = question.goal_text
    better, worse = ("rises", "falls") if question.maximize else ("falls", "rises")
    found = [f"allowed: {allowed}"] if allowed else []
    if line.trend:
        word = better if line.trend < 0 else worse
        found.append(f"{goal} only {word} there: the only optimum")
    elif best.kind == "stationary" and len(line.stationary) == 1 and line.stationary[0][1] == 1:
        found.append(f"{goal} {better} before it and {worse} behind it: the only optimum")
    elif line.stationary:
        count = len(line.stationary)
        places = ", ".join(f"{x:.6g}" for x, _ in line.stationary)
        turns = "turning point" if count == 1 else "turning points"
        found.append(f"all {turns}: {name} = {places}; none is missed, and this is the best")
    if line.others:
        places = ", ".join(f"{c.at:.6g}" for c in line.others)
        found.append(f"as good, as far as numbers tell: {name} = {places}")
    if not best.attained:
        found.append(f"{name} = {best.at:.6g} itself is left out: the best is approached only")
    return tuple(found)


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
