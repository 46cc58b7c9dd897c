"""The frozen records of a table of scores: laws x protocols x groups x losses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from lawdsl.comparing.result import ComparedLaw
from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.files import plain
from lawdsl.core.records import to_plain
from lawdsl.fitting.result_parts import OrNan

Score = Literal["huber_sum", "huber_mean", "r2"]


@dataclass(frozen=True)
class FoldScores:
    """The scores of a law on one fold.

    Attributes:
        fold: the label of the fold.
        part: the part of the protocol.
        fitted: the number of rows fitted.
        tested: the number of rows predicted.
        huber_sum: Huber's loss of the log residuals of the tested rows, summed; nan without a fit,
            or where the law has no value on some row.
        huber_mean: the same, per row.
        r2: R² of the tested rows.
        agreed: the number of starts that reached the best minimum.
        converged: whether the search ended in a minimum.
        not_identified: the parameters that the fitted rows do not determine.
        failed: the reason why there is no score; empty otherwise.
    """

    fold: str
    part: str
    fitted: int
    tested: int
    huber_sum: OrNan
    huber_mean: OrNan
    r2: OrNan
    agreed: int = 0
    converged: bool = False
    not_identified: tuple[str, ...] = ()
    failed: str = ""


@dataclass(frozen=True)
class ScoreCell:
    """The folds of one law, protocol, group and loss."""

    loss: str
    group: str
    law: str
    protocol: str
    folds: tuple[FoldScores, ...]

    def mean(self, score: Score, part: str = "") -> float:
        """The mean of a score over the folds, or over those of one part; nan if one has none.

        Args:
            score: `huber_sum`, `huber_mean` or `r2`.
            part: the part of the protocol; empty for all folds.
        """
        return _mean(getattr(fold, score) for fold in self.folds if part in ("", fold.part))


@dataclass(frozen=True)
class ScoreTable:
    """The scores of laws by several protocols, as in the tables of papers.

    Attributes:
        laws: the laws in the order given.
        protocols: the protocols in their textual form.
        losses: the names of the losses; a single empty name where the laws predict one output.
        by: what the groups are called; empty without groups.
        groups: the groups; a single empty name without groups.
        rows: (loss, group) -> the number of rows.
        data: the name of the table.
        where: the conditions on its rows.
        objective: the objective of every fit.
        delta: delta of Huber's loss in the scores.
        cells: the scores.
        diagnostics: warnings and findings.
        starts: the starts of each fit.
        seed: the seed of the starts.
    """

    laws: tuple[ComparedLaw, ...]
    protocols: tuple[str, ...]
    losses: tuple[str, ...]
    by: str
    groups: tuple[str, ...]
    rows: Mapping[tuple[str, str], int]
    data: str
    where: tuple[str, ...]
    objective: str
    delta: float
    cells: tuple[ScoreCell, ...] = field(repr=False)
    diagnostics: tuple[Diagnostic, ...] = field(repr=False)
    starts: int = 0
    seed: int = 0

    def cell(self, law: str, protocol: str, loss: str = "", group: str = "") -> ScoreCell:
        """The cell of a law, protocol, loss and group.

        Raises:
            KeyError: there is no such cell.
        """
        for cell in self.cells:
            if (cell.law, cell.protocol, cell.loss, cell.group) == (law, protocol, loss, group):
                return cell
        raise KeyError(", ".join(filter(None, (law, protocol, loss, group))))

    def mean(
        self, score: Score, law: str, protocol: str, loss: str = "", *, part: str = ""
    ) -> float:
        """The mean of a score over the groups of its means over the folds, as in papers.

        Args:
            score: `huber_sum`, `huber_mean` or `r2`.
            law: the name of the law.
            protocol: the protocol in its textual form.
            loss: the name of the loss.
            part: the part of the protocol; empty for all folds.

        Returns:
            The mean; nan if some fold of some group has no score.
        """
        return _mean(
            self.cell(law, protocol, loss, group).mean(score, part) for group in self.groups
        )

    def parts(self, protocol: str) -> tuple[str, ...]:
        """The parts of a protocol, without the whole."""
        folds = (fold for cell in self.cells if cell.protocol == protocol for fold in cell.folds)
        return tuple(dict.fromkeys(fold.part for fold in folds if fold.part))

    def tested(self, protocol: str, part: str = "") -> tuple[int, int]:
        """The smallest and the largest number of rows that a fold tests."""
        counts = [
            fold.tested
            for cell in self.cells
            if cell.protocol == protocol
            for fold in cell.folds
            if part in ("", fold.part)
        ]
        return min(counts), max(counts)

    def to_json(self) -> dict[str, Any]:
        """The table as plain data; the keys are stable. Non-finite numbers become null."""
        scores: tuple[Score, ...] = ("huber_sum", "huber_mean", "r2")
        averages = [
            {"law": law.name, "protocol": protocol, "part": part, "loss": loss}
            | {s: self.mean(s, law.name, protocol, loss, part=part) for s in scores}
            for protocol in self.protocols
            for part in ("", *self.parts(protocol))
            for loss in self.losses
            for law in self.laws
        ]
        document: dict[str, Any] = plain(
            {
                "laws": [asdict(law) for law in self.laws],
                "protocols": list(self.protocols),
                "losses": list(self.losses),
                "by": self.by,
                "groups": list(self.groups),
                "rows": [{"loss": k[0], "group": k[1], "rows": n} for k, n in self.rows.items()],
                "data": self.data,
                "where": list(self.where),
                "objective": self.objective,
                "delta": self.delta,
                "averages": averages,
                "cells": [
                    to_plain(cell) | {s: cell.mean(s) for s in scores} for cell in self.cells
                ],
                "starts": self.starts,
                "seed": self.seed,
            }
        )
        return document


def _mean(values: Iterable[float]) -> float:
    """The mean; nan if a value is not finite, or there is none."""
    listed = list(values)
    if not listed or not all(map(math.isfinite, listed)):
        return math.nan
    return math.fsum(listed) / len(listed)
