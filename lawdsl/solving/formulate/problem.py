"""A question in algebra: frozen records of its unknowns, its goal and its conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import sympy as sp

from lawdsl.compiling.autodiff import values as computed
from lawdsl.compiling.tape import Tape, compile_tape
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.language.questions import Question
from lawdsl.law.quantities import Quantity
from lawdsl.solving.formulate.sources import FitSource
from lawdsl.solving.result import Answer

Relation = tuple[str, sp.Expr]


@dataclass(frozen=True)
class Unknown:
    """An unknown of a question.

    `bounds` is its domain, in givens and settings; `choices` are its permitted numbers, empty if
    they are not enumerated, and `integer` states whether it is a whole number.
    """

    name: str
    symbol: sp.Symbol
    bounds: tuple[Relation, ...]
    unit: str
    doc: str | None
    choices: tuple[float, ...] = ()
    integer: bool = False

    @property
    def discrete(self) -> bool:
        """Whether it may take only certain numbers of its domain."""
        return self.integer or bool(self.choices)


@dataclass(frozen=True)
class AlgebraicConstraint:
    """A constraint on the unknowns: margin >= 0, margin > 0 (strict) or margin = 0 (equality).

    Attributes:
        text: the constraint as written, for its label.
        doc: its description.
        margin: the distance from its bound, in the units of the formula.
        equality: whether the margin is 0.
        strict: whether the margin is above 0.
        law: the use, or the question, whose domain it represents; empty for a line of the question.
        of_unknowns: whether it was written with unknowns, which may cancel in the margin.
        sides: the left and the right side of a line of the question; else None.
    """

    text: str
    doc: str | None
    margin: sp.Expr
    equality: bool = False
    strict: bool = False
    law: str = ""
    of_unknowns: bool = False
    sides: tuple[sp.Expr, sp.Expr] | None = None

    @property
    def name(self) -> str:
        """The name of the constraint in texts."""
        return self.doc or self.text

    @property
    def always_holds(self) -> bool:
        """Whether it holds for all values of the unknowns, as implied by the signs of all names."""
        nonnegative = self.margin.is_positive or (self.margin.is_nonnegative and not self.strict)
        return bool(nonnegative and not self.equality)


@dataclass(frozen=True)
class LawInput:
    """A variable of a fitted law, and its argument in the question, in the law's unit.

    `call` is the index of the call among all calls of laws.
    """

    source: FitSource
    quantity: Quantity
    expression: sp.Expr
    call: int


@dataclass(frozen=True)
class LawCall:
    """A fitted law evaluated at arguments.

    Attributes:
        symbol: the symbol that represents its value.
        source: the fit.
        arguments: the expressions for the law's variables, in its order and units.
    """

    symbol: sp.Symbol
    source: FitSource
    arguments: tuple[sp.Expr, ...]


@dataclass(frozen=True)
class FormulatedQuestion:
    """A question about fitted laws.

    Attributes:
        question: the question as declared.
        labels: set -> its labels.
        unknowns: the variables of the optimisation.
        goal: the minimised expression; the sign of a goal that is maximised is changed.
        conditions: the constraints.
        givens: name, for its label, -> symbol; `bounds` are their domains.
        settings: name, for its label, -> symbol, of the question and of the laws.
        default_values: symbol -> value of settings and fitted parameters.
        sources: the fits, one per label if labels have separate fits.
        law_inputs: the variables of the laws, each with its expression.
        law_calls: the calls of laws that are replaced by symbols; else empty.
    """

    question: Question
    labels: Mapping[str, tuple[str, ...]]
    unknowns: tuple[Unknown, ...]
    goal: sp.Expr
    conditions: tuple[AlgebraicConstraint, ...]
    givens: Mapping[str, sp.Symbol]
    bounds: Mapping[str, tuple[Relation, ...]]
    settings: Mapping[str, sp.Symbol]
    default_values: Mapping[sp.Symbol, float]
    sources: tuple[FitSource, ...]
    law_inputs: tuple[LawInput, ...] = field(repr=False)
    law_calls: tuple[LawCall, ...] = field(default=(), repr=False)

    @property
    def names(self) -> dict[str, sp.Symbol]:
        """Name -> symbol of the givens and settings."""
        return {**self.givens, **self.settings}

    @property
    def sign(self) -> int:
        """The factor from the minimised goal to that of the question: -1 if it is maximised."""
        return -1 if self.question.maximize else 1

    def blank(self, status: str, values: Mapping[sp.Symbol, float], level: float) -> Answer:
        """Create an answer that records the question and its inputs, without a result.

        Args:
            status: one of the values of `Answer.status`.
            values: symbol -> value, of all givens and settings.
            level: the level of the intervals, 0.95 for 95 %.

        Returns:
            An answer without values of the unknowns, goal and certificates.
        """
        fits = {s.use: s.law.name for s in self.sources}
        inputs = {name: values[s] for name, s in self.names.items()}
        return Answer(
            self.question.name,
            self.question.title,
            fits,
            inputs,
            status,
            level=level,
            declared=self.question,
        )

    def without(self, nothing: Iterable[sp.Symbol]) -> FormulatedQuestion:
        """The question with some symbols set to 0.

        Raises:
            LawdslError: an expression is divided by them.
        """
        zeros = dict.fromkeys(nothing, sp.S.Zero)
        conditions = tuple(replace(c, margin=c.margin.xreplace(zeros)) for c in self.conditions)
        conditions = tuple(c for c in conditions if not c.always_holds)
        question = replace(self, goal=self.goal.xreplace(zeros), conditions=conditions)
        if any(e.has(sp.nan, sp.zoo) for e in (question.goal, *(c.margin for c in conditions))):
            names = ", ".join(sorted(s.name for s in zeros)[:4])
            message = f"with 0 for {names} the question has no value"
            help = "give one of them another value"
            raise LawdslError(Diagnostic("F0503", message, help=help))
        return question

    @cached_property
    def _law_input_tape(self) -> tuple[Tape, list[sp.Symbol]]:
        symbols = sorted(
            set().union(*(t.expression.free_symbols for t in self.law_inputs)), key=str
        )
        return compile_tape([t.expression for t in self.law_inputs], symbols), symbols

    def law_input_values(self, values: Mapping[sp.Symbol, float]) -> list[float]:
        """The variables of the laws at these values, in the order of `law_inputs`; nan if they
        depend on undefined values.
        """
        if not self.law_inputs:
            return []
        tape, symbols = self._law_input_tape
        inputs = np.array([[values.get(s, np.nan)] for s in symbols], dtype=np.float64)
        numbers: list[float] = computed(tape, inputs.reshape(len(symbols), 1))[:, 0].tolist()
        return numbers
