"""The frozen record of a fit: its results, without values computed from them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.records import MAY_BE_ABSENT, OneOf
from lawdsl.fitting.extrapolation.conditioning_rows import ConditioningRows
from lawdsl.fitting.extrapolation.result import Extrapolation
from lawdsl.fitting.intervals.covariance import Spread
from lawdsl.fitting.result_parts import (
    Agreement,
    Certificate,
    FittedData,
    FittedLaw,
    FittedPriors,
    Held,
    Intervals,
    Metrics,
    ObjectiveValue,
    Optimality,
    Parameter,
)
from lawdsl.fitting.storage import VERDICTS, StoredRecord
from lawdsl.fitting.verdicts import NOT_TRUSTED, verdict_for


@dataclass(frozen=True)
class FitRecord(StoredRecord):
    """The results of a fit to a table, as stored in files.

    Attributes:
        parameters: name -> fitted parameter.
        objective: the objective that was minimised, and its value.
        metrics: R² and mean absolute error on the fitted rows.
        agreement: the number of starts, and of those that reached this minimum.
        converged: whether the search converged to a minimum.
        stopped: the reason why the search stopped.
        verdict: trusted, caution or not trusted.
        diagnostics: the findings on which the verdict is based.
        law: the law that was fitted.
        data: a description of the fitted data.
        claims: the verdict on each claim of the law at the fitted values.
        seed: the seed of the starts.
        held: name -> parameter that is fixed to a value, or tied to a formula of the others.
        optimality: the scaled gradient and curvature of the objective at the minimum.
        intervals: standard errors and intervals of the parameters.
        spread: the covariance of the parameters; for a two-step fit, including the parameter that
            was chosen first. None if it is not known: no residual degrees of freedom, two steps
            without a bootstrap, more than 100 parameters, a file of a version without covariances.
        priors: the declared priors and their effects; None for a fit without priors.
        rows: the rows on which predictions with a discrepancy are conditioned. None if the output
            is not positive, and in a file of a version without them.
        extrapolation: the assessment of the fit beyond its rows. None without `rows` or `spread`,
            and in a file of a version without it.
    """

    parameters: Mapping[str, Parameter]
    objective: ObjectiveValue
    metrics: Metrics
    agreement: Agreement
    converged: bool
    stopped: str
    verdict: str = field(metadata={"stored": (OneOf(*VERDICTS),)})
    diagnostics: tuple[Diagnostic, ...] = field(repr=False)
    law: FittedLaw = field(repr=False)
    data: FittedData = field(repr=False)
    claims: tuple[Certificate, ...] = field(default=(), repr=False)
    seed: int = 0
    held: Mapping[str, Held] = field(default_factory=dict)
    optimality: Optimality = Optimality(math.nan, math.nan)
    intervals: Intervals = field(default=Intervals("delta", 0.95, "rows", {}, {}), repr=False)
    spread: Spread | None = field(default=None, repr=False, metadata={"stored": (MAY_BE_ABSENT,)})
    rows: ConditioningRows | None = field(
        default=None, repr=False, metadata={"stored": (MAY_BE_ABSENT,)}
    )
    priors: FittedPriors | None = field(
        default=None, repr=False, metadata={"stored": (MAY_BE_ABSENT,)}
    )

    extrapolation: Extrapolation | None = field(
        default=None, repr=False, metadata={"stored": (MAY_BE_ABSENT,)}
    )

    @property
    def values(self) -> dict[str, float]:
        """Parameter name -> value."""
        return {name: p.value for name, p in self.parameters.items()}

    def verdict_for(self, use: str) -> str:
        """Whether the fit can be trusted for one use: trusted, caution or not trusted.

        Args:
            use: `optimum`, `parameters`, `residuals` or `prediction`.

        Raises:
            KeyError: an unknown use.
        """
        return verdict_for(use, self.diagnostics)

    def distrust(self) -> list[Diagnostic]:
        """A warning if the fit is not trusted."""
        if self.verdict != "not trusted":
            return []
        codes = dict.fromkeys(d.code for d in self.diagnostics if d.severity == "error")
        message = f"the fit is not trusted: {', '.join(codes)}"
        help = "see what `lawdsl fit` said of it"
        return [Diagnostic(NOT_TRUSTED, message, "warning", help=help)]

    @property
    def widening(self) -> float:
        """The factor that multiplies a learned error of the law; 1 without a rolled check."""
        return 1.0 if self.extrapolation is None else self.extrapolation.widening

    @property
    def has_rolled_check(self) -> bool:
        """Whether the error of the law can be learned from the rows of the fit."""
        return self.extrapolation is not None and bool(self.extrapolation.rolled)
