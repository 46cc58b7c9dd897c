"""A question with several unknowns -> the variables in which its choices are searched, and starts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lawdsl.solving.law_error.outcomes import Inputs, Outcomes

Array = NDArray[np.float64]

MAX_SHARE = 1.0  # an unknown with lower bound 0 that may exceed this is searched by its logarithm
REACH = 8.0 * math.log(10)  # range of such an unknown, on both sides of the middle
STARTS_WITHIN = 2.0 * math.log(10)  # range of the starts, on both sides of the middle
NEAR = 0.1  # distance of the starts around the answer, in search variables
SMALLEST = 1e-300  # smallest number whose logarithm is taken


@dataclass(frozen=True)
class SearchVariables:
    """The choices of a question, as numbers of about equal magnitude.

    Attributes:
        outcomes: the question.
        answer: name -> value at the answer by the fitted laws; empty without an answer.
    """

    outcomes: Outcomes
    answer: Mapping[str, float]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the unknowns."""
        return tuple(u.name for u in self.outcomes.formulated.unknowns)

    @cached_property
    def at_answer(self) -> Inputs | None:
        """Symbol -> value at the answer; None without an answer."""
        return self.outcomes.inputs_at(self.answer) if self.answer else None

    def named(self, y: Array) -> dict[str, float]:
        """Name -> value of one choice, for search variables of shape (unknowns,)."""
        return dict(zip(self.names, self.back(y).tolist(), strict=True))

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        """The ends of the domains, shape (unknowns,) each."""
        symbols = [u.symbol for u in self.outcomes.formulated.unknowns]
        low, high = np.full(len(symbols), -np.inf), np.full(len(symbols), np.inf)
        for symbol, relation, end in self.outcomes.limits:
            i = symbols.index(symbol)
            if relation[0] == ">":
                low[i] = max(low[i], end)
            else:
                high[i] = min(high[i], end)
        return low, high

    @cached_property
    def _middle(self) -> Array:
        """The answer; without one the middle of the domain, or of the fitted rows."""
        low, high = self._ends
        result = np.empty(len(low))
        for i, unknown in enumerate(self.outcomes.formulated.unknowns):
            if unknown.name in self.answer:
                result[i] = self.answer[unknown.name]
            elif math.isfinite(low[i]) and math.isfinite(high[i]):
                result[i] = (low[i] + high[i]) / 2
            else:
                result[i] = np.clip(self.outcomes.usual_size(unknown.symbol), low[i], high[i])
        return result

    @cached_property
    def _logs(self) -> NDArray[np.bool_]:
        """The mask of unknowns that are searched by their logarithms, shape (unknowns,)."""
        low, high = self._ends
        return (low >= 0) & (high > MAX_SHARE) & (self._middle > 0)

    @cached_property
    def _units(self) -> Array:
        """The units of the other unknowns."""
        low, high = self._ends
        spans = high - low
        usable = np.isfinite(spans) & (spans > 0)
        return np.where(usable, spans, np.maximum(np.abs(self._middle), 1.0))

    def of(self, x: Array) -> Array:
        """Choices as search variables, both of shape (…, unknowns)."""
        return np.where(self._logs, np.log(np.maximum(x, SMALLEST)), x / self._units)

    def back(self, y: Array) -> Array:
        """Search variables as choices, both of shape (…, unknowns)."""
        x = np.where(self._logs, np.exp(np.where(self._logs, y, 0.0)), y * self._units)
        return np.clip(x, *self._ends)

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """The ends of the search variables, shape (unknowns,) each."""
        low, high = (self.of(end) for end in self._ends)
        middle = self.of(self._middle)
        return (
            np.where(self._logs, np.maximum(low, middle - REACH), low),
            np.where(self._logs, np.minimum(high, middle + REACH), high),
        )

    def inputs(self, y: Array) -> Inputs:
        """Symbol -> values, for search variables of shape (points, unknowns)."""
        x = self.back(y)
        unknowns = self.outcomes.formulated.unknowns
        return {**self.outcomes.values, **{u.symbol: x[:, i] for i, u in enumerate(unknowns)}}

    def starts(self, around: int, anywhere: int, rng: np.random.Generator) -> Array:
        """Search variables to start from: the answer, some around it and some anywhere in the box.

        Args:
            around: the number of starts around the answer.
            anywhere: the number of starts in the whole box.
            rng: the random generator.

        Returns:
            Shape (1 + around + anywhere, unknowns).
        """
        low, high = self.box
        middle = self.of(self._middle)
        near = middle + NEAR * rng.normal(size=(around, len(middle)))
        closed = np.isfinite(high - low) & ~self._logs
        with np.errstate(invalid="ignore"):
            center = np.where(closed, low + (high - low) / 2, middle)
        width = np.where(closed, high - low, np.where(self._logs, 2 * STARTS_WITHIN, 2.0))
        far = center + width * (rng.random((anywhere, len(middle))) - 0.5)
        # alternating, since the first starts determine whether more are needed
        pairs = [row for pair in zip(far, near, strict=False) for row in pair]
        rest = [*far[around:], *near[anywhere:]]
        return np.clip(np.vstack([middle, *pairs, *rest]), low, high)
