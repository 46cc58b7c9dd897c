"""The frozen records of a comparison, and their plain data for JSON."""

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
    """The scores of a law's predictions for some rows.

    Attributes:
        objective: the objective of the comparison: its sum over the rows, and its mean.
        huber: Huber's loss of log residuals, with the objective's delta or 0.001; inf if a
            prediction is not positive, nan if a measurement is not.
        r2: R² = 1 - Σ residual²/Σ (deviation from the mean)² of the raw values.
        r2_log: R² of the logarithms.
        mae: the mean absolute error in the output's unit.
    """

    objective: LossTotals
    huber: LossTotals
    r2: float
    r2_log: float
    mae: float


@dataclass(frozen=True)
class IntervalScores:
    """The quality of the 95 % intervals of a further run, on the logarithmic scale: 0.02 is 2 % of
    the output.

    Attributes:
        error: the median of |prediction/measurement - 1|.
        inside: the coverage: the share of the rows whose interval contains the measurement.
        width: the median width of the intervals; inf where the fitted rows do not determine the
            predictions.
        score: the mean interval score, width + 40 times the distance of the measurement from the
            interval.
    """

    error: float
    inside: float
    width: float
    score: float


@dataclass(frozen=True)
class ScoreDifference:
    """The difference between a law's score and another's, with its interval; a positive difference
    is worse.

    `clear` states whether the difference is significant.
    """

    value: float
    low: float
    high: float
    clear: bool


@dataclass(frozen=True)
class FoldResult:
    """The result of one law on one fold.

    Attributes:
        fold: the label of the fold.
        part: the part of the protocol.
        fitted: the number of rows fitted.
        tested: the number of rows predicted.
        parameters: name -> fitted value; empty if the fit failed.
        scores: the scores on the test rows; None if the fit failed.
        agreed: the number of starts that reached the best minimum.
        starts: the number of starts.
        converged: whether the search ended in a minimum.
        not_identified: the parameters that the fitted rows do not determine.
        spread: if there are such parameters, the smallest and largest mean objective of the test
            rows among fits that describe the fitted rows equally well.
        failed: the reason why there is no fit; empty otherwise.
        interval_scores: the scores of intervals, for protocols with intervals; None if the fit
            failed.
        undetermined: the reason why the fitted rows do not determine these intervals; empty
            otherwise.
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
        law: the name of the law.
        rank: the best and the worst rank compatible with the noise.
        score: the ranked score: AICc, the mean objective of a held-out row, or the mean interval
            score; inf if some fold has no score.
        behind: the difference from the best score, with its interval; None for the best itself.
        scores: the mean of each score over the folds.
        parameters: the number of parameters.
        aicc: the AICc of the fit to all rows; None for protocols that hold rows out.
        folds: the result of each fold.
        interval_scores: the mean interval scores over the folds that some law could be fitted in;
            None for protocols without intervals.
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
        protocol: the protocol in its textual form.
        part: early, middle or late for a protocol with several parts; else empty.
        criterion: the name of the ranked score.
        folds: the number of folds.
        unit: the resampling unit of the intervals: values of a column, curves, or rows.
        units: the number of resampling units.
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
    """The rows that laws were compared on; `groups` is the number of training runs, identified by
    the columns `runs`; `unit` is the unit of the output as text.
    """

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
        objective: the objective of every fit.
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
            protocol: the protocol in its textual form.
            part: the part of the protocol; empty for the whole.

        Raises:
            KeyError: the protocol was not run.
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
