"""`prior` lines: what they say, what is wrong with them, and that proofs do not use them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run
from planted import law_of

import lawdsl
from lawdsl.core.diagnostics import LawdslError

HEAD = """variable N > 0
parameter E, A, alpha > 0
parameter b, g in [0, 1]
L = E + A/N^alpha + b + g
"""


def codes(line: str, head: str = HEAD) -> list[str]:
    try:
        law_of(f"{head}{line}\n")
    except LawdslError as error:
        return [d.code for d in error.diagnostics]
    return []


def test_a_prior_is_read_with_its_numbers():
    law = law_of(f"{HEAD}prior log(alpha) = log(0.35) ± 0.7/2\nprior E = 1.7 +- 0.2\n")

    energy, exponent = law.priors
    assert (energy.parameter, energy.log, energy.center, energy.deviation) == ("E", False, 1.7, 0.2)
    assert (exponent.parameter, exponent.log) == ("alpha", True)
    assert exponent.center == pytest.approx(-1.0498221244986778, rel=1e-15)
    assert exponent.deviation == 0.35
    assert exponent.text == "log(alpha) = log(0.35) ± 0.7/2"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("prior zeta = 1 ± 1", "L0301"),
        ("prior N = 1 ± 1", "L0150"),
        ("prior L = 1 ± 1", "L0150"),
        ("prior A/N = 1 ± 1", "L0150"),
        ("prior log(2) = 1 ± 1", "L0150"),
        ("fix E = 1\nprior E = 1 ± 1", "L0150"),
        ("tie E = A\nprior E = 1 ± 1", "L0150"),
        ("prior E = 1 ± 0", "L0151"),
        ("prior E = 1 ± -1", "L0151"),
        ("prior E = 1.7 ± 1e-300", "L0151"),
        ("prior E = 1.7 ± 1e300", "L0151"),
        ("prior E = A ± 1", "L0151"),
        ("prior E = 1 ± N", "L0151"),
        ("prior E = 1 ± 1\nprior log(E) = 0 ± 1", "L0152"),
        ("prior E = 0 ± 1", "L0153"),
        ("prior g = 1.5 ± 1", "L0153"),
        ("prior log(g) = 1 ± 1", "L0153"),
        ("parameter free\nprior log(free) = 0 ± 1", "L0154"),
        ("prior E = 1", "L0207"),
        ("prior E = 1 ±", "L0207"),
        ("prior E", "L0207"),
        ("prior E ± 1", "L0201"),
        ("prior E[i] = 1 ± 1", "L0314"),
        ("let x = 1 ± 1", "L0201"),
        ("prior E = 0/0 ± 1", "L0501"),
    ],
)
def test_a_mistake_in_a_prior_has_its_code(line: str, code: str):
    assert codes(line) == [code]


def test_the_edge_of_a_closed_domain_may_be_the_center():
    assert codes("prior g = 1 ± 0.1") == []


def test_prior_stays_a_name_and_plus_minus_two_signs_elsewhere():
    law = law_of("variable prior > 0\nparameter a, b\nL = a*prior +-b\nprior a = 1 +- 2\n")

    assert [q.name for q in law.variables] == ["prior"]
    assert str(law.expression) == "a*prior - b"


def test_a_law_takes_over_the_priors_of_the_law_it_extends(tmp_path: Path):
    (tmp_path / "base.law").write_text(
        'law base "x"\nvariable N > 0\nparameter A, alpha, beta > 0\nL = A/N^alpha + beta\n'
        "prior alpha = 0.3 ± 0.1\nprior beta = 1 ± 0.1\nprior A = 5 ± 1\n"
    )
    more = tmp_path / "more.law"
    more.write_text(
        'law more "x"\nextends base\nL = base\nfix beta = 1\nprior log(alpha) = log(0.5) ± 0.2\n'
    )

    assert [p.text for p in lawdsl.load(more).priors] == [
        "A = 5 ± 1",
        "log(alpha) = log(0.5) ± 0.2",
    ]


def test_stated_priors_replace_those_of_the_same_parameter():
    law = law_of(f"{HEAD}prior alpha = 0.3 ± 0.1\nprior E = 1 ± 1\n")

    changed = law.with_priors(["log(alpha) = log(0.4) +- 0.2"])
    assert [p.text for p in changed.priors] == ["E = 1 ± 1", "log(alpha) = log(0.4) ± 0.2"]
    assert [p.text for p in law.with_priors(["none", "b = .5 +- 1"]).priors] == ["b = 0.5 ± 1"]
    assert law.with_priors(["none"]).priors == ()
    assert len({law.digest, changed.digest, law.with_priors(["none"]).digest}) == 3


def test_a_fixed_parameter_has_no_prior():
    law = law_of(f"{HEAD}prior alpha = 0.3 ± 0.1\n")

    assert law.with_held({"alpha": 0.3}, {}).priors == ()
    with pytest.raises(LawdslError, match="is fixed, and has no prior"):
        law.with_held({"alpha": 0.3}, {}).with_priors(["alpha = 0.3 ± 0.1"])


@pytest.mark.parametrize("text", ["alpha = 0.3", "alpha = 0.3 ± 1\nprior E = 1 ± 1", ""])
def test_a_stated_prior_of_another_form_is_refused(text: str):
    # a line break in an option does not begin a second statement
    with pytest.raises(LawdslError):
        law_of(HEAD).with_priors([text])


def test_a_stated_prior_may_be_copied_from_a_law():
    law = law_of(HEAD).with_priors(["prior alpha = 0.3 ± 0.1", " prior  log(E) = 0 ± 1"])
    assert [p.text for p in law.priors] == ["log(E) = 0 ± 1", "alpha = 0.3 ± 0.1"]

    called_prior = law_of("variable x > 0\nparameter prior\nL = prior*x\n")
    (only,) = called_prior.with_priors(["prior = 1 ± 1"]).priors
    assert only.parameter == "prior"


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_prior_is_named(text: str):
    with pytest.raises(LawdslError, match="the text of a prior is empty.*\n.*log\\(alpha\\) ="):
        law_of(HEAD).with_priors([text])


def test_a_deviation_whose_square_vanishes_says_what_to_write():
    with pytest.raises(LawdslError, match="1e-300, is too small.*(?s:.*)fix E ="):
        law_of(HEAD).with_priors(["E = 1.7 ± 1e-300"])


def test_elements_have_the_prior_of_their_parameter():
    law = law_of(
        "index i over {a, b}\nvariable N > 0\nparameter k[i] > 0\n"
        "L = sum(k[i] for i)/N\nprior log(k[i]) = 0 ± 2\n"
    )

    assert [p.text for p in law.sample.priors] == [f"log(k[{x}]) = 0 ± 2" for x in "ab"]
    head = "index i over {a, b}\nvariable N > 0\nparameter k[i] > 0\nL[i] = k[i]/N\n"
    assert codes("prior k[a] = 1 ± 1", head) == []
    assert codes("prior k[c] = 1 ± 1", head) == ["L0315"]
    assert codes("prior k = 1 ± 1", head) == ["L0314"]


def test_claims_are_proved_without_priors():
    # the prior expects alpha > 0, which the claim would need
    law = law_of(
        "variable N > 0\nparameter A > 0\nparameter alpha\nL = A/N^alpha\n"
        "prior alpha = 0.35 ± 0.01\nrequire L decreasing in N expect conditional\n"
    )

    assert lawdsl.check(law).ok


def test_fmt_writes_priors_in_one_style(tmp_path: Path):
    path = tmp_path / "messy.law"
    path.write_text(f'law messy "x"\n{HEAD}prior   log( alpha )=log(0.35)+-0.35 # known\n')

    assert run("fmt", path).returncode == 0
    assert "prior     log(alpha) = log(0.35) ± 0.35  # known\n" in path.read_text()
    assert run("fmt", "--check", path).returncode == 0


def test_show_lists_priors(tmp_path: Path):
    path = tmp_path / "known.law"
    path.write_text(f'law known "x"\n{HEAD}prior E = 1 ± 0.1\n')

    document = json.loads(run("show", path, "--json").stdout)["result"]
    assert document["priors"] == ["E = 1 ± 0.1"]
