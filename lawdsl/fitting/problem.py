"""A fit as numbers: residuals of a law on a table, in free parameters, and the loss of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.model import EVERY_ROW, Model
from lawdsl.compiling.parts import parts_of
from lawdsl.compiling.tape import Tape
from lawdsl.fitting.linear_in import compared
from lawdsl.fitting.transforms import (
    Transforms,
    to_parameters,
    transforms_of,
    with_curvature,
    with_slopes,
)
from lawdsl.language.resolving import Objective
from lawdsl.law import Law

Array = NDArray[np.float64]

PIECE = 4_000_000  # numbers, starts times rows, at once: bounds the memory of long tables
ROUNDING = 1e-9  # relative: residuals of an exact fit are smaller


@dataclass(frozen=True)
class Quadratic:
    """The objective near some points: its value, gradient and second derivatives there.

    Attributes:
        loss: shape (starts,); inf where the law has no value.
        gradient: by the free numbers, shape (starts, parameters).
        hessian: shape (starts, parameters, parameters); exact, or that of Gauss and Newton.
    """

    loss: Array
    gradient: Array
    hessian: Array

    def of(self, chosen: NDArray[np.bool_]) -> Quadratic:
        """Some of the points."""
        return Quadratic(self.loss[chosen], self.gradient[chosen], self.hessian[chosen])

    def without(self, held: NDArray[np.bool_]) -> Quadratic:
        """The same for steps that leave out some of the free numbers, shape (starts, parameters)."""
        if not held.any():
            return self
        hessian = np.where(held[:, :, None] | held[:, None, :], 0.0, self.hessian)
        np.einsum("sii->si", hessian)[...] += held
        return Quadratic(self.loss, np.where(held, 0.0, self.gradient), hessian)

    def where(self, replaced: NDArray[np.bool_], other: Quadratic) -> Quadratic:
        """Other points in place of some."""
        if replaced.all():
            return other
        return Quadratic(
            np.where(replaced, other.loss, self.loss),
            np.where(replaced[:, None], other.gradient, self.gradient),
            np.where(replaced[:, None, None], other.hessian, self.hessian),
        )


@dataclass(frozen=True)
class Problem:
    """What is minimised: Σ weight·rho(residual), over the rows.

    Attributes:
        model: the law on the table, or its logarithm.
        linear: numbers of the parameters in which the model is linear all at once.
        exponential: whether the model is the logarithm.
        transforms: free numbers -> parameters.
        target: the measured values, shape (rows,).
        objective: the loss, and whether residuals are those of logarithms.
        weights: of the rows, shape (rows,), or (starts, rows) where each start has its own; None
            where all are 1.
    """

    model: Model
    transforms: Transforms
    target: Array
    objective: Objective
    weights: Array | None = None
    linear: tuple[int, ...] = ()
    exponential: bool = False

    @cached_property
    def goal(self) -> Array:
        """What residuals are differences from: the measured values, or their logarithms."""
        return np.log(self.target) if self.objective.log else self.target

    @property
    def takes_log(self) -> bool:
        """Whether the logarithm of the model is what is compared."""
        return self.objective.log and not self.exponential

    @property
    def columns(self) -> Array:
        """The variables, shape (variables, rows), in the law's units."""
        return self.model.table.columns

    @property
    def rows(self) -> int:
        return len(self.target)

    @property
    def parameters(self) -> int:
        return len(self.transforms)

    @property
    def exact(self) -> float:
        """The objective of a fit that is exact up to rounding: below it no loss tells more."""
        size = 1.0 if self.objective.log else float(np.max(np.abs(self.target)))
        total = self.rows if self.weights is None else float(np.sum(self.weights))
        return total * float(rho(np.array(ROUNDING * size), self.objective))

    def subset(self, rows: NDArray[Any]) -> Problem:
        """The same problem on some of the rows."""
        weights = None if self.weights is None else self.weights[..., rows]
        model = Model(self.model.parts, self.columns[:, rows])
        return replace(self, model=model, target=self.target[rows], weights=weights)

    def of_starts(self, chosen: NDArray[Any]) -> Problem:
        """The same problem for some of the starts."""
        if self.weights is None or self.weights.ndim == 1:
            return self
        return replace(self, weights=self.weights[chosen])

    def sample(self, count: int, seed: int) -> Problem:
        """The same problem on so many rows, and on those at the ends of each variable.

        Where a law has no value, it is there most often.
        """
        if self.rows <= count:
            return self
        rows = np.random.default_rng(seed).choice(self.rows, count, replace=False)
        ends = [end(column) for column in self.columns for end in (np.argmin, np.argmax)]
        return self.subset(np.unique([*rows, *ends]))

    def predictions(self, theta: Array) -> Array:
        """Law values at parameters of shape (starts, parameters): shape (starts, rows)."""
        made = np.empty((len(theta), self.rows))
        for piece in self._pieces(len(theta)):
            made[:, piece] = self.model.value(theta, piece)
        with np.errstate(all="ignore"):
            return np.exp(made) if self.exponential else made

    def residuals(self, free: Array) -> Array:
        """Residuals at free numbers of shape (starts, parameters): shape (starts, rows)."""
        theta = to_parameters(self.transforms, free)
        made = np.empty((len(theta), self.rows))
        for piece in self._pieces(len(theta)):
            made[:, piece] = self.residuals_of(self.model.value(theta, piece), piece)
        return made

    def losses(self, free: Array, objective: Objective | None = None) -> Array:
        """The objective at each start: shape (starts,); inf where the law has no value."""
        return self.losses_at(to_parameters(self.transforms, free), objective)

    def losses_at(self, theta: Array, objective: Objective | None = None) -> Array:
        """The same at parameters."""
        total = np.zeros(len(theta))
        for piece in self._pieces(len(theta)):
            residual = self.residuals_of(self.model.value(theta, piece), piece)
            total += self._sum(rho(residual, objective or self.objective), piece)
        return np.where(np.isfinite(total), total, np.inf)

    def residuals_and_slopes(self, free: Array) -> tuple[Array, Array]:
        """Residuals, (starts, rows), and their derivatives by free numbers, (starts, rows, p)."""
        theta, slopes = with_slopes(self.transforms, free)
        residual, by_parameters = self.slopes(theta)
        with np.errstate(all="ignore"):
            return residual, by_parameters @ slopes

    def slopes(self, theta: Array) -> tuple[Array, Array]:
        """The same at parameters, and derived by them; long tables in pieces."""
        starts, count = theta.shape
        residual = np.empty((starts, self.rows))
        jacobian = np.empty((starts, self.rows, count))
        for piece in self._pieces(starts):
            value, slopes = self.model.slopes(theta, piece)
            with np.errstate(all="ignore"):
                by_row = np.swapaxes(slopes, 1, 2)
                jacobian[:, piece] = by_row / value[..., None] if self.takes_log else by_row
            residual[:, piece] = self.residuals_of(value, piece)
        return residual, jacobian

    def loss_and_gradient(self, free: Array) -> tuple[float, Array]:
        """The objective and its exact gradient by the free numbers at one point."""
        near = self.quadratic(free[None], exact=False)
        return float(near.loss[0]), near.gradient[0]

    def quadratic(
        self, free: Array, exact: bool = True, objective: Objective | None = None
    ) -> Quadratic:
        """The objective near free numbers of shape (starts, parameters).

        Args:
            free: the points.
            exact: with the exact second derivatives; else with those of reweighted least squares,
                which are never negative.
            objective: in place of the problem's own.
        """
        objective = objective or self.objective
        exact = exact and self.model.parts.hessian is not None
        theta, slopes, bent = with_curvature(self.transforms, free, second=exact)
        starts, count = free.shape
        loss, gradient = np.zeros(starts), np.zeros((starts, count))
        hessian = np.zeros((starts, count, count))
        with np.errstate(all="ignore"):
            for piece in self._pieces(starts * count):
                second: Callable[[Array], Array] | None = None
                if exact:
                    value, by, second = self.model.curvature(theta, piece)
                else:
                    value, by = self.model.slopes(theta, piece)
                residual = self.residuals_of(value, piece)
                pull = self._weighted(rho_slope(residual, objective), piece)
                bend = self._weighted(rho_bend(residual, objective, exact), piece)
                loss += self._sum(rho(residual, objective), piece)
                if self.takes_log:
                    if exact:
                        bend = bend - pull
                    pull, bend = pull / value, bend / value**2
                gradient += np.einsum("spn,sn->sp", by, pull)
                hessian += (by * bend[:, None]) @ np.swapaxes(by, 1, 2)
                if second is not None:
                    hessian += second(pull)
            turned = np.swapaxes(slopes, 1, 2)
            hessian = turned @ hessian @ slopes
            if exact:
                hessian += bent(gradient)
            gradient = np.einsum("sk,skj->sj", gradient, slopes)
        return Quadratic(np.where(np.isfinite(loss), loss, np.inf), gradient, hessian)

    def total(self, values: Array) -> Array:
        """The weighted sum over the rows of values of shape (starts, rows)."""
        return self._sum(values, EVERY_ROW)

    def _pieces(self, starts: int) -> Iterator[slice]:
        width = max(1, PIECE // max(starts, 1))
        if width >= self.rows:
            yield EVERY_ROW
            return
        for first in range(0, self.rows, width):
            yield slice(first, first + width)

    def residuals_of(self, predicted: Array, piece: slice = EVERY_ROW) -> Array:
        """Residuals of values of the model."""
        with np.errstate(all="ignore"):
            compared = np.log(predicted) if self.takes_log else predicted
            return compared - self.goal[piece]

    def _weighted(self, values: Array, piece: slice) -> Array:
        return values if self.weights is None else values * self.weights[..., piece]

    def _sum(self, values: Array, piece: slice) -> Array:
        total: Array = np.sum(self._weighted(values, piece), axis=1)
        return total


def problem_of(
    law: Law, columns: Array, target: Array, objective: Objective, weights: Array | None = None
) -> Problem:
    """The problem of fitting a law.

    Args:
        law: the law.
        columns: its variables in its order, shape (variables, rows).
        target: measured values of its output, shape (rows,).
        objective: what to minimise.
        weights: of the rows, shape (rows,).
    """
    settings = {q.symbol: q.value for q in law.settings}
    variables, parameters = ([q.symbol for q in some] for some in (law.variables, law.parameters))
    expression, linear, exponential = compared(law, objective)
    parts = parts_of(expression, variables, parameters, list(settings))
    values = [v for v in settings.values() if v is not None]
    one, two, three = (_fixed(t, len(variables) + len(parameters), values) for t in parts.tapes)
    parts = replace(parts, tapes=(one, two, three))
    model, transforms = Model(parts, columns), transforms_of(law)
    return Problem(model, transforms, target, objective, weights, linear, exponential)


def _fixed(tape: Tape, count: int, values: list[float]) -> Tape:
    """A tape whose inputs from `count` on have become constants."""
    steps = []
    for step in tape.instructions:
        number = step.value if step.op == "input" else None
        if isinstance(number, int) and number >= count:
            step = replace(step, op="constant", value=sp.Rational(repr(values[number - count])))
        steps.append(step)
    return Tape(tuple(steps), count, tape.outputs)


def rho(residual: Array, objective: Objective) -> Array:
    """The loss of a residual. Huber: r²/2 within delta, delta·(|r| - delta/2) outside; or r²."""
    with np.errstate(all="ignore"):
        if objective.loss == "squared":
            return residual * residual
        delta = objective.delta
        near = np.minimum(np.abs(residual), delta)
        return near * (np.abs(residual) - near / 2)


def rho_slope(residual: Array, objective: Objective) -> Array:
    """The derivative of the loss by the residual."""
    if objective.loss == "squared":
        return 2 * residual
    return np.clip(residual, -objective.delta, objective.delta)


def rho_bend(residual: Array, objective: Objective, exact: bool) -> Array:
    """The second derivative of the loss by the residual, or the weight slope / residual."""
    if objective.loss == "squared":
        return np.full_like(residual, 2.0)
    size = np.abs(residual)
    if exact:
        return np.where(size <= objective.delta, 1.0, 0.0)
    return np.minimum(1.0, objective.delta / np.maximum(size, 1e-300))
