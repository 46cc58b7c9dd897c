"""Law -> PreparedLaw: the stage of a fit in which algebra is performed, or deferred until needed.

The algebra of recent laws is kept, since a law is often fitted to many tables.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.core.recent import Recent
from lawdsl.fitting.preparation.build_problem import (
    compile_law,
    is_computed_on_arrays,
    is_large,
    problem_of_logarithms,
    solved_factors,
)
from lawdsl.fitting.preparation.centred_powers import centred_search
from lawdsl.fitting.preparation.hidden_labels import hidden_labels
from lawdsl.fitting.preparation.start_draws import draw_values
from lawdsl.fitting.preparation.start_points import declared_points, values_at_start
from lawdsl.fitting.preparation.symbolic_linearity import (
    coefficients,
    has_logarithm,
    linear_parameters,
)
from lawdsl.fitting.preparation.undefined_terms import undefined_term
from lawdsl.fitting.prepared_law import (
    ParameterBound,
    ParameterDomain,
    PreparedLaw,
    UnidentifiableDirections,
    Variable,
)
from lawdsl.fitting.problem import Problem
from lawdsl.language.symbols import Declarations, Objective
from lawdsl.law.law import Law
from lawdsl.proof.identifiability import Freedom, freedom

Array = NDArray[np.float64]

KEPT_LAWS = 32
MOST_WITH_SYMMETRIES = 150  # parameters: of more, the search for symmetries runs out of time
_prepared: Recent[tuple[Declarations, PreparedLaw]] = Recent(KEPT_LAWS)
_symmetries: Recent[tuple[Declarations, Freedom]] = Recent(KEPT_LAWS)


def prepare(law: Law, with_priors: bool = False) -> PreparedLaw:
    """Prepare a law for the numerical stages of a fit.

    Args:
        law: the law; a law with index sets at its labels.
        with_priors: whether the fit has the priors of the law. Then a parameter with a prior on its
            logarithm is searched for, not solved for, although the law may be linear in it.
    """
    key = (law.name, law.digest, with_priors)
    declarations, prepared = _prepared.get(
        key, lambda: (law.declarations, _newly_prepared(law, with_priors))
    )
    # a law derived from another, such as one without some claims, may have its digest
    return prepared if declarations == law.declarations else _newly_prepared(law, with_priors)


def symmetries_of(law: Law) -> Freedom:
    """The unidentifiable directions of a law, which no data can determine; unknown for a law with
    so many parameters that the search for them would run out of time.

    Args:
        law: the law; a law with index sets at its labels.
    """
    if len(law.parameters) > MOST_WITH_SYMMETRIES:
        return Freedom(certain=False)
    declarations, symmetries = _symmetries.get(
        (law.name, law.digest),
        lambda: (law.declarations, freedom(law)),
        lambda kept: kept[1].certain,  # what ran out of time is tried again
    )
    return symmetries if declarations == law.declarations else freedom(law)


def _newly_prepared(law: Law, with_priors: bool) -> PreparedLaw:
    searched = frozenset(p.parameter for p in law.priors if p.log and with_priors)
    forms = cache(partial(compile_law, law, searched=searched))
    factors = cache(partial(solved_factors, law))

    def problem(
        columns: Array, target: Array, objective: Objective, weights: Array | None
    ) -> Problem:
        return forms(objective.log).problem(columns, target, objective, weights)

    def with_solved_factors(problem: Problem) -> Problem | None:
        # a prior on S is not a prior on exp(S)
        solved = None if problem.exponential or problem.penalty is not None else factors()
        return None if solved is None else solved.problem(problem)

    algebraic = not (is_computed_on_arrays(law) or is_large(law))
    return PreparedLaw(
        name=law.name,
        output=law.output,
        parameters=tuple(
            ParameterDomain(q.name, tuple(ParameterBound(b.relation, b.text) for b in q.bounds))
            for q in law.parameters
        ),
        variables=tuple(Variable(q.name, q.unit) for q in law.variables),
        on_arrays=is_computed_on_arrays(law),
        is_large=is_large(law),
        problem=problem,
        with_solved_factors=with_solved_factors,
        centred=partial(centred_search, law, partial(_newly_prepared, with_priors=False)),
        of_logarithms=partial(problem_of_logarithms, law, forms),
        draw=partial(draw_values, law),
        declared_points=partial(declared_points, law),
        placed=lambda values: values_at_start(
            law, {k: sp.Float(float(x), 17) for k, x in values.items()}
        ),
        linear=cache(partial(linear_parameters, law)),
        coefficients=cache(partial(coefficients, law)),
        has_logarithm=cache(partial(has_logarithm, law)),
        symbols_of_slope=cache(
            lambda name: _names(sp.diff(law.expression, law.symbols[name]).free_symbols)
        ),
        symbols_of_merged_slope=cache(lambda name: _names(law.derivative(name).free_symbols)),
        undefined_term=partial(undefined_term, law) if algebraic else lambda point: "",
        hidden_labels=hidden_labels(law),
    )


def unidentifiable_directions(symmetries: Freedom) -> UnidentifiableDirections:
    """The properties of the symmetries of a law that a fit needs.

    Args:
        symmetries: the symmetries of the law, whose directions no data can determine.
    """
    return UnidentifiableDirections(symmetries.lost, symmetries.parameters, symmetries.held)


def _names(symbols: set[sp.Symbol]) -> frozenset[str]:
    return frozenset(symbol.name for symbol in symbols)
