"""Laws of the literature with planted parameters, at the scale of raw columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from simulated import Case
from test_default_search import KINDS, NINE, Known

Array = np.ndarray
exp, log = np.exp, np.log

LR_BATCH = {"lr": (2e-4, 8e-3, True), "B": (3e4, 4e6, True)}
SIZES = {"N": (6e7, 3e9, True), "D": (1e9, 1e11, True)}


def raw_form(
    a: float, b: float, c: float, d: float, e: float, f: float, **at: float
) -> dict[str, float]:
    """The coefficients of a quadratic form in two logarithms, from those about a point."""
    u, v = log(list(at.values()))
    return {
        "a": a - b * u - c * v + d * u**2 + e * v**2 + f * u * v,
        "b": b - 2 * d * u - f * v,
        "c": c - 2 * e * v - f * u,
        "d": d,
        "e": e,
        "f": f,
    }


def form(x: Any, y: Any, a: float, b: float, c: float, d: float, e: float, f: float) -> Any:
    return a + b * log(x) + c * log(y) + d * log(x) ** 2 + e * log(y) ** 2 + f * log(x) * log(y)


FORM = "a + b*log({0}) + c*log({1}) + d*log({0})^2 + e*log({1})^2 + f*log({0})*log({1})"
BOWL = raw_form(-2.5, 0.1, -0.2, 0.8, 0.3, -0.3, lr=1e-3, B=3e5)
STEEP = raw_form(-1.0, -0.8, 0.5, 0.3, 0.15, -0.2, lr=1e-3, B=3e5)
SURFACE = raw_form(1.1, -0.12, -0.1, 0.02, 0.012, 0.01, N=4e8, D=1e10)
MODEL = raw_form(-0.5, -0.4, -0.3, 0.05, 0.04, 0.03, N=4e8, D=1e10)
RAW: dict[str, Known] = {
    "exp of a quadratic form": Known(
        "parameter E, a, b, c, d, e, f",
        f"E + exp({FORM.format('lr', 'B')})",
        {"E": 2.1, **BOWL},
        lambda lr, B, E, **form_of: E + exp(form(lr, B, **form_of)),
        LR_BATCH,
        0.02,
        120,
    ),
    "exp of a steep quadratic form": Known(
        "parameter E, a, b, c, d, e, f",
        f"E + exp({FORM.format('lr', 'B')})",
        {"E": 2.1, **STEEP},
        lambda lr, B, E, **form_of: E + exp(form(lr, B, **form_of)),
        LR_BATCH,
        0.02,
        120,
    ),
    "exp of a quadratic form above 0": Known(
        "parameter a, b, c, d, e, f",
        f"exp({FORM.format('N', 'D')})",
        SURFACE,
        lambda N, D, **form_of: exp(form(N, D, **form_of)),
        SIZES,
        0.02,
        60,
    ),
    "factor times exp of a quadratic form": Known(
        "parameter k, b, c, d, e, f",
        f"k*exp({FORM.format('N', 'D').removeprefix('a + ')})",
        {"k": float(exp(SURFACE["a"])), **{k: v for k, v in SURFACE.items() if k != "a"}},
        lambda N, D, k, **form_of: k * exp(form(N, D, 0.0, **form_of)),
        SIZES,
        0.02,
        60,
    ),
    "floor and factor times exp of a form": Known(
        "parameter E, k > 0\nparameter b, c, d, e, f",
        f"E + k*exp({FORM.format('N', 'D').removeprefix('a + ')})",
        {"E": 1.5, "k": float(exp(MODEL["a"])), **{k: v for k, v in MODEL.items() if k != "a"}},
        lambda N, D, E, k, **form_of: E + k * exp(form(N, D, 0.0, **form_of)),
        SIZES,
        0.02,
        80,
    ),
    "optimum of batch size": Known(
        "parameter E, k, p, q, w",
        "E + k*exp(-(log(B) - p - q*log(D))^2/w^2)",
        {"E": 3.0, "k": -0.8, "p": 1.0, "q": 0.5, "w": 1.1},
        lambda B, D, E, k, p, q, w: E + k * exp(-((log(B) - p - q * log(D)) ** 2) / w**2),
        {"B": (3e4, 4e6, True), "D": (1e9, 1e11, True)},
        0.02,
        80,
    ),
    "two exponents (Farseer)": Known(
        "parameter a3, g, b3, a2, b, b2, a1, a, b1",
        "exp(a3*N^g + b3) + exp(a2*N^b + b2)*D^(-exp(a1*N^a + b1))",
        {"a3": -0.021, "g": 0.169, "b3": 1.45, "a2": 88.01, "b": -0.1, "b2": -5.6}
        | {"a1": -0.124, "a": 0.123, "b1": 0.424},
        lambda N, D, a3, g, b3, a2, b, b2, a1, a, b1: (
            exp(a3 * N**g + b3) + exp(a2 * N**b + b2) * D ** (-exp(a1 * N**a + b1))
        ),
        {"N": (2e8, 6.4e9, True), "D": (2e9, 2e11, True)},
        0.003,
        150,
    ),
    "nine parameters": NINE,
    "vocabulary": Known(
        "parameter E, A1, A2, B\nparameter a1, a2, b > 0",
        "-E + A1/N^a1 + A2/V^a2 + B/D^b",
        {"E": 5.53, "A1": 1.84, "a1": 0.45, "A2": 0.19, "a2": 0.67, "B": 2.06, "b": 0.46},
        lambda N, V, D, E, A1, A2, B, a1, a2, b: -E + A1 / N**a1 + A2 / V**a2 + B / D**b,
        {"N": (0.03, 3.0, True), "V": (0.004, 0.1, True), "D": (0.1, 30.0, True)},
        0.02,
        120,
    ),
}


def _known_case(name: str, known: Known, seed: int = 0) -> Case:
    return Case(name, known.text(), known.table(seed), truth=known.truth)


PLANTED_CASES = [
    *(_known_case(name, known) for name, known in RAW.items()),
    *(
        _known_case(f"{kind}: {name}", known)
        for kind, named in KINDS.items()
        for name, known in named.items()
    ),
]
