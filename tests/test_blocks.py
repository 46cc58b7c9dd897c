"""Laws of many parameters in blocks: what is computed block by block is what dense matrices give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from labelled import SHARED_EXPONENTS
from numpy.typing import NDArray

import lawdsl
from lawdsl.data.row_codes import row_codes
from lawdsl.fitting import arrow, problem
from lawdsl.fitting.arrow import arrow_of, gradient_of, normal_matrix
from lawdsl.fitting.jacobian_triangle import jacobian_triangle
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.result_by_label import Fits

Array = NDArray[np.float64]

LABELS = 21  # 65 parameters


def law_of(
    folder: Path, objective: str = "squared(log(L))", text: str = SHARED_EXPONENTS
) -> lawdsl.Law:
    path = folder / "shared.law"
    path.write_text(text.format(objective=objective))
    return lawdsl.load(path)


def table_of(labels: int = LABELS, rows: int = 12, uneven: bool = False) -> dict[str, object]:
    """Runs of each label; of the later labels some are left out."""
    rng = np.random.default_rng(1)
    domain = np.repeat(np.arange(labels), rows)
    n, d = 10 ** rng.uniform(-1, 1, len(domain)), 10 ** rng.uniform(0.3, 2.3, len(domain))
    e, a, b = (rng.uniform(*ends, labels)[domain] for ends in ((1.0, 2.5), (0.3, 1.5), (0.5, 3.0)))
    loss = (e + a / n**0.34 + b / d**0.28) * np.exp(rng.normal(0, 0.004, len(domain)))
    kept = rng.permutation(len(domain))
    if uneven:
        kept = kept[(domain[kept] < 5) | (rng.uniform(size=len(kept)) < 0.7)]
    names = np.array([f"d{k:02}" for k in domain])
    return {"domain": names[kept], "N": n[kept], "D": d[kept], "L": loss[kept]}


def both(law: lawdsl.Law, table: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> list[Fits]:
    """The fit by blocks, and by dense matrices."""
    fits = []
    for least in (2, 10**9):
        monkeypatch.setattr(problem, "MIN_ARROW_PARAMETERS", least)
        fit = lawdsl.fit(law, table, rolled_check=False)
        assert isinstance(fit, Fits)
        fits.append(fit)
    return fits


@pytest.mark.parametrize("objective", ["squared(log(L))", "huber(log(L), 1e-3)", "squared(L)"])
def test_fits_by_blocks_are_those_by_dense_matrices(
    objective: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    law = law_of(tmp_path, objective)
    (blocks,), (dense,) = (f.parts for f in both(law, table_of(8, uneven=True), monkeypatch))
    assert blocks.converged and dense.converged
    assert blocks.objective.sum <= dense.objective.sum * (1 + 1e-9)
    np.testing.assert_allclose(blocks.objective.sum, dense.objective.sum, rtol=1e-7)
    names = list(dense.intervals.errors)
    assert names == list(blocks.intervals.errors)
    for name in names:
        assert blocks.values[name] == pytest.approx(dense.values[name], rel=1e-4)
        assert blocks.intervals.errors[name] == pytest.approx(
            dense.intervals.errors[name], rel=1e-3
        )
    assert blocks.verdict == dense.verdict
    least = blocks.optimality.curvature, dense.optimality.curvature
    assert least[0] == pytest.approx(least[1], rel=0.01)


def test_a_label_that_its_rows_do_not_determine_is_named(tmp_path: Path):
    """Two rows of a label do not tell its three parameters."""
    table = table_of()
    few = np.flatnonzero(table["domain"] == "d03")[2:]  # type: ignore[comparison-overlap]
    table = {name: np.delete(column, few) for name, column in table.items()}  # type: ignore[arg-type]
    fit = lawdsl.fit(law_of(tmp_path), table, rolled_check=False)
    (finding,) = [d for d in fit.diagnostics if d.code == "F0101"]
    assert all(name in finding.message for name in ("E[d03]", "A[d03]", "B[d03]"))
    assert "d04" not in finding.message and "alpha" not in finding.message
    assert fit.verdict_for("parameters") == "not trusted"


def test_an_outlier_of_one_label_is_found(tmp_path: Path):
    table = table_of(40)
    loss = np.array(table["L"])
    loss[100] *= 1.2
    fit = lawdsl.fit(law_of(tmp_path), {**table, "L": loss}, rolled_check=False)
    assert any(d.code == "F0115" for d in fit.diagnostics)


def test_a_bound_of_one_label_is_found(tmp_path: Path):
    """The loss of one label does not depend on its size of models."""
    table = table_of()
    is_flat = table["domain"] == "d05"
    loss = np.where(is_flat, 2 + np.array(table["N"]) ** 0.1 / 10, np.array(table["L"]))  # type: ignore[operator]
    fit = lawdsl.fit(law_of(tmp_path), {**table, "L": loss}, rolled_check=False)
    assert isinstance(fit, Fits)
    (bound,) = [d.message for d in fit.diagnostics if d.code == "F0103"]
    assert "A[d05]" in bound
    assert fit.parts[0].converged and fit.parts[0].agreement.agreed >= 5


def test_bounds_on_both_sides_are_kept(tmp_path: Path):
    text = SHARED_EXPONENTS.replace("alpha, beta > 0", "alpha, beta in [0.05, 0.3]")
    fit = lawdsl.fit(law_of(tmp_path, text=text), table_of(), rolled_check=False)
    assert isinstance(fit, Fits)
    (part,) = fit.parts
    assert part.values["alpha"] == pytest.approx(0.3)
    assert 0.05 < part.values["beta"] <= 0.3


def test_the_seed_decides_and_given_starts_are_used(tmp_path: Path):
    law, table = law_of(tmp_path), table_of()
    fits = [
        lawdsl.fit(law, table, seed=seed, claims=False, rolled_check=False) for seed in (1, 1, 2)
    ]
    sums = [f.parts[0].objective.sum for f in fits if isinstance(f, Fits)]
    assert sums[0] == sums[1]
    assert sums[0] == pytest.approx(sums[2], rel=1e-9)


@pytest.mark.parametrize("uneven", [False, True])
def test_equations_by_blocks_are_the_dense_ones(uneven: bool, tmp_path: Path):
    posed, theta = posed_at_random(tmp_path, uneven)
    found = posed.arrow
    assert found is not None
    assert {posed.transforms[i].name for i in found.border} == {"alpha", "beta"}
    residual, jacobian = (x[0] for x in posed.slopes(theta))
    ordered, compact = posed.compact_slopes(theta)
    np.testing.assert_allclose(ordered[0], residual[found.order])
    weights = np.random.default_rng(0).uniform(0.5, 2, len(residual))
    matrix = normal_matrix(found, compact, weights[None, found.order])
    gram = jacobian.T @ (weights[:, None] * jacobian) + np.eye(len(theta[0]))
    matrix = matrix.plus(np.ones_like(theta))
    np.testing.assert_allclose(matrix.diagonal[0], np.diag(gram))
    gradient = gradient_of(found, compact, (weights * residual)[None, found.order])[0]
    np.testing.assert_allclose(gradient, jacobian.T @ (weights * residual))
    solved = matrix.solve(gradient[None])[0]
    np.testing.assert_allclose(solved, np.linalg.solve(gram, gradient), rtol=1e-8)
    inverse = matrix.inverse_diagonal()[0]
    np.testing.assert_allclose(inverse, np.diag(np.linalg.inv(gram)), rtol=1e-8)


def posed_at_random(folder: Path, uneven: bool) -> tuple[Problem, Array]:
    """The problem of the law on a table, and parameters of shape (1, parameters)."""
    from lawdsl.data.melt import labelled
    from lawdsl.data.read import read_table
    from lawdsl.fitting.fit_task import bind_columns
    from lawdsl.fitting.options import FitOptions

    law = law_of(folder)
    rows = labelled(law.declarations, read_table(table_of(uneven=uneven)), {})
    own = law.at_labels(rows.instance)
    runs = bind_columns(own, rows.keep({}), own.objective, FitOptions(columns=rows.columns))
    assert runs.target is not None
    posed = problem_of(own, runs.columns, runs.target, own.objective)
    theta = np.random.default_rng(3).uniform(0.3, 1.5, (1, posed.parameters))
    return posed, theta


def test_crossed_labels_have_the_smaller_set_as_the_border():
    """Forty labels of one kind, three of another, all combinations."""
    first, second = (x.ravel() for x in np.meshgrid(np.arange(40), np.arange(3)))
    found = arrow_of(np.stack([np.tile(first, 4), 40 + np.tile(second, 4)]), 43)
    assert found is not None
    assert sorted(found.border) == [40, 41, 42]
    assert found.members.shape == (40, 1)


def test_parameters_that_all_act_on_every_row_have_no_blocks():
    assert arrow_of(np.repeat(np.arange(80)[:, None], 100, axis=1), 80) is None


def test_a_triangle_in_pieces_is_that_of_the_jacobian(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    posed, theta = posed_at_random(tmp_path, uneven=True)
    jacobian = posed.slopes(theta)[1][0]
    monkeypatch.setattr(problem, "MAX_ARRAY_NUMBERS", 90 * posed.parameters)
    assert len(list(posed.pieces(posed.parameters))) > 2
    triangle, is_finite = jacobian_triangle(posed, theta[0])
    assert is_finite.all()
    np.testing.assert_allclose(triangle.T @ triangle, jacobian.T @ jacobian, rtol=1e-10, atol=1e-12)


def test_long_tables_have_the_intervals_of_their_jacobian(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(2)
    n, d = 10 ** rng.uniform(7.8, 10.2, 400), 10 ** rng.uniform(8.5, 11.5, 400)
    loss = (1.8172 + 482.01 / n**0.3478 + 2085.43 / d**0.3658) * np.exp(rng.normal(0, 0.01, 400))
    whole = lawdsl.fit("chinchilla", {"N": n, "D": d, "L": loss}, weights=np.ones(400) * 2)
    for module in ("intervals.delta", "intervals.covariance", "diagnostics.identifiability"):
        monkeypatch.setattr(f"lawdsl.fitting.{module}.is_long", lambda posed: posed.rows > 99)
    pieces = lawdsl.fit("chinchilla", {"N": n, "D": d, "L": loss}, weights=np.ones(400) * 2)
    assert pieces.intervals.errors == pytest.approx(whole.intervals.errors, rel=1e-9)
    np.testing.assert_allclose(pieces.spread.covariance, whole.spread.covariance, rtol=1e-7)
    assert [d.code for d in pieces.diagnostics] == [d.code for d in whole.diagnostics]


def test_rows_are_numbered_as_sorted_rows():
    rng = np.random.default_rng(4)
    columns = [rng.integers(0, 2, 500) * 1.0 for _ in range(90)]
    columns = [columns[0], rng.normal(size=5)[rng.integers(0, 5, 500)], *columns[1:]]
    columns = [np.concatenate([c, c[::-1]]) for c in columns]
    expected = np.unique(np.vstack(columns), axis=1, return_inverse=True)[1].reshape(-1)
    np.testing.assert_array_equal(row_codes(columns, 1000), expected)


def test_memory_does_not_grow_with_the_square_of_the_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """No array of a search has an entry for each pair of parameters, or for each row and parameter."""
    posed, _ = posed_at_random(tmp_path, uneven=False)
    largest = 0
    original = arrow.Arrow.compact

    def compact(self: arrow.Arrow, slopes: Array) -> Array:
        nonlocal largest
        result = original(self, slopes)
        largest = max(largest, result.shape[1])
        return result

    monkeypatch.setattr(arrow.Arrow, "compact", compact)
    lawdsl.fit(law_of(tmp_path), table_of(), claims=False, rolled_check=False)
    assert largest == 5 < posed.parameters
