"""The changes of a law as one record: from options, from the texts of a fit, and back."""

from __future__ import annotations

import math

import pytest
from planted import law_of

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.storage import fitted_law
from lawdsl.language.law_changes import FixOrTie, LawChanges
from lawdsl.law.law import Law

CHANGES = [
    {},
    {"without": "C > C0"},
    {"without": ["C > C0", "beta > 0"], "fix": {"E": 1.5}},
    {"fix": {"E": 2, "A": 1e-7, "B": 1e20}, "tie": {"epsilon": "  2 *\tgamma "}},
]


@pytest.mark.parametrize("options", CHANGES, ids=str)
def test_changes_of_options_are_those_of_the_methods(options):
    changed = LawChanges.of(**options).apply(lawdsl.load("dcpt.l3"))
    by_methods = lawdsl.load("dcpt.l3")
    without = options.get("without", ())
    for bound in [without] if isinstance(without, str) else without:
        by_methods = by_methods.without(bound)
    by_methods = by_methods.with_held(options.get("fix", {}), options.get("tie", {}))

    assert changed == by_methods and changed.digest == by_methods.digest
    assert bool(LawChanges.of(**options)) is bool(options)


@pytest.mark.parametrize("options", CHANGES, ids=str)
def test_changes_are_restored_from_what_a_fit_stores(options):
    law = LawChanges.of(**options).apply(lawdsl.load("dcpt.l3")).with_bound("alpha > 2*beta")
    stored = fitted_law(law)
    again = stored.changes.apply(Law(lawdsl.load("dcpt.l3").declarations))

    assert stored.changes.statements == law.held == stored.held
    assert again == law and again.digest == law.digest


def test_parameters_are_fixed_under_the_changed_settings():
    text = "variable x > 0\nsetting s = 4\nparameter a, b > s\nL = x*(a + b)\n"
    changes = LawChanges.of(settings={"s": 1}, fix={"b": 3})
    changed = changes.apply(law_of(text))

    assert changed.fixed == {"b": 3} and dict(changed.given) == {"s": 1}
    with pytest.raises(LawdslError):  # 3 is outside the domain b > 4
        changes.determining({"b"}).apply(law_of(text))


def test_no_change_leaves_the_law_itself():
    law = lawdsl.load("dcpt.l3")
    assert LawChanges.of(settings={}).apply(law) is law


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("fix E = 1.69", "E"),
        ("tie beta = alpha + 2*beta0", "beta"),
        ("fix t[github, web] = -3", "t[github, web]"),
        ("fix  k = 2", "k"),
        ("tie a=b", "a"),
        ("hold a = b", ""),
        ("fix", ""),
    ],
)
def test_a_statement_names_its_parameter(text: str, name: str):
    assert FixOrTie(text).parameter == name


def test_statements_are_written_as_fits_store_them():
    fixed = {"a": 2.0, "b": -0.0, "c": 1e15, "d": 0.1, "k[x, y]": 3}
    changes = LawChanges.of(fix=fixed, tie={"e": "2 *  a"})

    assert changes.statements == (
        *("fix a = 2", "fix b = 0", "fix c = 1000000000000000.0", "fix d = 0.1"),
        *("fix k[x, y] = 3", "tie e = 2 * a"),
    )


def test_parameters_are_freed_and_chosen_by_name():
    changes = LawChanges.of(without="C > C0", fix={"a": 1, "k[x, y]": 3}, tie={"b": "a"})

    assert changes.freeing({"k[x, y]", "b"}).statements == ("fix a = 1",)
    assert changes.freeing({"k[x, y]", "b"}).dropped == ("C > C0",)
    assert changes.determining({"b", "z"}) == LawChanges.of(tie={"b": "a"})


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_a_parameter_is_fixed_at_a_finite_number(number: float):
    with pytest.raises(LawdslError) as error:
        LawChanges.of(fix={"a": number})
    assert error.value.diagnostics[0].code == "L0413"
