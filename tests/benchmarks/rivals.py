"""Fits that are written by hand for one law with SciPy, as well as they can be: what lawdsl is measured by.

Each rival is one law in the parametrisation of its paper, with everything precomputed that does not
change during a fit, and its exact gradient. `tuned` runs L-BFGS-B as a careful user would: bounds
that keep the law defined, the objective times 1e6, since SciPy's `ftol` is absolute below 1,
tolerances at rounding level, and steps back from where nothing is finite; of SciPy's other methods BFGS, SLSQP and TNC need more for the same
success. `published` runs it as the papers did, with SciPy's defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Array = NDArray[np.float64]
Objective = Callable[..., tuple[float, Array]]  # value and, unless it is left out, exact gradient

DELTA = 1e-3
SCALE = 1e6
TIGHT = {"maxiter": 20_000, "maxfun": 20_000, "maxcor": 20, "ftol": 1e-15, "gtol": 1e-9}
ABOVE = 1e-8  # the least value of what must be above 0
FAR = 1e12
NONE = np.zeros(0)


@dataclass(frozen=True)
class Rival:
    """One law, by hand.

    Attributes:
        of: the objective on a table, whose rows may count several times.
        bounds: of the parameters, where they must be kept for the law to have a value.
        axes: the published values at which each parameter starts; the grid is their product.
        near: ranges for starts of a user who has looked at the data, each price being that at the
            middle of its column.
        prices: of price and exponent the place among the parameters, and their column.
    """

    of: Callable[..., Objective]
    bounds: tuple[tuple[float | None, float | None], ...]
    axes: tuple[tuple[float, ...], ...]
    near: tuple[tuple[float, float], ...]
    prices: tuple[tuple[int, int, str], ...]

    @property
    def grid(self) -> int:
        """How many starts the published grid has."""
        return int(np.prod([len(axis) for axis in self.axes]))

    def published_starts(self, count: int, seed: int, inside: bool) -> Array:
        """Random starts of the grid; all of it, or what lies inside the bounds."""
        rng = np.random.default_rng(seed)
        columns = []
        for axis, (low, high) in zip(self.axes, self.bounds, strict=True):
            least = -np.inf if low is None else low
            most = np.inf if high is None else high
            choice = [x for x in axis if not inside or least < x < most]
            columns.append(rng.choice(choice, count))
        return np.stack(columns, axis=1)

    def starts_near(self, table: Mapping[str, Array], count: int, seed: int) -> Array:
        """Random starts of the size that the data suggest."""
        low, high = np.array(self.near).T
        starts = np.random.default_rng(seed).uniform(low, high, (count, len(low)))
        for price, exponent, column in self.prices:
            starts[:, price] += starts[:, exponent] * np.mean(np.log(table[column]))
        return starts


def tuned(rival: Rival, objective: Objective, start: Array) -> tuple[float, Array]:
    """What a careful user reaches from one start: objective and parameters."""

    def scaled(x: Array) -> tuple[float, Array]:
        value, gradient = objective(x)
        if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
            return FAR, np.zeros(len(x))  # the line search steps back
        return SCALE * value, SCALE * gradient

    with np.errstate(all="ignore"):
        found = minimize(
            scaled, start, jac=True, method="L-BFGS-B", bounds=rival.bounds, options=TIGHT
        )
    return _reached(found.fun / SCALE), found.x


def published(objective: Objective, exact: bool, start: Array) -> float:
    """What SciPy's defaults reach from one start, with exact or with approximate gradients."""
    with np.errstate(all="ignore"):
        if exact:
            found = minimize(objective, start, jac=True, method="L-BFGS-B")
        else:
            found = minimize(lambda x: objective(x, False)[0], start, method="L-BFGS-B")
    return _reached(found.fun)


def _reached(value: float) -> float:
    return float(value) if np.isfinite(value) else np.inf


def huber(residual: Array, counts: Array | float) -> tuple[float, Array]:
    """The sum of Huber's loss, and its derivative by each residual."""
    slope = np.clip(residual, -DELTA, DELTA)
    # within delta r²/2, beyond it delta*(|r| - delta/2): with the slope s both are s*(r - s/2)
    weighted = slope * counts
    return float(weighted @ (residual - 0.5 * slope)), weighted


def dcpt_objective(
    table: Mapping[str, Array], D_min: float, counts: Array | float = 1.0
) -> Objective:
    """The D-CPT Law, Que et al. 2024, appendix E.3, in (a, b, c1, e, alpha, beta, gamma, epsilon, eta1).

    A = exp(a), B = exp(b), E = exp(e), eta = 1 + exp(eta1), C = C0 + exp(c1), where C0 keeps the
    loss falling in r. Where r = 0, the term in D is 0.
    """
    logs_n, logs_d, r = np.log(table["N"]), np.log(table["D"]), table["r"]
    mask = np.where(r > 0, 1.0, 0.0)
    logs_r = np.log(np.where(r > 0, r, 1.0))
    target, floor = np.log(table["L"]), np.log(D_min)

    def objective(x: Array, slopes: bool = True) -> tuple[float, Array]:
        a, b, c1, e, alpha, beta, gamma, epsilon, eta1 = x
        excess = np.exp(eta1)
        shifted = r + epsilon
        logs_s = np.log(shifted)
        of_n = np.exp(a - alpha * logs_n)
        of_d = mask * np.exp(b + (1 + excess) * logs_r - beta * logs_d)
        power = np.exp(-gamma * logs_s)
        over = np.log1p(epsilon)
        c0 = np.exp(b + np.log1p(excess) + (gamma + 1) * over - np.log(gamma) - beta * floor)
        free, constant = np.exp(c1), np.exp(e)
        total = constant + of_n + of_d + (c0 + free) * power
        value, weight = huber(np.log(total) - target, counts)
        if not slopes:
            return value, NONE
        weight = weight / total
        by_a, by_b, by_c = weight * of_n, weight * of_d, weight * power
        of_a, of_b, of_c = by_a.sum(), by_b.sum(), by_c.sum()
        bound = c0 * of_c
        return value, np.array(
            [
                of_a,
                of_b + bound,
                free * of_c,
                constant * weight.sum(),
                -(by_a @ logs_n),
                -(by_b @ logs_d) - floor * bound,
                -(c0 + free) * (by_c @ logs_s) + bound * (over - 1 / gamma),
                -gamma * (c0 + free) * (by_c / shifted).sum() + bound * (gamma + 1) / (1 + epsilon),
                excess * (by_b @ logs_r + bound / (1 + excess)),
            ]
        )

    return objective


def _steps(first: float, last: float, step: float) -> tuple[float, ...]:
    return tuple(float(x) for x in np.arange(first, last + step / 2, step))


DCPT = Rival(
    dcpt_objective,
    bounds=(*[(None, None)] * 4, (0, None), (0, None), (ABOVE, None), (ABOVE, None), (None, None)),
    axes=(
        *[_steps(-1, 5, 1)] * 3,
        _steps(-1, 1, 0.5),
        *[_steps(-0.5, 0.5, 0.5)] * 3,
        (0.0, 0.5),
        _steps(-0.5, 0.5, 0.5),
    ),
    near=((-2, 1), (-4, 0), (-3, 1), (-1, 1), *[(0.1, 1)] * 3, (0.02, 0.5), (-1, 0.5)),
    prices=((0, 4, "N"), (1, 5, "D")),
)


def chinchilla_objective(table: Mapping[str, Array], counts: Array | float = 1.0) -> Objective:
    """Chinchilla, Hoffmann et al. 2022, appendix D.2, in (e, a, alpha, b, beta)."""
    logs_n, logs_d, target = np.log(table["N"]), np.log(table["D"]), np.log(table["L"])

    def objective(x: Array, slopes: bool = True) -> tuple[float, Array]:
        e, a, alpha, b, beta = x
        of_n, of_d, constant = np.exp(a - alpha * logs_n), np.exp(b - beta * logs_d), np.exp(e)
        total = constant + of_n + of_d
        value, weight = huber(np.log(total) - target, counts)
        if not slopes:
            return value, NONE
        weight = weight / total
        by_a, by_b = weight * of_n, weight * of_d
        return value, np.array(
            [
                constant * weight.sum(),
                by_a.sum(),
                -(by_a @ logs_n),
                by_b.sum(),
                -(by_b @ logs_d),
            ]
        )

    return objective


CHINCHILLA = Rival(
    chinchilla_objective,
    bounds=((None, None), (None, None), (0, None), (None, None), (0, None)),
    axes=(
        _steps(-1, 1, 0.5),
        _steps(0, 25, 5),
        _steps(0, 2, 0.5),
        _steps(0, 25, 5),
        _steps(0, 2, 0.5),
    ),
    near=((-1, 1), (-3, 1), (0.1, 1), (-3, 1), (0.1, 1)),
    prices=((1, 2, "N"), (3, 4, "D")),
)
