"""The folds of the protocols of a comparison."""

from __future__ import annotations

import numpy as np
import pytest
from planted import grid
from test_ranking import rows

import lawdsl
from lawdsl.comparing.common_rows import common_rows
from lawdsl.comparing.protocols import KINDS, Fold, ProtocolKind, parse_protocol
from lawdsl.data.read import read_table
from lawdsl.fitting.options import FitOptions


def cpt(sizes: int = 3, steps: int = 7) -> dict[str, np.ndarray]:
    """A table of `sizes` x `steps` x 9 rows, in an order that is no order."""
    table = grid(
        N=np.array([0.5, 1.8, 4.0, 7.0, 14.0])[:sizes],
        D=np.linspace(0.2, 26, steps),
        r=[0, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 1],
    )
    table["L"] = 2 + 0.3 / table["N"] + 0.2 / table["D"] + 0.1 / (table["r"] + 0.1)
    mixed = np.random.default_rng(3).permutation(len(table["L"]))
    return {name: values[mixed] for name, values in table.items()}


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("all", 1),
        ("leave-one-out:N", 3),
        ("leave-one-N-out", 3),
        ("leave-two-out:r", 36),
        ("r-7-of-9", 36),
        ("domains-4-of-6", 15),
        ("segments:D", 3),
        ("D-segments", 3),
        ("growing:N", 1),
        ("growing-N", 1),
        ("growing:r", 7),
        ("continuing:D", 3),
        ("growing-D", 3),
    ],
)
def test_a_protocol_has_as_many_folds_as_its_paper(name: str, count: int):
    table = cpt()
    table["domain"] = np.array(["code", "law", "math", "music", "chem", "med"])[
        np.arange(len(table["L"])) % 6
    ]
    assert len(parse_protocol(name).folds(rows(table))) == count


@pytest.mark.parametrize("name", [name for name in KINDS if KINDS[name].held_out])
def test_no_row_is_fitted_and_tested_at_once(name: str):
    data = rows(cpt(sizes=5))
    column = f":{'N' if 'growing' in name else 'D'}" if KINDS[name].column else ""
    for fold in parse_protocol(f"{name}{column}").folds(data):
        assert len(fold.fit) and len(fold.test)
        assert not set(fold.fit) & set(fold.test)


@pytest.mark.parametrize(
    ("name", "times"),
    [("leave-one-out:N", 1), ("leave-two-out:r", 8), ("segments:D", 1)],
)
def test_every_row_is_tested_as_often_as_every_other(name: str, times: int):
    data = rows(cpt())
    folds = parse_protocol(name).folds(data)
    tested = np.bincount(np.concatenate([fold.test for fold in folds]), minlength=data.rows)
    assert np.all(tested == times)
    for fold in folds:
        assert len(fold.fit) + len(fold.test) == data.rows


def test_segments_are_contiguous_and_equal_on_every_curve():
    data = rows(cpt(steps=9))
    folds = parse_protocol("segments:D").folds(data)
    D = data.values("D")
    assert [fold.part for fold in folds] == ["early", "middle", "late"]
    for curve in range(27):
        on_it = data.curves("D") == curve
        thirds = [D[np.intersect1d(fold.test, np.flatnonzero(on_it))] for fold in folds]
        assert [len(third) for third in thirds] == [3, 3, 3]
        assert max(thirds[0]) < min(thirds[1]) and max(thirds[1]) < min(thirds[2])


def test_a_curve_is_cut_at_its_own_values():
    """Two runs of different lengths: each is cut in three."""
    table = {"N": [1.0] * 9, "D": [1.0, 2, 3, 10, 20, 30, 40, 50, 60], "r": [0.1] * 3 + [0.2] * 6}
    data = rows({**table, "L": np.linspace(3, 2, 9)})
    late = parse_protocol("segments:D").folds(data)[2]
    assert sorted(data.values("D")[late.test]) == [3, 50, 60]


def test_equal_values_are_never_on_both_sides():
    table = cpt(steps=6)
    repeated = {name: np.concatenate([v, v]) for name, v in table.items()}
    repeated["L"] = repeated["L"] * np.linspace(1, 1.01, len(repeated["L"]))
    data = rows(repeated)
    D, curve = data.values("D"), data.curves("D")
    for fold in parse_protocol("segments:D").folds(data):
        fitted = set(zip(D[fold.fit], curve[fold.fit], strict=True))
        assert not fitted & set(zip(D[fold.test], curve[fold.test], strict=True))


def test_growing_and_continuing_only_look_ahead():
    data = rows(cpt(sizes=5, steps=8))
    for fold in parse_protocol("growing:N").folds(data):
        fitted, tested = np.unique(data.values("N")[fold.fit]), data.values("N")[fold.test]
        assert len(fitted) >= 2 and max(fitted) < min(tested) and len(set(tested)) == 1
    shares = []
    for fold in parse_protocol("continuing:D").folds(data):
        assert max(data.values("D")[fold.fit]) < min(data.values("D")[fold.test])
        shares.append(len(fold.fit) / data.rows)
    assert shares == [0.25, 0.5, 0.75]


def test_folds_of_nearly_equal_values_have_labels_that_differ():
    table = cpt()
    table["D"] = 1e9 + np.round(table["D"])
    labels = [fold.label for fold in parse_protocol("leave-one-out:D").folds(rows(table))]
    assert len(set(labels)) == len(labels) == len(np.unique(table["D"]))


A, B, EVERY, NONE = np.arange(9), np.arange(9, 27), np.arange(27), np.arange(0)


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ([], "no fold can be made of these rows"),
        ([Fold("x", A, NONE)], "the fold x has no rows to test"),
        ([Fold("x", np.array([]), B)], "the fold x has no rows to fit"),
        ([Fold("x", A, EVERY + 9)], "the fold x is to test row 27: rows are 0 to 26"),
        ([Fold("x", A - 1, B)], "the fold x is to fit row -1: rows are 0 to 26"),
        ([Fold("y", B, A), Fold("x", EVERY, A)], "the fold x tests 9 rows that it fits"),
        ([Fold("x", EVERY < 3, A)], "the fold x does not fit rows by their numbers"),
        ([Fold("x", A, B), Fold("x", B, A)], "two folds have the label x"),
    ],
)
def test_folds_that_cannot_be_fitted_and_tested_are_refused(
    folds: list[Fold], message: str, monkeypatch: pytest.MonkeyPatch
):
    kind = ProtocolKind(lambda data, column: folds, "planned", column=False)
    monkeypatch.setitem(KINDS, "planned", kind)
    with pytest.raises(lawdsl.LawdslError, match=f"F0202.*{message}"):
        parse_protocol("planned").folds(rows(cpt(steps=1)))


def test_folds_of_two_parts_may_have_one_label_and_tests_what_is_fitted_where_it_says_so(
    monkeypatch: pytest.MonkeyPatch,
):
    folds = [Fold("x", EVERY, A, "near"), Fold("x", EVERY, B, "far")]
    kind = ProtocolKind(lambda data, column: folds, "planned", column=False, held_out=False)
    monkeypatch.setitem(KINDS, "planned", kind)
    assert parse_protocol("planned").folds(rows(cpt(steps=1))) == folds


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("leave-one-in:N", "F0201", "not a protocol"),
        ("leave-one-out", "F0201", "which column"),
        ("all:N", "F0201", "takes no column"),
        ("leave-one-out:N", "F0202", "N has 2 values, 0.5, 1.8: this takes 3"),
        ("growing:N", "F0202", "N has 2 values"),
        ("segments:D", "F0202", "the curve at N = 0.5, r = 0 has 2 values of D"),
        ("continuing:D", "F0202", "takes 4 or more"),
        ("leave-two-out:domain", "F0202", "neither a variable nor a column"),
        ("growing:word", "D0106", "is not a number"),
        ("leave-one-out:hole", "F0202", "hole is empty"),
        ("leave-two-out:L", "F0202", "630 folds"),
    ],
)
def test_a_protocol_that_cannot_be_run_says_what_there_is(
    name: str, code: str, message: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("lawdsl.comparing.protocols.MAX_FOLDS", 500)
    table = cpt(sizes=2, steps=2)
    table["L"] = np.linspace(2, 3, 36)
    word = np.array(["a", "b"])[np.arange(36) % 2]
    hole = np.where(np.arange(36) == 4, "", word)
    content = {name: list(map(str, values)) for name, values in table.items()}
    lines = ["N,D,r,L,word,hole"]
    lines += map(",".join, zip(*content.values(), word, hole, strict=True))
    from lawdsl.data.formats import csv

    with pytest.raises(lawdsl.LawdslError) as error:
        parse_protocol(name).folds(rows(csv.read("\n".join(lines).encode(), "runs.csv")))
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == code and message in diagnostic.message and diagnostic.help


def test_the_order_of_the_table_changes_nothing():
    table = cpt()
    back = {name: values[::-1] for name, values in table.items()}
    one, other = rows(table, "dcpt.l3", "chinchilla"), rows(back, "dcpt.l3", "chinchilla")
    assert one.digest == other.digest
    for a, b in zip(one.columns, other.columns, strict=True):
        assert np.array_equal(a, b)


def test_all_laws_see_the_same_rows_in_the_same_order():
    """A row that is bad for one law is left out for all; each law has its own units."""
    table = cpt()
    table["D"][5] = 0.01  # below D_min of the one, fine for the other
    read = [lawdsl.load("dcpt.l3"), lawdsl.load("chinchilla")]
    data = common_rows(read, read_table(table), FitOptions(drop_bad=True), positive=True)
    assert data.rows == len(table["L"]) - 1 and data.dropped == 1
    assert np.array_equal(data.columns[0][:2], data.columns[1])
    with pytest.raises(lawdsl.LawdslError, match="D0108"):
        common_rows(read, read_table(table), FitOptions(), positive=True)


def test_laws_in_other_units_see_the_same_measurements():
    table = cpt()
    columns = {"N [Gparam]": table["N"], "D [Gtoken]": table["D"], "r": table["r"], "L": table["L"]}
    data = rows(columns, "dcpt.l3", "chinchilla")
    assert np.allclose(data.columns[0][:2] * 1e9, data.columns[1], rtol=1e-12)
