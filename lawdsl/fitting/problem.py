"""A fit as numbers: residuals of a law on a table, in free parameters, and the loss of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.arrays import evaluate, evaluate_with_gradient
from lawdsl.compiling.tape import Tape, compile_tape
from lawdsl.fitting.transforms import Transform, to_parameters, transforms_of, with_slopes
from lawdsl.language.resolving import Objective
from lawdsl.law import Law

Array = NDArray[np.float64]

CHUNK = 4_000_000  # numbers in one array of derivatives: bounds the memory of long tables


@dataclass(frozen=True)
class Problem:
    """What is minimised: Σ rho(residual), over the rows.

    Attributes:
        tape: the law, its inputs being the variables and then the parameters.
        transforms: free numbers -> parameters.
        columns: the variables, shape (variables, rows), in the law's units.
        target: the measured values, shape (rows,).
        objective: the loss, and whether residuals are those of logarithms.
    """

    tape: Tape
    transforms: tuple[Transform, ...]
    columns: Array
    target: Array
    objective: Objective

    @property
    def rows(self) -> int:
        return len(self.target)

    @property
    def parameters(self) -> int:
        return len(self.transforms)

    def subset(self, rows: Array) -> Problem:
        """The same problem on some of the rows."""
        return Problem(
            self.tape, self.transforms, self.columns[:, rows], self.target[rows], self.objective
        )

    def predictions(self, theta: Array) -> Array:
        """Law values at parameters of shape (starts, parameters): shape (starts, rows)."""
        inputs = [*self.columns, *(column[:, None] for column in theta.T)]
        value = evaluate(self.tape, inputs)[0]
        return np.broadcast_to(value, (len(theta), self.rows))

    def residuals(self, free: Array) -> Array:
        """Residuals at free numbers of shape (starts, parameters): shape (starts, rows)."""
        return self._residuals(self.predictions(to_parameters(self.transforms, free)))

    def _residuals(self, predicted: Array) -> Array:
        with np.errstate(all="ignore"):
            if self.objective.log:
                return np.log(predicted) - np.log(self.target)
            return predicted - self.target

    def losses(self, free: Array) -> Array:
        """The objective at each start: shape (starts,); inf where the law has no value."""
        total = np.sum(rho(self.residuals(free), self.objective), axis=1)
        return np.where(np.isfinite(total), total, np.inf)

    def residuals_and_slopes(self, free: Array) -> tuple[Array, Array]:
        """Residuals, (starts, rows), and their derivatives by free numbers, (starts, rows, p)."""
        theta, slopes = with_slopes(self.transforms, free)
        inputs = [*self.columns, *(column[:, None] for column in theta.T)]
        by = range(len(self.columns), len(inputs))
        value, jacobian = evaluate_with_gradient(self.tape, inputs, by)
        with np.errstate(all="ignore"):
            if self.objective.log:
                jacobian = jacobian / value[..., None]
            jacobian = jacobian @ slopes
        return self._residuals(value), jacobian

    def loss_and_gradient(self, free: Array) -> tuple[float, Array]:
        """The objective and its exact gradient at one point, long tables in pieces."""
        step = max(1, CHUNK // max(1, self.parameters))
        total, gradient = 0.0, np.zeros(self.parameters)
        for start in range(0, self.rows, step):
            part = self if step >= self.rows else self.subset(np.arange(start, min(start + step, self.rows)))
            r, jacobian = part.residuals_and_slopes(free[None])
            total += float(np.sum(rho(r[0], self.objective)))
            gradient += rho_slope(r[0], self.objective) @ jacobian[0]
        return total, gradient


def problem_of(law: Law, columns: Array, target: Array, objective: Objective) -> Problem:
    """The problem of fitting a law.

    Args:
        law: the law.
        columns: its variables in its order, shape (variables, rows).
        target: measured values of its output, shape (rows,).
        objective: what to minimise.
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
    )


def _fixed(tape: Tape, count: int, values: list[float]) -> Tape:
    """A tape whose inputs from `count` on have become constants."""
    from dataclasses import replace

    import sympy as sp

    steps = tuple(
        replace(step, op="constant", value=sp.Rational(repr(values[step.value - count])))
        if step.op == "input" and step.value >= count  # type: ignore[operator]
        else step
        for step in tape.instructions
    )
    return Tape(steps, count, tape.outputs)


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
