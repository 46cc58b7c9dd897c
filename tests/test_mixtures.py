"""Mixtures: shares are exact and within their caps, drawn evenly, and selected by how fits to them do."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from test_cli import document, lawdsl as command

import lawdsl
from lawdsl import LawdslError
from lawdsl.data.read import read_table
from lawdsl.designing.domains import Domain, read_domains
from lawdsl.designing.halving import halving
from lawdsl.designing.selection import select
from lawdsl.designing.space_filling import spread

ROOT = Path(__file__).resolve().parent.parent
C4 = ROOT / "laws" / "data" / "c4_share.csv"
REDPAJAMA = ("1", "1", "0.5857", "0.2588", "0.2254", "0.1779", "0.1727")


def domains(*caps: str | float | Fraction) -> tuple[Domain, ...]:
    return tuple(Domain(f"d{i}", Fraction(cap)) for i, cap in enumerate(caps))


def codes(error: pytest.ExceptionInfo[LawdslError]) -> list[str]:
    return [d.code for d in error.value.diagnostics]


caps = st.lists(
    st.fractions(min_value=0, max_value=1, max_denominator=40), min_size=2, max_size=4
).filter(lambda some: sum(some) >= 1)
grids = st.sampled_from((2, 3, 4, 8, 10, 16))


# ---- both samplers


@pytest.mark.parametrize("sampler", [halving, spread])
@given(caps=caps, grid=grids, seed=st.integers(0, 50), count=st.integers(1, 12))
@settings(max_examples=80, deadline=None)
def test_shares_sum_to_1_within_their_caps_and_no_mixture_comes_twice(
    sampler, caps: list[Fraction], grid: int, seed: int, count: int
):
    given = domains(*caps)
    try:
        made = sampler(given, count, grid=Fraction(1, grid), seed=seed)
    except LawdslError as error:
        assert [d.code for d in error.diagnostics] == ["M0103"]
        return

    assert len(set(made.shares)) == len(made.shares) == count <= made.candidates
    for shares in made.shares:
        assert sum(shares) == 1
        assert all(0 <= share <= domain.cap for share, domain in zip(shares, given, strict=True))
    assert sampler(given, count, grid=Fraction(1, grid), seed=seed) == made


@pytest.mark.parametrize("sampler", [halving, spread])
@given(caps=caps, order=st.permutations(range(4)))
@settings(max_examples=50, deadline=None)
def test_the_order_of_the_domains_is_that_of_the_columns_and_matters_no_further(
    sampler, caps: list[Fraction], order: list[int]
):
    given = domains(*caps)
    order = [i for i in order if i < len(given)]
    turned = [given[i] for i in order]
    try:
        made = sampler(given, 5, grid="1/16", seed=1)
    except LawdslError:
        assume(False)

    other = sampler(turned, 5, grid="1/16", seed=1)

    assert other.columns == tuple(made.columns[i] for i in order)
    assert other.shares == tuple(tuple(shares[i] for i in order) for shares in made.shares)


@pytest.mark.parametrize("sampler", [halving, spread])
def test_another_seed_gives_other_mixtures(sampler):
    given = domains(*REDPAJAMA)

    assert set(sampler(given, seed=0).shares) != set(sampler(given, seed=1).shares)


@pytest.mark.parametrize("sampler", [halving, spread])
def test_a_table_says_how_it_was_made_and_is_read_back_exactly(sampler, tmp_path: Path):
    given = read_domains(["web=3.2T", "code=400G", "books", "wiki"], target="1T")
    made = sampler(given, 10, seed=3)
    (tmp_path / "mixtures.csv").write_text(made.to_csv(), encoding="utf-8")

    table = read_table(tmp_path / "mixtures.csv")

    assert list(table.columns) == ["mixture", "r_web", "r_code", "r_books", "r_wiki"]
    assert table.texts("mixture") == [str(i) for i in range(1, 11)]
    shares = np.stack([table.numbers(name) for name in made.columns], axis=1)
    assert (shares.sum(axis=1) == 1).all()
    assert [[Fraction(x) for x in row] for row in shares] == [list(row) for row in made.shares]
    assert f"lawdsl {lawdsl.__version__}: 10 mixtures by" in table.notes[0]
    assert "seed 3" in table.notes[0]
    assert table.notes[-1] == "largest shares: web 1, code 0.4, books 1, wiki 1"


@pytest.mark.parametrize(
    ("sampler", "asked", "code"),
    [
        (halving, {"count": 0}, "M0103"),
        (spread, {"count": 1.5}, "M0103"),
        (halving, {"count": 5, "grid": "3/16"}, "M0104"),
        (spread, {"count": 5, "grid": "0"}, "M0104"),
        (spread, {"count": 5, "grid": "16"}, "M0104"),
        (halving, {"count": 5, "grid": "fine"}, "M0104"),
        (halving, {"count": 5, "grid": "1/100000"}, "M0104"),
        (spread, {"count": 5, "grid": "1/100000000"}, "M0104"),
        (halving, {"count": 5, "seed": -1}, "F0106"),
        (spread, {"count": 5, "seed": "x"}, "F0106"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(sampler, asked: dict, code: str):
    with pytest.raises(LawdslError) as error:
        sampler(domains(1, 1), **asked)

    assert codes(error) == [code]


@pytest.mark.parametrize(("sampler", "left_out"), [(halving, ["d4"]), (spread, ["d4", "d5"])])
def test_a_domain_that_the_grid_leaves_out_is_named(sampler, left_out: list[str]):
    """Of shares that are halved the last domain has what is left, be it off the grid."""
    given = domains("1", "0.5", "0.5", "0.25", "1/40", "1/50")
    made = sampler(given, 5, grid="1/16")

    assert {d.code for d in made.warnings} == {"M0105"}
    assert [d.message.split()[0] for d in made.warnings] == left_out
    assert {shares[4] for shares in made.shares} == {0}
    finer = made.warnings[-1].help.split()[-1]
    assert "M0105" not in [d.code for d in sampler(given, 5, grid=finer).warnings]


# ---- shares that are halved


def recursion(caps: Sequence[Fraction], grid: Fraction) -> set[tuple[Fraction, ...]]:
    """Algorithm 2 as it is printed, shares below the grid being 0; caps in descending order."""
    found = set()

    def go_on(shares: tuple[Fraction, ...]) -> None:
        if len(shares) == len(caps) - 1:
            rest = 1 - sum(shares)
            if 0 <= rest <= caps[-1]:
                found.add((*shares, rest))
            return
        largest = grid * math.floor(caps[len(shares)] / grid)
        halved = {largest / 2**halvings for halvings in range(20)}
        for share in {share if share >= grid else Fraction(0) for share in halved}:
            go_on((*shares, share))

    go_on(())
    return found


@given(caps=caps, grid=grids)
@settings(max_examples=60, deadline=None)
def test_the_candidates_are_those_of_the_printed_recursion(caps: list[Fraction], grid: int):
    caps = sorted(caps[:3], reverse=True)
    assume(sum(caps) >= 1)
    listed = recursion(caps, Fraction(1, grid))
    assume(listed)

    made = halving(domains(*caps), len(listed), grid=Fraction(1, grid))

    assert made.candidates == len(listed)
    assert set(made.shares) == listed


def test_of_forty_mixtures_ten_lack_a_domain():
    made = halving(domains(*REDPAJAMA), 40)

    assert sum(0 in shares for shares in made.shares) == 10
    assert made.candidates == len(recursion([Fraction(c) for c in REDPAJAMA], Fraction(1, 16)))
    assert not made.warnings


@pytest.mark.parametrize(
    ("count", "lacking", "message"),
    [(8, 2, None), (30, 12, "only 18 have all"), (38, 20, "only 18 have all")],
)
def test_where_one_part_is_short_the_other_makes_up_for_it(count, lacking, message):
    made = halving(domains("1", "0.5", "0.26", "0.23", "0.18"), count)

    assert sum(0 in shares for shares in made.shares) == lacking
    assert [d.message.partition(": ")[2] for d in made.warnings] == ([message] if message else [])


def test_where_no_domain_can_be_spared_all_mixtures_have_all():
    made = halving(domains(*["0.14"] * 8), 8, grid="1/50")

    assert not any(0 in shares for shares in made.shares)
    assert [d.code for d in made.warnings] == ["M0106"]
    assert made.warnings[0].message.endswith("not 2: only 0 lack a domain")


def test_too_few_candidates_are_refused_with_the_grid_that_has_enough():
    given = domains("1", "0.5", "0.26", "0.23", "0.18")
    with pytest.raises(LawdslError, match="there are 38 mixtures on the grid 1/16") as error:
        halving(given, 90)

    assert codes(error) == ["M0103"]
    grid = error.value.diagnostics[0].help.partition("--grid ")[2].partition(",")[0]
    assert len(halving(given, 90, grid=grid).shares) == 90


def test_where_no_grid_has_enough_the_other_command_is_named():
    with pytest.raises(LawdslError, match="mixtures spread"):
        halving(domains("1", "0.4", "0.1"), 10)


def test_each_candidate_is_as_likely_as_any_other_of_its_part():
    given = domains("1", "0.5", "0.26", "0.23", "0.18")
    drawn = Counter(shares for seed in range(900) for shares in halving(given, 4, seed=seed).shares)
    lacking = [n for shares, n in drawn.items() if 0 in shares]
    full = [n for shares, n in drawn.items() if 0 not in shares]

    assert (len(lacking), len(full)) == (20, 18)
    assert sum(lacking) == 900 and sum(full) == 2700
    for counts, spare in ((lacking, 19), (full, 17)):
        mean = sum(counts) / len(counts)
        chi_squared = sum((n - mean) ** 2 / mean for n in counts)
        assert chi_squared < spare + 4 * math.sqrt(2 * spare)


def test_more_candidates_than_could_be_listed_are_drawn_from():
    made = halving(domains(*["1/8"] * 40), 40, grid="1/64")

    assert made.candidates > 1e18
    assert len(set(made.shares)) == 40


def test_so_many_sums_that_they_cannot_be_counted_are_refused():
    with pytest.raises(LawdslError) as error:
        halving(domains(*(Fraction(1, n) for n in range(3, 40))), 40, grid="1/4096")

    assert codes(error) == ["M0104"]


def test_the_mixtures_of_the_paper_are_the_candidates(shared_data: Path):
    """The released proportions of five groups of the Pile, under the supplies in the code."""
    lines = (shared_data / "mixing_laws" / "5Mix_proportions.txt").read_text().split()
    released = {tuple(Fraction(x) for x in line.split("-")) for line in lines}
    supplies = ("0.56", "0.247208695", "0.103806741", "0.272774883", "0.769600522")
    given = domains(*supplies)

    candidates = halving(given, 1, grid="1/16").candidates
    listed = set(halving(given, candidates, grid="1/16").shares)

    assert len(released) == 26
    assert released == listed


# ---- points that are spread


def lattice(caps: Sequence[Fraction], grid: int) -> set[tuple[Fraction, ...]]:
    """All mixtures of a grid that the caps allow."""
    units = [range(int(cap * grid) + 1) for cap in caps]
    return {
        tuple(Fraction(n, grid) for n in some)
        for some in itertools.product(*units)
        if sum(some) == grid
    }


@given(caps=caps, grid=st.sampled_from((2, 3, 5, 6)))
@settings(max_examples=60, deadline=None)
def test_every_mixture_that_the_caps_allow_can_be_reached(caps: list[Fraction], grid: int):
    listed = lattice(caps, grid)
    assume(listed)

    made = spread(domains(*caps), len(listed), grid=Fraction(1, grid))

    assert made.candidates == len(listed)
    assert set(made.shares) == listed


def test_fewer_mixtures_are_the_first_of_more():
    given = domains(*REDPAJAMA)

    assert spread(given, 64).shares[:16] == spread(given, 16).shares


def test_many_domains_under_tight_caps_take_no_longer():
    """Of the simplex of 22 domains these caps leave less than one part in 10^20: to draw and to
    reject would never end."""
    made = spread(domains(*["1/20"] * 22), 40)
    shares = np.array(made.shares, dtype=float)

    assert 0 < made.candidates / math.comb(4096 + 21, 21) < 1e-20
    assert shares.max() <= 0.05 and abs(shares.mean(axis=0) - 1 / 22).max() < 0.003


def drawn_evenly(caps: Sequence[float], count: int, seed: int) -> np.ndarray:
    """Mixtures drawn independently, those above a cap rejected."""
    draws = np.random.default_rng(seed)
    found = np.empty((0, len(caps)))
    while len(found) < count:
        more = draws.dirichlet(np.ones(len(caps)), 4 * count)
        found = np.concatenate([found, more[(more <= caps).all(axis=1)]])
    return found[:count]


@pytest.mark.parametrize("caps", [("1", "1", "1"), ("1", "0.4", "0.3", "0.5"), REDPAJAMA])
def test_points_are_spread_evenly_over_what_the_caps_allow(caps: tuple[str, ...]):
    points = np.array(spread(domains(*caps), 1024).shares, dtype=float)
    drawn = drawn_evenly([float(c) for c in caps], 200_000, 0)

    np.testing.assert_allclose(points.mean(axis=0), drawn.mean(axis=0), atol=2e-3)
    np.testing.assert_allclose(np.cov(points.T), np.cov(drawn.T), atol=1e-3)


def discrepancy(points: np.ndarray, boxes: np.ndarray, content: np.ndarray) -> float:
    """How far the part of the points in a box is from the part of the simplex in it: root mean
    square over boxes."""
    inside = (points[:, None] <= boxes).all(axis=2).mean(axis=0)
    return float(np.sqrt(np.mean((inside - content) ** 2)))


def nearest(points: np.ndarray) -> float:
    """The mean distance of a point to the one nearest to it."""
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(apart, np.inf)
    return float(apart.min(axis=1).mean())


@pytest.mark.parametrize(
    ("caps", "most"), [(("1", "1", "1"), 0.5), (("1", "0.4", "0.3", "0.5"), 0.6), (REDPAJAMA, 0.7)]
)
def test_points_are_spread_better_than_independent_draws(caps, most, record_property):
    bounds = [float(c) for c in caps]
    many = drawn_evenly(bounds, 20_000, 0)
    boxes = many[:300] + np.random.default_rng(1).random((300, len(caps))) * 0.5
    content = np.mean([(many <= box).all(axis=1) for box in boxes], axis=1)
    ours = [np.array(spread(domains(*caps), 64, seed=s).shares, float) for s in range(8)]
    theirs = [drawn_evenly(bounds, 64, 100 + s) for s in range(8)]

    discrepancies = [
        np.mean([discrepancy(p, boxes, content) for p in some]) for some in (ours, theirs)
    ]
    distances = [np.mean([nearest(p) for p in some]) for some in (ours, theirs)]

    record_property(
        "figure",
        f"64 mixtures of {len(caps)} domains, spread and drawn: discrepancy {discrepancies[0]:.4f}, "
        f"{discrepancies[1]:.4f}; distance to the nearest {distances[0]:.4f}, {distances[1]:.4f}",
    )
    assert discrepancies[0] < most * discrepancies[1]
    assert distances[0] > distances[1]


# ---- the commands

SUPPLIES = ("web=2T", "code=500G", "books=260G", "papers=230G", "wiki=180G", "--target", "1T")


def test_a_table_goes_to_standard_output_or_to_a_file(tmp_path: Path):
    shown = command("mixtures", "halving", *SUPPLIES, "--count", 8, cwd=tmp_path)
    written = command("mixtures", "halving", *SUPPLIES, "--count", 8, "-o", "m.csv", cwd=tmp_path)

    assert shown.returncode == written.returncode == 0
    assert shown.stderr == "" and written.stdout == ""
    assert "wrote m.csv, 8 of 38 mixtures" in written.stderr
    assert (tmp_path / "m.csv").read_text(encoding="utf-8") == shown.stdout
    assert len(read_table(tmp_path / "m.csv")) == 8


def test_selection_writes_rows_and_says_how_good_they_are(tmp_path: Path):
    asked = ("mixtures", "select", "mixing.two_domain", C4, "--count", 5, "--groups", 20)
    done = command(*asked, "-o", "chosen.csv", "--json", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    found = select("mixing.two_domain", C4, count=5, groups=20)
    assert (tmp_path / "chosen.csv").read_text(encoding="utf-8") == found.to_csv()
    result = document(done)["result"]
    assert result["error"] == found.error and result["mixtures"] == list(found.mixtures)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("halving", "web=1T", "code"), 3, "M0101"),
        (("spread", "web", "code", "--cap", "web=0.1", "--cap", "code=0.1"), 3, "M0102"),
        (("halving", "web", "code", "--count", "many"), 2, "C0001"),
        (("spread", "web", "code", "--count", "9", "--grid", "1/4"), 3, "M0103"),
        (("halving", "web", "code", "-o", "no/such/folder.csv", "--count", "4"), 3, "L0313"),
        (("select", "mixing.two_domain", C4, "-o", "no/such/folder.csv"), 3, "L0313"),
        (("nonsense",), 2, "C0001"),
    ],
    ids=lambda value: " ".join(map(str, value))[:40] if isinstance(value, tuple) else str(value),
)
def test_errors_have_a_code_and_are_json_too(arguments, code, message, tmp_path: Path):
    done: subprocess.CompletedProcess[str] = command("mixtures", *arguments, "--json", cwd=tmp_path)

    assert done.returncode == code
    content = json.loads(done.stdout)
    assert not content["ok"] and content["diagnostics"][0]["code"] == message


def test_a_document_has_the_mixtures_in_it(tmp_path: Path):
    done = command("mixtures", "halving", *SUPPLIES, "--count", 8, "--json", cwd=tmp_path)
    result = document(done)["result"]

    assert result["columns"] == ["mixture", "r_web", "r_code", "r_books", "r_papers", "r_wiki"]
    assert len(result["rows"]) == 8 and result["candidates"] == 38
    assert result["largest"]["books"] == 0.26
    assert all(sum(row[1:]) == 1 for row in result["rows"])


def test_mixtures_are_selected_for_all_outputs_of_a_law_with_index_sets(tmp_path: Path):
    """Of two losses on nine mixtures, of which one was measured wrongly: it is not chosen."""
    rng = np.random.default_rng(4)
    shares = rng.dirichlet(np.ones(3), 9)
    t = np.array([[1.0, -1.5, 0.5], [-0.4, 0.9, -0.5]])
    losses = 1 + 0.5 * np.exp(shares @ t.T)
    losses[5] *= 1.2
    table = {f"r[d{j}]": column for j, column in enumerate(shares.T)}
    table |= {f"L[v{i}]": column for i, column in enumerate(losses.T)}
    found = select("mixing.m4", table, count=8, groups=9, starts=1)
    assert found.of == 9 and len(found.mixtures) == 8
    assert 6 not in found.table.rows  # counted from 1
    assert len(found.table) == 8
    assert found.error < found.median
