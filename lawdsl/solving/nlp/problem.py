"""The problem (objective, bounds, constraints), its functions in scaled units, and its solution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.autodiff import Slopes, values as computed
from lawdsl.compiling.interval_slopes import affine_rows
from lawdsl.compiling.tape import Tape, compile_tape
from lawdsl.solving.nlp.convexity import CurvatureName, curvatures
from lawdsl.solving.nlp.polytope import Polytope
from lawdsl.solving.nlp.scaling import CURVATURE_STEP, Units, lengths_at, power_of_two, variation

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

LOG_SCALE_RATIO = 100.0  # ratio of the bounds above which the logarithm of an unknown is searched
# Relative to the span of the unknown: its smallest distance from a bound with an infinite slope.
STEEP_BOUND_INSET = 1e-250


@dataclass(frozen=True)
class NlpConstraint:
    """expression <= 0, or expression = 0 where it is an equality."""

    name: str
    expression: sp.Expr
    equality: bool = False


@dataclass(frozen=True)
class NlpProblem:
    """Minimise an objective subject to bounds and constraints.

    Attributes:
        objective: the minimised expression.
        unknowns: each with its lower and upper bound, which may be infinite.
        constraints: the other conditions.
        values: the values of all other symbols.
        units: the units of the numerical methods; None for those of the expressions.
        original: the same problem in the units of its expressions; None if it is in these units.
    """

    objective: sp.Expr
    unknowns: Mapping[sp.Symbol, tuple[float, float]]
    constraints: Sequence[NlpConstraint] = ()
    values: Mapping[sp.Symbol, float] = field(default_factory=dict)
    units: Units | None = None
    original: NlpProblem | None = None

    def in_units_at(self, x: Array, usual: Array | None = None) -> NlpProblem:
        """Express the problem in units adapted to a point.

        Args:
            x: the point, shape (n,), in the units of the expressions.
            usual: the length of an unknown without two bounds that is at, or very close to, its
                bound or 0; by default 1 for an unknown exactly there.

        Returns:
            The problem with `units`, and with `original` set.
        """
        unscaled = self.original or self
        low, high = unscaled.polytope.tightened
        lengths = lengths_at(x, low, high, unscaled.decades, usual)
        varied, values = unscaled._variation(x, lengths)
        # a constraint that is violated and does not vary here has the violation 1
        sizes = power_of_two(np.where(varied > 0, varied, np.abs(values)))
        units = Units(float(sizes[0]), power_of_two(lengths), sizes[1:])
        return replace(self, units=units, original=unscaled)

    def goal_scale(self, x: Array, lengths: Array) -> float:
        """Return the variation of the objective near a point, in the units of the expressions.

        The neighbourhood extends over the length of each unknown, but at most max(|x|, 1), since an
        unknown that is searched by its logarithm may have a very large length.

        Args:
            x: the point, shape (n,), in the units of the expressions.
            lengths: the lengths of the unknowns, shape (n,).

        Returns:
            The variation, >= 0.
        """
        near = np.minimum(lengths, np.maximum(np.abs(x), 1.0))
        return float((self.original or self)._variation(x, near)[0][0])

    def _variation(self, x: Array, lengths: Array) -> tuple[Array, Array]:
        """The variation of the objective and the constraints over given lengths, and their values."""
        low, high = self.polytope.tightened
        n = len(x)
        points, each = np.repeat(x[:, None], 2 * n + 1, axis=1), np.arange(n)
        # inside the bounds, beyond which a law may be undefined
        points[each, each] = np.clip(x - CURVATURE_STEP * lengths, low, high)
        points[each, each + n] = np.clip(x + CURVATURE_STEP * lengths, low, high)
        values, slopes = self.functions.on(points)
        behind, ahead = slopes[:, each, each], slopes[:, each, each + n]
        return variation(slopes[:, :, -1], ahead, behind, lengths), values[:, -1]

    @property
    def low(self) -> Array:
        """The lower bound of each unknown, shape (n,)."""
        low = np.array([low for low, _ in self.unknowns.values()], dtype=np.float64)
        return low if self.units is None else low / self.units.unknowns

    @property
    def high(self) -> Array:
        """The upper bound of each unknown, shape (n,)."""
        high = np.array([high for _, high in self.unknowns.values()], dtype=np.float64)
        return high if self.units is None else high / self.units.unknowns

    @property
    def expressions(self) -> list[sp.Expr]:
        """The objective, and then the constraints."""
        return [self.objective, *(c.expression for c in self.constraints)]

    @cached_property
    def terms(self) -> list[list[sp.Expr]]:
        """The terms of each constraint."""
        return [terms_of(c.expression, self.unknowns) for c in self.constraints]

    def terms_on(self, points: Array) -> Array:
        """The sum of the absolute terms of each constraint, shape (constraints, points), at points
        of shape (n, points)."""
        unscaled = self.original or self
        unknowns = points if self.units is None else points * self.units.unknowns[:, None]
        constants = np.array(list(self.values.values()), dtype=np.float64)[:, None]
        constants = np.broadcast_to(constants, (len(constants), points.shape[1]))
        magnitudes = np.abs(computed(unscaled._terms_tape, np.concatenate([unknowns, constants])))
        parts = np.split(magnitudes, np.cumsum([len(terms) for terms in unscaled.terms])[:-1])
        sums = np.array([part.sum(axis=0) for part in parts[: len(unscaled.terms)]])
        sums = sums.reshape(-1, points.shape[1])
        return sums if self.units is None else sums / self.units.constraints[:, None]

    @cached_property
    def _terms_tape(self) -> Tape:
        inputs = (*self.unknowns, *self.values)
        return _compile_terms(tuple(t for terms in self.terms for t in terms), inputs)

    @cached_property
    def equality(self) -> Mask:
        """Whether each constraint is an equality, shape (constraints,)."""
        return np.array([c.equality for c in self.constraints], dtype=bool)

    @cached_property
    def functions(self) -> NlpFunctions:
        """The functions of the problem and their derivatives with respect to the unknowns."""
        return NlpFunctions(self, list(self.unknowns))

    @cached_property
    def shapes(self) -> list[CurvatureName | None]:
        """The curvatures of the objective and the constraints on the box of the bounds."""
        if self.original is not None:
            return self.original.shapes
        return curvatures(self.expressions, self.unknowns, self.values)

    @cached_property
    def polytope(self) -> Polytope:
        """The bounds and those affine constraints whose coefficients are known."""
        if self.original is not None and self.units is not None:
            units = self.units
            return self.original.polytope.in_units(units.unknowns, units.constraints)
        affine = [k for k, shape in enumerate(self.shapes[1:]) if shape == "affine"]
        affine_rows_at = self._rows(affine, np.minimum(np.maximum(0.0, self.low), self.high))
        if None in affine_rows_at:  # a kink, or a bound at which a part is undefined
            inside = self._rows(affine, box_midpoint(self.low, self.high))
            affine_rows_at = [
                one or other for one, other in zip(affine_rows_at, inside, strict=True)
            ]
        # a row without certified coefficients remains a constraint, but no bound follows from it
        certain_rows = [
            (k, row) for k, row in zip(affine, affine_rows_at, strict=True) if row is not None
        ]
        rows = np.array([k for k, _ in certain_rows], dtype=int)
        slopes = np.array([slopes for _, (slopes, _) in certain_rows]).reshape(
            -1, len(self.unknowns)
        )
        offsets = np.array([offset for _, (_, offset) in certain_rows], dtype=np.float64)
        return Polytope(self.low, self.high, slopes, offsets, self.equality[rows], rows)

    def _rows(self, numbers: Sequence[int], x: Array) -> list[tuple[Array, float] | None]:
        """The coefficients and offsets of affine constraints from an evaluation at a point. They
        are rounded outward, so that implied bounds are valid.
        """
        inputs = [*x.tolist(), *self.values.values()]
        return affine_rows(self.functions.tape, [k + 1 for k in numbers], inputs, len(x))

    @cached_property
    def convex(self) -> bool:
        """Whether every local optimum is proved to be a global one.

        The objective and the inequalities are convex and the equalities affine (Boyd and
        Vandenberghe (2004), Convex Optimization, section 4.2), on the box that the bounds and the
        affine constraints imply.
        """
        if self.original is not None:
            return self.original.convex
        if self._all_convex(self.shapes):
            return True
        low, high = self.polytope.tightened
        if np.any(low > high):
            return False
        box = zip(self.unknowns, low.tolist(), high.tolist(), strict=True)
        on = {symbol: (a, b) for symbol, a, b in box}
        return self._all_convex(curvatures(self.expressions, on, self.values))

    def _all_convex(self, shapes: Sequence[CurvatureName | None]) -> bool:
        conditions = zip(shapes[1:], self.equality, strict=True)
        good = all(c == "affine" or (c == "convex" and not equal) for c, equal in conditions)
        return good and shapes[0] in ("affine", "convex")

    @cached_property
    def spans(self) -> Array:
        """The range of each unknown, which is the unit of lengths; 1 if it is unbounded; shape
        (n,).
        """
        low, high = self.polytope.tightened
        return np.where(np.isfinite(high - low) & (high > low), high - low, 1.0)

    @cached_property
    def steep(self) -> tuple[Mask, Mask]:
        """The masks of unknowns with an infinite slope, or an undefined value, at their lower and
        upper bound.
        """
        if self.original is not None:
            return self.original.steep
        low, high = self.polytope.tightened
        centre = self.polytope.centre
        centre = box_midpoint(low, high) if centre is None else centre
        n = len(centre)
        points, each = np.repeat(centre[:, None], 2 * n, axis=1), np.arange(n)
        points[each, each] = np.where(np.isfinite(low), low, centre)
        points[each, each + n] = np.where(np.isfinite(high), high, centre)
        values, slopes = self.functions.on(points)
        good = np.isfinite(np.vstack([values, slopes.reshape(-1, 2 * n)]))
        ends = ~np.min(good, axis=0) & np.tile(low < high, 2)
        return ends[:n], ends[n:]

    @cached_property
    def inner(self) -> tuple[Array, Array]:
        """The bounds, replaced by the adjacent floats inside where an unknown is steep."""
        inset = STEEP_BOUND_INSET * self.spans
        low = np.maximum(np.nextafter(self.low, np.inf), self.low + inset)
        high = np.minimum(np.nextafter(self.high, -np.inf), self.high - inset)
        steep_low, steep_high = self.steep
        return np.where(steep_low, low, self.low), np.where(steep_high, high, self.high)

    @cached_property
    def decades(self) -> Mask:
        """The mask of positive unknowns that range over decades."""
        low, high = self.polytope.tightened
        return (self.low > 0) & np.isfinite(high) & (high > LOG_SCALE_RATIO * low)

    def lengths(self, x: Array) -> Array:
        """The lengths at x relative to which changes of the unknowns are measured, shape (n,)."""
        return np.where(self.decades, x, self.spans)

    @cached_property
    def reference(self) -> float:
        """The largest slope of the objective at the centre of the domain, times the lengths of the
        unknowns; 1 in units adapted to a point.
        """
        if self.units is not None:
            return 1.0
        x = self.polytope.centre
        x = box_midpoint(*self.polytope.tightened) if x is None else x
        slopes = np.abs(self.functions.at(x)[1][0] * self.lengths(x))
        return float(np.max(slopes, initial=0.0, where=np.isfinite(slopes)))

    @cached_property
    def linear(self) -> bool:
        """Whether all constraints are affine."""
        return len(self.polytope.rows) == len(self.constraints)


class NlpFunctions:
    """The objective and the constraints of a problem, with their slopes.

    Args:
        problem: the problem.
        by: unknowns and other symbols to differentiate by.
    """

    def __init__(self, problem: NlpProblem, variables: Sequence[sp.Symbol]) -> None:
        inputs = [*problem.unknowns, *problem.values]
        number = {symbol: k for k, symbol in enumerate(inputs)}
        positions = tuple(number[s] for s in variables)
        self._slopes = _compile_slopes(tuple(problem.expressions), tuple(inputs), positions)
        self._given = np.array(list(problem.values.values()), dtype=np.float64)
        self._units = problem.units
        if problem.units is not None:
            unknown_units = dict(
                zip(problem.unknowns, problem.units.unknowns.tolist(), strict=True)
            )
            self._by = np.array([unknown_units.get(symbol, 1.0) for symbol in variables])
        self._last: tuple[bytes, tuple[Array, Array]] | None = None

    @property
    def tape(self) -> Tape:
        """The compiled functions: the inputs are the unknowns and then the values."""
        return self._slopes.tape

    def at(self, x: Array) -> tuple[Array, Array]:
        """Values, (1 + constraints,), and derivatives, (1 + constraints, variables), at unknowns
        (n,).
        """
        # SLSQP requests the objective, each kind of constraint and their derivatives at one point
        # in turn; bytes distinguish -0.0 from 0.0 and compare nan as equal
        key = x.tobytes()
        if self._last is None or self._last[0] != key:
            values, slopes = self.on(x[:, None])
            self._last = key, (values[:, 0], slopes[:, :, 0])
        return self._last[1]

    def on(self, points: Array) -> tuple[Array, Array]:
        """Values, (1 + constraints, points), and derivatives, (1 + constraints, variables, points),
        at many points, shape (n, points).
        """
        values, slopes = self._slopes.values_and_gradients(self._inputs(points))
        if self._units is None:
            return values, slopes
        rows = self._units.rows[:, None]
        return values / rows, slopes * self._by[:, None] / rows[:, :, None]

    def values_on(self, points: Array) -> Array:
        """Values, (1 + constraints, points), at many points, shape (n, points)."""
        values = self._slopes.values(self._inputs(points))
        return values if self._units is None else values / self._units.rows[:, None]

    def _inputs(self, points: Array) -> Array:
        """Unknowns in their original units, followed by the values, shape (inputs, points)."""
        constants = np.broadcast_to(self._given[:, None], (len(self._given), points.shape[1]))
        unknowns = points if self._units is None else points * self._units.unknowns[:, None]
        return np.concatenate([unknowns, constants])


def terms_of(expression: sp.Expr, unknowns: Iterable[sp.Symbol]) -> list[sp.Expr]:
    """Split a sum into its terms, with factors that do not contain unknowns multiplied into each
    term.

    Args:
        expression: a sum, or a factor times a sum.
        unknowns: the symbols that a term may contain.

    Returns:
        Terms whose sum is the expression.
    """
    factor, remainder = expression.as_independent(*unknowns, as_Add=False)
    return [factor * term for term in sp.Add.make_args(remainder)]


@lru_cache(maxsize=32)
def _compile_terms(terms: tuple[sp.Expr, ...], inputs: tuple[sp.Symbol, ...]) -> Tape:
    """Compile once, for all values of the inputs."""
    return compile_tape(terms, inputs)


@lru_cache(maxsize=32)
def _compile_slopes(
    expressions: tuple[sp.Expr, ...], inputs: tuple[sp.Symbol, ...], variables: tuple[int, ...]
) -> Slopes:
    """Compile once, for all values of the inputs."""
    return Slopes(compile_tape(expressions, inputs), variables)


def box_midpoint(low: Array, high: Array) -> Array:
    """Return a point inside a box, close to its finite bounds if it is unbounded.

    Args:
        low: lower bounds, shape (n,), which may be -inf.
        high: upper bounds, shape (n,), which may be inf.

    Returns:
        Shape (n,): the midpoint between two bounds, 1 from a single one, 0 without any.
    """
    a, b = np.isfinite(low), np.isfinite(high)
    start = np.where(a, low, np.where(b, high - 1, 0.0))
    return np.where(
        a & b, start + (np.where(b, high, 0.0) - start) / 2, np.where(a, low + 1, start)
    )


@dataclass(frozen=True)
class UnboundedPath:
    """Feasible points along which the objective decreases.

    Attributes:
        points: the points, shape (points, n), at increasing distances.
        values: the values of the objective at the points.
        endless: whether it decreases by equal amounts in each decade, so that it is unbounded
            below; otherwise it converges to a value that is not attained.
    """

    points: Array
    values: Array
    endless: bool


@dataclass(frozen=True)
class Shortfall:
    """The amount by which one condition alone would have to relax for all others to be satisfied.

    Attributes:
        name: the name of the constraint, or of the unknown whose bound it is.
        kind: constraint, low or high.
        amount: the required value of an expression `<= 0` or `= 0`; or the distance that a bound
            must move.
    """

    name: str
    kind: str
    amount: float


@dataclass(frozen=True)
class NlpSolution:
    """The best point that was found, and its certificates.

    With the multipliers m of the constraints c, the slopes of f + m·c with respect to the unknowns
    vanish between the bounds: relaxing a constraint by one unit changes the optimal value by -m.

    Attributes:
        feasible: whether all conditions are satisfied to `violation`; else x minimises the
            violations.
        x: the unknowns, shape (n,).
        value: the objective at x.
        multipliers: the multipliers of the constraints, shape (constraints,); those of inequalities
            are >= 0.
        low, high: the multipliers of the bounds, shape (n,), >= 0.
        active: names of the active inequalities.
        at_low, at_high: names of the unknowns at a bound.
        violation: a certified bound on the violation of any constraint, relative to its size: the
            sum of its absolute terms, or its change over the lengths of the unknowns. If no point
            is feasible, it is in the constraint's own unit. Bounds are never violated.
        residual: the residual of the stationarity condition, relative to the slopes of the
            objective at x or at the centre of the domain.
        starts: the number of searches.
        agreed: the number of searches that reached this point.
        equal: the number of searches that reached this value, at this or another point.
        others: further points of the same value, each shape (n,).
        flat: a point of the same value on a plateau, which is not an isolated optimum; None if none
            was found.
        convex: whether the problem is certified to be convex.
        gap: a bound on the excess of the value over the minimum; None if none is known. If no point
            is feasible, the relative gap of the violation.
        unit: the variation of the objective near x, relative to which small differences are
            measured.
        start_lengths: the lengths of the unknowns at the start of the search, shape (n,); None for
            1.
        unbounded_path: feasible points along which the objective decreases indefinitely; None if
            none were found.
        proved_infeasible: if no point is feasible, whether that is proved.
        conflict: if no point is feasible, the names of the conditions that exclude each other.
        shortfalls: the shortfalls of those conditions whose relaxation alone would be sufficient.
    """

    feasible: bool
    x: Array
    value: float
    multipliers: Array
    low: Array
    high: Array
    active: tuple[str, ...] = ()
    at_low: tuple[str, ...] = ()
    at_high: tuple[str, ...] = ()
    violation: float = 0.0
    residual: float = 0.0
    starts: int = 1
    agreed: int = 1
    equal: int = 1
    others: tuple[Array, ...] = ()
    flat: Array | None = None
    convex: bool = False
    gap: float | None = None
    unit: float = 1.0
    start_lengths: Array | None = None
    unbounded_path: UnboundedPath | None = None
    proved_infeasible: bool = False
    conflict: tuple[str, ...] = ()
    shortfalls: tuple[Shortfall, ...] = ()
