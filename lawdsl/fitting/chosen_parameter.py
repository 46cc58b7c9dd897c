"""A parameter that is chosen before the others are fitted, in a two-step objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.linearity_criterion import LinearityCriterion
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem


@dataclass(frozen=True)
class ChosenParameter:
    """A parameter that was chosen before the fit and is fixed in it.

    Attributes:
        criterion: the criterion by which it was chosen.
        value: the chosen value.
        law: the law in which the parameter is free.
        problem: the minimisation problem of that law, with its data.
    """

    criterion: LinearityCriterion
    value: float
    law: PreparedLaw
    problem: Problem

    @classmethod
    def of(
        cls, criterion: LinearityCriterion, law: PreparedLaw, problem: Problem
    ) -> ChosenParameter:
        """The parameter at the value chosen by a criterion."""
        return cls(criterion, criterion.value(), law, problem)

    def with_entry(self, others: NDArray[Any], value: Any) -> NDArray[Any]:
        """An array of the fitted parameters, with the entry of this parameter inserted."""
        return np.insert(others, self.criterion.number, value)
