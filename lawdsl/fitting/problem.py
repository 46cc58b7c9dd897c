"""A fit as numbers: residuals of a law on a table, in free parameters, and the loss of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.arrays import evaluate, evaluate_with_gradient
from lawdsl.compiling.tape import Tape, compile_tape
from lawdsl.fitting.transforms import Transform, to_parameters, transforms_of, with_slopes
from lawdsl.language.resolving import Objective
from lawdsl.law import Law

Array = NDArray[np.float64]

PIECE = 50_000  # rows derived at once: bounds the memory of long tables
ROUNDING = 1e-9  # relative: residuals of an exact fit are smaller


@dataclass(frozen=True)
class Problem:
    """What is minimised: Σ weight·rho(residual), over the rows.

    Attributes:
        tape: the law, its inputs being the variables and then the parameters.
        transforms: free numbers -> parameters.
        columns: the variables, shape (variables, rows), in the law's units.
        target: the measured values, shape (rows,).
        objective: the loss, and whether residuals are those of logarithms.
        weights: what each row counts, shape (rows,); None where all count the same.
    """

    tape: Tape
    transforms: tuple[Transform, ...]
    columns: Array
    target: Array
    objective: Objective
    weights: Array | None = None

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
        return self.rows * float(rho(np.array(ROUNDING * size), self.objective))

    def subset(self, rows: NDArray[np.int64]) -> Problem:
        """The same problem on some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        columns, target = self.columns[:, rows], self.target[rows]
        return replace(self, columns=columns, target=target, weights=weights)

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
        inputs = [*self.columns, *(column[:, None] for column in theta.T)]
        value = evaluate(self.tape, inputs)[0]
        return np.broadcast_to(value, (len(theta), self.rows))

    def residuals(self, free: Array) -> Array:
        """Residuals at free numbers of shape (starts, parameters): shape (starts, rows)."""
        return self._residuals(self.predictions(to_parameters(self.transforms, free)), self.target)

    def _residuals(self, predicted: Array, target: Array) -> Array:
        with np.errstate(all="ignore"):
            if self.objective.log:
                return np.log(predicted) - np.log(target)
            return predicted - target

    def losses(self, free: Array) -> Array:
        """The objective at each start: shape (starts,); inf where the law has no value."""
        lost = rho(self.residuals(free), self.objective)
        total = np.sum(lost if self.weights is None else self.weights * lost, axis=1)
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
        by = range(len(self.columns), len(self.columns) + count)
        for first in range(0, self.rows, PIECE):
            piece = slice(first, first + PIECE)
            inputs = [*self.columns[:, piece], *(column[:, None] for column in theta.T)]
            value, slopes = evaluate_with_gradient(self.tape, inputs, by)
            with np.errstate(all="ignore"):
                jacobian[:, piece] = slopes / value[..., None] if self.objective.log else slopes
            residual[:, piece] = self._residuals(value, self.target[piece])
        return residual, jacobian

    def loss_and_gradient(self, free: Array) -> tuple[float, Array]:
        """The objective and its exact gradient by the free numbers at one point."""
        residual, slopes = self.residuals_and_slopes(free[None])
        lost, by_residual = rho(residual[0], self.objective), rho_slope(residual[0], self.objective)
        if self.weights is not None:
            lost, by_residual = self.weights * lost, self.weights * by_residual
        return float(np.sum(lost)), by_residual @ slopes[0]


def problem_of(
    law: Law,
    columns: Array,
    target: Array,
    objective: Objective,
    weights: Array | None = None,
) -> Problem:
    """The problem of fitting a law.

    Args:
        law: the law.
        columns: its variables in its order, shape (variables, rows).
        target: measured values of its output, shape (rows,).
        objective: what to minimise.
        weights: what each row counts, shape (rows,).
    """
    settings = {q.symbol: q.value for q in law.settings}
    expression = law.expression
    symbols = [q.symbol for q in (*law.variables, *law.parameters)]
    tape = compile_tape([expression], [*symbols, *settings])
    return Problem(
        _fixed(tape, len(symbols), [v for v in settings.values() if v is not None]),
        transforms_of(law),
        columns,
        target,
        objective,
        weights,
    )


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
        size, delta = np.abs(residual), objective.delta
        return np.where(size <= delta, residual * residual / 2, delta * (size - delta / 2))


def rho_slope(residual: Array, objective: Objective) -> Array:
    """The derivative of the loss by the residual."""
    if objective.loss == "squared":
        return 2 * residual
    return np.clip(residual, -objective.delta, objective.delta)
