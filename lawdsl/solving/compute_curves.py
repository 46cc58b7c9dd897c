"""An answer -> the goal and the constraints as functions of its unknowns, through the answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.autodiff import Slopes, values as computed
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.axes import spans_decades
from lawdsl.core.units import unit_text
from lawdsl.language import tree
from lawdsl.language.printer import print_formula
from lawdsl.language.questions import Question
from lawdsl.solving.alternatives import FEASIBILITY_ATOL
from lawdsl.solving.curves import ConstraintCurve, Curve
from lawdsl.solving.formulate.elimination import ReducedProblem
from lawdsl.solving.formulate.problem import AlgebraicConstraint, FormulatedQuestion, Unknown
from lawdsl.solving.formulate.sources import FitSource
from lawdsl.solving.result import Answer
from lawdsl.solving.uncertainty import FitUncertainty
from lawdsl.solving.univariate.roots import UnknownRange
from lawdsl.solving.univariate.state import Values, unknown_range

Array = NDArray[np.float64]

POINTS = 201  # points of a curve, in addition to the answer
DECADES = 1.0  # decades on each side of an answer whose unknown has no bounds


def curves_of(
    formulated: FormulatedQuestion,
    problem: ReducedProblem,
    values: Values,
    answer: Answer,
    names: Sequence[str] = (),
) -> tuple[Curve, ...]:
    """Compute the goal and the constraints as functions of unknowns.

    Args:
        formulated: the question.
        problem: the question in the unknowns that are varied; equations determine the others.
        values: symbol -> value, of all symbols but the unknowns.
        answer: the answer through which the curves pass. If it has no values, as for an infeasible
            question, the one unknown of the problem is varied over its range, if that is bounded.
        names: the unknowns to vary; all by default.

    Returns:
        A curve for each unknown.
    """
    varied = [u for u in problem.unknowns if not names or u.name in names]
    found = {u.name: u.value for u in answer.unknowns}
    if not found and len(problem.unknowns) > 1:
        return ()
    paths = [path for u in varied if (path := _path(formulated, problem, values, answer, u))]
    if not paths:
        return ()
    return tuple(_evaluated(formulated, problem, values, answer.level, paths))


@dataclass(frozen=True, eq=False)
class _Path:
    """Points along an unknown: symbol -> values, of all unknowns of the problem."""

    unknown: Unknown
    logarithmic: bool
    points: Mapping[sp.Symbol, Array]
    moving: tuple[Unknown, ...]


def _path(
    formulated: FormulatedQuestion,
    problem: ReducedProblem,
    values: Values,
    answer: Answer,
    unknown: Unknown,
) -> _Path | None:
    """The points along an unknown; None if its range is not determined."""
    grid = _grid(unknown_range(unknown, values), _marked(answer, unknown.name))
    if grid is None:
        return None
    x, logarithmic = grid
    found = {u.name: u.value for u in answer.unknowns}
    points = {
        u.symbol: x if u == unknown else np.full(len(x), found[u.name]) for u in problem.unknowns
    }
    moving = []
    shares = [u for u in _mixture(formulated, problem, unknown) if u != unknown]
    rest = 1 - found.get(unknown.name, 0.0)
    for share in shares:
        part = found[share.name] / rest if rest > 0 else 1 / len(shares)
        points[share.symbol] = part * (1 - x)
        moving.append(share)
    return _Path(unknown, logarithmic, points, tuple(moving))


def _mixture(
    formulated: FormulatedQuestion, problem: ReducedProblem, unknown: Unknown
) -> list[Unknown]:
    """The shares that sum to 1 and include an unknown; empty if it is not such a share."""
    symbol = formulated.question.symbols.get(unknown.name.partition("[")[0])
    if symbol is None or not symbol.simplex:
        return []
    name = formulated.question.name
    sums = (c.margin.free_symbols for c in problem.conditions if c.equality and c.law == name)
    together = next((s for s in sums if unknown.symbol in s), None) or ()
    return [u for u in problem.unknowns if u.symbol in together]


def _marked(answer: Answer, name: str) -> list[float]:
    """The values of an unknown that a curve must include: first the answer, then its intervals, the
    safe answer, and the choices compared with it.
    """
    chosen = next((u for u in answer.unknowns if u.name == name), None)
    if chosen is None:
        return []
    marked = [chosen.value, *(chosen.ends or ())]
    if answer.law_error is not None:
        marked += answer.law_error.ends.get(name, ())
    if answer.safe is not None and name in answer.safe.unknowns:
        marked.append(answer.safe.unknowns[name])
    marked += [c.x[name] for c in answer.compared if name in c.x]
    return [x for x in marked if math.isfinite(x)]


def _grid(domain: UnknownRange, marked: Sequence[float]) -> tuple[Array, bool] | None:
    """Values of an unknown, including the answer, and whether they are evenly spaced in the
    logarithm; None for an unbounded range without an answer.
    """
    low, high = domain.low, domain.high
    if math.isfinite(low) and math.isfinite(high):
        logarithmic = spans_decades(low, high)
        x = np.geomspace(low, high, POINTS) if logarithmic else np.linspace(low, high, POINTS)
    elif not marked:
        return None
    elif marked[0] > 0 and low >= 0:
        logarithmic = True
        inside = [v for v in marked if v > 0]
        x = np.geomspace(
            max(low, min(min(inside) / 1.2, marked[0] / 10**DECADES)),
            min(high, max(max(inside) * 1.2, marked[0] * 10**DECADES)),
            POINTS,
        )
    else:
        logarithmic = False
        half = 1.2 * max(1.0, abs(marked[0]), *(abs(v - marked[0]) for v in marked))
        x = np.linspace(max(low, marked[0] - half), min(high, marked[0] + half), POINTS)
    x = np.unique([*x, *marked[:1]])
    x = x[(x >= low) & (x <= high)]
    x = x[(x > low) | (not domain.low_open)]
    return x[(x < high) | (not domain.high_open)], logarithmic


def _evaluated(
    formulated: FormulatedQuestion,
    problem: ReducedProblem,
    values: Values,
    level: float,
    paths: Sequence[_Path],
) -> Iterator[Curve]:
    """The curves at all points of all paths, evaluated by one tape."""
    noise = FitUncertainty.of(formulated.sources)
    follow = problem.follow
    conditions = [c for c in problem.conditions if not c.equality]
    equations = [c for c in problem.conditions if c.equality]
    sided = [(c, c.sides) for c in formulated.conditions if c.sides is not None]
    formulas = [c.margin for c in (*conditions, *equations)]
    # if an equation has eliminated an unknown, the sides are still expressed in it
    formulas += [side.xreplace(dict(follow)) for _, sides in sided for side in sides]
    outputs = [problem.goal, *follow.values(), *formulas]
    free = set().union(*(e.free_symbols for e in outputs))
    symbols = [*noise.symbols, *sorted(free - set(noise.symbols), key=str)]
    counts = [len(path.points[path.unknown.symbol]) for path in paths]
    total = sum(counts)
    moved = {
        u.symbol: np.concatenate([p.points[u.symbol] for p in paths]) for u in problem.unknowns
    }
    inputs = np.array([moved.get(s, np.full(total, values.get(s, math.nan))) for s in symbols])
    goal_slopes = Slopes(compile_tape([problem.goal], symbols), range(len(noise.symbols)))
    goals, gradients = goal_slopes.values_and_gradients(inputs.reshape(len(symbols), total))
    half = noise.half_widths(gradients[0], level)
    rest = computed(compile_tape(outputs[1:], symbols), inputs.reshape(len(symbols), total))
    names = {u.symbol: u.name for u in formulated.unknowns}
    goal_unit = unit_of(formulated.question, formulated.question.goal, formulated.sources)
    stop = 0
    for path, count in zip(paths, counts, strict=True):
        part, stop = slice(stop, stop + count), stop + count
        followers, margins, equal, sides = np.split(
            rest[:, part],
            np.cumsum([len(follow), len(conditions), len(equations)]),
        )
        goal, width = formulated.sign * goals[0, part] + 0.0, half[part]
        goal = np.where(np.isfinite(goal), goal, np.nan)
        known = np.isfinite(width) & (width > 0)
        x = path.points[path.unknown.symbol]
        others = {u.name: path.points[u.symbol] for u in path.moving}
        others |= {names[s]: f for s, f in zip(follow, followers, strict=True)}
        broken = np.max(np.abs(equal), axis=1, initial=0.0) > FEASIBILITY_ATOL
        yield Curve(
            path.unknown.name,
            path.unknown.unit,
            path.unknown.doc,
            x,
            path.logarithmic,
            others,
            formulated.question.goal_text,
            goal_unit,
            goal,
            np.where(known, goal - width, np.nan),
            np.where(known, goal + width, np.nan),
            # negated, so that an undefined margin, nan, violates its constraint
            ~np.any(~(margins >= -FEASIBILITY_ATOL), axis=0),
            tuple(c.text for c, off in zip(equations, broken, strict=True) if off),
            tuple(_constraint_curves(formulated.question, formulated.sources, sided, sides)),
        )


def _constraint_curves(
    question: Question,
    sources: Sequence[FitSource],
    sided: Sequence[tuple[AlgebraicConstraint, tuple[sp.Expr, sp.Expr]]],
    sides: Array,
) -> Iterator[ConstraintCurve]:
    """The constraints that vary along a path, from the values of their sides."""
    declared = {c.text: c for c in question.constraints}
    for n, (constraint, _) in enumerate(sided):
        left, right = sides[2 * n], sides[2 * n + 1]
        moves = any(len(np.unique(s[np.isfinite(s)])) > 1 for s in (left, right))
        line = declared[constraint.text.partition("  for ")[0]]
        if constraint.equality or not moves:
            continue
        yield ConstraintCurve(
            constraint.name,
            constraint.text,
            print_formula(line.lhs),
            line.relation,
            print_formula(line.rhs),
            unit_of(question, line.lhs, sources),
            left,
            right,
        )


def unit_of(question: Question, formula: tree.Formula, sources: Sequence[FitSource] = ()) -> str:
    """The unit of a name, or of a law at values, as text; empty for other formulas.

    Args:
        question: the question whose formula it is.
        formula: the formula.
        sources: the fits that answer it.
    """
    if not isinstance(formula, (tree.Name, tree.Element)):
        return ""
    name = formula.text if isinstance(formula, tree.Name) else formula.name
    return unit_of_name(question, name, sources)


def unit_of_name(question: Question, name: str, sources: Sequence[FitSource] = ()) -> str:
    """The unit of a name of a question, or of a law at values, as text; empty for none.

    Args:
        question: the question.
        name: a name without a label, or the law at values as it is written.
        sources: the fits that answer it: a fit of another law may have another unit than the law
            that the question names, or none.
    """
    if name in question.values:
        use = question.values[name].use
        law = next((s.law for s in sources if s.use == use and s.fit is not None), None)
        unit = (question.uses[use] if law is None else law.declarations).output.unit
    else:
        unit = question.units.get(name)
    return unit_text(unit.factors) if unit else ""
