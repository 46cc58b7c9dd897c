"""Laws of the literature once more, in NumPy, as their sources write them; no code of the tool is used.

Parameters are those of the source or of a public table where it has any, and else made up. Those laws that
tests/planted.py has are not repeated here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from catalogue_values import VALUES
from planted import Planted, grid

exp, log = np.exp, np.log
Array = Any

SIZES = np.geomspace(5e7, 5e9, 4)
TOKENS = np.geomspace(1e9, 3e11, 4)
RUNS = grid(N=SIZES, D=TOKENS)
POINTS = {"x": np.geomspace(10.0, 1e5, 9)}


def _values(name: str) -> dict[str, float]:
    return dict(VALUES[name][0])


def _experts(E: Array, E_start: float, E_max: float) -> Array:
    """Clark et al. 2022: the number of experts in effect."""
    return 1 / (1 / (E - 1 + 1 / (1 / E_start - 1 / E_max)) + 1 / E_max)


def _seen_tokens(D: Array, U: Array, rate: float) -> Array:
    """Longpre et al. 2025, Eq. 3: tokens in effect of D tokens, U of them unique."""
    return np.minimum(D, U) + U * (1 - exp(-rate * np.maximum(D / U - 1, 0))) / rate


def _atlas(
    N: Array,
    U: Array,
    seen: Array,
    E: float,
    A: float,
    alpha: float,
    B: float,
    beta: float,
    **v: Any,
) -> Array:
    return E + A / N**alpha + B / _seen_tokens(U * (1 + seen), U, v["lambda"]) ** beta


def _transferred(N: Array, S: Array, **v: Any) -> Array:
    helped = S + sum(v[f"tau[{k}]"] * v[f"S_k[{k}]"] for k in "abc")
    return v["E"] + v["A"] / N ** v["alpha"] + v["B"] / helped ** v["beta"]


def _capability(a: float, b: float, c: float, **v: Any) -> Array:
    score = c + v["w[a]"] * v["S[a]"] + v["w[b]"] * v["S[b]"] + v["w[c]"] * v["S[c]"]
    return a * exp(score) / (1 + exp(score)) + b


def _broken(x: Array, breaks: str, name: str, v: dict[str, Any]) -> Array:
    """Caballero et al. 2022: `name` is how the parameters of a break are called, `c[*]` or `c*`."""
    value = v["b"] * x ** (-v["c0"])
    for k in breaks:
        c, d, f = (v[letter + name.replace("*", k)] for letter in "cdf")
        value = value * (1 + (x / d) ** (1 / f)) ** (-c * f)
    return v["a"] + value


def _epochs(n: Array, U: Array, a: float, b: float, tau: float, d: float) -> Array:
    """Goyal et al. 2024: epoch by epoch, each worth 2^(-1/tau) of the one before it."""
    worth = np.zeros_like(n)
    for epoch in range(3):
        worth = worth + np.clip(n - epoch * U, 0, U) * 2 ** (-epoch / tau)
    return (a * worth) ** b + d


def _saturating(y: Array, e_inf: float, e_0: float, alpha: float, beta: float, c: float) -> Array:
    """Alabdulmohsin et al. 2022: (y - e_inf)/(e_0 - y)^alpha = beta*x^(-c), solved by bisection."""
    low, high = np.full_like(y, -60.0), np.full_like(y, 60.0)
    wanted = (y - e_inf) / (e_0 - y) ** alpha
    for _ in range(200):
        middle = (low + high) / 2
        too_small = beta * exp(-c * middle) > wanted
        low, high = np.where(too_small, middle, low), np.where(too_small, high, middle)
    return exp((low + high) / 2)


def _bits(N: Array, P_w: Array, P_a: Array, P_k: Array, v: dict[str, Any]) -> Array:
    """Kumar et al. 2024: parameters in effect; appendix K has the biases n."""
    for P, part in ((P_w, "w"), (P_a, "a"), (P_k, "k")):
        N = N * (1 - exp(v.get(f"n_{part}", 0.0) - P / v[f"g_{part}"]))
    return N


def _trained(N: Array, D: Array, P_w: Array, P_a: Array, P_k: Array, **v: Any) -> Array:
    price = v["A"] / _bits(N, P_w, P_a, P_k, v) ** v["alpha"]
    return v["E"] + price + v["B"] / D ** v.get("beta", v["alpha"])


def _post(N: Array, D: Array, P: Array, **v: Any) -> Array:
    trained = v["E"] + v["A"] / N ** v["alpha"] + v["B"] / D ** v["beta"]
    return trained + v["C_T"] * D ** v["gD"] / N ** v["gN"] * exp(-P / v["gP"])


def _float(N: Array, D: Array, X: Array, M: Array, S: Array, **v: Any) -> Array:
    bits = v["gamma"] * (X + 0.5) ** v["delta"] * (M + 0.5) ** v["nu"]
    lost = D ** v["beta"] / N ** v["alpha"] * np.log2(S) / bits
    return v["E"] + v["A"] / N ** v["alpha"] + v["B"] / D ** v["beta"] + lost


def _routed(N: Array, E: Array, a: float, b: float, c: float, d: float, **v: Any) -> Array:
    n, h = np.log10(N), np.log10(_experts(E, v["E_start"], v["E_max"]))
    return 10 ** (a * n + b * h + c * n * h + d)


def _basin(eta: Array, B: Array, L0: float, eta_0: float, B_0: float, **v: Any) -> Array:
    x, y = log(eta / eta_0), log(B / B_0)
    a, b, rho = v["a"], v["b"], v["rho"]
    return L0 + (np.sqrt(a) * x + rho * np.sqrt(b) * y) ** 2 + (1 - rho**2) * b * y**2


def _allocation(C: Array, M: Array, E: float, a: float, b: float, eta: float) -> Array:
    """Gadre et al. 2024, as the released code writes it: prices of size and of tokens, one exponent."""
    size = np.sqrt(C / (6 * M))
    price_of_size, price_of_tokens = a / 6**eta, b / 6**eta
    return E + price_of_size * size ** (-2 * eta) + price_of_tokens * (M * size) ** (-2 * eta)


def _two_stage(S1: Array, S2: Array, drop: Array, eta_1: Array, **v: Any) -> Array:
    gained = 1 - (v["C"] * eta_1 ** -v["gamma"] * S2 + 1) ** -v["beta"]
    return v["L0"] + v["A"] * S1 ** -v["alpha"] - v["B"] * drop * gained


def _loglinear(**v: Any) -> Array:
    thirds = 1 - v["r[a]"] - v["r[b]"]
    power = v["t[i, a]"] * v["r[a]"] + v["t[i, b]"] * v["r[b]"] + v["t[i, c]"] * thirds
    return v["c[i]"] + exp(power)


BREAKS = {"a": 0.05, "b": 2.3, "c0": 0.055}
FORMULAS: dict[str, Planted] = {
    # no constants were printed where the exponents .383 and .462 are
    "batch.tokens": Planted({"D": TOKENS}, {"c": 60.0, "m": 0.462}, lambda D, c, m: c * D**m, "B"),
    "data.atlas": Planted(
        grid(N=SIZES, U=np.array([1e8, 2e10]), seen=np.array([0.0, 0.5, 3, 40])),
        _values("data.atlas"),
        _atlas,
    ),
    "data.transferred": Planted(
        {**grid(N=SIZES, S=TOKENS), **{f"S_k[{k}]": np.geomspace(1e8, 1e10, 16) for k in "abc"}},
        {"E": 1.8, "A": 482.0, "alpha": 0.35, "B": 2085.0, "beta": 0.37}
        | {"tau[a]": 0.3, "tau[b]": 0.05, "tau[c]": 0.0},
        _transferred,
    ),
    "downstream.capability": Planted(
        {f"S[{j}]": np.linspace(-2, 3, 7) * (k + 1) for k, j in enumerate("abc")},
        {"w[a]": 0.9, "w[b]": -0.3, "w[c]": 0.1, "c": -0.4, "b": 0.25, "a": 0.7},
        _capability,
        "Acc",
    ),
    "downstream.error": Planted(
        {"L": np.linspace(2, 4, 7)},
        _values("downstream.error"),
        lambda L, epsilon, k, gamma: epsilon - k * exp(-gamma * L),
        "Err",
    ),
    "downstream.family": Planted(
        {"C": np.geomspace(1e19, 1e24, 6)},
        {"theta[f]": 0.8, "nu[f]": -1.2},
        lambda C, **v: v["theta[f]"] * (log(C) - 21 * log(10.0)) + v["nu[f]"],
        "S",
    ),
    "downstream.sigmoid": Planted(
        {"L": np.linspace(0.3, 2.5, 7)},
        _values("downstream.sigmoid"),
        lambda L, a, k, L0, b: a / (1 + exp(-k * (L - L0))) + b,
        "Acc",
    ),
    "family.broken": Planted(
        POINTS,
        BREAKS
        | {"c[a]": 1.2, "d[a]": 600.0, "f[a]": 0.3, "c[b]": 0.4, "d[b]": 5e3, "f[b]": 0.5}
        | {"c[c]": 0.2, "d[c]": 4e4, "f[c]": 1.5},
        lambda x, **v: _broken(x, "abc", "[*]", v),
        "y",
    ),
    "family.broken1": Planted(
        POINTS, _values("family.broken1"), lambda x, **v: _broken(x, "1", "*", v), "y"
    ),
    "family.broken2": Planted(
        POINTS,
        BREAKS | {"c1": 1.2, "d1": 600.0, "f1": 0.3, "c2": -0.4, "d2": 5e3, "f2": 0.5},
        lambda x, **v: _broken(x, "12", "*", v),
        "y",
    ),
    "family.gompertz": Planted(
        {"x": np.linspace(1, 400, 9)},
        _values("family.gompertz"),
        lambda x, A, b, k: A * exp(-b * exp(-k * x)),
        "y",
    ),
    "family.logistic": Planted(
        POINTS,
        _values("family.logistic"),
        lambda x, low, high, x0, k: low + (high - low) * x**k / (x**k + x0**k),
        "y",
    ),
    "family.saturating": Planted(
        {"y": np.linspace(0.15, 0.85, 8)},
        {"e_inf": 0.1, "e_0": 0.9, "alpha": 0.7, "beta": 40.0, "c": 0.5},
        _saturating,
        "x",
    ),
    "family.shifted": Planted(
        POINTS,
        _values("family.shifted"),
        lambda x, e, b, c, gamma: b * (x + gamma) ** -c + e,
        "y",
    ),
    "family.weibull": Planted(
        POINTS,
        _values("family.weibull"),
        lambda x, low, high, scale, k: high + (low - high) * exp(-(x**k) / scale**k),
        "y",
    ),
    # Zhang et al. 2024, Table 4: WMT14 En-De, full fine-tuning, model size
    "finetune.joint": Planted(
        grid(X=np.geomspace(1e9, 1.6e10, 4), D=np.geomspace(2e3, 2e7, 4)),
        _values("finetune.joint"),
        lambda X, D, E, A, alpha, beta: A * X**-alpha * D**-beta + E,
    ),
    # Bethune et al. 2025: B is about 829 for Wikipedia
    "forgetting.injection": Planted(
        {**grid(D=TOKENS, N=SIZES, p=np.array([0, 0.01, 0.05])), "L0": np.linspace(2.2, 3.2, 48)},
        {"A": 0.02, "alpha": 0.4, "beta": 0.5, "B": 829.0},
        lambda D, N, p, L0, A, alpha, beta, B: L0 + A * D**beta / (N + B * p * N) ** alpha,
    ),
    # Kaplan et al. 2020, Table 3
    "kaplan.steps": Planted(
        grid(N=np.geomspace(1e6, 1e9, 4), S_min=np.geomspace(500, 2e5, 4)),
        _values("kaplan.steps"),
        lambda N, S_min, Nc, alphaN, Sc, alphaS: (Nc / N) ** alphaN + (Sc / S_min) ** alphaS,
    ),
    "lr.basin": Planted(
        grid(eta=np.geomspace(2e-4, 2e-2, 4), B=np.geomspace(3e4, 4e6, 4)),
        _values("lr.basin"),
        _basin,
    ),
    "mixture.loglinear": Planted(
        {"r[a]": np.array([0, 0.2, 0.5, 1]), "r[b]": np.array([0.1, 0.3, 0.5, 0])},
        {"c[i]": 1.2, "t[i, a]": -2.0, "t[i, b]": 0.3, "t[i, c]": -0.5},
        _loglinear,
    ),
    # Clark et al. 2022: S-BASE
    "moe.routed": Planted(
        grid(N=np.geomspace(1.5e7, 1.3e9, 4), E=np.array([1.0, 8, 64, 512])),
        _values("moe.routed"),
        _routed,
    ),
    "multimodal.mixed": Planted(
        {**RUNS, "L_i": np.linspace(2, 3, 16), "L_j": np.linspace(4, 3, 16)},
        _values("multimodal.mixed"),
        lambda N, D, L_i, L_j, C, A, alpha, beta: (L_i + L_j) / 2 - C + A / (N**alpha * D**beta),
    ),
    "overtrain.allocation": Planted(
        grid(C=np.geomspace(1e17, 1e21, 4), M=np.geomspace(5, 640, 4)),
        _values("overtrain.allocation"),
        _allocation,
    ),
    # Kumar et al. 2024, Table 2, with and without the biases of appendix K
    "precision.biased": Planted(
        grid(
            N=SIZES, D=TOKENS, P_w=np.array([4.0, 12]), P_a=np.array([4.0, 8]), P_k=np.array([4.0])
        ),
        _values("precision.biased"),
        _trained,
    ),
    "precision.trained": Planted(
        grid(
            N=SIZES, D=TOKENS, P_w=np.array([3.0, 12]), P_a=np.array([4.0, 8]), P_k=np.array([3.0])
        ),
        _values("precision.trained"),
        _trained,
    ),
    "precision.post": Planted(
        grid(N=SIZES, D=TOKENS, P=np.array([3.0, 5.0])), _values("precision.post"), _post
    ),
    # Sun et al. 2025, Table 2
    "precision.float": Planted(
        grid(N=SIZES, D=TOKENS, X=np.array([1.0, 4]), M=np.array([1.0, 5]), S=np.array([1.0, 128])),
        _values("precision.float"),
        _float,
    ),
    "quality.utility": Planted(
        grid(n=np.geomspace(1e6, 3e8, 9), U=np.array([1e7, 1e8])),
        {"a": 1e-6, "b": -0.2, "tau": 2.5, "d": 0.2},
        _epochs,
        "y",
    ),
    "rl.efficiency": Planted(
        {"N[s]": np.array([0.5, 1.5, 7, 72]), "C": np.geomspace(10, 1e4, 4)},
        {"K": 0.2, "N0": 3.0, "E[s]": -0.1},
        lambda C, **v: exp(v["E[s]"]) * C ** (-v["K"] * v["N[s]"] / (v["N[s]"] + v["N0"])),
        "Err",
    ),
    "rl.sigmoid": Planted(
        {"C": np.geomspace(1500, 1e5, 9)},
        _values("rl.sigmoid"),
        lambda C, R0, A, C_mid, B: R0 + (A - R0) * C**B / (C**B + C_mid**B),
        "R",
    ),
    # Wang et al. 2025: FineWeb, before and after a switch to Knowledge-Pile
    "schedule.continual": Planted(
        grid(
            S1_pt=np.array([0.5, 6]),
            S1_cpt=np.array([0.0, 0.1, 3]),
            S2_pt=np.array([0.0, 0.9]),
            S2_cpt=np.array([0.2]),
        ),
        _values("schedule.continual"),
        lambda S1_pt, S1_cpt, S2_pt, S2_cpt, **_: (
            3.057
            + 0.490 * (S1_pt + S1_cpt) ** -0.497
            + 0.366 * (1 - (1 + 28 * S1_cpt) ** -0.189)
            - 0.299 * S2_pt
            - 0.298 * S2_cpt
        ),
    ),
    # Luo et al. 2025, the released coefficients of 100M parameters
    "schedule.multi_power": Planted(
        grid(S1=np.array([1.0, 5]), S2=np.array([0.005, 0.5]), drop=[2.1e-4], eta_1=[9e-5]),
        _values("schedule.multi_power"),
        _two_stage,
    ),
    "testtime.coverage": Planted(
        {"k": np.geomspace(1, 1e4, 9)},
        _values("testtime.coverage"),
        lambda k, a, b: exp(a / k**b),
        "c",
    ),
    "vision.shifted": Planted(
        {"C": np.geomspace(0.1, 2e3, 9)},
        _values("vision.shifted"),
        lambda C, a, b, c, d: a / (C + d) ** b + c,
        "Err",
    ),
}
