"""Searches that solve for e^S in place of S, where the law is linear in e^S."""

from __future__ import annotations

import numpy as np
import pytest
from planted import law_of
from scipy.optimize import least_squares

import lawdsl
from lawdsl.fitting.preparation.symbolic_linearity import exponentials_as_factors

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(0, 2, 60), RNG.uniform(0, 30, 60)


def test_a_parameter_that_also_occurs_outside_of_exponentials_is_not_solved_for():
    """Else exp(S + t*x) + S*y would be searched as e^S*exp(t*x) + e^S*y, which is another law."""
    law = law_of("variable x, y\nparameter S, t\nL = exp(S + t*x) + S*y")

    assert exponentials_as_factors(law) is None


def test_a_parameter_of_exponentials_alone_is_solved_for():
    law = law_of("variable x, y\nparameter S, t\nL = exp(S + t*x) + y*exp(S)")
    expression, solved = exponentials_as_factors(law) or (None, ())

    assert [s.name for s in solved] == ["S"]
    values = {"x": 0.7, "y": 1.9, "t": -0.4}
    own = {law.symbols[name]: value for name, value in values.items()}
    S = law.symbols["S"]
    expected = law.expression.xreplace({**own, S: 0.3})
    assert float(expression.xreplace({**own, S: np.exp(0.3)})) == pytest.approx(float(expected))


@pytest.mark.parametrize("S", [0.5, -1.0])
def test_a_law_with_such_a_parameter_is_fitted_to_its_minimum(S: float):
    """The data are those of the other law, on which the two differ most."""
    loss = np.exp(S) * (np.exp(0.5 * X) + Y) + 0.01 * np.random.default_rng(1).normal(size=60)
    law = law_of("variable x, y\nparameter S, t\nL = exp(S + t*x) + S*y\nminimize squared(L)")
    fit = lawdsl.fit(law, {"x": X, "y": Y, "L": loss}, claims=False)

    def residuals(p: np.ndarray) -> np.ndarray:
        return np.exp(p[0] + p[1] * X) + p[0] * Y - loss

    best = min(2 * least_squares(residuals, [s, 0.1]).cost for s in (-1.0, 0.0, 1.0))
    assert fit.objective.sum <= best * (1 + 1e-6)
