"""What the estimated error of a law changes of an answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from commands import run

import lawdsl

BEST_LOSS = """question best "The best loss of a budget"
uses loss : chinchilla
given C > 0 unit FLOP
choose N > 0 unit param
choose D > 0 unit token
minimize loss(N, D)
subject to 6*N*D <= C
"""


def test_the_command_shows_the_goal_that_predictions_correct(tmp_path: Path):
    rng = np.random.default_rng(0)
    N, ratio = np.meshgrid([2e7, 4e7, 8e7, 1.6e8, 3.2e8], [5, 10, 20, 40, 80])
    N, D = N.ravel(), (N * ratio).ravel()
    bend = 1 - 0.02 * np.maximum(0, np.log10(6 * N * D / 1e18)) ** 1.5
    L = (1.7 + 400 / N**0.34 + 410 / D**0.28) * bend * np.exp(1e-3 * rng.normal(size=N.size))
    lawdsl.fit("chinchilla", {"N": N, "D": D, "L": L}).save(tmp_path / "fit.json")
    (tmp_path / "best.law").write_text(BEST_LOSS, encoding="utf-8")
    shown = run("solve", "best.law", "loss=fit.json", "C=1e22", cwd=tmp_path).stdout

    assert "with the estimated error of the law, as in `lawdsl predict`" in shown
