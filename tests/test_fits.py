"""Fits of laws with index sets: recovered, compared with fits of each part, and used to predict."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mixing_cases import DOMAINS, INDICES, M4, OUTPUTS, C, K, T, fitted, long, wide
from planted import INNER, LABELS, MIXING, PLANTED, as_measured, law_of, sample_of
from quick import without
from rich.console import Console

import lawdsl
from lawdsl.comparing.result import Comparisons
from lawdsl.fitting.findings_by_label import generalise_name
from lawdsl.fitting.result_by_label import Fits
from lawdsl.reporting.comparisons import show_comparisons
from lawdsl.reporting.fits import value_with_error


def close(found: Fits, other: Any, rel: float = 1e-6) -> bool:
    names = set(found.values)
    return names == set(other) and all(
        found.values[n] == pytest.approx(other[n], rel=rel, abs=rel) for n in names
    )


# ---- what is found


def test_a_planted_law_is_recovered():
    """30 mixtures of 4 domains, 3 losses: all 18 parameters, those that `identify` leaves too."""
    planted = {f"c[{i}]": x for i, x in zip(OUTPUTS, C, strict=True)}
    planted |= {f"k[{i}]": x for i, x in zip(OUTPUTS, K, strict=True)}
    planted |= {
        f"t[{name}, {domain}]": T[i, j]
        for i, name in enumerate(OUTPUTS)
        for j, domain in enumerate(DOMAINS)
    }
    found = fitted(M4, wide())

    assert close(found, planted)
    assert found.verdict == "trusted"
    assert set(found.held) == {f"t[{name}, math]" for name in OUTPUTS}
    assert found.labels == {"training": DOMAINS, "validation": OUTPUTS}


def test_each_part_is_the_fit_of_a_law_written_without_indices(noisy: Fits):
    table = wide(noise=1e-3)
    columns = {"r0": "web", "r1": "code", "r2": "news"}
    law = law_of(
        "variable r0 in [0, 1]\nvariable r1 in [0, 1]\nvariable r2 in [0, 1]\n"
        "parameter c >= 0\nparameter k > 0\nparameter t0, t1, t2\n"
        "L = c + k*exp(t0*r0 + t1*r1 + t2*r2 - (t0 + t1 + t2)*(1 - r0 - r1 - r2))\n"
        "minimize huber(log(L), 1e-3)"
    )
    for name in OUTPUTS:
        own = {n: table[f"r[{d}]"] for n, d in columns.items()} | {"L": table[f"L[{name}]"]}
        alone = lawdsl.fit(law, own, starts=8, claims=False)
        part = noisy.part(name)
        named = {"c": "c", "k": "k", "t0": "t, web", "t1": "t, code", "t2": "t, news"}
        for short, long_name in named.items():
            base, _, rest = long_name.partition(", ")
            text = f"{base}[{name}, {rest}]" if rest else f"{base}[{name}]"
            assert part.values[text] == pytest.approx(alone.values[short], rel=1e-6)
        assert part.objective.sum == pytest.approx(alone.objective.sum, rel=1e-9)
        assert part.metrics.mae == pytest.approx(alone.metrics.mae, rel=1e-9)


SHIPPED = [
    "cmr.domain_by_ratio",
    "dcpt.cross_k1",
    "dcpt.cross_k2",
    "dcpt.cross_k3",
    "dcpt.cross_k4",
    *MIXING,
]
APART = ("mixing.m3", "mixing.bimix", "mixing.implicit")  # each below


PLAIN = [name for name in SHIPPED if name not in APART]


@pytest.mark.parametrize("name", without(PLAIN, ["mixing.joint", "dcpt.cross_k1", "dcpt.cross_k3"]))
def test_what_is_planted_in_a_shipped_law_is_recovered(name: str):
    found = lawdsl.fit(name, as_measured(name))

    assert found.values == pytest.approx(PLANTED[name].parameters, rel=1e-10)
    assert (found.verdict, [*found.diagnostics]) == ("trusted", [])


def test_of_m3_the_product_of_its_factors_is_recovered():
    name = "mixing.m3"
    found, planted = lawdsl.fit(name, as_measured(name)), PLANTED[name].parameters

    assert found.values["c[i]"] == pytest.approx(planted["c[i]"], rel=1e-10)
    assert found.values["k[i]"] == pytest.approx(planted["k[i]"], rel=1e-10)
    factors = [[values[f"t[i, {j}]"] for j in LABELS] for values in (found.values, planted)]
    assert np.prod(factors[0]) == pytest.approx(np.prod(factors[1]), rel=1e-10)
    assert [d.code for d in found.diagnostics] == ["F0114"] * 2
    assert found.verdict == "not trusted"


def test_hidden_domains_are_recovered_in_any_order():
    """With three of them, where the shipped law has thirty."""
    law, p = sample_of("mixing.implicit"), PLANTED["mixing.implicit"]
    found = lawdsl.fit(law, p.table())
    assert isinstance(found, lawdsl.Fit)

    def domains(values: Mapping[str, float]) -> list[list[float]]:
        return sorted([values[f"k[{i}]"], *(values[f"t[{i}, {j}]"] for j in "ab")] for i in LABELS)

    np.testing.assert_allclose(domains(found.values), domains(p.parameters), rtol=1e-6)
    assert found.values["c"] == pytest.approx(p.parameters["c"], rel=1e-6)


def test_bimix_is_recovered_for_each_domain():
    steps, shares = np.repeat([1e3, 4e3, 3e4], len(INNER)), np.tile(INNER, (3, 1))
    planted = {
        "alpha": (0.12, 0.3, 0.05),
        "B": (9.0, 30.0, 4.0),
        "beta": (0.45, 0.6, 0.3),
        "C": (1.6, 0.8, 2.2),
    }
    table = {f"r[{j}]": x for j, x in zip(LABELS, shares.T, strict=True)} | {"S": steps}
    for i, (alpha, B, beta, floor), share in zip(
        LABELS, zip(*planted.values(), strict=True), shares.T, strict=True
    ):
        table[f"L[{i}]"] = share**-alpha * (B / steps**beta + floor)
    found = lawdsl.fit("mixing.bimix", table)
    names = {f"{n}[{i}]": x for n, xs in planted.items() for i, x in zip(LABELS, xs, strict=True)}

    assert found.values == pytest.approx(names | dict.fromkeys(("A[a]", "A[b]", "A[c]"), 1.0))
    assert (found.verdict, [*found.diagnostics]) == ("trusted", [])


GROUPED = (
    "index g over domain\nvariable N > 0\nparameter E[g] > 0\nparameter A, alpha > 0\n"
    "L = E[g] + A/N^alpha\n"
)
BY_HAND = (
    "variable N > 0\nvariable a in [0, 1]\nvariable b in [0, 1]\nparameter E0, E1, E2 > 0\n"
    "parameter A, alpha > 0\nL = a*E0 + b*E1 + (1 - a - b)*E2 + A/N^alpha\n"
)


def groups() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    size, floor = np.tile(np.geomspace(1e7, 1e10, 8), 3), np.repeat([1.2, 1.9, 2.6], 8)
    loss = (floor + 60 / size**0.25) * np.exp(0.002 * rng.normal(size=24))
    return {"N": size, "domain": ["a"] * 8 + ["b"] * 8 + ["c"] * 8, "L": loss}


def test_shared_parameters_are_fitted_at_once():
    """As the law is with a column of 0 and 1 for each group."""
    table = groups()
    found = fitted(law_of(GROUPED), table)
    mark = np.array(table["domain"])
    columns = {"N": table["N"], "a": (mark == "a") * 1.0, "b": (mark == "b") * 1.0}
    alone = lawdsl.fit(law_of(BY_HAND), {**columns, "L": table["L"]}, starts=8, claims=False)
    own = {"E[a]": "E0", "E[b]": "E1", "E[c]": "E2", "A": "A", "alpha": "alpha"}

    assert len(found.parts) == 1 and found.outputs == [""]
    assert close(found, {name: alone.values[n] for name, n in own.items()})
    assert found.objective == pytest.approx(alone.objective.sum, rel=1e-9)
    assert found.predict(table) == pytest.approx(
        alone.predict({**columns, "L": table["L"]}), rel=1e-9
    )


def test_elements_are_tied_label_by_label():
    law = law_of(GROUPED.replace("A, alpha > 0", "A[g], alpha > 0").replace("A/", "A[g]/"))
    found = fitted(law, groups(), tie={"A[g]": "40*E[g]"})

    assert {n: h.formula for n, h in found.held.items()} == {f"A[{g}]": f"40*E[{g}]" for g in "abc"}
    assert found.held["A[c]"].value == pytest.approx(40 * found.values["E[c]"])


def test_all_elements_are_fixed_at_once():
    found = fitted(
        law_of(GROUPED), groups(), fix={"E[g]": 1.5}, rolled_check=False, intervals="delta"
    )

    assert {n: h.value for n, h in found.held.items()} == dict.fromkeys(
        ("E[a]", "E[b]", "E[c]"), 1.5
    )


def test_two_domains_leave_one_free_number():
    """What sums to 0 of two is one of them and its opposite."""
    share = np.linspace(0, 1, 12)
    table = {"r[a]": share, "r[b]": 1 - share, "L[a]": 1 + 0.4 * np.exp(0.7 * (2 * share - 1))}
    found = fitted(M4, table)

    assert found.values["t[a, a]"] == pytest.approx(0.7, rel=1e-6)
    assert found.held["t[a, b]"].formula == "-t[a, a]"


def test_parameters_in_a_simplex_sum_to_one():
    """Weights of two hidden losses; which is which is free, so one is bounded."""
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 3, 40)
    law = law_of(
        "index m over {low, high}\nvariable x >= 0\nparameter s[m] in simplex\n"
        "parameter a, b > 0\nL = s[low]*exp(-a*x) + s[high]*exp(-(a + b)*x)\n"
        "minimize squared(L)"
    )
    found = fitted(law, {"x": x, "L": 0.3 * np.exp(-0.5 * x) + 0.7 * np.exp(-2.5 * x)}, starts=16)

    assert found.values["s[low]"] == pytest.approx(0.3, rel=1e-6)
    assert sum(found.values[f"s[{m}]"] for m in ("low", "high")) == pytest.approx(1, abs=1e-14)
    assert set(found.held) == {"s[high]"}


@pytest.mark.parametrize("order", ["rows", "columns", "long"])
def test_the_form_of_the_table_does_not_matter(order: str, noisy: Fits):
    table = wide(noise=1e-3)
    if order == "long":
        table = long(table)
    elif order == "rows":
        places = np.random.default_rng(0).permutation(30)
        table = {name: column[places] for name, column in table.items()}
    else:
        table = dict(reversed(table.items()))
    again = fitted(M4, table)

    assert close(again, noisy.values)
    assert again.objective == pytest.approx(noisy.objective, rel=1e-9)


def test_a_law_is_measured_at_the_labels_of_the_table():
    """Of another table, other parameters."""
    table = {n: v for n, v in wide().items() if n != "L[wiki]"}

    assert fitted(M4, table).labels["validation"] == OUTPUTS[:2]


def test_progress_counts_the_starts_of_all_labels():
    seen: list[tuple[int, int]] = []
    fitted(M4, wide(), progress=lambda done, of: seen.append((done, of)))

    assert seen[-1][0] == seen[-1][1] and len({of for _, of in seen}) <= 2
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


# ---- what is said


def test_what_is_true_of_all_labels_is_said_once():
    found = fitted(
        INDICES / "mixing_m3.law", wide(noise=1e-3), rolled_check=False, intervals="delta"
    )
    symmetries = [d for d in found.diagnostics if d.code == "F0114"]

    assert len(symmetries) == 3  # scales of four slopes
    assert {d.place for d in symmetries} == {"all 3 labels"}
    assert all("t[i, web]" in d.message and "t[github" not in d.message for d in symmetries)
    assert all("identify" in (d.help or "") for d in symmetries)


def test_what_is_true_of_one_label_names_it():
    table = wide(noise=1e-3)
    table["L[books]"][4] *= 1.5
    found = fitted(M4, table)

    assert found.verdict != "trusted"
    assert {d.place.partition(",")[0] for d in found.diagnostics} == {"books"}


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("c[web]", {"i": "web"}, "c[i]"),
        ("t[web, code]", {"i": "web"}, "t[i, code]"),
        ("t[code, web]", {"i": "web"}, "t[code, i]"),
        ("t[web, web]", {"i": "web"}, "t[i, web]"),
        ("A", {"i": "web"}, "A"),
    ],
)
def test_a_name_in_general(name: str, at: dict[str, str], expected: str):
    assert generalise_name(name, at) == expected


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (2.9601234, 0.0123, "2.960 ± 0.012"),
        (-9.1453, 0.95, "-9.15 ± 0.95"),
        (394.4, 26.2, "394 ± 26"),
        (9762.0, 20000.0, "9762 ± 2e+04"),
        (1.0, 6e-16, "1 ± 6e-16"),
        (1.25, float("nan"), "1.25"),
        (1.25, 0.0, "1.25"),
    ],
)
def test_a_value_has_the_digits_that_its_error_leaves(value: float, error: float, shown: str):
    assert value_with_error(value, error) == shown


def test_a_regressor_of_a_law_with_index_sets_asks_what_the_columns_of_an_array_are():
    table = wide()
    X = np.stack([table[f"r[{name}]"] for name in DOMAINS], axis=1)
    with pytest.raises(ValueError, match="has index sets: give a data frame, or say which columns"):
        lawdsl.LawRegressor(M4).fit(X, table["L[wiki]"])


def test_an_identity_that_is_not_linear_is_refused():
    law = law_of(
        "index i over domain\nvariable N > 0\nparameter c[i], k[i] > 0\n"
        "L[i] = c[i]*k[i]*N\nidentify c[i]*k[i] = 1"
    )
    with pytest.raises(lawdsl.LawdslError, match="not linear") as error:
        lawdsl.fit(law, {"N": [1.0, 2.0, 3.0], "L[a]": [1.0, 2.0, 3.0]})
    assert error.value.diagnostics[0].code == "L0322"


# ---- comparisons


@pytest.fixture(scope="module")
def compared() -> Comparisons:
    laws = [INDICES / "mixing_m2.law", M4]
    found = lawdsl.compare(laws, wide(noise=1e-3), objective="huber(log)", starts=4)
    assert isinstance(found, Comparisons)
    return found


def test_laws_are_compared_on_each_label(compared: Comparisons):
    """The law that the table is made by wins wherever rows are held out."""
    assert compared.over == "validation" and tuple(compared.parts) == OUTPUTS
    for part in compared.parts.values():
        assert [r.title for r in part.rankings] == ["all", "splits"]
        assert part.ranking("splits").standings[0].law == "mixing_m4"
        assert part.ranking("splits").folds == 10


def test_a_comparison_of_one_label_is_that_of_its_law_alone(compared: Comparisons):
    table = {n: v for n, v in wide(noise=1e-3).items() if not n.startswith("L") or "books" in n}
    laws = [INDICES / "mixing_m2.law", M4]
    alone = lawdsl.compare(laws, table, objective="huber(log)", starts=4)
    assert isinstance(alone, Comparisons)

    (only,) = alone.parts.values()
    assert only.to_json()["rankings"] == compared.parts["books"].to_json()["rankings"]


def test_splits_are_the_same_for_all_labels_and_leave_a_quarter(compared: Comparisons):
    tested = [
        [(fold.fitted, fold.tested) for fold in part.ranking("splits").standings[0].folds]
        for part in compared.parts.values()
    ]

    assert tested == [[(23, 7)] * 10] * 3


def test_comparisons_are_plain_data_and_a_table(compared: Comparisons):
    made = json.loads(json.dumps(compared.to_json()))
    out = Console(width=100, record=True, file=StringIO(), color_system=None)
    show_comparisons(compared, out)
    lines = [line.split() for line in out.export_text().splitlines()]

    assert list(made) == ["over", "parts"] and list(made["parts"]) == list(OUTPUTS)
    assert lines.count(["validation", "mixing_m2", "mixing_m4"]) == 2
    assert sum(line[:1] == ["wiki"] for line in lines) == 2


@pytest.mark.parametrize(
    ("laws", "message"),
    [
        ([M4, "chinchilla"], "`chinchilla` has no index sets, `mixing_m4` has"),
        ([M4, INDICES / "implicit_aggregation.law"], "not fitted to the same rows"),
    ],
)
def test_laws_of_other_labels_are_not_compared(laws: list[Any], message: str):
    table = wide() | {"L": np.ones(30)}
    with pytest.raises(lawdsl.LawdslError, match=message) as error:
        lawdsl.compare(laws, table, objective="huber(log)")
    assert error.value.diagnostics[0].code == "F0203"


# ---- predictions


def test_predictions_equal_the_formula(noisy: Fits):
    table = wide()
    shares = np.stack([table[f"r[{name}]"] for name in DOMAINS], axis=1)
    c, k = (np.array([noisy.values[f"{n}[{i}]"] for i in OUTPUTS]) for n in "ck")
    t = np.array([[noisy.values[f"t[{i}, {j}]"] for j in DOMAINS] for i in OUTPUTS])

    assert noisy.predict(table) == pytest.approx(c + k * np.exp(shares @ t.T), rel=1e-12)
    assert noisy.predict(long(table)) == pytest.approx(noisy.predict(table).T.ravel(), rel=1e-13)


def test_columns_of_a_prediction_are_bound_as_those_of_a_fit(noisy: Fits):
    table = {n.replace("r[", "share ").rstrip("]"): v for n, v in wide().items()}

    assert noisy.predict(table, r="share *") == pytest.approx(noisy.predict(wide()))


@pytest.mark.parametrize(
    ("changed", "code", "message"),
    [
        ({"r[web]": [0.9]}, "D0121", "sum to 1.4, not to 1"),
        ({"r[web]": [-0.5], "r[code]": [1.25]}, "D0121", "none is below 0"),
        ({"r[web]": None}, "D0120", "no `web`"),
        ({"validation": ["wikis"]}, "D0120", "`wikis` is none of validation"),
        ({"r[web]": ["x"]}, "D0106", '"x" is not a number'),
    ],
)
def test_what_cannot_be_predicted_is_refused(
    changed: dict[str, Any], code: str, message: str, noisy: Fits
):
    table = {"r[web]": [0.5], "r[code]": [0.25], "r[news]": [0.15], "r[math]": [0.1], **changed}
    with pytest.raises(lawdsl.LawdslError, match=message) as error:
        noisy.predict({n: v for n, v in table.items() if v is not None})
    (diagnostic,) = error.value.diagnostics

    assert diagnostic.code == code
    assert "--drop-bad" not in (diagnostic.help or "") or code == "D0106"


def test_outside_the_fitted_range_is_said_once(noisy: Fits):
    corner = {f"r[{name}]": [float(name == "web")] for name in DOMAINS}
    _, warnings = noisy.predict_with_warnings(corner)

    assert {d.code for d in warnings} == {"F0109"}
    assert len({d.message for d in warnings}) == len(warnings) <= 4


def test_labels_of_shared_parameters_must_be_said():
    found = fitted(law_of(GROUPED), groups())

    assert found.predict({"N": [1e8, 1e8], "domain": ["a", "c"]})[0] < 2
    with pytest.raises(lawdsl.LawdslError, match="label of each row over domain"):
        found.predict({"N": [1e8]})


def test_a_new_label_needs_only_its_measured_properties():
    law = law_of(
        "index d over domain\nvariable N > 0\nvariable speed[d] > 0\nparameter A, F, mu > 0\n"
        "L = A/N + F*speed[d]^mu"
    )
    table = groups()
    table["speed"] = np.repeat([0.1, 0.4, 0.9], 8)
    table["L"] = 3e7 / table["N"] + 2 * table["speed"] ** 0.5
    found = fitted(law, table)

    assert found.predict({"N": [1e8], "speed": [0.2]}) == pytest.approx([0.3 + 2 * 0.2**0.5])
    with_label = {"N": [1e8], "speed": [0.2], "domain": ["a new one"]}
    assert found.predict(with_label) == pytest.approx([0.3 + 2 * 0.2**0.5])


# ---- real measurements


def test_the_losses_of_real_mixtures_are_fitted_as_well_as_published(shared_data: Path):
    """Ye et al. 2024, Table 1: the mean absolute error of M4 on three domains at 410M."""
    found = lawdsl.fit(
        M4,
        shared_data / "mixing_laws" / "3Mix.csv",
        where=["size = 410M", "step = 60000"],
        columns={"r": "r_*", "L": "loss", "validation": "valid_domain"},
        claims=False,
    )
    assert isinstance(found, Fits)
    errors = {name: found.part(name).metrics.mae for name in found.outputs}

    assert errors["Github"] <= 0.071
    assert errors["Books3"] <= 0.018
    assert errors["Pile-CC"] <= 0.0092
