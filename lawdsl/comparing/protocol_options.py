"""The protocols of a comparison, and the options of those that hold out the largest runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ProtocolOptions:
    """Options for holding out rows.

    Attributes:
        names: the protocols; None for the default ones.
        cost: the formula of the cost of a row, a product of variables, columns and numbers; None
            for the column `cost` if there is one, else 6*N*D.
        discrepancy: the error of the law per decade that intervals include; None for the default, 0
            for laws assumed to be correct, "learned" for that estimated from the smaller runs.
    """

    names: Sequence[str] | None = None
    cost: str | None = None
    discrepancy: float | Literal["learned"] | None = None
