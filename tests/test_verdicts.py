"""A verdict for each use of a fit, and designs that leave a law undetermined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run
from planted import law_of
from quick import some

import lawdsl
from lawdsl.core.diagnostics import Diagnostic
from lawdsl.fitting.result import Fit
from lawdsl.fitting.verdicts import NEEDS, SUBJECTS, overall_verdict, verdict_for
from lawdsl.messages.fits import FITS

POWER = """variable N > 0 unit param
variable D > 0 unit token
parameter E, A, B, alpha, beta > 0
L = E + A/N^alpha + B/D^beta
"""
# of a fit that is refused, of its predictions, or of a file: no verdict rests on them
NOT_OF_A_FIT = {
    "F0170",  # of an ensemble
    "F0171",
    "F0172",
    *("F0107", "F0108", "F0109", "F0110", "F0111", "F0120", "F0124", "F0125"),
    *("F0133", "F0142"),
    "F0156",
    "F0157",
}


def measured(N: Any, D: Any, seed: int = 0) -> dict[str, np.ndarray]:
    noise = np.exp(0.003 * np.random.default_rng(seed).normal(size=len(N)))
    return {"N": N, "D": D, "L": (1.82 + 482 / N**0.348 + 2085 / D**0.366) * noise}


def fitted(table: Any, text: str = POWER) -> Fit:
    fit = lawdsl.fit(law_of(text), table, claims=False)
    assert isinstance(fit, Fit)
    return fit


def codes(fit: Fit) -> set[str]:
    return {d.code for d in fit.diagnostics}


def scattered(count: int, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return 10 ** rng.uniform(8, 10, count), 10 ** rng.uniform(9.5, 11.5, count)


def ray(scatter: float) -> tuple[np.ndarray, np.ndarray]:
    N = np.geomspace(1e8, 1e10, 20)
    return N, 20 * N * np.exp(scatter * np.random.default_rng(1).normal(size=20))


# ---- verdicts


def test_each_finding_of_a_fit_has_one_subject():
    listed = [code for codes in SUBJECTS.values() for code in codes]
    assert len(listed) == len(set(listed))
    assert set(FITS) - set(listed) == NOT_OF_A_FIT


@pytest.mark.parametrize(
    ("code", "harmed"),
    [
        ("F0104", {"optimum", "parameters", "residuals", "prediction"}),
        ("F0101", {"parameters", "prediction"}),
        ("F0130", {"parameters"}),
        ("F0116", {"parameters", "residuals", "prediction"}),
        ("D0114", {"parameters", "residuals", "prediction"}),
        ("F0140", {"prediction"}),
        ("F0137", {"parameters", "prediction"}),
    ],
)
def test_a_finding_harms_the_uses_that_need_its_subject(code: str, harmed: set[str]):
    finding = [Diagnostic(code, "", "warning")]
    assert {use for use in NEEDS if verdict_for(use, finding) == "caution"} == harmed


def test_the_verdict_is_that_of_the_worst_finding():
    warning, error = Diagnostic("F0130", "", "warning"), Diagnostic("F0101", "")
    assert overall_verdict([]) == "trusted"
    assert overall_verdict([warning]) == "caution"
    assert overall_verdict([warning, error]) == "not trusted"


def test_another_use_is_refused():
    with pytest.raises(KeyError, match="'predictions' is not one of optimum"):
        verdict_for("predictions", [])


def test_the_terminal_and_the_file_have_a_verdict_for_each_use(tmp_path: Path):
    table = measured(*scattered(40))
    (tmp_path / "runs.csv").write_text(
        "N,D,L\n" + "".join(f"{n},{d},{loss}\n" for n, d, loss in zip(*table.values(), strict=True))
    )
    printed = run("fit", "chinchilla", str(tmp_path / "runs.csv")).stdout
    for use in NEEDS:
        (line,) = [line for line in printed.splitlines() if line.split()[:1] == [use]]
        assert "trusted" in line
    assert "times the largest fitted compute (there C = " in printed and "missed by z = " in printed
    content = fitted(table).to_json()
    assert content["verdicts"] == dict.fromkeys(NEEDS, "trusted")


# ---- designs that leave a law undetermined


@pytest.mark.parametrize("seed", some(range(3), 1))
def test_seven_rows_do_not_test_five_parameters(seed: int):
    few = fitted(measured(*scattered(7), seed))
    assert few.verdict != "trusted" and "F0102" in codes(few)


@pytest.mark.parametrize("scatter", [0.0, 0.01, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("seed", some(range(2), 1))
def test_rows_near_one_ray_are_not_trusted(scatter: float, seed: int):
    near = fitted(measured(*ray(scatter), seed))
    assert near.verdict != "trusted"
    assert codes(near) & {"F0101", "F0131", "F0143"}
    assert near.verdict_for("prediction") != "trusted" or near.verdict == "not trusted"


@pytest.mark.parametrize("rows", [6, 8, 12])
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 3))])
def test_rows_on_a_ray_leave_no_interval_that_excludes_the_exchanged_fit(rows: int, seed: int):
    """With D = 20 N the exponents may change places: both fits predict the same along the ray."""
    N = np.geomspace(1e8, 1e10, rows)
    fit = fitted(measured(N, 20 * N, seed))
    E, A, B, alpha, beta = (fit.parameters[name].value for name in ("E", "A", "B", "alpha", "beta"))
    exchanged = {"E": E, "A": B / 20**beta, "B": A * 20**alpha, "alpha": beta, "beta": alpha}

    assert fit.predict({"N": N, "D": 20 * N}) == pytest.approx(
        E
        + exchanged["A"] / N ** exchanged["alpha"]
        + exchanged["B"] / (20 * N) ** exchanged["beta"]
    )
    for name, (low, high) in fit.intervals.ends.items():
        assert low <= exchanged[name] <= high
    (found,) = [d for d in fit.diagnostics if d.code == "F0101"]
    assert found.severity == "error" and "D = 20 N" in found.message
    for name in "A", "alpha", "B", "beta":
        assert fit.parameters[name].identified == (name not in found.message.split(" cannot")[0])
        assert fit.parameters[name].identified or name not in fit.intervals.ends


def test_exponents_on_a_power_of_the_size_change_places_by_that_power():
    """D = 5000 N^0.7 is a ray, too: alpha becomes 0.7 beta, and beta alpha/0.7."""
    N = np.geomspace(1e7, 1e11, 30)
    fit = fitted(measured(N, 5000 * N**0.7, 1))
    (found,) = [d for d in fit.diagnostics if d.code == "F0101"]
    alpha, beta = (fit.parameters[name].value for name in ("alpha", "beta"))
    told = f"alpha = {0.7 * beta:.3g} and beta = {alpha / 0.7:.3g} fit as well"
    assert any(note.endswith(told) for note in found.notes)
    assert not {"A", "alpha", "B", "beta"} & set(fit.intervals.ends)


def test_terms_that_noise_tells_apart_keep_their_intervals():
    N, D = ray(0.1)
    noise = np.exp(0.0003 * np.random.default_rng(0).normal(size=20))
    fit = fitted({"N": N, "D": D, "L": (1.82 + 482 / N**0.348 + 2e5 / D**0.6) * noise})
    assert codes(fit) & {"F0131", "F0143"} and "F0101" not in codes(fit)
    low, high = fit.intervals.ends["alpha"]
    assert low < 0.348 < high < 0.6


def test_an_interval_that_a_bound_alone_makes_narrow_is_left_out():
    """With E free the rows say little of alpha, so that its interval with E = 0 is not printed."""
    rows = ["phase = end", "N < 6e5", "r_code = 1"]
    options = {"L": "L_code", "where": rows, "claims": False}
    fit = lawdsl.fit("chinchilla", "laws/data/code_and_english.csv", intervals="delta", **options)
    assert fit.parameters["E"].at_bound == "lower"
    (found,) = [d for d in fit.diagnostics if d.code == "F0130"]
    named = {part.split()[-1] for part in found.message.split(" (")[:-1]}
    assert named == {"beta"} and set(fit.intervals.ends) == {"A", "alpha"} == set(
        fit.intervals.errors
    )
    printed = run(
        "fit",
        "chinchilla",
        "laws/data/code_and_english.csv",
        "L=L_code",
        "--intervals",
        "delta",
        *(word for row in rows for word in ("--where", row)),
    ).stdout
    assert printed.count("hardly determined") == 2
    profiled = lawdsl.fit("chinchilla", "laws/data/code_and_english.csv", **options)
    assert profiled.intervals.method == "profile" and not profiled.intervals.errors
    assert "beta" in profiled.intervals.ends  # a profile moves E along its bound


def test_rows_off_the_ray_are_trusted():
    assert fitted(measured(*scattered(40))).verdict == "trusted"


@pytest.mark.parametrize("sizes", [1, 2])
def test_fewer_than_three_sizes_are_named(sizes: int):
    """Two sizes determine a power of known exponent, and do not test it."""
    N = np.repeat(np.geomspace(1e8, 1e9, sizes), 12)
    D = np.tile(np.geomspace(1e9, 1e11, 12), sizes)
    text = "variable N > 0 unit param\nvariable D > 0 unit token\nparameter A, B, beta > 0\n"
    text += "L = (A + B/D^beta)*(N/1e9)^(-1/10)"
    noise = np.exp(0.002 * np.random.default_rng(2).normal(size=len(N)))
    table = {"N": N, "D": D, "L": (2 + 2085 / D**0.366) * (N / 1e9) ** -0.1 * noise}
    fit = fitted(table, text)
    assert codes(fit) == {"F0144"} and fit.verdict_for("parameters") == "trusted"
    assert fit.verdict_for("prediction") == "caution"


def test_a_law_without_sizes_needs_none():
    x = np.tile([0.2, 0.8], 10)
    noise = np.exp(0.002 * np.random.default_rng(3).normal(size=20))
    fit = fitted({"x": x, "L": (1 + x) * noise}, "variable x > 0\nparameter a > 0\nL = 1 + a*x")
    assert "F0144" not in codes(fit)


def test_a_quantile_other_than_the_median_has_no_horizon_and_is_not_trusted_to_predict(
    tmp_path: Path,
):
    N, D = (x.ravel() for x in np.meshgrid(np.geomspace(1e8, 1e10, 6), np.geomspace(2e9, 2e11, 6)))
    tail, median = (
        fitted(measured(N, D), f"{POWER}minimize quantile(log(L), {q})\n") for q in (0.9, 0.5)
    )
    assert tail.verdict_for("prediction") == "caution" and "F0134" in codes(tail)
    assert tail.verdict_for("parameters") == "trusted" == median.verdict_for("prediction")
    assert "F0134" not in codes(median)

    tail.save(tmp_path / "fit.json")
    arguments = ("predict", str(tmp_path / "fit.json"), "N=7e9", "D=1e11")
    default, alone, right = (
        run(*arguments, *more) for more in ((), ("--no-intervals",), ("--wrong", "0"))
    )
    assert "no interval is shown" in default.stderr and "--wrong 0 gives" in default.stderr
    assert alone.stderr == "" and "95 % interval" in right.stdout
