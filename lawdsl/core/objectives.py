"""The function that a fit minimises, as a record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from lawdsl.core.losses import HUBER, INTERNAL, LOSSES, Loss, asymmetric


@dataclass(frozen=True)
class ParameterChoice:
    """`c = straightest(log(L - c), 1000)`: a parameter that is chosen before the others are fitted.

    The candidates are `count` evenly spaced values from its lower bound to the smallest measured L,
    which is excluded. The chosen candidate is the one at which log(L - c) is closest to a linear
    function; where `count` is None, every value is a candidate.
    """

    name: str
    count: int | None = None

    def text(self, output: str) -> str:
        """The choice in the syntax of a law."""
        count = "" if self.count is None else f", {self.count}"
        return f"straightest(log({output} - {self.name}){count})"


@dataclass(frozen=True)
class Objective:
    """The function that a fit minimises: the sum over rows of a loss of residuals of L or log(L).

    `choice` is a parameter that is chosen before the fit and then fixed.
    """

    loss: str = HUBER.name  # of the rows in `lawdsl.core.losses`
    log: bool = True
    delta: float = 1e-3  # of losses with that parameter
    quantile: float = 0.5  # likewise: the share of the measurements below the fit
    choice: ParameterChoice | None = None
    over: float = 1.0  # how many times an over-estimate counts

    @property
    def row(self) -> Loss:
        """The record of its loss function."""
        row = LOSSES.get(self.loss) or INTERNAL[self.loss]
        return row if self.over == 1 else asymmetric(row)

    @property
    def parameters(self) -> tuple[float, ...]:
        """The values of the parameters of its loss."""
        return tuple(getattr(self, name) for name in self.row.parameters)

    @property
    def is_centered(self) -> bool:
        """Whether residuals are centered at 0, as those of a loss with equal sides are."""
        return self.row.is_centered(*self.parameters)

    def with_parameters(self, *values: float) -> Objective:
        """The objective with other values of the parameters of its loss."""
        changes: dict[str, Any] = dict(zip(self.row.parameters, values, strict=True))
        return replace(self, **changes)

    @property
    def name(self) -> str:
        """The objective as text, for an output called L."""
        return self.text("L")

    def text(self, output: str) -> str:
        """The objective in the syntax of a law, for an output of the given name."""
        scale = f"log({output})" if self.log else output
        choice = self.choice
        more = "" if choice is None else f", {choice.name} = {choice.text(output)}"
        return self.row.text(scale, *self.parameters, more=more)
