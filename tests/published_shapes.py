"""Laws that publications and the benchmark of law discovery compare, at published or plausible values.

The formulas are those of the tasks of SLDBench (Lin et al. 2025, arXiv:2507.21184) and of the laws
collected by PlanarG/active-sl for these tasks, for Farseer (Li et al. 2025, arXiv:2506.10972), sparse
autoencoders (Gao et al. 2024, arXiv:2406.04093), distillation (Busbridge et al. 2025,
arXiv:2502.08606) and upcycling (Liew et al. 2025, arXiv:2502.03009), written here as laws. Their
parameters are published ones where those are known, and otherwise of the size that fits give. The
tables are simulated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp
from planted import law_of
from simulated import Case

Array = np.ndarray
Span = tuple[float, float] | Sequence[float]

PARALLEL: dict[str, Span] = {"N": (5.4e8, 4.4e9), "S": [1, 2, 4, 8]}
VOCABULARY: dict[str, Span] = {"P": (3.3e7, 1.13e9), "V": (4e3, 9.6e4), "D": (5e8, 5e11)}
TUNING: dict[str, Span] = {"N": [200 * 2**k for k in range(13)]}
EXPERTS: dict[str, Span] = {"E": [1, 2, 4, 8, 16, 32, 64], "N": (1e8, 4e9)}
REPEATED: dict[str, Span] = {"U": (1e8, 1.8e11), "N": (7e6, 8.7e9), "D": (1e8, 9e11)}
SHARES: dict[str, Span] = {"p": [-5], "q": [-5], "r": [-5], "s": [-5]}
RATES: dict[str, Span] = {"h": (2e-4, 2e-2), "b": (3e4, 4e6), "D": (2e9, 1e11), "N": (6e7, 1.1e9)}
EASY: dict[str, Span] = {"x": [round(0.05 * k - 0.9, 2) for k in range(77)]}
FARSEER: dict[str, Span] = {"N": (2e8, 6.4e9), "D": (2e9, 1.3e11)}
CODES: dict[str, Span] = {"n": (2e3, 1.7e7), "k": [8, 16, 32, 64, 128, 256, 512]}
UPCYCLED: dict[str, Span] = {"P": (1e9, 3e11), "N": (1e8, 2e9)}

# name: (domains, formula, parameters, columns)
LAWS: dict[str, tuple[str, str, Mapping[str, float], Mapping[str, Span]]] = {
    "parallel: interaction": (
        "parameter c0, cN, cS, cI\nparameter a, b > 0",
        "c0 + cN*N^-a + cS*S^-b + cI*N^-a*S^-b",
        {"c0": 1.38, "cN": 112.7, "a": 0.26, "cS": 0.097, "b": 0.399, "cI": 5.69},
        PARALLEL,
    ),
    "parallel: sum": (
        "parameter c0, cN, cS, a, b",
        "c0 + cN*N^-a + cS*S^-b",
        {"c0": 1.364, "cN": 117.8, "a": 0.261, "cS": 0.121, "b": 0.399},
        PARALLEL,
    ),
    "parallel: hyperbola": (
        "parameter a, b, c, d",
        "a*N^b + c/(1 + S) + d",
        {"a": 117.9, "b": -0.261, "c": 0.174, "d": 1.398},
        PARALLEL,
    ),
    "parallel: root": (
        "parameter a, b, c, d",
        "a*N^b + c/sqrt(S) + d",
        {"a": 117.9, "b": -0.261, "c": 0.105, "d": 1.381},
        PARALLEL,
    ),
    "parallel: ParScale": (
        "parameter A, k > 0\nparameter a, E",
        "(A/(N*(k*log(S) + 1)))^a + E",
        {"A": 1.95e8, "k": 0.334, "a": 0.196, "E": 1.291},
        PARALLEL,
    ),
    "parallel: quotient": (
        "parameter E, A, a, k",
        "E + A*N^-a/(1 + k*log(S))",
        {"E": 1.315, "A": 48.1, "a": 0.204, "k": 0.055},
        PARALLEL,
    ),
    "parallel: quotient of all": (
        "parameter a, b, c, d",
        "(a*N^b + c)/(1 + d*log(S))",
        {"a": 118.1, "b": -0.26, "c": 1.472, "d": 0.017},
        PARALLEL,
    ),
    "parallel: product": (
        "parameter A, a, b",
        "A*N^-a*S^-b",
        {"A": 7.73, "a": 0.065, "b": 0.017},
        PARALLEL,
    ),
    "parallel: product with a floor": (
        "parameter A, a, E, b",
        "(A*N^-a + E)*S^-b",
        {"A": 118.1, "a": 0.26, "E": 1.471, "b": 0.017},
        PARALLEL,
    ),
    "vocabulary: product": (
        "parameter c, A, b, e, g",
        "c + A*V^b*P^e*D^g",
        {"c": -5.8, "A": 1.5e3, "b": -0.06, "e": -0.12, "g": -0.17},
        VOCABULARY,
    ),
    "vocabulary: power mean": (
        "parameter L, A, C, v\nparameter a, b, r > 0",
        "L + A*((P^(-a*r) + D^(-b*r))/2)^(1/r)*(1 + C*(log(V) - v)^2)",
        {"L": -5.7, "A": 300, "a": 0.25, "b": 0.2, "r": 1.5, "C": 0.02, "v": 10.5},
        VOCABULARY,
    ),
    "vocabulary: norm of two terms": (
        "parameter L, f\nparameter a, b, A, B, q > 0",
        "L + ((A*P^-a)^q + (B*(D*V^f)^-b)^q)^(1/q)",
        {"L": -5.6, "A": 300, "a": 0.3, "B": 2000, "b": 0.3, "f": 0.1, "q": 1.4},
        VOCABULARY,
    ),
    "vocabulary: two products": (
        "parameter c, A, B, a, b, d, e",
        "A*P^a*V^b*D^d + B*P^e + c",
        {"c": -5.7, "A": 4e3, "a": -0.1, "b": -0.05, "d": -0.22, "B": 200, "e": -0.28},
        VOCABULARY,
    ),
    "vocabulary: sizes with a vocabulary": (
        "parameter c, A, a, k, B, b, m",
        "A*(P*V^k)^-a + B*(D*V^m)^-b + c",
        {"c": -5.7, "A": 500, "a": 0.32, "k": 0.15, "B": 3e3, "b": 0.31, "m": -0.1},
        VOCABULARY,
    ),
    "vocabulary: sizes and tokens": (
        "parameter c, A, a, b, B, g, d",
        "A*P^-a*D^-b + B*V^g*D^-d + c",
        {"c": -5.7, "A": 300, "a": 0.18, "b": 0.08, "B": 2e3, "g": 0.08, "d": 0.33},
        VOCABULARY,
    ),
    "tuning: shifted power": (
        "parameter L, A, a\nparameter n > 0",
        "L + A*(N + n)^-a",
        {"L": 0.6, "A": 20, "n": 2000, "a": 0.3},
        TUNING,
    ),
    "tuning: rectified": (
        "parameter L, A, n, a > 0",
        "L + A/(1 + (N/n)^a)",
        {"L": 0.7, "A": 3.1, "n": 9000, "a": 0.6},
        TUNING,
    ),
    "tuning: offset": (
        "parameter L, A, a, B",
        "L + A/(N^a + B)",
        {"L": 0.7, "A": 900, "a": 0.65, "B": 240},
        TUNING,
    ),
    "tuning: stretched": (
        "parameter L, A, B, d",
        "L + A*exp(-B*N^d)",
        {"L": 0.6, "A": 4.5, "B": 0.06, "d": 0.28},
        TUNING,
    ),
    "tuning: two powers": (
        "parameter L, A, a, b",
        "L + A/N^a + (1 - A)/N^b",
        {"L": 0.9, "A": 12, "a": 0.25, "b": 0.9},
        TUNING,
    ),
    "tuning: logarithm": (
        "parameter L, A, a, B",
        "L + A/N^a + B*log(N)",
        {"L": 2.2, "A": 9, "a": 0.4, "B": -0.07},
        TUNING,
    ),
    "tuning: logistic": (
        "parameter L, A, a, m",
        "L + A/(1 + exp(a*(log(N) - m)))",
        {"L": 0.9, "A": 2.5, "a": 0.7, "m": 9.5},
        TUNING,
    ),
    "experts: product": (
        "parameter L, B, a, b",
        "L + B/(N^a*E^b)",
        {"L": 1.7, "B": 60, "a": 0.22, "b": 0.07},
        EXPERTS,
    ),
    "experts: saturation": (
        "parameter A, a, B, b, C, D",
        "A*N^a/(1 + B*E^b) + C*N^(0.6*a) + D",
        {"A": 90, "a": -0.25, "B": 0.4, "b": 0.6, "C": 6, "D": 1.6},
        EXPERTS,
    ),
    "experts: power of a sum": (
        "parameter a, k, g, c, d\nparameter b > 0",
        "a/(N^k*(1 + b*E)^g) + c + d*(log(N) - 0.4*log(1 + E))",
        {"a": 80, "k": 0.24, "b": 0.6, "g": 0.12, "c": 2.1, "d": -0.02},
        EXPERTS,
    ),
    "experts: form in logarithms": (
        "parameter L, a, b, c, d, e",
        "L + exp(a + b*log(E) + c*log(N) + d*log(E)*log(N)) + e*log(E)",
        {"L": 1.6, "a": 4.4, "b": -0.25, "c": -0.22, "d": 0.008, "e": 0.004},
        EXPERTS,
    ),
    "experts: decaying factor": (
        "parameter a, b, c, d, e, f",
        "a*N^-b*(1 + c*E^-d) + e + f/(E*N^0.05)",
        {"a": 40, "b": 0.22, "c": 0.5, "d": 0.4, "e": 1.7, "f": 0.2},
        EXPERTS,
    ),
    "experts: product and power": (
        "parameter A, a, b, B, c, E0",
        "A*E^a*N^b + B*N^c + E0",
        {"A": 30, "a": -0.3, "b": -0.2, "B": 90, "c": -0.26, "E0": 1.6},
        EXPERTS,
    ),
    "experts: effective size": (
        "parameter c, A, g, a",
        "c + A*(N*E^g)^-a",
        {"c": 1.7, "A": 60, "g": 0.3, "a": 0.22},
        EXPERTS,
    ),
    "experts: saturating ratio": (
        "parameter c, A, a, g, b\nparameter B > 0",
        "c + A*(N/1e9)^-a*((1 + B*E^g)/(1 + B))^-b",
        {"c": 1.7, "A": 0.75, "a": 0.22, "B": 0.3, "g": 0.9, "b": 0.12},
        EXPERTS,
    ),
    "repeated: interaction": (
        "parameter A, a, B, b, E, g, d",
        "A/N^a + B/D^b + E*U^g*N^d",
        {"A": 500, "a": 0.35, "B": 1500, "b": 0.35, "E": 2.2, "g": -0.01, "d": 0.006},
        REPEATED,
    ),
    "repeated: three powers": (
        "parameter a, b, c, d, p, q, r",
        "a + b*U^p + c*N^q + d*D^r",
        {"a": 1.8, "b": 300, "p": -0.3, "c": 500, "q": -0.35, "d": 900, "r": -0.34},
        REPEATED,
    ),
    "repeated: saturating tokens": (
        "parameter L, A, a, B, b, s, d > 0",
        "L + A*N^-a + B*(D/(1 + D/(s*U*N^d)))^-b",
        {"L": 1.9, "A": 500, "a": 0.35, "B": 1500, "b": 0.35, "s": 2, "d": 0.08},
        REPEATED,
    ),
    "repeated: geometric mean": (
        "parameter A, a, B, b, E, g",
        "A/N^a + B/(U^g*D^(1 - g))^b + E",
        {"A": 500, "a": 0.35, "B": 1500, "b": 0.35, "E": 1.9, "g": 0.3},
        REPEATED,
    ),
    "mixture: logarithm": (
        "parameter a, b, c, d, e",
        "a + b*log(p) + c*q + d*r + e*s",
        {"a": 2.2, "b": -0.2, "c": 0.1, "d": 0.3, "e": -0.1},
        SHARES,
    ),
    "mixture: power and exponential": (
        "parameter A, a, u, v, w\nparameter e > 0",
        "A*(p + e)^-a*exp(u*q + v*r + w*s)",
        {"A": 2.1, "e": 0.05, "a": 0.12, "u": 0.1, "v": 0.25, "w": -0.1},
        SHARES,
    ),
    "mixture: power and line": (
        "parameter a, b, c, u, v, w",
        "a + b*p^c + u*q + v*r + w*s",
        {"a": 1.5, "b": 0.9, "c": -0.15, "u": 0.1, "v": 0.3, "w": -0.1},
        SHARES,
    ),
    "mixture: exponential of powers": (
        "parameter a, b, c, d, u, v",
        "exp(a + b*p^u + c*q^v + d*r)",
        {"a": 0.9, "b": -0.5, "u": 0.5, "c": -0.2, "v": 0.7, "d": 0.1},
        SHARES,
    ),
    "mixture: effective share": (
        "parameter C, A, a\nparameter u, v, w > 0",
        "C + A*(p + u*q + v*r + w*s)^-a",
        {"C": 1.4, "A": 0.7, "a": 0.3, "u": 0.3, "v": 0.1, "w": 0.05},
        SHARES,
    ),
    "mixture: exponential": (
        "parameter c, k, t, u, v",
        "c + k*exp(t*p + u*q + v*r)",
        {"c": 1.6, "k": 1.1, "t": -2.2, "u": -0.4, "v": 0.3},
        SHARES,
    ),
    "rates: quadratic form": (
        "parameter a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, c1, c2, c3, c4, c5",
        "exp(a0 + a1*log(h) + a2*log(b) + a3*log(D) + a4*log(N) + a5*log(h)^2 + a6*log(b)^2"
        " + a7*log(D)^2 + a8*log(N)^2 + a9*log(h)*log(b) + c1*log(h)*log(D) + c2*log(h)*log(N)"
        " + c3*log(b)*log(D) + c4*log(b)*log(N) + c5*log(D)*log(N))",
        {"a0": 14.1, "a1": 0.17, "a2": -0.11, "a3": -0.55, "a4": -0.38, "a5": 0.012}
        | {"a6": 0.006, "a7": 0.009, "a8": 0.006, "a9": -0.006, "c1": 0.004, "c2": 0.005}
        | {"c3": -0.005, "c4": 0.001, "c5": 0.001},
        RATES,
    ),
    "rates: bowl above a law of size and tokens": (
        "parameter E, A, a, B, d, k, m0, mN, mD, mB",
        "E + A*N^-a + B*D^-d + k*(log(h) - m0 - mN*log(N) - mD*log(D) - mB*log(b))^2",
        {"E": 1.7, "A": 120, "a": 0.28, "B": 700, "d": 0.3, "k": 0.02, "m0": 4, "mN": -0.6}
        | {"mD": 0.1, "mB": 0.3},
        RATES,
    ),
    "rates: step law": (
        "parameter E, A, a, B, d, k, l, c, g, u, f, v",
        "E + A*N^-a + B*D^-d + k*(log(h) - log(c) - g*log(N) - u*log(D))^2"
        " + l*(log(b) - f - v*log(D))^2",
        {"E": 1.7, "A": 120, "a": 0.28, "B": 700, "d": 0.3, "k": 0.02, "l": 0.015, "c": 1.79}
        | {"g": -0.713, "u": 0.307, "f": -0.54, "v": 0.571},
        RATES,
    ),
    "easy questions: parabola": (
        "parameter y, k, m",
        "y + k*(x - m)^2",
        {"y": -0.4, "k": 0.05, "m": 1.1},
        EASY,
    ),
    "easy questions: saturating bowl": (
        "parameter a, b, c, d",
        "d + a*(x - c)^2/(1 + b*(x - c)^2)",
        {"a": 0.4, "b": 2, "c": 0.8, "d": -0.6},
        EASY,
    ),
    "easy questions: two sigmoids": (
        "parameter A, B, C, c, d\nparameter s > 0",
        "A + B/(1 + exp(-(x - c + d)/s)) + C/(1 + exp(-(c + d - x)/s))",
        {"A": -0.9, "B": 0.6, "C": 0.4, "c": 1.2, "d": 0.5, "s": 0.15},
        EASY,
    ),
    "easy questions: quartic": (
        "parameter f, e, b, d, c",
        "f + e*(x - c) + b*(x - c)^2 + d*(x - c)^4",
        {"f": -0.5, "e": 0.1, "b": 0.1, "d": -0.012, "c": 0.7},
        EASY,
    ),
    "easy questions: bump on a line": (
        "parameter k, y, a, m\nparameter w > 0",
        "k*x + y + a*exp(-(x - m)^2/(2*w^2))",
        {"k": 0.08, "y": -0.5, "a": -0.2, "m": 1.2, "w": 0.4},
        EASY,
    ),
    "easy questions: bump on an exponential": (
        "parameter L, s, k, a, m\nparameter w > 0",
        "L + s*exp(-k*x) + a*exp(-((x - m)/w)^2/2)",
        {"L": -0.2, "s": -0.15, "k": 0.9, "a": -0.2, "m": 1.6, "w": 0.4},
        EASY,
    ),
    "easy questions: difference of sigmoids": (
        "parameter y, a, b, k, t, u",
        "y + a/(1 + exp(-k*(x - t))) - b/(1 + exp(-k*(x - u)))",
        {"y": -0.3, "a": -0.3, "b": -0.5, "k": 5, "t": 0.4, "u": 1.9},
        EASY,
    ),
    "easy questions: two exponentials": (
        "parameter c, a, k, b, g",
        "c + a*exp(k*x) + b*exp(g*x)",
        {"c": -0.2, "a": -0.3, "k": -0.5, "b": 0.1, "g": -2.5},
        EASY,
    ),
    "easy questions: rational": (
        "parameter a, b, c, d, e",
        "(a*x^2 + b*x + c)/(d*x^2 + e*x + 1)",
        {"a": -0.1, "b": 0.1, "c": -0.4, "d": 0.3, "e": 0.2},
        EASY,
    ),
    "Farseer": (
        "parameter s, q, S, B, b, Q, A, a, E",
        "exp(s*N^q + S) + exp(B*N^b + Q)*D^(-exp(A*N^a + E))",
        {"E": 3.133347198805445, "s": -0.062465473, "q": 0.13, "S": 0.1284880679442551}
        | {
            "B": 230.73437075885855,
            "b": -0.1729,
            "Q": -1.544209554,
            "A": -1.665630816,
            "a": 0.0459,
        },
        FARSEER,
    ),
    "Farseer with signs": (
        "parameter s < 0, q > 0\nparameter B > 0, b < 0\nparameter A < 0, a > 0\nparameter S, Q, E",
        "exp(s*N^q + S) + exp(B*N^b + Q)*D^(-exp(A*N^a + E))",
        {"E": 3.133347198805445, "s": -0.062465473, "q": 0.13, "S": 0.1284880679442551}
        | {
            "B": 230.73437075885855,
            "b": -0.1729,
            "Q": -1.544209554,
            "A": -1.665630816,
            "a": 0.0459,
        },
        FARSEER,
    ),
    "sparse autoencoders": (
        "parameter a, b, c, d, z, e",
        "exp(a + b*log(k) + c*log(n) + d*log(k)*log(n)) + exp(z + e*log(k))",
        {"a": -0.5, "b": 0.26, "c": -0.017, "d": -0.042, "z": -1.32, "e": -0.085},
        CODES,
    ),
    "upcycling: product with an interaction": (
        "parameter d, a, b, c, E",
        "exp(d)*P^-a*N^-b*exp(c*log(P)*log(N)) + exp(E)",
        {"d": 9, "a": 0.3, "b": 0.28, "c": 0.008, "E": 0.5},
        UPCYCLED,
    ),
    "upcycling: sum with an interaction": (
        "parameter d, a, e, b, c, E",
        "exp(d)*P^-a + exp(e)*N^-b*exp(c*log(P)*log(N)) + exp(E)",
        {"d": 6, "a": 0.28, "e": 6, "b": 0.33, "c": 0.001, "E": 0.5},
        UPCYCLED,
    ),
}


def _columns(spans: Mapping[str, Span], rows: int, draw: np.random.Generator) -> dict[str, Array]:
    """A pair is a range spread by logarithms, a list the values of a grid, [-k] one of k shares."""
    columns = {}
    if all(list(span) == [-5] for span in spans.values()):
        shares = draw.dirichlet(np.full(5, 1.5), rows) * 0.98 + 0.004
        return {name: shares[:, i] for i, name in enumerate(spans)}
    for name, span in spans.items():
        if isinstance(span, tuple):
            columns[name] = np.exp(draw.uniform(np.log(span[0]), np.log(span[1]), rows))
        elif len(spans) == 1:
            columns[name] = np.asarray(span, dtype=float)
        else:
            columns[name] = draw.choice(np.asarray(span, dtype=float), rows)
    return columns


def literature_case(name: str, seed: int = 0, noise: float = 0.01, rows: int = 120) -> Case:
    """A law of `LAWS` with a table simulated at its parameters.

    Args:
        name: a key of `LAWS`.
        seed: the seed of the table.
        noise: relative to the spread of the output.
        rows: the number of rows, unless the only column is a list.
    """
    domains, formula, truth, spans = LAWS[name]
    draw = np.random.default_rng((seed, 29))
    columns = _columns(spans, rows, draw)
    positive = all(np.all(column > 0) for column in columns.values())
    text = f"variable {', '.join(spans)}{' > 0' if positive else ''}\n{domains}\nloss = {formula}"
    law = law_of(text)
    values = {**columns, **truth}
    exact = sp.lambdify([law.symbols[k] for k in values], law.expression, "numpy")(*values.values())
    output = exact + noise * np.std(exact) * draw.normal(size=len(exact))
    return Case(
        name, text, {**columns, "loss": output}, truth=dict(truth), objective="squared(raw)"
    )


LITERATURE = tuple(LAWS)
