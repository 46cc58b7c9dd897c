"""The answer to a question: frozen records of the optimum, its explanation, and its certainty."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.files import plain
from lawdsl.core.presentation import Presented
from lawdsl.core.records import MAY_BE_ABSENT
from lawdsl.language.kept_texts import texts_of
from lawdsl.language.questions import Question
from lawdsl.solving.result_under_law_error import Ends, SafeAnswer, UnderLawError, WithoutBounds

if TYPE_CHECKING:
    from lawdsl.solving.curves import Curve

ANSWER_SCHEMA = 1
STATUSES = ("answered", "approached", "unbounded", "infeasible", "undecided")


@dataclass(frozen=True)
class Chosen:
    """One unknown in an answer.

    Attributes:
        name: the name, with its label.
        value: the value in its unit.
        unit: the unit as text; empty for none.
        doc: what it is.
        ends: the ends of its interval due to the errors of the fits; None if these are not known.
        formula: its closed form in givens and fitted parameters; None if none was derived.
        place: inside, lower end, upper end, or constraint.
    """

    name: str
    value: float
    unit: str
    doc: str | None
    ends: Ends | None
    formula: str | None
    place: str


@dataclass(frozen=True)
class Goal:
    """The goal that was minimised or maximised, and its value at the answer.

    Attributes:
        text: the goal as written in the question.
        maximize: whether it was maximised.
        value: the value at the answer.
        ends: the ends of its interval at the answer; None if the errors of the fits are not known.
    """

    text: str
    maximize: bool
    value: float
    ends: Ends | None


@dataclass(frozen=True)
class Kept:
    """A constraint at the answer.

    Attributes:
        text: the constraint as written.
        doc: what it is for.
        margin: the distance from its bound.
        active: whether the answer is on its boundary.
        law: the use whose law declares the constraint; empty for a line of the question.
        price: the shadow price: the change of the goal per unit by which the constraint is
            tightened; None if the constraint is not active, or the price is not known.
    """

    text: str
    doc: str | None
    margin: float
    active: bool
    law: str = ""
    price: float | None = None

    @property
    def name(self) -> str:
        """The name of the constraint in texts."""
        return self.doc or self.text


@dataclass(frozen=True)
class Sensitivity:
    """The sensitivity of an answer to a given or a setting.

    Attributes:
        name: the name of the given.
        value: the value of the given.
        unknowns: unknown -> its derivative with respect to the given.
        goal: the derivative of the goal at the answer with respect to the given.
    """

    name: str
    value: float
    unknowns: Mapping[str, float]
    goal: float


@dataclass(frozen=True)
class Threshold:
    """A value of a given beyond which the answer is no longer at the end of its range.

    Attributes:
        name: the name of the given.
        value: the threshold.
        relation: `<` if the answer is in the interior for smaller values, else `>`.
        formula: the threshold in closed form.
    """

    name: str
    value: float
    relation: str
    formula: str


@dataclass(frozen=True)
class Conflict:
    """A bound of a law's parameter that keeps the answer at its end, for every fit of that law.

    Attributes:
        use: the fit.
        bound: the bound as declared: C > C0.
        needed: the condition on the parameter for an interior answer, as text.
        threshold: the corresponding value, with the other parameters as fitted.
        value: the fitted value of the parameter.
        held: whether the fit is at the bound, so that the value would change without it.
        proof: the proof that bound and condition exclude each other, as lines of text.
        settings: setting -> the threshold for an interior answer, with the parameters as fitted.
    """

    use: str
    bound: str
    needed: str
    threshold: float
    value: float
    held: bool
    proof: tuple[str, ...]
    settings: Mapping[str, float]


@dataclass(frozen=True)
class Relaxation:
    """A change of one constraint that makes an infeasible question feasible.

    Attributes:
        text: the constraint.
        doc: what it is for.
        by: the smallest change of its bound, in its units, with the others unchanged.
        at: the values of the unknowns at which the change is smallest.
        instead: given -> the value at which the constraint can just be satisfied.
        written: these values rounded to few digits, towards the feasible side.
    """

    text: str
    doc: str | None
    by: float
    at: Mapping[str, float]
    instead: Mapping[str, float]
    written: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Response:
    """The goal and the constraints at one value of the unknown.

    Attributes:
        x: name -> value of the unknown, and of the unknowns that equations determine.
        goal: the value of the goal.
        ends: the ends of its interval; None if the errors of the fits are not known.
        margins: constraint -> the distance from its bound.
    """

    x: Mapping[str, float]
    goal: float
    ends: Ends | None
    margins: Mapping[str, float]

    @property
    def allowed(self) -> bool:
        """Whether every constraint is satisfied."""
        return all(margin >= 0 for margin in self.margins.values())


@dataclass(frozen=True)
class Compared:
    """A choice that is compared with the answer.

    Attributes:
        x: the unknowns.
        goal: the value of the goal; `ends` are the ends of its interval.
        behind: how much worse the goal is than at the answer; `behind_ends` are the ends of its
            interval.
        broken: the violated constraints.
    """

    x: Mapping[str, float]
    goal: float
    ends: Ends | None
    behind: float
    behind_ends: Ends | None
    broken: tuple[str, ...]


@dataclass(frozen=True)
class DiscreteChoice:
    """One combination of the discrete unknowns, with the optimum of all other unknowns.

    Attributes:
        x: name -> value of the discrete unknowns.
        status: the status of the optimum of the others, as `Answer.status`.
        unknowns: name -> value of the others; empty without an answer.
        goal: the value of the goal; None without an answer.
        behind: how much worse the goal is than at the answer.
        behind_ends: the ends of the interval of this difference due to the noise of the fits; None
            if not known.
    """

    x: Mapping[str, float]
    status: str
    unknowns: Mapping[str, float] = field(default_factory=dict)
    goal: float | None = None
    behind: float | None = None
    behind_ends: Ends | None = None


@dataclass(frozen=True)
class AskedFit:
    """What a question was asked about, for one of its uses.

    Attributes:
        file: that of the fit, as it was named; empty where it was in memory.
        law: SHA-256 of the law of the fit; empty where there is none.
        data: SHA-256 of the numbers that were fitted, for each part.
        values: parameter -> value, where numbers were given in place of a fit.
    """

    file: str = ""
    law: str = ""
    data: tuple[str, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer(Presented):
    """The answer to a question.

    Attributes:
        question: the name of the question.
        title: the title of the question.
        fits: use -> the fitted law, and the source of its values.
        values: the values of the givens and settings.
        status: answered; approached (the optimum is a limit that is not attained); unbounded (the
            goal has no optimum at finite values); infeasible; undecided (the optimum could not be
            certified on a part of the range).
        unknowns: the values of the unknowns.
        goal: the goal that was minimised or maximised; None without an answer.
        where: the location of the answer as text: on which constraint, at which end, or inside.
        method: the method: closed form, certified roots, or several starts.
        proof: what is proved about it, and what is not, as lines of text.
        certain: whether it is proved that no other point is better.
        kept: the constraints.
        sensitivities: its derivatives with respect to each given.
        thresholds: values of givens beyond which it is no longer at the end of its range.
        conflicts: bounds of laws that keep it at the end.
        relaxations: changes that make the question feasible, if it is infeasible.
        response: the goal and the constraints along the unknown, if there is only one.
        compared: other choices compared with the answer.
        choices: every combination of the discrete unknowns; empty if the question has none.
        alternatives: other choices of equal goal that were found; there may be more.
        law_error: its intervals and regret with the error of the laws; None if the laws are assumed
            to be correct.
        safe: the safe answer, if it was requested.
        without_bounds: the answer without the bounds between parameters that are active in a fit;
            None if there are none, or the fit stores no rows.
        level: the level of the intervals.
        diagnostics: the warnings.
        wrong, seed: the error of the laws, `5%` or `learned`, and the seed that were asked for.
        asked_fits: use -> the file and the digests of its fit, or the numbers in place of one; empty
            where they are not known.
        declared: the question as declared, for displays; a file has its texts, as `question_texts`.
        curves_of: what computes `curves`; None where the answer was not made by a question.
        asked: the question with its fits, which can be asked for other values; None as before.
        limit: where nothing is best, the value that the goal comes nearer to; None where it passes
            every number, or the value is not known. It is in no file.
    """

    question: str
    title: str
    fits: Mapping[str, str]
    values: Mapping[str, float]
    status: str
    unknowns: tuple[Chosen, ...] = ()
    goal: Goal | None = None
    where: str = ""
    method: str = ""
    proof: tuple[str, ...] = ()
    certain: bool = False
    kept: tuple[Kept, ...] = ()
    sensitivities: tuple[Sensitivity, ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    relaxations: tuple[Relaxation, ...] = ()
    response: tuple[Response, ...] = field(default=(), repr=False)
    compared: tuple[Compared, ...] = ()
    level: float = 0.95
    diagnostics: tuple[Diagnostic, ...] = field(default=(), repr=False)
    alternatives: tuple[Mapping[str, float], ...] = ()
    law_error: UnderLawError | None = None
    safe: SafeAnswer | None = None
    without_bounds: WithoutBounds | None = None
    choices: tuple[DiscreteChoice, ...] = ()
    wrong: Annotated[str, MAY_BE_ABSENT] = ""
    seed: Annotated[int, MAY_BE_ABSENT] = 0
    asked_fits: Annotated[Mapping[str, AskedFit], MAY_BE_ABSENT] = field(default_factory=dict)
    declared: Question | None = field(default=None, repr=False, compare=False)
    # Any stands for Curve: annotations are evaluated at run time, to rebuild an answer from a file
    curves_of: Callable[[Answer, Sequence[str]], tuple[Any, ...]] | None = field(
        default=None, repr=False, compare=False
    )
    asked: object | None = field(default=None, repr=False, compare=False)
    limit: float | None = field(default=None, repr=False, compare=False)

    @property
    def endless(self) -> bool:
        """Whether the goal passes every number, or may do so."""
        return self.status == "unbounded" and self.limit is None

    @property
    def ok(self) -> bool:
        """Whether there is an answer."""
        return self.status == "answered"

    def __getitem__(self, name: str) -> float:
        """The value of an unknown.

        Raises:
            KeyError: the answer has no unknown of that name.
        """
        return {u.name: u.value for u in self.unknowns}[name]

    def ends(self, name: str) -> Ends | None:
        """Return the interval of an unknown.

        Args:
            name: the name of the unknown.

        Returns:
            Its lower and upper end; None where the errors of the fits are not known.

        Raises:
            KeyError: the answer has no unknown of that name.
        """
        return {u.name: u.ends for u in self.unknowns}[name]

    def given(self, name: str) -> float:
        """The value of a given or a setting; with labels, that of the first label.

        Args:
            name: its name, without a label.

        Raises:
            KeyError: the question has no given or setting of that name.
        """
        for known, value in self.values.items():
            if name in (known, known.partition("[")[0]):
                return value
        raise KeyError(name)

    def curves(self, *names: str) -> tuple[Curve, ...]:
        """Compute the goal and the constraints along unknowns, with the others as in the answer.

        Args:
            names: the unknowns that are varied; by default all that equations do not determine.

        Returns:
            One curve per unknown; none if the answer was read from a file, or there is no answer.
        """
        return self.curves_of(self, names) if self.curves_of is not None else ()

    @property
    def active(self) -> tuple[Kept, ...]:
        """The active constraints."""
        return tuple(k for k in self.kept if k.active)

    def to_json(self) -> dict[str, Any]:
        """The answer as plain data; the keys are stable. Non-finite numbers become null."""
        content: dict[str, Any] = {"schema": ANSWER_SCHEMA}
        content |= asdict(replace(self, declared=None, curves_of=None, asked=None))
        for kept_in_memory in ("declared", "curves_of", "asked", "limit"):
            del content[kept_in_memory]
        content["diagnostics"] = [d.to_json() for d in self.diagnostics]
        content["question_texts"] = asdict(texts_of(self.declared)) if self.declared else None
        document: dict[str, Any] = plain(content)
        return document


@dataclass(frozen=True)
class Answers(Presented):
    """Answers to one question for several values of its givens.

    Attributes:
        answers: the answers in the order of the requests.
        varying: the names of the givens and settings that differ, without labels.
    """

    answers: tuple[Answer, ...]
    varying: tuple[str, ...]
