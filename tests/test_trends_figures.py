"""Figures of trends: they count the differences of the table, and say where those against are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.trends.result import Trends

N = np.array([1e8, 2e8, 4e8, 8e8])
SE = 0.1
D = np.array([1e9, 2e9, 4e9, 8e9, 1.6e10])


def measured() -> dict[str, np.ndarray]:
    """A grid whose loss rises with D for the smallest model from 2e9 tokens on."""
    n, d = (a.ravel() for a in np.meshgrid(N, D))
    loss = 1.7 + 400 / n**0.34 + 1000 / d**0.3
    loss += np.where((n == N[0]) & (d > 3e9), np.log2(d / 2e9), 0)
    return {"N": n, "D": d, "L": loss, "se": np.full(len(n), SE)}


@pytest.fixture(scope="module")
def trends() -> Trends:
    return lawdsl.trends("chinchilla", measured(), se="se")


def differences(along: str) -> list[tuple[float, float, float]]:
    """(N, D, change of the loss) of each two neighbours, at their lower end."""
    table = measured()
    rows = {(n, d): x for n, d, x in zip(table["N"], table["D"], table["L"], strict=True)}
    steps = zip(D, D[1:], strict=False) if along == "D" else zip(N, N[1:], strict=False)
    others = N if along == "D" else D
    return [
        (o, a, rows[o, b] - rows[o, a]) if along == "D" else (a, o, rows[b, o] - rows[a, o])
        for a, b in steps
        for o in others
    ]


def outcomes(changes: list[float]) -> tuple[int, int, int]:
    """How many fall, are within two standard errors of 0, and rise."""
    limit = 2 * SE * 2**0.5
    falling, rising = (sum(sign * x >= limit for x in changes) for sign in (-1, 1))
    return falling, len(changes) - falling - rising, rising


def rows_of(figure: Any) -> list[dict[str, Any]]:
    names = list(figure.columns)
    return [
        dict(zip(names, row, strict=True)) for row in zip(*figure.columns.values(), strict=True)
    ]


@pytest.mark.parametrize("along", ["N", "D"])
def test_the_bars_count_the_differences_of_the_table(trends: Trends, along: str):
    (row,) = [r for r in rows_of(trends.plot()) if r["compared"] == f"neighbours in {along}"]
    changes = [change for *_, change in differences(along)]
    assert row["pairs"] == len(changes)
    assert (row["as_claimed"], row["too_small"], row["against"]) == outcomes(changes)


def test_the_panels_below_count_them_at_each_value(trends: Trends):
    (claim,) = [t for t in trends.trends if t.claim == "∂L/∂D < 0"]
    series = claim.series[0]
    for place, values in enumerate(("N", "D")):
        for level in series.profiles[values]:
            there = [x for *at, x in differences("D") if at[place] == level.low]
            assert (level.as_claimed, level.too_small, level.against) == outcomes(there)
    assert 0 < series.against and 0 < series.too_small and 0 < series.as_claimed


def test_many_values_are_counted_in_ranges_that_miss_none():
    d = np.geomspace(1e9, 1e11, 200)
    loss = 2 + 500 / d**0.3
    loss[150:] += 0.01 * np.arange(50)
    trends = lawdsl.trends("chinchilla", {"N": np.full(200, 1e8), "D": d, "L": loss})
    (series, *_) = next(t.series for t in trends.trends if t.claim == "∂L/∂D < 0")
    levels = series.profiles["D"]
    assert len(levels) == 12 and "N" not in series.profiles
    assert sum(level.against for level in levels) == series.against
    assert sum(level.as_claimed + level.against for level in levels) == 199
    assert all(a.low < b.low for a, b in zip(levels, levels[1:], strict=False))
    sizes = [level.as_claimed + level.against for level in levels]
    assert max(sizes) - min(sizes) <= 1


def test_the_title_says_the_largest_contradiction_and_where_it_is(trends: Trends):
    title = trends.plot().title
    *_, against = outcomes([change for *_, change in differences("D")])
    assert f"contradicts ∂L/∂D < 0 of chinchilla: {against} of 16 differences against it" in title
    assert "all at N = 1e+08" in title


def test_a_table_without_comparisons_has_no_figure():
    trends = lawdsl.trends("chinchilla", {"N": [1e8, 2e8], "D": [1e9, 2e9], "L": [3.0, 2.9]})
    with pytest.raises(LawdslError) as caught:
        trends.plot()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "G0112" and "no two rows differ in" in str(diagnostic.help)


def test_the_command_draws_them(tmp_path: Path):
    table = measured()
    lines = [
        ",".join(table),
        *(",".join(map(str, row)) for row in zip(*table.values(), strict=True)),
    ]
    (tmp_path / "runs.csv").write_text("\n".join(lines), encoding="utf-8")
    done = run(
        "trends", "chinchilla", "runs.csv", "--se", "se", "--plot", "t.svg", "--json", cwd=tmp_path
    )
    assert json.loads(done.stdout)["plot"] == "t.svg"
    assert "runs.csv contradicts" in (tmp_path / "t.svg").read_text(encoding="utf-8")
