"""The records of a compiled law: tapes, and sums of their outputs. They are plain data: no algebra.

A tape is a list of instructions, each on earlier results; one tape runs on float64 arrays (`arrays`)
and on intervals (`interval_evaluation`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sympy as sp

Term = tuple[int, int]  # positions of the parameter that multiplies (or NO_FACTOR) and of an output
Sum = tuple[Term, ...]

MAX_HESSIAN_PARAMETERS = 40  # the number of second derivatives grows with the square
NO_FACTOR = -1  # stands for the position of a parameter where no parameter multiplies


@dataclass(frozen=True, slots=True)
class Instruction:
    """One operation on earlier results.

    `op` is input, constant, add, multiply, power, or the name of a function; `arguments` are
    positions of earlier instructions; `value` is the number of the input, or the constant: a
    fraction, pi or e, or the float64 nearest to it in a tape for arrays alone. Other numbers (log 10)
    are computed, so that their error is bounded too.
    """

    op: str
    arguments: tuple[int, ...] = ()
    value: sp.Expr | int | float | None = None


@dataclass(frozen=True, slots=True)
class Tape:
    """Instructions in an order in which each uses only earlier ones.

    Attributes:
        instructions: the operations.
        inputs: how many values the tape takes.
        outputs: the positions of the outputs among the instructions.
    """

    instructions: tuple[Instruction, ...]
    inputs: int
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Parts:
    """The value and the derivatives of a law, as sums of outputs of three tapes.

    Attributes:
        tapes: for the value alone; with the gradient; with the Hessian too. Their inputs are the
            variables and then the parameters; none depends on the linear ones.
        offset: the law with the linear parameters at 0.
        columns: for each linear parameter the function that it multiplies.
        gradient: for each parameter the derivative by it.
        hessian: (parameter k, parameter >= k, derivative by both), without those that are 0; None
            for too many parameters.
        variables: how many of the inputs are variables.
        linear: positions of the parameters in which the law is jointly linear.
    """

    tapes: tuple[Tape, Tape, Tape]
    offset: Sum
    columns: tuple[Sum, ...]
    gradient: tuple[Sum, ...]
    hessian: tuple[tuple[int, int, Sum], ...] | None
    variables: int
    linear: tuple[int, ...]
