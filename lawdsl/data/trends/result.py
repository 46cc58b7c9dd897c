"""What a table says about the trends that a law claims: frozen records, and the same as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.files import plain
from lawdsl.core.records import Between

Share = Annotated[float, Between(0, 1, "a share")]

MIN_LIKELIHOOD_GAIN = 3.0  # in log-likelihood: what gains less does not tell where exceptions are


@dataclass(frozen=True)
class ExceptionRange:
    """What all exceptions have in common: no other end of a variable takes part in one.

    Attributes:
        variable: its name.
        low: the smallest of its values in an exception.
        high: the largest.
        below: the value down from which there is no exception; None where there is no such value.
        above: the value from which on there is none; None likewise.
        gain: in log-likelihood, when the differences inside are told from those outside.
    """

    variable: str
    low: float
    high: float
    below: float | None
    above: float | None
    gain: float

    @property
    def text(self) -> str:
        """As a relation: `r <= 0.1`."""
        name, low, high = self.variable, f"{self.low:.6g}", f"{self.high:.6g}"
        if self.low == self.high:
            return f"{name} = {low}"
        if self.below is None:
            return f"{name} <= {high}"
        return f"{name} >= {low}" if self.above is None else f"{low} <= {name} <= {high}"

    @property
    def elsewhere(self) -> str:
        """Where the exceptions are not, on one side: `r >= 0.2`."""
        if self.above is not None:
            return f"{self.variable} >= {self.above:.6g}"
        return f"{self.variable} <= {self.below:.6g}"


@dataclass(frozen=True)
class DifferenceNoise:
    """How sure a difference is.

    Attributes:
        source: a column of standard errors, `repeats` of the same differences, `repeated rows`;
            empty where nothing is known.
        error: the median standard error of a difference, in the output's unit; None likewise.
        df: degrees of freedom; None where the standard errors are given.
        limit: how many standard errors are too few to tell.
    """

    source: str = ""
    error: float | None = None
    df: int | None = None
    limit: float | None = None


@dataclass(frozen=True)
class DifferenceSeries:
    """One way to look at a claim: all differences of one kind.

    Attributes:
        compared: what with what: `neighbours in D`, `D first to last`.
        pairs: how many differences.
        as_claimed: how many of them go as claimed.
        too_small: how many are too small to tell.
        against: how many go the other way.
        beyond_chance: how many of these are so large that chance makes one such in 100 tables.
        largest: of those against, in the output's unit; None where there are none.
        place: of the largest.
        median: of those against.
        largest_errors: of those against, in standard errors; None where none are known.
        median_errors: of those against.
        noise: what is known of their noise.
        ranges: what those against have in common.
        sure_ranges: what those beyond chance have in common.
        contradicts: whether they contradict the claim.
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


@dataclass(frozen=True)
class Crossing:
    """The share at which a claim on a slope begins to hold, all else equal.

    Attributes:
        at: what else is equal, `N = 1.8`; empty where there is nothing else.
        estimate: where the slope changes its sign; None where it does not between measured shares.
        low: lower end of the interval.
        high: upper end of it; both are None where nothing can be said.
        why: nothing can be said; empty otherwise.
        fails: whether the claim fails at some share, beyond chance.
    """

    at: str
    estimate: Share | None
    low: Share | None
    high: Share | None
    why: str = ""
    fails: bool = False


@dataclass(frozen=True)
class Inflection:
    """The share below which a claim on a slope fails: the inflection ratio of D-CPT.

    Attributes:
        share: the variable that is a share.
        of: the law's output.
        by: the variable that it is claimed to rise or to fall with.
        rises: whether it rises with it below the share, against the claim; else it falls.
        estimate: the largest of those places at which the claim fails beyond chance; None where one
            of them has no estimate.
        low: lower end of the interval; None where none of them has one.
        high: upper end of it; None likewise.
        level: of the intervals.
        noise: where it is known from: a `column` of standard errors, `repeats` of the curves, or
            the `scatter` of points about them, which leaves out how far runs lie apart.
        places: each value of what else is equal.
    """

    share: str
    of: str
    by: str
    rises: bool
    estimate: Share | None
    low: Share | None
    high: Share | None
    level: float
    noise: str
    places: tuple[Crossing, ...]

    @property
    def text(self) -> str:
        """`r = 0.07, 95 % interval 0.05 to 0.1`."""
        if self.low is None or self.high is None:
            return "not known"
        estimate = f"{self.share} = {self.estimate:.3g}, " if self.estimate is not None else ""
        what = f"{100 * self.level:g} % interval"
        return f"{estimate}{what} {self.low:.3g} to {self.high:.3g}"

    @property
    def trend(self) -> str:
        """What happens below: `L rises with D`."""
        return f"{self.of} {'rises' if self.rises else 'falls'} with {self.by}"


@dataclass(frozen=True)
class Split:
    """The variable whose values tell best where the exceptions are.

    Attributes:
        variable: its name.
        gain: in log-likelihood, when the differences are parted at one value of it.
        parts: value or values -> for each series (against, pairs); None where the series follows
            the variable from end to end.
    """

    variable: str
    gain: float
    parts: Mapping[str, tuple[tuple[int, int] | None, ...]]


@dataclass(frozen=True)
class Trend:
    """One claim and the table.

    Attributes:
        claim: as the language prints it.
        expect: the verdict that the law's author expects of the law itself.
        verdict: `holds`, `exceptions`, `contradicted`, `too small to tell` or `nothing to compare`.
        why: nothing can be told; empty otherwise.
        series: the differences, neighbours first.
        split: where the exceptions are, where one variable tells it.
        inflection: the share below which it fails, where the table shows that it does.
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
class Trends:
    """All claims on trends that a law makes, and the table.

    Attributes:
        law: its name.
        digest: SHA-256 of what it says.
        data: the table's name.
        data_digest: SHA-256 of its numbers.
        rows: how many were used.
        dropped: how many bad ones were left out.
        where: the conditions they were chosen by.
        columns: variable or output -> the column it was read from.
        held: columns beside the variables that are held equal; repeats differ in them.
        by: columns that are held equal and in which repeats do not differ.
        unit: of the output; empty where it has none.
        trends: the claims, in the law's order.
        diagnostics: what there is to say.
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
