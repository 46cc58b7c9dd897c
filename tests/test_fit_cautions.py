"""What a fit is not certain of: parameters that the rows do not determine, and minima that few starts reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from planted import PLANTED, law_of
from quick import some
from test_fit import LINE, NOISE, X, codes, refused

import lawdsl


def chinchilla(noise: float = 0.003, **columns: Any) -> dict[str, np.ndarray]:
    """The planted table with some columns replaced before the losses are computed."""
    p = PLANTED["chinchilla"]
    given = {**p.columns, **{k: np.asarray(v, dtype=float) for k, v in columns.items()}}
    exact = p.formula(**given, **p.parameters)
    return {**given, "L": exact * np.exp(noise * NOISE[: len(exact)])}


ESTIMATE: dict[str, Any] = {"claims": False, "rolled_check": False}
"""What most tests of fits need; the claims and the horizon have tests of their own."""


N_TWO = np.where(np.arange(36) % 2, 1e8, 1e9)


UNSEEN: Mapping[str, tuple[dict[str, np.ndarray], set[str], str]] = {
    "N has one value": (
        chinchilla(N=np.full(36, 1e9)),
        {"E", "A", "alpha"},
        "N has one value: 1e+09",
    ),
    "N has one value, no noise": (
        chinchilla(0, N=np.full(36, 1e9)),
        {"E", "A", "alpha"},
        "N has one value: 1e+09",
    ),
    "N has two values": (
        chinchilla(N=N_TWO),
        {"E", "A", "alpha"},
        "N has two values: 1e+08, 1e+09",
    ),
    "N has two values, no noise": (
        chinchilla(0, N=N_TWO),
        {"E", "A", "alpha"},
        "N has two values: 1e+08, 1e+09",
    ),
    "D = 20 N": (
        chinchilla(D=20 * PLANTED["chinchilla"].columns["N"], N=PLANTED["chinchilla"].columns["N"]),
        set(),
        "D = 20 N in every row",
    ),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_what_the_data_do_not_see_is_named_with_its_cause(name: str):
    table, lost, cause = UNSEEN[name]
    fit = lawdsl.fit("chinchilla", table, starts=8)
    found = [d for d in fit.diagnostics if d.code == "F0101"]

    assert fit.verdict == "not trusted"
    named = {n for n, p in fit.parameters.items() if not p.identified}
    assert named >= lost and len(named) >= 2
    assert found and all(cause in d.notes for d in found)
    assert all(d.notes[0].startswith("rank ") and d.help for d in found)


RAY = np.geomspace(1e7, 1e11, 30)


@pytest.mark.parametrize("seed", some(range(6), 2))
def test_a_ray_is_never_trusted(seed: int):
    """D = 20 N: rank 3 or 4 of 5, or 5 with terms that change places, as the noise would have it."""
    noise = 0.003 * np.random.default_rng(seed).normal(size=30)
    table = chinchilla(0, N=RAY, D=20 * RAY)
    fit = lawdsl.fit("chinchilla", {**table, "L": table["L"] * np.exp(noise)}, starts=6, **ESTIMATE)
    found = [d for d in fit.diagnostics if d.code == "F0101"]
    ranks = ("rank 3 of 5", "rank 4 of 5", "rank 2 of 5")
    exchanged = "the terms of N and D may change places: "

    assert fit.verdict != "trusted" and found
    assert all("D = 20 N in every row" in d.notes for d in found)
    errors = [d for d in found if d.severity == "error"]
    assert all(d.notes[0] in ranks or d.notes[0].startswith(exchanged) for d in errors)


@pytest.mark.parametrize(
    ("columns", "cause"),
    [
        ({"D": 20 * RAY}, "D = 20 N in every row"),
        ({"D": 5 * RAY**0.7}, "D = 5 N^0.7 in every row"),
        ({"D": 20 * RAY * (1 + 1e-3 * NOISE[:30])}, "D ≈ 20 N in every row"),
    ],
)
def test_a_ray_that_only_the_laws_form_resolves_is_a_caution(
    columns: dict[str, np.ndarray], cause: str
):
    law = law_of("variable N, D > 0\nparameter E, A, B > 0\nL = E + A/N^0.1 + B/D^0.4")
    table = {"N": RAY, **columns}
    fit = lawdsl.fit(law, {**table, "L": 2 + 3 / RAY**0.1 + 50 / table["D"] ** 0.4}, starts=4)

    assert fit.verdict == "caution"
    (found,) = fit.diagnostics
    assert (found.code, found.severity) == ("F0101", "warning")
    assert found.message.startswith("only the form of the law tells A and B apart")
    assert (
        found.notes[0].startswith(cause.split(" in ")[0][:5]) and "in every row" in found.notes[0]
    )


@pytest.mark.parametrize(
    ("noise", "verdict"),
    [
        (0.003, "trusted"),
        pytest.param(0.02, "trusted", marks=pytest.mark.slow),
        (0.06, "not trusted"),
    ],
)
def test_the_verdict_does_not_depend_on_units(noise: float, verdict: str):
    """A is the loss at N = 1: among the data in one unit, far off them in another."""
    law = law_of("variable N > 0\nparameter E, A, alpha > 0\nL = E + A/N^alpha")
    N = np.geomspace(0.3, 3, 14)
    loss = (2 + 0.5 / N**0.6) * np.exp(noise * np.random.default_rng(0).normal(size=14))
    fits = [lawdsl.fit(law, {"N": scale * N, "L": loss}, starts=12) for scale in (1, 1e3, 1e9)]

    assert [fit.verdict for fit in fits] == [verdict] * 3
    assert len({fit.parameters["alpha"].identified for fit in fits}) == 1
    assert [fit.values["alpha"] for fit in fits] == pytest.approx(
        [fits[0].values["alpha"]] * 3, rel=1e-6
    )


def test_without_small_shares_the_price_of_a_small_share_is_not_determined():
    p = PLANTED["dcpt.share"]
    r = np.linspace(0.4, 1, 12)
    loss = p.formula(r=r, **p.parameters) * np.exp(0.002 * NOISE[:12])
    fit = lawdsl.fit("dcpt.share", {"r": r, "L": loss}, **ESTIMATE)

    assert fit.verdict == "not trusted"
    assert not fit.parameters["gamma"].identified or fit.parameters["epsilon"].at_bound


def test_two_variables_with_a_loose_relation_are_no_ray():
    scatter = np.exp(0.5 * NOISE[:36])
    fit = lawdsl.fit("chinchilla", chinchilla(D=20 * np.geomspace(1e8, 1e10, 36) * scatter))

    assert (fit.verdict, fit.diagnostics) == ("trusted", ())


def test_a_parameter_without_effect_is_not_determined():
    law = law_of("variable x > 0\nparameter a, q > 0\nL = a*x + 0*q")
    fit = lawdsl.fit(law, {"x": X, "L": 2 * X})

    assert codes(fit) == ["F0114"] and fit.diagnostics[0].message.startswith("q has no effect")
    assert fit.parameters["a"].identified and not fit.parameters["q"].identified


def test_the_factors_of_a_product_cannot_be_told_apart():
    law = law_of("variable x > 0\nparameter a, b > 0\nL = a*b*x")
    fit = lawdsl.fit(law, {"x": X, "L": 6 * X})

    assert codes(fit) == ["F0114"]
    assert not any(p.identified for p in fit.parameters.values())
    assert fit.verdict == "not trusted"


def test_a_variable_without_effect_leaves_its_exponent_undetermined():
    p = PLANTED["chinchilla"].parameters
    D = PLANTED["chinchilla"].columns["D"]
    loss = (p["E"] + p["B"] / D ** p["beta"]) * np.exp(0.003 * NOISE[:36])
    fit = lawdsl.fit("chinchilla", {**PLANTED["chinchilla"].columns, "L": loss}, starts=8)

    assert fit.verdict == "not trusted"
    assert not fit.parameters["alpha"].identified
    assert fit.parameters["beta"].identified


def test_noise_without_any_law_in_it_is_not_trusted():
    loss = np.random.default_rng(1).uniform(2, 3, 36)
    fit = lawdsl.fit(
        "chinchilla", {**PLANTED["chinchilla"].columns, "L": loss}, starts=8, **ESTIMATE
    )

    assert fit.verdict == "not trusted"


def test_as_many_rows_as_parameters_is_a_caution():
    table = {k: v[:5] for k, v in PLANTED["chinchilla"].table(0.003).items()}
    table["N"] = np.geomspace(1e8, 1e10, 5)[[0, 3, 1, 4, 2]]
    fit = lawdsl.fit("chinchilla", table, starts=8)

    assert fit.verdict != "trusted" and "F0102" in codes(fit)


def test_fewer_rows_than_parameters_are_refused():
    table = {k: v[:3] for k, v in PLANTED["chinchilla"].table().items()}
    diagnostic = refused("chinchilla", table)

    assert diagnostic.code == "D0110"
    assert diagnostic.message == "3 rows, 5 parameters: `chinchilla` needs at least 5 rows"


def test_a_law_without_parameters_has_nothing_to_fit():
    assert refused(law_of("variable x > 0\nL = 2*x"), {"x": X, "L": X}).code == "F0111"


def test_a_law_without_variables_is_fitted_as_a_mean():
    law = law_of("parameter E\nL = E\nminimize squared(L)")
    fit = lawdsl.fit(law, {"L": X})

    assert fit.values["E"] == pytest.approx(np.mean(X))
    assert fit.data.ranges == {"L": (1.0, 5.0)}


def test_one_start_is_never_trusted():
    """A search says that it converged in a wrong minimum too."""
    table = PLANTED["chinchilla"].table(0.003)
    given = lawdsl.fit("chinchilla", table, starts=dict(PLANTED["chinchilla"].parameters))
    one = lawdsl.fit("chinchilla", table, starts=1)

    for fit in (given, one):
        assert fit.agreement == lawdsl.fitting.result_parts.Agreement(1, 1)
        assert (codes(fit), fit.verdict) == (["F0104"], "caution")


def test_a_minimum_that_hardly_any_start_finds_is_a_caution():
    """A frequency has as many minima as periods; one of them is the deepest, and narrow."""
    law = law_of("variable x > 0\nparameter w in [1, 2000]\nL = 2 + sin(w*x)\nminimize squared(L)")
    x = np.linspace(1, 3, 200)
    fit = lawdsl.fit(law, {"x": x, "L": 2 + np.sin(1234.5 * x)}, starts=12, seed=1)

    assert fit.agreement.agreed == 1 and fit.converged
    assert codes(fit) == ["F0104"] and fit.verdict == "caution"
    assert fit.diagnostics[0].message == "only 1 of 12 starts reached the best minimum"


def test_agreement_counts_the_starts_that_reached_the_minimum():
    fit = lawdsl.fit(LINE, {"x": X, "L": 2 * X + 1 + 0.1 * NOISE[:12]}, starts=7)

    assert (fit.agreement.starts, fit.agreement.agreed) == (7, 7)


def test_exact_fits_agree_although_their_sums_are_rounding():
    fit = lawdsl.fit("chinchilla", PLANTED["chinchilla"].table(), starts=10)

    assert fit.objective.sum < 1e-25 and fit.agreement.agreed >= 5
