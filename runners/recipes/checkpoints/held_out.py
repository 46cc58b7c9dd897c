"""Tables of the same runs with other checkpoints -> how well a fit to each predicts all that was measured.

    python -m lawdsl.runners.recipes.checkpoints.held_out DENSE.csv OTHER.csv...

Each law is fitted to all shares of code but one, and predicts every evaluation of that share in the first
table; a figure is of all these folds together, as Table 13 of D-CPT (Que et al. (2024), arXiv:2406.01375)
has them. The smallest and the largest share are fitted in all folds. The last lines are the same for the
validation set without the perplexity filter.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import lawdsl
from lawdsl.comparing.result import PredictionScores
from lawdsl.comparing.scores import scores
from lawdsl.data.read import read_table
from lawdsl.data.table import Table
from lawdsl.law.law import Law

LAW = "dcpt.l3"
WITHOUT = "C > C0"
"""The bound that makes the law fall with the share at the smallest D, which 256 tokens make very strong."""

LOSSES = {"general": "r_general", "code": "r_code"}
UNFILTERED = {"unfiltered": "r_code"}
STARTS = 12


def main(paths: Sequence[Path]) -> None:
    """Print the errors of each table."""
    dense = read_table(paths[0])
    law = lawdsl.load(LAW)
    tables = [(path.stem, read_table(path)) for path in paths]
    print(f"{'table':<8} {'loss':<10} {'rows':>6} {'Huber sum':>10} {'R²':>8} {'error':>8}")
    for losses, chosen in ((LOSSES, tables), (UNFILTERED, tables[:1])):
        for name, table in chosen:
            for loss, share in losses.items():
                held = held_out_scores(law, table, dense, loss, share)
                print(
                    f"{name:<8} {loss:<10} {len(table):>6,} {held.huber.sum:>10.4f} {held.r2:>8.4f}"
                    f" {held.mae:>8.4f}"
                )
    print()
    for loss in (*LOSSES, *UNFILTERED):
        last = dense.numbers("step") == dense.numbers("step").max()
        mean, error = (float(np.mean(dense.numbers(f"{x}_{loss}")[last])) for x in ("L", "se"))
        print(
            f"L_{loss:<10} {mean:.4f} ± {error:.4f} nat/token, the mean over the last rows of runs"
        )


def held_out_scores(
    law: Law, table: Table, dense: Table, loss: str, share: str
) -> PredictionScores:
    """The scores of predictions for shares that are not fitted, all folds together.

    Args:
        law: to fit.
        table: whose rows are fitted.
        dense: whose rows are predicted.
        loss: the validation set.
        share: the column that the law takes as r.
    """
    measured, predicted = [], []
    for fitted, tested in _folds(table, dense):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fold need not determine each parameter
            fit: Any = lawdsl.fit(
                law,
                _columns(fitted, loss, share),
                settings={"D_min": float(dense.numbers("D").min()) / 1e9},
                without=WITHOUT,
                starts=STARTS,
                claims=False,
                rolled_check=False,
                intervals="delta",  # profiles take longer, and are not needed
                run="run",
            )
            predicted.append(fit.predict(_columns(tested, loss, share)))
        measured.append(tested.numbers(f"L_{loss}"))
    return scores(np.concatenate(measured), np.concatenate(predicted), law.objective)


def _folds(table: Table, dense: Table) -> Iterator[tuple[Table, Table]]:
    """For each inner share of code, the rows of the others, and all rows of that share."""
    for share in sorted(set(dense.numbers("r_code")))[1:-1]:
        yield (
            table.keep(table.numbers("r_code") != share),
            dense.keep(dense.numbers("r_code") == share),
        )


def _columns(table: Table, loss: str, share: str) -> dict[str, Any]:
    """The variables of the law; N and D in billions."""
    return {
        "N": table.numbers("N") / 1e9,
        "D": table.numbers("D") / 1e9,
        "r": table.numbers(share),
        "L": table.numbers(f"L_{loss}"),
        "run": table.texts("run"),
    }


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit("usage: held_out DENSE.csv OTHER.csv...")
    main([Path(name) for name in sys.argv[1:]])
