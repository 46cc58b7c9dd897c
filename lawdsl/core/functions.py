"""The functions of the language and their mathematical properties, one row per function.

A row does not define how a value is computed: the implementation is looked up under the name of the
row in an arithmetic, a namespace such as NumPy or `math` (`value_in`). Derivatives are formulas
that work in every arithmetic. The parser reads names and arities here; evaluators, units, signs,
proofs and the rules of convexity read the other properties (curvature as in disciplined convex
programming: Grant, Boyd and Ye (2006)). A name from a file is never looked up in a library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Arithmetic = Any
"""A namespace with functions on its own type of numbers, under the names of the rows, and `pi`."""

End = int | Callable[[Arithmetic], Any] | None
"""A bound of a range: a whole number, or a formula; None where there is none."""

Formula = Callable[[Arithmetic, Any, Any], Any]
"""(arithmetic, argument, value of the function) -> a number of that arithmetic."""


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function of one argument, continuous wherever it is defined.

    Attributes:
        derivative: the formula of its derivative.
        second: its second derivative, if the form that SymPy derives suffers from cancellation or
            overflow.
        value: the function in terms of others, for an arithmetic that lacks it.
        rational: the function on fractions, if its values are fractions too.
        arity: the number of its arguments.
        domain: the set on which it is defined.
        outside: the message for an argument outside the domain.
        divides_by: the function by which it divides, which must not be 0.
        monotone: 1 where it increases strictly on its whole domain, -1 where it decreases.
        zero: the only argument at which its value is 0; None if there is none, or several.
        range: the infimum and the supremum of its values; for a monotone function, also its limits
            at the ends of its domain.
        reached: whether the bounds of the range are attained.
        smooth: whether it is infinitely differentiable inside its domain.
        steps: its values below and above 0, if it is constant on either side of 0.
        curvature: `convex` or `concave` on its domain; `exponential`: its logarithm is affine;
            `logarithmic`: the inverse of that; `sigmoid`: increasing, convex below 0 and concave
            above; `absolute`: its argument or the negative of it.
        unit: the unit of its value. `pure`: argument and value have no unit; `shift`: a change of
            the unit of its argument adds a constant; `same`: the unit of its argument; `root`: the
            square root of that.
    """

    derivative: Formula
    second: Formula | None = None
    value: Callable[[Arithmetic, Any], Any] | None = None
    rational: Callable[[Any], Any] | None = None
    arity: int = 1
    domain: Literal["all", "positive", "nonnegative", "nonzero"] = "all"
    outside: str = "it has no value here"
    divides_by: str | None = None
    monotone: Literal[-1, 0, 1] = 0
    zero: int | None = None
    range: tuple[End, End] = (None, None)
    reached: bool = False
    smooth: bool = True
    steps: tuple[int, int] | None = None
    curvature: (
        Literal["convex", "concave", "exponential", "logarithmic", "sigmoid", "absolute"] | None
    ) = None
    unit: Literal["pure", "shift", "same", "root"] = "pure"

    @property
    def analytic(self) -> bool:
        """Whether it is analytic on the whole real line."""
        return self.smooth and self.domain == "all" and self.divides_by is None


_NO_LOGARITHM = "only numbers above 0 have a logarithm"
_NO_ROOT = "a negative number has no real square root"

FUNCTIONS: dict[str, Function] = {
    "exp": Function(
        derivative=lambda m, x, y: y, monotone=1, range=(0, None), curvature="exponential"
    ),
    "log": Function(
        derivative=lambda m, x, y: 1 / x,
        domain="positive",
        outside=_NO_LOGARITHM,
        monotone=1,
        zero=1,
        curvature="logarithmic",
        unit="shift",
    ),
    "log10": Function(
        derivative=lambda m, x, y: 1 / (x * m.log(10)),
        value=lambda m, x: m.log(x) / m.log(10),
        domain="positive",
        outside=_NO_LOGARITHM,
        monotone=1,
        zero=1,
        curvature="logarithmic",
        unit="shift",
    ),
    "sqrt": Function(
        derivative=lambda m, x, y: 1 / (2 * y),
        domain="nonnegative",
        outside=_NO_ROOT,
        monotone=1,
        zero=0,
        range=(0, None),
        reached=True,
        curvature="concave",
        unit="root",
    ),
    "sin": Function(derivative=lambda m, x, y: m.cos(x), range=(-1, 1), reached=True),
    "cos": Function(derivative=lambda m, x, y: -m.sin(x), range=(-1, 1), reached=True),
    "tan": Function(derivative=lambda m, x, y: 1 + y**2, divides_by="cos"),
    "atan": Function(
        derivative=lambda m, x, y: 1 / (1 + x**2),
        second=lambda m, x, y: -2 * (x / (1 + x**2)) / (1 + x**2),
        monotone=1,
        zero=0,
        range=(lambda m: -m.pi / 2, lambda m: m.pi / 2),
        curvature="sigmoid",
    ),
    "tanh": Function(  # not as 1 - y^2, which is 0 from 19 on
        derivative=lambda m, x, y: 1 / (1 + m.sinh(x) ** 2),
        second=lambda m, x, y: -2 * y / (1 + m.sinh(x) ** 2),
        monotone=1,
        zero=0,
        range=(-1, 1),
        curvature="sigmoid",
    ),
    "abs": Function(
        derivative=lambda m, x, y: m.sign(x),
        rational=lambda x: -x if x < 0 else x,
        zero=0,
        range=(0, None),
        reached=True,
        smooth=False,
        curvature="absolute",
        unit="same",
    ),
}
"""The functions of the language."""

DERIVED: dict[str, Function] = {
    "sign": Function(derivative=lambda m, x, y: 0, domain="nonzero", smooth=False, steps=(-1, 1)),
    "step": Function(derivative=lambda m, x, y: 0, domain="nonzero", smooth=False, steps=(0, 1)),
}
"""The derivatives of abs, min and max, which have no value at a kink."""

CHOICE = "choice"
"""choice(g, a, b): a where g > 0, else b: what piecewise formulas become in every arithmetic."""

EXTREMA = ("min", "max")
"""The functions of several arguments, which every arithmetic provides as operators."""

HELPERS = ("pi", "sinh", "cosh")
"""Names that formulas of rows may use in addition to functions of the tables."""


def named(library: Any, name: str) -> Any:
    """The attribute of a library under a name of these tables or HELPERS; other names are refused.

    Args:
        library: a module or other namespace.
        name: the name.

    Raises:
        AttributeError: any other name, or a name that the library lacks.
    """
    if name not in FUNCTIONS and name not in DERIVED and name not in HELPERS:
        raise AttributeError(name)
    return getattr(library, name)


def value_in(arithmetic: Arithmetic, name: str) -> Callable[[Any], Any]:
    """A function of FUNCTIONS or DERIVED in an arithmetic.

    Args:
        arithmetic: the namespace in which it is computed.
        name: its name.

    Raises:
        AttributeError: neither the arithmetic nor the row has a way to compute it.
    """
    row = (FUNCTIONS | DERIVED)[name]
    formula = row.value
    if formula is None or hasattr(arithmetic, name):
        return getattr(arithmetic, name)
    return lambda x: formula(arithmetic, x)
