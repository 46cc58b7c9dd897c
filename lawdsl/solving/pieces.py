"""A question about piecewise formulas -> questions without, one for each part of the choices.

min over x of f(x) is the least of min over the x with g(x) > 0 of a(x), and of that over the x with
g(x) <= 0 of b(x). A condition that does not change with the unknowns is settled by its value. So no
solver meets a jump, and what it says of an optimum on a part is true of that part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import sympy as sp

from lawdsl.compiling.interval_evaluation import interval_sign
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.law.functions import Choice
from lawdsl.law.text import relation_text
from lawdsl.solving.formulate.problem import AlgebraicConstraint, FormulatedQuestion
from lawdsl.solving.inputs import evaluated
from lawdsl.solving.result import Answer

MAX_PARTS = 32
EQUAL_RTOL = 1e-9  # of goals: one that is attained is not worse than a limit within it

Values = Mapping[sp.Symbol, float]


@dataclass(frozen=True)
class PartOfQuestion:
    """A question without piecewise formulas, on a part of its choices.

    Attributes:
        formulated: the question, with the conditions of the part among its own.
        conditions: these, as text; none where the question has one part.
        uncertain: the fitted parameters by which a condition was settled.
    """

    formulated: FormulatedQuestion
    conditions: tuple[str, ...] = ()
    uncertain: frozenset[sp.Symbol] = frozenset()

    @property
    def text(self) -> str:
        """Its conditions."""
        return " and ".join(self.conditions)


def is_piecewise(formulated: FormulatedQuestion) -> bool:
    """Whether a question has piecewise formulas, in its own lines or in its laws."""
    return any(e.has(Choice) for e in _expressions(formulated))


def parts_of(formulated: FormulatedQuestion, values: Values) -> tuple[PartOfQuestion, ...]:
    """The parts of a question, for values of all symbols but the unknowns.

    Args:
        formulated: the question.
        values: symbol -> value.

    Raises:
        LawdslError: more than `MAX_PARTS`, or a condition that has no value (F0520).
    """
    parts: list[PartOfQuestion] = []
    waiting = [PartOfQuestion(formulated)]
    while waiting:
        part = waiting.pop()
        condition = _condition(part.formulated)
        if condition is None:
            parts.append(part)
        else:
            waiting += reversed(list(_settled(part, condition, values)))
        if len(parts) + len(waiting) > MAX_PARTS:
            message = f"its piecewise formulas have more than {MAX_PARTS} parts"
            help = "narrow the domains of the unknowns, or write a law with fewer pieces"
            raise LawdslError(Diagnostic("F0520", message, help=help))
    return tuple(parts)


def _expressions(formulated: FormulatedQuestion) -> list[sp.Expr]:
    return [formulated.goal, *(c.margin for c in formulated.conditions)]


def _condition(formulated: FormulatedQuestion) -> sp.Expr | None:
    """The difference that decides a piecewise formula, and is not piecewise itself."""
    choices = {c for e in _expressions(formulated) for c in e.atoms(Choice)}
    conditions = {c.args[0] for c in choices if not c.args[0].has(Choice)}
    return min(conditions, key=str, default=None)


def _settled(part: PartOfQuestion, above: sp.Expr, values: Values) -> Iterator[PartOfQuestion]:
    unknowns = {u.symbol for u in part.formulated.unknowns}
    if not above.free_symbols & unknowns:
        fitted = {s for source in part.formulated.sources for s in source.symbols.values()}
        yield PartOfQuestion(
            _where(part.formulated, above, _is_positive(above, values)),
            part.conditions,
            part.uncertain | (above.free_symbols & fitted),
        )
        return
    name = part.formulated.question.name
    for holds in (True, False):
        stated = relation_text(above, holds)
        margin = above if holds else -above
        condition = AlgebraicConstraint(stated, None, margin, strict=holds, law=name)
        formulated = _where(part.formulated, above, holds)
        if not condition.always_holds:
            formulated = replace(formulated, conditions=(*formulated.conditions, condition))
        yield PartOfQuestion(formulated, (*part.conditions, stated), part.uncertain)


def _where(formulated: FormulatedQuestion, above: sp.Expr, holds: bool) -> FormulatedQuestion:
    """The question with one part in place of every piecewise formula of a condition."""

    def settled(e: sp.Expr) -> sp.Expr:
        while True:
            taken = {c: c.args[1 if holds else 2] for c in e.atoms(Choice) if c.args[0] == above}
            if not taken:
                return e
            e = e.xreplace(taken)

    conditions = tuple(
        replace(c, margin=settled(c.margin), sides=c.sides and tuple(map(settled, c.sides)))
        for c in formulated.conditions
    )
    conditions = tuple(c for c in conditions if not c.always_holds)
    return replace(formulated, goal=settled(formulated.goal), conditions=conditions)


def _is_positive(above: sp.Expr, values: Values) -> bool:
    """Whether a condition on givens, settings and fitted parameters holds; 0 is exact where it can be.

    Raises:
        LawdslError: it has no value (F0520).
    """
    symbols = sorted(above.free_symbols, key=str)
    with_values = [values[s] for s in symbols]
    sign = None
    if all(map(math.isfinite, with_values)):
        exact = [Fraction(repr(float(x))) for x in with_values]
        sign = interval_sign(compile_tape([above], symbols), exact)
    value = evaluated(above, values) if sign is None else float(sign)
    if math.isnan(value):
        message = f"whether {relation_text(above, True)} has no value, so no part of the law holds"
        raise LawdslError(Diagnostic("F0520", message, help="give other values"))
    return value > 0


def best_of(
    formulated: FormulatedQuestion, answered: Sequence[tuple[PartOfQuestion, Answer]]
) -> int:
    """The position of the part whose answer is that of the whole question.

    Args:
        formulated: the question.
        answered: its parts and their answers.
    """
    answers = [answer for _, answer in answered]

    def goal(k: int) -> float:
        answer = answers[k]
        value = answer.limit if answer.goal is None else answer.goal.value
        return math.inf if value is None else formulated.sign * value

    endless = next((k for k, answer in enumerate(answers) if answer.endless), None)
    if endless is not None:
        return endless
    places = [k for k in range(len(answers)) if math.isfinite(goal(k))]
    if places:
        least = min(goal(k) for k in places)
        limit = least + EQUAL_RTOL * max(abs(least), 1e-300)
        # what one part attains another may only approach, at their common border
        equal = [k for k in places if goal(k) <= limit]
        return min(equal, key=lambda k: (answers[k].status != "answered", goal(k)))
    return next((k for k, answer in enumerate(answers) if answer.status == "undecided"), 0)


def joined(
    formulated: FormulatedQuestion, answered: Sequence[tuple[PartOfQuestion, Answer]], best: int
) -> Answer:
    """The answer of the question from those of its parts.

    Args:
        formulated: the question.
        answered: its parts and their answers.
        best: the position of the best.
    """
    part, answer = answered[best]
    names = {s.name for one, _ in answered for s in one.uncertain}
    warnings = [_settled_by_fits(sorted(names))] if names else []
    if len(answered) == 1:
        return replace(answer, diagnostics=(*answer.diagnostics, *warnings))
    certain = all(other.certain for _, other in answered)
    lines = [f"the best of {len(answered)} parts: {part.text}"] if answer.unknowns else []
    undecided = [one.text for one, other in answered if other.status == "undecided"]
    status = answer.status
    if undecided:
        lines.append(f"not decided where {undecided[0]}")
        status = "undecided" if not answer.unknowns else status
    elif not certain:
        lines.append("that of some part is not certain")
    message = "the intervals are those of the part in which the answer lies"
    help = "other fits may have their best in another part: compare choices there, `--at`"
    warnings.append(Diagnostic("F0520", message, "warning", notes=(part.text,), help=help))
    return replace(
        answer,
        # what these say of other choices is of one part alone
        thresholds=(),
        conflicts=(),
        relaxations=(),
        status=status,
        certain=certain,
        # of the whole range, not of a part
        response=(),
        alternatives=(*answer.alternatives, *_elsewhere(formulated, answered, best)),
        proof=(*lines, *(f"where {part.text}: {line}" for line in answer.proof)),
        method=f"every part; {answer.method}" if answer.method else "every part",
        diagnostics=(*answer.diagnostics, *warnings),
    )


def _elsewhere(
    formulated: FormulatedQuestion, answered: Sequence[tuple[PartOfQuestion, Answer]], best: int
) -> Iterator[dict[str, float]]:
    """The answers of other parts that are equally good."""
    chosen = answered[best][1]
    for k, (_, other) in enumerate(answered):
        if k == best or other.status != "answered" or not chosen.goal or not other.goal:
            continue
        gap = abs(other.goal.value - chosen.goal.value)
        point = {u.name: u.value for u in other.unknowns}
        same = all(math.isclose(point[u.name], u.value, rel_tol=1e-6) for u in chosen.unknowns)
        if gap <= EQUAL_RTOL * abs(chosen.goal.value) and not same:
            yield point


def without_safe_answer(name: str) -> LawdslError:
    """The error of a safe answer to a question with several parts (F0516)."""
    message = f"`{name}` has no safe answer: it is the best of several parts"
    help = "leave --safe out, or ask about one part: `subject to` its condition"
    return LawdslError(Diagnostic("F0516", message, help=help))


def _settled_by_fits(names: Sequence[str]) -> Diagnostic:
    message = f"fitted parameters decide which part of a law holds: {', '.join(names)}"
    help = "the intervals take the part as known: answer the question for other values of them too"
    return Diagnostic("F0520", message, "warning", help=help)
