"""The protocols of a comparison, with what those that hold out the largest runs need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ProtocolOptions:
    """How rows are held out.

    Attributes:
        names: the protocols; None for the default ones.
        cost: formula of what a row costs, a product of variables, columns and numbers; None for
            a column `cost`, else 6*N*D.
        discrepancy: the error of the law per decade that intervals contain; None for the default, 0
            for laws assumed to be correct, "learned" for what the smaller runs themselves show.
    """

    names: Sequence[str] | None = None
    cost: str | None = None
    discrepancy: float | Literal["learned"] | None = None
