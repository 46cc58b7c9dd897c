"""Shipped laws have the certified least squares of NIST where they are the curve of a set, and the known fits of C4's shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from nist_sets import DATA, FORMULAS
from numpy.typing import NDArray

import lawdsl
from lawdsl.fitting.result import Fit

Array = NDArray[np.float64]
SHARES_OF_C4 = Path(__file__).resolve().parent.parent / "laws" / "data" / "c4_share.csv"


def rows(name: str) -> tuple[Array, Array]:
    """x and y of a set of NIST."""
    table = np.genfromtxt(DATA / f"{name.lower()}.csv", delimiter=",", names=True)
    return np.asarray(table["x"]), np.asarray(table["y"])


def least_squares(law: str, table: Mapping[str, Array], **options: Any) -> Fit:
    options = {"objective": "squared(raw)", "claims": False, "rolled_check": False, **options}
    found = lawdsl.fit(law, table, **options)
    return found if isinstance(found, Fit) else found.parts[0]


# ---- the sets of NIST: Rat42, Misra1a, DanWood, Bennett5


def logistic() -> tuple[Fit, float, dict[str, float]]:
    """b1/(1 + exp(b2 - b3*x)), of exp(x/10)."""
    x, y = rows("Rat42")
    fit = least_squares("family.logistic", {"x": np.exp(x / 10), "y": y}, fix={"low": 0})
    expected = {
        "high": 72.462237576,
        "x0": np.exp(2.6180768402 / 0.67359200066),
        "k": 0.67359200066,
    }
    return fit, 1.0, expected


def reinforcement() -> tuple[Fit, float, dict[str, float]]:
    x, y = rows("Rat42")
    fit = least_squares("rl.sigmoid", {"C": np.exp(x / 10), "R": y / 100}, fix={"R0": 0})
    expected = {"A": 0.72462237576, "B": 0.67359200066}
    return fit, 1e-4, expected


def accuracy() -> tuple[Fit, float, dict[str, float]]:
    """A loss that falls as the x of the set rises."""
    x, y = rows("Rat42")
    fit = least_squares("downstream.sigmoid", {"L": 100 - x, "Acc": y / 100}, tie={"a": "-b"})
    expected = {"b": 0.72462237576, "k": 0.067359200066, "L0": 100 - 2.6180768402 / 0.067359200066}
    return fit, 1e-4, expected


def capability() -> tuple[Fit, float, dict[str, float]]:
    """One component."""
    x, y = rows("Rat42")
    fit = least_squares("downstream.capability", {"S[one]": x, "Acc": y / 100}, fix={"b": 0})
    expected = {"a": 0.72462237576, "w[one]": 0.067359200066, "c": -2.6180768402}
    return fit, 1e-4, expected


def weibull() -> tuple[Fit, float, dict[str, float]]:
    """b1*(1 - exp(-b2*x)), the exponent 1."""
    x, y = rows("Misra1a")
    fit = least_squares("family.weibull", {"x": x, "y": y}, fix={"low": 0, "k": 1})
    return fit, 1.0, {"high": 238.94212918, "scale": 1 / 5.5015643181e-4}


def error() -> tuple[Fit, float, dict[str, float]]:
    x, y = rows("Misra1a")
    fit = least_squares("downstream.error", {"L": x, "Err": y}, tie={"epsilon": "k"})
    return fit, 1.0, {"k": 238.94212918, "gamma": 5.5015643181e-4}


def coverage() -> tuple[Fit, float, dict[str, float]]:
    """b1*x^b2 is minus the logarithm of the coverage of 10/x samples."""
    x, y = rows("DanWood")
    fit = least_squares(
        "testtime.coverage", {"k": 10 / x, "c": np.exp(-y)}, objective="squared(log)"
    )
    return fit, 1.0, {"a": -0.76886226176 * 10**3.8604055871, "b": 3.8604055871}


def vision() -> tuple[Fit, float, dict[str, float]]:
    """b1*(b2 + x)^(-1/b3), which is negative there; without an error that remains."""
    x, y = rows("Bennett5")
    fit = least_squares("vision.shifted", {"C": x, "Err": -y}, fix={"c": 1e-9})
    return fit, 1.0, {"a": 2523.5058043, "d": 46.736564644, "b": 1 / 0.93218483193}


CERTIFIED: dict[str, tuple[str, Callable[[], tuple[Fit, float, dict[str, float]]]]] = {
    "family.logistic": ("Rat42", logistic),
    "rl.sigmoid": ("Rat42", reinforcement),
    "downstream.sigmoid": ("Rat42", accuracy),
    "downstream.capability": ("Rat42", capability),
    "family.weibull": ("Misra1a", weibull),
    "downstream.error": ("Misra1a", error),
    "testtime.coverage": ("DanWood", coverage),
    "vision.shifted": ("Bennett5", vision),
}
"""law -> a set whose curve it is, and its fit to it."""


@pytest.mark.parametrize("law", CERTIFIED)
def test_the_law_fitted_to_a_set_of_nist_has_the_certified_values(law: str):
    name, compute = CERTIFIED[law]
    fit, scale, expected = compute()
    assert fit.objective.sum == pytest.approx(scale * FORMULAS[name][1], rel=1e-8)
    assert {p: fit.values[p] for p in expected} == pytest.approx(expected, rel=2e-6)


# ---- the shares of C4: 4.2B parameters and 84B tokens

NEARLY_NOTHING = {"A": 1e-6, "alpha": 1}
NO_TOKENS = {"B": 1e-6, "beta": 1}
SHARE_TERM = {"E": 2.3114, "gamma": 0.7360}
SHARES = {
    # the r-term: E + C/(r + epsilon)^gamma
    "dcpt.l2": (
        {**NEARLY_NOTHING, **NO_TOKENS, "eta": 1},
        {**SHARE_TERM, "C": 0.1536, "epsilon": 0.1001},
        0.0014,
    ),
    # an exponential of the share
    "dcpt.l4": ({**NEARLY_NOTHING, **NO_TOKENS, "b": 1.0001}, {}, 0.0061),
    # the r-term once more, sigma/(D - sigma) being epsilon
    "dcpt.l5": (
        NEARLY_NOTHING,
        {"E": 2.3114, "beta": 0.7360, "sigma": 84 * 0.1001 / 1.1001},
        0.0014,
    ),
}
"""law -> what is fixed, what is then known, and the root mean square error."""


@pytest.mark.parametrize("law", SHARES)
def test_the_law_has_the_known_fit_of_the_shares_of_c4(law: str):
    fixed, expected, error = SHARES[law]
    measured = pd.read_csv(SHARES_OF_C4, comment="#")
    table = {"N": np.full(10, 4.2), "D": np.full(10, 84.0)}
    table |= {name: measured[name].to_numpy(float) for name in ("r", "L")}
    fit = least_squares(law, table, fix=fixed)
    assert {p: fit.values[p] for p in expected} == pytest.approx(expected, rel=1e-3)
    assert np.sqrt(fit.objective.mean) == pytest.approx(error, abs=5e-5)
