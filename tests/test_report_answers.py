"""Sliders of answers: a table of answers, how far it may be read between them, and how that is said."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run

import lawdsl
from lawdsl.reporting.report.answer_table import GRIDS, AnswerTable, answer_table
from lawdsl.reporting.report.entries import read_entries, with_fits, with_question
from lawdsl.solving.solve import Asked

LOSS = {"E": 1.7, "A": 400.0, "B": 400.0, "alpha": 0.34, "beta": 0.28}


def runs() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    N, D = 10 ** rng.uniform(7, 9, 40), 10 ** rng.uniform(9, 11, 40)
    L = (1.7 + 400 / N**0.34 + 400 / D**0.28) * np.exp(0.002 * rng.normal(size=40))
    return {"N": N, "D": D, "L": L}


@pytest.fixture(scope="module")
def fit() -> Any:
    return lawdsl.fit("chinchilla", runs(), starts=2, claims=False, rolled_check=False)


def table_of(question: str, fit: Any, **given: float) -> tuple[Asked, AnswerTable]:
    asked = Asked(question, loss=fit)
    table = answer_table(asked, asked.answer(given))
    assert table is not None
    return asked, table


def test_what_was_asked_is_a_node_and_nodes_are_answers(fit: Any):
    asked, table = table_of("chinchilla.allocation", fit, C=1e22)
    (axis,) = table.axes
    assert axis.name == "C" and axis.unit == "FLOP" and 1e22 in axis.nodes
    assert (len(axis.nodes),) in GRIDS[1] and list(axis.nodes) == sorted(set(axis.nodes))
    for k, C in enumerate(axis.nodes):
        answer = asked.answer({"C": C}, discrepancy=0)
        assert [column.values[k] for column in table.columns[:2]] == [answer["N"], answer["D"]]
        assert (table.columns[0].low[k], table.columns[0].high[k]) == answer.ends("N")
        assert answer.goal is not None and table.columns[2].values[k] == answer.goal.value


def test_answers_between_the_nodes_are_as_near_as_is_said(fit: Any):
    asked, table = table_of("chinchilla.allocation", fit, C=1e22)
    (axis,) = table.axes
    rng = np.random.default_rng(0)
    for C in np.exp(rng.uniform(*np.log([axis.nodes[0], axis.nodes[-1]]), 12)):
        answer = asked.point({"C": C})
        assert answer.goal is not None
        for column, value in zip(
            table.columns, [answer["N"], answer["D"], answer.goal.value], strict=True
        ):
            read = table.interpolated(column.values, [C])
            # powers of C are straight lines in the logarithm; the loss bends a little
            assert read == pytest.approx(value, rel=2 * column.error + 1e-9)
    # the loss bends: an error of 0 would not have been measured
    assert table.checks == 3 and 0 < table.columns[2].error < 1e-3


SUPPLY = """question supply
uses      loss : chinchilla
given     C > 0  unit FLOP
given     supply > 0  unit token  "tokens that there are"
choose    N in (0, 1e9]  unit param
choose    D > 0  unit token
minimize  loss(N, D)
subject to 6*N*D = C
subject to D <= supply
"""


def test_where_there_is_no_answer_none_is_read(fit: Any, tmp_path: Path):
    """More compute than the largest model can spend on the tokens that there are has no answer."""
    path = tmp_path / "supply.law"
    path.write_text(SUPPLY, encoding="utf-8")
    asked, table = table_of(str(path), fit, C=1e21, supply=3e11)
    assert {"answered", "infeasible"} == set(table.statuses)
    names = [axis.name for axis in table.axes]
    tokens = next(c for c in table.columns if c.name == "D").values
    places = list(product(*(axis.nodes for axis in table.axes)))
    for place, status, value in zip(places, table.statuses, tokens, strict=True):
        given = dict(zip(names, place, strict=True))
        assert asked.point(given).status == status
        possible = given["C"] <= 6e9 * given["supply"]
        assert possible == (status == "answered") == (value is not None)
        if not possible:
            beside = [
                x * 0.9999 if x > axis.nodes[0] else x
                for axis, x in zip(table.axes, place, strict=True)
            ]
            assert table.interpolated(tokens, beside) is None
            assert table.interpolated(tokens, place) is None


def test_of_many_givens_those_that_move_the_answer_are_moved():
    asked = Asked("chinchilla.allocation", loss=LOSS)
    answer = asked.answer({"C": 1e22, "k": 7})
    table = answer_table(asked, answer)
    assert table is not None  # a setting is moved where it is not at its default
    assert {axis.name for axis in table.axes} == {"C", "k"}
    assert answer_table(asked, asked.answer({"C": 1e22})).axes[0].name == "C"  # type: ignore[union-attr]


def test_a_table_is_computed_with_as_many_answers_as_it_says(
    fit: Any, monkeypatch: pytest.MonkeyPatch
):
    calls: list[Any] = []
    point = Asked.point

    def counted(self: Asked, *values: Any, **options: Any) -> Any:
        calls.append(values)
        return point(self, *values, **options)

    monkeypatch.setattr(Asked, "point", counted)
    seen: list[tuple[int, int]] = []
    asked = Asked("chinchilla.allocation", loss=fit)
    table = answer_table(
        asked, asked.answer({"C": 1e22}), lambda done, total: seen.append((done, total))
    )
    assert table is not None and table.count == len(calls)
    assert seen[-1][0] == seen[-1][1] == len(table.statuses) + 3


@pytest.fixture(scope="module")
def page(fit: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    answer = lawdsl.solve("chinchilla.allocation", loss=fit, C=1e22)
    path = fit.report(tmp_path_factory.mktemp("page") / "report.html", answer)
    return path.read_text(encoding="utf-8")


def test_a_page_says_how_many_answers_it_computed_and_how_wrong_interpolation_is(page: str):
    assert re.search(r"\d+ answers were computed for these sliders", page)
    assert re.search(
        r"3 places in the middle between them, the interpolation was wrong by at most", page
    )
    assert "without the error of the laws" in page


def test_the_table_stands_in_the_page(page: str):
    (text,) = re.findall(r'id="answers-settings-0">(.*?)</script>', page)
    settings = json.loads(text)
    assert [axis["name"] for axis in settings["axes"]] == ["C"]
    assert set(settings["statuses"]) == {"answered"}
    assert [c["name"] for c in settings["columns"]] == ["N", "D", "loss(N, D)"]


def test_an_answer_without_its_fits_has_no_sliders(fit: Any, tmp_path: Path):
    answer = lawdsl.solve("chinchilla.allocation", loss=fit, C=1e22)
    (tmp_path / "answer.json").write_text(json.dumps(answer.to_json()), encoding="utf-8")
    made = run("report", "answer.json", "-o", "alone.html", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "answers-settings" not in (tmp_path / "alone.html").read_text(encoding="utf-8")


def test_fits_of_one_law_are_told_apart_by_the_answer(tmp_path: Path):
    """The question names its fits otherwise than the report; which is which, its values tell."""
    values = runs()
    first, second = (
        lawdsl.fit("chinchilla", {**values, "L": L}, starts=2, claims=False, rolled_check=False)
        for L in (values["L"], 1.1 * values["L"] + 0.3)
    )
    first.save(tmp_path / "one.json")
    second.save(tmp_path / "other.json")
    for chosen in ("one", "other"):
        answer = lawdsl.solve(
            "chinchilla.allocation", loss=str(tmp_path / f"{chosen}.json"), C=1e22
        )
        (tmp_path / "answer.json").write_text(json.dumps(answer.to_json()), encoding="utf-8")
        *fits, entry = read_entries(
            [str(tmp_path / f"{n}.json") for n in ("one", "other", "answer")]
        )
        entry = with_fits(replace(entry, result=with_question(entry.result)), fits)
        again = entry.result.asked.point({"C": 1e22})
        assert again["N"] == pytest.approx(answer["N"], rel=1e-9)


def test_every_cell_of_a_coarse_grid_is_compared(fit: Any, monkeypatch: pytest.MonkeyPatch):
    """A cell in which the answer moves evenly says nothing of the one with a bend."""
    monkeypatch.setattr("lawdsl.reporting.report.answer_table.GRIDS", {1: ((3,),)})
    _, table = table_of("chinchilla.allocation", fit, C=1e22)
    assert len(table.axes[0].nodes) == 3 and table.checks == 2
