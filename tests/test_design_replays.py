"""Replays of designs in simulated worlds: they beat a spread grid, and their stops can be trusted.

`tests/benchmarks/designs.py` does the same on tables of finished runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import lawdsl
from lawdsl.designing.runs.spread import grid_coordinates, spread_batch
from lawdsl.designing.runs.tolerance import narrowing, tolerance
from lawdsl.fitting.extrapolation.kernel import kernel

Array = np.ndarray
SEEDS = {"two worlds": range(2), "five worlds": range(5)}
NOISE = 0.002
BUDGET = 0.3  # of what all candidates cost
WRONG = {"right": 0.0, "wrong by 2 % per decade": 0.02}
LEVELS = (0.01, 0.02, 0.03, 0.05)


@dataclass(frozen=True)
class World:
    """Candidates, and targets beyond the largest of them."""

    candidates: dict[str, Array]
    targets: list[dict[str, float]]
    measured: Array
    truth: Array

    def some(self, chosen: list[int]) -> dict[str, Array]:
        return {name: values[chosen] for name, values in self.candidates.items()}


def world(wrong: float, seed: int) -> World:
    """36 runs at 6 budgets, and targets at twice the largest one."""
    rng = np.random.default_rng([seed, int(1000 * wrong)])
    C = np.append(np.repeat(np.geomspace(6e18, 1e21, 6), 6), np.full(5, 2e21))
    ratios = np.append(np.tile(np.geomspace(0.2, 5, 6), 6), np.geomspace(0.2, 0.4, 5))
    N = np.sqrt(C / 120) * ratios
    D = C / (6 * N)
    z = np.log10(np.array([N, D])).T
    z -= np.mean(z[:36], axis=0)
    root = np.linalg.cholesky(kernel(z, z) + 1e-9 * np.eye(len(z)))
    truth = 1.82 + 482 / N**0.348 + 2085 / D**0.366
    truth = truth * np.exp(wrong * root @ rng.standard_normal(len(z)))
    L = truth * np.exp(NOISE * rng.standard_normal(len(z)))
    targets = [{"N": float(n), "D": float(d)} for n, d in zip(N[36:], D[36:], strict=True)]
    return World({"N": N[:36], "D": D[:36], "L": L[:36]}, targets, L[36:], truth[36:])


@dataclass(frozen=True)
class Replay:
    """How far off the targets are, and after each batch half their intervals and which hold."""

    designed: float
    spread: float
    halves: Array
    holds: Array


def fitted(world: World, chosen: list[int]) -> lawdsl.Fit:
    cheap: dict[str, Any] = {"claims": False, "rolled_check": False, "intervals": "delta"}
    fit = lawdsl.fit("chinchilla", world.some(chosen), starts=3, **cheap)
    assert isinstance(fit, lawdsl.Fit)
    return fit


def off(world: World, chosen: list[int]) -> float:
    """The root mean square of the logarithms of predicted over true losses."""
    at = {name: [target[name] for target in world.targets] for name in ("N", "D")}
    predicted = fitted(world, chosen).predict_with_errors(at).values
    return float(np.sqrt(np.mean(np.log(predicted / world.truth) ** 2)))


def replayed(world: World) -> Replay:
    """Runs by a design until the budget is spent, beside as many FLOPs on a spread grid."""
    costs = 6 * world.candidates["N"] * world.candidates["D"]
    budget = BUDGET * float(np.sum(costs))
    settings = {name: world.candidates[name] for name in ("N", "D")}
    first = lawdsl.design("chinchilla", settings, budget=budget)
    chosen = begun = numbers(first)
    halves, holds = [], []
    while True:
        fit = fitted(world, chosen)
        design = lawdsl.design(fit, settings, target=world.targets, budget=budget)
        half = np.array([target.half for target in design.targets], dtype=float)
        value = np.array([target.value for target in design.targets], dtype=float)
        halves.append(half)
        holds.append(np.abs(np.log(world.measured / value)) <= np.log1p(half))
        if not design.runs:
            break
        chosen = chosen + numbers(design)
    z = grid_coordinates(np.array([settings["N"], settings["D"]]))
    free = np.ones(len(costs), dtype=np.bool_)
    free[begun] = False
    left = budget - float(np.sum(costs[begun]))
    spread = begun + spread_batch(z, costs, left, z[begun], available=free)
    return Replay(off(world, chosen), off(world, spread), np.array(halves), np.array(holds))


def numbers(design: lawdsl.Design) -> list[int]:
    """The candidates of a batch."""
    return [int(label.split()[1]) - 1 for label in design.labels]


@pytest.fixture(
    scope="module", params=["two worlds", pytest.param("five worlds", marks=pytest.mark.slow)]
)
def replays(request: pytest.FixtureRequest) -> dict[str, list[Replay]]:
    seeds = SEEDS[request.param]
    return {name: [replayed(world(wrong, seed)) for seed in seeds] for name, wrong in WRONG.items()}


def test_where_the_law_is_nearly_right_a_design_beats_a_spread_grid_of_the_same_cost(
    replays: dict[str, list[Replay]],
):
    gains = [np.log(r.spread / r.designed) for r in replays["wrong by 2 % per decade"]]
    assert np.mean(gains) > np.log(1.2), gains


@pytest.mark.parametrize("name", WRONG)
def test_the_measured_losses_are_in_the_intervals_at_which_a_design_stops(
    name: str, replays: dict[str, list[Replay]]
):
    inside = []
    for replay in replays[name]:
        for level in LEVELS:
            precise = np.all(replay.halves <= level, axis=1)
            if precise.any():  # the first time that every target is known to that level
                inside += replay.holds[np.argmax(precise)].tolist()
    assert len(inside) >= 8 * len(replays[name])
    assert np.mean(inside) >= 0.9, f"{sum(inside)} of {len(inside)}"


@pytest.mark.parametrize("dof", [3, 9, 40])
def test_an_interval_at_which_runs_stop_is_wide_enough_nine_times_in_ten(dof: int):
    rng = np.random.default_rng(dof)
    estimated = np.sqrt(rng.chisquare(dof, 20_000) / dof)  # of a standard deviation of 1
    assert np.mean(tolerance(dof) * estimated >= 1) == pytest.approx(0.9, abs=0.01)
    assert narrowing(dof, 0) == 1 and narrowing(dof, 5) < 1
    assert tolerance(np.inf) == 1


def test_no_run_narrows_the_interval_of_a_target_below_the_noise_of_a_run():
    law_is_right = world(0.0, 7)
    fit = fitted(law_is_right, list(range(0, 36, 2)))
    settings = {name: law_is_right.candidates[name] for name in ("N", "D")}
    design = lawdsl.design(fit, settings, target=law_is_right.targets, budget=1e24)
    at = {name: [target[name] for target in law_is_right.targets] for name in ("N", "D")}
    band = fit.predict_with_errors(at)
    assert band.run_low is not None and band.run_high is not None
    of_run = np.sqrt(band.run_high / band.run_low) - 1
    for known, half in zip(design.targets, of_run, strict=True):
        assert known.half is not None and known.best is not None
        assert known.half > half
        assert 0 < known.noise < known.best < known.half
