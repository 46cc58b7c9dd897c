"""Shipped laws on public tables are fitted no worse than by SciPy, which descends from many starts or scans the exponents.

Neither source nor table prints a number of these laws, so that a fit that this project did not make takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from test_catalogue_certified import rows

import lawdsl
from lawdsl.fitting.result import Fit

Array = NDArray[np.float64]


def scanned(terms: Callable[..., list[Array]], y: Array, *grids: Array) -> float:
    """The least sum of squares of a sum of terms, whose factors are free, over exponents near a grid."""

    def missed(exponents: Any) -> float:
        columns = np.stack(terms(*exponents), axis=1)
        columns = columns / np.linalg.norm(columns, axis=0)
        return float(np.sum((columns @ np.linalg.lstsq(columns, y)[0] - y) ** 2))

    best = sorted(product(*grids), key=missed)[:3]
    options = {"xatol": 1e-9, "fatol": 1e-18, "maxiter": 2000}
    return min(
        float(minimize(missed, at, method="Nelder-Mead", options=options).fun) for at in best
    )


def no_worse(law: str, table: Mapping[str, Array], than: float, **options: Any) -> Fit:
    fit = lawdsl.fit(law, table, claims=False, rolled_check=False, **options)
    assert isinstance(fit, Fit)
    assert fit.objective.sum <= than * (1 + 1e-6)
    assert fit.objective.sum >= than * (1 - 1e-3)  # it is the same optimum
    return fit


# ---- runs in size and tokens


def runs(data: Path) -> tuple[Array, Array, Array]:
    """N, D and loss of Chinchilla's figure 4."""
    table = pd.read_csv(data / "chinchilla_points" / "chinchilla_points.csv")
    table = table[table["in240"] == 1]
    N, D, L = (table[name].to_numpy(float) for name in ("N", "D", "loss"))
    return N, D, L


def check_over_training(data: Path) -> None:
    """Chinchilla's law with one exponent, in tokens a parameter and compute."""
    N, D, L = runs(data)
    terms = lambda alpha: [np.ones_like(N), (N / 1e9) ** -alpha, (D / 1e9) ** -alpha]  # noqa: E731
    than = scanned(terms, L, np.linspace(0.1, 0.9, 9))
    table = {"M": D / N, "C": 6 * N * D, "L": L}
    no_worse("overtrain.allocation", table, than, objective="squared(raw)")


def check_other_languages(data: Path) -> None:
    """Tokens of a language that is worth as much are tokens: the optimum of Chinchilla's law, however they are split."""
    N, D, L = runs(data)
    share = np.resize([0.1, 0.5, 0.9, 0.3], len(N))
    table = {"N": N, "S": share * D, "S_k[fr]": (1 - share) * D, "L": L}
    found = lawdsl.fit("data.transferred", table, fix={"tau[fr]": 1}, claims=False)
    fit = found if isinstance(found, Fit) else found.parts[0]
    assert fit.objective.sum == pytest.approx(1.0182740178e-3, rel=1e-8)


def check_one_language(data: Path) -> None:
    """Without repetitions it is Chinchilla's law; with the worth of repetitions of Muennighoff et al., their law."""
    N, D, L = runs(data)
    table = {"N": N, "U": D, "seen": 0 * D, "L": L}
    fit = lawdsl.fit("data.atlas", table, fix={"lambda": 1}, claims=False)
    assert isinstance(fit, Fit)
    assert fit.objective.sum == pytest.approx(1.0182740178e-3, rel=1e-8)
    law = lawdsl.load("data.atlas")
    at = {"E": 1.87, "A": 521.0, "alpha": 0.3527, "B": 1488.0, "beta": 0.3527}
    at |= {"lambda": 1 / 15.387756, "N": 1e9, "U": 2.5e10, "seen": 3.0}
    tokens = 2.5e10 * (1 + 15.387756 * (1 - np.exp(-3 / 15.387756)))
    value = float(law.expression.xreplace({law.symbols[n]: v for n, v in at.items()}))
    assert value == pytest.approx(1.87 + 521 / 1e9**0.3527 + 1488 / tokens**0.3527, rel=1e-12)


def check_two_modalities(data: Path) -> None:
    """One product of powers, the losses alone being 1 nat."""
    N, D, L = runs(data)
    terms = lambda a, b: [np.ones_like(N), (N / 1e9) ** -a * (D / 1e9) ** -b]  # noqa: E731
    than = scanned(terms, L, np.linspace(0.05, 0.5, 8), np.linspace(0.05, 0.5, 8))
    one = np.ones_like(N)
    no_worse("multimodal.mixed", {"N": N, "D": D, "L_i": one, "L_j": one, "L": L}, than)


# ---- curves


def check_breaks(data: Path) -> None:
    """Caballero et al. 2023: one break of those that the law has, the others being none."""
    without = {"family.broken2": {"c2": 0, "d2": 1e5, "f2": 1}}
    without["family.broken"] = {
        "c[2]": 0,
        "d[2]": 1e5,
        "f[2]": 1,
        "c[3]": 0,
        "d[3]": 1e6,
        "f[3]": 1,
    }
    for law, fixed in without.items():
        table = data / "bnsl_addition" / "points.csv"
        found = lawdsl.fit(
            law, table, fix=fixed, where=["x <= 736"], claims=False, rolled_check=False
        )
        fit = found if isinstance(found, Fit) else found.parts[0]
        assert fit.objective.sum == pytest.approx(5.0119e-6, rel=1e-4), law


def check_gompertz(_: Path) -> None:
    """The growth of pasture, of NIST: the best curve of this form."""
    x, y = rows("Rat42")
    term = lambda b, k: [np.exp(-b * np.exp(-k * x))]  # noqa: E731
    than = scanned(term, y, np.array([1.0, 2, 4, 8]), np.array([0.01, 0.03, 0.1]))
    no_worse("family.gompertz", {"x": x, "y": y}, than)


def check_pool(data: Path) -> None:
    """A pool that is never repeated is a power law with a floor: .3216 is predicted at 512M examples."""
    table = pd.read_csv(data / "nmt_examples" / "points.csv")
    table = table[(table["model"] == "6 Enc, 6 Dec") & (table["training"] == 1)]
    n, y = table["examples"].to_numpy(float), table["log_perplexity"].to_numpy(float)
    columns = {"n": n, "U": np.full(len(n), 1e12), "y": y}
    fit = lawdsl.fit("quality.utility", columns, fix={"tau": 1}, claims=False, rolled_check=False)
    assert isinstance(fit, Fit)
    assert fit.predict({"n": [512e6], "U": [1e12]})[0] == pytest.approx(0.3216, abs=5e-5)


def check_best_batch(data: Path) -> None:
    """Li et al. 2025: the best cells alone give 3.42 D^.4983."""
    table = pd.read_csv(data / "steplaw_dense" / "runs.csv")
    best = table.loc[table.groupby(["N", "D"])["loss_smooth"].idxmin()]
    columns = {"D": best["D"].to_numpy(float), "B": best["bs_tokens"].to_numpy(float)}
    fit = lawdsl.fit("batch.tokens", columns, claims=False)
    assert isinstance(fit, Fit)
    assert fit.values == pytest.approx({"c": 3.42, "m": 0.4983}, rel=2e-3)


def check_basin(data: Path) -> None:
    """Li et al. 2025: the runs of one size and volume next to the best one, against a quadratic form by least squares."""
    table = pd.read_csv(data / "steplaw_dense" / "runs.csv")
    _, rows = max(table.groupby(["N", "D"]), key=lambda group: len(group[1]))
    rows = rows[rows["loss_smooth"] <= rows["loss_smooth"].min() * 1.02]
    eta, B = (rows[name].to_numpy(float) for name in ("lr", "bs_tokens"))
    L, x, y = rows["loss_smooth"].to_numpy(float), np.log(eta), np.log(B)
    columns = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)
    than = float(np.sum((columns @ np.linalg.lstsq(columns, L)[0] - L) ** 2))
    no_worse("lr.basin", {"eta": eta, "B": B, "L": L}, than, objective="squared(raw)")


# ---- continual pre-training and mixtures


def check_forgetting(data: Path) -> None:
    """Ibrahim et al. 2024: the loss on the Pile after German, one size and volume, against the share that is kept."""
    table = pd.read_csv(data / "published" / "ibrahim2024_replay.csv")
    rows = table[table["run"] == "405M_pile_to_german"]
    p, L = rows["replay_pct"].to_numpy(float) / 100, rows["L_old"].to_numpy(float)
    term = lambda a, b: [(1 + np.exp(b) * p) ** -a]  # noqa: E731
    than = scanned(term, L - 2.17, np.linspace(0.1, 1, 7), np.linspace(2, 9, 8))
    at = {"D": 2e11, "N": 4.05e8, "L0": 2.17}
    columns = {name: np.full(len(p), value) for name, value in at.items()} | {"p": p, "L": L}
    no_worse("forgetting.injection", columns, than, objective="squared(raw)", fix={"beta": 0.3})


def changes(data: Path) -> tuple[Array, dict[str, Array], dict[str, Array]]:
    """Ye et al. 2024: lots of 200 steps, and how the losses on Python and the Pile change, by the share of Python."""
    table = pd.read_csv(data / "mixing_laws" / "ct.csv")
    old = table["valid_domain"] == "Pile-CC"
    python = table["valid_domain"] == "python"
    base = table["run"] == "base"
    found: list[dict[str, Array]] = []
    for part in (python, old):
        before = float(table[base & part]["loss"].iloc[0])
        after = table[~base & part].sort_values("step")
        found.append(
            {f"r{r:.3f}": g["loss"].to_numpy(float) - before for r, g in after.groupby("r_python")}
        )
    return np.arange(1000, 10_001, 1000) / 200, *found


def one_power(T: Array, y: Array) -> float:
    return scanned(
        lambda s: [np.ones_like(T), T**s], y, np.array([-2, -1, -0.5, -0.1, 0.2, 0.5, 1])
    )


def two_powers(T: Array, y: Array, apart: float = 0.0) -> float:
    """With powers at least so far apart."""
    terms = lambda s, gap: [np.ones_like(T), T**s, T ** (s + max(gap, apart))]  # noqa: E731
    return scanned(terms, y, np.linspace(-2, 1, 7), np.array([0.3, 0.7, 1.5]))


def check_domain_loss(data: Path) -> None:
    T, python, _ = changes(data)
    than = {ratio: one_power(T, y) for ratio, y in python.items()}
    for ratio in ("r0.500", "r0.875"):
        no_worse("cmr.domain", {"T": T, "dL_domain": python[ratio]}, than[ratio])
    labels = np.repeat(list(python), len(T))
    table = {"T": np.tile(T, len(python)), "dL_domain": np.concatenate(list(python.values()))}
    found = lawdsl.fit("cmr.domain_by_ratio", table | {"ratio": labels}, claims=False)
    for ratio, sum_of_squares in than.items():
        assert found.part(ratio).objective.sum <= sum_of_squares * (1 + 1e-6), ratio


def check_general_loss(data: Path) -> None:
    T, _, old = changes(data)
    y = old["r0.500"]
    no_worse("cmr.general_apart", {"T": T, "dL_general": y}, two_powers(T, y, apart=0.2))


def check_close_powers(data: Path) -> None:
    """The powers may come as close as they like: with shares each of its own, and with one."""
    T, _, old = changes(data)
    ratio = "r0.875"
    table, than = {"T": T, "dL_general": old[ratio]}, two_powers(T, old[ratio])
    no_worse("cmr.general", table, than, starts=3)
    labels = np.repeat(ratio, len(T))
    options: dict[str, Any] = {"claims": False, "rolled_check": False, "starts": 3}
    fit = lawdsl.fit("cmr.general_by_ratio", {**table, "ratio": labels}, **options).part(ratio)
    assert fit.objective.sum <= than * (1 + 1e-6)


def check_no_interaction(data: Path) -> None:
    """Ye et al. 2024: where a share is 0 the third candidate is one number, and else one number moves it."""
    table = pd.read_csv(data / "mixing_laws" / "3Mix.csv")
    table = table[(table["size"] == "410M") & (table["step"] == 60_000)]
    table = table[table["valid_domain"] == "Books3"]
    names = ("r_github", "r_books3", "r_pilecc")
    product_of_shares = table[list(names)].prod(axis=1).to_numpy(float)
    L = table["loss"].to_numpy(float)
    assert len(L) == 32
    terms = lambda t: [np.ones_like(L), np.exp(t * product_of_shares)]  # noqa: E731
    than = scanned(terms, L, np.array([-300.0, -100, -30, -10, 3, 10, 30, 100]))
    columns = {f"r[{name}]": table[name].to_numpy(float) for name in names}
    columns |= {"L": L, "validation": np.repeat("books", 32)}
    fixed = {f"t[books, {name}]": 1 for name in names[1:]}
    options: dict[str, Any] = {"objective": "squared(raw)", "claims": False, "rolled_check": False}
    fit = lawdsl.fit("mixing.m3", columns, fix=fixed, **options).part("books")
    assert fit.objective.sum <= than * (1 + 1e-6)


def check_sizes(data: Path) -> None:
    """Ye et al. 2024: four models, 70M to 410M, of one mixture."""
    table = pd.read_parquet(data / "mixing_laws" / "5Mix.parquet")
    table = table[(table["step"] == 30_000) & (table["valid_domain"] == "Pile-CC")]
    sizes = {"70M": 18_915_328, "160M": 85_056_000, "305M": 201_541_632, "410M": 302_311_424}
    table = table[table["size"].isin(list(sizes)) & (table["r_internet"] == 0.375)]
    shares = ["r_academic", "r_prose", "r_dialogue", "r_symbolic"]
    for _, rows_of_mixture in list(table.groupby(shares))[:3]:
        N = rows_of_mixture["size"].astype(str).map(sizes).to_numpy(float)
        L = rows_of_mixture["loss"].to_numpy(float)
        assert len(L) == 4
        terms = lambda a, N=N: [np.ones_like(N), (N / 1e8) ** -a]  # noqa: E731
        than = scanned(terms, L, np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.8]))
        no_worse("mixing.size", {"N": N, "L": L}, than, objective="squared(raw)")


def check_own_share(data: Path) -> None:
    """Ye et al. 2024: the loss of 410M models on a domain, by its own share and the number of steps."""
    table = pd.read_csv(data / "mixing_laws" / "3Mix.csv")
    named = {"Github": "r_github", "Books3": "r_books3", "Pile-CC": "r_pilecc"}
    table = table[(table["size"] == "410M") & (table["step"] % 20_000 == 0)]
    table = table[(table[list(named.values())] > 0).all(axis=1)]
    columns = {f"r[{label}]": table[name].to_numpy(float) for label, name in named.items()}
    columns |= {"S": table["step"].to_numpy(float), "L": table["loss"].to_numpy(float)}
    domains = table["valid_domain"].to_numpy(str)
    options: dict[str, Any] = {"objective": "squared(raw)", "claims": False, "rolled_check": False}
    fits = lawdsl.fit("mixing.bimix", columns | {"domain": domains}, **options)
    for label in named:
        at = domains == label
        r, S, L = columns[f"r[{label}]"][at], columns["S"][at] / 1e4, columns["L"][at]
        terms = lambda a, b, r=r, S=S: [r**-a * S**-b, r**-a]  # noqa: E731
        than = scanned(terms, L, np.linspace(0.01, 0.4, 5), np.linspace(0.1, 2, 5))
        assert fits.part(label).objective.sum <= than * (1 + 1e-6), label


CHECKS: dict[str, Callable[[Path], None]] = {
    "overtrain.allocation": check_over_training,
    "data.transferred": check_other_languages,
    "data.atlas": check_one_language,
    "multimodal.mixed": check_two_modalities,
    "family.broken": check_breaks,
    "family.gompertz": check_gompertz,
    "quality.utility": check_pool,
    "batch.tokens": check_best_batch,
    "lr.basin": check_basin,
    "forgetting.injection": check_forgetting,
    "cmr.domain": check_domain_loss,
    "cmr.general_apart": check_general_loss,
    "cmr.general": check_close_powers,
    "mixing.m3": check_no_interaction,
    "mixing.size": check_sizes,
    "mixing.bimix": check_own_share,
}


@pytest.mark.parametrize("law", CHECKS)
def test_the_law_is_fitted_no_worse_than_by_scipy(law: str, shared_data: Path):
    CHECKS[law](shared_data)
