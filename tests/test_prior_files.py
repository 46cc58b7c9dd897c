"""Fits with priors: files, the command line, labels, units, published values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import run
from planted import law_of
from prior_cases import BEYOND, POWER, TWO_SIZES, codes, fitted, power_rows

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.result import Fit
from lawdsl.law.published_values import PUBLISHED
from lawdsl.reporting.terminal import deviations_text


def test_a_fit_with_priors_comes_back_from_its_file(tmp_path: Path):
    law = law_of(f"{POWER}prior log(beta) = log(0.35) ± 0.1\n")
    fit = lawdsl.fit(law, power_rows(TWO_SIZES), priors="log(alpha) = log(0.35) ± 0.35")
    fit.save(tmp_path / "fit.json")

    reloaded = Fit.load(tmp_path / "fit.json")
    assert reloaded == fit
    assert [p.text for p in reloaded.read_law().priors] == [p.text for p in fit.priors.priors]
    one, two = (f.predict_with_errors(BEYOND) for f in (fit, reloaded))
    assert np.array_equal(one.stacked(), two.stacked())


def test_an_altered_prior_is_refused(tmp_path: Path):
    fit = fitted(POWER, power_rows(), "alpha = 0.35 ± 0.1")
    content = fit.to_json()
    content["law"]["priors"] = ["alpha = 0.35 ± 0.2"]

    with pytest.raises(LawdslError, match="has been altered"):
        Fit.of_json(content).predict(BEYOND)


def test_the_command_prints_priors_and_the_fit_without_them(tmp_path: Path):
    table = power_rows(TWO_SIZES)
    rows = zip(*table.values(), strict=True)
    path, law = tmp_path / "runs.csv", tmp_path / "power.law"
    path.write_text("N,D,L\n" + "".join(f"{n},{d},{loss}\n" for n, d, loss in rows))
    law.write_text(f'law power "x"\nsource "none"\n{POWER}prior log(beta) = log(0.35) ± 0.5\n')
    prior = ("--prior", "log(alpha) = log(0.35) +- 0.35")

    done = run("fit", law, path, *prior, "--quiet")
    assert done.returncode == 0, done.stderr
    assert "log(alpha) = log(0.35) ± 0.35" in done.stdout
    assert "log(beta) = log(0.35) ± 0.5" in done.stdout
    assert "E, A and alpha undetermined" in done.stdout
    result = json.loads(run("fit", law, path, *prior, "--json").stdout)["result"]
    assert [p["parameter"] for p in result["priors"]["priors"]] == ["alpha", "beta"]
    assert result["priors"]["without"]["alpha"] is None
    assert result["law"]["priors"] == ["log(alpha) = log(0.35) +- 0.35"]
    without = json.loads(run("fit", law, path, "--prior", "none", "--json").stdout)["result"]
    assert without["priors"] is None
    wrong = run("fit", law, path, "--prior", "log(zeta) = 0 ± 1")
    assert wrong.returncode != 0 and "L0301" in wrong.stderr


def test_a_prior_is_of_the_parameter_as_the_law_has_it():
    # the law counts N in billions: the same runs in another unit give the same posterior
    table = power_rows()
    in_units = {"N [param]": table["N"] * 1e9, "D": table["D"], "L": table["L"]}

    one = fitted(POWER, table, "A = 0.5 ± 0.05", "log(alpha) = log(0.3) ± 0.1")
    two = fitted(POWER, in_units, "A = 0.5 ± 0.05", "log(alpha) = log(0.3) ± 0.1")
    assert two.values == pytest.approx(one.values, rel=1e-6)


def test_each_label_has_the_prior_of_its_elements():
    text = (
        "index i over set\nvariable N > 0\nparameter c[i], k[i], p[i] > 0\n"
        "L[i] = c[i] + k[i]/N^p[i]\nminimize squared(log(L))\n"
        "prior log(p[i]) = log(0.3) ± 0.1\n"
    )
    rng = np.random.default_rng(0)
    N = np.tile(np.geomspace(1, 100, 8), 2)
    label = np.repeat(["web", "code"], 8)
    truth = np.where(label == "web", 1 + 2 / N**0.3, 0.5 + 3 / N**0.35)
    table = {"N": N, "set": label, "L": truth * np.exp(0.002 * rng.normal(size=16))}

    fits = lawdsl.fit(law_of(text), table, set="set")
    texts = [p.text for part in fits.parts for p in part.priors.priors]
    assert sorted(texts) == [f"log(p[{x}]) = log(0.3) ± 0.1" for x in ("code", "web")]
    for part in fits.parts:
        rows = table["set"] == part.law.instance.at["i"]
        name = part.law.instance.at["i"]
        alone = fitted(
            "variable N > 0\nparameter c, k, p > 0\nL = c + k/N^p\nminimize squared(log(L))\n",
            {"N": N[rows], "L": table["L"][rows]},
            "log(p) = log(0.3) ± 0.1",
        )
        assert part.values[f"p[{name}]"] == pytest.approx(alone.values["p"], rel=1e-7)


# ---- published values


def test_published_values_are_those_of_the_shipped_files():
    chinchilla = Path(lawdsl.__file__).parent.parent / "laws" / "chinchilla.law"
    text = chinchilla.read_text()
    for value, error in PUBLISHED["chinchilla"].values.values():
        assert f"{value:g}".removeprefix("0") in text and error is not None
    repeated = PUBLISHED["repeated"].values
    assert np.log([repeated[name][0] for name in ("E", "A", "B")]) == pytest.approx(
        [0.6254804, 6.255414, 7.3049974], abs=1e-5
    )


def test_published_priors_are_stated_one_by_one_and_may_be_replaced():
    law = lawdsl.load("chinchilla").with_priors(["published", "log(α) = log(0.4) ± 0.1"])

    assert [p.text for p in law.priors] == [
        "log(E) = log(1.8172) ± 0.0165",
        "log(A) = log(482.01) ± 0.258",
        "log(alpha) = log(0.4) ± 0.1",
        "log(B) = log(2085.43) ± 0.62",
        "log(beta) = log(0.3658) ± 0.0547",
    ]
    without = lawdsl.load("chinchilla").with_held({"E": 1.8}, {}).with_priors(["published"])
    assert "E" not in {p.parameter for p in without.priors}


@pytest.mark.parametrize("law", ["dcpt.l3", "copy"])
def test_a_law_without_published_values_is_refused(law: str, tmp_path: Path):
    if law == "copy":  # N in billions: the published A is another number
        text = lawdsl.load("chinchilla").declarations.text.text
        (tmp_path / "chinchilla.law").write_text(text.replace("unit param", "unit Gparam"))
    loaded = lawdsl.load(tmp_path / "chinchilla.law" if law == "copy" else law)

    with pytest.raises(LawdslError, match="state the priors: --prior") as error:
        loaded.with_priors(["published"])
    assert [d.code for d in error.value.diagnostics] == ["F0139"]


def test_a_prior_of_what_an_identity_determines_is_refused():
    text = (
        "index j over {a, b, c}\nvariable r[j] in simplex\nparameter c > 0\nparameter t[j]\n"
        "L = c*exp(sum(t[j]*r[j] for j))\nidentify sum(t[j] for j) = 0\nprior t[j] = 0 ± 1\n"
    )
    shares = np.random.default_rng(0).dirichlet(np.ones(3), size=20)
    table = {f"r_{x}": column for x, column in zip("abc", shares.T, strict=True)}
    table["L"] = 2 * np.exp(shares @ [0.3, -0.2, 0.1]) * (1 + 0.01 * np.cos(np.arange(20)))

    with pytest.raises(LawdslError) as error:
        lawdsl.fit(law_of(text), table, r="r_*")
    assert [d.code for d in error.value.diagnostics] == ["F0135"]
    # without the identity the priors choose
    free = law_of(text.replace("identify sum(t[j] for j) = 0\n", ""))
    (part,) = lawdsl.fit(free, table, r="r_*").parts
    assert codes(part) == {"F0137"}
    assert sum(part.values[f"t[{x}]"] for x in "abc") == pytest.approx(0, abs=1e-6)


def test_the_command_does_not_call_what_a_prior_tells_apart_undetermined(tmp_path: Path):
    (tmp_path / "double.law").write_text(
        'law double "x"\nsource "none"\nvariable x > 0\nparameter a, b, c > 0\n'
        "z = c + a*b/x\nprior a = 2 ± 0.1\nminimize squared(z)\n"
    )
    (tmp_path / "rows.csv").write_text("x,z\n1,7.01\n2,3.98\n3,3.01\n5,2.215\n8,1.74\n13,1.46\n")

    done = run("fit", tmp_path / "double.law", tmp_path / "rows.csv", "--quiet")
    assert done.returncode == 0
    assert "F0137" in done.stderr and "F0114" not in done.stderr


@pytest.mark.parametrize(
    ("deviations", "text"),
    [
        (1356.35, "+1,356 s.d."),
        (-32.35, "-32 s.d."),
        (-6.63, "-6.6 s.d."),
        (0.0312, "+0.031 s.d."),
        (-0.9, "-0.9 s.d."),
        (0.001, "0 s.d."),
        (0.0, "0 s.d."),
    ],
)
def test_a_number_of_standard_deviations_has_the_digits_that_say_something(
    deviations: float, text: str
):
    assert deviations_text(deviations) == text
