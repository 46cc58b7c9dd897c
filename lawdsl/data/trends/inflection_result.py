"""Shares at which a claim on a slope begins to hold: frozen records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lawdsl.core.records import Between

Share = Annotated[float, Between(0, 1, "a share")]


@dataclass(frozen=True)
class Crossing:
    """The share at which a claim on a slope begins to hold, all else equal.

    Attributes:
        at: the fixed values of the other variables, `N = 1.8`; empty without other variables.
        estimate: the share at which the slope changes its sign; None if it does not change between
            measured shares.
        low: lower end of the interval.
        high: upper end of the interval; both are None where nothing can be concluded.
        why: the reason why nothing can be concluded; empty otherwise.
        fails: whether the claim fails significantly at some share.
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
        of: the name of the law's output.
        by: the variable with which the output is claimed to rise or fall.
        rises: whether it rises with that variable below the share, against the claim; else it
            falls.
        estimate: the largest of the estimates at places where the claim fails significantly; None
            if one of these has no estimate.
        low: lower end of the interval; None if no place has one.
        high: upper end of the interval; None if no place has one.
        level: the confidence level of the intervals.
        noise: the source of the standard errors: a `column`, `repeats` of the curves, or the
            `scatter` of points about them, which does not include the variation between runs.
        places: the crossing for each combination of the other values.
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
        """The estimate as text: `r = 0.07, 95 % interval 0.05 to 0.1`."""
        if self.low is None or self.high is None:
            return "not known"
        estimate = f"{self.share} = {self.estimate:.3g}, " if self.estimate is not None else ""
        what = f"{100 * self.level:g} % interval"
        return f"{estimate}{what} {self.low:.3g} to {self.high:.3g}"

    @property
    def trend(self) -> str:
        """The trend below the share: `L rises with D`."""
        return f"{self.of} {'rises' if self.rises else 'falls'} with {self.by}"
