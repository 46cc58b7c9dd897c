"""Laws of other fields, without declared starts: the default fit is as good as one from the truth.

Each law is simulated by a formula of NumPy with known parameters. A search succeeds where it reaches an
objective no worse than a descent from these parameters does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from planted import law_of

import lawdsl

GOOD = 1.001  # times the objective that the truth leads to
log, exp, tanh = np.log, np.exp, np.tanh


@dataclass(frozen=True)
class Known:
    """A law of the literature, its parameters, and where it is measured.

    Attributes:
        domains: declarations of the parameters.
        law: the law's formula.
        truth: parameter -> value.
        formula: the same in NumPy.
        columns: variable -> its lowest and highest value, and whether it is spread by logarithms.
        noise: relative to the spread of the output.
    """

    domains: str
    law: str
    truth: Mapping[str, float]
    formula: Callable[..., Any]
    columns: Mapping[str, tuple[float, float, bool]]
    noise: float = 0.01
    rows: int = 60

    def table(self, seed: int) -> dict[str, np.ndarray]:
        """A simulated table: one variable in even steps, several at random."""
        draw = np.random.default_rng(seed)
        made = {}
        for name, (low, high, by_logs) in self.columns.items():
            share = draw.uniform(size=self.rows)
            if len(self.columns) == 1:
                share = np.linspace(0, 1, self.rows)
            ends = (log(low), log(high)) if by_logs else (low, high)
            made[name] = ends[0] + (ends[1] - ends[0]) * share
            made[name] = exp(made[name]) if by_logs else made[name]
        exact = self.formula(**made, **self.truth)
        return {**made, "L": exact + self.noise * np.std(exact) * draw.normal(size=self.rows)}

    def text(self) -> str:
        """The law's declarations."""
        bounded = all(low > 0 for low, _, _ in self.columns.values())
        variables = f"variable {', '.join(self.columns)}{' > 0' if bounded else ''}"
        return f"{variables}\n{self.domains}\nL = {self.law}\nminimize squared(L)"


LINE = {"x": (4.0, 250.0, False)}
UNIT = {"x": (-3.0, 7.0, False)}
DOSE = {"x": (0.01, 300.0, True)}
SIZES = {"N": (1e8, 6e9, True), "D": (1e9, 2e11, True)}
SHARES = {**SIZES, "r": (0.05, 1.0, False)}


def peak(x: Any, d: float, w: float) -> Any:
    return exp(-(((x - d) / w) ** 2))


PEAKS = {
    "one on a constant": Known(
        "parameter a, c, d, w",
        "a + c*exp(-(x - d)^2/w^2)",
        {"a": 5, "c": 20, "d": 80, "w": 9},
        lambda x, a, c, d, w: a + c * peak(x, d, w),
        LINE,
    ),
    "one on a line": Known(
        "parameter a, b, c, d\nparameter w > 0",
        "a + b*x + c*exp(-(x - d)^2/(2*w^2))",
        {"a": 5, "b": 0.1, "c": -12, "d": 180, "w": 8},
        lambda x, a, b, c, d, w: a + b * x + c * peak(x, d, w * 2**0.5),
        LINE,
    ),
    "two on a constant": Known(
        "parameter a, c, d, e, f, g, h",
        "a + c*exp(-(x - d)^2/e^2) + f*exp(-(x - g)^2/h^2)",
        {"a": 2, "c": 10, "d": 1, "e": 0.9, "f": 7, "g": 2.6, "h": 0.8},
        lambda x, a, c, d, e, f, g, h: a + c * peak(x, d, e) + f * peak(x, g, h),
        UNIT,
    ),
    "Cauchy": Known(
        "parameter a, c, d\nparameter w > 0",
        "a + c/(1 + ((x - d)/w)^2)",
        {"a": 1, "c": 4, "d": -1.5, "w": 0.3},
        lambda x, a, c, d, w: a + c / (1 + ((x - d) / w) ** 2),
        UNIT,
    ),
    "one on an exponential": Known(
        "parameter a, b, c, d, w",
        "a*exp(-b*x) + c*exp(-(x - d)^2/w^2)",
        {"a": 90, "b": 0.01, "c": 50, "d": 120, "w": 15},
        lambda x, a, b, c, d, w: a * exp(-b * x) + c * peak(x, d, w),
        LINE,
    ),
    "lognormal": Known(
        "parameter a, c, m\nparameter s > 0",
        "a + c*exp(-(log(x) - m)^2/(2*s^2))",
        {"a": 1, "c": 3, "m": 1.2, "s": 0.4},
        lambda x, a, c, m, s: a + c * peak(log(x), m, s * 2**0.5),
        DOSE,
    ),
    "two lognormal": Known(
        "parameter c, m, f, n\nparameter s, t > 0",
        "c*exp(-(log(x) - m)^2/(2*s^2)) + f*exp(-(log(x) - n)^2/(2*t^2))",
        {"c": 3, "m": -2, "s": 0.7, "f": 5, "n": 2, "t": 0.9},
        lambda x, c, m, s, f, n, t: (
            c * peak(log(x), m, s * 2**0.5) + f * peak(log(x), n, t * 2**0.5)
        ),
        DOSE,
    ),
    "one on a power": Known(
        "parameter a, k, c, d, w",
        "a*x^(-k) + c*exp(-(x - d)^2/w^2)",
        {"a": 40, "k": 0.6, "c": 6, "d": 160, "w": 12},
        lambda x, a, k, c, d, w: a * x**-k + c * peak(x, d, w),
        LINE,
    ),
    "sech": Known(
        "parameter a, c, d, w",
        "a + c*(1 - tanh((x - d)/w)^2)",
        {"a": 2, "c": 5, "d": 3, "w": 0.8},
        lambda x, a, c, d, w: a + c * (1 - tanh((x - d) / w) ** 2),
        UNIT,
    ),
    "narrow": Known(
        "parameter a, c, d, w",
        "a + c*exp(-(x - d)^2/w^2)",
        {"a": 5, "c": 20, "d": 201, "w": 5},
        lambda x, a, c, d, w: a + c * peak(x, d, w),
        LINE,
        rows=120,
    ),
}
CURVES = {
    "Hill": Known(
        "parameter a, b\nparameter K, n > 0",
        "a + b*x^n/(K^n + x^n)",
        {"a": 1, "b": 9, "K": 4, "n": 1.7},
        lambda x, a, b, K, n: a + b * x**n / (K**n + x**n),
        DOSE,
    ),
    "logistic": Known(
        "parameter a, b, m\nparameter s > 0",
        "a + b/(1 + exp(-(x - m)/s))",
        {"a": 2, "b": -6, "m": 130, "s": 9},
        lambda x, a, b, m, s: a + b / (1 + exp(-(x - m) / s)),
        LINE,
    ),
    "logistic in logarithms": Known(
        "parameter a, b, m, k",
        "a + b/(1 + exp(-k*(log(x) - m)))",
        {"a": 0, "b": 1, "m": -1, "k": 2.5},
        lambda x, a, b, m, k: a + b / (1 + exp(-k * (log(x) - m))),
        DOSE,
    ),
    "bowl above a floor": Known(
        "parameter E, p, q, s",
        "E + exp(p + q*log(x) + s*log(x)^2)",
        {"E": 2, "p": -1, "q": -0.3, "s": 0.08},
        lambda x, E, p, q, s: E + exp(p + q * log(x) + s * log(x) ** 2),
        DOSE,
    ),
    "surface of two": Known(
        "parameter a, b, c, d, e, f",
        "exp(a + b*log(N) + c*log(D) + d*log(N)^2 + e*log(D)^2 + f*log(N)*log(D))",
        {"a": 20, "b": -1.1, "c": -0.7, "d": 0.02, "e": 0.01, "f": 0.01},
        lambda N, D, a, b, c, d, e, f: exp(
            a + b * log(N) + c * log(D) + d * log(N) ** 2 + e * log(D) ** 2 + f * log(N) * log(D)
        ),
        SIZES,
    ),
    "surface of three": Known(
        "parameter a, b, c, d, e, f, g",
        "exp(a + b*log(N) + c*log(D) + d*r + e*log(N)^2 + f*log(D)^2 + g*r^2)",
        {"a": 15, "b": -0.7, "c": -0.5, "d": -1, "e": 0.015, "f": 0.009, "g": 0.6},
        lambda N, D, r, a, b, c, d, e, f, g: exp(
            a + b * log(N) + c * log(D) + d * r + e * log(N) ** 2 + f * log(D) ** 2 + g * r**2
        ),
        SHARES,
    ),
    "Gompertz": Known(
        "parameter a, b, c",
        "a*exp(-b*exp(-c*x))",
        {"a": 12, "b": 8, "c": 0.03},
        lambda x, a, b, c: a * exp(-b * exp(-c * x)),
        LINE,
    ),
    "Weibull": Known(
        "parameter a, b\nparameter k, n > 0",
        "a - b*exp(-(x/k)^n)",
        {"a": 10, "b": 8, "k": 70, "n": 2.2},
        lambda x, a, b, k, n: a - b * exp(-((x / k) ** n)),
        LINE,
    ),
    "hyperbolic tangent": Known(
        "parameter a, b, m, w",
        "a + b*tanh((x - m)/w)",
        {"a": 3, "b": 2, "m": 4, "w": 0.7},
        lambda x, a, b, m, w: a + b * tanh((x - m) / w),
        UNIT,
    ),
    "logistic of two": Known(
        "parameter a, b, u, v, w",
        "a + b/(1 + exp(-(u + v*log(N) + w*log(D))))",
        {"a": 1, "b": 3, "u": 46, "v": -1.1, "w": -0.9},
        lambda N, D, a, b, u, v, w: a + b / (1 + exp(-(u + v * log(N) + w * log(D)))),
        SIZES,
    ),
}
EXPONENTS = {
    "broken power": Known(
        "parameter a, b, c, k, d, f > 0",
        "a + b*x^(-c)*(1 + (x/d)^(1/f))^(-k*f)",
        {"a": 0.5, "b": 2, "c": 0.15, "k": 0.7, "d": 3, "f": 0.3},
        lambda x, a, b, c, k, d, f: a + b * x**-c * (1 + (x / d) ** (1 / f)) ** (-k * f),
        DOSE,
        0.003,
        120,
    ),
    "exponent in the logarithm of another": Known(
        "parameter E, A, p, q",
        "E + A*D^(-(p + q*log(N)))",
        {"E": 1.5, "A": 900, "p": 0.05, "q": 0.012},
        lambda N, D, E, A, p, q: E + A * D ** (-(p + q * log(N))),
        SIZES,
    ),
    "exponent in a power of another": Known(
        "parameter B, A, a, e, E",
        "E + exp(B)*D^(-exp(A*N^a + e))",
        {"B": 7, "A": -60, "a": -0.25, "e": -0.9, "E": 1},
        lambda N, D, B, A, a, e, E: E + exp(B) * D ** (-exp(A * N**a + e)),
        SIZES,
    ),
    "exponent in a share": Known(
        "parameter E, A, p, q",
        "E + A/N^(p + q*r)",
        {"E": 1.2, "A": 300, "p": 0.25, "q": 0.1},
        lambda N, D, r, E, A, p, q: E + A / N ** (p + q * r),
        SHARES,
    ),
    "sum of exponentials": Known(
        "parameter a, alpha, b, beta, e",
        "exp(a - alpha*log(N)) + exp(b - beta*log(D)) + exp(e)",
        {"a": 6, "alpha": 0.34, "b": 6, "beta": 0.28, "e": 0.5},
        lambda N, D, a, alpha, b, beta, e: exp(a) / N**alpha + exp(b) / D**beta + exp(e),
        SIZES,
    ),
    "Kaplan": Known(
        "parameter Nc, p, Dc, q > 0",
        "((Nc/N)^(p/q) + Dc/D)^q",
        {"Nc": 8.8e13, "p": 0.076, "Dc": 5.4e13, "q": 0.095},
        lambda N, D, Nc, p, Dc, q: ((Nc / N) ** (p / q) + Dc / D) ** q,
        SIZES,
    ),
    "stretched exponential": Known(
        "parameter E, A\nparameter k, g > 0",
        "E + A*exp(-k*x^g)",
        {"E": 1, "A": 4, "k": 0.6, "g": 0.5},
        lambda x, E, A, k, g: E + A * exp(-k * x**g),
        DOSE,
    ),
    "two factors": Known(
        "parameter E, A, a, b, c",
        "E + A*N^(-a)*exp(-(b + c*r)*log(D))",
        {"E": 1.3, "A": 3e4, "a": 0.2, "b": 0.2, "c": 0.1},
        lambda N, D, r, E, A, a, b, c: E + A * N**-a * exp(-(b + c * r) * log(D)),
        SHARES,
    ),
    "size in every exponent": Known(
        "parameter s, q, S, B, b, Q, p",
        "exp(s*N^q + S) + exp(B*N^b + Q)*D^(-p)",
        {"s": -0.3, "q": 0.09, "S": 1.6, "B": 40, "b": -0.12, "Q": 3, "p": 0.4},
        lambda N, D, s, q, S, B, b, Q, p: exp(s * N**q + S) + exp(B * N**b + Q) * D**-p,
        SIZES,
    ),
    "offset power": Known(
        "parameter E, A\nparameter x0, g > 0",
        "E + A/(x + x0)^g",
        {"E": 1, "A": 3, "x0": 5, "g": 1.4},
        lambda x, E, A, x0, g: E + A / (x + x0) ** g,
        DOSE,
    ),
}
KINDS = {"peaks": PEAKS, "curves": CURVES, "exponents": EXPONENTS}


def reaches_the_truth(known: Known, seed: int) -> bool:
    """Whether the default fit is as good as the one that begins at the truth."""
    law, table = law_of(known.text()), known.table(seed)
    assert np.all(np.isfinite(table["L"]))
    best = lawdsl.fit(law, table, starts=dict(known.truth), claims=False).objective.sum
    return lawdsl.fit(law, table, seed=seed, claims=False).objective.sum <= best * GOOD


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("peaks", "two on a constant"),
        ("peaks", "one on an exponential"),
        ("curves", "surface of two"),
        ("curves", "logistic of two"),
        ("exponents", "exponent in a power of another"),
    ],
)
def test_a_law_without_declared_starts_is_fitted_as_from_its_true_parameters(kind: str, name: str):
    assert reaches_the_truth(KINDS[kind][name], 0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_how_often_laws_without_declared_starts_are_fitted_as_from_the_truth(
    kind: str, record_property
):
    seeds = range(3)
    missed = [
        (name, seed)
        for name, known in KINDS[kind].items()
        for seed in seeds
        if not reaches_the_truth(known, seed)
    ]
    tried = len(KINDS[kind]) * len(seeds)
    record_property("figure", f"{kind}: {tried - len(missed)} of {tried} searches; missed {missed}")

    assert len(missed) <= 0.05 * tried


NINE = Known(
    "parameter E, s, S, B, b, Q, A, q, a",
    "exp(s*N^q + S) + exp(B*N^b + Q)*D^(-exp(A*N^a + E))",
    {"s": -0.3, "q": 0.09, "S": 1.6, "B": 40, "b": -0.12, "Q": 3, "A": -60, "a": -0.25, "E": -0.6},
    lambda N, D, E, s, S, B, b, Q, A, q, a: (
        exp(s * N**q + S) + exp(B * N**b + Q) * D ** (-exp(A * N**a + E))
    ),
    SIZES,
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_nine_parameters_of_which_the_rows_determine_eight(seed: int):
    """In a valley so flat that no search reaches its floor, the fit is as good as from the truth to
    1 %, and is not trusted."""
    law, table = law_of(NINE.text()), NINE.table(seed)
    best = lawdsl.fit(law, table, starts=dict(NINE.truth), claims=False)

    fit = lawdsl.fit(law, table, seed=seed, claims=False)

    assert fit.objective.sum <= best.objective.sum * 1.01
    assert fit.agreement.agreed >= 5 or fit.verdict != "trusted"
