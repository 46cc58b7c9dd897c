"""Fit -> predictions, and human-readable JSON: the frozen record of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.objectives import Objective
from lawdsl.core.presentation import Exportable, Presented
from lawdsl.core.records import read, to_plain
from lawdsl.core.warning_categories import ExtrapolationWarning, NotTrustedWarning, warn
from lawdsl.data.binding import bind
from lawdsl.data.read import read_table
from lawdsl.fitting.extrapolation.discrepancy import DEFAULT_AMPLITUDE
from lawdsl.fitting.extrapolation.fitted_surface import FittedSurface, size_variables
from lawdsl.fitting.extrapolation.horizon import LEVEL, Horizon, beyond_horizon
from lawdsl.fitting.extrapolation.range_warnings import (
    NO_INTERVAL,
    departure_warning,
    known_departures,
    range_advice,
)
from lawdsl.fitting.fit_record import FitRecord
from lawdsl.fitting.inflection_warnings import below_inflection_findings
from lawdsl.fitting.intervals_beyond import AssumedError, half_widths, horizon_with
from lawdsl.fitting.options import LEARNED, check_amplitude, check_level
from lawdsl.fitting.prediction_bands import (
    Band,
    band_with_discrepancy,
    law_error_amplitude,
    missing_band_diagnostic,
    missing_rows_diagnostic,
    plain_band,
    undetermined_prediction_warning,
)
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.storage import (
    FIT_SCHEMA,
    FITS_SCHEMA,
    READERS,
    altered,
    check_schema,
    read_at_labels,
    read_with_parameters,
)
from lawdsl.fitting.stored_penalty import penalty_of
from lawdsl.fitting.values_by_name import ValuesByName, check_complete, check_names
from lawdsl.fitting.verdicts import NEEDS, NOT_TRUSTED

if TYPE_CHECKING:
    import sympy as sp

    from lawdsl.fitting.preparation.build_problem import CompiledLaw
    from lawdsl.law.law import Law

OUTSIDE_FITTED_RANGE = "F0109"


@dataclass(frozen=True)
class Fit(FitRecord, Presented, Exportable):
    """A law fitted to a table: its results, and predictions.

    The attributes are those of `FitRecord`.
    """

    def _repr_latex_(self) -> str:
        """The formula of the fitted law, for notebooks that show LaTeX alone."""
        return self.read_law()._repr_latex_()

    def read_law(self) -> Law:
        """The fitted law, from the text kept in the fit.

        Raises:
            LawdslError: the text has been altered.
        """
        return self._law

    @cached_property
    def _law(self) -> Law:
        law = read_at_labels(self.law)
        names = {q.name for q in law.parameters}
        variables = {q.name for q in law.variables}
        if law.digest != self.law.digest or names != set(self.parameters):
            raise altered("its law is not the one that was fitted")
        if not variables <= set(self.data.ranges) or not variables <= set(self.data.columns):
            raise altered("it does not say which data it was fitted to")
        spread = names if self.spread is None else set(self.spread.names)
        if not names <= spread <= names | set(self.held):
            raise altered("it says the errors of other parameters")
        from lawdsl.fitting.stored_consistency import check_stored

        check_stored(self, law)
        return law

    @property
    def expression(self) -> sp.Expr:
        """The fitted formula as a SymPy expression: the variables are plain symbols, without
        assumptions, so that `fit.expression.subs({"N": 7e9})` works; all else is numbers.

        Raises:
            LawdslError: the law of the fit was altered.
        """
        from lawdsl.fitting.fitted_expression import fitted_expression

        return fitted_expression(self.read_law(), self.values)

    def __call__(self, /, **values: ArrayLike) -> Any:
        """Predict the output at values of the variables: `fit(N=7e9, D=1e12)`.

        Args:
            values: variable -> number or array, in the law's units; they broadcast as in NumPy.

        Returns:
            A float where all values are scalars, else an array of their common shape.

        Raises:
            LawdslError: as `predict` raises for a missing variable or a value outside the domain;
                a name that the law does not have (D0116), values that are not numbers (D0106) or
                do not broadcast (D0151).
        """
        law = self.read_law()
        names = [q.name for q in law.variables]
        check_names(law.name, values, names)
        check_complete(law.name, values, names)
        points = ValuesByName.of(values, {})
        own_names = {name: name for name in values}
        problem, theta, _ = self._posed(law, law.objective, points.columns, own_names)
        self._warn_beyond(law, problem.columns)
        return points.shaped(problem.predictions(theta[None])[0])

    def predict(self, table: Any, /, **columns: str) -> NDArray[np.float64]:
        """Predict the output on the rows of a table.

        Args:
            table: a path, a data frame, or a mapping of arrays; in the law's units unless its
                headers give others.
            columns: variable -> column, where they differ from those fitted.

        Returns:
            The predicted output, shape (rows,): the fitted law alone. Beyond the trust horizon an
            `ExtrapolationWarning` is issued.

        Raises:
            LawdslError: a column that is missing, or a value outside the law's domain.
        """
        law = self.read_law()
        problem, theta, _ = self._posed(law, law.objective, table, columns)
        self._warn_beyond(law, problem.columns)
        return problem.predictions(theta[None])[0].copy()

    def _warn_beyond(self, law: Law, columns: NDArray[np.float64]) -> None:
        """Warn the caller of a public method about points, shape (variables, points), at which the
        fit is not reliable, and about a fit that is not trusted.
        """
        diagnostics = self._warnings(law, columns)
        untrusted = [d for d in diagnostics if d.code == NOT_TRUSTED]
        beyond = [d for d in diagnostics if d.code not in (OUTSIDE_FITTED_RANGE, NOT_TRUSTED)]
        if any(d.code == OUTSIDE_FITTED_RANGE for d in diagnostics):
            names = [q.name for q in law.variables]
            columns = beyond_horizon(self.horizon, names, columns, self.data.ranges)
            beyond += self._beyond_rows(law, columns) if columns.shape[1] else []
        warn(untrusted, NotTrustedWarning, stacklevel=4)
        warn(beyond, ExtrapolationWarning, stacklevel=4)

    def predict_with_warnings(
        self, table: Any, /, **columns: str
    ) -> tuple[NDArray[np.float64], tuple[Diagnostic, ...]]:
        """Predict the output on the rows of a table, with warnings.

        Args:
            table: a path, a data frame, or a mapping of arrays, as `predict` takes it.
            columns: variable -> column, where they differ from those fitted.

        Returns:
            The predicted output, shape (rows,), and warnings about variables outside the fitted
            range, shares at which the measurements contradict a claim of the law, and repeated data.

        Raises:
            LawdslError: a column that is missing, or a value outside the law's domain.
        """
        law = self.read_law()
        problem, theta, repeated = self._posed(law, law.objective, table, columns)
        warnings = (*self._warnings(law, problem.columns), *repeated)
        return problem.predictions(theta[None])[0].copy(), warnings

    def predict_with_errors(
        self,
        table: Any,
        /,
        *,
        level: float = 0.95,
        discrepancy: float | Literal["learned"] | None = None,
        **columns: str,
    ) -> Band:
        """Predict the output on the rows of a table, with intervals.

        The interval of the curve accounts for the noise of the fitted rows (independent between
        runs if the fit identifies runs), and with a discrepancy for the error of the law: log L =
        log law + δ, where δ is a Gaussian process with that standard deviation per decade of
        distance from the fitted rows, conditioned on their residuals. Then `values` are the
        posterior means, and `run_low`, `run_high` is the interval of a further run.

        Args:
            table: a path, a data frame, or a mapping of arrays, as `predict` takes it.
            level: 0.95 for 95 % intervals.
            discrepancy: 0.02 for a law that is wrong by 2 % per decade, 0 for one without error;
                "learned" for 0.02, widened by the rolled check of the fit. By default 0.02; but 0,
                with a warning (F0134), if the fit lacks the required rows.
            columns: variable -> column, where they differ from those fitted.

        Returns:
            The band, with all messages about its points. Beyond the trust horizon an
            `ExtrapolationWarning` is issued, as by `predict`.

        Raises:
            LawdslError: a column that is missing, a value outside the law's domain, a level outside
                0.5 to 0.999, a discrepancy outside 0 to 1 (F0133), or a fit without a `spread` (F0125) or
                without the rows that a discrepancy needs (F0134).
        """
        band = self.band_with_warnings(table, columns, level=level, discrepancy=discrepancy)
        points = np.array(list(band.points.values())).reshape(-1, len(band.values))
        self._warn_beyond(self.read_law(), points)
        return band

    def band_with_warnings(
        self,
        table: Any,
        columns: Mapping[str, str],
        *,
        level: float = LEVEL,
        discrepancy: float | Literal["learned"] | None = None,
    ) -> Band:
        """`predict_with_errors` for callers that handle `warnings` themselves."""
        check_level(level)
        if discrepancy is not None:
            check_amplitude(discrepancy)
        if self.spread is None:
            raise LawdslError(missing_band_diagnostic(self))
        amplitude, notes = law_error_amplitude(self, discrepancy)
        law = self.law_of_spread()
        objective = replace(law.objective, log=self.objective.of_logs)
        problem, theta, repeated = self._posed(law, objective, table, columns)
        band = plain_band(problem, theta, self.spread, level)
        if amplitude:
            surface = self.surface_of_spread
            with np.errstate(all="ignore"):  # an extrapolated law may be undefined
                model = surface.law_error(amplitude)
                model = model.widened(self.widening) if discrepancy == LEARNED else model
                error = model.at(surface.at(problem.columns), theta)
            band = band_with_discrepancy(band, error, self.spread.quantile(level))
        widths = None
        # otherwise nobody has stated that the law is correct
        if band.law is not None or discrepancy == 0:
            scale = self.spread.quantile(LEVEL) / self.spread.quantile(level)
            widths = half_widths(band, band.law is not None or objective.log, scale)
        warnings = (
            *self._warnings(law, problem.columns, widths, discrepancy),
            *undetermined_prediction_warning(law.output, band.high),
            *repeated,
            *notes,
        )
        at = {q.name: x for q, x in zip(law.variables, problem.columns, strict=True)}
        return replace(band, warnings=warnings, points=at)

    def intervals_with_law_error(
        self, discrepancy: float = DEFAULT_AMPLITUDE
    ) -> dict[str, tuple[float, float]]:
        """The intervals of the parameters that include the error of the law: a fit to the true
        surface could have ended anywhere in them.

        The half-width due to the error of the law is added in quadrature to that of the usual
        interval, in the unconstrained value of the parameter: see
        `lawdsl.fitting.extrapolation.sandwich`.

        Args:
            discrepancy: 0.02 for a law that is wrong by 2 % per decade; 0 yields `intervals.ends`.

        Returns:
            Parameter -> lower and upper end, at the level of `intervals`. Empty if the fit has no
            intervals or stores no rows, after a two-step fit, and after a fit of a quantile other
            than the median, whose residuals do not determine the error of the law.

        Raises:
            LawdslError: a discrepancy outside 0 to 1 (F0133).
        """
        from lawdsl.fitting.parameter_intervals import parameter_intervals

        return parameter_intervals(self, self.read_law(), discrepancy)

    def fitted_surface(self, law: Law, theta: NDArray[np.float64]) -> FittedSurface:
        """The fitted law at the stored rows, from which the error of the law is estimated.

        Args:
            law: the law of the fit.
            theta: the parameters, shape (parameters,).

        Raises:
            LawdslError: a fit without rows (F0134).
        """
        if self.rows is None:
            raise LawdslError(missing_rows_diagnostic(self))
        logs = replace(law.objective, log=True)
        problem = self.compiled(law, log=True).problem
        return FittedSurface.of(
            size_variables(law),
            self.rows,
            theta,
            lambda columns, target: problem(columns, target, logs, None),
            penalty_of(self, law),
        )

    @cached_property
    def surface_of_spread(self) -> FittedSurface:
        """The fitted law with all parameters of its covariance, at the rows that the fit stores.

        Raises:
            LawdslError: a fit without rows (F0134).
        """
        law = self.law_of_spread()
        return self.fitted_surface(law, self.theta_of(law))

    def law_of_spread(self) -> Law:
        """The law of the covariance, in which a parameter chosen before the others is free."""
        assert self.spread is not None
        return read_with_parameters(self.law, self.read_law(), self.spread.names)

    def _posed(
        self, law: Law, objective: Objective, table: Any, columns: Mapping[str, str]
    ) -> tuple[Problem, NDArray[np.float64], tuple[Diagnostic, ...]]:
        """The problem of a law on the rows of a table, its fitted parameters, and warnings."""
        fitted = {q.name: self.data.columns[q.name] for q in law.variables}
        rows = read_table(table, columns, fitted=fitted)
        # columns of the fitted table are defaults only if the new table has them
        columns_of_fit = {name: column for name, column in fitted.items() if column in rows.columns}
        read = bind(law, rows, {**columns_of_fit, **columns}, target=False)
        theta = self.theta_of(law)
        compiled, target = self.compiled(law, objective.log), np.ones(read.columns.shape[1])
        return compiled.problem(read.columns, target, objective, None), theta, read.warnings

    def compiled(self, law: Law, log: bool) -> CompiledLaw:
        """The law of the fit, or of its covariance, compiled for residuals or those of logarithms."""
        # these laws differ in the names of their free parameters
        form = (*(q.name for q in law.parameters), log)
        if form not in self._compiled:
            from lawdsl.fitting.preparation.build_problem import compile_law

            self._compiled[form] = compile_law(law, log)
        return self._compiled[form]

    @cached_property
    def _compiled(self) -> dict[tuple[object, ...], CompiledLaw]:
        return {}

    def theta_of(self, law: Law) -> NDArray[np.float64]:
        """The fitted values of the parameters of its law, shape (parameters,).

        Args:
            law: the law of the fit, or of its covariance.
        """
        values = self.values | {name: fixed.value for name, fixed in self.held.items()}
        return np.array([values[q.name] for q in law.parameters])

    def _warnings(
        self,
        law: Law,
        columns: NDArray[np.float64],
        widths: NDArray[np.float64] | None = None,
        discrepancy: float | Literal["learned"] | None = None,
    ) -> tuple[Diagnostic, ...]:
        """Warnings about predictions at points, shape (variables, points), with the half-widths of
        their intervals in the logarithm, if these account for the error beyond the rows.
        """
        named = dict(zip((q.name for q in law.variables), columns, strict=True))
        beyond = self._beyond_rows(law, columns, widths, discrepancy)
        return (*self.distrust(), *beyond, *self.below_inflection(named))

    def _beyond_rows(
        self,
        law: Law,
        columns: NDArray[np.float64],
        widths: NDArray[np.float64] | None = None,
        discrepancy: float | Literal["learned"] | None = None,
    ) -> list[Diagnostic]:
        """The warning about variables outside the fitted range; the arguments are those of
        `_warnings`.
        """
        found, widest = known_departures(law.variables, columns, self.data.ranges, widths)
        return departure_warning(found, self.advice_beyond(widest, discrepancy)) if found else []

    def horizon_under(
        self, discrepancy: float | Literal["learned"] | None = None
    ) -> Horizon | None:
        """The trust horizon for the error of the law included in intervals of predictions; that of
        `horizon` is widened if the rolled check fails.

        Args:
            discrepancy: as `predict_with_errors` takes it.

        Returns:
            The horizon; None if the fit has none.
        """
        error = AssumedError.of(self, law_error_amplitude(self, discrepancy)[0], discrepancy)
        law = self.law_of_spread
        return horizon_with(self, error, lambda: self.fitted_surface(law(), self.theta_of(law())))

    def advice_beyond(
        self, half_width: float | None, discrepancy: float | Literal["learned"] | None = None
    ) -> str:
        """The help of a warning about predictions outside the fitted range.

        Args:
            half_width: the largest half-width of their 95 % intervals, in the logarithm; None
                without intervals.
            discrepancy: the error of the law that they include, as for `predict_with_errors`.
        """
        if half_width is None:
            return range_advice(self.horizon) if self.has_law_error else NO_INTERVAL
        error = AssumedError.of(self, law_error_amplitude(self, discrepancy)[0], discrepancy)
        horizon = self.horizon_under(discrepancy)
        return range_advice(horizon, half_width, error=error.text, advised=error.advised)

    @property
    def has_law_error(self) -> bool:
        """Whether predictions can take the error of the law into account."""
        return self.rows is not None and self.spread is not None

    @property
    def horizon(self) -> Horizon | None:
        """How far predictions are within 1, 2 and 5 %; None if that is not known."""
        return None if self.extrapolation is None else self.extrapolation.horizon

    def below_inflection(self, columns: Mapping[str, ArrayLike]) -> list[Diagnostic]:
        """A warning if shares are below the inflection ratio of the fitted rows.

        Args:
            columns: variable -> its values in the law's units; variables that are not shares, or
                are missing, cause no warning.
        """
        return [
            d
            for inflection in self.data.inflections
            if inflection.share in columns
            for d in below_inflection_findings(
                inflection,
                np.ravel(np.asarray(columns[inflection.share], dtype=np.float64)),
                self.data.ranges,
            )
        ]

    def to_json(self) -> dict[str, Any]:
        """The fit as plain data; the keys are stable. Numbers that are not finite become null."""
        content = {
            "schema": FIT_SCHEMA,
            "verdict": self.verdict,
            "verdicts": {use: self.verdict_for(use) for use in NEEDS},
            "parameters": self.parameters,
            "held": self.held,
            "intervals": self.intervals,
            "objective": self.objective,
            "metrics": self.metrics,
            "agreement": self.agreement,
            "optimality": self.optimality,
            "converged": self.converged,
            "stopped": self.stopped,
            "diagnostics": [d.to_json() for d in self.diagnostics],
            "claims": self.claims,
            "data": self.data,
            "law": self.law,
            "seed": self.seed,
            "spread": self.spread and self.spread.to_json(),
            "rows": self.rows,
            "extrapolation": self.extrapolation,
            "priors": self.priors,
        }
        document: dict[str, Any] = to_plain(content)
        return document

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> Fit:
        """Rebuild a fit from the plain data of `to_json`.

        Raises:
            ValueError, TypeError, LookupError, AttributeError, OverflowError: data of another form.
            LawdslError: a fit of a law with index sets.
        """
        if isinstance(content, Mapping) and content.get("schema") == FITS_SCHEMA:
            message = "these are the fits of a law with index sets, one for each label"
            help = "read them with `lawdsl.load_fit`, or `lawdsl.Fits.load`"
            raise LawdslError(Diagnostic("F0108", message, help=help))
        check_schema(content, FIT_SCHEMA)
        return read(cls, content, READERS)
