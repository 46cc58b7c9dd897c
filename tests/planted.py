"""Tables made from laws whose parameters are known, by formulas written here a second time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from lawdsl.core.diagnostics import Text
from lawdsl.language.instances.instance import row_indices
from lawdsl.language.library import declared
from lawdsl.law.law import Law, load


def law_of(text: str, name: str = "example") -> Law:
    """A law from the lines below its header."""
    declarations, _ = declared(Text(f"{name}.law", f"law {name}\n{text}\n"), Path())
    return Law(declarations)


def sample_of(name: str) -> Law:
    """A shipped law; one with index sets at a few labels, as its planted table has them."""
    return load(name).sample


def grid(**axes: Any) -> dict[str, np.ndarray]:
    """Every combination of the values of some columns, a row each."""
    return dict(zip(axes, map(np.ravel, np.meshgrid(*axes.values())), strict=True))


def _exp(x: Any) -> Any:
    return mpmath.exp(x) if isinstance(x, mpmath.mpf) else np.exp(x)


def _repeated(
    N: Any, D: Any, U: Any, E: Any, A: Any, alpha: Any, B: Any, beta: Any, R_D: Any, R_N: Any
) -> Any:
    """The law of repeated data, as its paper defines it: R = total/unique - 1 on both sides."""
    least = min if isinstance(N, mpmath.mpf) else np.minimum
    best = (alpha * A / (beta * B)) ** (1 / (alpha + beta))
    unique = least(U, D)
    needed = least((unique * best) ** (beta / alpha) * best, N)
    tokens = unique + unique * R_D * (1 - _exp(-(D / unique - 1) / R_D))
    size = needed + needed * R_N * (1 - _exp(-(N / needed - 1) / R_N))
    return E + A / size**alpha + B / tokens**beta


@dataclass(frozen=True)
class Planted:
    """Where a law is measured, its parameters, and the law once more, as Python."""

    columns: Mapping[str, np.ndarray]
    parameters: Mapping[str, float]
    formula: Callable[..., Any]
    output: str = "L"

    def table(self, noise: float = 0.0, seed: int = 0) -> dict[str, np.ndarray]:
        """Copies of the columns, and the output with relative Gaussian noise."""
        exact = self.formula(**self.columns, **self.parameters)
        factor = np.exp(noise * np.random.default_rng(seed).normal(size=len(exact)))
        return {**{k: v.copy() for k, v in self.columns.items()}, self.output: exact * factor}


def as_measured(name: str) -> dict[str, np.ndarray]:
    """The planted table of a law with index sets as a user has it: with a column of labels."""
    declared, table = load(name).declarations, PLANTED[name].table()
    rows = len(table[PLANTED[name].output])
    labels = {"d": np.char.add("domain", DOMAINS["domain"].astype(str)), "i": np.repeat("i", rows)}
    of_rows = {declared.indices[i].over: labels[i] for i in row_indices(declared)}
    return {n.removesuffix("[d]"): column for n, column in table.items()} | of_rows


# N, D and r as they were measured: sizes in billions, shares from 0 to 1
CPT = grid(N=[0.5, 1.8, 4.0, 7.0], D=[0.2, 1.0, 3.0, 8.0, 26.0], r=np.linspace(0, 1, 9))
# a smaller grid in each of several domains, which differ in three numbers
DOMAINS = grid(
    N=[0.5, 1.8, 4.0], D=[0.2, 1.0, 3.0, 26.0], r=[0.0, 0.25, 0.5, 0.75, 1.0], domain=range(6)
)
MEASURED = {
    "k1[d]": np.array([1.1, 1.7, 2.4, 3.0, 3.6, 4.5]),
    "k2[d]": np.array([0.3, 0.05, 0.6, 0.15, 0.9, 0.4]),
    "k3[d]": np.array([0.2, 0.35, 0.05, 0.1, 0.5, 0.15]),
}
LOTS = np.linspace(15, 100, 20)

SHARED = {
    **{"E": 1.2, "A": 0.3, "alpha": 0.5, "B": 0.2, "beta": 0.4, "eta": 1.5, "gamma": 0.6},
    **{"epsilon": 0.1, "C": 1.6, "F": 0.5, "mu": 0.8},
}


def _cross(
    hardness: Callable[[Mapping[str, Any]], Any], *measures: str, **weights: float
) -> Planted:
    """The cross-domain law with some coefficient K, of what is measured of each domain."""

    def loss(**v: Any) -> Any:
        return (
            v["E"]
            + v["A"] / v["N"] ** v["alpha"]
            + v["B"] * v["r"] ** v["eta"] / v["D"] ** v["beta"]
            + v["C"] / (v["r"] + v["epsilon"]) ** v["gamma"]
            + v["F"] / hardness(v) ** v["mu"]
        )

    columns = {name: DOMAINS[name] for name in ("N", "D", "r")}
    columns |= {name: MEASURED[name][DOMAINS["domain"]] for name in measures}
    return Planted(columns, SHARED | weights, loss)


# shares of three domains, of which some may be 0, and of which none is
SHARES = np.array([(i, j, 8 - i - j) for i in range(9) for j in range(9 - i)]) / 8  # exactly
INNER = np.array([(i, j, 9 - i - j) for i in range(1, 8) for j in range(1, 9 - i)]) / 9
LABELS = ("a", "b", "c")
MIXTURES = {f"r[{j}]": share for j, share in zip(LABELS, SHARES.T, strict=True)}


def _crossed(shares: np.ndarray, **axes: Any) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Every mixture with every combination of the values of some columns."""
    rest = grid(**axes)
    count = len(next(iter(rest.values())))
    tiled = {name: np.tile(values, len(shares)) for name, values in rest.items()}
    return np.repeat(shares, count, axis=0), tiled


def _of(name: str, *values: float) -> dict[str, float]:
    """`_of("t[i, *]", 1, 2, 3)`: one number for each label."""
    return {name.replace("*", j): x for j, x in zip(LABELS, values, strict=True)}


def _dot(v: Mapping[str, Any], left: str, right: str) -> Any:
    return sum(v[left.replace("*", j)] * v[right.replace("*", j)] for j in LABELS)


def _times(v: Mapping[str, Any], left: str, right: str) -> Any:
    product: Any = 1
    for j in LABELS:
        product = product * v[left.replace("*", j)] * v[right.replace("*", j)]
    return product


def _shukor(v: Mapping[str, Any]) -> Any:
    """What the laws of Shukor et al. have in common: floor, and the price of a poor mixture."""
    return v["E[i]"] + 1 / sum(
        v[f"C[i, {j}]"] * v[f"h[{j}]"] ** v[f"gamma[i, {j}]"] for j in LABELS
    )


SIZED, SIZED_AXES = _crossed(INNER, N=[0.2, 0.9, 3.0], D=[2.0, 9.0, 60.0])
SIZED_MIXTURES = {f"h[{j}]": x for j, x in zip(LABELS, SIZED.T, strict=True)} | SIZED_AXES
STEPS, STEPS_AXES = _crossed(INNER[::2], S=[1e3, 4e3, 3e4])
WEIGHED = np.array([*product(SHARES[::2], INNER[::4])])  # mixtures, and weights of outputs

MIXING = {
    "mixing.m1": Planted(
        MIXTURES,
        {"c[i]": 1.1, **_of("k[i, *]", 0.5, 0.8, 0.3), **_of("t[i, *]", -2.0, -0.7, 0.9)},
        lambda **v: (
            v["c[i]"] + sum(v[f"k[i, {j}]"] * _exp(v[f"t[i, {j}]"] * v[f"r[{j}]"]) for j in LABELS)
        ),
    ),
    "mixing.m2": Planted(
        MIXTURES,
        {"c[i]": 1.1, "k[i]": 0.4, **_of("t[i, *]", -2.0, -0.7, 0.9)},
        lambda **v: (
            v["c[i]"] + v["k[i]"] * sum(_exp(v[f"t[i, {j}]"] * v[f"r[{j}]"]) for j in LABELS)
        ),
    ),
    "mixing.m3": Planted(  # only -11.34, the product of t, can be known
        MIXTURES,
        {"c[i]": 1.1, "k[i]": 0.4, **_of("t[i, *]", -2.7, 2.8, 1.5)},
        lambda **v: v["c[i]"] + v["k[i]"] * _exp(_times(v, "t[i, *]", "r[*]")),
    ),
    "mixing.m4": Planted(
        MIXTURES,
        {"c[i]": 1.1, "k[i]": 0.4, **_of("t[i, *]", -1.3, 0.4, 0.9)},
        lambda **v: v["c[i]"] + v["k[i]"] * _exp(_dot(v, "t[i, *]", "r[*]")),
    ),
    "mixing.explicit": Planted(
        {f"r[{j}]": x for j, x in zip(LABELS, WEIGHED[:, 0].T, strict=True)}
        | {f"s[{i}]": x for i, x in zip(LABELS, WEIGHED[:, 1].T, strict=True)},
        {
            **_of("c[*]", 1.1, 0.7, 1.9),
            **_of("k[*]", 0.4, 0.6, 0.3),
            **_of("t[a, *]", -1.3, 0.4, 0.9),
            **_of("t[b, *]", 0.5, -1.6, 1.1),
            **_of("t[c, *]", 0.2, 0.8, -1.0),
        },
        lambda **v: sum(
            v[f"s[{i}]"] * (v[f"c[{i}]"] + v[f"k[{i}]"] * _exp(_dot(v, f"t[{i}, *]", "r[*]")))
            for i in LABELS
        ),
    ),
    "mixing.implicit": Planted(
        {f"r[{j}]": x for j, x in zip(LABELS, INNER.T, strict=True)},
        {
            **{"c": 0.9},
            **_of("k[*]", 0.4, 0.6, 0.3),
            **_of("t[a, *]", -2.3, 0.9, 1.4),
            **_of("t[b, *]", 1.5, -3.1, 1.6),
            **_of("t[c, *]", 1.2, 1.8, -3.0),
        },
        lambda **v: (
            v["c"] + sum(v[f"k[{i}]"] * _exp(_dot(v, f"t[{i}, *]", "r[*]")) for i in LABELS)
        ),
    ),
    "mixing.bimix": Planted(
        {f"r[{j}]": x for j, x in zip(("i", "a", "b"), STEPS.T, strict=True)} | STEPS_AXES,
        {"A[i]": 1.0, "alpha[i]": 0.12, "B[i]": 9.0, "beta[i]": 0.45, "C[i]": 1.6},
        lambda **v: (
            v["A[i]"]
            / v["r[i]"] ** v["alpha[i]"]
            * (v["B[i]"] / v["S"] ** v["beta[i]"] + v["C[i]"])
        ),
    ),
    "mixing.powers": Planted(
        MIXTURES,
        {
            **{"E[i]": 0.8, "w[i]": 0.3},
            **_of("C[i, *]", 2.0, 0.9, 1.4),
            **_of("gamma[i, *]", 0.6, 0.75, 0.9),
        },
        lambda **v: (
            v["E[i]"]
            + 1
            / (
                v["w[i]"]
                + sum(v[f"C[i, {j}]"] * v[f"r[{j}]"] ** v[f"gamma[i, {j}]"] for j in LABELS)
            )
        ),
    ),
    "mixing.additive": Planted(
        SIZED_MIXTURES,
        {
            **{"E[i]": 0.8, "A[i]": 0.5, "alpha[i]": 0.4, "B[i]": 0.7, "beta[i]": 0.3},
            **_of("C[i, *]", 2.0, 0.9, 1.4),
            **_of("gamma[i, *]", 0.6, 1.5, 0.9),
        },
        lambda **v: (
            _shukor(v) + v["A[i]"] / v["N"] ** v["alpha[i]"] + v["B[i]"] / v["D"] ** v["beta[i]"]
        ),
    ),
    "mixing.joint": Planted(
        SIZED_MIXTURES,
        {
            **{"E[i]": 0.8, "alpha[i]": 0.4, "kappa[i]": 0.7, "beta[i]": 0.3, "lambda[i]": 1.4},
            **_of("A[i, *]", 0.3, 0.8, 0.5),
            **_of("B[i, *]", 0.9, 0.4, 0.6),
            **_of("C[i, *]", 2.0, 0.9, 1.4),
            **_of("gamma[i, *]", 0.6, 1.5, 0.9),
        },
        lambda **v: (
            _shukor(v)
            + _dot(v, "A[i, *]", "h[*]") ** v["kappa[i]"] / v["N"] ** v["alpha[i]"]
            + _dot(v, "B[i, *]", "h[*]") ** v["lambda[i]"] / v["D"] ** v["beta[i]"]
        ),
    ),
}

PLANTED = {
    "chinchilla": Planted(
        grid(N=np.geomspace(7e7, 1.6e10, 6), D=np.geomspace(5e9, 5e11, 6)),
        {"E": 1.8172, "A": 482.01, "alpha": 0.3478, "B": 2085.43, "beta": 0.3658},
        lambda N, D, E, A, alpha, B, beta: E + A / N**alpha + B / D**beta,
    ),
    "kaplan": Planted(
        grid(N=np.geomspace(1e6, 1.5e9, 6), D=np.geomspace(2.2e7, 2.3e10, 6)),
        {"Nc": 6.4e13, "alphaN": 0.076, "Dc": 1.8e13, "alphaD": 0.103},
        lambda N, D, Nc, alphaN, Dc, alphaD: ((Nc / N) ** (alphaN / alphaD) + Dc / D) ** alphaD,
    ),
    "cmr.domain": Planted(
        {"T": LOTS},
        {"alpha1": -0.12, "s1": 0.3, "beta1": 0.05},
        lambda T, alpha1, s1, beta1: alpha1 * T**s1 + beta1,
        "dL_domain",
    ),
    "cmr.general": Planted(
        {"T": LOTS},
        {"alpha2": 0.3, "s2": 0.4, "alpha3": -0.05, "s3": 0.9, "beta2": -0.2},
        lambda T, alpha2, s2, alpha3, s3, beta2: alpha2 * T**s2 + alpha3 * T**s3 + beta2,
        "dL_general",
    ),
    "cmr.general_apart": Planted(
        {"T": LOTS},
        {"alpha2": 0.3, "s2": 0.4, "alpha3": -0.05, "gap": 0.5, "beta2": -0.2},
        lambda T, alpha2, s2, alpha3, gap, beta2: alpha2 * T**s2 + alpha3 * T ** (s2 + gap) + beta2,
        "dL_general",
    ),
    "cmr.domain_by_ratio": Planted(
        {"T": LOTS},
        {"alpha1[i]": -0.12, "s1[i]": 0.3, "beta1[i]": 0.05},
        lambda **v: v["alpha1[i]"] * v["T"] ** v["s1[i]"] + v["beta1[i]"],
        "dL_domain",
    ),
    "cmr.general_by_ratio": Planted(
        {"T": LOTS},
        {"alpha2[i]": 0.3, "s2[i]": 0.4, "alpha3[i]": -0.05, "s3[i]": 0.9, "beta2[i]": -0.2},
        lambda **v: (
            v["alpha2[i]"] * v["T"] ** v["s2[i]"]
            + v["alpha3[i]"] * v["T"] ** v["s3[i]"]
            + v["beta2[i]"]
        ),
        "dL_general",
    ),
    "cmr.ratio": Planted(
        {"T": LOTS},
        {"alpha4": 0.22524761, "s4": 0.26944345, "beta3": -0.48139982},
        lambda T, alpha4, s4, beta3: alpha4 * T**s4 + beta3,
        "R",
    ),
    "cmr.share": Planted(
        {"R": np.linspace(0.125, 1, 8)},
        {"alpha": 0.5, "s": -0.15, "beta": 0.9},
        lambda R, alpha, s, beta: alpha * R**s + beta,
    ),
    "dcpt.share": Planted(
        {"r": np.linspace(0, 1, 11)},
        {"E": 2.3114, "C": 0.1536, "gamma": 0.736, "epsilon": 0.1001},
        lambda r, E, C, gamma, epsilon: E + C / (r + epsilon) ** gamma,
    ),
    "dcpt.forgetting": Planted(
        CPT,
        {
            **{"E": 1.2, "A": 0.3, "alpha": 0.5, "G": 0.02, "k": 0.9},
            **{"epsilon": 0.05, "h": 0.8, "r_i": 0.3},
        },
        lambda N, D, r, E, A, alpha, G, k, epsilon, h, r_i: (
            (E + A / N**alpha)
            * (((r + epsilon) ** -4 + k**-4) / ((r_i + epsilon) ** -4 + k**-4)) ** (G * D / (D + h))
        ),
    ),
    "dcpt.forgetting_base": Planted(
        grid(L0=[2.2, 2.6, 3.1, 3.9], D=[0.2, 1.0, 3.0, 8.0, 26.0], r=np.linspace(0, 1, 9)),
        {"a": -0.2, "G": 0.02, "k": 0.9, "epsilon": 0.05, "h": 0.8, "r_i": 0.3},
        lambda L0, D, r, a, G, k, epsilon, h, r_i: (
            (L0 + a)
            * (((r + epsilon) ** -4 + k**-4) / ((r_i + epsilon) ** -4 + k**-4)) ** (G * D / (D + h))
        ),
    ),
    "dcpt.l1": Planted(
        CPT,
        {
            **{"E": 1.2, "A": 0.3, "alpha": 0.5, "B": 0.2, "beta": 0.4},
            **{"C": 0.4, "gamma": 0.6, "epsilon": 0.1},
        },
        lambda N, D, r, E, A, alpha, B, beta, C, gamma, epsilon: (
            E + A / N**alpha + B / D**beta + C / (r + epsilon) ** gamma
        ),
    ),
    "dcpt.l2": Planted(
        CPT,
        {
            **{"E": 1.2, "A": 0.3, "alpha": 0.5, "B": 0.2, "beta": 0.4},
            **{"C": 0.4, "gamma": 0.6, "epsilon": 0.1, "eta": 0.7},
        },
        lambda N, D, r, E, A, alpha, B, beta, C, gamma, epsilon, eta: (
            E + A / N**alpha + (B / D**beta + C / (r + epsilon) ** gamma) ** eta
        ),
    ),
    "dcpt.l3": Planted(
        CPT,
        {
            **{"E": 1.2, "A": 0.3, "alpha": 0.5, "B": 0.2, "beta": 0.4},
            **{"eta": 1.5, "gamma": 0.6, "epsilon": 0.1, "C": 1.6},
        },
        lambda N, D, r, E, A, alpha, B, beta, eta, gamma, epsilon, C: (
            E + A / N**alpha + B * r**eta / D**beta + C / (r + epsilon) ** gamma
        ),
    ),
    "dcpt.l4": Planted(
        CPT,
        {
            **{"E": 1.2, "A": 0.3, "alpha": 0.5, "B": 0.2, "beta": 0.4},
            **{"C": 0.5, "b": 1.5, "c": 3.0},
        },
        lambda N, D, r, E, A, alpha, B, beta, C, b, c: (
            E + A / N**alpha + B * b**r / D**beta + C / c**r
        ),
    ),
    "dcpt.l5": Planted(
        CPT,
        {"E": 1.2, "A": 0.3, "alpha": 0.5, "B": 0.2, "beta": 0.4, "sigma": 0.05},
        lambda N, D, r, E, A, alpha, B, beta, sigma: (
            E + A / N**alpha + B / (r * D + (1 - r) * sigma) ** beta
        ),
    ),
    "dcpt.cross_k1": _cross(lambda v: 1 / v["k1[d]"], "k1[d]"),
    "dcpt.cross_k2": _cross(lambda v: v["k2[d]"], "k2[d]"),
    "dcpt.cross_k3": _cross(
        lambda v: 1 / v["k1[d]"] + v["w2"] * v["k2[d]"], "k1[d]", "k2[d]", w2=2.0
    ),
    "dcpt.cross_k4": _cross(
        lambda v: 1 / v["k1[d]"] + v["w2"] * v["k2[d]"] + v["w3"] / v["k3[d]"],
        *MEASURED,
        w2=2.0,
        w3=0.07,
    ),
    **MIXING,
    "mixing.size": Planted(
        {"N": np.geomspace(7e7, 1e9, 8)},
        {"E": 1.9, "A": 320.0, "alpha": 0.33},
        lambda N, E, A, alpha: E + A / N**alpha,
    ),
    "mixing.step": Planted(
        {"S": np.geomspace(1e3, 1e5, 8)},
        {"E": 2.1, "B": 18.0, "beta": 0.4},
        lambda S, E, B, beta: E + B / S**beta,
    ),
    "mixing.critical": Planted(
        {"r": np.linspace(0, 1, 7)},
        {"c": 2.6, "k": 0.4, "t": -1.8},
        lambda r, c, k, t: c + k * _exp(t * r),
    ),
    "mixing.two_domain": Planted(
        {"r": np.linspace(0, 1, 7)},
        {"c": 2.6, "k": 0.4, "t": -1.8},
        lambda r, c, k, t: c + k * _exp(t * r),
    ),
    "repeated": Planted(
        grid(
            N=np.geomspace(0.01, 9, 6),
            D=np.geomspace(1, 300, 5),
            U=np.geomspace(0.1, 50, 4),
        ),
        {
            **{"E": 1.87, "A": 0.37, "alpha": 0.35, "B": 0.86, "beta": 0.36},
            **{"R_D": 15.4, "R_N": 5.3},
        },
        _repeated,
    ),
}
