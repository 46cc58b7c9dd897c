"""Law -> the steps of its formula, and its derivatives as further steps of the same kind.

The steps are those of `lawdsl.compiling.indexed`, made from the syntax tree, so that a let is one
step and terms stand in the order of the law. Derivatives are those of reverse accumulation
(Griewank and Walther (2008), Evaluating Derivatives, chapter 3), as steps instead of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from lawdsl.compiling.arrays import chosen
from lawdsl.compiling.indexed import EXTREMUM_UFUNCS, VALUES, Step, StepBuilder
from lawdsl.compiling.indexed_leaves import Leaf, Leaves
from lawdsl.core.functions import CHOICE, DERIVED, FUNCTIONS, HELPERS

REDUCTIONS = ("sum", "prod", "contract")
"""Operations over axes, which are their data; `contract` is the sum of a product."""

REACHED = "reached"
"""Operation: 1 where its first argument equals the second, else 0."""
OTHERS = "others"
"""Operation: for each factor of a product over axes, the product of the others."""
FINITE_LOG = "finite log"
"""Operation: the logarithm, but 0 at 0, where a power with a positive exponent multiplies it."""


CONSTANT_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "add": np.add,
    "multiply": np.multiply,
    "power": np.power,
    CHOICE: chosen,
    **EXTREMUM_UFUNCS,
    **VALUES,
}
"""Operations without axes, on NumPy numbers."""


@dataclass(frozen=True)
class FormulaProgram:
    """The formula of a law as steps, each of which uses only earlier ones.

    Attributes:
        steps: operation, positions of the arguments, and data: a number, a leaf, or axes.
        value: the position of the output.
        lets: position -> name of a let of the law.
        slopes: parameter or variable of the formula, with subscripts -> position of the derivative
            of the output by it; without those by which it is 0.
        axes: for each step the axes on which it depends: those of subscripts that a sum runs over.
        axis_names: axis -> index of the law.
    """

    steps: tuple[Step, ...]
    value: int
    lets: Mapping[int, str]
    slopes: Mapping[Leaf, int]
    axes: tuple[frozenset[int], ...]
    axis_names: Mapping[int, str]

    @property
    def leaves(self) -> dict[Leaf, None]:
        """The parameters, settings and variables of the formula, in their order."""
        return {cast(Leaf, data): None for op, _, data in self.steps if op == "leaf"}

    def environment(self, position: int) -> frozenset[int]:
        """The axes within which the arguments of a step are computed."""
        op, _, data = self.steps[position]
        return self.axes[position] | _axes_of(op, data)


def program_of(leaves: Leaves) -> FormulaProgram:
    """Compile the formula of a law, and its derivatives by parameters and variables.

    Args:
        leaves: the law, with the labels of its index sets.
    """
    builder = StepBuilder(leaves)
    formula = leaves.declared.output.formula
    assert formula is not None
    value = builder.formula(formula, dict(leaves.rows))
    _fold_constants(builder)
    derivatives = _Derivatives(builder)
    slopes = derivatives.of(value)
    names = {leaves.axis(index): index for index in leaves.declared.indices}
    return FormulaProgram(
        tuple(builder.steps), value, dict(builder.named), slopes, tuple(derivatives.axes), names
    )


def _fold_constants(builder: StepBuilder) -> None:
    """Compute the steps that depend on no leaf: array libraries have no functions of plain floats."""
    steps = builder.steps
    with np.errstate(all="ignore"):
        for position, (op, arguments, _) in enumerate(steps):
            function = CONSTANT_OPERATIONS.get(op)
            if function and all(steps[k][0] == "number" for k in arguments):
                numbers = [np.float64(cast(float, steps[k][2])) for k in arguments]
                steps[position] = ("number", (), float(function(*numbers)))


def _axes_of(op: str, data: object) -> frozenset[int]:
    """The axes that an operation itself runs over."""
    return frozenset(cast(tuple[int, ...], data)) if op in REDUCTIONS else frozenset()


@dataclass(frozen=True)
class _ProgramValue:
    """A step as a number of an arithmetic, in which rows of functions write their derivatives."""

    steps: _Derivatives
    position: int

    def __add__(self, other: Any) -> _ProgramValue:
        return self.steps.operand("add", self, other)

    def __radd__(self, other: Any) -> _ProgramValue:
        return self.steps.operand("add", other, self)

    def __sub__(self, other: Any) -> _ProgramValue:
        return self + -self.steps.as_operand(other)

    def __rsub__(self, other: Any) -> _ProgramValue:
        return other + -self

    def __mul__(self, other: Any) -> _ProgramValue:
        return self.steps.operand("multiply", self, other)

    def __rmul__(self, other: Any) -> _ProgramValue:
        return self.steps.operand("multiply", other, self)

    def __truediv__(self, other: Any) -> _ProgramValue:
        return self * self.steps.as_operand(other) ** -1

    def __rtruediv__(self, other: Any) -> _ProgramValue:
        return self.steps.as_operand(other) / self

    def __pow__(self, other: Any) -> _ProgramValue:
        return self.steps.operand("power", self, other)

    def __neg__(self) -> _ProgramValue:
        return self.steps.operand("multiply", -1.0, self)


class _Derivatives:
    """The derivatives of one step by leaves, appended to the steps of a builder.

    It is also the arithmetic of `_ProgramValue`: its attributes are functions of the language.
    """

    def __init__(self, builder: StepBuilder) -> None:
        self.builder = builder
        self.axes: list[frozenset[int]] = []
        self._note_axes()

    pi = math.pi

    def __getattr__(self, name: str) -> Any:
        if name not in FUNCTIONS and name not in DERIVED and name not in HELPERS:
            raise AttributeError(name)

        def function(x: Any) -> Any:
            return self.operand(name, x) if isinstance(x, _ProgramValue) else float(VALUES[name](x))

        return function

    def as_operand(self, x: Any) -> _ProgramValue:
        """A number as a step."""
        if isinstance(x, _ProgramValue):
            return x
        return _ProgramValue(self, self._added("number", (), float(x)))

    def operand(self, op: str, *arguments: Any, data: object = None) -> _ProgramValue:
        """The step that applies an operation; products and sums with 1 and 0 are left out."""
        operands = [self.as_operand(x) for x in arguments]
        numbers = [self._number(x) for x in operands]
        neutral = {"multiply": 1.0, "add": 0.0}.get(op)
        if neutral is not None and neutral in numbers:
            return operands[1 - numbers.index(neutral)]
        if op == "power" and numbers[1] == 1:
            return operands[0]
        if op in ("add", "multiply") and None not in numbers:
            x, y = cast(list[float], numbers)
            return self.as_operand(x + y if op == "add" else x * y)
        return _ProgramValue(self, self._added(op, tuple(x.position for x in operands), data))

    def of(self, value: int) -> dict[Leaf, int]:
        """The derivative of a step by each leaf that is a parameter or a variable."""
        adjoints: dict[int, _ProgramValue] = {value: self.as_operand(1.0)}
        slopes: dict[Leaf, int] = {}
        for position in reversed(range(value + 1)):
            adjoint = adjoints.get(position)
            op, arguments, data = self.builder.steps[position]
            if adjoint is None:
                continue
            if op == "leaf":
                slopes[cast(Leaf, data)] = adjoint.position
                continue
            for k, contribution in zip(
                arguments, self._contributions(position, adjoint), strict=True
            ):
                if contribution is not None:
                    summed = self._summed(contribution, position, k)
                    adjoints[k] = adjoints[k] + summed if k in adjoints else summed
        return slopes

    def _contributions(
        self, position: int, adjoint: _ProgramValue
    ) -> Sequence[_ProgramValue | None]:
        """The derivative of the output by each argument of a step, but for sums over axes."""
        op, arguments, data = self.builder.steps[position]
        result = _ProgramValue(self, position)
        x = [_ProgramValue(self, k) for k in arguments]
        constant = [self._number(operand) is not None for operand in x]
        match op:
            case "number":
                return ()
            case "add":
                rules: Sequence[Any] = (adjoint, adjoint)
            case "multiply" | "contract":
                rules = (
                    None if constant[0] else adjoint * x[1],
                    None if constant[1] else adjoint * x[0],
                )
            case "power":
                base, exponent = x
                rules = (
                    None if constant[0] else adjoint * (exponent * base ** (exponent - 1)),
                    None if constant[1] else adjoint * (result * self.operand(FINITE_LOG, base)),
                )
            case "sum":
                rules = (adjoint,)
            case "prod":
                rules = (adjoint * self.operand(OTHERS, x[0], data=data),)
            case _ if op == CHOICE:
                first = self.operand(CHOICE, x[0], adjoint, 0.0)
                second = self.operand(CHOICE, x[0], 0.0, adjoint)
                rules = (None, first, second)
            case _ if op in EXTREMUM_UFUNCS:
                # of equal arguments only the first has the slope, so that the slopes sum to 1
                first = self.operand(REACHED, x[0], result)
                rules = (adjoint * first, adjoint * (1 - first))
            case _:
                rules = (adjoint * FUNCTIONS[op].derivative(self, x[0], result),)
        return [
            None if constant[k] or self.builder.steps[i][0] == "number" else rules[k]
            for k, i in enumerate(arguments)
        ]

    def _summed(self, contribution: _ProgramValue, position: int, argument: int) -> _ProgramValue:
        """A contribution summed over the axes that its step has and its argument lacks."""
        op, _, data = self.builder.steps[position]
        beyond = (self.axes[position] | _axes_of(op, data)) - self.axes[argument]
        if not beyond:
            return contribution
        return self.operand("sum", contribution, data=tuple(sorted(beyond)))

    def _number(self, operand: _ProgramValue) -> float | None:
        op, _, data = self.builder.steps[operand.position]
        return cast(float, data) if op == "number" else None

    def _added(self, op: str, arguments: tuple[int, ...], data: object) -> int:
        position = self.builder.add(op, arguments, data)
        self._note_axes()
        return position

    def _note_axes(self) -> None:
        for op, arguments, data in self.builder.steps[len(self.axes) :]:
            axes = frozenset[int]().union(*(self.axes[k] for k in arguments))
            if op == "leaf":
                axes = frozenset(x for x in cast(Leaf, data)[1] if isinstance(x, int))
            if op == OTHERS:
                axes |= frozenset(cast(tuple[int, ...], data))
            self.axes.append(axes - _axes_of(op, data))
