"""Options about single elements of a law with index sets: `--fix 't[en,code]=1.4'` and others."""

from __future__ import annotations

import itertools

import commands
import numpy as np
import pytest
from planted import law_of

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.trends import trends as trends_of_labels
from lawdsl.data.trends.significance import difference_scale

SHARES = [w for w in itertools.product(range(5), repeat=3) if sum(w) == 4]
TRUTH = {  # validation -> c, k and the exponents of web, code and books, which sum to 0
    "en": (2.5, 0.6, (-2.0, 1.5, 0.5)),
    "py": (1.0, 0.4, (1.0, -3.0, 2.0)),
}


def mixtures(noise: float = 0.002) -> dict[str, np.ndarray]:
    """Losses of mixing.m4 on mixtures of three domains, with shares r_… and losses L_…."""
    rng = np.random.default_rng(0)
    shares = np.array(SHARES) / 4
    table = {f"r_{name}": shares[:, k] for k, name in enumerate(("web", "code", "books"))}
    for name, (c, k, t) in TRUTH.items():
        table[f"L_{name}"] = (c + k * np.exp(shares @ np.array(t))) * np.exp(
            noise * rng.normal(size=len(shares))
        )
    return table


def fitted(law: str = "mixing.m4", **options) -> lawdsl.Fits:
    quick = {"intervals": "delta", "rolled_check": False, "starts": 4}
    result = lawdsl.fit(law, mixtures(), r="r_*", L="L_*", **quick | options)
    assert isinstance(result, lawdsl.Fits)
    return result


def test_one_element_is_fixed_and_the_others_of_its_identity_follow(tmp_path):
    fits = fitted(fix={"t[en,code]": 1.4})
    assert fits.held["t[en, code]"].value == 1.4
    values = {**fits.values, **{n: h.value for n, h in fits.held.items()}}
    total = sum(values[f"t[en, {x}]"] for x in ("web", "code", "books"))
    assert total == pytest.approx(0, abs=1e-12)
    assert values["t[py, code]"] == pytest.approx(-3, abs=0.1)
    fits.save(tmp_path / "fit.json")
    again = lawdsl.load_fit(tmp_path / "fit.json")
    assert again.held == fits.held
    assert again.read_law().declarations.elements[0].text == "fix t[en, code] = 1.4"


def test_the_element_that_identify_determines_may_be_fixed():
    fits = fitted(fix={"t[en, books]": 0.5})
    assert fits.held["t[en, books]"].value == 0.5
    assert fits.held["t[en, code]"].formula is not None


def test_elements_of_two_labels_are_tied_and_fitted_together():
    fits = fitted(tie={"k[en]": "1.5*k[py]"})
    assert len(fits.parts) == 1
    assert fits.held["k[en]"].value == pytest.approx(1.5 * fits.values["k[py]"])


def test_an_index_stands_for_all_labels():
    fits = fitted(tie={"t[i, books]": "-2*t[i, code]"})
    assert {n for n, h in fits.held.items() if h.formula} >= {"t[en, books]", "t[py, books]"}
    values = {**fits.values, **{n: h.value for n, h in fits.held.items()}}
    for label in TRUTH:
        assert values[f"t[{label}, books]"] == pytest.approx(-2 * values[f"t[{label}, code]"])


def test_the_prior_of_an_element_replaces_that_of_its_name():
    fits = fitted(priors=["log(k[i]) = log(0.5) ± 0.5", "log(k[en]) = log(0.6) ± 0.001"])
    assert fits.values["k[en]"] == pytest.approx(0.6, abs=2e-3)
    texts = [p.text for part in fits.parts for p in part.read_law().priors]
    assert texts == ["log(k[en]) = log(0.6) ± 0.001", "log(k[py]) = log(0.5) ± 0.5"]


def test_a_start_is_given_to_the_labels_that_it_names():
    start = {"t[en,code]": 1.5, "t[en, web]": -2.0, "k[en]": 0.5, "c[en]": 2.0}
    en, py = lawdsl.fit("mixing.m4", mixtures(), r="r_*", L="L_*", starts=start).parts
    assert en.agreement.starts == 1
    assert py.agreement.starts > 1
    both = fitted_from({"k[i]": 0.5, "c[i]": 1.0, "t[i, j]": 0.1, "t[en, code]": 1.0})
    assert [part.agreement.starts for part in both.parts] == [1, 1]


def fitted_from(start):
    return lawdsl.fit("mixing.m4", mixtures(), r="r_*", L="L_*", starts=start)


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        ({"fix": {"t[en,cod]": 2}}, "L0324", "did you mean `code`?"),
        ({"fix": {"t[en]": 2}}, "L0314", "write `t[i, j]`"),
        ({"fix": {"t[j,i]": 2}}, "L0314", "write `t[i, j]`"),
        ({"fix": {"c[en]": -2}}, "L0414", "outside the domain c[en] >= 0"),
        ({"fix": {"t[i,code]": 1, "t[en,code]": 2}}, "L0413", "determined twice"),
        (
            {"tie": {"t[en,web]": "t[en,code]", "t[en,code]": "t[en,web]"}},
            "L0307",
            "tied to itself",
        ),
        ({"tie": {"k[en]": "k[german]"}}, "L0324", "`german` is none of validation"),
        ({"priors": "c[en] = -1 ± 0.5"}, "L0153", "outside the domain"),
        ({"priors": "c[de] = 1 ± 0.5"}, "L0324", "`de` is none of validation"),
        ({"starts": {"t[en,cod]": 1.5}}, "F0106", "did you mean `t[en, code]`?"),
    ],
)
def test_mistakes_in_elements_are_named(options, code, says):
    with pytest.raises(LawdslError) as error:
        lawdsl.fit("mixing.m4", mixtures(), r="r_*", L="L_*", **options)
    assert error.value.diagnostics[0].code == code
    assert says in str(error.value)


LISTED = (
    "law example\nindex d over {web, code}\nvariable N > 0\nparameter E > 0, A[d] > 0\n{}\n"
    "L[d] = E + A[d]/N\nrequire L[d] > E\n"
)


def test_a_law_that_lists_its_labels_may_fix_one_of_them(tmp_path):
    path = tmp_path / "example.law"
    path.write_text(LISTED.replace("{}", "fix A[code] = 2", 1))
    law = lawdsl.load(path)
    assert law.sample.declarations.elements == ()
    assert [e.text for e in law.declarations.elements] == ["fix A[code] = 2"]
    assert lawdsl.check(law).claims[0].verdict == "proved"
    path.write_text(LISTED.replace("{}", "fix A[cod] = 2", 1))
    with pytest.raises(LawdslError, match="did you mean `code`"):
        lawdsl.load(path)


def test_a_law_whose_labels_a_table_determines_says_how_to_fix_one(tmp_path):
    path = tmp_path / "example.law"
    text = LISTED.replace("{web, code}", "domain").replace("{}", "fix A[code] = 2", 1)
    path.write_text(text)
    with pytest.raises(LawdslError, match="may be a label of domain") as error:
        lawdsl.load(path)
    assert "--fix" in str(error.value.diagnostics[0].help)


def test_check_says_that_one_label_has_no_effect_on_claims_about_all():
    result = commands.run("check", "mixing.m4", "-q", "--fix", "t[en,code]=2")
    assert result.returncode == 0
    assert (
        "PROVED           L[i] decreasing in r[a] against r[b] for t[i, a] < t[i, b]"
        in result.stdout
    )
    assert "warning[L0324]" in result.stderr
    assert "--fit FIT.json" in result.stderr


def test_what_follows_from_identify_has_the_error_of_a_free_parameter():
    table = mixtures()
    last = lawdsl.fit("mixing.m4", table, r="r_*", L="L_*", starts=8)
    order = ["r_books", "r_code", "r_web", "L_en", "L_py"]
    first = lawdsl.fit("mixing.m4", {n: table[n] for n in order}, r="r_*", L="L_*", starts=8)
    en, other = last.part("en"), first.part("en")
    assert en.held["t[en, books]"].formula and "t[en, books]" in other.parameters
    assert en.intervals.errors["t[en, books]"] == pytest.approx(
        other.intervals.errors["t[en, books]"], rel=1e-3
    )
    assert en.intervals.ends["t[en, books]"] == pytest.approx(
        other.intervals.ends["t[en, books]"], rel=1e-3
    )


def test_a_tie_to_one_parameter_has_its_interval():
    fits = fitted(tie={"k[en]": "1.5*k[py]"}, intervals="profile")
    (part,) = fits.parts
    low, high = part.intervals.ends["k[py]"]
    assert part.intervals.ends["k[en]"] == pytest.approx((1.5 * low, 1.5 * high))
    # that of a formula of several parameters is combined from theirs
    low, high = part.intervals.ends["t[en, books]"]
    assert low < fits.held["t[en, books]"].value < high


@pytest.mark.parametrize(("tie", "has_interval"), [("(u + 5)^2", False), ("u^3", True)])
def test_only_a_monotone_tie_has_the_interval_of_its_parameter(tie: str, has_interval: bool):
    law = law_of("variable x > 0\nparameter u, w\nL = u*x + 0*w + 2\nminimize squared(L)\n")
    x = np.linspace(1, 2, 8)
    table = {"x": x, "L": 2 - 1.2 * x + 8 * np.where(np.arange(8) % 2, 1.0, -1.0)}
    fit = lawdsl.fit(law, table, tie={"w": tie}, intervals="delta", claims=False)
    low, high = fit.intervals.ends["u"]
    assert low < -5 < high  # the square has its minimum inside
    assert ("w" in fit.intervals.ends) == ("w" in fit.intervals.errors) == has_interval


@pytest.mark.parametrize(("s", "value", "allowed"), [(5, 3, False), (0.5, 0.8, True)])
def test_a_fixed_element_is_judged_by_the_given_settings(s: float, value: float, allowed: bool):
    law = law_of(
        "index i over domain\nvariable N > 0\nsetting s = 1\nparameter E[i] > s\n"
        "parameter A[i] > 0\nL[i] = E[i] + A[i]/N\n"
    )
    N = np.linspace(1, 4, 6)
    table = {"N": N, "L[web]": value + 1 / N, "L[code]": 7 + 2 / N}
    options = {"settings": {"s": s}, "fix": {"E[web]": value}, "claims": False, "starts": 2}
    if allowed:
        assert lawdsl.fit(law, table, **options).held["E[web]"].value == value
        return
    with pytest.raises(LawdslError, match="L0414"):
        lawdsl.fit(law, table, **options)


def test_the_prior_that_names_more_labels_goes_before_the_others():
    priors = ["t[en, code] = 1.5 +- 0.1", "t[i, code] = 0 +- 0.5"]
    for order in (priors, priors[::-1]):
        fits = fitted(priors=order, claims=False)
        stated = {p.parameter: p for part in fits.parts for p in part.read_law().priors}
        assert stated["t[en, code]"].center == 1.5 and stated["t[py, code]"].center == 0


def test_the_command_prints_the_error_of_what_follows_from_identify(tmp_path):
    path = tmp_path / "runs.csv"
    table = mixtures()
    rows = zip(*table.values(), strict=True)
    text = "\n".join([",".join(table), *(",".join(f"{x:.6f}" for x in row) for row in rows)])
    path.write_text(text)
    result = commands.run("fit", "mixing.m4", path, "r=r_*", "L=L_*", "-q", "--starts", 8)
    line = next(
        x
        for x in result.stdout.splitlines()
        if x.startswith("en") and "t[" not in x and x.count("±")
    )
    assert line.count("±") == 5, result.stdout


PER_DOMAIN = (
    "law example\nindex d over domain\nvariable N > 0\nparameter E[d] >= 0\nparameter A[d] > 0\n"
    "parameter b[d]\nL[d] = E[d] + A[d]*N^b[d]\nrequire L[d] decreasing in N expect conditional\n"
)


def sizes(seeds: int = 1) -> dict[str, list]:
    """Losses that fall with size on web and rise on code, with several seeds."""
    rng = np.random.default_rng(0)
    rows = [
        (domain, seed, N, (1.5 + 2 * N**b) * np.exp(0.005 * rng.normal()))
        for domain, b in (("code", 0.02), ("web", -0.3))
        for seed in range(seeds)
        for N in (1.0, 4.0, 16.0, 64.0, 256.0)
    ]
    return dict(zip(("domain", "seed", "N", "L"), map(list, zip(*rows, strict=True)), strict=True))


@pytest.fixture
def per_domain(tmp_path):
    path = tmp_path / "example.law"
    path.write_text(PER_DOMAIN)
    return path


@pytest.mark.filterwarnings("ignore::lawdsl.NotTrustedWarning")
def test_a_claim_is_enforced_for_the_label_for_which_it_fails(per_domain, tmp_path):
    quick = {"starts": 4, "intervals": "delta", "rolled_check": False}
    plain = lawdsl.fit(per_domain, sizes(), **quick)
    failed = {part.law.instance.text: part.claims[0].failed for part in plain.parts}
    assert failed == {"code": True, "web": False}
    fits = lawdsl.fit(per_domain, sizes(), **quick, enforce=True)
    assert [c.verdict for part in fits.parts for c in part.claims] == ["certified"] * 2
    assert {**fits.values}["b[code]"] < 0
    assert fits.law.added == ("b[code] < 0",)
    assert fits.part("web").values == plain.part("web").values
    fits.save(tmp_path / "fit.json")
    assert lawdsl.load_fit(tmp_path / "fit.json").values == fits.values


def test_a_bound_of_one_element_is_left_out(per_domain):
    with pytest.raises(LawdslError, match=r"outside the domain E\[code\] >= 0"):
        lawdsl.fit(per_domain, sizes(), fix={"E[code]": -1})
    for bound in ("E[code] >= 0", "E[d] >= 0"):
        fits = lawdsl.fit(
            per_domain, sizes(), fix={"E[code]": -1}, without=bound, starts=2, rolled_check=False
        )
        assert fits.held["E[code]"].value == -1


def test_trends_are_tested_on_the_rows_of_each_label(per_domain):
    found = lawdsl.trends(per_domain, sizes(3))
    assert [(t.claim, t.verdict) for t in found.trends] == [
        ("code: L decreasing in N", "contradicted"),
        ("web: L decreasing in N", "holds"),
    ]
    assert found.rows == 30 and not found.ok
    assert {d.place for d in found.diagnostics if d.code == "F0301"} == {"the values given, code"}


def test_trends_of_many_labels_are_as_many_tests(per_domain, monkeypatch):
    tested = []

    def recorded(rows, claims):
        tested.append(claims)
        return difference_scale(rows, claims)

    monkeypatch.setattr(trends_of_labels, "difference_scale", recorded)
    lawdsl.trends(per_domain, sizes())
    assert tested == [2, 2]


HIDDEN = (
    "law example\nindex h over {{x, y}}\nvariable N > 0\nparameter E > 0\nparameter A[h] > 0\n"
    "parameter b[h] > 0\nL = E + {}\n"
)
N = np.linspace(0.05, 6, 60)


@pytest.mark.parametrize(
    ("formula", "codes"),
    [
        ("sum(A[h]*exp(-b[h]*N) for h)", []),
        # here the law itself lets the terms be exchanged, which is for its author to say
        ("A[x]*exp(-b[x]*N) + A[y]*exp(-b[y]*N)", ["F0118"]),
    ],
)
def test_minima_that_differ_in_the_order_of_hidden_labels_are_one(tmp_path, formula, codes):
    path = tmp_path / "example.law"
    path.write_text(HIDDEN.format(formula))
    noise = np.exp(1e-3 * np.random.default_rng(0).normal(size=60))
    L = (1 + 2 * np.exp(-0.4 * N) + 3 * np.exp(-3 * N)) * noise
    fits = lawdsl.fit(path, {"N": N, "L": L}, rolled_check=False)
    assert [d.code for d in fits.diagnostics] == codes
    assert sorted(fits.values[f"b[{h}]"] for h in "xy") == pytest.approx([0.4, 3], rel=0.05)


@pytest.mark.filterwarnings("ignore::lawdsl.NotTrustedWarning")
def test_claims_are_certified_for_more_than_40_parameters(tmp_path):
    path = tmp_path / "example.law"
    path.write_text(
        "law example\nindex i over validation\nindex j over training\nvariable r[j] in simplex\n"
        "parameter c[i] >= 0\nparameter k > 0\nparameter t[i, j]\n"
        "L[i] = c[i] + k*exp(sum(t[i, j]*r[j] for j))\nidentify sum(t[i, j] for j) = 0\n"
        "require L[i] > c[i]\n"
    )
    rng = np.random.default_rng(0)
    shares, exponents = rng.dirichlet(np.ones(6), 20), rng.normal(size=(6, 7))
    L = 1.5 + 0.5 * np.exp(shares @ (exponents - exponents.mean(axis=0)))
    table = {f"r_{k}": shares[:, k] for k in range(6)} | {f"L_{k}": L[:, k] for k in range(7)}
    fits = lawdsl.fit(path, table, r="r_*", L="L_*", starts=1, rolled_check=False)
    assert len(fits.parameters) == 43
    assert [c.verdict for part in fits.parts for c in part.claims] == ["certified"]


def oddly_named() -> dict[str, np.ndarray]:
    """The table of `mixtures` with labels that are no names of the language."""
    labels = {"web": "math-web", "code": "C4 en", "books": "law", "en": "01", "py": "a=b"}
    return {f"{name[:2]}{labels[name[2:]]}": values for name, values in mixtures().items()}


@pytest.mark.parametrize(
    ("options", "held"),
    [
        ({"fix": {"t[01, C4 en]": 1.4}}, "t[01, C4 en]"),
        ({"fix": {"t['a=b','math-web']": 1.1}}, "t[a=b, math-web]"),
        ({"tie": {'k["01"]': "1.5*k[a=b]"}}, "k[01]"),
        ({"tie": {"t[i,law]": '-2*t[i,"C4 en"]'}}, "t[a=b, law]"),
    ],
)
def test_labels_that_are_no_names_stand_in_quotes_or_not(tmp_path, options, held):
    start = {"t[i, j]": 0.1, "t['01', \"math-web\"]": -1}
    fits = lawdsl.fit(
        "mixing.m4",
        oddly_named(),
        r="r_*",
        L="L_*",
        starts=start,
        priors='log(k["a=b"]) = log(0.4) ± 0.3',
        rolled_check=False,
        **options,
    )
    assert held in fits.held
    assert [p.text for part in fits.parts for p in part.read_law().priors] == [
        "log(k[a=b]) = log(0.4) ± 0.3"
    ]
    fits.save(tmp_path / "fit.json")
    again = lawdsl.load_fit(tmp_path / "fit.json")
    assert again.held == fits.held
    assert [part.read_law().digest for part in again.parts] == [
        part.read_law().digest for part in fits.parts
    ]


def test_a_bound_of_a_label_in_quotes_is_left_out_and_added():
    law = lawdsl.load("mixing.m4").without("c[C4 en] >= 0").with_bound("k['a=b'] < 2")
    assert [each.text for each in law.declarations.elements] == [
        'without c["C4 en"] >= 0',
        'k["a=b"] < 2',
    ]


def test_a_label_that_the_table_lacks_is_named_in_quotes():
    with pytest.raises(LawdslError, match="`math web` is none of training") as caught:
        lawdsl.fit("mixing.m4", oddly_named(), r="r_*", L="L_*", fix={"t[i,math web]": 1})
    assert caught.value.diagnostics[0].help == "did you mean `math-web`?"


def test_a_law_may_quote_a_label_but_only_one_that_is_listed():
    listed = law_of(
        "index j over {web, code}\nparameter a[j]\nvariable N > 0\n"
        'fix a["web"] = 2\nL = a["web"] + a[code]*N'
    )
    assert [each.text for each in listed.declarations.elements] == ["fix a[web] = 2"]
    for line in ('L = a["C4 en"]*N', 'L = sum(a[j] for j)*N\nrequire a["C4 en"] > 0'):
        with pytest.raises(LawdslError, match="`C4 en` is not an index"):
            law_of(f"index j over training\nparameter a[j]\nvariable N > 0\n{line}")


def test_labels_that_are_fitted_together_are_all_predicted_unless_one_is_chosen(tmp_path):
    fits = fitted(tie={"k[en]": "1.5*k[py]"}, claims=False, rolled_check=False)
    fits.save(tmp_path / "fit.json")
    line = ["predict", str(tmp_path / "fit.json"), "r[web]=0.3", "r[code]=0.3"]
    every = commands.run(*line).stdout.splitlines()
    assert [row.split()[3] for row in every[2:]] == ["en", "py"]
    one = commands.run(*line, "validation=py").stdout
    assert every[3].split()[4] in one


def test_a_premise_about_an_element_that_identify_determines_is_decided(tmp_path):
    law = tmp_path / "premise.law"
    law.write_text(
        "law premise\nindex i over validation\nindex j over training\nvariable r[j] in simplex\n"
        "parameter c[i] >= 0, k[i] > 0, t[i, j]\n"
        "L[i] = c[i] + k[i]*exp(sum(t[i, j]*r[j] for j))\nidentify sum(t[i, j] for j) = 0\n"
        "require L[i] decreasing in r[a] against r[b] for t[i, a] < t[i, b]\n"
    )
    fits = fitted(law, claims=False, rolled_check=False)
    assert isinstance(fits.held["t[py, books]"].formula, str)
    fits.save(tmp_path / "fit.json")
    lines = commands.run("check", "--fit", str(tmp_path / "fit.json"), "-q").stdout.splitlines()
    verdicts = [line.split()[0] for line in lines if " decreasing " in line]
    assert verdicts == ["CERTIFIED"] * 12  # of which the premise of six is false


ODD = ("en", "web, code", 'q"t', "b]")


def oddly_labelled() -> dict[str, np.ndarray]:
    """Losses of labels with a comma, a bracket and a quotation mark."""
    rng, shares = np.random.default_rng(0), np.random.default_rng(1).dirichlet(np.ones(3), 16)
    exponents = {label: rng.normal(size=3) for label in ODD}
    table = {f"r_{name}": shares[:, k] for k, name in enumerate(("a, b", 'say "hi"', "C4 en"))}
    for label, t in exponents.items():
        table[f"L_{label}"] = (2 + np.exp(shares @ t)) * np.exp(1e-3 * rng.normal(size=16))
    return table


@pytest.mark.filterwarnings("ignore::lawdsl.NotTrustedWarning")
def test_odd_labels_are_named_so_that_they_can_be_read_again(tmp_path):
    name = 't["q""t", "a, b"]'
    changes = {"fix": {name: 1.0}, "tie": {'c["web, code"]': 'c["b]"]'}}
    changes |= {
        "intervals": "delta",
        "starts": {'k["b]"]': 0.5},
        "priors": ['k["web, code"] = 1 ± 5'],
    }
    fits = lawdsl.fit(
        "mixing.m4", oddly_labelled(), r="r_*", L="L_*", rolled_check=False, **changes
    )
    assert fits.values[name] == 1
    assert fits.values['c["web, code"]'] == fits.values['c["b]"]']
    fits.save(tmp_path / "fit.json")
    again = lawdsl.load_fit(tmp_path / "fit.json")
    assert again.values == fits.values
    words = ['r["a, b"]=.5', "r['say \"hi\"']=.2", 'validation="web, code",en']
    done = commands.run("predict", "fit.json", *words, cwd=tmp_path)
    assert done.returncode == 0 and "web, code" in done.stdout
    path = tmp_path / "ask.law"
    path.write_text(
        "question ask\nindex i over validation\nindex j over training\nuses loss : mixing.m4\n"
        "choose r[j] in simplex\nminimize sum(loss[i](r[j]) for i)\n"
        'subject to loss["web, code"](r[j]) <= 9, loss["q""t"](r[j]) <= 9\n'
    )
    unknowns = [u.name for u in lawdsl.solve(path, loss=again).unknowns]
    assert unknowns == ['r["a, b"]', 'r["say ""hi"""]', "r[C4 en]"]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_hidden_labels_are_in_the_order_of_their_first_parameter(tmp_path, seed):
    path = tmp_path / "example.law"
    path.write_text(HIDDEN.format("sum(A[h]*exp(-b[h]*N) for h)").replace("{x, y}", "1..2"))
    noise = np.exp(1e-3 * np.random.default_rng(0).normal(size=60))
    table = {"N": N, "L": (1 + 2 * np.exp(-0.4 * N) + 3 * np.exp(-3 * N)) * noise}
    fits = lawdsl.fit(path, table, rolled_check=False, seed=seed, starts=6)
    assert fits.values["A[1]"] < fits.values["A[2]"]
    told = {"E": 1, "A[1]": 3, "A[2]": 2, "b[1]": 3, "b[2]": 0.4}
    assert lawdsl.fit(path, table, rolled_check=False, starts=told).values["A[1]"] > 2.5
    tied = lawdsl.fit(path, table, rolled_check=False, starts=6, tie={"A[2]": "1.5*A[1]"})
    values = {**tied.values, **{n: h.value for n, h in tied.held.items()}}
    assert values["A[2]"] == pytest.approx(1.5 * values["A[1]"])
