"""Figures of pipelines: what their last steps predict for each group."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import run

import lawdsl
from lawdsl.core.diagnostics import LawdslError

LINES = """pipeline lines "Each mixture at a large size"
given     N_target > 0  unit param

step      mixing.size  by {labels}  {at}
"""
SIZES = np.geomspace(1e7, 1e9, 6)
MIXTURES = {"even": 2.5, "mostly code": 2.2, "mostly text": 2.9}


def table() -> dict[str, list]:
    rng = np.random.default_rng(0)
    rows = [(name, n, e) for name, e in MIXTURES.items() for n in SIZES]
    loss = [(e + 300 / n**0.34) * np.exp(1e-3 * rng.standard_normal()) for _, n, e in rows]
    share = {"even": 0.5, "mostly code": 0.9, "mostly text": 0.1}
    return {
        "mixture": [name for name, *_ in rows],
        "share": [share[name] for name, *_ in rows],
        "N": [n for _, n, _ in rows],
        "L": loss,
    }


def result(folder: Path, labels: str = "mixture", at: str = "at N = N_target", draws: int = 0):
    path = folder / "lines.law"
    path.write_text(LINES.format(labels=labels, at=at), encoding="utf-8")
    return lawdsl.run_pipeline(path, table(), settings={"N_target": 1e10}, draws=draws)


def test_mixtures_are_rows_the_lowest_loss_first(tmp_path: Path):
    done = result(tmp_path)
    figure = done.plot()
    predicted = {g.labels["mixture"]: g.predicted for g in done.steps[-1].groups}
    assert figure.columns["group"] == [
        f"mixture = {m}" for m in ("mostly code", "even", "mostly text")
    ]
    assert figure.columns["predicted"] == sorted(predicted.values())
    assert f"from {predicted['mostly code']:.4g} (mixture = mostly code)" in figure.title


def test_intervals_are_those_of_the_errors(tmp_path: Path):
    done = result(tmp_path)
    group = min(done.steps[-1].groups, key=lambda g: g.predicted)
    figure = done.plot()
    assert figure.columns["high"][0] == pytest.approx(group.predicted + 1.959964 * group.error)
    assert "by the standard errors" in figure.description


def test_intervals_are_those_of_the_draws_where_noise_is_carried_through(tmp_path: Path):
    (tmp_path / "two.law").write_text(
        """pipeline two "A share that none was trained on, at a large size"
given     N_target > 0  unit param
given     r_target in [0, 1]

step      mixing.size  by r  at N = N_target
step      dcpt.share         at r = r_target
""",
        encoding="utf-8",
    )
    rng = np.random.default_rng(1)
    r, n = (a.ravel() for a in np.meshgrid(np.linspace(0.05, 1, 8), SIZES))
    loss = (2 + 0.4 / (r + 0.2) + 300 / n**0.34) * np.exp(1e-3 * rng.standard_normal(len(r)))
    data = {"r": r, "N": n, "L": loss}
    settings = {"N_target": 1e10, "r_target": 0.4}
    done = lawdsl.run_pipeline(tmp_path / "two.law", data, settings=settings, draws=50)
    (group,) = done.steps[-1].groups
    figure = done.plot()
    assert (figure.columns["low"][-1], figure.columns["high"][-1]) == group.ends
    assert "noise drawn 50 times" in figure.description
    assert f"95 % {group.ends[0]:.4g} to {group.ends[1]:.4g} at r = 0.4" in figure.title


def test_groups_that_differ_in_a_number_are_drawn_against_it(tmp_path: Path):
    figure = result(tmp_path, labels="share").plot()
    assert figure.columns["group"] == [f"share = {x}" for x in (0.1, 0.5, 0.9)]
    fields = json.dumps(figure.chart.to_dict())
    assert '"field": "share"' in fields


def test_a_pipeline_that_predicts_nothing_is_refused(tmp_path: Path):
    with pytest.raises(LawdslError) as caught:
        result(tmp_path, at="").plot()
    assert caught.value.diagnostics[0].code == "G0115"


def test_the_command_draws_it(tmp_path: Path):
    result(tmp_path)
    columns = table()
    rows = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    (tmp_path / "runs.csv").write_text("\n".join([",".join(columns), *rows]), encoding="utf-8")
    arguments = ("--set", "N_target=1e10", "--draws", "0", "--plot", "p.svg", "--json")
    done = run("pipeline", "lines.law", "runs.csv", *arguments, cwd=tmp_path)
    assert json.loads(done.stdout)["plot"] == "p.svg", done.stderr
    assert "mostly code" in (tmp_path / "p.svg").read_text(encoding="utf-8")
    assert run("pipeline", "lines.law", "--plot", "q.svg", cwd=tmp_path).returncode == 2


def test_a_step_of_a_law_in_a_file_of_the_users_is_drawn(tmp_path: Path):
    (tmp_path / "mine.law").write_text(
        "law mine\nvariable N > 0 unit param\nparameter E, A, alpha > 0\n"
        "L = E + A/N^alpha unit nat/token\n",
        encoding="utf-8",
    )
    path = tmp_path / "lines.law"
    text = LINES.format(labels="mixture", at="at N = N_target")
    path.write_text(text.replace("mixing.size", "mine"), encoding="utf-8")
    done = lawdsl.run_pipeline(path, table(), settings={"N_target": 1e10}, draws=0)
    figure = done.plot()
    assert figure.columns["law"] == ["mine"] * 3
    assert "L [nat/token]" in figure.encoded("json").decode()
