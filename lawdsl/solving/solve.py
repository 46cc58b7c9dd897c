"""Question + fits -> a solver that answers it for any values of its givens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any, Literal

import sympy as sp

from lawdsl.compiling.interval_evaluation import interval_sign
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.fitting.extrapolation.discrepancy import DEFAULT_AMPLITUDE
from lawdsl.fitting.options import (
    check_amplitude,
    check_level,
    check_seed,
    percentage_or_learned,
)
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits, load_fit
from lawdsl.language import library
from lawdsl.language.questions import Question
from lawdsl.solving.alternatives import compare_choice
from lawdsl.solving.compute_curves import curves_of
from lawdsl.solving.discrete import DiscreteQuestion, of_one_choice
from lawdsl.solving.formulate.elimination import ReducedProblem, complete_problem, eliminate
from lawdsl.solving.formulate.formulate import formulate
from lawdsl.solving.formulate.problem import AlgebraicConstraint, FormulatedQuestion
from lawdsl.solving.inputs import (
    check_given_constraints,
    shortfall_text,
    symbol_values,
    violated_constant_constraints,
)
from lawdsl.solving.law_error.choices import Choices
from lawdsl.solving.law_error.law_values import NoLawError
from lawdsl.solving.law_error.outcomes import Outcomes
from lawdsl.solving.law_error.prepare import LawErrors, check_safe
from lawdsl.solving.nlp.solver import NlpSolver
from lawdsl.solving.pieces import best_of, is_piecewise, joined, parts_of, without_safe_answer
from lawdsl.solving.result import Answer, Answers, AskedFit, Relaxation
from lawdsl.solving.univariate.separable import SeparableSolver, separate
from lawdsl.solving.univariate.solver import UnivariateSolver
from lawdsl.solving.without_bounds import Relaxed, refit_without_bounds, with_relaxed_answer

Solver = UnivariateSolver | SeparableSolver | NlpSolver


class Asked:
    """A question about fits, prepared for solution.

    Algebra is performed once here; an answer for further values of the givens takes a few
    milliseconds.

    Args:
        question: the name of a shipped question, the path of its file, or a parsed question.
        fits: use -> a fit, the path of one, or parameter -> value of the law that it names.

    Raises:
        LawdslError: no such question, or fits of other laws.
    """

    def __init__(self, question: str | Path | Question, **fits: Any) -> None:
        if not isinstance(question, Question):
            question, _ = library.question(str(question))
        self.question = question
        for name in fits:
            if name not in question.uses:
                message = f"`{question.name}` uses no fit `{name}`"
                help = f"it uses {', '.join(question.uses)}"
                raise LawdslError(Diagnostic("F0501", message, help=help))
        loaded = {use: _loaded_fit(fit) for use, fit in fits.items()}
        self.formulated: FormulatedQuestion = formulate(question, loaded)
        self._law_errors = LawErrors(question, loaded, self.formulated)
        self._loaded = loaded
        self._asked_fits = {use: _asked_fit(fits[use], fit) for use, fit in loaded.items()}
        self._piecewise = is_piecewise(self.formulated)
        self._solvers: dict[object, Solver] = {}
        self._discrete = (
            DiscreteQuestion(question, self.formulated, partial(_asked, fits=loaded))
            if any(u.discrete for u in self.formulated.unknowns)
            else None
        )
        if self._discrete is not None:
            return
        # mistakes of the question itself are reported here, not at the first answer
        if not self._piecewise:
            self._solver_for(self.formulated.default_values)

    @property
    def fits(self) -> Mapping[str, Any]:
        """Use -> its fit, or the parameter values given in place of one."""
        return dict(self._loaded)

    def answer(
        self,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        level: float = 0.95,
        seed: int = 0,
        proofs: bool = True,
        compare: Sequence[Mapping[str, float]] = (),
        discrepancy: float | Literal["learned"] | None = None,
        safe: float | None = None,
        **named: Any,
    ) -> Answer:
        """Answer the question for values of the givens.

        Args:
            values: given or setting -> number in its unit, or label -> number.
            level: the level of the intervals, 0.95 for 95 %.
            seed: the seed of the random draws.
            proofs: whether to search for bounds of laws that keep an answer at an end, with proofs,
                which may take a second.
            compare: further choices of the unknowns to compare with the answer.
            discrepancy: the error of the laws, 0.02 for 2 % per decade; 0 for laws without error;
                "learned" for 0.02, widened by the rolled check of each fit. By default 0.02 where
                the answer leaves the fitted rows, and where a safe answer is requested.
            safe: the probability, 0.95 for 95 %, with which the constraints that involve fitted
                laws must hold for an additional answer, `Answer.safe`, under noise and the error of
                the laws.
            named: further values as keywords, N=1.8.

        Returns:
            The answer, whose status says whether there is an optimum.

        Raises:
            LawdslError: a value that is missing, has an unknown name, or is outside its domain; a
                level outside (0, 1), a negative seed, a discrepancy outside 0 to 1 (F0133), or a
                safe answer that cannot be computed for this question (F0515, F0516, F0517).
        """
        check_level(level)
        check_seed(seed)
        if discrepancy is not None:
            check_amplitude(discrepancy)
        if safe is not None:
            check_safe(safe)
        inputs = {**(values or {}), **named}
        values_of_all = symbol_values(self.formulated, inputs)
        asked = "" if discrepancy is None else percentage_or_learned(discrepancy)
        # an answer and its safe answer are compared under the same error of the laws
        assumed = DEFAULT_AMPLITUDE if discrepancy is None and safe is not None else discrepancy
        if self._discrete is not None:
            best = self._discrete.answer(
                inputs,
                values_of_all,
                proofs=proofs,
                level=level,
                seed=seed,
                discrepancy=assumed,
                safe=safe,
            )
            points = [
                compare_choice(self.formulated, best, point, values_of_all) for point in compare
            ]
            best = replace(best, compared=tuple(points), wrong=asked)
            return self._with_curves_of(best, complete_problem(self.formulated), values_of_all)
        solver, answer = self._solved(values_of_all, level, seed, proofs)
        if safe is not None and solver is None:
            raise without_safe_answer(self.question.name)
        points = [
            compare_choice(self.formulated, answer, point, values_of_all) for point in compare
        ]
        answer = replace(answer, compared=tuple(points), wrong=asked, seed=seed)
        problem = solver.problem if isinstance(solver, UnivariateSolver) else None
        answer = self._law_errors.under_law_error(answer, problem, values_of_all, seed, assumed)
        if solver is None:
            answer = of_one_choice(answer, "the answer is the best of several parts")
        if safe is not None:
            assert assumed is not None
            at = self._law_errors.safe(answer, problem, values_of_all, safe, seed, assumed)
            answer = replace(answer, safe=at)
        missing = self._law_errors.warnings(answer, discrepancy)
        departures = self._law_errors.departures(answer, values_of_all, discrepancy)
        answer = replace(answer, diagnostics=(*departures, *answer.diagnostics, *missing))
        if self._without_bounds is not None:
            question, relaxed_fits = self._without_bounds
            other = question.answer(inputs, level=level, seed=seed, proofs=False, discrepancy=0)
            answer = with_relaxed_answer(answer, other, relaxed_fits)
        return self._with_curves(answer, solver, values_of_all)

    def _with_curves(
        self,
        answer: Answer,
        solver: Solver | None,
        values: Mapping[sp.Symbol, float],
    ) -> Answer:
        if solver is None:
            return self._with_curves_of(answer, complete_problem(self.formulated), values)
        problem = solver.problem if isinstance(solver, UnivariateSolver) else None
        varied = problem or complete_problem(solver.formulated)
        return self._with_curves_of(answer, varied, values, solver.formulated)

    def _with_curves_of(
        self,
        answer: Answer,
        problem: ReducedProblem,
        values: Mapping[sp.Symbol, float],
        formulated: FormulatedQuestion | None = None,
    ) -> Answer:
        along = partial(curves_of, formulated or self.formulated, problem, values)
        return replace(answer, curves_of=along, asked=self, asked_fits=self._asked_fits)

    def point(self, values: Mapping[str, Any], /, *, level: float = 0.95, seed: int = 0) -> Answer:
        """The answer by the fits only, without proofs, comparisons and the error of the laws, so
        that many answers can be computed quickly.

        Args:
            values, level, seed: as for `answer`.

        Raises:
            LawdslError: as `answer` does.
        """
        values_of_all = symbol_values(self.formulated, values)
        if self._discrete is not None:
            best = self._discrete.point(values, values_of_all, level=level, seed=seed)
            return self._with_curves_of(best, complete_problem(self.formulated), values_of_all)
        solver, answer = self._solved(values_of_all, level, seed, False)
        return self._with_curves(answer, solver, values_of_all)

    def outcomes(self, values: Mapping[str, Any], /, discrepancy: float) -> Outcomes:
        """Goal and constraints at choices of all unknowns, for any true laws.

        Args:
            values: given or setting -> number in its unit, or label -> number.
            discrepancy: standard deviation of log L per decade.

        Raises:
            NoLawError: the error of the laws is not known.
        """
        return self._law_errors.outcomes(symbol_values(self.formulated, values), discrepancy)

    def choices(self, outcomes: Outcomes) -> Choices:
        """The choices of the one unknown.

        Args:
            outcomes: of this question.

        Raises:
            NoLawError: it has several unknowns, discrete ones, or an equation fixes the one it has.
        """
        if self._discrete is not None:
            raise NoLawError("it has discrete unknowns")
        solver = self._solver_for(outcomes.values)
        problem = solver.problem if isinstance(solver, UnivariateSolver) else None
        return self._law_errors.choices(outcomes, problem)

    def _solved(
        self, values: Mapping[sp.Symbol, float], level: float, seed: int, proofs: bool
    ) -> tuple[Solver | None, Answer]:
        """The solver for the values of all symbols, and its answer; no solver where the answer is the
        best of several parts."""
        if not self._piecewise:
            return self._solved_by(self._solver_for(values), values, level, seed, proofs)
        parts = parts_of(self.formulated, values)
        solved = [
            self._solved_by(self._solver_for(values, part.formulated), values, level, seed, proofs)
            for part in parts
        ]
        answered = [(part, answer) for part, (_, answer) in zip(parts, solved, strict=True)]
        best = best_of(self.formulated, answered)
        solver = solved[0][0] if len(parts) == 1 else None
        return solver, joined(self.formulated, answered, best)

    def _solved_by(
        self,
        solver: Solver,
        values: Mapping[sp.Symbol, float],
        level: float,
        seed: int,
        proofs: bool,
    ) -> tuple[Solver, Answer]:
        """The solver and its answer."""
        check_given_constraints(solver.formulated, values)
        answer = _violated_answer(solver, values, level)
        if answer is None:
            answer = solver.answer(values, level, seed, proofs=proofs)
        if (
            answer.status == "undecided"
            and isinstance(solver, UnivariateSolver)
            and solver.problem.follow
        ):
            # an unknown determined by an equation may be undefined for some values of the others
            other = NlpSolver(solver.formulated, complete_problem(solver.formulated)).answer(
                values, level, seed, proofs=proofs
            )
            answer = other if other.ok else answer
        return solver, answer

    def answers(self, values: Mapping[str, Any], /, **options: Any) -> Answers:
        """Answer the question for every combination of several values of its givens.

        Args:
            values: given or setting -> number, label -> number, or a sequence of such.
            options: the options of `answer`.

        Returns:
            An answer for each combination, the last name varying fastest.

        Raises:
            LawdslError: as `answer` does.
        """
        several = {
            name: list(value)
            if isinstance(value, Iterable) and not isinstance(value, Mapping)
            else [value]
            for name, value in values.items()
        }
        answers = [self.answer(one, proofs=False, **options) for one in combinations(several)]
        varying = [name for name, alternatives in several.items() if len(alternatives) > 1]
        return Answers(tuple(answers), tuple(varying))

    @cached_property
    def _without_bounds(self) -> tuple[Asked, dict[str, Relaxed]] | None:
        """The question about the fits without their active bounds between parameters; None if there
        are no such bounds.
        """
        fits = {
            use: refit_without_bounds(use, f)
            for use, f in self._loaded.items()
            if isinstance(f, Fit)
        }
        relaxed_fits = {use: one for use, one in fits.items() if one is not None}
        if not relaxed_fits:
            return None
        others = {use: one.fit for use, one in relaxed_fits.items()}
        return Asked(self.question, **{**self._loaded, **others}), relaxed_fits

    def _solver_for(
        self, values: Mapping[sp.Symbol, float], part: FormulatedQuestion | None = None
    ) -> Solver:
        """The solver of the question, or of a part of it, from whose formulas settings of value 0 are
        removed."""
        # without the terms that a setting of 0 removes, a problem may separate or become convex
        nothing = frozenset(s for s in self.formulated.settings.values() if values[s] == 0)
        formulated = self.formulated if part is None else part
        key = nothing, formulated.goal, formulated.conditions
        if key not in self._solvers:
            formulated = formulated.without(nothing) if nothing else formulated
            self._solvers[key] = choose_solver(formulated, eliminate(formulated))
        return self._solvers[key]


def _asked(question: Question, *, fits: Mapping[str, Any]) -> Asked:
    return Asked(question, **fits)


def combinations(values: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Yield each combination of one value per name.

    Args:
        values: name -> its values.
    """
    for chosen in product(*values.values()):
        yield dict(zip(values, chosen, strict=True))


def _violated_answer(
    solver: Solver,
    values: Mapping[sp.Symbol, float],
    level: float,
) -> Answer | None:
    """The answer if a constraint without unknowns is violated; None if all hold."""
    formulated = solver.formulated
    conditions = (
        solver.problem.conditions if isinstance(solver, UnivariateSolver) else formulated.conditions
    )
    unmet = list(violated_constant_constraints(formulated.unknowns, conditions, values))
    if not unmet:
        return None
    certain = any(_is_certainly_violated(condition, values) for condition, _ in unmet)
    lines = [f"{c.text} holds for no choice: {shortfall_text(c, m)}" for c, m in unmet]
    of_question = [(c, m) for c, m in unmet if not c.law]
    return replace(
        formulated.blank("infeasible" if certain else "undecided", values, level),
        relaxations=tuple(Relaxation(c.text, c.doc, abs(m), {}, {}) for c, m in of_question),
        proof=tuple(lines),
        certain=certain,
    )


def _is_certainly_violated(
    condition: AlgebraicConstraint, values: Mapping[sp.Symbol, float]
) -> bool:
    """Whether a condition in which the unknowns cancel is certainly violated."""
    symbols = sorted(condition.margin.free_symbols, key=str)
    tape = compile_tape([condition.margin], symbols)
    try:
        # the violation was found in float64, where it may be a rounding error
        sign = interval_sign(tape, [Fraction(values[s]) for s in symbols])
    except (OverflowError, ValueError):  # a value that is not finite
        return False
    return sign == -1 or (sign == 1 and condition.equality) or (sign == 0 and condition.strict)


def solve(
    question: str | Path | Question,
    /,
    *,
    discrepancy: float | Literal["learned"] | None = None,
    safe: float | None = None,
    **given: Any,
) -> Answer:
    """Answer a question.

    Args:
        question: the name of a shipped question, the path of its file, or a parsed question.
        discrepancy, safe: as for `Asked.answer`.
        given: for each use of the question a fit, its path, or its law's parameters; for each
            given a number in its unit.

    Returns:
        The answer, whose status says whether there is an optimum.

    Raises:
        LawdslError: a question, fit or value that cannot be used.
    """
    if not isinstance(question, Question):
        question, _ = library.question(str(question))
    fits = {name: given.pop(name) for name in question.uses if name in given}
    return Asked(question, **fits).answer(given, discrepancy=discrepancy, safe=safe)


def choose_solver(formulated: FormulatedQuestion, problem: ReducedProblem) -> Solver:
    """Choose the solver for a question: one unknown, separable unknowns, or coupled unknowns.

    Args:
        formulated: the question.
        problem: the question after elimination.

    Returns:
        The solver.
    """
    # certified solvers first: that for several coupled unknowns relies on local searches
    if problem.only_unknown is not None:
        return UnivariateSolver(formulated, problem)
    parts = separate(problem)
    return NlpSolver(formulated, problem) if parts is None else SeparableSolver(formulated, parts)


def _asked_fit(given: Any, fit: Fit | Fits | Mapping[str, float]) -> AskedFit:
    """What is known of a fit, from what was given for it."""
    if isinstance(fit, Mapping):
        return AskedFit(values={name: float(value) for name, value in fit.items()})
    parts = fit.parts if isinstance(fit, Fits) else (fit,)
    file = str(given) if isinstance(given, (str, Path)) else ""
    return AskedFit(file, fit.law.digest, tuple(part.data.digest for part in parts))


def _loaded_fit(fit: Any) -> Fit | Fits | Mapping[str, float]:
    return load_fit(fit) if isinstance(fit, (str, Path)) else fit
