"""Published results, to the digits that their sources state."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import lawdsl
from lawdsl.library import shipped_folder

TABLES = shipped_folder() / "data"


def test_chinchilla_refit_reaches_the_best_known_optimum(shared_data: Path):
    """Besiroglu et al. 2024: 240 points, sum of Huber(1e-3) of log residuals."""
    points = shared_data / "chinchilla_points" / "chinchilla_points.csv"
    fit = lawdsl.fit("chinchilla", points, L="loss", where=["in240 = 1"])
    assert fit.objective.sum == pytest.approx(1.0182740178e-3, rel=1e-9)
    assert {name: f"{value:.4g}" for name, value in fit.values.items()} == {
        "E": "1.817",
        "A": "477.8",
        "B": "2143",
        "alpha": "0.3473",
        "beta": "0.3672",
    }
    assert [d.code for d in fit.diagnostics] == ["F0116"] and fit.verdict == "caution"
    assert fit.diagnostics[0].message.startswith("the residuals follow N and D together")
    assert fit.agreement.agreed >= fit.agreement.starts // 2


@pytest.mark.parametrize(
    ("size", "measured"),
    [("460M", 1.5561), ("940M", 1.4538), ("1.6B", 1.3994), ("3.1B", 1.3305)],
)
def test_cmr_table_2_predicts_the_held_out_share(size: str, measured: float):
    """Gu et al. 2024, table 2: fitted to four shares, R = 0.25 predicted within 0.01 %."""
    table = TABLES / "cmr_table2.csv"
    fit = lawdsl.fit("cmr.share", table, where=[f"size = {size}", "R > 0.3"])
    assert fit.data.rows == 4
    assert fit.predict({"R": [0.25]})[0] == pytest.approx(measured, rel=1e-4)


@pytest.mark.parametrize(
    ("size", "percent"), [("460M", 29.76), ("940M", 34.89), ("1.6B", 41.43), ("3.1B", 47.83)]
)
def test_cmr_table_5_gives_the_printed_ratios(size: str, percent: float):
    """Gu et al. 2024, table 5: R(T) at T = 100 from the printed coefficients."""
    from lawdsl.data.tables import read_table

    table = read_table(TABLES / "cmr_table5.csv")
    row = table.texts("size").index(size)
    law = lawdsl.load("cmr.ratio")
    point = {name: table.numbers(name)[row] for name in ("alpha4", "s4", "beta3")}
    value = law.expression.subs({law.symbols[k]: v for k, v in {**point, "T": 100}.items()})
    assert 100 * float(value) == pytest.approx(percent, abs=0.005)


def test_c4_shares_support_the_r_term():
    """The r-term of D-CPT on ten shares of C4: E, C, epsilon, gamma and an rmse of 0.0014."""
    fit = lawdsl.fit("dcpt.share", TABLES / "c4_share.csv")
    assert math.sqrt(fit.objective.mean) <= 0.0015
    for name, value in {"E": 2.3114, "C": 0.1536, "epsilon": 0.1001, "gamma": 0.7360}.items():
        assert fit.values[name] == pytest.approx(value, abs=6e-5), name


def test_critical_proportion_of_the_mixing_law():
    """Ye et al. 2024, section 5: the free fit of eq. 6 crosses the loss before training at .2831."""
    table = {
        "r": [0.125, 0.25, 0.375, 0.5],
        "L": [2.926166, 2.880493, 2.857072, 2.838757],
    }
    fit = lawdsl.fit("mixing.two_domain", table)
    c, k, t = (fit.values[name] for name in ("c", "k", "t"))
    assert math.log((2.873368 - c) / k) / t == pytest.approx(0.2831, abs=5e-4)
    assert fit.predict({"r": [0.28515625]})[0] == pytest.approx(2.872070, abs=1e-3)


def test_dcpt_tables_5_and_6_and_12_are_the_printed_ones():
    """Que et al. 2024: usage 1's crossing, usage 2's measured minimum, usage 3's best size."""
    from lawdsl.data.tables import read_table

    five = read_table(TABLES / "dcpt_table5.csv")
    share, loss = five.numbers("r_domain"), five.numbers("L_general")
    assert np.interp(1.03 * 2.8602, loss, share) == pytest.approx(0.9245, abs=5e-5)
    six = read_table(TABLES / "dcpt_table6.csv")
    assert six.numbers("r")[np.argmin(six.numbers("L"))] == 0.732
    twelve = read_table(TABLES / "dcpt_table12.csv")
    assert list(twelve.numbers("L")) == sorted(twelve.numbers("L"), reverse=True)


def test_a_real_sweep_of_two_sizes_fits_well_and_is_not_trusted(shared_data: Path):
    """A small real sweep, own share 0 and step 0 left out: two sizes cannot tell A from alpha."""
    fit = lawdsl.fit(
        "dcpt.l1",
        shared_data / "cpt_mini" / "runs.csv",
        where=["r_domain > 0", "step > 0", "size != 3M"],
        settings={"D_min": 1e-6},
        starts=8,
        N="n_nonemb",
        D="tokens",
        r="r_domain",
        L="loss_domain",
    )
    assert fit.metrics.r2 > 0.998
    assert not fit.parameters["A"].identified
    assert fit.verdict == "not trusted"
    notes = [note for d in fit.diagnostics for note in d.notes]
    assert any(note.startswith("N has two values") for note in notes)
