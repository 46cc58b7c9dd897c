"""The records of structural identifiability: Symmetry and Freedom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lawdsl.core.lazy_modules import lazy_module

if TYPE_CHECKING:
    import sympy as sp

    from lawdsl.law import text as texts
    from lawdsl.proof.identifiability.orbits import Flow
else:  # a law without symmetries needs no algebra
    sp = lazy_module("sympy")
    texts = lazy_module("lawdsl.law.text")


@dataclass(frozen=True)
class Symmetry:
    """A transformation of the parameters that changes no prediction, for all variables.

    Attributes:
        parameters: those that it changes, in the law's order.
        field: parameter -> its rate of change; Σ field·∂L/∂parameter = 0. Empty where a direction
            is lost and no formula for it was found.
        equation: that identity as text.
        proved: whether algebra proves it; otherwise it was verified at random points, to 100
            digits.
        flow: the transformation in closed form; None where it was not found.
        held: one of the parameters, which may be fixed without loss of generality.
        value: the value at which it may be fixed; None where that depends on the others.
    """

    parameters: tuple[str, ...]
    field: Mapping[str, sp.Expr]
    equation: str
    proved: bool
    flow: Flow | None
    held: str
    value: float | None

    @property
    def transformation(self) -> str | None:
        """The images of the parameters as text: `w1 -> s*w1, F -> s^mu*F`."""
        return self.flow.text if self.flow else None

    @property
    def fixing(self) -> str:
        """The advice that removes the symmetry."""
        if len(self.parameters) == 1:
            return f"leave {self.held} out of the law"
        if self.value is not None:
            number = f"{self.value:g}"
            setting = f"`setting {self.held} = {number}` in the law"
            return f"fix one of them: --fix {self.held}={number}, or {setting}"
        invariant = self._kept
        if invariant is not None:
            return f"write {invariant} as one parameter"
        return f"fix one of them, such as {self.held}, or write the law without it"

    @property
    def _kept(self) -> str | None:
        """The invariant of two parameters that are shifted together: a + b."""
        if len(self.field) != 2 or not all(e.is_number for e in self.field.values()):
            return None
        # a·|rate of b| - b·(rate of a)·sign does not change along the field
        (a, by_a), (b, by_b) = self.field.items()
        invariant = sp.Symbol(a) * abs(by_b) - sp.Symbol(b) * by_a * sp.sign(by_b)
        return texts.text(invariant)

    def to_json(self) -> dict[str, Any]:
        """The record as plain data for `--json`."""
        return {
            "parameters": list(self.parameters),
            "field": {name: texts.text(e) for name, e in self.field.items()} or None,
            "equation": self.equation or None,
            "proved": self.proved,
            "transformation": self.transformation,
            "fixing": self.fixing,
        }


@dataclass(frozen=True)
class Freedom:
    """The directions in the parameters of a law that no data can determine.

    Attributes:
        symmetries: one for each lost direction, those with a formula first.
        certain: whether it is certain that no more are lost.
    """

    symmetries: tuple[Symmetry, ...] = ()
    certain: bool = True

    @property
    def lost(self) -> int:
        """The number of lost directions at almost all parameters."""
        return len(self.symmetries)

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The parameters that take part in some lost direction."""
        return frozenset(name for s in self.symmetries for name in s.parameters)

    @property
    def held(self) -> frozenset[str]:
        """Parameters that remove all freedom when they are fixed, one for each direction."""
        return frozenset(s.held for s in self.symmetries)
