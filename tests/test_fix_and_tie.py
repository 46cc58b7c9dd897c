"""`fix` and `tie`: what a held parameter becomes, and the bounds that keep what its domain says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from planted import law_of
from quick import some

import lawdsl
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.language import tree
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_document
from lawdsl.law.law import Law

LAW = "variable x > 0\nsetting s = 2\nparameter {}\nL = {}"


def domains(law: Law) -> dict[str, str]:
    return {q.name: q.domain for q in law.parameters}


def refused(law: Law, fixed: dict[str, float], tied: dict[str, str]) -> Diagnostic:
    with pytest.raises(LawdslError) as error:
        law.with_held(fixed, tied)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.help
    return diagnostic


def test_a_fixed_parameter_is_a_setting_of_that_value():
    law = lawdsl.load("chinchilla").with_held(dict(E=1.69), {})

    assert "E" not in domains(law) and dict(law.fixed) == {"E": 1.69}
    assert {q.name: q.value for q in law.settings} == {"E": 1.69}


def test_a_tied_parameter_is_written_out_in_the_others():
    law = lawdsl.load("chinchilla").with_held({}, dict(beta="alpha", B="2*A"))
    N, D, E, A, alpha = (law.symbols[name] for name in ("N", "D", "E", "A", "alpha"))

    assert list(domains(law)) == ["E", "A", "alpha"]
    assert dict(law.ties) == {"B": "2*A", "beta": "alpha"}
    assert sp.simplify(law.expression - (E + A / N**alpha + 2 * A / D**alpha)) == 0


KEPT = [  # parameters, what is held, the domains that are left
    ("a, b > 0", "tie b = a", {"a": "a > 0"}),
    ("a, b > 0", "tie b = 2*a", {"a": "a > 0"}),
    ("a, b > 0", "tie b = a^2 + a/3", {"a": "a > 0"}),
    ("a, b > 0", "tie b = exp(a) + max(a, 1)", {"a": "a > 0"}),
    ("b > 0, a", "tie b = a", {"a": "a > 0"}),
    ("b > 0, a", "tie b = -3*a", {"a": "a < 0"}),
    ("b > 0, a", "tie b = 1 - a", {"a": "a < 1"}),
    ("b >= 2, a", "tie b = exp(a)", {"a": "a >= log(2)"}),
    ("b >= 2, a > 0", "tie b = log(a)", {"a": "a > 0, a >= exp(2)"}),
    ("b in [0, 1], a > 0", "tie b = a", {"a": "a > 0, a <= 1"}),
    ("b in (0, 4), a > 0", "tie b = a^2", {"a": "a > 0, a < 4^(1/2)"}),
    ("b > 2, a > 0", "tie b = 1/a", {"a": "a > 0, a < 1/2"}),
    ("b > 2, a > 0", "tie b = 8^a", {"a": "a > 0, a > log(2)/log(8)"}),
    ("b > s, a > 0", "tie b = 3*a", {"a": "a > 0, a > s/3"}),
    ("a, b, c > 0", "tie c = a - b", {"a": "a > 0", "b": "b > 0, b < a"}),
    ("a, b, c > 0", "tie c = a*b", {"a": "a > 0", "b": "b > 0"}),
    ("a, b > 0, c in (0, 9)", "tie c = a + b", {"a": "a > 0, a < 9", "b": "b > 0, b < 9 - a"}),
    ("a, b > 0, c > a*b", "tie c = a*b + 1", {"a": "a > 0", "b": "b > 0"}),
    ("a, b > 0, c > a*b", "fix c = 6", {"a": "a > 0", "b": "b > 0, b < 6/a"}),
]


def law_with(parameters: str) -> tuple[Law, list[str]]:
    """A law with such parameters, all of which it uses, and their names."""
    names = [name for name in "abc" if name in parameters]
    return law_of(LAW.format(parameters, f"x*s*({' + '.join(names)})")), names


@pytest.mark.parametrize(("parameters", "statement", "left"), KEPT)
def test_what_the_domain_of_a_held_parameter_says_is_kept_by_the_others(
    parameters: str, statement: str, left: dict[str, str]
):
    assert domains(law_with(parameters)[0].holding([statement])) == left


@pytest.mark.parametrize(("parameters", "statement", "left"), some(KEPT, 6))
def test_the_bounds_that_are_added_allow_what_the_domain_allows_and_nothing_else(
    parameters: str, statement: str, left: dict[str, str]
):
    """Sampled points lie in the domains that are left exactly where they lay in those declared."""
    law, names = law_with(parameters)
    held = law.holding([statement])
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(200):
        point = {held.symbols["s"]: sp.Integer(2)}
        for name in left:
            point[held.symbols[name]] = sp.Rational(f"{rng.normal(1, 6):.3f}")
        point |= {held.symbols[name]: sp.Rational(repr(x)) for name, x in held.fixed.items()}
        whole = {
            law.symbols[name]: held.to_sympy(tree.Name(name)).subs(point) for name in [*names, "s"]
        }
        inside.append(all(keeps(q, point) for q in held.parameters))

        assert inside[-1] == all(keeps(q, whole) for q in law.parameters)
    assert any(inside) and not all(inside)


def keeps(q: lawdsl.law.Quantity, point: dict[sp.Symbol, sp.Expr]) -> bool:
    """Whether a point lies in the domain of a quantity; what is not real lies in none."""
    relations = {">": sp.Gt, ">=": sp.Ge, "<": sp.Lt, "<=": sp.Le}
    if not point[q.symbol].is_real:
        return False
    return all(bool(relations[b.relation](point[q.symbol], b.limit.subs(point))) for b in q.bounds)


REFUSED = [  # parameters, fixed, tied, code, what is said
    ("a, b > 0", {"b": -1}, {}, "L0414", "b = -1 is outside the domain b > 0"),
    ("a, b > 0", {"b": 0}, {}, "L0414", "b = 0 is outside the domain b > 0"),
    ("a > 0, b > s", {"b": 1.5}, {}, "L0414", "b = 1.5 is outside the domain b > s"),
    ("a, b > 0", {}, {"b": "-a"}, "L0414", "b = -a is outside the domain b > 0"),
    ("a, b > 0", {}, {"b": "a^2 - 3*a"}, "L0414", "b = a^2 - 3*a may break b > 0"),
    ("a, b > 0", {"b": float("nan")}, {}, "L0413", "`b` cannot be fixed at nan"),
    ("a, b > 0", {"b": float("inf")}, {}, "L0413", "`b` cannot be fixed at inf"),
    ("a, b > 0", {"x": 1}, {}, "L0413", "`x` is a variable; only parameters are fixed"),
    ("a, b > 0", {"s": 1}, {}, "L0413", "`s` is a setting; only parameters are fixed"),
    ("a, b > 0", {}, {"L": "a"}, "L0413", "`L` is an output; only parameters are tied"),
    ("a, b > 0", {"q": 1}, {}, "L0301", "unknown name `q`"),
    ("a, b > 0", {}, {"b": "q"}, "L0301", "unknown name `q`"),
    ("a, b > 0", {}, {"b": "x"}, "L0308", "a tie cannot use the variable `x`"),
    ("a, b > 0", {}, {"b": "f(a)"}, "L0304", "unknown function `f`"),
    ("a, b > 0", {}, {"b": "a +"}, "L0207", "the line ends too early, after `+`"),
    ("a, b > 0", {}, {"b": "1/0"}, "L0501", "this divides by 0"),
    ("a, b > 0", {}, {"b": "2*b"}, "L0307", "`b` is tied to itself: b -> b"),
    ("a, b > 0", {}, {"b": "2*a", "a": "b"}, "L0307", "`a` is tied to itself: a -> b -> a"),
    ("a > 0, b > a", {}, {"a": "b/2"}, "L0307", "`a` is bounded by itself: a -> b -> a"),
    ("a, b > 0", {"b": 1}, {"b": "a"}, "L0413", "`b` is fixed already"),
    ("a, b > 0", {}, {"b": "a, a = 2"}, "L0413", None),
    ("a > 0\nparameter b in (0, a)", {"a": 2, "b": 3}, {}, "L0414", None),
]


@pytest.mark.parametrize(("declared", "fixed", "tied", "code", "said"), REFUSED)
def test_what_cannot_be_held_is_refused_by_name(
    declared: str, fixed: dict[str, float], tied: dict[str, str], code: str, said: str | None
):
    found = refused(law_of(LAW.format(declared, "x*s*(a + b)")), fixed, tied)

    assert found.code == code
    assert said in (None, found.message)
    used = {"fix": fixed, "tie": tied}
    options = " and ".join(f"--{kind}" for kind, values in used.items() if values)
    assert found.text is None or found.text.name == options


def test_a_bound_that_was_left_out_need_not_be_kept():
    law = lawdsl.load("dcpt.l3")

    assert refused(law, {}, {"C": "2*C0"}).message == "C = 2*C0 may break C > C0"
    assert dict(law.without("C > C0").with_held({}, dict(C="2*C0")).ties) == {"C": "2*C0"}


def test_parameters_that_bound_each_other_are_held_at_once():
    """The bound C > C0 is made of five others; it counts for all values together."""
    values = {"B": 2, "beta": 0.3, "eta": 1.5, "gamma": 2, "epsilon": 0.1}
    law = lawdsl.load("dcpt.l3")

    assert list(domains(law.with_held(dict(C=5, **values), {}))) == ["E", "A", "alpha"]
    assert refused(law, {"C": 0.5, **values}, {}).message == "C = 0.5 is outside the domain C > C0"
    assert "L0414" in refused(law.with_held(dict(C=0.5), {}), values, {}).code


def test_settings_that_break_what_is_held_are_refused():
    law = law_of("variable x > 0\nsetting s = 1\nparameter a, b > s\nL = x*(a + b)\nfix b = 3")

    assert law.with_settings(s=2).fixed["b"] == 3
    for given in (law, law_of(LAW.format("a, b > s", "x*(a + b)")).with_held(dict(b=3), {})):
        with pytest.raises(LawdslError) as error:
            given.with_settings(s=4)
        assert error.value.diagnostics[0].code == "L0414"


def test_a_fixed_parameter_is_no_setting_to_be_changed():
    with pytest.raises(LawdslError) as error:
        lawdsl.load("chinchilla").with_held(dict(E=1.69), {}).with_settings(E=2)

    assert error.value.diagnostics[0].code == "L0301"


def test_the_order_in_which_parameters_are_held_and_bounds_added_does_not_matter():
    law = lawdsl.load("chinchilla")
    one = law.with_bound("A > 2*E").with_held({}, dict(beta="alpha")).with_held(dict(E=1.5), {})
    other = law.with_held(dict(E=1.5), {}).with_held({}, dict(beta="alpha")).with_bound("A > 2*E")

    assert domains(one) == domains(other)
    assert domains(one)["A"] == "A > 0, A > 2*E"


def test_what_is_held_is_part_of_the_digest():
    law = lawdsl.load("chinchilla")
    digests = {law.digest, law.with_held(dict(E=1), {}).digest, law.with_held(dict(E=2), {}).digest}

    assert len(digests | {law.with_held({}, dict(beta="alpha")).digest}) == 4


def test_claims_are_proved_with_the_tie_in_force():
    """That both powers fall alike holds only where they are the same."""
    text = "variable N, D > 0\nparameter A, a, b > 0\nL = A/N^a + A/D^b\n{}"
    claim = "require L(N = 2, D = 3) >= L(N = 3, D = 2)\nrequire L(N = 3, D = 2) >= L(N = 2, D = 3)"
    tied = lawdsl.check(law_of(text.format("tie b = a\n" + claim)))
    free = lawdsl.check(law_of(text.format(claim)))

    assert [v.verdict for v in tied.claims] == ["proved", "proved"]
    assert "proved" not in [v.verdict for v in free.claims]


def test_a_tied_parameter_may_still_be_varied_in_a_claim():
    law = law_of(
        "variable N, D > 1\nparameter a, b > 0\nL = N^-a + D^-b\ntie b = a\nrequire ∂L/∂b < 0"
    )

    assert [v.verdict for v in lawdsl.check(law).claims] == ["proved"]


# In a file


def test_statements_hold_parameters_of_the_extended_law():
    law = law_of(
        "extends chinchilla\nparameter F > 0\nL = chinchilla + F\n"
        "fix E = 1.69, A = exp(6.25)\ntie beta = alpha"
    )

    assert list(domains(law)) == ["alpha", "B", "F"]
    assert law.fixed == pytest.approx({"E": 1.69, "A": np.exp(6.25)})
    assert dict(law.ties) == {"beta": "alpha"}


def test_starts_of_held_parameters_are_left_out():
    law = law_of("extends chinchilla\nL = chinchilla\nfix E = 1.69\ntie B = A\n")
    targets = [t for grid in law.declarations.grids for t in grid.targets]

    assert len(targets) == 3 and len(lawdsl.load("chinchilla").declarations.grids) == 3


def test_a_start_for_a_held_parameter_of_the_file_is_refused():
    with pytest.raises(LawdslError) as error:
        law_of(LAW.format("a, b > 0", "x*s*(a + b)") + "\nfix b = 1\nstart b = 2")

    assert error.value.diagnostics[0].code == "L0405"


def test_statements_may_stand_above_what_they_name():
    law = law_of("tie b = a\nvariable x > 0\nparameter a, b > 0\nL = a*x + b")

    assert list(domains(law)) == ["a"]


def test_held_parameters_keep_the_order_of_the_others():
    text = "parameter e, d, c, b, a > 0\nvariable x > 0\nL = x*(a + b + c + d + e)\ntie e = b"

    assert list(domains(law_of(text))) == ["d", "c", "b", "a"]


def test_they_are_printed_in_the_one_style():
    text = "law a\nvariable x > 0\nparameter b,c>0\nfix   b=1.5,c = exp(2)\ntie c=2 * b\nL = b*x\n"
    document, mistakes = parse(text)

    assert not mistakes
    assert "fix       b = 1.5, c = exp(2)\ntie       c = 2*b\n" in print_document(document)


def test_long_chains_of_ties_and_bounds_are_looked_at_in_bounded_time(tmp_path: Path):
    names = [f"a{i}" for i in range(300)]
    bounds = "\n".join(f"parameter {b} > {a} + {a}" for a, b in zip(names, names[1:], strict=False))
    ties = "\n".join(f"tie b{i} = b{i + 1} + b{i + 1}" for i in range(80))
    more = f"parameter {', '.join(f'b{i}' for i in range(81))} > 0"
    path = tmp_path / "long.law"
    path.write_text(
        f"law long\nvariable x > 0\nparameter a0 > 0\n{bounds}\n{more}\n"
        f"L = x*a299*b0\ntie a150 = 3*a149\n{ties}\n"
    )
    with pytest.raises(LawdslError) as error:
        lawdsl.load(path)

    assert {d.code for d in error.value.diagnostics} <= {"L0414", "L0104", "L0105"}
