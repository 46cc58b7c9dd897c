"""Figures of comparisons: the errors of held-out rows, and the differences from the best law."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run

import lawdsl
from lawdsl.comparing.result import Comparison, Comparisons
from lawdsl.core.diagnostics import LawdslError

LAWS = ["dcpt.share", "mixing.two_domain"]
R = np.linspace(0.1, 1, 12)
NOISE = 0.003 * np.random.default_rng(2).normal(size=12)
TABLE = {"r": R, "R": R, "L": 2 + 0.5 / (R + 0.1) ** 0.7 + NOISE}


def compared(**options: Any) -> Comparison:
    made = lawdsl.compare(LAWS, TABLE, starts=4, objective="squared(raw)", **options)
    assert isinstance(made, Comparison)
    return made


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compared(protocols=["all", "leave-one-out:r"])


def rows_of(figure: Any) -> list[dict[str, Any]]:
    names = list(figure.columns)
    return [
        dict(zip(names, row, strict=True)) for row in zip(*figure.columns.values(), strict=True)
    ]


def test_an_error_is_that_of_rows_that_were_left_out(comparison: Comparison):
    missed = []
    for left_out in range(12):
        kept = np.arange(12) != left_out
        rest = {name: values[kept] for name, values in TABLE.items()}
        fit = lawdsl.fit("dcpt.share", rest, objective="squared(raw)", claims=False, starts=4)
        missed.append(abs(fit.predict({"r": R[[left_out]]})[0] - TABLE["L"][left_out]))
    (row,) = [
        r
        for r in rows_of(comparison.plot())
        if (r["protocol"], r["law"]) == ("leave-one-out:r", "dcpt.share")
    ]
    assert row["error"] == pytest.approx(np.mean(missed), rel=1e-3)


def test_a_law_is_behind_by_a_share_of_the_best_score(comparison: Comparison):
    rows = [r for r in rows_of(comparison.plot()) if r["protocol"] == "leave-one-out:r"]
    best, other = sorted(rows, key=lambda row: row["score"])
    assert best["behind"] == 0 and best["low"] is None
    assert other["behind"] == pytest.approx(100 * (other["score"] / best["score"] - 1))
    assert other["low"] < other["behind"] < other["high"]
    assert other["clear"] == (other["rank"] == "2")


def test_information_criteria_are_compared_by_their_difference(comparison: Comparison):
    rows = [r for r in rows_of(comparison.plot()) if r["protocol"] == "all"]
    best, other = sorted(rows, key=lambda row: row["score"])
    assert other["behind"] == pytest.approx(other["score"] - best["score"])


def test_the_title_names_the_best_law_and_its_error(comparison: Comparison):
    title = comparison.plot().title
    (ranking,) = [r for r in comparison.rankings if r.protocol == "leave-one-out:r"]
    best = ranking.standings[0]
    assert title.startswith(best.law)
    assert f"{best.scores.mae:.3g} nat/token" in title


def test_one_protocol_has_its_parts():
    comparison = compared(protocols=["all", "segments:r"])
    parts = comparison.plot(protocol="segments:r").columns["part"]
    assert set(parts) == {"", "early", "middle", "late"}
    with pytest.raises(LawdslError) as caught:
        comparison.plot(protocol="splits")
    assert caught.value.diagnostics[0].code == "G0104"
    assert "segments:r" in str(caught.value.diagnostics[0].help)


def test_the_largest_runs_have_score_coverage_and_width_at_each_ratio():
    rng = np.random.default_rng(4)
    n, d = (a.ravel() for a in np.meshgrid(np.geomspace(1e7, 1e9, 6), np.geomspace(1e9, 1e11, 6)))
    loss = (1.7 + 400 / n**0.34 + 1000 / d**0.3) * np.exp(0.003 * rng.normal(size=36))
    laws = ["chinchilla", "kaplan"]
    table = {"N": n, "D": d, "L": loss}
    comparison = lawdsl.compare(laws, table, protocols=["largest:cost"], starts=4)
    assert isinstance(comparison, Comparison)
    figure = comparison.plot()
    for row in rows_of(figure):
        ranking = comparison.ranking("largest:cost", row["part"])
        (standing,) = [s for s in ranking.standings if s.law == row["law"]]
        assert standing.interval_scores is not None
        drawn = row["score"], row["inside"], row["width"]
        assert drawn == (
            standing.score,
            standing.interval_scores.inside,
            standing.interval_scores.width,
        )
    assert "% against" in figure.title and "interval score" in figure.title
    shown = json.dumps(figure.chart.to_dict())
    assert '"R": "10"' in shown and "rows inside their interval [%]" in shown


def test_labels_have_a_row_each():
    rng = np.random.default_rng(5)
    shares = rng.dirichlet([2.0, 2.0], size=16)
    table: dict[str, Any] = {f"r[{name}]": shares[:, n] for n, name in enumerate("ab")}
    for name, t in {"x": (-1.0, 0.5), "y": (0.4, -2.0)}.items():
        table[f"L[{name}]"] = 2 + np.exp(shares @ np.array(t)) + 0.002 * rng.normal(size=16)
    comparison = lawdsl.compare(["mixing.m1", "mixing.m4"], table, protocols=["splits"], starts=1)
    assert isinstance(comparison, Comparisons)
    figure = comparison.plot()
    for row in rows_of(figure):
        ranking = comparison.parts[row["validation"]].ranking("splits")
        (standing,) = [s for s in ranking.standings if s.law == row["law"]]
        expected = standing.scores.mae if math.isfinite(standing.scores.mae) else None
        assert row["error"] == expected and row["rank"] == standing.place
    assert len(figure.columns["law"]) == 4


def test_the_command_draws_it(tmp_path: Path):
    lines = ["r,R,L", *(f"{r},{r},{x}" for r, x in zip(R, TABLE["L"], strict=True))]
    (tmp_path / "runs.csv").write_text("\n".join(lines), encoding="utf-8")
    options = ("--protocol", "all", "--starts", "4", "--plot", "c.svg", "--json")
    done = run("compare", *LAWS, "runs.csv", *options, cwd=tmp_path)
    assert json.loads(done.stdout)["plot"] == "c.svg"
    assert "behind the best by" in (tmp_path / "c.svg").read_text(encoding="utf-8")
