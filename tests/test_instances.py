"""Laws with index sets at given labels: what is written out, what is left, and what is claimed."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

import lawdsl
from lawdsl.language.claim_texts import claim_text
from lawdsl.language.instances.instance import Instance
from lawdsl.language.printer import print_formula
from lawdsl.law.law import Law

FIXTURES = Path(__file__).resolve().parent / "fixtures" / "indices"
OUTPUTS, DOMAINS = ("github", "wiki"), ("web", "code", "books")
MIXING = Instance({"validation": OUTPUTS, "training": DOMAINS}, {"i": "github"})
LISTED = {"{web, code, books}": DOMAINS}

FORMULAS = {
    "mixing.m1": (
        MIXING,
        "c[github] + (k[github, web]*exp(t[github, web]*r[web])"
        " + k[github, code]*exp(t[github, code]*r[code])"
        " + k[github, books]*exp(t[github, books]*r[books]))",
    ),
    "mixing.m2": (
        MIXING,
        "c[github] + k[github]*(exp(t[github, web]*r[web]) + exp(t[github, code]*r[code])"
        " + exp(t[github, books]*r[books]))",
    ),
    "mixing.m3": (
        MIXING,
        "c[github] + k[github]*exp((t[github, web]*r[web])*(t[github, code]*r[code])"
        "*(t[github, books]*r[books]))",
    ),
    "mixing.m4": (
        MIXING,
        "c[github] + k[github]*exp(t[github, web]*r[web] + t[github, code]*r[code]"
        " + t[github, books]*r[books])",
    ),
    "mixing.explicit": (
        Instance({"validation": OUTPUTS, "training": DOMAINS}),
        "s[github]*l[github] + s[wiki]*l[wiki]",
    ),
    "mixing.bimix": (
        Instance({"domain": DOMAINS}, {"i": "code"}),
        "A[code]/r[code]^alpha[code]*(B[code]/S^beta[code] + C[code])",
    ),
    "dcpt.cross_k3": (
        Instance({"domain": DOMAINS}, by_row=("k1", "k2")),
        "dcpt.l3 + F/K[d]^mu",
    ),
}


def at(law: str | Path, instance: Instance) -> Law:
    return lawdsl.load(law).at_labels(instance)


@pytest.mark.parametrize("name", FORMULAS)
def test_sums_and_elements_are_written_out(name: str):
    instance, formula = FORMULAS[name]
    output = at(name, instance).declarations.output
    assert output.formula is not None and print_formula(output.formula) == formula


def test_rows_of_one_label_need_its_parameters_alone():
    law = at("mixing.m4", MIXING)
    names = [q.name for q in law.parameters]
    assert names == ["c[github]", "k[github]", "t[github, web]", "t[github, code]"]


def test_what_identify_says_determines_the_last_parameter():
    law = at("mixing.m4", MIXING)
    assert law.ties == {"t[github, books]": "-t[github, web] - t[github, code]"}
    law = at("mixing.bimix", Instance({"domain": DOMAINS}, {"i": "web"}))
    assert law.fixed == {"A[web]": 1.0}


@pytest.mark.parametrize(
    ("label", "variables"), [(None, ["web", "code"]), ("web", ["code", "books"])]
)
def test_one_share_is_1_minus_the_others(label: str | None, variables: list[str]):
    instance = MIXING if label is None else Instance(MIXING.labels, MIXING.at, (), {"r": label})
    law = at("mixing.m4", instance)
    assert [q.name for q in law.variables] == [f"r[{name}]" for name in variables]
    left = label or "books"
    formula = law.declarations.symbols[f"r[{left}]"].formula
    assert formula is not None
    assert print_formula(formula) == "1 - " + " - ".join(f"r[{name}]" for name in variables)


def test_shares_that_are_fitted_stay_on_the_simplex():
    law = at(FIXTURES / "grouped.law", Instance(LISTED))
    domains = {q.name: q.domain for q in law.parameters if q.name.startswith("w[web")}
    assert domains == {
        "w[web, web]": "w[web, web] >= 0, w[web, web] <= 1",
        "w[web, code]": "w[web, code] >= 0, w[web, code] <= 1 - w[web, web]",
    }
    assert law.ties["w[web, books]"] == "1 - w[web, web] - w[web, code]"


def test_labels_that_differ_from_row_to_row_are_marked_by_variables():
    law = at(FIXTURES / "grouped.law", Instance(LISTED))
    marks = [q.name for q in law.variables if q.name.startswith("[")]
    assert marks == ["[g = web]", "[g = code]", "[g = books]"]
    assert law.derivative("E[code]").free_symbols >= {law.symbols["[g = code]"]}


def test_a_variable_that_each_row_says_is_one_column():
    law = at("dcpt.cross_k3", FORMULAS["dcpt.cross_k3"][0])
    assert [q.name for q in law.variables] == ["N", "D", "r", "k1[d]", "k2[d]"]


def test_a_law_extends_one_with_index_sets(tmp_path: Path):
    path = tmp_path / "longer.law"
    path.write_text(
        "law longer\nextends mixing.m4\nvariable S > 0  unit step\nparameter B[i], beta[i] > 0\n"
        "L[i] = mixing.m4[i] + B[i]/S^beta[i]  unit nat/token\nrequire ∂L[i]/∂S < 0\n"
    )
    law = at(path, MIXING)
    assert [q.name for q in law.parameters][-2:] == ["B[github]", "beta[github]"]
    assert all(v.ok for v in lawdsl.check(path).claims)
    assert "t[github, books]" in law.ties


def test_claims_are_those_of_the_labels():
    shown = [claim_text(claim) for claim in at("mixing.m1", MIXING).claims]
    assert shown[:3] == ["L finite", "L > c[github]", "L increasing in k[github, web]"]
    assert (
        "L decreasing in r[web] against r[code] for t[github, web] < 0, t[github, code] > 0"
        in shown
    )


def test_a_claim_about_all_labels_is_made_at_each_pair():
    shown = [claim_text(claim) for claim in at("mixing.m4", MIXING).claims]
    assert shown == ["L finite", "L > c[github]", "L increasing in k[github]"] + [
        f"L decreasing in r[{a}] against r[{b}] for t[github, {a}] < t[github, {b}]"
        for a, b in permutations(DOMAINS, 2)
    ]


def test_a_claim_about_all_labels_that_is_expected_to_be_conditional_is_left_out(tmp_path: Path):
    text = (lawdsl.load("mixing.m4").declarations.text.text).replace("mixing.m4", "mixture")
    text = text.replace("  for t[i, a] < t[i, b]", "  expect conditional")
    (tmp_path / "mixture.law").write_text(text, encoding="utf-8")
    shown = [claim_text(claim) for claim in at(tmp_path / "mixture.law", MIXING).claims]
    assert shown == ["L finite", "L > c[github]", "L increasing in k[github]"]


def test_another_label_is_another_law():
    github, wiki = at("mixing.m4", MIXING), at("mixing.m4", Instance(MIXING.labels, {"i": "wiki"}))
    assert len({github.digest, wiki.digest, lawdsl.load("mixing.m4").digest}) == 3
