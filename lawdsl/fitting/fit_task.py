"""Law + table + options -> FitTask: the inputs of a fit without index sets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.lazy_modules import lazy_module
from lawdsl.core.objectives import Objective
from lawdsl.data.binding import Runs
from lawdsl.data.default_runs import bind_with_runs, requested_runs
from lawdsl.data.read import Table
from lawdsl.data.trends.inflection import inflections
from lawdsl.data.trends.inflection_result import Inflection
from lawdsl.fitting.chosen_parameter import ChosenParameter
from lawdsl.fitting.diagnostics import diagnose
from lawdsl.fitting.diagnostics.identifiability import undetermined_directions
from lawdsl.fitting.diagnostics.residuals import are_mostly_copies
from lawdsl.fitting.intervals.compute_intervals import check_method
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.penalty import Penalty
from lawdsl.fitting.preparation.prepare import (
    prepare,
    symmetries_of,
    unidentifiable_directions,
)
from lawdsl.fitting.preparation.rows_at_zero import check_rows_at_zero
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.prior_effects import PlainFit, check_usable, plain_fit
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.multistart import MAX_SEARCH_ROWS, Optimum
from lawdsl.fitting.solvers.starts import chosen_starts
from lawdsl.fitting.transforms import to_parameters
from lawdsl.language.law_changes import LawChanges
from lawdsl.law.law import Law
from lawdsl.proof.identifiability import Freedom

if TYPE_CHECKING:
    from lawdsl.fitting.preparation import parameter_choice
else:  # algebra, which few laws need here
    parameter_choice = lazy_module("lawdsl.fitting.preparation.parameter_choice")

Array = NDArray[np.float64]

# further points at which identifiability is tested, since a fit may end at a special one
OTHER_POINTS = 3


@dataclass(frozen=True)
class FitTask:
    """The inputs of one fit.

    Attributes:
        law: the law.
        prepared: the law, prepared for the numerical stages.
        problem: the minimisation problem, with its data.
        runs: the rows.
        symmetries: the unidentifiable directions of the law, which no data can determine.
        options: the options of the fit.
        chosen_parameter: the parameter that was chosen before the fit; None for none.
        inflections: the shares below which the rows contradict a claim of the law.
        plain: the fit without the priors of the law; None before it is computed, and without
            priors.
    """

    law: Law
    prepared: PreparedLaw
    problem: Problem
    runs: Runs
    symmetries: Freedom
    options: FitOptions
    chosen_parameter: ChosenParameter | None = None
    inflections: tuple[Inflection, ...] = ()
    plain: PlainFit | None = None

    def with_law(self, law: Law) -> FitTask:
        """The task of fitting a law with further bounds to the same rows."""
        prepared = prepare(law)
        problem = problem_on(prepared, self.runs, self.problem.objective)
        return replace(self, law=law, prepared=prepared, problem=problem)

    def with_penalty(self, best: Optimum) -> FitTask:
        """The task of the fit with the law's priors, from the minimum without them."""
        law, problem, priors = self.prepared, self.problem, self.law.priors
        _, bounds = diagnose.bound_findings(law, problem, best.theta)
        _, undetermined = undetermined_directions(
            law,
            problem,
            best.theta,
            bounds,
            self.other_points,
            unidentifiable_directions(self.symmetries),
        )
        plain = plain_fit(
            law,
            problem,
            best,
            undetermined,
            frozenset(bounds),
            priors,
            self.runs.groups,
            self.counts_copies_once(problem),
        )
        prepared = prepare(self.law, with_priors=True)
        posed = problem_on(prepared, self.runs, problem.objective)
        posed = replace(posed, penalty=Penalty.of(priors, law.names, plain.noise))
        return replace(self, prepared=prepared, problem=posed, plain=plain)

    def counts_copies_once(self, problem: Problem) -> bool:
        """Whether most rows are exact copies, which count as one row each, unless runs are the
        units anyway.
        """
        copied = self.runs.groups is None and any(d.code == "D0114" for d in self.runs.warnings)
        return copied and are_mostly_copies(problem)

    @cached_property
    def other_points(self) -> Array:
        """Other parameters, at which identifiability is tested, too."""
        sample = self.problem.sample(MAX_SEARCH_ROWS, self.options.seed)
        starts = chosen_starts(self.prepared, sample, OTHER_POINTS, self.options.seed)
        return to_parameters(self.problem.transforms, starts)


def bind_columns(law: Law, table: Table, objective: Objective, options: FitOptions) -> Runs:
    """Bind the columns of a table to the variables of a law."""
    runs = bind_with_runs(
        law,
        table,
        options.columns,
        where=options.where,
        drop_bad=options.drop_bad,
        positive=objective.log,
        weights=options.weights,
        run=options.run,
    )
    assert runs.target is not None
    return runs


def fit_task(
    law: Law, table: Table, runs: Runs, objective: Objective, options: FitOptions
) -> FitTask:
    """The algebra of a fit: compiled functions, symmetries, and a parameter that is chosen first."""
    prepared = prepare(law)
    problem = problem_on(prepared, runs, objective)
    check_usable(law, objective)
    check_method(objective, options.intervals)
    impossible = diagnose.insufficient_data_errors(prepared, problem)
    if impossible:
        if options.where and impossible[0].code == "D0110":
            asked = " and ".join(f"`{condition}`" for condition in options.where)
            help = f"few rows meet {asked}: keep more rows"
            impossible = [replace(d, help=help) for d in impossible]
        raise LawdslError([replace(d, place=runs.name) for d in impossible])
    chosen_parameter = None
    if objective.choice is not None:
        criterion = parameter_choice.choice_criterion(law, problem, objective.choice)
        chosen_parameter = ChosenParameter.of(criterion, prepared, problem)
        law = LawChanges.of(
            fix={chosen_parameter.criterion.choice.name: chosen_parameter.value}
        ).apply(law)
        prepared = prepare(law)
        problem = problem_on(prepared, runs, objective)
    breaks = inflections(law, table, runs, requested_runs(options.run)) if options.claims else ()
    return FitTask(
        law,
        prepared,
        problem,
        runs,
        symmetries_of(law),
        options,
        chosen_parameter,
        tuple(breaks),
    )


def problem_on(law: PreparedLaw, runs: Runs, objective: Objective) -> Problem:
    """The objective of a law on the rows of a table."""
    assert runs.target is not None
    return law.problem(runs.columns, runs.target, objective, runs.weights)


def task_of(law: Law, table: Table, objective: Objective, options: FitOptions) -> FitTask:
    """The inputs of a fit without index sets, after all checks of its law and table.

    Args:
        law, table, objective, options: see `lawdsl.fitting.fit_single.fit_one`.

    Raises:
        LawdslError: a law or table that cannot be used.
    """
    runs = bind_columns(law, table, objective, options)
    check_rows_at_zero(law, runs)
    return fit_task(law, table, runs, objective, options)
