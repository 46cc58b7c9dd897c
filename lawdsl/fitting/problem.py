"""Model + data + objective -> Problem: residuals, losses and their derivatives with respect to
unconstrained parameters.

The objective is F(u) = Σ w_i·rho(r_i(theta(u))), with r_i = f(x_i; theta) - y_i or log f(x_i;
theta) - log y_i, and unconstrained parameters u that `transforms` maps to the parameters theta. Its
derivatives are g = Jᵀ·(w·rho'(r)) and H = Jᵀ·diag(w·rho''(r))·J + Σ w_i·rho'(r_i)·∇²r_i, to which
the curvature of the map from u to theta is added, and the penalty of declared priors, if there are
any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.model import EVERY_ROW, Model, Values
from lawdsl.core.objectives import Objective
from lawdsl.fitting.arrow import Arrow, arrow_of
from lawdsl.fitting.evaluation import Evaluation
from lawdsl.fitting.local_model import LocalModel
from lawdsl.fitting.losses import curvature_of, rho, rho_curvature, rho_slope, value_and_slope
from lawdsl.fitting.penalty import Penalty
from lawdsl.fitting.transforms import (
    TransformDerivatives,
    Transforms,
    parameters_and_derivatives,
    to_parameters,
    with_slopes,
)

if TYPE_CHECKING:
    from lawdsl.compiling.indexed_model import ArrayModel

Array = NDArray[np.float64]

__all__ = [
    "LocalModel",
    "Problem",
    "ResidualState",
    "rho",
    "rho_curvature",
    "rho_slope",
]

# starts times rows in one array: bounds memory
MAX_ARRAY_NUMBERS = 4_000_000
# rows of a table above which arrays are smaller, as several have all of its rows
LONG_TABLE_ROWS, LONG_TABLE_NUMBERS = 100_000, 400_000
# fewer parameters are solved for by dense matrices
MIN_ARROW_PARAMETERS = 61
# relative to the measurements: residuals of an exact fit are smaller
EXACT_FIT_RTOL = 1e-9


@dataclass(frozen=True)
class Problem:
    """The minimisation problem of a fit: minimise Σ weight·rho(residual) over the rows.

    Attributes:
        model: the law on the table, or its logarithm.
        exponential: whether the model is the logarithm of the law.
        transforms: the maps from unconstrained parameters to parameters.
        target: the measured values, shape (rows,).
        objective: the loss, and whether residuals are those of logarithms.
        weights: the weights of the rows, shape (rows,), or (starts, rows) if they differ between
            starts; None if all are 1.
        variables: the number of the model's columns that are variables of the law; None for all.
        penalty: the penalty of the priors, which is part of the objective; None without priors.
    """

    model: Model | ArrayModel
    transforms: Transforms
    target: Array
    objective: Objective
    weights: Array | None = None
    exponential: bool = False
    variables: int | None = None
    penalty: Penalty | None = None

    @cached_property
    def goal(self) -> Array:
        """The values with which the model is compared: the measured ones, or their logarithms."""
        return np.log(self.target) if self.objective.log else self.target

    @cached_property
    def takes_log(self) -> bool:
        """Whether residuals compare the logarithm of the model."""
        return self.objective.log and not self.exponential

    @cached_property
    def scale(self) -> Array:
        """Factors that turn squared differences into weighted relative ones: shape (rows,), or
        (starts, rows).
        """
        weights = np.ones((1, self.rows)) if self.weights is None else np.atleast_2d(self.weights)
        return weights / self.target**2 if self.takes_log else weights

    @property
    def linear(self) -> tuple[int, ...]:
        """Positions of the parameters in which the model is jointly linear."""
        return tuple(self.model.linear)

    @cached_property
    def arrow(self) -> Arrow | None:
        """The blocks of many parameters that act on separate rows; None for few parameters, or where
        they form no blocks."""
        model = self.model
        if self.parameters < MIN_ARROW_PARAMETERS or isinstance(model, Model):
            return None
        if any(t.coupled for t in self.transforms):
            return None
        return arrow_of(model.slots.index, self.parameters)

    def compact_slopes(self, theta: Array) -> tuple[Array, Array]:
        """Residuals and their derivatives by the parameters of each row, of a problem with blocks.

        Args:
            theta: parameters, shape (starts, parameters).

        Returns:
            Shapes (starts, rows) and (starts, border + width, rows), with the rows in the order of
            `arrow`.
        """
        arrow = self.arrow
        assert arrow is not None and not isinstance(self.model, Model)
        value, slopes = self.model.row_slopes(theta)
        with np.errstate(all="ignore"):
            if self.takes_log:
                slopes /= value[:, None]
        return self.residuals_of(value)[:, arrow.order], arrow.compact(slopes)

    @property
    def columns(self) -> Array:
        """The variables, shape (variables, rows), in the law's units."""
        return self.model.columns[: self.variables]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.target)

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return len(self.transforms)

    def curvature_of_weights(self, stated: bool) -> float:
        """The curvature of the loss that corresponds to a weight of 1 of a squared residual.

        Args:
            stated: whether the weights rho'(r)/r are given explicitly; otherwise they are 1,
                relative to the curvature of the loss at 0.
        """
        return 1.0 if stated else self.objective.row.max_curvature

    @property
    def rounding(self) -> float:
        """The size of residuals below which a fit is exact up to rounding."""
        return EXACT_FIT_RTOL * (1.0 if self.objective.log else float(np.max(np.abs(self.target))))

    @property
    def exact(self) -> float:
        """The objective of a fit that is exact up to rounding; smaller objectives are treated as
        equal.
        """
        # a loss counts once per row of the sum
        total = self.rows if self.weights is None else float(np.sum(self.weights))
        return total * float(rho(np.array(self.rounding), self.objective))

    @property
    def output_deviation(self) -> float:
        """The standard deviation of the measured values, in the units of a residual."""
        return float(np.std(self.goal))

    def subset(self, rows: NDArray[Any]) -> Problem:
        """Restrict the problem to some rows, given by index or mask."""
        weights = None if self.weights is None else self.weights[..., rows]
        model = self.model.on(self.model.columns[:, rows])
        return replace(self, model=model, target=self.target[rows], weights=weights)

    def of_starts(self, chosen: NDArray[Any]) -> Problem:
        """Restrict weights that differ between starts to some starts, given by index or mask."""
        if self.weights is None or self.weights.ndim == 1:
            return self
        penalty = None if self.penalty is None else self.penalty.of_starts(chosen)
        return replace(self, weights=self.weights[chosen], penalty=penalty)

    def sample(self, count: int, seed: int) -> Problem:
        """Restrict the problem to a random sample of rows, including those at the extremes of each
        variable.

        A law that is undefined at some rows most often is undefined at these extremes.

        Args:
            count: the number of rows.
            seed: the seed of the sample.
        """
        # a sample of all rows would be a copy
        if self.rows <= count:
            return self
        rows = np.random.default_rng(seed).choice(self.rows, count, replace=False)
        ends = [end(column) for column in self.columns for end in (np.argmin, np.argmax)]
        sampled = self.subset(np.unique([*rows, *ends]))
        if self.penalty is None:
            return sampled
        # the priors have the same relative weight as with all rows
        share = self.penalty.share * sampled.rows / self.rows
        return replace(sampled, penalty=replace(self.penalty, share=share))

    def predictions(self, theta: Array) -> Array:
        """Law values at parameters of shape (starts, parameters): shape (starts, rows)."""
        predicted = np.empty((len(theta), self.rows))
        for piece in self.pieces(len(theta)):
            predicted[:, piece] = self.model.value(theta, piece)
        with np.errstate(all="ignore"):
            return np.exp(predicted) if self.exponential else predicted

    def residuals(self, free: Array) -> Array:
        """Residuals at unconstrained parameters of shape (starts, parameters): shape (starts,
        rows).
        """
        return self.residuals_at(to_parameters(self.transforms, free))

    def residuals_at(self, theta: Array) -> Array:
        """Residuals at parameters of shape (starts, parameters): shape (starts, rows)."""
        residuals = np.empty((len(theta), self.rows))
        for piece in self.pieces(len(theta)):
            residuals[:, piece] = self.residuals_of(self.model.value(theta, piece), piece)
        return residuals

    def losses(self, free: Array, objective: Objective | None = None) -> Array:
        """The objective at each start: shape (starts,); inf where the law has no value.

        Args:
            free: unconstrained parameters, shape (starts, parameters).
            objective: the objective in place of the problem's own.
        """
        return self.losses_at(to_parameters(self.transforms, free), objective)

    def losses_at(self, theta: Array, objective: Objective | None = None) -> Array:
        """The objective at parameters: shape (starts,); inf where the law has no value.

        Args:
            theta: parameters, shape (starts, parameters).
            objective: the objective in place of the problem's own.
        """
        total = np.zeros(len(theta))
        for piece in self.pieces(len(theta)):
            residual = self.residuals_of(self.model.value(theta, piece), piece)
            total += self._sum(rho(residual, objective or self.objective), piece)
        if self.penalty is not None:
            total += self.penalty.value(theta)
        return np.where(np.isfinite(total), total, np.inf)

    def residuals_and_slopes(self, free: Array) -> tuple[Array, Array]:
        """Residuals, (starts, rows), and their derivatives with respect to unconstrained
        parameters, (starts, rows, p).
        """
        theta, slopes = with_slopes(self.transforms, free)
        residual, by_parameters = self.slopes(theta)
        with np.errstate(all="ignore"):
            return residual, by_parameters @ slopes

    def slopes(self, theta: Array) -> tuple[Array, Array]:
        """Residuals, and their Jacobian with respect to the parameters, at those of shape (starts,
        parameters).

        Long tables are evaluated in pieces.

        Returns:
            Shapes (starts, rows) and (starts, rows, p).
        """
        starts, count = theta.shape
        residual = np.empty((starts, self.rows))
        jacobian = np.empty((starts, self.rows, count))
        for piece in self.pieces(starts):
            value, slopes = self.model.slopes(theta, piece)
            with np.errstate(all="ignore"):
                by_row = np.swapaxes(slopes, 1, 2)
                jacobian[:, piece] = by_row / value[..., None] if self.takes_log else by_row
            residual[:, piece] = self.residuals_of(value, piece)
        return residual, jacobian

    def slopes_in_pieces(self, theta: Array) -> Iterator[Array]:
        """The Jacobian of the residuals with respect to the parameters, of shape (parameters,), in
        pieces of shape (rows of the piece, parameters)."""
        for piece in self.pieces(self.parameters):
            value, slopes = self.model.slopes(theta[None], piece)
            with np.errstate(all="ignore"):
                yield slopes[0].T / value[0][:, None] if self.takes_log else slopes[0].T

    def loss_and_gradient(self, free: Array) -> tuple[float, Array]:
        """The objective and its exact gradient with respect to the unconstrained parameters at one
        point.
        """
        model = self.local_model(free[None], exact=False)
        return float(model.loss[0]), model.gradient[0]

    def local_model(
        self, free: Array, exact: bool = True, objective: Objective | None = None
    ) -> LocalModel:
        """A second-order model of the objective at given points.

        Args:
            free: the points, shape (starts, parameters).
            exact: whether to use exact second derivatives; else those of reweighted least squares,
                Jᵀ·diag(w·rho'(r)/r)·J, which are positive semidefinite.
            objective: the objective in place of the problem's own.
        """
        exact = self.uses_second_derivatives(exact)
        with np.errstate(all="ignore"):
            theta, derivatives = parameters_and_derivatives(self.transforms, free, exact)
            evaluation = Evaluation(self, theta, 2 if exact else 1)
            value = evaluation.value(theta)
            state = self.residual_state(value, objective or self.objective, theta)
            return self.local_model_at(evaluation, theta, derivatives, state, exact)

    def uses_second_derivatives(self, exact: bool = True) -> bool:
        """Whether the Hessian is exact: the model must have second derivatives."""
        return exact and self.model.curved

    def local_model_at(
        self,
        evaluation: Evaluation,
        theta: Array,
        derivatives: TransformDerivatives,
        state: ResidualState,
        exact: bool,
    ) -> LocalModel:
        """A second-order model of the objective at points where the model of the law has been
        evaluated already.

        Floating-point errors are not suppressed here: the caller does that.

        Args:
            evaluation: the model there; with second derivatives if `exact`.
            theta: the parameters, shape (starts, parameters).
            derivatives: the derivatives of the parameters with respect to the unconstrained
                parameters.
            state: residuals and losses there.
            exact: whether to use exact second derivatives.
        """
        row_gradient, row_curvature = state.derivatives(self, exact)
        gradient, hessian = None, None
        for piece, values in evaluation.pieces():
            slopes, row_slopes = values.slopes(theta), row_gradient[:, piece]
            parts = (slopes @ row_slopes[:, :, None])[:, :, 0]
            curvature = (slopes * row_curvature[:, None, piece]) @ np.swapaxes(slopes, 1, 2)
            if exact:
                assert isinstance(values, Values)  # models on arrays have no second derivatives
                curvature += values.contracted(theta, row_slopes)
            gradient = parts if gradient is None else gradient + parts
            hessian = curvature if hessian is None else hessian + curvature
        assert gradient is not None and hessian is not None
        if self.penalty is not None:
            of_priors, bend = self.penalty.derivatives(theta, exact)
            gradient = gradient + of_priors
            hessian = hessian + bend[:, :, None] * np.eye(theta.shape[1])
        by_free = derivatives.hessian(hessian, gradient if exact else None)
        return LocalModel(state.loss, derivatives.gradient(gradient), by_free)

    def residual_state(self, value: Array, objective: Objective, theta: Array) -> ResidualState:
        """Residuals, losses and slopes for values of the model.

        Floating-point errors are not suppressed here: the caller does that.

        Args:
            value: the value of the model, shape (starts, rows).
            objective: the objective whose loss is computed.
            theta: the parameters, shape (starts, parameters), on which the penalty depends.
        """
        residual = (np.log(value) if self.takes_log else value) - self.goal
        cost, slope = value_and_slope(residual, objective)
        loss = np.add.reduce(cost if self.weights is None else cost * self.weights, 1)
        if self.penalty is not None:
            loss += self.penalty.value(theta)
        # nan has no order, but inf loses every comparison
        loss[~np.isfinite(loss)] = np.inf
        return ResidualState(value, residual, slope, loss, objective)

    def total(self, values: Array) -> Array:
        """The weighted sum over the rows of values of shape (starts, rows)."""
        return self._sum(values, EVERY_ROW)

    def pieces(self, starts: int) -> Iterator[slice]:
        """Slices of the rows, short enough that an array of starts times rows fits into memory."""
        numbers = MAX_ARRAY_NUMBERS if self.rows <= LONG_TABLE_ROWS else LONG_TABLE_NUMBERS
        width = max(1, numbers // max(starts, 1))
        if width >= self.rows:
            yield EVERY_ROW
            return
        for first in range(0, self.rows, width):
            yield slice(first, first + width)

    def residuals_of(self, predicted: Array, piece: slice = EVERY_ROW) -> Array:
        """Residuals of values of the model on a piece of the rows, both of shape (starts, rows of
        the piece)."""
        with np.errstate(all="ignore"):
            comparable = np.log(predicted) if self.takes_log else predicted
            return comparable - self.goal[piece]

    def _weighted(self, values: Array, piece: slice) -> Array:
        return values if self.weights is None else values * self.weights[..., piece]

    def _sum(self, values: Array, piece: slice) -> Array:
        total: Array = np.sum(self._weighted(values, piece), axis=1)
        return total


@dataclass(frozen=True)
class ResidualState:
    """Values of the model with their residuals and losses, at some points.

    Attributes:
        value: the value of the model, shape (starts, rows).
        residual: the residual of the same shape.
        slope: the derivative of the loss with respect to the residual, of the same shape.
        loss: the objective, shape (starts,); inf where the law has no value.
        objective: the objective, with the loss.
    """

    value: Array
    residual: Array
    slope: Array
    loss: Array
    objective: Objective
    cache: dict[bool, tuple[Array, Array]] = field(default_factory=dict, repr=False)

    def derivatives(self, problem: Problem, exact: bool) -> tuple[Array, Array]:
        """The weighted first and second derivatives of each row's loss with respect to the model's
        value.

        Args:
            problem: the objective to be minimised, with its data.
            exact: whether to use exact second derivatives; else those of reweighted least squares.

        Returns:
            Two arrays of shape (starts, rows).
        """
        if exact not in self.cache:
            gradient, curvature = (
                self.slope,
                curvature_of(self.residual, self.slope, self.objective, exact),
            )
            if problem.weights is not None:
                gradient, curvature = gradient * problem.weights, curvature * problem.weights
            if problem.takes_log:
                inverse = 1 / self.value
                if exact:
                    # d²(log f)/df² = -1/f², times rho': both are divided by f² below
                    curvature -= gradient
                gradient = gradient * inverse
                curvature *= inverse
                curvature *= inverse
            self.cache[exact] = gradient, curvature
        return self.cache[exact]

    def at(self, chosen: NDArray[Any]) -> ResidualState:
        """Select some of the starts by index or mask."""
        arrays = (self.value[chosen], self.residual[chosen], self.slope[chosen], self.loss[chosen])
        return ResidualState(*arrays, self.objective)

    def where(self, replaced: NDArray[np.bool_], other: ResidualState) -> ResidualState:
        """Replace the states of some starts, shape (starts,), by those of another record."""
        row = replaced[:, None]
        return ResidualState(
            np.where(row, other.value, self.value),
            np.where(row, other.residual, self.residual),
            np.where(row, other.slope, self.slope),
            np.where(replaced, other.loss, self.loss),
            self.objective,
        )

    def put(self, starts: NDArray[Any], other: ResidualState) -> None:
        """Overwrite the states of some starts, given by index or mask, in place."""
        self.value[starts], self.residual[starts] = other.value, other.residual
        self.slope[starts], self.loss[starts] = other.slope, other.loss
        # the cached derivatives belong to the previous values
        self.cache.clear()
