"""The interface of the methods of intervals, which are the modules in METHODS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.fitting.intervals.covariance import Covariance
from lawdsl.fitting.intervals.m_estimator import Groups
from lawdsl.fitting.linearity_criterion import LinearityCriterion
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class LinearisedErrors:
    """Standard errors and intervals of the parameters, from the linearised fit.

    Attributes:
        free: the unconstrained parameters of the fit, shape (parameters,).
        covariance: the covariance of the unconstrained parameters, shape (parameters, parameters);
            nan for parameters on a bound or undetermined, and where rounding errors dominate; empty
            where only the variances are computed, by blocks.
        variances: its diagonal, shape (parameters,).
        inflation: for each parameter, the ratio of the variance under independence of runs to that
            under independence of rows, shape (parameters,); 1 without runs. It is below 1 for a
            parameter determined within each run, if rows of a run share most of their error.
        errors: standard errors of the parameters, shape (parameters,).
        low, high: ends of the intervals, shape (parameters,); nan for parameters without one.
        half_width: the half width of the intervals, in standard errors of the unconstrained
            parameters.
        narrowest: the smallest singular value of the scaled Jacobian above rounding error, relative
            to the largest: the inverse of its condition number.
    """

    free: Array
    covariance: Array
    variances: Array
    inflation: Array
    errors: Array
    low: Array
    high: Array
    half_width: float
    narrowest: float


@dataclass(frozen=True)
class IntervalTask:
    """The fit whose intervals are computed.

    Attributes:
        problem: the objective to be minimised, with its data.
        uncoupled: the problem without the bounds that depend on other parameters.
        theta: the fitted parameters, shape (parameters,).
        names: the names of the parameters.
        on_bound: the mask of parameters on a bound, shape (parameters,).
        undetermined: the mask of parameters that the data do not determine, shape (parameters,).
        options: the options of the fit: level, resamples, seed and progress.
        linearised: the standard errors and intervals of the linearised fit.
        groups: the training run of each row, shape (rows,).
        criterion: the criterion by which a parameter is chosen before the fit; None for none.
    """

    problem: Problem
    uncoupled: Problem
    theta: Array
    names: tuple[str, ...]
    on_bound: Mask
    undetermined: Mask
    options: FitOptions
    linearised: LinearisedErrors
    groups: Groups = None
    criterion: LinearityCriterion | None = None

    @property
    def free(self) -> int:
        """The number of parameters that are not on a bound."""
        return int(np.sum(~self.on_bound))


@dataclass(frozen=True)
class IntervalEnds:
    """Standard errors and ends of intervals.

    Attributes:
        errors: standard errors of the parameters, shape (parameters,).
        low, high: ends of the intervals, shape (parameters,); nan for parameters without one.
        lower: parameters with a lower objective than the fit, if the method found some.
        covariance: the covariance of the parameters, where the method computes one that replaces
            that of the linearised fit.
        resamples: the number of refits of the method.
        failed: the number of refits that did not converge to a minimum.
        notes: the diagnostics.
    """

    errors: Array
    low: Array
    high: Array
    lower: Array | None = None
    covariance: Covariance | None = None
    resamples: int = 0
    failed: int = 0
    notes: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class IntervalMethod:
    """A method of intervals, which its module defines under the name METHOD.

    Attributes:
        ends: the function that computes the intervals, or returns a diagnostic that explains why
            there are none.
        min_excess_units: the number of rows or runs required beyond the number of parameters.
        on_bounds: whether parameters on a bound have intervals.
        repeats_choice: whether the method repeats the choice of a parameter before the fit.
    """

    ends: Callable[[IntervalTask], IntervalEnds | Diagnostic]
    min_excess_units: int = 0
    on_bounds: bool = False
    repeats_choice: bool = False
