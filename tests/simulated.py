"""Cases of fits whose best objective is known: a law, a table, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from lawdsl.fitting.fit import chosen_objective
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.law.law import Law

Array = np.ndarray


@dataclass(frozen=True)
class Case:
    """A law and a table, with the best known objective or the parameters that made the table.

    Attributes:
        name: its name.
        law: the lines of the law below its header.
        table: variable or output -> column.
        known: the best known objective.
        truth: the parameters that made the table, if it is simulated.
        objective: the objective, if it is not the law's own.
        rounding: the objective of a fit that is exact up to rounding.
    """

    name: str
    law: str
    table: Mapping[str, Array] = field(repr=False)
    known: float = np.nan
    truth: Mapping[str, float] | None = None
    objective: str | None = None
    rounding: float = 0.0

    def objective_at_truth(self, law: Law) -> float:
        """The objective of the parameters that made the table."""
        assert self.truth is not None
        columns = np.array([self.table[q.name] for q in law.variables])
        objective = chosen_objective(law, self.objective, None)
        problem = problem_of(law, columns, np.asarray(self.table[law.output]), objective)
        theta = np.array([[self.truth[q.name] for q in law.parameters]])
        return float(problem.losses_at(theta)[0])
