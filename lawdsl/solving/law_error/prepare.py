"""Question + fits + values -> the question prepared for computations under the error of the laws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Literal

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.fitting.extrapolation.discrepancy import DEFAULT_AMPLITUDE
from lawdsl.fitting.extrapolation.law_error import LawErrorModel
from lawdsl.fitting.options import LEARNED
from lawdsl.fitting.prediction_bands import missing_rolled_check_warning
from lawdsl.fitting.result import Fit
from lawdsl.language.questions import Question
from lawdsl.law.law import Law
from lawdsl.solving.formulate.closed_form import unique_root
from lawdsl.solving.formulate.elimination import ReducedProblem
from lawdsl.solving.formulate.formulate import formulate
from lawdsl.solving.formulate.problem import FormulatedQuestion
from lawdsl.solving.inputs import evaluated
from lawdsl.solving.law_error.at_answer import at_answer
from lawdsl.solving.law_error.choices import Choices
from lawdsl.solving.law_error.departures import departure_warnings, leaves_rows
from lawdsl.solving.law_error.draws import over_draws
from lawdsl.solving.law_error.law_values import LawValues, NoLawError
from lawdsl.solving.law_error.outcomes import Outcomes
from lawdsl.solving.law_error.safe import safe_answer, verified_answer
from lawdsl.solving.law_error.safe_several import safe_answer_of_several
from lawdsl.solving.result import Answer
from lawdsl.solving.result_under_law_error import SAFE_LEVELS, SafeAnswer

# the error of the laws per decade, or learned from the rolled check of each fit
Wrong = float | Literal["learned"]


class LawErrors:
    """The error of the laws of a question, prepared once for many values of its givens.

    Args:
        question: the question as declared.
        fits: use -> fit, or parameter -> value.
        formulated: the question, with calls of laws expanded.
    """

    def __init__(
        self, question: Question, fits: Mapping[str, object], formulated: FormulatedQuestion
    ) -> None:
        self._question, self._fits, self._plain = question, fits, formulated
        self._models: list[tuple[Fit, Wrong, LawErrorModel]] = []

    @cached_property
    def formulated(self) -> FormulatedQuestion:
        """The question, with symbols for its calls of laws."""
        return formulate(self._question, self._fits, calls_as_symbols=True)

    def outcomes(self, values: Mapping[sp.Symbol, float], discrepancy: Wrong) -> Outcomes:
        """The question in all its unknowns.

        Args:
            values: symbol -> value, of all symbols but the unknowns.
            discrepancy: standard deviation of log L per decade, or "learned".

        Raises:
            NoLawError: the error of the laws is not known.
        """
        formulated = self.formulated
        laws = LawValues.of(formulated, _amplitude(discrepancy), partial(self._model, discrepancy))
        if discrepancy == LEARNED:
            widening = {use: fit.widening for use, fit in self._called_fits.items()}
            laws = replace(laws, widening=widening)
        return Outcomes(formulated, values, laws)

    def choices(self, outcomes: Outcomes, problem: ReducedProblem | None) -> Choices:
        """The question in its only unknown.

        Args:
            outcomes: the question in all its unknowns.
            problem: the question after elimination; None where it has several unknowns.

        Raises:
            NoLawError: the question has several unknowns, or an equation fixes the only one.
        """
        if problem is None:
            raise NoLawError("it has several unknowns")
        if self._has_fixed_unknown(problem):
            fixed = self._fixed_unknown(problem)
            raise NoLawError(
                "an equation fixes its unknown"
                if fixed is None
                else "an equation leaves no other choice"
            )
        return Choices(outcomes, problem)

    def _has_fixed_unknown(self, problem: ReducedProblem) -> bool:
        """Whether an equation remains after those that determine the other unknowns."""
        return sum(c.equality for c in self.formulated.conditions) > len(problem.follow)

    def _fixed_unknown(self, problem: ReducedProblem) -> sp.Expr | None:
        """The only value of the unknown that satisfies an equation without fitted laws, as a
        formula; None if there is no such equation, or it may have several roots.
        """
        fitted = {s for source in self.formulated.sources for s in source.symbols.values()}
        for condition in problem.conditions:
            if condition.equality and not condition.margin.free_symbols & fitted:
                assert problem.only_unknown is not None
                root = unique_root(condition.margin, problem.only_unknown.symbol)
                if root is not None:
                    return root[0]
        return None

    def _safe_where_fixed(
        self, outcomes: Outcomes, problem: ReducedProblem, answer: Answer, level: float, seed: int
    ) -> SafeAnswer:
        """The safe answer if the question has as many equations as unknowns."""
        formula = self._fixed_unknown(problem)
        if formula is None:
            return safe_answer_of_several(outcomes, answer, level, seed)
        only = {u.name: u.value for u in answer.unknowns}
        if not only:
            root = evaluated(formula, outcomes.values)
            only = Choices(outcomes, problem).all_unknowns(root)
        chosen = only if all(map(math.isfinite, only.values())) else None
        return replace(verified_answer(outcomes, answer, level, chosen, 1), only=True)

    @property
    def _called_fits(self) -> dict[str, Fit]:
        """Use -> its fit, for the calls of laws."""
        sources = [call.source for call in self.formulated.law_calls]
        return {source.use: source.fit for source in sources if source.fit is not None}

    def warnings(self, answer: Answer, discrepancy: Wrong | None) -> list[Diagnostic]:
        """Warnings (F0142) about fits whose rows do not permit an answer to learn the error of the
        laws.

        Args:
            answer: the answer, with the results under the error of the laws.
            discrepancy: as `under_law_error` takes it.
        """
        if discrepancy != LEARNED or (answer.law_error is None and answer.safe is None):
            return []
        fits = self._called_fits
        missing = [use for use, fit in fits.items() if not fit.has_rolled_check]
        return [missing_rolled_check_warning(use if len(fits) > 1 else "") for use in missing]

    def _leaves_rows(self, answer: Answer, values: Mapping[sp.Symbol, float]) -> bool:
        """Whether a law is evaluated outside its fitted rows."""
        has_choice = {u.name for u in self._plain.unknowns} <= {u.name for u in answer.unknowns}
        return has_choice and leaves_rows(self._plain, self._values_at_answer(answer, values))

    def _values_at_answer(
        self, answer: Answer, values: Mapping[sp.Symbol, float]
    ) -> dict[sp.Symbol, float]:
        """Symbol -> value for all symbols, with unknowns at an answer."""
        chosen = {u.name: u.value for u in answer.unknowns}
        return {**values, **{u.symbol: chosen[u.name] for u in self._plain.unknowns}}

    def departures(
        self, answer: Answer, values: Mapping[sp.Symbol, float], discrepancy: Wrong | None
    ) -> list[Diagnostic]:
        """Warnings (F0109) about laws evaluated beyond their fitted rows, each once.

        Args:
            answer: the answer of the fitted laws.
            values: symbol -> value, of all symbols but the unknowns.
            discrepancy: as `under_law_error` takes it.
        """
        if not self._leaves_rows(answer, values):
            return []
        at = None
        try:
            wrong = DEFAULT_AMPLITUDE if discrepancy is None else discrepancy
            outcomes = self.outcomes(values, wrong)
            at = outcomes.laws_at(outcomes.inputs_at({u.name: u.value for u in answer.unknowns}), 1)
        except NoLawError:
            pass  # only the ranges are used
        there = self._values_at_answer(answer, values)
        return list(dict.fromkeys(departure_warnings(self._plain, there, at, discrepancy)))

    def _model(
        self, discrepancy: Wrong, fit: Fit, law: Law, theta: NDArray[np.float64]
    ) -> LawErrorModel:
        """The error of a law, conditioned on the rows of its fit and cached."""
        for known, wrong, model in self._models:
            if known is fit and wrong == discrepancy:
                return model
        with np.errstate(all="ignore"):  # the law may be undefined at a row
            model = fit.fitted_surface(law, theta).law_error(_amplitude(discrepancy))
        if discrepancy == LEARNED:
            model = model.widened(fit.widening)
        self._models.append((fit, discrepancy, model))
        return model

    def safe(
        self,
        answer: Answer,
        problem: ReducedProblem | None,
        values: Mapping[sp.Symbol, float],
        level: float,
        seed: int,
        discrepancy: Wrong,
    ) -> SafeAnswer:
        """The best choice whose constraints with fitted laws hold with a given probability.

        Args:
            answer: the answer of the fitted laws.
            problem: the question after elimination; None where it has several unknowns.
            values: symbol -> value, of all symbols but the unknowns.
            level: the probability, 0.95 for 95 %.
            seed: the seed of the random starts for several unknowns.
            discrepancy: standard deviation of log L per decade, or "learned"; 0 for laws without
                error.

        Raises:
            LawdslError: no constraint involves a fitted law (F0515), or the errors of the laws are
                not known or cannot be computed for this question (F0516).
        """
        calls = {call.symbol for call in self.formulated.law_calls}
        name = self._question.name
        if not any(c.margin.free_symbols & calls for c in self.formulated.conditions):
            message = f"no constraint of `{name}` depends on a fitted law"
            help = "leave --safe out; the interval says how uncertain the goal is"
            raise LawdslError(Diagnostic("F0515", message, help=help))
        try:
            outcomes = self.outcomes(values, discrepancy)
            if outcomes.has_uncertain_equation:
                reason = "a fitted law is in an equation, which holds with probability 0"
                raise NoLawError(reason, "write it as an inequality")
            if problem is None:
                return safe_answer_of_several(outcomes, answer, level, seed)
            if self._has_fixed_unknown(problem):
                return self._safe_where_fixed(outcomes, problem, answer, level, seed)
            return safe_answer(self.choices(outcomes, problem), answer, level)
        except NoLawError as error:
            message = f"`{name}` has no safe answer: {error}"
            help = error.help or "leave --safe out, and see how wide the interval of the answer is"
            raise LawdslError(Diagnostic("F0516", message, help=help)) from None

    def under_law_error(
        self,
        answer: Answer,
        problem: ReducedProblem | None,
        values: Mapping[sp.Symbol, float],
        seed: int,
        discrepancy: Wrong | None,
    ) -> Answer:
        """The answer with its interval and regret under the error of the laws.

        Args:
            answer: the answer of the fitted laws, with its warnings.
            problem: the question after elimination; None where it has several unknowns.
            values: symbol -> value, of all symbols but the unknowns.
            seed: the seed of the draws.
            discrepancy: standard deviation of log L per decade, or "learned"; None for 0.02 if the
                answer is outside the fitted rows, else 0.

        Returns:
            The unchanged answer if its laws are assumed to be correct or it has no value; with a
            warning (F0518) if the error of its laws is not known.
        """
        wrong: Wrong | None = discrepancy
        if wrong is None:
            wrong = DEFAULT_AMPLITUDE if self._leaves_rows(answer, values) else 0.0
        numbers = any(source.fit is None for source in self.formulated.sources)
        if not wrong or not answer.ok or not self.formulated.law_calls or numbers:
            return answer
        try:
            outcomes = self.outcomes(values, wrong)
            known = at_answer(outcomes, answer, seed)
        except NoLawError as error:
            help = error.help or "see what `lawdsl predict --intervals` says of the losses there"
            return _with_warning(answer, f"the answer takes its laws as right: {error}", help)
        try:
            known = over_draws(self.choices(outcomes, problem), answer, known)
        except NoLawError as error:
            known = replace(known, missing=str(error))
        return replace(answer, law_error=known)


def _with_warning(answer: Answer, message: str, help: str) -> Answer:
    """The answer with a warning that explains why the error of the laws is not known (F0518)."""
    warning = Diagnostic("F0518", message, "warning", help=help)
    return replace(answer, diagnostics=(*answer.diagnostics, warning))


def _amplitude(discrepancy: Wrong) -> float:
    """The standard deviation of log L per decade, before it is widened."""
    return DEFAULT_AMPLITUDE if isinstance(discrepancy, str) else discrepancy


def check_safe(level: object) -> None:
    """Raise an error for a probability outside its permitted range.

    Raises:
        LawdslError: not a number from 0.5 to 0.9999; F0517.
    """
    number = isinstance(level, (int, float)) and not isinstance(level, bool)
    if not (number and SAFE_LEVELS[0] <= float(level) <= SAFE_LEVELS[1]):  # type: ignore[arg-type]
        message = f"`{level}` is not a probability of a safe answer"
        help = "give a number from 0.5 to 0.9999, such as 0.95"
        raise LawdslError(Diagnostic("F0517", message, help=help))
