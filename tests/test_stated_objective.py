"""The objective that a fit states is that of the parameters it stores, also where a fit degenerates."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted import law_of

import lawdsl

DELTA = 1e-3
LOSSES = ("squared(raw)", "squared(log)", "huber(raw)", "huber(log)")


@dataclass(frozen=True)
class Case:
    """A law, the same as a formula of NumPy, and how it is fitted."""

    text: str
    formula: Callable[..., Any]
    settings: dict[str, Any]


SHARE = "variable r, N > 0\nparameter E, C, gamma, epsilon > 0\nL = E + C/(r + epsilon)^gamma"
POWERS = "variable r, N > 0\nparameter E, A, B, alpha, beta > 0\nL = E + A/N^alpha + B/r^beta"
ORDERED = (
    "variable r, N > 0\nparameter E, a > 0\nparameter k in (0, 5)\nlet b0 = a*k\n"
    "parameter b > b0\nL = E + b/r^k + a/N"
)
GROWTH = "variable r, N > 0\nparameter E, s > 0\nparameter p, q\nL = E + s*exp(p*r + q*log(N))"


def share(r: Any, N: Any, E: float, C: float, gamma: float, epsilon: float) -> Any:
    return E + np.exp(np.log(C) - gamma * np.log(r + epsilon))


def powers(r: Any, N: Any, E: float, A: float, B: float, alpha: float, beta: float) -> Any:
    return E + np.exp(np.log(A) - alpha * np.log(N)) + np.exp(np.log(B) - beta * np.log(r))


def ordered(r: Any, N: Any, E: float, a: float, b: float, k: float) -> Any:
    return E + b / r**k + a / N


def growth(r: Any, N: Any, E: float, s: float, p: float, q: float) -> Any:
    return E + np.exp(np.log(s) + p * r + q * np.log(N))


CASES = {
    "share": Case(SHARE, share, {}),
    "powers": Case(POWERS, powers, {}),
    "powers tied": Case(POWERS, powers, {"tie": {"beta": "alpha"}}),
    "ordered": Case(ORDERED, ordered, {}),
    "ordered, one fixed": Case(ORDERED, ordered, {"fix": {"k": 2.0}}),
    "growth": Case(GROWTH, growth, {}),
}


def tables(seed: int) -> dict[str, dict[str, np.ndarray]]:
    """Tables on which these laws leave parameters open, or send them to infinity."""
    draw = np.random.default_rng(seed)
    N, r = (x.ravel() for x in np.meshgrid([0.5, 1.8, 4.0], np.linspace(0.05, 1, 5)))
    plain = 1.7 + 0.15 / (r + 0.1) ** 0.7 + 0.3 / N**0.4
    outlier = plain.copy()
    outlier[4] = 30.0
    noise = draw.normal(0, 0.02, len(r))
    return {
        "two effects": {"r": r, "N": N, "L": plain + noise},
        "rising": {"r": r, "N": N, "L": 1 + 0.5 * r + 0.1 * N + noise},
        "straight": {"r": r, "N": N, "L": 3 - r + noise / 10},
        "outlier": {"r": r, "N": N, "L": outlier + noise},
        "noise alone": {"r": r, "N": N, "L": 2 + noise},
        "step": {"r": r, "N": N, "L": np.where(r > 0.5, 1.0, 2.0) + noise},
        "one size": {"r": r, "N": np.full(len(r), 1.3), "L": plain + noise},
    }


def independent(
    case: Case, table: dict[str, np.ndarray], stored: dict[str, Any], loss: str
) -> float:
    """The objective once more, from the stored parameters alone."""
    values = {name: p["value"] for name, p in stored["parameters"].items()}
    values |= {name: p["value"] for name, p in stored.get("held", {}).items()}
    with np.errstate(all="ignore"):
        made = case.formula(table["r"], table["N"], **values)
        away = np.log(made) - np.log(table["L"]) if "log" in loss else made - table["L"]
    cost = away**2
    if "huber" in loss:
        size = np.abs(away)
        cost = np.where(size <= DELTA, cost / 2, DELTA * (size - DELTA / 2))
    return float(np.sum(cost * table.get("copies", 1.0)))


def check(name: str, which: str, loss: str, weighted: bool, folder: Path, seed: int) -> None:
    case, table = CASES[name], tables(seed)[which]
    weights = None
    if weighted:
        copies = np.random.default_rng(seed).integers(1, 4, len(table["L"]))
        table, weights = {**table, "copies": copies.astype(float)}, "copies"
    delta = DELTA if "huber" in loss else None
    fit = lawdsl.fit(
        law_of(case.text), table, objective=loss, delta=delta, weights=weights, starts=6,
        claims=False, **case.settings,
    )  # fmt: skip
    fit.save(folder / "fit.json")
    stored = json.loads((folder / "fit.json").read_text())
    expected = independent(case, table, stored, loss)

    assert fit.objective.sum == pytest.approx(expected, rel=1e-9, abs=1e-13)
    assert stored["objective"]["sum"] == fit.objective.sum
    assert stored["objective"]["log" if "log" in loss else "raw"]["sum"] == pytest.approx(
        expected, rel=1e-9, abs=1e-13
    )
    predicted = lawdsl.load_fit(folder / "fit.json").predict({"r": table["r"], "N": table["N"]})
    residual, centred = (
        predicted - table["L"],
        table["L"] - np.average(table["L"], weights=table.get("copies")),
    )
    r2 = 1 - np.average(residual**2, weights=table.get("copies")) / np.average(
        centred**2, weights=table.get("copies")
    )
    assert fit.metrics.r2 == pytest.approx(r2, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "which", "loss", "weighted"),
    [  # those of the slow test below in which most differs
        ("share", "straight", "squared(raw)", True),
        ("powers", "one size", "squared(raw)", False),
        ("powers tied", "straight", "squared(log)", False),
        ("ordered, one fixed", "two effects", "huber(raw)", False),
    ],
)
def test_a_degenerate_fit_states_the_objective_of_its_parameters(
    name: str, which: str, loss: str, weighted: bool, tmp_path: Path
):
    check(name, which, loss, weighted, tmp_path, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_degenerate_fit_states_the_objective_of_its_parameters(
    name: str, loss: str, weighted: bool, tmp_path: Path
):
    for which in tables(0):
        for seed in range(2):
            check(name, which, loss, weighted, tmp_path, seed)


def test_parameters_that_run_to_infinity_are_stored_with_their_own_objective(tmp_path: Path):
    """The loss falls in r exponentially, which the law has only as a limit: C and gamma run away."""
    N, r = (x.ravel() for x in np.meshgrid([0.5, 1.8, 4.0], np.linspace(0.05, 1, 9)))
    draw = np.random.default_rng(0)
    L = (1.6 + 0.3 * np.exp(-2 * r) + 0.1 / N) * np.exp(draw.normal(0, 0.003, len(r)))
    case = CASES["share"]
    fit = lawdsl.fit(law_of(case.text), {"r": r, "N": N, "L": L}, objective="squared", claims=False)
    fit.save(tmp_path / "fit.json")
    stored = json.loads((tmp_path / "fit.json").read_text())

    expected = independent(case, {"r": r, "N": N, "L": L}, stored, "squared(raw)")
    assert fit.objective.sum == pytest.approx(expected, rel=1e-9)
    limit = np.stack([np.ones_like(r), np.exp(-2 * r)], axis=1)
    _, reachable, *_ = np.linalg.lstsq(limit, L, rcond=None)
    assert fit.objective.sum <= 1.02 * reachable[0]  # a point of a line that leads to the limit
    assert fit.values["C"] > 1e30
