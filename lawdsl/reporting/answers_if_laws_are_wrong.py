"""Answers under the error of the laws, and safe answers -> text on a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from lawdsl.core.enumerations import conjunction
from lawdsl.reporting.answer_tables import goal_of
from lawdsl.reporting.terminal import number_text
from lawdsl.solving.result_under_law_error import SAFE_LEVELS

if TYPE_CHECKING:
    from lawdsl.solving.result import Answer
    from lawdsl.solving.result_under_law_error import Ends, SafeAnswer, UnderLawError


VISIBLE_CORRECTION = 0.02  # relative difference of the goal by which its correction is shown
IMPROBABLE = 0.05  # the probability of an answer below which the reason is given


def law_error_heading(wrong: UnderLawError | None) -> str:
    """The heading of intervals that include the error of the laws; empty without it."""
    if wrong is None:
        return ""
    widened = ", widened" if _widened(wrong.widening) else ""
    return f"laws wrong by {100 * wrong.discrepancy:g} %/decade{widened}"


def rounded_ends(ends: Ends | None) -> str:
    """An interval to three digits, the precision of the draws."""
    if ends is None:
        return ""
    return " to ".join(("-oo" if x < 0 else "oo") if math.isinf(x) else f"{x:.3g}" for x in ends)


def show_law_error(answer: Answer, out: Console) -> None:
    """Print what is known of the answer with the error of the laws: the probability that it
    satisfies its constraints, and its regret.
    """
    wrong = answer.law_error
    if wrong is None:
        return
    lines = list(_corrected_goal(answer, wrong))
    under = _error_sources_text(wrong)
    if wrong.kept is not None:
        one = len(wrong.each) == 1
        what = "the constraint with a fitted law holds" if one else "the constraints hold"
        lines.append(
            f"under {under} {what} at the answer "
            f"{_with_probability(wrong.kept, wrong.each, bound=wrong.bound)}"
        )
        lines += _reason_if_improbable(wrong)
    elif wrong.widening:
        lines.append(under)
    parts = []
    if wrong.regret == 0:
        parts.append("no choice is better")
    elif wrong.regret is not None and wrong.regret_high is not None:
        rest = 100 * (1 - answer.level)
        parts.append(
            f"the best choice is better by {number_text(wrong.regret)} in the mean, "
            f"by more than {number_text(wrong.regret_high)} in {rest:.3g} %"
        )
    if wrong.answered is not None and wrong.answered < 1:
        parts.append(f"some choice keeps the constraints in {100 * wrong.answered:.3g} %")
    if wrong.missing:
        lines.append(missing_text(wrong))
    if parts:
        lines.append(f"in {wrong.draws} draws of the true laws {'; '.join(parts)}")
    for line in lines:
        out.print(Text(line), soft_wrap=True)


def _corrected_goal(answer: Answer, wrong: UnderLawError) -> Iterator[str]:
    """The goal with the estimated errors of the laws, where it differs visibly from the answer, which
    is by the laws alone.
    """
    goal, corrected = answer.goal, wrong.corrected
    if goal is None or corrected is None or not goal_of([answer]):
        return
    beyond = goal.ends is not None and not goal.ends[0] <= corrected <= goal.ends[1]
    if beyond or abs(corrected - goal.value) > VISIBLE_CORRECTION * abs(goal.value):
        yield (
            f"{goal.text} is {number_text(corrected)} with the estimated error of the law, as in "
            f"`lawdsl predict`; {number_text(goal.value)} is the law alone"
        )


def _reason_if_improbable(wrong: UnderLawError) -> Iterator[str]:
    """Why an answer by the fitted laws probably violates a constraint.

    Noise alone leaves each constraint at least one half: the answer satisfies it by the fitted law,
    whose errors are symmetric. Less comes from the expected error of the law, which follows from the
    residuals. Several constraints together may have less by noise alone. Of several losses the
    probability is only a lower bound, and no reason is known.
    """
    if min(wrong.each.values(), default=1.0) >= IMPROBABLE or wrong.bound:
        return
    places = [f"{name} at {rounded_ends(ends)}" for name, ends in wrong.ends.items()]
    placed = f": with its estimated error, the law places the best {conjunction(places)}"
    yield (
        "  so little because the residuals of the fit already show where the law is wrong"
        + (placed if places else "")
    )


def missing_text(wrong: UnderLawError) -> str:
    """Why there is no regret, or no interval with the error of the laws; empty if both exist."""
    if not wrong.missing:
        return ""
    if wrong.draws:
        return f"the answer has no regret: {wrong.missing}"
    return f"the choice has no interval with the error of the laws, and no regret: {wrong.missing}"


def _error_sources_text(wrong: UnderLawError | SafeAnswer) -> str:
    """The sources of error that a probability accounts for, as text."""
    if not wrong.discrepancy:
        return "noise alone"
    return f"noise and laws wrong by {100 * wrong.discrepancy:g} % per decade{_widened(wrong.widening)}"


def _with_probability(value: float, each: Mapping[str, float], *, bound: bool) -> str:
    """The probability that the constraints hold; of several constraints also that of the least
    probable one.
    """
    text = f"with probability {_probability(value)}" + (" at least" if bound else "")
    if len(each) <= 1:
        return text
    least = min(each, key=lambda text: each[text])
    return f"{text}; {least} with {_probability(each[least])}"


def _widened(widening: Mapping[str, float]) -> str:
    """The factors by which rolled checks widen the error of the laws; empty where they do not."""
    parts = [f"{x:.3g} times by the rolled check of {use}" for use, x in widening.items() if x > 1]
    return f", widened {conjunction(parts)}" if parts else ""


def show_safe(answer: Answer, out: Console) -> None:
    """Print the safe answer, its cost, and the probability that the other answer satisfies the
    constraints.
    """
    safe = answer.safe
    if safe is None:
        return
    choice = ", ".join(f"{n} = {number_text(v)}" for n, v in safe.unknowns.items())
    level = f"{100 * safe.level:g} %"
    if safe.ok:
        lines = [f"safe at {level}: {choice}"]
        if safe.cost is not None and not safe.only and answer.goal is not None:
            verb = "costs" if safe.cost >= 0 else "gains"
            lines[0] += f"; {verb} {number_text(abs(safe.cost))} of {answer.goal.text}"
        lines.append(
            f"  {' and '.join(safe.constraints)}: "
            f"{_with_probability(safe.probability, safe.each, bound=safe.bound)}, "
            f"under {_error_sources_text(safe)}"
        )
    else:
        lines = [f"no choice is safe at {level} under {_error_sources_text(safe)}"]
        found = " found" if safe.searches else ""
        line = f"  the largest probability{found} is {_probability(safe.probability)}"
        lines.append(line + (f", at {choice}" if choice else ""))
    if safe.point_probability is not None:
        text = f"  the answer above: with probability {_probability(safe.point_probability)}"
        lines.append(text + (" at least" if safe.bound else ""))
    if safe.only:
        lines.append("  an equation leaves no other choice")
    elif safe.ok:
        of = f"{safe.searches} local searches" if safe.searches else f"{safe.evaluations:,} choices"
        lines.append(f"  the best of {of}, verified; not certified")
    if not safe.ok:
        lines += _next_steps(safe)
    out.print()
    for line in lines:
        out.print(Text(line, style="bold" if line is lines[0] else ""), soft_wrap=True)


def _next_steps(safe: SafeAnswer) -> Iterator[str]:
    """Suggestions where no choice is safe."""
    least = min(safe.each, key=lambda text: safe.each[text], default=safe.constraints[0])
    yield f"  to have one: relax {least}"
    if safe.probability >= SAFE_LEVELS[0]:
        # rounded down, so that the probability is attainable
        percent = math.floor(1e3 * safe.probability) / 10
        yield f"  or ask for less: --safe {percent:g}%"
    yield "  or measure nearer to what is asked: larger runs (lawdsl run), and a new fit (lawdsl fit)"


def _probability(value: float) -> str:
    """A probability to three digits; only 1 itself is shown as 1."""
    return "above 0.999" if 0.999 < value < 1 else f"{value:.3g}"
