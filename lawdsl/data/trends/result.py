"""Evidence of a table about a law's trends: frozen records, and their form as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.files import plain
from lawdsl.core.presentation import Presented
from lawdsl.data.trends.inflection_result import Inflection

MIN_LIKELIHOOD_GAIN = 3.0  # log-likelihood: a smaller gain is not evidence for a location


@dataclass(frozen=True)
class ExceptionRange:
    """A range of a variable that contains all exceptions.

    Attributes:
        variable: its name.
        low: the smallest of its values in an exception.
        high: the largest of its values in an exception.
        below: the largest value below the range at which there is no exception; None if there is no
            lower value.
        above: the smallest value above the range at which there is no exception; None if there is
            no higher value.
        gain: the gain in log-likelihood from different shares of exceptions inside and outside the
            range.
    """

    variable: str
    low: float
    high: float
    below: float | None
    above: float | None
    gain: float

    @property
    def text(self) -> str:
        """The range as a relation: `r <= 0.1`."""
        name, low, high = self.variable, f"{self.low:.6g}", f"{self.high:.6g}"
        if self.low == self.high:
            return f"{name} = {low}"
        if self.below is None:
            return f"{name} <= {high}"
        return f"{name} >= {low}" if self.above is None else f"{low} <= {name} <= {high}"

    @property
    def elsewhere(self) -> str:
        """The adjacent range without exceptions, on one side: `r >= 0.2`."""
        if self.above is not None:
            return f"{self.variable} >= {self.above:.6g}"
        return f"{self.variable} <= {self.below:.6g}"


@dataclass(frozen=True)
class DifferenceNoise:
    """The noise of differences.

    Attributes:
        source: `column` of standard errors, `repeats` of the same differences, `repeated rows`;
            empty where the noise is unknown.
        error: the median standard error of a difference, in the output's unit; None where unknown.
        df: degrees of freedom; None where the standard errors are given.
        limit: the number of standard errors below which a difference is inconclusive.
    """

    source: str = ""
    error: float | None = None
    df: int | None = None
    limit: float | None = None


@dataclass(frozen=True)
class LevelCounts:
    """The differences at a value of a variable, or in a range of its values.

    Attributes:
        low: the smallest value at the lower ends of these differences.
        high: the largest value at their upper ends.
        as_claimed: the number of those with the claimed sign.
        too_small: the number of those too small to tell.
        against: the number of those with the opposite sign.
    """

    low: float
    high: float
    as_claimed: int
    too_small: int
    against: int


@dataclass(frozen=True)
class DifferenceSeries:
    """All differences of one kind, compared with a claim.

    Attributes:
        compared: the kind: `neighbours in D`, `D first to last`.
        pairs: the number of differences.
        as_claimed: the number of those with the claimed sign.
        too_small: the number of those too small to tell.
        against: the number of those with the opposite sign.
        beyond_chance: the number of those against that are significant at the 1 % level over the
            table.
        largest: the largest of those against, in the output's unit; None without any.
        place: the place of the largest.
        median: the median of those against.
        largest_errors: the largest of those against, in standard errors; None where these are
            unknown.
        median_errors: the median of those against, in standard errors.
        noise: the noise of the differences.
        ranges: the ranges shared by those against.
        sure_ranges: the ranges shared by the significant ones.
        contradicts: whether they contradict the claim.
        profiles: variable -> counts of differences at its values, or in ranges with about equal
            numbers of differences if there are many values; variables with one value are omitted.
    """

    compared: str
    pairs: int
    as_claimed: int
    too_small: int
    against: int
    beyond_chance: int
    largest: float | None
    place: str
    median: float | None
    largest_errors: float | None
    median_errors: float | None
    noise: DifferenceNoise
    ranges: tuple[ExceptionRange, ...]
    sure_ranges: tuple[ExceptionRange, ...]
    contradicts: bool
    profiles: Mapping[str, tuple[LevelCounts, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Split:
    """The variable whose values best separate the exceptions from the other differences.

    Attributes:
        variable: its name.
        gain: the gain in log-likelihood from a split at one of its values.
        parts: value or range -> (against, pairs) for each series; None if the series compares the
            ends of the variable.
    """

    variable: str
    gain: float
    parts: Mapping[str, tuple[tuple[int, int] | None, ...]]


@dataclass(frozen=True)
class Trend:
    """One claim, compared with the table.

    Attributes:
        claim: the claim as the language prints it.
        expect: the verdict that the law's author expects of the law itself.
        verdict: `holds`, `exceptions`, `contradicted`, `too small to tell` or `nothing to compare`.
        why: the reason why nothing can be concluded; empty otherwise.
        series: the differences, neighbours first.
        split: the location of the exceptions, if one variable explains it.
        inflection: the share below which the claim fails, if the table shows that it does.
    """

    claim: str
    expect: str
    verdict: str
    why: str = ""
    series: tuple[DifferenceSeries, ...] = ()
    split: Split | None = None
    inflection: Inflection | None = None

    @property
    def ok(self) -> bool:
        """Whether the table does not contradict the claim, or the law itself does."""
        return self.verdict != "contradicted" or self.expect == "refuted"


@dataclass(frozen=True)
class Trends(Presented):
    """All claims of a law on trends, compared with a table.

    Attributes:
        law: the law's name.
        digest: SHA-256 of the law.
        data: the table's name.
        data_digest: SHA-256 of its numbers.
        rows: the number of rows used.
        dropped: the number of invalid rows that were excluded.
        where: the conditions by which rows were selected.
        columns: variable or output -> the column it was read from.
        held: further columns that are equal within a comparison; repeats may differ in them.
        by: columns that are equal within a comparison and in which repeats do not differ.
        unit: the output's unit; empty where it has none.
        trends: the claims, in the law's order.
        diagnostics: the messages about the comparison.
    """

    law: str
    digest: str
    data: str
    data_digest: str
    rows: int
    dropped: int
    where: tuple[str, ...]
    columns: Mapping[str, str]
    held: tuple[str, ...]
    by: tuple[str, ...]
    unit: str
    trends: tuple[Trend, ...]
    diagnostics: tuple[Diagnostic, ...] = field(repr=False)

    @property
    def ok(self) -> bool:
        """Whether the table contradicts no claim."""
        return all(trend.ok for trend in self.trends)

    def to_json(self) -> dict[str, Any]:
        """The record as plain data; the keys are stable."""
        content = asdict(self)
        del content["diagnostics"]
        document: dict[str, Any] = plain({**content, "ok": self.ok})
        return document
