"""Rankings -> Comparison: the frozen records of a comparison, and their plain data for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.files import plain
from lawdsl.core.presentation import Presented
from lawdsl.fitting.result_parts import LossTotals


@dataclass(frozen=True)
class PredictionScores:
    """The scores of a law's predictions of some rows.

    Attributes:
        objective: the objective of the comparison: sum over the rows, and mean.
        huber: Huber's loss of log residuals, with the objective's delta or 0.001; inf where a
            prediction is not above 0, nan where a measurement is not.
        r2: 1 - Σ(residual²)/Σ(distance from the mean²), of the values themselves.
        r2_log: R² of the logarithms.
        mae: mean absolute error, in the output's unit.
    """

    objective: LossTotals
    huber: LossTotals
    r2: float
    r2_log: float
    mae: float


@dataclass(frozen=True)
class IntervalScores:
    """How good the 95 % intervals of a further run are, in logarithms: 0.02 is 2 % of the output.

    Attributes:
        error: the median of |prediction/measurement - 1|.
        inside: the share of the rows whose interval contains the measurement.
        width: the median width of the intervals; inf where the fitted rows determine nothing.
        score: the mean interval score, width + 40 times what the measurement misses the interval by.
    """

    error: float
    inside: float
    width: float
    score: float


@dataclass(frozen=True)
class ScoreDifference:
    """The difference of a law's score from another's, and its interval; positive is worse.

    `clear` says whether the difference is more than noise.
    """

    value: float
    low: float
    high: float
    clear: bool


@dataclass(frozen=True)
class FoldResult:
    """The result of one law on one fold.

    Attributes:
        fold: what was tested.
        part: the part of the protocol.
        fitted: how many rows were fitted.
        tested: how many were predicted.
        parameters: name -> fitted value; empty where the fit failed.
        scores: the scores on the test rows; None where the fit failed.
        agreed: how many of the starts reached the best minimum.
        starts: how many there were.
        converged: whether the search ended in a minimum.
        not_identified: parameters that the fitted rows do not determine.
        spread: where there are such, the smallest and largest mean objective of the test rows among
            fits that describe the fitted rows equally well.
        failed: why there is no fit; empty otherwise.
        interval_scores: those of intervals, where a protocol has them; None where the fit failed.
        undetermined: why the fitted rows do not determine these intervals; empty otherwise.
    """

    fold: str
    part: str
    fitted: int
    tested: int
    parameters: Mapping[str, float]
    scores: PredictionScores | None
    agreed: int = 0
    starts: int = 0
    converged: bool = False
    not_identified: tuple[str, ...] = ()
    spread: tuple[float, float] | None = None
    failed: str = ""
    interval_scores: IntervalScores | None = None
    undetermined: str = ""


@dataclass(frozen=True)
class RankedLaw:
    """One law in one ranking.

    Attributes:
        law: its name.
        rank: the best and the worst rank compatible with the noise.
        score: what is ranked: AICc, the mean objective of a held-out row, or its interval score;
            inf where some fold has none.
        behind: the difference from the best score, with its interval; None for the best itself.
        scores: the mean of each score over the folds.
        parameters: how many the law has.
        aicc: the AICc of the fit to all rows; None where rows are held out, which needs no such
            penalty.
        folds: the result of each fold.
        interval_scores: the means of those of intervals over the folds that some law has; None
            where the protocol has no intervals.
    """

    law: str
    rank: tuple[int, int]
    score: float
    behind: ScoreDifference | None
    scores: PredictionScores
    parameters: int
    aicc: float | None
    folds: tuple[FoldResult, ...] = field(repr=False)
    interval_scores: IntervalScores | None = None

    @property
    def place(self) -> str:
        """The rank as text: `1`, or `1-2` where it is shared."""
        low, high = self.rank
        return str(low) if low == high else f"{low}-{high}"

    @property
    def failed(self) -> int:
        """The number of folds without a score."""
        return sum(bool(fold.failed) for fold in self.folds)

    @property
    def unidentified(self) -> int:
        """The number of folds in which the data do not determine some parameter."""
        return sum(bool(fold.not_identified) for fold in self.folds)


@dataclass(frozen=True)
class Ranking:
    """The ranking of the laws by one protocol, or one part of it.

    Attributes:
        protocol: its text form.
        part: early, middle or late where a protocol has several parts; else empty.
        criterion: what is ranked.
        folds: how many.
        unit: what was drawn for the intervals: values of a column, curves, or rows.
        units: how many of them.
        standings: the laws, the best first.
    """

    protocol: str
    part: str
    criterion: str
    folds: int
    unit: str
    units: int
    standings: tuple[RankedLaw, ...]

    @property
    def title(self) -> str:
        """The protocol and its part."""
        return f"{self.protocol} {self.part}".strip()


@dataclass(frozen=True)
class ComparedLaw:
    """The law that was compared."""

    name: str
    digest: str
    parameters: int
    settings: Mapping[str, float]
    dropped: tuple[str, ...]


@dataclass(frozen=True)
class ComparedData:
    """The rows that laws were compared on; `groups` is how many training runs, by the columns `runs`,
    `unit` that of the output, as text."""

    name: str
    digest: str
    rows: int
    dropped: int
    columns: Mapping[str, str]
    where: tuple[str, ...]
    runs: tuple[str, ...] = ()
    groups: int | None = None
    output: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Comparison(Presented):
    """Several laws on one table.

    Attributes:
        laws: the laws in the order given.
        data: the rows.
        objective: what every fit has minimised.
        rankings: one for each protocol, and one for each part of it.
        diagnostics: warnings and findings.
        starts: the starts of each fit.
        seed: the seed of the starts and resamples.
    """

    laws: tuple[ComparedLaw, ...]
    data: ComparedData
    objective: str
    rankings: tuple[Ranking, ...]
    diagnostics: tuple[Diagnostic, ...] = field(repr=False)
    starts: int = 0
    seed: int = 0

    def ranking(self, protocol: str, part: str = "") -> Ranking:
        """The ranking by one protocol.

        Args:
            protocol: its text form.
            part: the part of the protocol; empty for the whole.

        Raises:
            KeyError: it was not run.
        """
        for ranking in self.rankings:
            if (ranking.protocol, ranking.part) == (protocol, part):
                return ranking
        raise KeyError(f"{protocol} {part}".strip())

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain data; the keys are stable. Non-finite numbers become null."""
        rankings = []
        for ranking in self.rankings:
            content = asdict(ranking)
            for law_content, standing in zip(content["standings"], ranking.standings, strict=True):
                law_content |= {"place": standing.place, "failed": standing.failed}
                law_content |= {"unidentified": standing.unidentified}
            rankings.append(content)
        content = {
            "laws": [asdict(law) for law in self.laws],
            "data": asdict(self.data),
            "objective": self.objective,
            "rankings": rankings,
            "starts": self.starts,
            "seed": self.seed,
        }
        document: dict[str, Any] = plain(content)
        return document


@dataclass(frozen=True)
class Comparisons(Presented):
    """Several laws with index sets on one table, compared on the rows of each label.

    Attributes:
        over: the set that the labels belong to.
        parts: label -> comparison.
    """

    over: str
    parts: Mapping[str, Comparison]

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Warnings and findings, each with its label."""
        return tuple(
            replace(d, place=", ".join(filter(None, (label, d.place))))
            for label, part in self.parts.items()
            for d in part.diagnostics
        )

    def to_json(self) -> dict[str, Any]:
        """The comparisons as plain data; the keys are stable."""
        parts = {label: part.to_json() for label, part in self.parts.items()}
        return {"over": self.over, "parts": parts}
