"""The best subset of mixtures that were run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from test_mixtures import codes

import lawdsl
from lawdsl import LawdslError
from lawdsl.designing.groups import group_errors, sample_groups
from lawdsl.designing.selection import select


def runs(wrong: Sequence[int] = (), repeats: int = 1) -> dict[str, np.ndarray]:
    """Forty mixtures of two domains, a thousandth of noise; some went wrong."""
    draws = np.random.default_rng(5)
    r = np.repeat(np.round(np.linspace(0, 1, 40), 4), repeats)
    number = np.repeat(np.arange(1, 41), repeats)
    loss = 2 + 0.8 * np.exp(-2 * r) + draws.normal(0, 1e-3, len(r))
    loss[np.isin(number, wrong)] += 0.2
    return {"mixture": number, "r": r, "L": loss}


def test_the_group_is_chosen_whose_fit_is_closest_to_all():
    table = runs()
    found = select("mixing.two_domain", table, groups=30)

    assert len(found.mixtures) == len(found.table) == 20 and found.of == 40
    assert found.error == found.errors.min() < found.median
    assert (len(found.errors), found.by) == (30, ("mixture",))
    own = np.isin(table["mixture"], [int(m) for m in found.mixtures])
    fit = lawdsl.fit("mixing.two_domain", {n: c[own] for n, c in table.items()}, claims=False)
    off = np.abs(fit.predict({"r": table["r"]}) - table["L"])
    assert off.mean() == pytest.approx(found.error, rel=1e-6)
    whole = lawdsl.fit("mixing.two_domain", table, claims=False)
    assert found.everything == pytest.approx(whole.metrics.mae, rel=1e-6)


def test_mixtures_that_went_wrong_are_left_out():
    found = select("mixing.two_domain", runs(wrong=(7, 20, 33)), groups=60)

    assert not {"7", "20", "33"} & set(found.mixtures)
    assert found.error < 0.6 * found.everything


def test_the_same_seed_chooses_the_same_whatever_the_order_of_the_rows():
    table = runs()
    turned = {name: column[::-1] for name, column in table.items()}

    first = select("mixing.two_domain", table, groups=10, seed=2)
    again = select("mixing.two_domain", turned, groups=10, seed=2)

    assert first.mixtures == again.mixtures and (first.errors == again.errors).all()


def test_all_rows_of_a_mixture_go_together():
    found = select("mixing.two_domain", runs(repeats=3), count=5, groups=5)

    assert len(found.table) == 15
    assert set(found.table.texts("mixture")) == set(found.mixtures)


def test_without_a_column_the_variables_tell_mixtures_apart():
    table = {name: column for name, column in runs(repeats=2).items() if name != "mixture"}
    found = select("mixing.two_domain", table, count=5, groups=5)

    assert found.by == ("r",) and found.of == 40 and len(found.table) == 10


def test_chosen_rows_keep_their_columns_units_and_notes(tmp_path: Path):
    table = runs()
    rows = [
        f'{r},{number},{loss:.6f},{1e9 * number:g},"run, {number}"'
        for number, r, loss in zip(table["mixture"], table["r"], table["L"], strict=True)
    ]
    lines = ["# measured at home", "r,number,L,D [Gtoken],name", *rows]
    (tmp_path / "runs.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")

    found = select("mixing.two_domain", tmp_path / "runs.csv", count=6, groups=4, by="number")

    written = found.to_csv().splitlines()
    assert written[0] == lines[0] and "6 of 40 mixtures" in written[1]
    assert written[3] == lines[1]
    assert len(written) == 10 and [line for line in lines if line in written[4:]] == written[4:]


def test_a_column_that_is_not_there_tells_nothing_apart():
    with pytest.raises(LawdslError) as error:
        select("mixing.two_domain", runs(), by="domain")

    assert codes(error) == ["F0202"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"count": 40}, "40 mixtures cannot be chosen of 40"),
        ({"count": 0}, "0 mixtures cannot be chosen"),
        ({"groups": 0}, "0 groups"),
        ({"count": 2, "groups": 3}, "3 of 3 groups could not be fitted"),
    ],
)
def test_what_leaves_nothing_to_select_is_refused(asked: dict, message: str):
    with pytest.raises(LawdslError, match=message) as error:
        select("mixing.two_domain", runs(), **asked)

    assert codes(error) == ["M0107"]


def test_groups_that_cannot_be_fitted_are_counted_and_not_chosen():
    def error(rows: np.ndarray) -> float:
        if 0 in rows:
            raise LawdslError(lawdsl.Diagnostic("F0107", "no value"))
        return float(rows.sum())

    groups = [(0, 1), (1, 2), (2, 3)]
    label = np.array([0, 1, 2, 3, 1])
    errors, (finding,) = group_errors(error, label, groups)

    assert errors.tolist() == [np.inf, 1 + 4 + 2, 5]
    assert (finding.code, finding.severity) == ("M0107", "warning")
    assert finding.message == "1 of 3 groups could not be fitted: no value"


def test_small_numbers_of_groups_are_all_tried():
    assert len(sample_groups(5, 2, 200, 0, "")) == math.comb(5, 2)
    drawn = sample_groups(40, 20, 200, 0, "")
    assert len(set(drawn)) == 200 and all(len(set(group)) == 20 for group in drawn)


THREE = """law mixture "Data Mixing Law, three domains"
variable  r_github, r_books3, r_pilecc in [0, 1]
parameter c, k > 0
parameter t1, t2
L = c + k*exp(t1*r_github + t2*r_books3)
minimize squared(L)
"""


def test_twenty_of_the_mixtures_of_the_paper_do_as_well_as_all(
    shared_data: Path, tmp_path: Path, record_property
):
    (tmp_path / "mixture.law").write_text(THREE, encoding="utf-8")
    where = ["size = 410M", "step = 60000", "valid_domain = Github"]
    table = shared_data / "mixing_laws" / "3Mix.csv"
    found = select(tmp_path / "mixture.law", table, groups=60, where=where, L="loss")

    record_property(
        "figure",
        f"20 of 32 mixtures (GitHub, M4): error on all {found.error:.4f}, median of 60 groups "
        f"{found.median:.4f}, fit to all {found.everything:.4f}",
    )
    assert found.of == 32 and found.error < found.median
    assert found.error < 1.02 * found.everything
