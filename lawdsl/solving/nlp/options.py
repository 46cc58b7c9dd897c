"""Options of a search for the optimum in several unknowns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NlpOptions:
    """Options of the search for the optimum of a problem.

    Attributes:
        starts: the number of local searches, at least 1; None for the default: one if that yields a
            certified optimum of a convex problem, else `DEFAULT_STARTS`.
        seed: the seed of all random draws, at least 0; equal problems and options give equal
            solutions.

    Raises:
        ValueError: a number of starts below 1, or a negative seed.
    """

    starts: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.starts is not None and self.starts < 1:
            raise ValueError(f"starts is {self.starts}; give at least 1, or None")
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}; give a number that is not negative")
