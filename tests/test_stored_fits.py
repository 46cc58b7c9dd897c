"""A stored fit that was edited or damaged is refused wherever it is used; what `fit` writes is not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pytest
from planted import law_of
from quick import without

import lawdsl

Content = dict[str, Any]

SHARE = law_of(
    "variable r in [0, 1]\nparameter E, C, gamma, epsilon > 0\n"
    "L = E + C/(r + epsilon)^gamma\nrequire L finite\nminimize squared(L)"
)
COUPLED = law_of(
    "variable x > 0\nparameter a > 0\nparameter b > a\nparameter p in (0, 1)\n"
    "L = a + (b - a)*exp(-p*x)\nminimize squared(L)"
)
TWO = law_of(
    "variable N, D > 0\nparameter E, A, alpha, B, beta > 0\nL = E + A/N^alpha + B/D^beta\n"
    "minimize huber(log(L), 0.001)"
)


def share() -> lawdsl.Fit:
    r = np.linspace(0, 1, 12)
    L = 2.3 + 0.15 / (r + 0.1) ** 0.74
    return _one(lawdsl.fit(SHARE, {"r": r, "L": L + np.random.default_rng(0).normal(0, 1e-3, 12)}))


def _one(fit: Any) -> lawdsl.Fit:
    assert isinstance(fit, lawdsl.Fit)
    return fit


@pytest.fixture(scope="module")
def good() -> Content:
    return share().to_json()


def set_at(*path: Any) -> Callable[[Content, Any], None]:
    def change(content: Content, value: Any) -> None:
        place: Any = content
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


EDITS: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "a parameter outside its domain": (
        ("parameters", "C", "value"),
        -0.15,
        "C = -0.15 lies outside",
    ),
    "a parameter on an open bound of 0": (("parameters", "E", "value"), 0.0, "E > 0"),
    "a parameter outside its interval": (
        ("parameters", "gamma", "value"),
        60.0,
        "gamma = 60 is not",
    ),
    "another objective": (("objective", "sum"), 0.5, "the objective is 0.5"),
    "another sum": (("objective", "raw", "sum"), 0.5, "is stored as 0.5"),
    "another mean": (("objective", "mean"), 0.5, "a mean of 0.5 over 12 rows"),
    "a negative sum": (("objective", "log", "sum"), -1.0, "below 0"),
    "a range the wrong way round": (("data", "ranges", "r"), [1.0, 0.0], "the range of r"),
    "no rows": (("data", "rows"), 0, "counts of rows"),
    "more starts agree than there are": (("agreement", "agreed"), 10_000, "starts"),
    "an R² above 1": (("metrics", "r2"), 1.5, "R²"),
    "rows of another output": (("data", "ranges", "L"), [7.0, 9.0], "its parameters give L"),
    "a number for a truth": (("converged",), "no", "converged"),
    "text for a number": (("seed",), "3", "seed"),
    "a share of a row": (("data", "rows"), 11.5, "data.rows"),
    "a range of three numbers": (("data", "ranges", "r"), [0, 1, 2], "data.ranges.r"),
    "a truth for a number": (("parameters", "C", "value"), True, "parameters.C.value"),
    "a number for a name": (("law", "name"), 5, "law.name"),
    "a list for a text": (("data", "digest"), [1], "data.digest"),
    "text for a list": (("data", "where"), "r > 0", "data.where"),
    "one number for an interval": (("intervals", "ends", "C"), [0.1], "intervals.ends.C"),
    "a level of 200 %": (("intervals", "level"), 2, "2 is not the level"),
    "no number": (("parameters", "C", "value"), None, "parameters.C.value"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_fit_is_refused_by_what_uses_it(edit: str, good: Content, tmp_path: Path):
    where, value, evidence = EDITS[edit]
    content = copy.deepcopy(good)
    set_at(*where)(content, value)
    path = tmp_path / "fit.json"
    path.write_text(json.dumps(content))

    with pytest.raises(lawdsl.LawdslError) as error:
        lawdsl.load_fit(path).predict({"r": [0.5]})

    assert {d.code for d in error.value.diagnostics} == {"F0108"}
    assert evidence in str(error.value)


@pytest.mark.parametrize(
    "command", [["predict", "fit.json", "r=0.5"], ["check", "--fit", "fit.json"]]
)
def test_commands_refuse_an_edited_fit(command: list[str], good: Content, tmp_path: Path):
    content = copy.deepcopy(good)
    content["parameters"]["C"]["value"] = -0.15
    (tmp_path / "fit.json").write_text(json.dumps(content))

    done = commands.run(*command, cwd=tmp_path)

    assert done.returncode == 3 and done.stdout == ""
    assert "C = -0.15 lies outside the law's domain, C > 0" in done.stderr


def test_an_edited_fit_is_refused_by_a_question(good: Content, tmp_path: Path):
    content = copy.deepcopy(good)
    content["parameters"]["C"]["value"] = -0.15
    (tmp_path / "fit.json").write_text(json.dumps(content))
    law = content["law"]["name"]
    question = f"question best\nuses loss : {law}\nchoose r in [0, 1]\nminimize loss(r)\n"
    (tmp_path / "best.law").write_text(question)
    (tmp_path / f"{law}.law").write_text(content["law"]["texts"][law])

    with pytest.raises(lawdsl.LawdslError) as error:
        lawdsl.solve(tmp_path / "best.law", loss=str(tmp_path / "fit.json"))

    assert "C = -0.15" in str(error.value)


def test_in_two_variables_an_edited_offset_is_seen():
    N, D = (a.ravel() for a in np.meshgrid(np.geomspace(5e7, 8e9, 5), np.geomspace(1e9, 3e11, 5)))
    L = (1.69 + 406.4 / N**0.34 + 410.7 / D**0.28) * (1 + 1e-3 * np.cos(np.arange(25)))
    content = _one(lawdsl.fit(TWO, {"N": N, "D": D, "L": L})).to_json()
    content["parameters"]["E"]["value"] = 16.9
    content["intervals"]["ends"]["E"] = [16.0, 18.0]
    content["intervals"]["ends_with_law_error"]["E"] = [15.0, 19.0]

    with pytest.raises(lawdsl.LawdslError, match="its parameters give L"):
        lawdsl.Fit.of_json(content).predict({"N": [1e9], "D": [1e10]})


@pytest.mark.parametrize("unit", [1.0, 1e9])
def test_sums_are_compared_in_the_unit_of_the_output_not_in_that_of_a_variable(unit: float):
    law = law_of("variable D > 0\nparameter E, B > 0\nL = E + B/D^0.3\nminimize squared(L)")
    D = unit * np.geomspace(1, 300, 12)
    L = 1.7 + 0.4 / (D / unit) ** 0.3 + np.random.default_rng(0).normal(0, 1e-2, 12)
    content = _one(lawdsl.fit(law, {"D": D, "L": L})).to_json()
    content["objective"]["sum"] *= 2

    with pytest.raises(lawdsl.LawdslError, match="but that of its parameters is stored"):
        lawdsl.Fit.of_json(content).predict({"D": [2 * unit]})


def test_a_fit_without_the_range_of_its_output_is_read(good: Content):
    """The range serves to see that numbers were edited, and is needed for nothing else."""
    content = copy.deepcopy(good)
    del content["data"]["ranges"]["L"]

    assert lawdsl.Fit.of_json(content).predict({"r": [0.5]}) == pytest.approx([2.5192], abs=1e-3)


PROFILE = {"intervals": "profile"}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", without([{}, PROFILE, {"fix": {"p": 0.5}}], [PROFILE]))
def test_what_a_fit_writes_on_its_bounds_is_read(seed: int, options: Any, tmp_path: Path):
    rng = np.random.default_rng(seed)
    x = np.linspace(0.1, 5, 12)
    L = [0.2 + 0 * x, 0.5 - 0.1 * x, 1 + 2 * np.exp(-3 * x), 0.3 + 0.1 * x][seed]
    fit = lawdsl.fit(COUPLED, {"x": x, "L": L + rng.normal(0, 1e-3, 12)}, **options)
    fit.save(tmp_path / "fit.json")

    again = _one(lawdsl.load_fit(tmp_path / "fit.json"))

    assert np.all(np.isfinite(again.predict({"x": x})))


def test_a_fit_of_rows_in_a_valley_is_read(tmp_path: Path):
    """Runs that were all tuned have the least loss; most of the ranges of their settings has more."""
    rng = np.random.default_rng(0)
    law = law_of(
        "variable x, z > 0\nparameter c, k > 0\ny = c + k*(log(x) + log(z))^2\nminimize squared(y)"
    )
    x = np.exp(np.linspace(-4, 4, 40))
    z = np.exp(rng.normal(0, 0.05, 40)) / x
    y = 1 + np.log(x * z) ** 2 + rng.normal(0, 5e-4, 40)
    lawdsl.fit(law, {"x": x, "z": z, "y": y}).save(tmp_path / "fit.json")

    again = _one(lawdsl.load_fit(tmp_path / "fit.json"))

    assert again.predict({"x": [1.0], "z": [1.0]}) == pytest.approx([1.0], abs=1e-3)
