"""Minimum + data + law -> the frozen parts of the record of a fit."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from lawdsl.core.losses import LOSSES, OVER, Loss, asymmetric
from lawdsl.core.records import MAY_BE_ABSENT, Null, OneOf, Pairs
from lawdsl.data.trends.inflection_result import Inflection
from lawdsl.fitting.options import METHODS
from lawdsl.language.instances.instance import Instance
from lawdsl.language.law_changes import FixOrTie, LawChanges

# numbers that files store as null
OrNan = Annotated[float, Null(math.nan)]
LowerEnd = Annotated[float, Null(-math.inf)]
UpperEnd = Annotated[float, Null(math.inf)]


@dataclass(frozen=True)
class Parameter:
    """A fitted parameter.

    Attributes:
        value: the value in the law's units.
        at_bound: lower or upper if the fit is on that bound, else None.
        identified: whether the data determine it.
    """

    value: float
    at_bound: Annotated[str | None, OneOf("lower", "upper")] = None
    identified: bool = True

    @property
    def printed(self) -> float:
        """The value in the law's units; 0 on a bound at 0, which a fit approaches to exp(-60)."""
        return 0.0 if self.at_bound and abs(self.value) < 1e-26 else self.value


@dataclass(frozen=True)
class Intervals:
    """Standard errors and intervals of the parameters.

    Attributes:
        method: delta, profile or bootstrap.
        level: 0.95 for 95 % intervals.
        by: the independent units: rows, or training runs.
        errors: parameter -> standard error, in the law's units.
        ends: parameter -> lower and upper end, infinite if the data do not determine the end.
            Parameters on a bound, and those that the data do not determine, have no interval.
        resamples: the number of fits of a bootstrap.
        failed: the number of those that did not converge to a minimum.
        ends_with_law_error: the intervals that include an error of the law of 2 % per decade: a fit
            to the true surface could have ended anywhere in them.
    """

    method: Annotated[str, OneOf(*METHODS)]
    level: float
    by: Annotated[str, OneOf("rows", "runs")]
    errors: Mapping[str, float]
    ends: Mapping[str, tuple[LowerEnd, UpperEnd]]
    resamples: int = 0
    failed: int = 0
    ends_with_law_error: Annotated[Mapping[str, tuple[LowerEnd, UpperEnd]], MAY_BE_ABSENT] = field(
        default_factory=dict
    )

    def doubts(self, name: str, parameter: Parameter) -> list[str]:
        """Why the value of a parameter is to be distrusted, in words; none for most.

        Args:
            name: of the parameter.
            parameter: the fitted one.
        """
        found = [f"on its {parameter.at_bound} bound"] if parameter.at_bound else []
        found += [] if parameter.identified else ["not identified"]
        is_open = bool(self.ends) and name not in self.ends and not found
        return [*found, "hardly determined"] if is_open else found


@dataclass(frozen=True)
class Optimality:
    """The first- and second-order optimality conditions at the fit, in scaled parameters.

    Attributes:
        gradient: the norm of the gradient, relative to the objective: 0 up to rounding.
        curvature: the smallest eigenvalue of the Hessian scaled to a unit diagonal: 1 where the
            parameters do not depend on each other, 0 along a direction without effect, negative if
            the fit is not a minimum. Parameters on a bound are excluded.
    """

    gradient: OrNan
    curvature: OrNan


@dataclass(frozen=True)
class FixedParameter:
    """A parameter that was not fitted.

    Attributes:
        value: the value in the law's units.
        formula: the formula of the parameters that it is tied to, as text; None if it is fixed.
    """

    value: float
    formula: str | None = None


@dataclass(frozen=True)
class FittedPrior:
    """A declared prior and its effect on a fit.

    Attributes:
        text: the prior in the syntax of the language: log(alpha) = log(0.35) ± 0.35.
        parameter: the name of the parameter.
        log: whether it is on the logarithm of the parameter.
        center, deviation: the center and the standard deviation of the Gaussian.
        value: the quantity, the parameter or its logarithm, at the fit.
        shift: the change of the value by the priors, in standard deviations of this prior; nan if
            the rows alone do not determine the value, or put it on a bound.
        conflict: the distance between the fit without priors and the center, in standard deviations
            of their difference; 0 if the rows alone do not determine the value. Without a standard
            error, as on a bound, the distance of the fit itself, in standard deviations of the
            prior.
    """

    text: str
    parameter: str
    log: bool
    center: float
    deviation: float
    value: float
    shift: OrNan
    conflict: OrNan


@dataclass(frozen=True)
class FittedPriors:
    """The priors of a fit, and the fit without them.

    Attributes:
        priors: the priors in the order of their parameters.
        without: parameter -> its value in the fit without priors; nan if the rows alone do not
            determine it.
        noise: the standard deviation of a residual, against which the priors are weighted.
        kappa: twice the increase of the objective that corresponds to one standard deviation of a
            prior.
        chi2: the increase of the objective due to the priors, penalty included, divided by kappa/2:
            chi-squared distributed if rows and priors are compatible.
        dof: its degrees of freedom: the number of priors minus the number of directions that only
            they determine.
    """

    priors: tuple[FittedPrior, ...]
    without: Mapping[str, OrNan]
    noise: float
    kappa: float
    chi2: float
    dof: int


Held = FixedParameter
"""The name that annotations of the public record `Fit` have for it."""


@dataclass(frozen=True)
class LossTotals:
    """The sum of the losses of the rows, and its mean."""

    sum: OrNan
    mean: OrNan


@dataclass(frozen=True)
class ObjectiveValue:
    """The objective at the fit.

    Attributes:
        name: the name in the notation of the language: huber(log(L), 0.001).
        sum: the weighted sum over rows that was minimised.
        mean: that sum divided by the number of rows, or by the sum of their weights.
        log: this loss of log residuals (nan if a prediction is not positive).
        raw: this loss of raw residuals.
    """

    name: str
    sum: OrNan
    mean: OrNan
    log: LossTotals
    raw: LossTotals

    @property
    def loss(self) -> str:
        """The name of the loss: huber."""
        return self.name.partition("(")[0]

    @property
    def of_logs(self) -> bool:
        """Whether the minimised residuals are those of logarithms."""
        return self.name.partition("(")[2].startswith("log(")

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters of the loss, to the six digits in its name: delta -> 0.001."""
        names = self._row.parameters
        # they precede a parameter that is chosen beforehand
        numbers = re.findall(rf", (?:{OVER} = )?([^,()=]+)(?=[,)])", self.name)[: len(names)]
        return {name: float(x) for name, x in zip(names, numbers, strict=True)}

    @property
    def is_centered(self) -> bool:
        """Whether residuals are centered at 0, as those of a loss with equal sides are."""
        return self._row.is_centered(*self.parameters.values())

    @property
    def _row(self) -> Loss:
        row = LOSSES[self.loss]
        return asymmetric(row) if f", {OVER} = " in self.name else row


@dataclass(frozen=True)
class Metrics:
    """The quality of the fit on its own data: R² of raw and of log values, mean absolute error."""

    r2: OrNan
    r2_log: OrNan
    mae: OrNan


@dataclass(frozen=True)
class Agreement:
    """The number of starts, and how many reached the best minimum (within a relative 1e-6)."""

    starts: int
    agreed: int


@dataclass(frozen=True)
class FittedLaw:
    """The law that was fitted: its digest, and all text required to rebuild it.

    `instance` contains the labels of a law with index sets; `priors` are those stated in addition
    to the law's own.
    """

    name: str
    digest: str
    texts: Mapping[str, str]
    settings: Mapping[str, float]
    dropped: tuple[str, ...]
    added: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    instance: Annotated[Instance | None, MAY_BE_ABSENT] = None
    priors: Annotated[tuple[str, ...], MAY_BE_ABSENT] = ()

    @property
    def changes(self) -> LawChanges:
        """How the law differs from its texts, except for its labels."""
        determined = tuple(map(FixOrTie, self.held))
        return LawChanges(self.settings, self.dropped, self.added, determined, self.priors)


@dataclass(frozen=True)
class FittedData:
    """The fitted data: their digest, the columns, and the range of every variable.

    `weights` is the column of the rows' weights; `runs` are the columns that identify training
    runs, and `groups` is their number. `inflections` are the shares below which the rows contradict
    a claim of the law.
    """

    name: str
    digest: str
    rows: int
    dropped: int
    columns: Mapping[str, str]
    where: tuple[str, ...]
    ranges: Mapping[str, tuple[float, float]]
    weights: str | None = None
    runs: tuple[str, ...] = ()
    groups: int | None = None
    inflections: Annotated[tuple[Inflection, ...], MAY_BE_ABSENT] = ()


@dataclass(frozen=True)
class Certificate:
    """The verdict on a claim for the fitted values, on the whole domain of the variables.

    Attributes:
        claim: the claim in the syntax of the language.
        verdict: certified, refuted or undecided.
        failed: whether it is refuted although the law claims it, possibly under a condition.
        face: the face of the domain on which equality holds, if the claim is strict only elsewhere.
        witness: a counterexample: name -> exact value as text.
        value: the value of the claimed difference at the counterexample, as text.
    """

    claim: str
    verdict: Annotated[str, OneOf("certified", "refuted", "undecided")]
    failed: bool = False
    face: str | None = None
    witness: Annotated[tuple[tuple[str, str], ...], Pairs()] = ()
    value: str | None = None
