"""Trends that a law claims, held against a table: what is compared, what is noise, and where it fails."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from planted import PLANTED, grid
from trend_cases import Columns, claim, counts, cpt, law, rising

import lawdsl

ROOT = Path(__file__).resolve().parent.parent


# ---- what is compared


def expected(table: Columns, kind: str) -> list[float]:
    """The differences that a claim is about, by a plain search; of one seed, one value a place."""
    places = zip(table["N"], table["D"], table["r"], strict=True)
    loss = dict(zip(places, table["L"], strict=True))
    shares = sorted(set(table["r"]))
    found = []
    for n, d, a, b in itertools.product(
        sorted(set(table["N"])), sorted(set(table["D"])), shares, shares
    ):
        here = [r for r in shares if (n, d, r) in loss]
        later = [x for x in sorted(set(table["D"])) if x > d and (n, x, a) in loss]
        if kind == "r" and (a, b) in itertools.pairwise(here):
            found.append(loss[n, d, b] - loss[n, d, a])
        if kind == "D" and a == b and (n, d, a) in loss and later:
            found.append(loss[n, later[0], a] - loss[n, d, a])
        if kind == "bend" and a == b and a in here[1:-1]:
            left, right = here[here.index(a) - 1], here[here.index(a) + 1]
            share = (right - a) / (right - left)
            line = share * loss[n, d, left] + (1 - share) * loss[n, d, right]
            found.append(line - loss[n, d, a])
    return found


@pytest.mark.parametrize("holes", [0.0, 0.1, 0.5, 0.7])
@pytest.mark.parametrize(
    ("kind", "text", "sense"),
    [("r", "∂L/∂r < 0", -1), ("D", "∂L/∂D < 0", -1), ("bend", "L convex in r", 1)],
)
def test_neighbours_are_those_that_exist_with_all_else_equal(
    kind: str, text: str, sense: int, holes: float
):
    rng = np.random.default_rng(5)
    table = grid(N=[1.0, 2.0, 5.0], D=[1.0, 3.0, 8.0, 26.0], r=[0.0, 0.1, 0.3, 0.6, 1.0])
    table["L"] = 3 + rng.normal(size=len(table["r"]))
    left = rng.random(len(table["r"])) >= holes
    table = {name: values[left] for name, values in table.items()}
    series = claim(lawdsl.trends(law(text), table), text).series[0]
    good = sense * np.array(expected(table, kind))

    assert counts(series) == (len(good), int(np.sum(good > 0)), 0, int(np.sum(good < 0)))
    assert series.largest == pytest.approx(max(-good), abs=1e-12)
    assert series.median == pytest.approx(np.median(-good[good < 0]), abs=1e-12)


def test_a_mixed_derivative_is_told_by_the_four_corners():
    table = grid(N=[1.0], D=[1.0, 2.0, 4.0], r=[0.0, 0.5, 1.0])
    table["L"] = 3 - table["D"] * table["r"]
    table["L"][(table["D"] == 4) & (table["r"] == 1)] += 3  # one corner of one rectangle
    mixed = lawdsl.trends(law("∂²L/∂D∂r < 0"), table).trends[0].series[0]

    assert counts(mixed) == (4, 3, 0, 1)
    assert mixed.largest == pytest.approx(2.0)
    assert mixed.place == "N = 1, D = 2 to 4, r = 0.5 to 1"


def test_a_rectangle_with_a_hole_is_not_compared():
    table = grid(N=[1.0], D=[1.0, 2.0], r=[0.0, 0.5, 1.0])
    table["L"] = 3 - table["D"] * table["r"]
    left = ~((table["D"] == 1) & (table["r"] == 0))
    table = {name: values[left] for name, values in table.items()}

    assert lawdsl.trends(law("∂²L/∂D∂r < 0"), table).trends[0].series[0].pairs == 1


def test_curves_are_also_compared_from_end_to_end():
    table = grid(N=[1.0, 2.0], D=[1.0, 2.0, 3.0], r=[0.5])
    table["L"] = np.where(table["D"] == 2, 1.0, 3 - 0.1 * table["D"])
    near, far = lawdsl.trends(law("∂L/∂D < 0"), table).trends[0].series

    assert (near.compared, counts(near)) == ("neighbours in D", (4, 2, 0, 2))
    assert (far.compared, counts(far)) == ("D first to last", (2, 2, 0, 0))


def test_two_values_have_no_ends_of_their_own():
    table = grid(N=[1.0, 2.0], D=[1.0, 2.0], r=[0.5]) | {"L": np.array([3.0, 2.9, 2.8, 2.7])}

    assert len(lawdsl.trends(law("∂L/∂D < 0"), table).trends[0].series) == 1


def test_shares_that_differ_by_rounding_are_one():
    table = {
        "N": [1.0, 1.0],
        "D": [1.0, 2.0],
        "r": [0.3, 1 - 0.7],
        "L": [3.0, 2.9],
    }
    found = lawdsl.trends(law("∂L/∂D < 0", "∂L/∂r < 0"), table)

    assert found.trends[0].series[0].pairs == 1
    assert found.trends[1].why == "r has one value, 0.3"


def test_the_order_of_the_rows_does_not_matter():
    table = rising(cpt(0.005, 2, 0.01))
    mixed = np.random.default_rng(1).permutation(len(table["L"]))
    other = {name: values[mixed] for name, values in table.items()}

    assert lawdsl.trends("dcpt.l3", table) == lawdsl.trends("dcpt.l3", other)


# ---- where the exceptions are


def test_planted_exceptions_are_found_and_located():
    found = lawdsl.trends("dcpt.l3", rising(cpt()))
    trend = claim(found, "∂L/∂D < 0")
    near, far = trend.series

    assert counts(near) == (144, 112, 0, 32) and counts(far) == (36, 28, 0, 8)
    (where,) = near.ranges
    assert (where.text, where.below, where.above) == ("r <= 0.125", None, 0.25)
    assert far.ranges[0].elsewhere == "r >= 0.25"  # the inflection ratio lies below
    assert trend.split is not None and trend.split.variable == "r"
    shares = [f"{r:g}" for r in np.linspace(0, 1, 9)]
    assert list(trend.split.parts) == shares
    assert list(trend.split.parts.values()) == [((16, 16), (4, 4))] * 2 + [((0, 16), (0, 4))] * 7
    assert near.place == "N = 0.5, D = 0.2 to 1, r = 0"


def test_without_noise_the_law_holds_but_for_its_face():
    """At r = 0 the law does not move with D at all."""
    found = lawdsl.trends("dcpt.l3", cpt())

    assert [trend.verdict for trend in found.trends] == ["holds"] * 4
    assert counts(claim(found, "∂L/∂D < 0").series[0]) == (144, 128, 16, 0)
    assert found.ok and found.diagnostics == ()


def test_an_exception_in_a_pair_of_its_own_variable_lies_between_two_values():
    table = cpt()
    table["L"] = np.where(table["r"] == 0, table["L"], table["L"] + 10)
    trend = claim(lawdsl.trends("dcpt.l3", table), "∂L/∂r < 0")
    where = trend.series[0].ranges[0]

    assert (where.text, where.above) == ("r <= 0.125", 0.125)
    assert trend.split is not None
    assert list(trend.split.parts)[:2] == ["0 to 0.125", "0.125 to 0.25"]
    assert [part[0] for part in trend.split.parts.values()] == [(20, 20)] + [(0, 20)] * 7


def test_many_values_are_parted_in_two():
    table = grid(N=[1.0, 2.0], D=np.arange(1.0, 31.0), r=[0.2, 0.5])
    table["L"] = np.where(table["D"] < 8, 3 + 0.1 * table["D"], 5 - 0.1 * table["D"])
    split = lawdsl.trends(law("∂L/∂D < 0"), table).trends[0].split

    assert split is not None and split.variable == "D"
    assert dict(split.parts) == {"to 7": ((28, 28), None), "from 8": ((0, 88), None)}


def test_values_that_print_alike_are_parted_in_two():
    table = grid(N=[1.0, 1.0 + 1e-7, 2.0, 2.0 + 1e-7], D=np.arange(1.0, 9.0), r=[0.5])
    table["L"] = 3 + np.where(table["N"] < 1.5, 1, -1) * 0.1 * table["D"]
    split = lawdsl.trends(law("∂L/∂D < 0"), table).trends[0].split

    assert split is not None and split.variable == "N"
    assert dict(split.parts) == {"to 1": ((14, 14), (2, 2)), "from 2": ((0, 14), (0, 2))}


def test_exceptions_in_the_middle_have_two_ends():
    table = grid(N=[1.0, 2.0, 3.0], D=[1.0, 2.0, 3.0], r=[0.0, 0.2, 0.4, 0.6, 0.8])
    middle = (table["r"] > 0.1) & (table["r"] < 0.5)
    table["L"] = 3 + np.where(middle, 1, -1) * 0.1 * table["D"]
    where = lawdsl.trends(law("∂L/∂D < 0"), table).trends[0].series[0].ranges[0]

    assert (where.text, where.below, where.above) == ("0.2 <= r <= 0.4", 0.0, 0.6)


# ---- noise


def test_noise_is_found_from_repeats():
    """A difference of two values, each the mean of three seeds."""
    found = lawdsl.trends("dcpt.l3", cpt(0.005, 3))
    size = 0.005 * np.sqrt(2 / 3)

    for trend, factor in zip(found.trends, (1, 1, 1, np.sqrt(2)), strict=True):
        noise = trend.series[0].noise
        assert noise.source == "repeats"
        assert noise.error == pytest.approx(factor * size, rel=0.12)
    assert claim(found, "∂L/∂D < 0").series[0].noise.df == 2 * 144


def test_what_a_whole_run_has_in_common_is_no_noise_of_its_curve():
    found = lawdsl.trends("dcpt.l3", cpt(0.002, 3, of_run=0.05))
    inside, across = (claim(found, f"∂L/∂{x} < 0").series[0].noise for x in "Dr")

    assert inside.error == pytest.approx(0.002 * np.sqrt(2 / 3), rel=0.12)
    assert across.error == pytest.approx(0.05 * np.sqrt(2 / 3), rel=0.25)


def test_where_no_difference_is_repeated_the_rows_tell_the_noise():
    """Other seeds at one share only: no difference along r is repeated."""
    table = cpt(0.005, 3)
    left = (table["seed"] == 0) | (table["r"] == 0.5)
    table = {name: values[left] for name, values in table.items()}
    found = lawdsl.trends("dcpt.l3", table)
    repeated, rows = (claim(found, f"∂L/∂{x} < 0").series[0].noise for x in "Dr")

    assert (repeated.source, repeated.df) == ("repeats", 2 * 16)
    assert (rows.source, rows.df) == ("repeated rows", 2 * 20)
    assert rows.error == pytest.approx(0.005 * np.sqrt(2), rel=0.3)


def test_rows_of_which_nothing_tells_them_apart_are_averaged_with_a_warning():
    table = cpt(0.005, 3)
    del table["seed"]
    found = lawdsl.trends("dcpt.l3", table)
    noise = claim(found, "∂L/∂r < 0").series[0].noise

    assert [d.code for d in found.diagnostics] == ["F0304"]
    assert (noise.source, noise.df) == ("repeats", 2 * 180)
    assert noise.error == pytest.approx(0.005 * np.sqrt(2 / 3), rel=0.12)


def test_copies_are_no_repeats():
    table = {name: np.tile(values, 2) for name, values in cpt().items()}
    found = lawdsl.trends("dcpt.l3", table)

    assert {d.code for d in found.diagnostics} == {"D0114", "F0304"}
    assert not found.trends[0].series[0].noise.source


@pytest.mark.parametrize(("rows", "source"), [(3, ""), (4, "repeated rows"), (5, "repeats")])
def test_few_repeats_say_nothing_of_the_noise(rows: int, source: str):
    rng = np.random.default_rng(0)
    table = {"N": np.ones(12), "D": np.ones(12), "r": np.arange(12) / 11, "seed": np.zeros(12)}
    more = {name: values[: rows + 1] for name, values in table.items()} | {
        "seed": np.ones(rows + 1)
    }
    table = {name: np.concatenate([values, more[name]]) for name, values in table.items()}
    table["L"] = 3 + 0.1 * rng.normal(size=len(table["r"]))
    noise = lawdsl.trends(law("∂L/∂r < 0"), table).trends[0].series[0].noise

    assert noise.source == source
    assert noise.limit is None or noise.limit == pytest.approx(2.649, abs=1e-3)  # Student's, of 5


def test_standard_errors_of_a_column_say_what_is_too_small():
    table = grid(N=[1.0], D=[1.0], r=[0.0, 0.25, 0.5, 0.75, 1.0])
    table |= {"L": np.array([3.0, 2.9, 2.89, 2.91, 3.1]), "se": np.full(5, 0.01)}
    found = lawdsl.trends(law("∂L/∂r < 0"), table, se="se")
    series = found.trends[0].series[0]

    assert counts(series) == (4, 1, 2, 1)
    assert series.noise.error == pytest.approx(0.01 * np.sqrt(2))
    assert series.noise.limit == pytest.approx(2)
    assert series.largest_errors == pytest.approx(0.19 / 0.01 / np.sqrt(2))
    assert series.beyond_chance == 1 and not found.ok


@pytest.mark.parametrize("cell", [0.0, -0.1, np.inf, np.nan])
def test_a_standard_error_that_is_none_is_refused_with_its_row(cell: float):
    table = cpt() | {"se": np.full(180, 0.01)}
    table["se"][6] = cell
    with pytest.raises(lawdsl.LawdslError) as error:
        lawdsl.trends("dcpt.l3", table, se="se")

    (found,) = error.value.diagnostics
    assert found.code == "D0119" and found.place.endswith(":7 column se")


def test_standard_errors_are_in_the_unit_of_the_output(tmp_path: Path):
    lines = [f"{r},{3 - r},0.001" for r in (0.0, 0.25, 0.5)]
    head = "r,L [nat/token],se [knat/token]\n"
    (tmp_path / "runs.csv").write_text(head + "\n".join(lines), encoding="utf-8")
    found = lawdsl.trends("dcpt.share", tmp_path / "runs.csv", se="se")

    assert found.trends[0].series[0].noise.error == pytest.approx(np.sqrt(2))


def test_rows_without_a_standard_error_can_be_left_out(tmp_path: Path):
    lines = ["r,L,se", "0,3,0.01", "0.25,2.9,", "0.5,2.8,0.01"]
    (tmp_path / "runs.csv").write_text("\n".join(lines), encoding="utf-8")
    found = lawdsl.trends("dcpt.share", tmp_path / "runs.csv", se="se", drop_bad=True)

    assert (found.rows, found.dropped) == (2, 1)
    with pytest.raises(lawdsl.LawdslError):
        lawdsl.trends("dcpt.share", tmp_path / "runs.csv", se="se")


# ---- what is held equal


def test_a_run_is_followed_and_not_mixed_with_others():
    """Neither run alone rises; the means of both do."""
    table = {
        "N": [1.0] * 4,
        "D": [1.0, 2.0, 2.0, 3.0],
        "r": [0.5] * 4,
        "run": ["a", "a", "b", "b"],
        "L": [3.0, 2.9, 3.9, 3.8],
    }
    apart = lawdsl.trends(law("∂L/∂D < 0"), table).trends[0].series[0]
    mixed = lawdsl.trends(law("∂L/∂D < 0"), table, run="r").trends[0].series[0]

    assert counts(apart) == (2, 2, 0, 0)
    assert counts(mixed) == (2, 0, 0, 2)


def test_runs_are_compared_with_others_where_each_has_one_value():
    """A run has one N and one r, so that its name cannot be held while these differ."""
    table = cpt(0.005, 2)
    names = zip(table["N"], table["r"], table["seed"], strict=True)
    found = lawdsl.trends("dcpt.l3", {**table, "run": [f"{n}-{r}-{s}" for n, r, s in names]})

    assert found.held == ("run", "seed")
    assert [trend.series[0].pairs for trend in found.trends] == [135, 144, 160, 128]
    assert claim(found, "∂²L/∂D∂r").series[1].compared == "D first to last, neighbours in r"


def test_columns_that_are_no_repeats_are_held_and_never_averaged():
    path = ROOT / "laws" / "data" / "cmr_table2.csv"
    found = lawdsl.trends("cmr.share", path, by="size")

    assert [counts(trend.series[0]) for trend in found.trends] == [(16, 16, 0, 0), (12, 12, 0, 0)]
    assert found.diagnostics == ()


# ---- no false alarms

CLEAN = ("chinchilla", "kaplan", "dcpt.l1", "dcpt.l2", "dcpt.l3", "dcpt.l5", "dcpt.share")
KNOWN = ("se", "repeats", "")


def clean_tables() -> Iterator[tuple[str, str, Columns]]:
    """Law, how its noise is known, table; the noise is a tenth to ten times the least differences."""
    for number, name in zip(range(50), itertools.cycle(CLEAN), strict=False):
        known, noise = KNOWN[number % 3], (0.0005, 0.005, 0.02, 0.05)[number % 4]
        planted, rng = PLANTED[name], np.random.default_rng(number)
        seeds = 3 if known == "repeats" else 1
        table = {k: np.tile(v, seeds) for k, v in planted.columns.items()}
        exact = planted.formula(**table, **planted.parameters)
        table["L"] = exact + noise * rng.normal(size=len(exact))
        table["seed"] = np.repeat(np.arange(seeds), len(exact) // seeds)
        yield name, known, {**table, "se": np.full(len(exact), noise)}


def test_the_clean_tables_keep_their_claims_without_noise():
    for name in CLEAN:
        found = lawdsl.trends(name, PLANTED[name].table())
        kept = [t for t in found.trends if t.expect != "refuted" and t.series]
        assert kept and {trend.verdict for trend in kept} == {"holds"}, name


def test_fifty_clean_noisy_tables_contradict_nothing(
    record_property: Callable[[str, object], None],
):
    answers = []
    for name, known, table in clean_tables():
        found = lawdsl.trends(name, table, se="se" if known == "se" else None)
        answers.append((name, [trend.claim for trend in found.trends if not trend.ok]))
    wrong = [answer for answer in answers if answer[1]]
    record_property("figure", f"trends: {len(wrong)} of {len(answers)} clean tables contradicted")

    assert len(answers) == 50 and wrong == []


@pytest.mark.parametrize(("count", "most"), [(60, 3), pytest.param(200, 6, marks=pytest.mark.slow)])
def test_chance_contradicts_one_table_in_a_hundred_where_nothing_moves(
    count: int, most: int, record_property: Callable[[str, object], None]
):
    """The stated rate: of 200 tables two, and more than six once in two hundred times; of 60 more
    than three once in three hundred."""
    columns = grid(N=[1.0, 2.0, 4.0], D=np.arange(1.0, 6.0), r=[0.1, 0.3, 0.6, 1.0])
    claims = law("∂L/∂N < 0", "∂L/∂D < 0", "∂L/∂r < 0", "∂²L/∂D∂r < 0")
    rows = len(columns["r"])
    wrong = 0
    for seed in range(count):
        noise = np.random.default_rng(seed).normal(size=rows)
        table = {**columns, "L": 3 + 0.01 * noise, "se": np.full(rows, 0.01)}
        wrong += not lawdsl.trends(claims, table, se="se").ok

    record_property("figure", f"trends: {wrong} of {count} tables of noise alone contradicted")
    assert wrong <= most
