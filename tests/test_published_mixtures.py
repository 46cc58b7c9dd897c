"""Published answers of laws of mixtures."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from test_published_answers import TABLES

import lawdsl
from lawdsl.cli import cli

# ---- mixing: the critical share


@pytest.mark.parametrize(
    ("objective", "share", "within"), [(None, 0.28622541, 1e-4), ("squared", 0.2831, 4e-3)]
)
def test_the_critical_share_of_continual_pre_training(
    objective: str | None, share: float, within: float
):
    """Ye et al. 2024, section 5: by the steps of the published recipe, and by a free fit."""
    options = {"objective": objective} if objective else {}
    table = TABLES / "mixing_critical.csv"
    fit = lawdsl.fit("mixing.critical", table, L="L_pile", where="r != 0.28515625", **options)
    found = lawdsl.solve("mixing.critical_share", old=fit, L0=2.873368)

    assert found["r"] == pytest.approx(share, abs=within)
    assert found.certain and [k.name for k in found.active] == ["loss on the old domain"]
    assert fit.predict({"r": [found["r"]]})[0] == pytest.approx(2.873368, rel=1e-12)


def test_the_critical_share_is_derived():
    values = {"c": 2.81034, "k": math.exp(-1.6936), "t": -3.7407}
    found = lawdsl.solve("mixing.critical_share", old=values, L0=2.873368)
    assert found.unknowns[0].formula == "log((L0 - c)/k)/t"
    assert found.proof[-1] == "r increases monotonically there, so the optimum is unique"


def test_no_share_keeps_a_loss_below_what_the_law_reaches():
    values = {"c": 2.81034, "k": math.exp(-1.6936), "t": -3.7407}
    found = lawdsl.solve("mixing.critical_share", old=values, L0=2.7)
    least = values["c"] + values["k"] * math.exp(values["t"])

    assert found.status == "infeasible"
    (relaxed,) = found.relaxations
    assert relaxed.by == pytest.approx(least - 2.7) and relaxed.at == {"r": 1.0}
    assert relaxed.instead["L0"] == pytest.approx(least)


# ---- mixing: the best mixture of what there is


LABELS = ("web", "books", "code")


@pytest.fixture(scope="module")
def powers() -> lawdsl.Fits:
    """mixing.powers of two validation domains, planted."""
    rng = np.random.default_rng(5)
    shares = rng.dirichlet([1.0, 1.0, 1.0], size=60)
    rows: dict[str, list[float | str]] = {
        f"r[{j}]": list(shares[:, n]) for n, j in enumerate(LABELS)
    }
    worth = {"prose": (1.2, 1.0, 0.2), "source": (0.2, 0.1, 1.5)}
    table = dict(rows)
    for name, C in worth.items():
        value = 0.8 + 1 / (0.3 + shares**0.6 @ np.array(C))
        table[f"L[{name}]"] = list(value)
    return lawdsl.fit("mixing.powers", table, claims=False)


def test_the_best_mixture_of_a_law_of_hidden_domains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """From a copy of the shipped law with two hidden domains; the referee evaluates the planted one."""
    monkeypatch.chdir(tmp_path)
    new = CliRunner().invoke(cli, ["new", "two_hidden", "--like", "mixing.implicit"])
    assert new.exit_code == 0
    law = tmp_path / "two_hidden.law"
    law.write_text(law.read_text(encoding="utf-8").replace("1..30", "1..2"), encoding="utf-8")
    k = np.array([0.6, 0.3])
    t = np.array([[-1.4, 0.9, 0.5], [1.8, -1.1, -0.7]])

    def loss(shares: np.ndarray) -> np.ndarray:
        return 1.7 + np.exp(shares @ t.T) @ k

    shares = np.random.default_rng(3).dirichlet([1.0, 1.0, 1.0], size=40)
    table = {f"r[{j}]": shares[:, n] for n, j in enumerate(LABELS)} | {"L": loss(shares)}
    fit = lawdsl.fit(law, table, claims=False, rolled_check=False)
    best = lawdsl.solve("mixing.best_overall", loss=fit)
    assert "F0507" in [d.code for d in best.diagnostics]

    steps = np.arange(1001) / 1000
    web, books = (v.ravel() for v in np.meshgrid(steps, steps))
    inside = web + books <= 1
    grid = np.column_stack([web, books, 1 - web - books])[inside]
    least = grid[np.argmin(loss(grid))]
    assert [best[f"r[{j}]"] for j in LABELS] == pytest.approx(list(least), abs=2e-3)


def test_the_best_mixture_uses_no_more_than_the_supply(powers: lawdsl.Fits):
    """With plenty it is the free optimum; with less of books each share stays below epochs*supply."""
    supply = {"web": 400.0, "books": 5.0, "code": 400.0}
    free = lawdsl.solve("mixing.best", loss=powers)
    plenty = lawdsl.solve("mixing.best_supplied", loss=powers, target=100, supply=1000)
    once = lawdsl.solve("mixing.best_supplied", loss=powers, target=100, supply=supply)
    twice = lawdsl.solve("mixing.best_supplied", loss=powers, target=100, supply=supply, epochs=2)

    for j in LABELS:
        assert plenty[f"r[{j}]"] == pytest.approx(free[f"r[{j}]"], abs=1e-4)
    assert free["r[books]"] > 0.15
    assert once["r[books]"] == pytest.approx(0.05, abs=1e-7)
    assert twice["r[books]"] == pytest.approx(0.1, abs=1e-7)
    assert [k.text for k in once.active if k.doc == "supply"] == [
        "r[j]*target <= epochs*supply[j]  for j = books"
    ]
    goals = [a.goal.value for a in (plenty, twice, once) if a.goal]
    assert goals == sorted(goals)
