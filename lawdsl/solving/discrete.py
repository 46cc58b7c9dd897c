"""A question with discrete unknowns -> the best of all combinations of their values.

For each combination, the question in the other unknowns is solved: min over n of min over x of f(n,
x). The best combination is certified if each of these answers is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, Literal, Protocol

import sympy as sp

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.language import tree
from lawdsl.language.questions import Question
from lawdsl.language.symbols import Symbol
from lawdsl.proof.decide import RELATIONS
from lawdsl.solving.alternatives import compare_choice
from lawdsl.solving.formulate.problem import FormulatedQuestion, Unknown
from lawdsl.solving.inputs import evaluated
from lawdsl.solving.result import Answer, Chosen, DiscreteChoice, Response
from lawdsl.solving.result_under_law_error import SafeAnswer

Discrepancy = float | Literal["learned"] | None

MAX_COMBINATIONS = 1000
# name of a given of the inner question; names in files contain no spaces
HELD = "{} as it is chosen"
ORDER = ("unbounded", "undecided", "approached", "answered", "infeasible")
"""Statuses in the order of precedence: the first is the strongest evidence against a unique answer.
"""


class Answering(Protocol):
    """A question with fits that can be answered for given values of its discrete unknowns."""

    def answer(
        self,
        values: Mapping[str, Any],
        /,
        *,
        level: float,
        seed: int,
        proofs: bool,
        discrepancy: Discrepancy,
        safe: float | None,
    ) -> Answer:
        """The complete answer."""

    def point(self, values: Mapping[str, Any], /, *, level: float, seed: int) -> Answer:
        """The answer by the fits only."""


class DiscreteQuestion:
    """A question with discrete unknowns.

    Args:
        question: the question as declared.
        formulated: the question in algebra, with all unknowns.
        ask: the function that prepares a question for the same fits.
    """

    def __init__(
        self,
        question: Question,
        formulated: FormulatedQuestion,
        ask: Callable[[Question], Answering],
    ) -> None:
        self.formulated = formulated
        self.discrete = tuple(u for u in formulated.unknowns if u.discrete)
        names = dict.fromkeys(u.name.partition("[")[0] for u in self.discrete)
        continuous = any(not u.discrete for u in formulated.unknowns)
        # a question must have an unknown: if no other is left, one discrete unknown gets a domain
        # of one number, so that its answer has the usual intervals
        self.held = list(names)[-1] if not continuous else ""
        self._ask, self._question, self._names = ask, question, names
        self._inner: Answering | None = None

    @property
    def inner(self) -> Answering:
        """The question in which the discrete unknowns are givens."""
        if self._inner is None:
            symbols = dict(self._question.symbols)
            for name in self._names:
                symbols |= _as_given(symbols[name], held=name == self.held)
            self._inner = self._ask(replace(self._question, symbols=symbols))
        return self._inner

    def answer(
        self,
        inputs: Mapping[str, Any],
        values: Mapping[sp.Symbol, float],
        *,
        proofs: bool,
        level: float,
        seed: int,
        discrepancy: Discrepancy,
        safe: float | None,
    ) -> Answer:
        """The best of all combinations.

        Args:
            inputs: given or setting -> value, as given by the user.
            values: symbol -> value, of all givens, settings and fitted parameters.
            proofs, level, seed, discrepancy, safe: as for `Asked.answer`.

        Raises:
            LawdslError: too many combinations, or an interval without an end (F0519).
        """
        tried = self._combination_answers(inputs, values, level, seed)
        x, _ = _best(self.formulated.sign, tried)

        def full(x: Mapping[str, float], safe: float | None = None, proofs: bool = False) -> Answer:
            return self.inner.answer(
                self._with(inputs, x),
                level=level,
                seed=seed,
                proofs=proofs,
                discrepancy=discrepancy,
                safe=safe,
            )

        best = full(x, proofs=proofs)
        result = self._combined_answer(best, x, tried, values)
        if safe is not None and result.unknowns:
            result = replace(result, safe=self._safe(tried, result, partial(full, safe=safe)))
        return result

    def point(
        self,
        inputs: Mapping[str, Any],
        values: Mapping[sp.Symbol, float],
        *,
        level: float,
        seed: int,
    ) -> Answer:
        """The best of all combinations by the fits only.

        Args:
            inputs, values, level, seed: as for `answer`.
        """
        tried = self._combination_answers(inputs, values, level, seed)
        x, best = _best(self.formulated.sign, tried)
        return self._combined_answer(best, x, tried, values)

    def _combination_answers(
        self, inputs: Mapping[str, Any], values: Mapping[sp.Symbol, float], level: float, seed: int
    ) -> list[tuple[dict[str, float], Answer]]:
        """Each combination with its answer."""
        ranges = {u.name: _numbers(u, values) for u in self.discrete}
        count = math.prod(map(len, ranges.values()))
        if count > MAX_COMBINATIONS:
            message = f"{count:,} combinations of discrete choices; at most {MAX_COMBINATIONS:,}"
            help = "narrow their intervals, or list the numbers that matter: `in {4, 8, 16}`"
            raise LawdslError(Diagnostic("F0519", message, help=help))
        if not count:
            name = next(name for name, numbers in ranges.items() if not numbers)
            message = f"no whole number is in the domain of `{name}`"
            raise LawdslError(Diagnostic("F0519", message, help="widen the domain"))
        combined = (dict(zip(ranges, chosen, strict=True)) for chosen in product(*ranges.values()))
        return [
            (x, self.inner.point(self._with(inputs, x), level=level, seed=seed)) for x in combined
        ]

    def _with(self, inputs: Mapping[str, Any], x: Mapping[str, float]) -> dict[str, Any]:
        """The inputs of the inner question."""
        given = {
            HELD.format(name) if name.partition("[")[0] == self.held else name: value
            for name, value in x.items()
        }
        return {**inputs, **given}

    def _combined_answer(
        self,
        best: Answer,
        x: Mapping[str, float],
        tried: list[tuple[dict[str, float], Answer]],
        values: Mapping[sp.Symbol, float],
    ) -> Answer:
        """The answer to the question itself, from the best combination."""
        names = {*x, *(HELD.format(name) for name in x)}
        of_discrete = self._chosen(x) if best.unknowns else {}
        others = {u.name: u for u in best.unknowns if u.name not in x}
        unknowns = tuple(
            chosen
            for u in self.formulated.unknowns
            if (chosen := of_discrete.get(u.name) or others.get(u.name)) is not None
        )
        certain = all(answer.certain for _, answer in tried)
        count = len(tried)
        answered = sum(bool(answer.unknowns) for _, answer in tried)
        lines = [
            f"the best of {count} combinations of {', '.join(x)}, {answered} of which have an answer"
        ]
        if not certain:
            lines.append("that of some combination is not certain")
        result = replace(
            best,
            question=self._question.name,
            values={n: v for n, v in best.values.items() if n not in names},
            unknowns=unknowns,
            method=f"every combination; {best.method}" if best.method else "every combination",
            where="the best of its values" if self.held else best.where,
            proof=(*lines, *(f"with {_text(x)}: {line}" for line in best.proof)),
            response=_responses(tried) if self.held else best.response,
            certain=certain,
            sensitivities=tuple(s for s in best.sensitivities if s.name not in names),
            thresholds=tuple(t for t in best.thresholds if t.name not in names),
            alternatives=tuple({**x, **other} for other in best.alternatives),
            # of the same combination, which need not be the best one for other fits
            without_bounds=None,
            law_error=of_one_choice(best, f"only choices with {_text(x)} were drawn").law_error,
            declared=self._question,
        )
        return replace(result, choices=tuple(self._choices(result, tried, values)))

    def _chosen(self, x: Mapping[str, float]) -> dict[str, Chosen]:
        return {
            u.name: Chosen(u.name, x[u.name], u.unit, u.doc, None, None, "one of its values")
            for u in self.discrete
        }

    def _choices(
        self,
        result: Answer,
        tried: list[tuple[dict[str, float], Answer]],
        values: Mapping[sp.Symbol, float],
    ) -> Iterator[DiscreteChoice]:
        """Every combination with its answer."""
        for x, answer in tried:
            if not answer.unknowns or answer.goal is None or not result.unknowns:
                yield DiscreteChoice(x, answer.status)
                continue
            others = {u.name: u.value for u in answer.unknowns if u.name not in x}
            point = {**x, **others}
            compared = compare_choice(self.formulated, result, point, values)
            yield DiscreteChoice(
                x,
                answer.status,
                others,
                answer.goal.value,
                compared.behind,
                compared.behind_ends,
            )

    def _safe(
        self,
        tried: list[tuple[dict[str, float], Answer]],
        result: Answer,
        safe: Callable[[Mapping[str, float]], Answer],
    ) -> SafeAnswer | None:
        """The best safe choice over all combinations; if there is none, the choice with the highest
        probability.
        """
        found: list[tuple[dict[str, float], SafeAnswer]] = []
        for x, answer in tried:
            if answer.unknowns:
                at = safe(x).safe
                found += [(x, at)] if at is not None else []
        sign = self.formulated.sign
        best = min(
            found,
            key=lambda pair: (
                not pair[1].ok,
                sign * pair[1].goal if pair[1].goal is not None else -pair[1].probability,
            ),
            default=None,
        )
        if best is None:
            return None
        x, chosen = best
        cost = None
        if chosen.goal is not None and result.goal is not None:
            cost = sign * (chosen.goal - result.goal.value)
        point = result.law_error.kept if result.law_error is not None else None
        return replace(
            chosen,
            unknowns={**x, **{n: v for n, v in chosen.unknowns.items() if n not in x}},
            cost=cost,
            point_probability=point,
            evaluations=sum(one.evaluations for _, one in found),
            searches=sum(one.searches for _, one in found),
        )


def _as_given(symbol: Symbol, *, held: bool) -> dict[str, Symbol]:
    """The symbols that stand for a discrete unknown in the inner question."""
    given = replace(symbol, kind="given", choices=(), integer=False)
    if not held:
        return {symbol.name: given}
    name = HELD.format(symbol.name)
    at = (
        tree.Element(name, symbol.indices, span=symbol.span)
        if symbol.indices
        else tree.Name(name, span=symbol.span)
    )
    one = replace(symbol, bounds=((">=", at), ("<=", at)), choices=(), integer=False)
    return {name: replace(given, name=name), symbol.name: one}


def _numbers(unknown: Unknown, values: Mapping[sp.Symbol, float]) -> tuple[float, ...]:
    """The numbers that an unknown may take, in ascending order.

    Raises:
        LawdslError: an infinite set of whole numbers (F0519).
    """
    bounds = [(relation, evaluated(limit, values)) for relation, limit in unknown.bounds]
    numbers: tuple[float, ...] = tuple(sorted(unknown.choices))
    if unknown.integer:
        low = max((end for relation, end in bounds if relation[0] == ">"), default=-math.inf)
        high = min((end for relation, end in bounds if relation[0] == "<"), default=math.inf)
        if not (math.isfinite(low) and math.isfinite(high)):
            message = f"the whole numbers of `{unknown.name}` have no end"
            help = f"give it both: `choose {unknown.name} integer in [1, 64]`"
            raise LawdslError(Diagnostic("F0519", message, help=help))
        if high - low > MAX_COMBINATIONS:
            message = f"`{unknown.name}` has more than {MAX_COMBINATIONS:,} whole numbers"
            raise LawdslError(Diagnostic("F0519", message, help="narrow its interval"))
        numbers = tuple(float(n) for n in range(math.ceil(low), math.floor(high) + 1))
    return tuple(n for n in numbers if all(RELATIONS[relation](n, end) for relation, end in bounds))


def _best(
    sign: int, tried: list[tuple[dict[str, float], Answer]]
) -> tuple[dict[str, float], Answer]:
    """The combination of the best goal; one without a bound comes first. A goal that is attained is
    not worse than an equal one that is only approached."""

    def rank(pair: tuple[dict[str, float], Answer]) -> tuple[bool, float, bool]:
        answer = pair[1]
        goal = answer.limit if answer.goal is None else answer.goal.value
        return not answer.endless, math.inf if goal is None else sign * goal, not answer.unknowns

    return min(tried, key=rank)


def of_one_choice(answer: Answer, missing: str) -> Answer:
    """An answer with what is known of the error of the laws there; what compares it with other
    choices is not known of all of these, and is not stated.

    Args:
        answer: the answer of some of the choices.
        missing: why the comparison is not stated.
    """
    if answer.law_error is None:
        return answer
    at_answer = replace(
        answer.law_error,
        ends={},
        answered=None,
        regret=None,
        regret_high=None,
        draws=0,
        missing=missing,
    )
    return replace(answer, law_error=at_answer)


def _responses(tried: list[tuple[dict[str, float], Answer]]) -> tuple[Response, ...]:
    """The goal and the constraints as functions of unknowns that are all discrete."""
    return tuple(
        Response(x, answer.goal.value, answer.goal.ends, {k.text: k.margin for k in answer.kept})
        for x, answer in tried
        if answer.goal is not None
    )


def _text(x: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in x.items())
