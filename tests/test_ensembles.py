"""Ensembles: many fits of a law to samples of its rows, combined by their median."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import run

import lawdsl
from lawdsl.fitting.ensembles.weighted_quantiles import quantile, standard_deviation

LINE = """law line "A line, beside which an outlier lies"
source    "a test"

variable  x in [0, 1]  "anything"
parameter a, b > 0

L = a + b*x

minimize  squared(L)
"""
HIDDEN = """law hidden2 "The sum over two hidden domains"
source    "Ye et al. 2024, arXiv:2403.16952"

index     i over 1..2
index     j over training

variable  r[j] in simplex  "shares"
parameter c >= 0
parameter k[i] > 0
parameter t[i, j]

L = c + sum(k[i]*exp(sum(t[i, j]*r[j] for j)) for i)

identify  sum(t[i, j] for j) = 0
"""
FAST: dict[str, Any] = {"claims": False, "rolled_check": False}


def law_file(folder: Path, text: str) -> Path:
    path = folder / f"{text.split()[1]}.law"
    path.write_text(text, encoding="utf-8")
    return path


def rows(outlier: float = 0.0) -> pd.DataFrame:
    noise = np.random.default_rng(3).normal(0, 0.05, 14)
    noise[11] += outlier
    x = np.linspace(0.02, 0.98, 14)
    return pd.DataFrame({"x": x, "L": 1 + 2 * x + noise})


def test_boosting_is_that_of_scikit_learn(tmp_path: Path):
    from sklearn.ensemble import AdaBoostRegressor

    law, table = law_file(tmp_path, LINE), rows(outlier=1.0)
    ensemble = lawdsl.fit_ensemble(law, table, "boost:8", seed=19, **FAST)
    theirs = AdaBoostRegressor(
        lawdsl.LawRegressor(law, starts=4), n_estimators=8, random_state=19
    ).fit(table[["x"]], table["L"])
    (part,) = ensemble.parts
    assert len(part.members) == len(theirs.estimators_) > 4
    assert np.allclose(part.weights, theirs.estimator_weights_[: len(part.weights)], rtol=1e-5)
    points = pd.DataFrame({"x": [0.0, 0.3, 0.77]})
    assert np.allclose(ensemble.predict(points), theirs.predict(points), rtol=1e-6)


def test_a_prediction_is_the_median_and_the_spread_is_that_of_the_members(tmp_path: Path):
    ensemble = lawdsl.fit_ensemble(law_file(tmp_path, LINE), rows(), "bag:21", **FAST)
    (part,) = ensemble.parts
    members = np.array(part.members)
    assert part.parameters == ("a", "b")
    at = np.array([0.1, 0.9])
    by_hand = members[:, :1] + members[:, 1:] * at
    predicted = ensemble.predict_with_spread({"x": at})
    assert np.allclose(predicted.values, np.median(by_hand, axis=0))
    assert np.allclose(predicted.deviations, np.std(by_hand, axis=0))
    assert np.allclose(predicted.low, np.quantile(by_hand, 0.05, axis=0))
    assert np.allclose(predicted.high, np.quantile(by_hand, 0.95, axis=0))
    assert part.out_of_bag is not None and part.error is not None
    assert part.out_of_bag > part.error


@pytest.mark.parametrize(("kind", "codes"), [("bag:5", ["F0172"]), ("subbag:5", [])])
def test_members_with_too_few_rows_are_reported(tmp_path: Path, kind: str, codes: list[str]):
    x = np.linspace(0, 1, 5)
    text = LINE.replace("L = ", "parameter c, d\nL = c*x^2 + d*x^3 + ")
    noise = 0.01 * np.random.default_rng(0).normal(size=5)
    ensemble = lawdsl.fit_ensemble(law_file(tmp_path, text), {"x": x, "L": 1 + x + noise}, kind)
    assert [d.code for d in ensemble.diagnostics if d.code == "F0172"] == codes


def test_the_same_seed_gives_the_same_ensemble_and_another_one_another(tmp_path: Path):
    law, done = law_file(tmp_path, LINE), []

    def ensemble(seed: int) -> lawdsl.Ensemble:
        report = lambda k, of: done.append((k, of))  # noqa: E731
        return lawdsl.fit_ensemble(law, rows(), "subbag:3", seed=seed, progress=report, **FAST)

    assert ensemble(1) == ensemble(1)
    assert ensemble(2).parts[0].members != ensemble(1).parts[0].members
    assert done[:3] == [(1, 3), (2, 3), (3, 3)]


def test_runs_are_drawn_as_a_whole(tmp_path: Path):
    table = rows().assign(run=np.repeat(list("abcdefg"), 2))
    ensemble = lawdsl.fit_ensemble(law_file(tmp_path, LINE), table, "subbag:4", **FAST)
    assert ensemble.fits[0].data.groups == 7
    # four fifths of seven runs are six, so each member lacks both rows of one run
    left_out = []
    for a, b in ensemble.parts[0].members:
        fits = [
            np.polyfit(kept["x"], kept["L"], 1)
            for name in "abcdefg"
            for kept in (table[table["run"] != name],)
        ]
        left_out.append(min(abs(a - line[1]) + abs(b - line[0]) for line in fits))
    assert max(left_out) < 1e-6


def test_hidden_domains_and_labels(tmp_path: Path):
    shares = np.random.default_rng(0).dirichlet([1, 1, 1], 16)
    noise = np.random.default_rng(1).normal(0, 0.01, 16)
    loss = 2 + 0.4 * np.exp(-3 * shares[:, 0]) + 0.3 * np.exp(-2 * shares[:, 1]) + noise
    table = {f"r[{name}]": x for name, x in zip("abc", shares.T, strict=True)}
    law = law_file(tmp_path, HIDDEN)
    ensemble = lawdsl.fit_ensemble(law, {**table, "L": loss}, "subbag:3", starts=2, **FAST)
    assert np.abs(ensemble.predict(table) - loss).mean() < 0.05
    labelled = {**table, "L[u]": loss, "L[v]": loss}
    ensemble = lawdsl.fit_ensemble("mixing.m4", labelled, "bag:2", starts=2, **FAST)
    assert [part.label for part in ensemble.parts] == ["u", "v"]
    assert ensemble.parts[0].members == ensemble.parts[1].members  # fitted to the same mixtures
    assert ensemble.predict(table).shape == (16, 2)


def test_an_ensemble_is_a_file_that_predict_reads(tmp_path: Path):
    law, table, path = law_file(tmp_path, LINE), tmp_path / "t.csv", tmp_path / "e.json"
    rows().to_csv(table, index=False)
    fitted = run("fit", law, table, "--ensemble", "bag:4", "-o", path, "-q")
    assert "4 members, combined by their median" in fitted.stdout
    assert "out of bag" in fitted.stdout or "mean absolute error" in fitted.stdout
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["schema"] == "ensemble 1" and len(content["parts"][0]["members"]) == 4
    assert "law line" in json.dumps(content["fit"]["law"]["texts"])
    said = run("predict", path, "x=0.5").stdout
    assert "standard deviation" in said and "not a confidence interval" in said
    result = json.loads(run("predict", path, "x=0.5,0.6", "--json").stdout)["result"]
    assert result["intervals"] is None
    assert result["columns"] == ["x", "L", "L sd", "L q5", "L q95"]
    for value, low, high in zip(
        result["predictions"],
        result["spread"]["quantile_5"],
        result["spread"]["quantile_95"],
        strict=True,
    ):
        assert low <= value <= high
    again = lawdsl.Ensemble.load(path)
    assert np.allclose(again.predict({"x": [0.5, 0.6]}), result["predictions"])
    assert "bag" in str(again) and len(again.to_frame()) == 4
    refused = run("predict", path, "x=0.5", "--level", "90%")
    assert refused.returncode == 2 and "--level needs a single fit" in refused.stderr
    refused = run("export", path, "--to", "numpy")
    assert "F0108" in refused.stderr and "an ensemble of fits" in refused.stderr
    content["parts"][0]["members"][1][1] = -3.0  # b > 0
    path.write_text(json.dumps(content), encoding="utf-8")
    assert "outside the law's domain" in run("predict", path, "x=0.5").stderr


@pytest.mark.parametrize(
    ("ensemble", "said"),
    [("bagg:3", "unknown kind"), ("bag", "lacks the number"), ("boost:1", "2 to 1,000 members")],
)
def test_other_ensembles_are_refused(ensemble: str, said: str):
    with pytest.raises(lawdsl.LawdslError, match=said) as caught:
        lawdsl.fit_ensemble("dcpt.share", "laws/data/c4_share.csv", ensemble)
    assert caught.value.diagnostics[0].code == "F0170"
    by = run("fit", "cmr.share", "laws/data/cmr_table2.csv", "--by", "size", "--ensemble", "bag:3")
    assert by.returncode == 2 and "leave --by out" in by.stderr


def test_a_member_that_runs_away_moves_the_median_little():
    values = np.array([[1.0], [2.0], [3.0], [np.nan], [1e300]])
    equal = np.ones(5)
    assert quantile(values, equal, 0.5) == 3.0
    assert quantile(values, np.array([1.0, 1.0, 5.0, 0.1, 0.1]), 0.5) == 3.0
    assert quantile(values, np.array([9.0, 1.0, 1.0, 1.0, 1.0]), 0.5) == 1.0
    assert np.isinf(standard_deviation(values, equal))
