"""Patterns in residuals where the rows of a run share an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from planted import law_of
from quick import some

import lawdsl
from lawdsl.fitting.diagnostics.residual_structure import Rows
from lawdsl.fitting.diagnostics.residuals import ResidualView, orthonormal_basis
from lawdsl.fitting.diagnostics.run_strata import are_rows_independent, run_strata

POWER = """variable N > 0 unit param
variable D > 0 unit token
parameter E, A, B, alpha, beta > 0
L = E + A/N^alpha + B/D^beta
"""
PATTERNS = {"F0116", "F0119"}


def table(seed: int, *, off: bool = True, wrong: float = 0.0) -> dict[str, np.ndarray]:
    """9 to 20 runs of 6 to 10 checkpoints, two at each size; each off by 0.3 to 1 % of its own.

    Args:
        seed: of the random numbers.
        off: whether runs are off.
        wrong: the size of a bend along log D that the law lacks.
    """
    rng = np.random.default_rng([seed, 99])
    runs = int(rng.integers(9, 21))
    sizes = np.repeat(np.geomspace(5e7, 5e9, -(-runs // 2)), 2)[:runs]
    counts = rng.integers(6, 11, runs)
    run = np.repeat(np.arange(runs), counts)
    ends = 20 * sizes * np.exp(rng.normal(0, 0.8, runs))
    N = sizes[run]
    D = np.concatenate([e * np.linspace(1 / m, 1, m) for e, m in zip(ends, counts, strict=True)])
    log = wrong * np.log10(D / 1e10) ** 2
    log += rng.uniform(0.0003, 0.001) * rng.normal(size=len(run))
    if off:
        log += (rng.uniform(0.003, 0.01) * rng.normal(size=runs))[run]
    return {
        "N": N,
        "D": D,
        "L": (1.82 + 482 / N**0.348 + 2085 / D**0.366) * np.exp(log),
        "run": run,
    }


def patterns(rows: dict[str, np.ndarray], **options: Any) -> set[str]:
    fit = lawdsl.fit(law_of(POWER), rows, claims=False, starts=4, rolled_check=False, **options)
    return {d.code for d in fit.diagnostics} & PATTERNS


@pytest.mark.parametrize("count", some([5, 12], 1))
def test_what_a_run_has_in_common_is_no_error_of_the_law(count: int):
    """Right tables: none has a pattern."""
    tables = [table(seed) for seed in range(count)]
    assert [patterns(rows) for rows in tables] == [set()] * len(tables)


def test_a_term_that_the_law_lacks_is_seen_beside_errors_of_runs():
    found = [patterns(table(seed, wrong=0.02)) for seed in range(8)]
    assert sum("F0116" in codes for codes in found) >= 6


def test_a_term_that_the_law_lacks_is_seen_where_runs_have_no_error_of_their_own():
    found = [patterns(table(seed, off=False, wrong=0.01)) for seed in range(8)]
    assert sum("F0116" in codes for codes in found) >= 6


def view_and_runs(rng: np.random.Generator, ratio: float) -> tuple[ResidualView, Rows]:
    """Residuals of runs with an error of `ratio` standard deviations of a row's."""
    run = np.repeat(np.arange(12), rng.integers(6, 11, 12))
    x, y = np.sort(rng.normal(size=12))[run], rng.normal(size=len(run))
    columns = np.column_stack([np.ones(len(run)), x, y])
    noise = ratio * rng.normal(size=12)[run] + rng.normal(size=len(run))
    axes = np.stack([x, y, columns @ [1, 2, 3]])
    basis = orthonormal_basis(columns)
    return ResidualView(("x", "y", "L"), axes, noise, basis, np.arange(len(run)), True), run


@pytest.mark.parametrize("ratio", some([0.5, 0.0, 3.0], 1))
def test_noise_of_runs_raises_no_more_alarms_than_are_asked_for(
    ratio: float, monkeypatch: pytest.MonkeyPatch
):
    from lawdsl.fitting.diagnostics import patterns as module

    monkeypatch.setattr(module, "FALSE_ALARM_RATE", 0.01)
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(150):
        view, run = view_and_runs(rng, ratio)
        found += module.find_pattern(view, runs=run) is not None
    assert found <= 7  # one chance in a thousand gives more, at 1.5 that are expected


def test_strata_are_those_of_the_table():
    """Means of runs and deviations from them: orthogonal parts with all degrees of freedom."""
    view, run = view_and_runs(np.random.default_rng(0), 1.0)
    strata = run_strata(view, run)
    assert len(strata.between) == 12 and len(strata.within) == len(view)
    assert strata.within.dof == len(view) - 12 - 1  # y changes within runs, x does not
    assert strata.between.dof == 12 - 3
    for k in range(12):
        assert np.mean(strata.within.projected[run == k]) == pytest.approx(0, abs=1e-12)
        assert strata.between.axes[0, k] == view.axes[0, run == k][0]


def test_an_effect_of_runs_is_told_from_independent_rows():
    rng = np.random.default_rng(1)
    pooled = {
        ratio: sum(are_rows_independent(*view_and_runs(rng, ratio)) for _ in range(40))
        for ratio in (0.0, 3.0)
    }
    assert pooled[0.0] >= 33 and pooled[3.0] == 0
