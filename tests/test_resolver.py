"""Names, domains, units and starts of a law, and laws built on other laws."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Text
from lawdsl.core.objectives import Objective
from lawdsl.language import library, tree
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_formula
from lawdsl.language.resolver import Declarations, Target, read_target, spread

EXTENDS = Path(__file__).resolve().parent / "fixtures" / "extends"


def law(text: str, folder: Path = EXTENDS) -> Declarations:
    found, warnings = library.declared(Text("example.law", text), folder)

    assert warnings == []
    return found


def mistakes(text: str, folder: Path = EXTENDS) -> list[Diagnostic]:
    try:
        return library.declared(Text("example.law", text), folder)[1]
    except LawdslError as error:
        return list(error.diagnostics)


def codes(text: str) -> list[str]:
    return [d.code for d in mistakes(text)]


def bounds(found: Declarations, name: str) -> list[str]:
    return [f"{relation} {print_formula(at)}" for relation, at in found.symbols[name].bounds]


# Names and domains


@pytest.mark.parametrize(
    "name",
    ["E", "I", "N", "S", "Q", "O", "C", "beta", "gamma", "lambda", "zeta", "S1", "_x", "oo2"],
)
def test_every_letter_and_greek_name_is_a_plain_name(name: str):
    found = law(f"law a\nvariable x > 0\nparameter {name} > 0\nL = {name}*x\n")

    assert found.symbols[name].kind == "parameter"


def test_names_share_the_domain_that_follows_them():
    found = law("law a\nparameter a, b > 0, c < 1, d\nL = a + b + c + d\n")

    assert [bounds(found, name) for name in "abcd"] == [["> 0"], ["> 0"], ["< 1"], []]


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        ("> 0", ["> 0"]),
        ("<= 1", ["<= 1"]),
        ("in [0, 1]", [">= 0", "<= 1"]),
        ("in (0, 1]", ["> 0", "<= 1"]),
        ("in [0, 1)", [">= 0", "< 1"]),
        ("in (0, 1)", ["> 0", "< 1"]),
        ("> 0, x < 1", ["> 0", "< 1"]),
        ("≥ 2", [">= 2"]),
    ],
)
def test_a_domain_is_read_as_relations(domain: str, expected: list[str]):
    assert bounds(law(f"law a\nvariable x {domain}\nL = x\n"), "x") == expected


@pytest.mark.parametrize("domain", ["in [1, 0]", "in (1, 1]", "> 1, x < 1", "> 0, x in [-2, -1]"])
def test_a_domain_in_which_nothing_lies_is_refused(domain: str):
    assert codes(f"law a\nvariable x {domain}\nL = x\n") == ["L0406"]


def test_a_single_point_is_a_domain():
    assert codes("law a\nvariable x in [1, 1]\nL = x\n") == []


def test_a_later_domain_adds_to_an_earlier_one_and_to_the_order():
    """Each symbol comes after those that its bounds name, whatever the order of the lines."""
    found = law(
        "law a\nparameter C > 0\nlet T = 2*C\nparameter B > 0\nlet C0 = 2*B\nparameter C > C0\n"
        "L = C + T\n"
    )

    assert bounds(found, "C") == ["> 0", "> C0"]
    names = list(found.symbols)
    assert names.index("B") < names.index("C0") < names.index("C") < names.index("T")


def test_circles_are_printed_as_paths():
    (found,) = mistakes("law a\nlet a = 2*b\nlet b = c\nlet c = a\nL = a\n")
    assert (found.code, found.message) == ("L0307", "`b` is made of itself: b -> c -> a -> b")

    (found,) = mistakes("law a\nparameter A > B\nparameter B > A\nL = A + B\n")
    assert found.code == "L0307"

    (found,) = mistakes("law a\nparameter C > 0\nlet D = 2*C\nparameter C > D\nL = C\n")
    assert (found.code, found.message) == ("L0307", "`C` is bounded by itself: C -> D -> C")


def test_duplicate_names_are_reported_with_both_places():
    (found,) = mistakes("law a\nvariable N > 0\nlet N = 2\nL = N\n")

    assert found.code == "L0302"
    assert found.text is not None and found.text.position(found.span.start) == (3, 5)
    assert found.notes == ("`N` is a variable, declared on line 2",)


def test_an_unknown_name_is_compared_with_the_declared_ones():
    (found,) = mistakes("law a\nparameter epsilon > 0\nL = epsilom + epsilon\n")

    assert found.help == "did you mean `epsilon`? (a parameter, declared on line 2)"


def test_a_bound_of_a_parameter_cannot_change_with_a_variable():
    text = "law a\nvariable N > 0\nlet a = N\nlet b = 2*a\nparameter C > b\nL = C*N\n"

    assert codes(text) == ["L0308"]
    assert codes(text.replace("a = N", "a = 1")) == []


def test_infinity_stands_in_limits_only():
    assert codes("law a\nvariable N > 0\nL = N + oo\n") == ["L0308"]
    assert codes("law a\nvariable N < oo\nL = N\n") == ["L0308"]
    assert codes("law a\nvariable N > 0\nL = 1/N\nrequire L -> oo as N -> 0\n") == []
    assert codes("law a\nvariable N > 0\nL = 1/N\nrequire L -> 0 as N -> oo\n") == []


# Numbers


def test_a_let_that_is_a_number_counts_as_one():
    assert codes("law a\nvariable x > 0\nlet k = 1000000\nL = (2*x)^k\n") == ["L0502"]
    assert codes("law a\nvariable x > 0\nlet k = 2 - 2\nL = x/k\n") == ["L0501"]
    assert codes("law a\nvariable x > 0\nlet k = 3\nL = (2*x)^k\n") == []


@pytest.mark.parametrize(
    ("formula", "code"),
    [
        ("1/0", "L0501"),
        ("0^0", "L0501"),
        ("0^-1", "L0501"),
        ("1/(2 - 2)", "L0501"),
        ("1/abs(0)", "L0501"),
        ("1/max(0, 0)", "L0501"),
        ("(0 - 8)^(1/3)", "L0501"),
        ("log(0)", "L0501"),
        ("log10(-1)", "L0501"),
        ("sqrt(-1)", "L0501"),
        ("x + 1/0", "L0501"),
        ("x^(1/0)", "L0501"),
        ("exp(x*log(0))", "L0501"),
        ("9^9^9", "L0502"),
        ("9^9^9^9", "L0502"),
        ("2^100000000", "L0502"),
        ("2^1001", "L0502"),
        ("(1/3)^-1001", "L0502"),
        ("x^100000000000", "L0502"),
        ("(3/7*x)^(100000000000000001/100000)", "L0502"),
        ("x^(9^9^9)", "L0502"),
        ("1e300*1e300", "L0502"),
        ("1e300*x*1e300", "L0502"),
        ("1e-300*1e-300", "L0502"),
        ("(1e-300*1e-300)^2", "L0502"),
        ("exp(1000)", "L0502"),
        ("1/exp(-1000)", "L0502"),
        ("1e308*pi", "L0502"),
        ("exp(exp(exp(9)))", "L0502"),
    ],
)
def test_numbers_without_a_value_and_too_large_ones_are_found(formula: str, code: str):
    assert codes(f"law a\nvariable x > 0\nL = x + {formula}\n") == [code]


@pytest.mark.parametrize("formula", ["2^1000", "1e300*x", "1.00001^900", "(1/3)^40", "x^0", "-8^3"])
def test_numbers_with_a_value_are_kept(formula: str):
    assert codes(f"law a\nvariable x > 0\nL = x + {formula}\n") == []


def test_many_long_fractions_are_added_quickly():
    terms = " + ".join(f"1/{n}^80" for n in range(1001, 3001))

    assert codes(f"law a\nvariable x > 0\nL = x + {terms}\n") == []


# Units


UNITS = """\
law a
setting  s = 2  unit {s}
variable N > 0  unit {N}
variable D > 0  unit {D}
parameter A, B, alpha > 0
L = {formula}
"""


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("A/N^alpha + B/D^alpha", []),
        ("N + D", ["L0410"]),
        ("A*N + B*D", []),
        ("N - A + D", ["L0410"]),
        ("N + 2*N", []),
        ("min(N, D)", ["L0410"]),
        ("N*D + D*N", []),
        ("N^2 + N*N", []),
        ("N^2 + N", ["L0410"]),
        ("sqrt(N^2) + N", []),
        ("N/D + D/N", ["L0410"]),
        ("log(N)", ["L0411"]),
        ("log(N/s)", []),
        ("exp(-D)", ["L0411"]),
        ("2^N", ["L0411"]),
        ("(N/s)^(D/D)", []),
        ("N + s", []),
    ],
)
def test_terms_in_different_units_do_not_add(formula: str, expected: list[str]):
    text = UNITS.format(
        s="Gparam", N="Gparam", D="Gtoken", formula=f"s*N*D*B^alpha + A*({formula})"
    )

    assert codes(text) == expected


def test_prefixes_are_part_of_a_unit():
    """A law computes with the numbers as they stand in their units."""
    for s, expected in (("Gparam", []), ("Gparams", []), ("Mparam", ["L0410"])):
        text = UNITS.format(s=s, N="Gparam", D="token", formula="B*D^alpha + A*(N + s)")

        assert codes(text) == expected


def test_bounds_and_claims_are_in_the_units_of_what_they_bound():
    head = "law a\nsetting s = 1 unit Mtoken\nvariable D > {} unit Gtoken\nparameter A > 0\n"

    assert codes(head.format("s") + "L = A*D\n") == ["L0410"]
    assert codes(head.format("s") + "L = A*D*s\n") == ["L0410"]
    assert codes(head.format("0") + "L = A*D*s\nrequire D > s\n") == ["L0410"]
    assert codes(head.format("0") + "L = A*D*s\nrequire L > 0 for D > s\n") == ["L0410"]
    assert codes(head.format("0") + "L = A*D*s\nrequire D > 1\n") == []


def test_a_let_has_the_unit_of_its_formula():
    head = "law a\nvariable N > 0 unit param\nvariable D > 0 unit token\nlet C = {}\n"

    assert codes(head.format("N*D") + "L = C + N\n") == ["L0410"]
    assert codes(head.format("N*D unit FLOP") + "L = C\n") == ["L0410"]
    assert codes(head.format("6*N*D unit FLOP") + "L = C\n") == []
    assert codes(head.format("6*N*D unit FLOP") + "L = C + N\n") == ["L0410"]


# Claims and fits


def test_an_objective_is_read():
    for text, expected in (
        ("huber(log(L), 1e-3)", Objective("huber", True, 1e-3)),
        ("huber(L, 5e-2)", Objective("huber", False, 0.05)),
        ("squared(log(L))", Objective("squared", True)),
        ("squared(L)", Objective("squared", False)),
    ):
        assert law(f"law a\nvariable N > 0\nL = N\nminimize {text}\n").objective == expected


@pytest.mark.parametrize(
    "text", ["mse(L)", "huber(L)", "huber(L, 0)", "huber(L, 1/0)", "huber(L, N)", "L", "squared(N)"]
)
def test_what_is_no_objective_is_refused(text: str):
    assert codes(f"law a\nvariable N > 0\nL = N\nminimize {text}\n") == ["L0404"]


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("huber(L, -1)", "`-1`, the delta of huber, must be a number above 0: write 1e-3"),
        ("huber(log(L), 1 - 1)", "`1 - 1`, the delta of huber, must be a number above 0"),
        ("huber(L, N)", "`N`, the delta of huber, must be a number above 0"),
        ("huber(L)", "write huber(log(L), 1e-3) or huber(L, d)"),
    ],
)
def test_a_parameter_of_a_loss_is_named_where_it_is_not_above_0(text: str, advice: str):
    with pytest.raises(LawdslError) as error:
        law(f"law a\nvariable N > 0\nL = N\nminimize {text}\n")
    assert advice in " ".join(str(error.value).split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{1}", (1,)),
        ("{-1, 0, ..., 5}", (-1, 0, 1, 2, 3, 4, 5)),
        ("{0, 5, ..., 25}", (0, 5, 10, 15, 20, 25)),
        ("{-0.5, 0, 0.5}", (-0.5, 0, 0.5)),
        ("{1, 0.5, ..., -1}", (1, 0.5, 0, -0.5, -1)),
        ("{0, 1, ..., 3, 10}", (0, 1, 2, 3, 10)),
        ("{1/3, 2/3, ..., 5/3}", (1 / 3, 2 / 3, 1, 4 / 3, 5 / 3)),
    ],
)
def test_the_dots_of_a_grid_go_on_in_equal_steps(text: str, expected: tuple[float, ...]):
    (statement,) = parse(f"start A in {text}\n")[0].statements

    assert isinstance(statement, tree.StartGrid)
    assert spread(statement.values) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    "text",
    ["{...}", "{1, ..., 5}", "{1, 2, ...}", "{0, 2, ..., 5}", "{1, 1, ..., 5}", "{0, -1, ..., 5}",
     "{A}", "{1/0}", "{0, 1e-9, ..., 1}", "{0, 1, ..., ..., 5}", "{9^9^9}"],
)  # fmt: skip
def test_grids_that_cannot_be_spread_are_refused(text: str):
    assert codes(f"law a\nvariable x > 0\nparameter A > 0\nL = A*x\nstart A in {text}\n") == [
        "L0405"
    ]


STARTS = """\
law a
setting   s = 2
variable  x > 0
parameter B > 0
let       C0 = s*B
parameter C > C0
parameter eta > 1
let       T = x*B
L = B*x + C + eta + T
start {}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C in {1}", []),
        ("log(C) in {1}", []),
        ("log(C - C0) in {-1, 0, ..., 5}", []),
        ("log(eta - 1) in {-0.5, 0, 0.5}", []),
        ("log(eta - s) in {0}", []),
        ("log(C - B - 1) in {0}", []),
        ("log(C + 1) in {0}", []),
        ("log(B), log(C - C0) in {0, 1}", []),
        ("C = s, B = 1", []),
        ("log(B - C) in {0}", ["L0405"]),
        ("log(C - C) in {0}", ["L0405"]),
        ("log(C - T) in {0}", ["L0308"]),
        ("log(C - x) in {0}", ["L0308"]),
        ("log(2*C) in {0}", ["L0405"]),
        ("log(1 - C) in {0}", ["L0405"]),
        ("exp(C) in {0}", ["L0405"]),
        ("log(y = C) in {0}", ["L0405"]),
        ("log(s) in {0}", ["L0405"]),
        ("x in {0}", ["L0405"]),
        ("C = B", ["L0308"]),
        ("C = 1, C = 2", ["L0405"]),
        ("log(C), C in {0}", ["L0405"]),
        ("B, C, eta in {2, 3, ..., 202}", ["L0405"]),
    ],
)
def test_starts_are_numbers_for_parameters(text: str, expected: list[str]):
    assert codes(STARTS.format(text)) == expected


def test_a_start_is_a_distance_from_what_is_subtracted():
    (statement,) = parse("start log(C - C0 + 1) in {0}")[0].statements
    assert isinstance(statement, tree.StartGrid)
    target = read_target(statement.targets[0])

    assert target is not None and target.name == "C" and target.log
    assert target.less is not None and print_formula(target.less) == "0 + C0 - 1"
    assert read_target(tree.Name("A")) == Target("A")


def test_the_shipped_law_has_the_starts_of_its_paper():
    """277,830 of which one in 54 lies inside the domains."""
    found, _ = library.declarations("dcpt.l3")

    assert math.prod(len(spread(g.values)) ** len(g.targets) for g in found.grids) == 5_145
