"""Mixtures of small models: very many candidates, laws with index sets, runs of one size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_cli import document, lawdsl as command

import lawdsl
from lawdsl.data.read import read_table
from lawdsl.designing.runs import shortlist as shortlists
from lawdsl.designing.runs.aim import aim_at_predictions
from lawdsl.designing.runs.costs import pool_of_table
from lawdsl.designing.runs.hypotheses import hypothesis_of
from lawdsl.fitting.extrapolation.kernel import kernel, kernel_diagonal

DOMAINS = ("web", "code", "books")
T = np.array([[-2.0, 0.3, 0.1], [0.4, -1.5, 0.2]])


def mixtures(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(len(DOMAINS)), count)


def table(shares: np.ndarray, seed: int | None = None) -> dict[str, Any]:
    """Candidate mixtures, or with a seed measured ones."""
    result = {f"r_{name}": x for name, x in zip(DOMAINS, shares.T, strict=True)}
    if seed is not None:
        noise = np.random.default_rng(seed).normal(size=(len(shares), len(T)))
        losses = (1.5 + np.exp(shares @ T.T)) * np.exp(0.003 * noise)
        result |= {f"L_{name}": x for name, x in zip(("web", "code"), losses.T, strict=True)}
    return result


@pytest.fixture(scope="module")
def fits() -> Any:
    columns = {"r": "r_*", "L": "L_*"}
    return lawdsl.fit("mixing.m4", table(mixtures(12, 0), 1), columns=columns, claims=False)


POINT = {"r[web]": 0.2, "r[code]": 0.3}


def test_a_kernel_of_many_axes_is_that_of_its_definition():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(5, 6)), rng.normal(size=(4, 6))
    pairs = sum(
        np.outer(a[:, j] * a[:, k], b[:, j] * b[:, k]) for j in range(6) for k in range(j + 1, 6)
    )
    without = np.array([[kernel(p[None, :3], q[None, :3])[0, 0] for q in b] for p in a])
    assert kernel(a[:, :3], b[:, :3]) == pytest.approx(without)
    far = kernel(100 * a, 100 * b)  # where the first term vanishes
    x, y = 100 * a[:, None], 100 * b[None]
    small, large = np.minimum(abs(x), abs(y)), np.maximum(abs(x), abs(y))
    walks = np.sum(np.where(x * y > 0, small**2 * (3 * large - small) / 4, 0.0), axis=2)
    assert far == pytest.approx(walks + 1e8 * pairs, rel=1e-9)
    assert np.diag(kernel(a, a)) == pytest.approx(kernel_diagonal(a))


def test_the_screen_ranks_candidates_as_the_criterion_does(fits: Any):
    part = fits.parts[0]
    candidates = read_table(table(mixtures(200, 2)))
    pool = pool_of_table(part.read_law(), candidates, part.data.columns, None, ())
    aim = aim_at_predictions(fits, [POINT])
    ends = pool.rows[:, 0]
    screened = shortlists._drops(aim.targets[0], pool, ends, 0.02)
    exact = hypothesis_of(aim.targets[0], pool, aim.rests[0], 0.02).relative_drops(pool.rows)
    assert screened == pytest.approx(exact, rel=0.02)


def test_a_shortlist_loses_next_to_nothing(fits: Any, monkeypatch: pytest.MonkeyPatch):
    candidates = table(mixtures(400, 3))
    everything = lawdsl.design(fits, candidates, target=POINT, budget=16, most=3)
    assert everything.compared is None and everything.pool == 400 and everything.unit == "runs"
    monkeypatch.setattr(shortlists, "MAX_CANDIDATES", 40)
    monkeypatch.setattr(shortlists, "MIN_CANDIDATES", 40)
    monkeypatch.setattr(shortlists, "CHUNK", 150)
    few = lawdsl.design(fits, candidates, target=POINT, budget=16, most=3)
    assert few.compared == 40 and few.pool == 400
    for narrow, wide in zip(few.targets, everything.targets, strict=True):
        assert narrow.half == wide.half and narrow.after is not None and wide.after is not None
        assert narrow.after <= 1.05 * wide.after
    order = np.random.default_rng(0).permutation(400)
    again = lawdsl.design(fits, table(mixtures(400, 3)[order]), target=POINT, budget=16, most=3)
    chosen = [sorted(run.point.values()) for run in few.runs]
    assert np.allclose(sorted(chosen), sorted(sorted(r.point.values()) for r in again.runs))


def test_candidates_have_the_columns_of_shares_whatever_these_are_called():
    def with_columns(prefix: str, rows: dict[str, Any]) -> dict[str, Any]:
        return {name.replace("r_", prefix): x for name, x in rows.items()}

    runs, candidates = table(mixtures(12, 0), 1), table(mixtures(40, 3))
    designs = [
        lawdsl.design(
            "mixing.m4",
            with_columns(prefix, candidates),
            runs=with_columns(prefix, runs),
            target=POINT,
            budget=16,
            columns={"r": f"{prefix}*", "L": "L_*"},
        )
        for prefix in ("r_", "share of ")
    ]
    named, renamed = ([list(run.point.values()) for run in each.runs] for each in designs)
    assert named == renamed
    assert list(designs[1].runs[0].point) == ["share of web", "share of code"]


def test_first_mixtures_are_chosen_before_there_is_a_loss(tmp_path: Path):
    made = ("mixtures", "spread", *DOMAINS, "--count", "64", "-o", "mixtures.csv")
    assert command(*made, cwd=tmp_path).returncode == 0
    columns = ("r=r_*", "L=L_*", "--candidates", "mixtures.csv", "--budget", "16")
    done = command("design", "mixing.m4", *columns, "-o", "first.csv", "--json", cwd=tmp_path)
    first = document(done)["result"]
    assert first["method"] == "first" and len(first["runs"]) == 6 and first["unit"] == "runs"
    chosen = read_table(tmp_path / "first.csv")
    shares = np.array([chosen.numbers(f"r_{name}") for name in DOMAINS])
    assert np.sum(shares, axis=0) == pytest.approx(np.ones(6))
    few = table(shares.T, 4)
    design = lawdsl.design(
        "mixing.m4",
        str(tmp_path / "mixtures.csv"),
        runs=few,
        target=POINT,
        budget=16,
        columns={"r": "r_*", "L": "L_*"},
    )
    assert design.done == 6 and len(design.targets) == 2 and design.runs
