"""Shipped laws that leave no pattern where the residuals of a fit have one."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from commands import run

import lawdsl
from lawdsl.comparing.rival_laws import (
    EXCLUDED,
    OPTIONS,
    PATTERN_TOO,
    UNFITTED,
    UNTRUSTED,
    _failure,
    _no_rival_text,
    _row_arguments,
    rival_laws,
    with_rival_laws,
)
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.result import Fit
from lawdsl.language.law_changes import LawChanges


def table(kind: str) -> dict[str, np.ndarray]:
    """Runs of Kaplan's law, or of one that no shipped law describes."""
    N, D = (x.ravel() for x in np.meshgrid(np.geomspace(1e7, 3e9, 6), np.geomspace(1e9, 3e11, 6)))
    L = ((6e13 / N) ** 0.74 + 2e13 / D) ** 0.1
    if kind == "neither":
        L = L * np.where(D > 2e10, 0.97, 1.0)
    return {"N": N, "D": D, "L": L * np.exp(1e-4 * np.random.default_rng(0).normal(size=36))}


def help_of_the_pattern(kind: str) -> str:
    law, rows = lawdsl.load("chinchilla"), table(kind)
    fit = lawdsl.fit(law, rows, claims=False)
    assert isinstance(fit, Fit)
    named = with_rival_laws(fit, law, rows, FitOptions())
    assert named.verdict == fit.verdict
    helps = {d.help for d in named.diagnostics if d.code == "F0116"}
    assert len(helps) == 1
    return helps.pop() or ""


def test_rivals_have_the_variables_and_the_output_of_the_law():
    assert [law.name for law in rival_laws(lawdsl.load("chinchilla"))] == [
        "distill.supervised",
        "kaplan",
    ]
    names = {law.name for law in rival_laws(lawdsl.load("dcpt.l3"))}
    assert names == {"dcpt.forgetting", "dcpt.l1", "dcpt.l2", "dcpt.l4", "dcpt.l5"}


def test_rivals_have_the_settings_of_the_law():
    rivals = rival_laws(LawChanges.of(settings={"D_min": 0.5}).apply(lawdsl.load("dcpt.l3")))
    values = {q.value for law in rivals for q in law.settings if q.name == "D_min"}
    assert values == {0.5}


def test_the_law_that_leaves_no_pattern_is_named():
    help = help_of_the_pattern("kaplan")
    assert "fitted to these rows, distill.supervised and kaplan leave no pattern" in help
    assert "lawdsl compare chinchilla distill.supervised kaplan DATA" in help


def test_no_law_is_named_where_all_leave_a_pattern():
    help = help_of_the_pattern("neither")
    assert "distill.supervised and kaplan leave a pattern, too" in help and "no pattern" not in help


@pytest.mark.slow
def test_the_command_names_it(tmp_path: Path):
    rows = zip(*table("kaplan").values(), strict=True)
    text = "N,D,L\n" + "".join(f"{n:.6g},{d:.6g},{loss:.6f}\n" for n, d, loss in rows)
    (tmp_path / "runs.csv").write_text(text)
    done = run("fit", "chinchilla", "runs.csv", cwd=tmp_path)
    assert "distill.supervised and kaplan leave no pattern" in done.stderr


def test_the_suggested_command_compares_the_rows_that_were_fitted(tmp_path: Path):
    rows = list(zip(*table("kaplan").values(), strict=True))
    text = "N,D,final loss,stage\n" + "".join(
        f"{n:.6g},{d:.6g},{loss:.6f},{stage}\n"
        for stage in ("main", "test run")
        for n, d, loss in rows
    )
    text += "1e9,1e10,9.9,test run\n"
    (tmp_path / "my runs.csv").write_text(text)
    (text,) = lawdsl.load("chinchilla").texts.values()
    (tmp_path / "own.law").write_text(text.replace("law chinchilla", "law own"))
    options = ("--where", "stage = main", "--objective", "huber(log)", "--delta", "0.01")
    done = run("fit", "own.law", "my runs.csv", "L=final loss", *options, cwd=tmp_path)
    command = re.search(r"`(lawdsl compare own.law .*?)`", " ".join(done.stderr.split()))
    assert command is not None

    words = shlex.split(command[1])
    assert words[2:6] == ["own.law", "distill.supervised", "kaplan", "my runs.csv"]
    done = run(*words[1:], "--protocol", "all", "--json", cwd=tmp_path)
    result = json.loads(done.stdout)["result"]
    assert result["data"]["rows"] == 36 and result["data"]["where"] == ["stage = main"]
    assert result["objective"] == "huber(log(L), 0.01)"


def test_the_suggested_command_has_the_settings_and_runs():
    options = FitOptions(run=("seed",), drop_bad=True, columns={"L": "loss"})
    words = list(_row_arguments({}, options, {"D_min": 0.5}))
    assert words == ["DATA", "L=loss", "--run", "seed", "--drop-bad", "--set", "D_min=0.5"]


def test_laws_that_refuse_an_option_are_not_said_to_leave_a_pattern():
    law = lawdsl.load("dcpt.share")
    options = FitOptions(delta=0.01)
    rows = {q.name: np.array([1.0]) for q in law.variables} | {law.output: np.array([1.0])}
    assert _failure(law, rows, options) == OPTIONS
    assert (
        _failure(lawdsl.load("chinchilla"), {"N": [1e9], "D": [1e10], "L": [2.0]}, options)
        == UNFITTED
    )
    failures = {
        "a": OPTIONS,
        "b": PATTERN_TOO,
        "c": PATTERN_TOO,
        "d": EXCLUDED,
        "e": UNTRUSTED,
        "f": UNFITTED,
    }
    assert _no_rival_text(failures, options) == (
        "b and c leave a pattern, too; a does not take --delta; e has no fit that can be trusted; "
        "d excludes some of these rows from its domain"
    )
    assert _no_rival_text({"f": UNFITTED}, options) == ""
    law = lawdsl.load("dcpt.l1")
    runs = {"N": [1.0] * 9, "D": np.geomspace(1e-4, 1e-3, 9), "r": [0.5] * 9, "L": [3.0] * 9}
    assert _failure(law, runs, FitOptions()) == EXCLUDED


@pytest.mark.parametrize("rows", [0, 5])
def test_a_fit_without_a_pattern_stays_as_it_is(rows: int):
    N, D = (x.ravel() for x in np.meshgrid(np.geomspace(1e7, 3e9, 6), np.geomspace(1e9, 3e11, 6)))
    L = 1.8 + 480 / N**0.35 + 2000 / D**0.37
    L = L * np.exp(0.003 * np.random.default_rng(rows).normal(size=36))
    law = lawdsl.load("chinchilla")
    fit = lawdsl.fit(law, {"N": N, "D": D, "L": L}, claims=False)
    assert with_rival_laws(fit, law, {"N": N, "D": D, "L": L}, FitOptions()) is fit
