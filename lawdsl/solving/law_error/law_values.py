"""Calls of fitted laws -> the joint distribution of their true values.

A true value is law(x; θ̂)·exp(e), where e has the same joint distribution as for predictions: the
noise of the fitted rows and the discrepancy, conditioned on these rows. If the laws are assumed to
be correct, only the noise counts, on the scale of the residuals of the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.autodiff import values as computed
from lawdsl.compiling.tape import Tape, compile_tape
from lawdsl.core.objectives import Objective
from lawdsl.fitting.extrapolation.discrepancy import MAX_DEVIATION
from lawdsl.fitting.extrapolation.law_error import LawErrorModel
from lawdsl.fitting.prediction_bands import missing_rows_reason
from lawdsl.fitting.preparation.build_problem import CompiledLaw, compile_law
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.result import Fit
from lawdsl.law.law import Law
from lawdsl.solving.formulate.problem import FormulatedQuestion, LawCall

Array = NDArray[np.float64]

# added to variances, relative to them, since correlations are computed only up to rounding
ROUNDING_RTOL = 1e-10
POINTS_AT_ONCE = 192  # points whose joint covariance is computed at once


class NoLawError(Exception):
    """The reason why the error of the laws is not known for a question.

    Args:
        reason: the reason as text.
        help: the next step; empty for a question of a kind that is not supported.
    """

    def __init__(self, reason: str, help: str = "") -> None:
        super().__init__(reason)
        self.help = help


@dataclass(frozen=True)
class FitCalls:
    """All calls of one fit in a question.

    Attributes:
        fit: the fit.
        law: the law of its covariance.
        theta: its parameters, shape (parameters,).
        calls: the indices of these calls among all calls.
        model: the error of the law; None if the law is assumed to be correct.
        of_logs: whether errors are those of logarithms.
    """

    fit: Fit
    law: Law
    theta: Array
    calls: tuple[int, ...]
    model: LawErrorModel | None
    of_logs: bool

    @cached_property
    def _objective(self) -> Objective:
        return replace(self.law.objective, log=self.of_logs)

    @cached_property
    def _compiled(self) -> CompiledLaw:
        return compile_law(self.law, self.of_logs)

    @property
    def dof(self) -> float:
        """The degrees of freedom of its noise."""
        assert self.fit.spread is not None
        return self.fit.spread.dof

    @np.errstate(all="ignore")  # an extrapolated law may be undefined
    def _fitted(self, columns: Array) -> tuple[Problem, Array, Array]:
        """The law at points of shape (variables, points), its values, which are nan where the rows
        do not determine it, and the slopes of residuals with respect to the parameters.
        """
        target = np.ones(columns.shape[1])
        problem = self._compiled.problem(columns, target, self._objective, None)
        values = problem.predictions(self.theta[None])[0].copy()
        slopes = problem.slopes(self.theta[None])[1][0]
        spread = self.fit.spread
        assert spread is not None
        values[~np.isfinite(spread.errors(slopes))] = np.nan
        if self.of_logs:
            values[~(values > 0)] = np.nan
        return problem, values, slopes

    @np.errstate(all="ignore")
    def alone(self, columns: Array) -> tuple[Array, Array, Array]:
        """The law at points, with the mean and variance of its error at each point.

        Args:
            columns: its variables, shape (variables, points).

        Returns:
            All of shape (points,); values are nan where the rows do not determine the law.
        """
        problem, values, slopes = self._fitted(columns)
        if self.model is not None:
            mean, variance = self.model.moments(problem, self.theta)
        else:
            assert self.fit.spread is not None
            mean = np.zeros(len(values))
            variance = np.sum((slopes @ self.fit.spread.sqrt_factor.T) ** 2, axis=1)
        lost = ~(np.isfinite(values) & self._is_determined(mean, variance))
        values[lost], mean[lost], variance[lost] = np.nan, 0.0, 0.0
        return values, mean, variance

    @np.errstate(all="ignore")
    def jointly(self, columns: Array) -> tuple[Array, Array, Array]:
        """The law at points, and the joint distribution of its error.

        Args:
            columns: its variables, shape (variables, points).

        Returns:
            The values and the means of the error, shape (points,), and its covariance, shape
            (points, points); values are nan where the rows do not determine the law.
        """
        problem, values, slopes = self._fitted(columns)
        if self.model is not None:
            mean, covariance = self.model.jointly(problem, self.theta)
        else:
            assert self.fit.spread is not None
            changes = slopes @ self.fit.spread.sqrt_factor.T
            mean, covariance = np.zeros(len(values)), changes @ changes.T
        # a point without a value must not make the others unknown
        lost = ~(np.isfinite(values) & self._is_determined(mean, np.diag(covariance)))
        values[lost], mean[lost] = np.nan, 0.0
        covariance[lost], covariance[:, lost] = 0.0, 0.0
        return values, mean, covariance

    def _is_determined(self, mean: Array, variance: Array) -> NDArray[np.bool_]:
        """The mask of points at which the rows contain information about the law, shape (points,).

        Args:
            mean: the mean of its error, shape (points,).
            variance: the variance of its error, shape (points,).
        """
        known = np.isfinite(mean) & np.isfinite(variance)
        return known if self.model is None else known & (variance <= MAX_DEVIATION**2)

    def shifted(self, values: Array, errors: Array) -> Array:
        """Values of the law shifted by errors, both of any one shape."""
        with np.errstate(all="ignore"):
            result: Array = values * np.exp(errors) if self.of_logs else values + errors
        return result


@dataclass(frozen=True)
class LawValues:
    """All calls of laws in a question, with the distribution of their errors.

    Attributes:
        calls: the calls.
        fits: the fits, each once.
        amplitude: standard deviation of log L per decade, before it is widened.
        widening: use -> the factor by which it is multiplied; empty if it was not learned.
    """

    calls: tuple[LawCall, ...]
    fits: tuple[FitCalls, ...]
    amplitude: float
    _tape: tuple[Tape, tuple[sp.Symbol, ...]] = field(repr=False)
    widening: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        formulated: FormulatedQuestion,
        amplitude: float,
        model_of: Callable[[Fit, Law, Array], LawErrorModel],
    ) -> LawValues:
        """Prepare the laws of a question.

        Args:
            formulated: the question, with symbols for its calls of laws.
            amplitude: standard deviation of log L per decade; 0 for laws without error.
            model_of: the function that conditions the error of a law on the rows of its fit.

        Raises:
            NoLawError: the errors of a fit are not known, or an argument of a law depends on
                another law.
        """
        calls = formulated.law_calls
        symbols = {call.symbol for call in calls}
        arguments = [argument for call in calls for argument in call.arguments]
        if any(argument.free_symbols & symbols for argument in arguments):
            raise NoLawError("a law is called at the value of another")
        fits: list[FitCalls] = []
        for number, call in enumerate(calls):
            fit = call.source.fit
            if fit is None:
                reason = f"`{call.source.use}` was given as numbers"
                raise NoLawError(reason, f"give a fit, {call.source.use}=FIT.json")
            if fit.spread is None:
                reason = f"the fit `{call.source.use}` has no errors of its parameters"
                raise NoLawError(reason, "fit with --intervals bootstrap, or more rows")
            if amplitude and fit.rows is None:
                reason = (
                    f"the error of `{call.source.use}` is not known: {missing_rows_reason(fit)}"
                )
                again = "fit again" if fit.objective.is_centered else "fit by another loss"
                raise NoLawError(reason, f"{again}, or take the laws as right: --wrong 0")
            # one fit under two names has the same errors for both
            same = next((i for i, f in enumerate(fits) if f.fit == fit), None)
            if same is not None:
                fits[same] = replace(fits[same], calls=(*fits[same].calls, number))
                continue
            law, values = call.source.law, call.source.values
            theta = np.array([values[q.name] for q in law.parameters])
            model = model_of(fit, law, theta) if amplitude else None
            of_logs = bool(amplitude) or fit.objective.of_logs
            fits.append(FitCalls(fit, law, theta, (number,), model, of_logs))
        used = sorted(set().union(*(a.free_symbols for a in arguments)), key=str)
        return cls(calls, tuple(fits), amplitude, (compile_tape(arguments, used), tuple(used)))

    def dof_of(self, expression: sp.Expr) -> float:
        """The smallest degrees of freedom of the fits that an expression depends on.

        Args:
            expression: an expression in the symbols of calls.
        """
        used = {i for i, c in enumerate(self.calls) if c.symbol in expression.free_symbols}
        return min((fit.dof for fit in self.fits if used & set(fit.calls)), default=np.inf)

    def arguments(self, inputs: Mapping[sp.Symbol, Array | float], count: int) -> list[Array]:
        """The variables of the law of each call, shape (variables, points).

        Args:
            inputs: symbol -> values at the points, or one value for all.
            count: the number of points.
        """
        tape, symbols = self._tape
        columns = np.array([np.broadcast_to(inputs[s], count) for s in symbols], dtype=np.float64)
        with np.errstate(all="ignore"):
            rows = computed(tape, columns.reshape(len(symbols), count))
        result, first = [], 0
        for call in self.calls:
            width = len(call.arguments)
            result.append(rows[first : first + width])
            first += width
        return result

    def at_points(self, arguments: Sequence[Array]) -> PointValues:
        """The laws at points, with the covariance of the errors of the calls at each.

        Args:
            arguments: the arguments of each call, shape (variables, points).
        """
        count = arguments[0].shape[1]
        values = np.empty((len(self.calls), count))
        means = np.zeros_like(values)
        covariances = np.zeros((count, len(self.calls), len(self.calls)))
        for fit in self.fits:
            size = len(fit.calls)
            if size == 1:
                (i,) = fit.calls
                values[i], means[i], covariances[:, i, i] = fit.alone(arguments[i])
                continue
            step = max(1, POINTS_AT_ONCE // size)
            for first in range(0, count, step):
                piece = slice(first, min(first + step, count))
                width = piece.stop - first
                columns = np.hstack([arguments[i][:, piece] for i in fit.calls])
                law, mean, joint = fit.jointly(columns)
                blocks = joint.reshape(size, width, size, width)
                index = np.arange(width)
                for a, i in enumerate(fit.calls):
                    values[i, piece] = law.reshape(size, width)[a]
                    means[i, piece] = mean.reshape(size, width)[a]
                    for b, j in enumerate(fit.calls):
                        covariances[piece, i, j] = blocks[a, index, b, index]
        return PointValues(self, values, means, covariances)

    def draws(self, arguments: Sequence[Array], count: int, rng: np.random.Generator) -> Array:
        """Draw the true values of the laws at points, jointly.

        Args:
            arguments: the arguments of each call, shape (variables, points).
            count: the number of draws.
            rng: the random generator.

        Returns:
            Shape (calls, draws, points); nan where the rows do not determine a law.
        """
        points = arguments[0].shape[1]
        drawn = np.empty((len(self.calls), count, points))
        for fit in self.fits:
            columns = np.hstack([arguments[i] for i in fit.calls])
            law, mean, joint = fit.jointly(columns)
            root = _covariance_root(joint)
            normal = rng.normal(size=(count, len(root)))
            wide = np.sqrt(fit.dof / rng.chisquare(fit.dof, size=(count, 1)))
            errors = mean + wide * (normal @ root.T)
            each = fit.shifted(law, errors).reshape(count, len(fit.calls), points)
            for a, i in enumerate(fit.calls):
                drawn[i] = each[:, a]
        return drawn


def _covariance_root(covariance: Array) -> Array:
    """A square root of a covariance matrix: nearby points have nearly the same error, so its
    correlation matrix may be numerically singular.
    """
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    unit = np.where(deviations > 0, deviations, 1.0)
    correlations = covariance / np.outer(unit, unit)
    correlations[np.diag_indices_from(correlations)] = 1.0
    jitter = ROUNDING_RTOL
    while True:
        try:
            root = np.linalg.cholesky(correlations + jitter * np.eye(len(unit)))
        except np.linalg.LinAlgError:
            jitter *= 10
            continue
        return np.asarray(deviations[:, None] * root)


@dataclass(frozen=True)
class PointValues:
    """The laws at points.

    Attributes:
        laws: the laws of the question.
        values: the fitted laws, shape (calls, points).
        means: the means of their errors, of that shape.
        covariances: the covariances of the errors of the calls at each point, shape (points, calls,
            calls).
    """

    laws: LawValues
    values: Array
    means: Array
    covariances: Array

    @property
    def deviations(self) -> Array:
        """The standard deviations of the errors, shape (calls, points)."""
        return np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2)).T

    def with_errors(self, errors: Array) -> Array:
        """Values shifted by errors, both of shape (calls, points)."""
        result = np.empty_like(self.values)
        for fit in self.laws.fits:
            for i in fit.calls:
                result[i] = fit.shifted(self.values[i], errors[i])
        return result
