"""Comparison of laws: what is held out, how it is scored, and ranks that show their noise."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path

import commands
import numpy as np
import pytest
from planted import PLANTED, law_of
from scipy.integrate import quad

import lawdsl
from lawdsl.comparing.protocols import KINDS, PAPER_NAMES
from lawdsl.comparing.scores import aicc, log_likelihood, losses, scores
from lawdsl.core.objectives import Objective
from lawdsl.fitting.problem import rho

ROOT = Path(__file__).resolve().parent.parent
SHARE = ROOT / "laws" / "data" / "c4_share.csv"
HUBER = Objective("huber", True, 1e-3)


# ---- scores


def test_scores_are_those_computed_by_hand():
    y = np.array([2.0, 2.5, 3.0, 4.0])
    p = np.array([2.1, 2.4, 3.1, 3.8])
    computed = scores(y, p, HUBER)
    assert computed.r2 == pytest.approx(1 - np.sum((y - p) ** 2) / np.sum((y - np.mean(y)) ** 2))
    logs = np.log(y), np.log(p)
    spread = np.sum((logs[0] - np.mean(logs[0])) ** 2)
    assert computed.r2_log == pytest.approx(1 - np.sum((logs[0] - logs[1]) ** 2) / spread)
    assert computed.mae == pytest.approx((0.1 + 0.1 + 0.1 + 0.2) / 4)
    by_hand = np.sum(1e-3 * (np.abs(np.log(p / y)) - 5e-4))  # all residuals are beyond delta
    assert computed.huber.sum == pytest.approx(by_hand) == computed.objective.sum
    assert computed.huber.mean == pytest.approx(by_hand / 4)
    squared = scores(y, p, Objective("squared", False, 1e-3))
    assert squared.objective.sum == pytest.approx(np.sum((y - p) ** 2))
    assert squared.huber == computed.huber


def test_a_prediction_without_a_logarithm_is_infinitely_wrong():
    y, p = np.array([1.0, 1.0, 1.0]), np.array([1.0, -1.0, np.nan])
    assert losses(y, p, HUBER).tolist() == [0, math.inf, math.inf]
    assert losses(y, p, Objective("squared", False, 1e-3)).tolist() == [0, 4, math.inf]


def test_one_row_has_no_r2():
    assert math.isnan(scores(np.array([2.0]), np.array([2.1]), HUBER).r2)


def test_aicc_of_least_squares_is_the_gaussian_one():
    r = np.random.default_rng(0).normal(size=40)
    squared = Objective("squared", False, 1e-3)
    total = float(np.sum(log_likelihood(r**2, squared, 0.0)))
    variance = np.mean(r**2)
    assert total == pytest.approx(-20 * (math.log(2 * math.pi * variance) + 1))
    k = 3 + 1
    assert aicc(total, 3, 40) == pytest.approx(-2 * total + 2 * k + 2 * k * (k + 1) / (40 - k - 1))
    assert aicc(total, 3, 5) == math.inf


@pytest.mark.parametrize("size", [1e-5, 1e-3, 1e-1])
def test_the_density_of_hubers_loss_is_one_and_at_its_maximum(size: float):
    """Small residuals are Gaussian, large ones Laplacian, those between are neither."""
    from lawdsl.comparing.scores import _log_normalizer

    r = size * np.random.default_rng(1).normal(size=200)
    loss = rho(r, HUBER)
    total = float(np.sum(log_likelihood(loss, HUBER, 0.0)))

    def likelihood(log_tau: float) -> float:
        tau = math.exp(log_tau)
        return float(-np.sum(loss) / tau - len(r) * _log_normalizer(tau, HUBER))

    around = math.log(np.mean(loss)) + np.linspace(-1, 2, 3001)
    assert total == pytest.approx(max(map(likelihood, around)), rel=1e-6)
    tau = float(np.mean(loss)) * 1.5
    width = 60 * max(tau / 1e-3, math.sqrt(tau))
    area = sum(
        quad(lambda x: math.exp(-float(rho(np.array(x), HUBER)) / tau), *ends, limit=400)[0]
        for ends in ((0, min(1e-3, width)), (min(1e-3, width), width))
    )
    assert math.log(2 * area) == pytest.approx(_log_normalizer(tau, HUBER), abs=1e-6)


# ---- ranks


def line(seed: int, bend: float = 0.0) -> dict[str, np.ndarray]:
    """12 points of a line, or of a curve, each measured three times."""
    r = np.repeat(np.linspace(0, 1, 12), 3)
    return {"r": r, "L": 2 - r + bend * r**2 + 0.1 * np.random.default_rng(seed).normal(size=36)}


# ---- comparisons


TWICE = """variable  r in [0, 1]
parameter g, eps, floor, height > 0
L = height/(eps + r)^g + floor
minimize squared(L)
"""


def test_a_single_law_has_its_scores_without_details():
    paths = ("dcpt.share", SHARE)
    quiet = commands.run(
        "compare", *paths, "-q", "--protocol", "all", "--protocol", "splits"
    ).stdout
    full = json.loads(
        commands.run(
            "compare", *paths, "--protocol", "all", "--protocol", "splits", "--json"
        ).stdout
    )
    first, second = (r["standings"][0]["score"] for r in full["result"]["rankings"])
    assert quiet.splitlines()[-2:] == [
        f"all: AICc {first:.4g}",
        f"splits: score {second:.4g}: mean squared(L) of a held-out row, mean of 10 folds",
    ]


@pytest.mark.slow
def test_without_protocols_those_that_the_data_allow_are_run():
    table = PLANTED["chinchilla"].table(noise=0.01, seed=0)
    keep = table["N"] < 1e9  # three sizes
    comparison = lawdsl.compare("chinchilla", {k: v[keep] for k, v in table.items()}, starts=3)
    assert [r.title for r in comparison.rankings if not r.part] == [
        "all", "leave-one-out:N", "segments:D",
    ]  # fmt: skip
    keep = table["N"] < 2e8
    comparison = lawdsl.compare("chinchilla", {k: v[keep] for k, v in table.items()}, starts=3)
    assert [r.title for r in comparison.rankings if not r.part] == ["all", "segments:D"]
    assert any(d.code == "F0202" and d.severity == "warning" for d in comparison.diagnostics)


@pytest.mark.parametrize(
    ("laws", "options", "code"),
    [
        ([], {}, "F0203"),
        (["dcpt.share", "chinchilla"], {}, "F0203"),  # their objectives differ
        (["dcpt.share", "cmr.ratio"], {"objective": "squared"}, "D0104"),
        (["dcpt.share"], {"protocols": "nothing"}, "F0201"),
        (["dcpt.share"], {"protocols": ["all", "segments:r"], "Q": "r"}, "D0116"),
        (["dcpt.share"], {"seed": -1}, "F0106"),
        (["dcpt.share"], {"seed": True}, "F0106"),
        (["dcpt.share"], {"seed": 0.5}, "F0106"),
        (["dcpt.share"], {"starts": 0}, "F0106"),
        (["dcpt.share"], {"starts": True}, "F0106"),
        (["dcpt.share"], {"starts": "many"}, "F0106"),
        (["dcpt.share"], {"settings": {"D_min": 1.0}}, "L0301"),
        (["dcpt.share"], {"without": "C > 7"}, "L0301"),
        (["dcpt.share"], {"where": "r > 2"}, "D0103"),
        (["dcpt.share"], {"where": "r > 0.8"}, "D0110"),
    ],
)
def test_what_cannot_be_compared_is_refused(laws: list[str], options: dict, code: str):
    with pytest.raises(lawdsl.LawdslError) as error:
        lawdsl.compare(laws, SHARE, **options)
    assert [d.code for d in error.value.diagnostics][:1] == [code]


def test_laws_that_predict_different_columns_are_refused():
    table = PLANTED["dcpt.share"].table(noise=0.001, seed=0)
    table["K"] = table["L"] - 1
    other = law_of(TWICE.replace("L =", "K =").replace("(L)", "(K)"))
    with pytest.raises(lawdsl.LawdslError, match="F0203"):
        lawdsl.compare(["dcpt.share", other], table, protocols="all")
    comparison = lawdsl.compare(["dcpt.share", other], table, protocols="all", K="L", starts=3)
    assert comparison.ranking("all").standings[0].rank == (1, 2)


def test_settings_and_bounds_concern_the_laws_that_have_them():
    table = PLANTED["dcpt.l3"].table(noise=0.003, seed=1)
    comparison = lawdsl.compare(
        ["chinchilla", "dcpt.l3"],
        {k: v[table["D"] > 2] for k, v in table.items()},
        protocols="all",
        settings={"D_min": 2.0},
        without="C > C0",
        starts=2,
    )
    assert [law.settings for law in comparison.laws] == [{}, {"D_min": 2.0}]
    assert [law.dropped for law in comparison.laws] == [(), ("C > C0",)]


# ---- the command


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return commands.run("compare", *arguments)


def test_the_command_prints_ranks_and_scores():
    done = command("dcpt.share", "cmr.share", SHARE, "R=r", "--protocol", "leave-one-out:r")
    assert done.returncode == 0, done.stderr
    assert "2 laws on 10 rows" in done.stdout and "1-2" in done.stdout
    assert "behind the best" in done.stdout and "intervals over 10 values of r" in done.stdout


def test_the_command_prints_one_json_document():
    done = command("dcpt.share", "cmr.share", SHARE, "R=r", "--protocol", "all", "--json")
    content = json.loads(done.stdout)
    assert content["ok"] and content["command"] == "compare"
    result = content["result"]
    assert set(result) == {"laws", "data", "objective", "rankings", "starts", "seed"}
    (ranking,) = result["rankings"]
    assert [s["place"] for s in ranking["standings"]] == ["1-2", "1-2"]
    assert {"score", "scores", "aicc", "behind", "folds", "failed"} <= set(ranking["standings"][0])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("dcpt.share",), 2), (("dcpt.share", SHARE, "--protocol", "al"), 3), (("x", SHARE), 3)],
)
def test_a_wrong_command_line_has_its_exit_code(arguments: tuple, code: int):
    done = command(*arguments)
    assert done.returncode == code and done.stdout == "" and "Traceback" not in done.stderr


def test_a_failed_fold_is_a_finding(tmp_path: Path):
    table = tmp_path / "few.csv"
    table.write_text("r,L\n.1,3\n.1,3.1\n.5,2\n.9,1.5\n", encoding="utf-8")
    done = command("dcpt.share", table, "--protocol", "leave-one-out:r", "--starts", 2)
    assert done.returncode == 1 and "F0204" in done.stderr


def test_help_lists_every_protocol():
    text = command("--help").stdout
    for name in (*KINDS, *PAPER_NAMES):
        assert name in text, name


def test_held_parameters_are_held_in_the_laws_that_have_them():
    table = PLANTED["chinchilla"].table(noise=0.003, seed=1)
    laws = ["chinchilla", "mixing.size"]
    comparison = lawdsl.compare(
        laws,
        table,
        protocols="all",
        objective="huber(log)",
        delta=1e-3,
        starts=2,
        tie={"beta": "alpha"},
    )
    counts = {s.law: s.parameters for s in comparison.rankings[0].standings}

    assert counts == {"chinchilla": 4, "mixing.size": 3}
    with pytest.raises(lawdsl.LawdslError):
        lawdsl.compare(laws, table, protocols="all", fix={"nothing": 1.0})


ZERO = "x,L\n0,0\n1,1\n2,2.1\n3,2.9\n4,4.2\n5,4.9\n6,6.1\n7,6.8\n8,8.1\n9,9\n"


def test_what_is_printed_is_of_the_objective_and_has_no_logarithm_of_0(tmp_path: Path):
    (tmp_path / "line.law").write_text("law line\nvariable x\nparameter a\nL = a*x\n")
    (tmp_path / "zero.csv").write_text(ZERO)
    paths = str(tmp_path / "line.law"), str(tmp_path / "zero.csv")
    fit = commands.run("fit", *paths, "--objective", "squared")
    assert "R² 0.99" in fit.stdout and "nan" not in fit.stdout

    printed = commands.run("compare", *paths, "--objective", "squared", "--protocol", "all")
    (header,) = (line for line in printed.stdout.splitlines() if line.startswith("rank "))
    assert "Squared sum" in header and "Huber" not in header
    row = next(line for line in printed.stdout.splitlines() if line.startswith("1 "))
    assert "nan" not in row
    document = commands.run(
        "compare", *paths, "--objective", "squared", "--protocol", "all", "--json"
    )
    (standing,) = json.loads(document.stdout)["result"]["rankings"][0]["standings"]
    assert f"{standing['scores']['objective']['sum']:.4g}" in row.split()


def test_a_law_without_a_value_ranks_last_by_aicc_with_the_reason(tmp_path: Path):
    (tmp_path / "line.law").write_text("law line\nvariable x\nparameter a\nL = a*x\n")
    (tmp_path / "log.law").write_text("law log_x\nvariable x\nparameter a\nL = a + log(x)\n")
    (tmp_path / "zero.csv").write_text(ZERO)
    paths = [str(tmp_path / name) for name in ("log.law", "line.law", "zero.csv")]
    options = {"protocols": ["all"], "objective": "squared"}
    for laws in (paths[:2], paths[:1]):
        compared = lawdsl.compare(laws, paths[2], **options)
        standings = compared.rankings[0].standings
        assert standings[-1].law == "log_x" and standings[-1].score == math.inf
        failed = next(d for d in compared.diagnostics if d.code == "F0204")
        assert "`log(x)` is not a finite number" in failed.notes[0]
