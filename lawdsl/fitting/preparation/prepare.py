"""Law -> PreparedLaw: the stage of a fit in which algebra is performed, or deferred until needed.

The algebra of recent laws is cached, since a law is often fitted to many tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.lazy_modules import lazy_module
from lawdsl.core.objectives import Objective
from lawdsl.core.recent import Recent
from lawdsl.core.records import read
from lawdsl.fitting.preparation.build_problem import (
    CompiledLaw,
    compile_law,
    compile_on_arrays,
    is_computed_on_arrays,
    is_large,
    problem_of_logarithms,
    solved_factors,
)
from lawdsl.fitting.preparation.cached_algebra import NOT_CACHED, CachedAlgebra, algebra_of
from lawdsl.fitting.preparation.hidden_labels import hidden_labels
from lawdsl.fitting.preparation.start_draws import draw_families, draw_values
from lawdsl.fitting.preparation.start_plan import StartPlan, plain_plan, plan_of_plain
from lawdsl.fitting.preparation.stored_forms import (
    factors_of_plain,
    form_of_plain,
    plain_factors,
    plain_form,
    plain_transforms,
    positions,
    transforms_of_plain,
)
from lawdsl.fitting.prepared_law import (
    CentredSearch,
    ParameterBound,
    ParameterDomain,
    PreparedLaw,
    UnidentifiableDirections,
    Variable,
)
from lawdsl.fitting.problem import Problem
from lawdsl.language.symbols import Declarations
from lawdsl.law.law import Law
from lawdsl.proof import identifiability
from lawdsl.proof.identifiability import Freedom

if TYPE_CHECKING:
    from lawdsl.fitting.preparation import (
        centred_powers,
        parameter_bounds,
        start_points,
        start_scales,
        symbolic_linearity,
        undefined_terms,
    )
else:  # algebra, which is not needed for a law whose results are cached
    centred_powers = lazy_module("lawdsl.fitting.preparation.centred_powers")
    parameter_bounds = lazy_module("lawdsl.fitting.preparation.parameter_bounds")
    start_points = lazy_module("lawdsl.fitting.preparation.start_points")
    start_scales = lazy_module("lawdsl.fitting.preparation.start_scales")
    symbolic_linearity = lazy_module("lawdsl.fitting.preparation.symbolic_linearity")
    undefined_terms = lazy_module("lawdsl.fitting.preparation.undefined_terms")

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
        lambda: (law.declarations, _cached_symmetries(law)),
        lambda entry: entry[1].certain,  # what ran out of time is tried again
    )
    return symmetries if declarations == law.declarations else _cached_symmetries(law)


def _cached_symmetries(law: Law) -> Freedom:
    """The symmetries of a law; it is cached where there are certainly none, as of most laws."""
    return algebra_of(law).get(
        "has no symmetries",
        lambda: identifiability.freedom(law),
        lambda freedom: True if freedom.certain and not freedom.symmetries else NOT_CACHED,
        _freedom_of_plain,
    )


def _freedom_of_plain(content: Any) -> Freedom:
    if content is not True:
        raise ValueError(f"{content!r:.40} is not the entry of a law without symmetries")
    return Freedom()


def _newly_prepared(law: Law, with_priors: bool) -> PreparedLaw:
    algebra = algebra_of(law)
    names = [q.name for q in law.parameters]
    searched = frozenset(p.parameter for p in law.priors if p.log and with_priors)
    forms = cache(partial(_form, law, algebra, searched))
    factors = cache(
        lambda: algebra.get(
            "solved factors",
            partial(solved_factors, law),
            plain_factors,
            partial(factors_of_plain, parameters=len(names)),
        )
    )
    has_logarithm = cache(
        lambda: algebra.get(
            "has a logarithm",
            lambda: symbolic_linearity.has_logarithm(law),
            bool,
            partial(read, bool),
        )
    )

    def linear() -> frozenset[int]:
        return _positions(algebra, "linear", law, lambda: symbolic_linearity.linear_parameters(law))

    def coefficients() -> frozenset[int]:
        return _positions(
            algebra, "coefficients", law, lambda: symbolic_linearity.coefficients(law)
        )

    def symbols_of_slope(name: str) -> frozenset[str]:
        return _names(
            algebra, f"slope of {name}", lambda: symbolic_linearity.names_of_slope(law, name)
        )

    def symbols_of_merged_slope(name: str) -> frozenset[str]:
        return _names(
            algebra,
            f"merged slope of {name}",
            lambda: symbolic_linearity.names_of_merged_slope(law, name),
        )

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
        centred=partial(_centred_search, law, algebra),
        of_logarithms=partial(problem_of_logarithms, law, forms, has_logarithm),
        draw=_drawing(law, algebra),
        declared_points=lambda: start_points.declared_points(law),
        placed=lambda values: start_points.values_at_numbers(law, values),
        linear=cache(lambda: tuple(sorted(linear()))),
        coefficients=cache(coefficients),
        has_logarithm=has_logarithm,
        symbols_of_slope=cache(symbols_of_slope),
        symbols_of_merged_slope=cache(symbols_of_merged_slope),
        undefined_term=(lambda point: undefined_terms.undefined_term(law, point))
        if algebraic
        else lambda point: "",
        hidden_labels=hidden_labels(law),
    )


def _form(law: Law, algebra: CachedAlgebra, searched: frozenset[str], log: bool) -> CompiledLaw:
    """The law compiled for residuals, or for those of logarithms."""
    count = len(law.parameters)
    if is_computed_on_arrays(law):
        transforms = algebra.get(
            "transforms",
            lambda: parameter_bounds.transforms_of(law),
            plain_transforms,
            partial(transforms_of_plain, parameters=count),
        )
        return compile_on_arrays(law, transforms, searched)
    return algebra.get(
        f"form {'log' if log else 'raw'} {','.join(sorted(searched))}",
        partial(compile_law, law, log, searched),
        plain_form,
        partial(form_of_plain, parameters=count),
    )


def _drawing(
    law: Law, algebra: CachedAlgebra
) -> Callable[[Array, int, int, np.random.Generator], Array]:
    """The function that draws starts."""
    settings = [q.value for q in law.settings if q.value is not None]
    on_arrays = is_computed_on_arrays(law)
    names = [q.name for q in law.parameters]

    def computed() -> StartPlan:
        if on_arrays:
            return StartPlan(start_scales.domains(law))
        return start_scales.start_plan(law)

    @cache
    def plan() -> StartPlan:
        inputs = len(law.variables) + len(settings)
        read = partial(plan_of_plain, inputs=inputs, parameters=len(names))
        return algebra.get("starts", computed, plain_plan, read)

    def draw(columns: Array, draws: int, seed: int, rng: np.random.Generator) -> Array:
        if on_arrays:
            return draw_families(names, plan(), draws, rng)
        return draw_values(plan(), settings, columns, draws, seed, rng)

    return draw


def _centred_search(law: Law, algebra: CachedAlgebra, problem: Problem) -> CentredSearch | None:
    """The search in centred parameters; most laws have no sums for it."""
    if law.declarations.schema is not None:
        return None
    has_sums = algebra.get(
        "has sums to centre",
        lambda: centred_powers.has_sums(law),
        bool,
        partial(read, bool),
    )
    if not has_sums:
        return None
    prepare_other = partial(_newly_prepared, with_priors=False)
    return centred_powers.centred_search(law, prepare_other, problem)


def _positions(
    algebra: CachedAlgebra, name: str, law: Law, find: Callable[[], Iterable[int]]
) -> frozenset[int]:
    """The positions of the parameters that a function finds."""
    return algebra.get(
        name,
        lambda: frozenset(find()),
        sorted,
        lambda content: frozenset(positions(content, len(law.parameters))),
    )


def _names(algebra: CachedAlgebra, name: str, find: Callable[[], frozenset[str]]) -> frozenset[str]:
    """The names that a function finds."""
    return algebra.get(
        name, find, sorted, lambda content: frozenset(read(tuple[str, ...], content))
    )


def unidentifiable_directions(symmetries: Freedom) -> UnidentifiableDirections:
    """The properties of the symmetries of a law that a fit needs.

    Args:
        symmetries: the symmetries of the law, whose directions no data can determine.
    """
    return UnidentifiableDirections(symmetries.lost, symmetries.parameters, symmetries.held)
