"""The frozen record of a fit: what it has determined, without what is computed from that."""

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
    """What a fit to a table has determined, as files store it.

    Attributes:
        parameters: name -> fitted parameter.
        objective: what was minimised, and its value.
        metrics: R² and mean absolute error on the fitted rows.
        agreement: how many starts reached this minimum.
        converged: whether the search ended in a minimum.
        stopped: why it ended.
        verdict: trusted, caution or not trusted.
        diagnostics: the findings that the verdict rests on.
        law: the law that was fitted.
        data: the data it was fitted to.
        claims: the verdict on each claim of the law for the fitted values.
        seed: the seed of the starts.
        held: name -> parameter that is fixed at a value, or tied to a formula of the others.
        optimality: the scaled gradient and curvature of the objective at the minimum.
        intervals: standard errors and intervals of the parameters.
        spread: the covariance of the parameters; for a fit in two steps, of the law with the
            parameter that was chosen first. None where it is not known: no residual degrees of
            freedom, two steps without a bootstrap, more than 100 parameters, a file of a version
            without covariances.
        priors: the priors that were declared, and what they have done; None for a fit without.
        rows: the rows that predictions with a discrepancy are conditioned on. None where the output
            is not positive, and in a file of a version without them.
        extrapolation: how far beyond the rows the fit may be used. None without `rows` or `spread`,
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
            KeyError: another use.
        """
        return verdict_for(use, self.diagnostics)

    def distrust(self) -> list[Diagnostic]:
        """A warning that the fit itself is not trusted, if it is not."""
        if self.verdict != "not trusted":
            return []
        codes = dict.fromkeys(d.code for d in self.diagnostics if d.severity == "error")
        message = f"the fit is not trusted: {', '.join(codes)}"
        help = "see what `lawdsl fit` said of it"
        return [Diagnostic(NOT_TRUSTED, message, "warning", help=help)]

    @property
    def widening(self) -> float:
        """What a learned error of the law is multiplied by; 1 without a rolled check."""
        return 1.0 if self.extrapolation is None else self.extrapolation.widening

    @property
    def has_rolled_check(self) -> bool:
        """Whether the error of the law can be learned from the rows of the fit."""
        return self.extrapolation is not None and bool(self.extrapolation.rolled)
