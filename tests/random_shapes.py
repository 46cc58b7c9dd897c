"""Laws of the literature with random parameters, at random scales of their columns and outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from simulated import Case

exp, log = np.exp, np.log


@dataclass(frozen=True)
class Shape:
    """A law of the literature, for columns and parameters of order 1.

    Attributes:
        law: its formula; `{N}` and so on are columns, divided by their scales in the truth.
        domains: declarations of the parameters.
        truth: parameters for columns of order 1.
        scaled: the parameters for columns times their scales, and outputs times theirs.
        formula: the same in NumPy.
        columns: variable -> its lowest and highest value, and whether it is spread by logarithms.
        positive: whether the output is above 0, so that logarithms can be compared.
        rows: the number of rows.
    """

    domains: str
    law: str
    truth: Callable[[np.random.Generator], Mapping[str, float]]
    scaled: Callable[..., Mapping[str, float]]
    formula: Callable[..., Any]
    columns: Mapping[str, tuple[float, float, bool]]
    positive: bool = True
    rows: int = 60


def uniform(draw: np.random.Generator, **ranges: tuple[float, float]) -> dict[str, float]:
    return {name: float(draw.uniform(*ends)) for name, ends in ranges.items()}


WIDE = (1.0, 300.0, True)
ONE = (0.0, 10.0, False)
UP = (0.3, 30.0, True)
SHAPES: dict[str, Shape] = {
    "power": Shape(
        "parameter E, A, a > 0",
        "E + A/N^a",
        lambda r: uniform(r, E=(0.5, 2), A=(0.5, 4), a=(0.2, 1)),
        lambda p, y, N: {**p, "E": y * p["E"], "A": y * p["A"] * N ** p["a"]},
        lambda N, E, A, a: E + A / N**a,
        {"N": WIDE},
    ),
    "Chinchilla": Shape(
        "parameter E, A, B, a, b > 0",
        "E + A/N^a + B/D^b",
        lambda r: uniform(r, E=(1, 2), A=(0.5, 4), B=(0.5, 4), a=(0.2, 0.8), b=(0.2, 0.8)),
        lambda p, y, N, D: (
            {**p, "E": y * p["E"], "A": y * p["A"] * N ** p["a"], "B": y * p["B"] * D ** p["b"]}
        ),
        lambda N, D, E, A, B, a, b: E + A / N**a + B / D**b,
        {"N": WIDE, "D": WIDE},
    ),
    "Chinchilla in logarithms": Shape(
        "parameter e, s, t, a, b",
        "exp(e) + exp(s - a*log(N)) + exp(t - b*log(D))",
        lambda r: uniform(r, e=(0, 0.7), s=(0, 1.5), t=(0, 1.5), a=(0.2, 0.8), b=(0.2, 0.8)),
        lambda p, y, N, D: {
            **p,
            "e": p["e"] + log(y),
            "s": p["s"] + log(y) + p["a"] * log(N),
            "t": p["t"] + log(y) + p["b"] * log(D),
        },
        lambda N, D, e, s, t, a, b: exp(e) + exp(s - a * log(N)) + exp(t - b * log(D)),
        {"N": WIDE, "D": WIDE},
    ),
    "Kaplan": Shape(
        "parameter n, m, p, q > 0",
        "((n/N)^(p/q) + m/D)^q",
        lambda r: uniform(r, n=(3, 30), m=(3, 30), p=(0.1, 0.4), q=(0.1, 0.5)),
        lambda p, y, N, D: {
            **p,
            "n": p["n"] * N * y ** (1 / p["p"]),
            "m": p["m"] * D * y ** (1 / p["q"]),
        },
        lambda N, D, n, m, p, q: ((n / N) ** (p / q) + m / D) ** q,
        {"N": WIDE, "D": WIDE},
    ),
    "broken power": Shape(
        "parameter b, c, k, d, f > 0",
        "b*x^(-c)*(1 + (x/d)^(1/f))^(-k*f)",
        lambda r: uniform(r, b=(1, 3), c=(0.1, 0.4), k=(0.3, 1), d=(2, 6), f=(0.1, 0.4)),
        lambda p, y, x: {**p, "b": y * p["b"] * x ** p["c"], "d": p["d"] * x},
        lambda x, b, c, k, d, f: b * x**-c * (1 + (x / d) ** (1 / f)) ** (-k * f),
        {"x": (0.1, 100.0, True)},
        rows=100,
    ),
    "offset power": Shape(
        "parameter E, A, x0, g > 0",
        "E + A/(x + x0)^g",
        lambda r: uniform(r, E=(0.5, 2), A=(2, 6), x0=(0.5, 3), g=(0.5, 1.5)),
        lambda p, y, x: {**p, "E": y * p["E"], "A": y * p["A"] * x ** p["g"], "x0": p["x0"] * x},
        lambda x, E, A, x0, g: E + A / (x + x0) ** g,
        {"x": UP},
    ),
    "Bennett": Shape(
        "parameter b1, b2, b3",
        "b1*(b2 + x)^(-1/b3)",
        lambda r: uniform(r, b1=(2, 9), b2=(2, 8), b3=(0.7, 2)),
        lambda p, y, x: {
            "b1": y * p["b1"] * x ** (1 / p["b3"]),
            "b2": p["b2"] * x,
            "b3": p["b3"],
        },
        lambda x, b1, b2, b3: b1 * (b2 + x) ** (-1 / b3),
        {"x": ONE},
    ),
    "exp of a quotient": Shape(
        "parameter b1, b2, b3",
        "b1*exp(b2/(x + b3))",
        lambda r: uniform(r, b1=(0.1, 1), b2=(10, 40), b3=(3, 8)),
        lambda p, y, x: {"b1": y * p["b1"], "b2": p["b2"] * x, "b3": p["b3"] * x},
        lambda x, b1, b2, b3: b1 * exp(b2 / (x + b3)),
        {"x": ONE},
    ),
    "rational": Shape(
        "parameter b1, b2, b3, b4, b5",
        "(b1 + b2*x + b3*x^2)/(1 + b4*x + b5*x^2)",
        lambda r: uniform(
            r, b1=(0.5, 2), b2=(0.2, 2), b3=(0.05, 0.5), b4=(0.1, 0.6), b5=(0.02, 0.2)
        ),
        lambda p, y, x: {
            "b1": y * p["b1"],
            "b2": y * p["b2"] / x,
            "b3": y * p["b3"] / x**2,
            "b4": p["b4"] / x,
            "b5": p["b5"] / x**2,
        },
        lambda x, b1, b2, b3, b4, b5: (b1 + b2 * x + b3 * x**2) / (1 + b4 * x + b5 * x**2),
        {"x": ONE},
    ),
    "peak": Shape(
        "parameter a, c, d, w",
        "a + c*exp(-(x - d)^2/w^2)",
        lambda r: uniform(r, a=(0.5, 2), c=(1, 5), d=(1, 9), w=(0.3, 1.5)),
        lambda p, y, x: {"a": y * p["a"], "c": y * p["c"], "d": p["d"] * x, "w": p["w"] * x},
        lambda x, a, c, d, w: a + c * exp(-((x - d) ** 2) / w**2),
        {"x": ONE},
        rows=80,
    ),
    "two peaks on an exponential": Shape(
        "parameter b1, b2, b3, b4, b5, b6, b7, b8",
        "b1*exp(-b2*x) + b3*exp(-(x - b4)^2/b5^2) + b6*exp(-(x - b7)^2/b8^2)",
        lambda r: uniform(
            r,
            b1=(4, 9),
            b2=(0.1, 0.3),
            b3=(2, 6),
            b4=(2, 4),
            b5=(0.4, 0.9),
            b6=(2, 6),
            b7=(6, 8),
            b8=(0.4, 0.9),
        ),
        lambda p, y, x: {
            k: v * (y if k in ("b1", "b3", "b6") else 1 / x if k == "b2" else x)
            for k, v in p.items()
        },
        lambda x, b1, b2, b3, b4, b5, b6, b7, b8: (
            b1 * exp(-b2 * x)
            + b3 * exp(-((x - b4) ** 2) / b5**2)
            + b6 * exp(-((x - b7) ** 2) / b8**2)
        ),
        {"x": ONE},
        rows=150,
    ),
    "two exponentials": Shape(
        "parameter a, b, c, d",
        "a*exp(-b*x) + c*exp(-d*x)",
        lambda r: uniform(r, a=(1, 5), b=(0.1, 0.3), c=(1, 5), d=(0.9, 2)),
        lambda p, y, x: {"a": y * p["a"], "b": p["b"] / x, "c": y * p["c"], "d": p["d"] / x},
        lambda x, a, b, c, d: a * exp(-b * x) + c * exp(-d * x),
        {"x": ONE},
    ),
    "Hill": Shape(
        "parameter a, b\nparameter K, n > 0",
        "a + b*x^n/(K^n + x^n)",
        lambda r: uniform(r, a=(0.5, 2), b=(2, 8), K=(1, 8), n=(1, 3)),
        lambda p, y, x: {**p, "a": y * p["a"], "b": y * p["b"], "K": p["K"] * x},
        lambda x, a, b, K, n: a + b * x**n / (K**n + x**n),
        {"x": UP},
    ),
    "logistic": Shape(
        "parameter b1, b2, b3",
        "b1/(1 + exp(b2 - b3*x))",
        lambda r: uniform(r, b1=(1, 5), b2=(2, 6), b3=(0.6, 1.5)),
        lambda p, y, x: {"b1": y * p["b1"], "b2": p["b2"], "b3": p["b3"] / x},
        lambda x, b1, b2, b3: b1 / (1 + exp(b2 - b3 * x)),
        {"x": ONE},
    ),
    "Gompertz": Shape(
        "parameter a, b, c",
        "a*exp(-b*exp(-c*x))",
        lambda r: uniform(r, a=(1, 5), b=(2, 8), c=(0.4, 1)),
        lambda p, y, x: {"a": y * p["a"], "b": p["b"], "c": p["c"] / x},
        lambda x, a, b, c: a * exp(-b * exp(-c * x)),
        {"x": ONE},
    ),
    "stretched exponential": Shape(
        "parameter E, A\nparameter k, g > 0",
        "E + A*exp(-(x/k)^g)",
        lambda r: uniform(r, E=(0.5, 2), A=(1, 5), k=(1, 5), g=(0.4, 1.5)),
        lambda p, y, x: {**p, "E": y * p["E"], "A": y * p["A"], "k": p["k"] * x},
        lambda x, E, A, k, g: E + A * exp(-((x / k) ** g)),
        {"x": UP},
    ),
    "bowl": Shape(
        "parameter E, a, b, c",
        "E + exp(a + b*log(x) + c*log(x)^2)",
        lambda r: uniform(r, E=(0.5, 2), a=(-1, 1), b=(-0.5, 0.5), c=(0.1, 0.4)),
        lambda p, y, x: {
            "E": y * p["E"],
            "a": p["a"] + log(y) - p["b"] * log(x) + p["c"] * log(x) ** 2,
            "b": p["b"] - 2 * p["c"] * log(x),
            "c": p["c"],
        },
        lambda x, E, a, b, c: E + exp(a + b * log(x) + c * log(x) ** 2),
        {"x": UP},
    ),
    "surface": Shape(
        "parameter k, b, c, d, e, f",
        "k*exp(b*log(N) + c*log(D) + d*log(N)^2 + e*log(D)^2 + f*log(N)*log(D))",
        lambda r: uniform(
            r,
            k=(1, 5),
            b=(-0.5, 0.2),
            c=(-0.5, 0.2),
            d=(0.01, 0.06),
            e=(0.01, 0.06),
            f=(-0.02, 0.02),
        ),
        lambda p, y, N, D: {
            **p,
            "k": y
            * p["k"]
            * exp(
                -p["b"] * log(N)
                - p["c"] * log(D)
                + p["d"] * log(N) ** 2
                + p["e"] * log(D) ** 2
                + p["f"] * log(N) * log(D)
            ),
            "b": p["b"] - 2 * p["d"] * log(N) - p["f"] * log(D),
            "c": p["c"] - 2 * p["e"] * log(D) - p["f"] * log(N),
        },
        lambda N, D, k, b, c, d, e, f: (
            k
            * exp(b * log(N) + c * log(D) + d * log(N) ** 2 + e * log(D) ** 2 + f * log(N) * log(D))
        ),
        {"N": WIDE, "D": WIDE},
    ),
    "exponent in the logarithm of another": Shape(
        "parameter E, A, p, q",
        "E + A*D^(-(p + q*log(N)))",
        lambda r: uniform(r, E=(1, 2), A=(1, 4), p=(0.1, 0.4), q=(0.02, 0.1)),
        lambda p, y, N, D: {
            "E": y * p["E"],
            "A": y * p["A"] * D ** p["p"],
            "p": p["p"],
            "q": p["q"],
        },
        lambda N, D, E, A, p, q: E + A * D ** (-(p + q * log(N))),
        {"N": (1.0, 300.0, True), "D": WIDE},
    ),
    "three terms of a mixture": Shape(
        "parameter E, A, B, C, a, b, h, g, s > 0",
        "E + A/N^a + B*r^h/D^b + C/(r + s)^g",
        lambda r: uniform(
            r,
            E=(1, 2),
            A=(0.5, 2),
            B=(0.5, 3),
            C=(0.1, 0.5),
            a=(0.2, 0.8),
            b=(0.2, 0.8),
            h=(0.5, 1.5),
            g=(0.5, 1.5),
            s=(0.05, 0.3),
        ),
        lambda p, y, N, D, r: {
            **p,
            "E": y * p["E"],
            "A": y * p["A"] * N ** p["a"],
            "B": y * p["B"] * D ** p["b"],
            "C": y * p["C"],
        },
        lambda N, D, r, E, A, B, C, a, b, h, g, s: (
            E + A / N**a + B * r**h / D**b + C / (r + s) ** g
        ),
        {"N": WIDE, "D": WIDE, "r": (0.02, 1.0, False)},
        rows=200,
    ),
    "exponential of shares": Shape(
        "parameter c, k, t, u",
        "c + k*exp(t*r + u*s)",
        lambda r: uniform(r, c=(1, 2), k=(0.5, 2), t=(-3, -0.5), u=(0.5, 2)),
        lambda p, y, r, s: {
            "c": y * p["c"],
            "k": y * p["k"],
            "t": p["t"] / r,
            "u": p["u"] / s,
        },
        lambda r, s, c, k, t, u: c + k * exp(t * r + u * s),
        {"r": (0.0, 1.0, False), "s": (0.0, 1.0, False)},
    ),
    "product of powers": Shape(
        "parameter E, A, a, b",
        "E + A*N^a*D^b",
        lambda r: uniform(r, E=(0.5, 2), A=(1, 5), a=(-0.8, -0.2), b=(-0.8, -0.2)),
        lambda p, y, N, D: {
            **p,
            "E": y * p["E"],
            "A": y * p["A"] * N ** -p["a"] * D ** -p["b"],
        },
        lambda N, D, E, A, a, b: E + A * N**a * D**b,
        {"N": WIDE, "D": WIDE},
    ),
    "saturating data": Shape(
        "parameter E, B, d, b > 0",
        "E + B/(d + D^b)",
        lambda r: uniform(r, E=(0.5, 2), B=(2, 9), d=(0.5, 4), b=(0.4, 1)),
        lambda p, y, D: {
            **p,
            "E": y * p["E"],
            "B": y * p["B"] * D ** p["b"],
            "d": p["d"] * D ** p["b"],
        },
        lambda D, E, B, d, b: E + B / (d + D**b),
        {"D": WIDE},
    ),
}
OBJECTIVES = ("squared(raw)", "squared(log)", "huber(log)")
FREE_OF_SCALE: dict[str, tuple[str, ...]] = {
    "exponent in the logarithm of another": ("N", "D"),
    "three terms of a mixture": ("r",),
}
"""Shape -> columns whose scale its parameters cannot absorb, or which are shares."""

ABSORBED_BY_POWERS = {"Kaplan"}
"""Shapes that absorb the scale of their output by its power 1/q: parameters of 1e100."""


def random_case(number: int) -> Case:
    """A law of the literature at random scales; the number is its seed."""
    draw = np.random.default_rng((number, 11))
    name = list(SHAPES)[number % len(SHAPES)]
    shape = SHAPES[name]
    truth = shape.truth(draw)
    scales = {k: float(10 ** draw.uniform(-9, 12)) for k in shape.columns}
    scales |= dict.fromkeys(FREE_OF_SCALE.get(name, ()), 1.0)
    output = 1.0 if name in ABSORBED_BY_POWERS else float(10 ** draw.uniform(-9, 12))
    columns = {}
    for variable, (low, high, by_logs) in shape.columns.items():
        share = draw.uniform(size=shape.rows)
        if len(shape.columns) == 1:
            share = np.linspace(0, 1, shape.rows)
        values = low * (high / low) ** share if by_logs else low + (high - low) * share
        columns[variable] = values
    exact = shape.formula(**columns, **truth)
    noise = float(10 ** draw.uniform(-3, -1.7))
    objective = str(draw.choice(OBJECTIVES))
    if objective == "squared(raw)":
        y = exact + noise * np.std(exact) * draw.normal(size=len(exact))
    else:
        y = exact * exp(noise * np.std(log(exact)) * draw.normal(size=len(exact)))
    table = {k: v * scales[k] for k, v in columns.items()} | {"L": y * output}
    bounded = all(np.all(v > 0) for v in columns.values())
    law = (
        f"variable {', '.join(shape.columns)}{' > 0' if bounded else ''}\n{shape.domains}\n"
        f"L = {shape.law}"
    )
    planted = {k: float(v) for k, v in shape.scaled(truth, output, **scales).items()}
    sizes = " ".join(f"{k}:{s:.0e}" for k, s in (scales | {"L": output}).items())
    return Case(
        f"{number} {name} {objective} {sizes}", law, table, truth=planted, objective=objective
    )
