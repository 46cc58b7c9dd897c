"""Laws with index sets on arrays: the same numbers as written out, and the same slopes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import lawdsl
from lawdsl.compiling.indexed import NUMBERS
from lawdsl.compiling.indexed_model import ArrayModel
from lawdsl.fitting.preparation import build_problem
from lawdsl.fitting.preparation.build_problem import (
    MAX_WRITTEN_OUT_PARAMETERS,
    is_computed_on_arrays,
    problem_of,
)
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import to_free, to_parameters
from lawdsl.language.instances.instance import Instance
from lawdsl.law.functions import CONSTANTS
from lawdsl.law.law import Law

Array = NDArray[np.float64]

FIXTURES = Path(__file__).resolve().parent / "fixtures" / "indices"
OUTPUTS, DOMAINS = ("v", "w"), ("a", "b", "c")
MIXED = {"validation": OUTPUTS, "training": DOMAINS}
HIDDEN = {"training": DOMAINS, "1..30": tuple(map(str, range(1, 31)))}
ROWS = 9


@dataclass(frozen=True)
class Case:
    """A law at labels; `marks` are the indices of which each row has another label."""

    law: str
    instance: Instance
    marks: tuple[str, ...] = ()
    linear: int = 0


CASES = [
    Case("mixing.m1", Instance(MIXED, {"i": "v"}), linear=4),
    Case("mixing.m2", Instance(MIXED, {"i": "v"}), linear=2),
    Case("mixing.m3", Instance(MIXED, {"i": "v"}), linear=2),
    Case("mixing.m4", Instance(MIXED, {"i": "v"}), linear=2),
    Case("mixing.m4", Instance(MIXED), ("i",), 4),
    Case("mixing.explicit", Instance(MIXED), linear=4),
    Case("mixing.implicit", Instance(HIDDEN), linear=31),
    Case("mixing.bimix", Instance({"domain": DOMAINS}, {"i": "b"}), linear=2),
    Case("mixing.bimix", Instance({"domain": DOMAINS}), ("i",), 6),
    Case("mixing.additive", Instance(MIXED, {"i": "w"}), linear=3),
    Case("mixing.joint", Instance(MIXED, {"i": "w"}), linear=1),
    Case("dcpt.cross_k3", Instance({"domain": DOMAINS}, by_row=("k1", "k2")), linear=5),
    Case("pieces", Instance({"training": DOMAINS}), linear=6),
    Case("grouped", Instance({"{web, code, books}": ("web", "code", "books")}), ("g",), 5),
]


def names(case: Case) -> str:
    return f"{case.law}{''.join(case.marks)}"


def law_of(case: Case) -> Law:
    path = FIXTURES / f"{case.law}.law"
    return lawdsl.load(path if path.is_file() else case.law).at_labels(case.instance)


def columns_of(law: Law, marks: tuple[str, ...], rng: np.random.Generator) -> Array:
    """Rows inside the domain: shares of a mixture, one label of each index, other numbers near 1."""
    names = [q.name for q in law.variables]
    columns = rng.uniform(0.5, 1.5, (len(names), ROWS))
    for simplex in ("r[", "h[", "s["):
        own = [k for k, name in enumerate(names) if name.startswith(simplex)]
        columns[own] = rng.dirichlet(np.ones(len(own) + 1), ROWS).T[:-1]
    for index in marks:
        own = [k for k, name in enumerate(names) if name.startswith(f"[{index} = ")]
        columns[own] = np.eye(len(own))[:, rng.integers(0, len(own), ROWS)]
    return columns


def problems(case: Case, monkeypatch: pytest.MonkeyPatch) -> tuple[Law, Problem, Problem, Array]:
    """The problem written out, and on arrays; and parameters."""
    rng = np.random.default_rng(5)
    law = law_of(case)
    columns = columns_of(law, case.marks, rng)
    target = np.full(ROWS, 2.0)
    monkeypatch.setattr(build_problem, "MAX_WRITTEN_OUT_PARAMETERS", 10**6)
    plain = problem_of(law, columns, target, law.objective)
    monkeypatch.setattr(build_problem, "MAX_WRITTEN_OUT_PARAMETERS", -1)
    arrays = problem_of(law, columns, target, law.objective)
    theta = to_parameters(plain.transforms, 0.3 * rng.normal(size=(3, len(law.parameters))))
    return law, plain, arrays, theta


@pytest.mark.parametrize("case", [c for c in CASES if c.law != "mixing.implicit"], ids=names)
def test_values_and_slopes_are_those_of_the_law_written_out(
    case: Case, monkeypatch: pytest.MonkeyPatch
):
    _, plain, arrays, theta = problems(case, monkeypatch)
    value, slopes = plain.model.slopes(theta)
    if plain.exponential:
        value = np.exp(value)
        slopes = slopes * value[:, None]
    here, by = arrays.model.slopes(theta)
    np.testing.assert_allclose(here, value, rtol=1e-13)
    np.testing.assert_allclose(by, slopes, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("case", CASES, ids=names)
def test_slopes_are_the_limits_of_differences(case: Case, monkeypatch: pytest.MonkeyPatch):
    law = law_of(case)
    rng = np.random.default_rng(6)
    monkeypatch.setattr(build_problem, "MAX_WRITTEN_OUT_PARAMETERS", -1)
    arrays = problem_of(law, columns_of(law, case.marks, rng), np.ones(ROWS) + 1, law.objective)
    theta = to_parameters(arrays.transforms, 0.3 * rng.normal(size=(1, len(law.parameters))))
    _, slopes = arrays.model.slopes(theta)
    step = 1e-6
    for k in range(len(law.parameters)):
        up, down = theta.copy(), theta.copy()
        up[0, k] += step
        down[0, k] -= step
        found = (arrays.model.value(up) - arrays.model.value(down)) / (2 * step)
        np.testing.assert_allclose(slopes[:, k], found, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("case", CASES, ids=names)
def test_slopes_by_the_parameters_of_each_row_are_all_that_are_not_0(
    case: Case, monkeypatch: pytest.MonkeyPatch
):
    _, _, arrays, theta = problems(case, monkeypatch)
    model = arrays.model
    assert isinstance(model, ArrayModel)
    for piece in (slice(None), slice(2, 6)):
        value, slopes = model.slopes(theta, piece)
        here, by_slot = model.row_slopes(theta, piece)
        expanded = np.zeros_like(slopes)
        rows = np.arange(slopes.shape[2])
        for slot, number in enumerate(model.slots.index[:, piece]):
            expanded[:, number, rows] += by_slot[:, slot]
        np.testing.assert_array_equal(here, value)
        np.testing.assert_allclose(expanded, slopes, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", CASES, ids=names)
def test_the_linear_parameters_are_found_on_the_syntax(case: Case, monkeypatch: pytest.MonkeyPatch):
    """What is linear is linear: the value is what it is at 0 plus columns times parameters."""
    law = law_of(case)
    monkeypatch.setattr(build_problem, "MAX_WRITTEN_OUT_PARAMETERS", -1)
    rng = np.random.default_rng(7)
    arrays = problem_of(law, columns_of(law, case.marks, rng), np.ones(ROWS) + 1, law.objective)
    assert len(arrays.linear) == case.linear
    theta = to_parameters(arrays.transforms, 0.3 * rng.normal(size=(2, len(law.parameters))))
    value = arrays.model.at(theta).value(theta)
    np.testing.assert_allclose(value, arrays.model.value(theta), rtol=1e-12)


def test_pieces_of_the_rows_give_what_all_rows_give(monkeypatch: pytest.MonkeyPatch):
    _, _, arrays, theta = problems(CASES[4], monkeypatch)
    whole = arrays.model.value(theta)
    halves = [arrays.model.value(theta, piece) for piece in (slice(0, 4), slice(4, ROWS))]
    # fewer rows may go through other kernels, of BLAS and of NumPy
    np.testing.assert_allclose(np.concatenate(halves, axis=1), whole, rtol=1e-13)
    rows = np.array([7, 2])
    np.testing.assert_allclose(arrays.subset(rows).model.value(theta), whole[:, rows], rtol=1e-13)


def test_pieces_that_are_no_longer_used_are_forgotten(monkeypatch: pytest.MonkeyPatch):
    _, _, arrays, theta = problems(CASES[4], monkeypatch)
    model, rows = arrays.model, ROWS
    assert isinstance(model, ArrayModel)
    for size in range(1, 12):
        for first in range(0, rows, size):
            model.value(theta, slice(first, first + size))
    kept = sum(len(range(*slice(*piece).indices(rows))) for piece in model._known)
    assert rows <= kept <= 2 * rows


def test_laws_with_few_parameters_keep_their_second_derivatives():
    few, many = law_of(CASES[3]), law_of(next(c for c in CASES if c.law == "mixing.implicit"))
    assert len(few.parameters) <= MAX_WRITTEN_OUT_PARAMETERS < len(many.parameters)
    assert not is_computed_on_arrays(few) and is_computed_on_arrays(many)
    assert not is_computed_on_arrays(lawdsl.load("dcpt.l3"))


def test_curvatures_on_arrays_are_those_of_reweighted_squares(monkeypatch: pytest.MonkeyPatch):
    """Second derivatives are asked for, and there are none: those of Gauss and Newton are never negative."""
    _, _, arrays, theta = problems(CASES[4], monkeypatch)
    found = arrays.local_model(to_free(arrays.transforms, theta))

    assert not arrays.uses_second_derivatives()
    assert np.all(np.linalg.eigvalsh(found.hessian) >= -1e-12 * np.abs(found.hessian).max())


def test_what_is_computed_does_not_grow_with_the_labels(monkeypatch: pytest.MonkeyPatch):
    """Thirty hidden domains take the steps that two take."""
    monkeypatch.setattr(build_problem, "MAX_WRITTEN_OUT_PARAMETERS", -1)
    counts = []
    for labels in (("a", "b"), tuple(f"d{k}" for k in range(22))):
        law = lawdsl.load("mixing.implicit").at_labels(Instance({**HIDDEN, "training": labels}))
        model = build_problem.compile_array_model(law, np.zeros((len(law.variables), 1)))
        counts.append(len(model.law.steps))
    assert counts[0] == counts[1] < 20


@pytest.mark.slow
def test_a_law_of_hundreds_of_parameters_is_fitted():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(6), 240)
    effect = shares @ rng.normal(0, 1.5, (6, 2))
    table = {f"r[{k}]": column for k, column in enumerate(shares.T)}
    table["L"] = (1 + np.exp(effect).sum(1)) * np.exp(rng.normal(0, 1e-3, 240))
    fits = lawdsl.fit("mixing.implicit", table, starts=1, claims=False)
    assert len(fits.parameters) == 1 + 30 * 6
    assert fits.parts[0].metrics.r2 > 0.9999


def test_the_constants_of_formulas_are_those_of_laws_without_index_sets():
    assert {name: float(value) for name, value in CONSTANTS.items()} == NUMBERS
