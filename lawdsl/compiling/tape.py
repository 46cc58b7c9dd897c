"""Expressions -> Tape: a list of instructions, in which equal sub-expressions share one.

The tape is data, not code: no text is generated or executed, and one tape runs on float64 arrays
(`arrays`) and on intervals (`intervals`). Sharing equal parts is common subexpression elimination
by value numbering (Aho, Lam, Sethi and Ullman (2006), Compilers, section 6.1).
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from lawdsl.compiling.instructions import Instruction, Tape
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.law.functions import BY_ROW, NAMES


class FiniteLog(sp.Function):  # type: ignore[misc]
    """log x, but 0 at x = 0: in derivatives it is multiplied by a power of x, which is 0 there."""


__all__ = ["Instruction", "Tape", "compile_tape"]

OPERATIONS: dict[type[sp.Basic], str] = {
    sp.Add: "add",
    sp.Mul: "multiply",
    sp.Pow: "power",
    FiniteLog: "finite log",
    **NAMES,
}
"""SymPy class -> operation. What is not here cannot be computed with."""


SLOPES: dict[type[sp.Basic], str] = {
    derivative: NAMES[function] + "'" * order
    for function, (_, *derivatives) in BY_ROW.items()
    for order, derivative in enumerate(derivatives, start=1)
}
"""SymPy class -> operation, of derivatives of laws: they are computed on arrays only."""


def compile_tape(expressions: Sequence[sp.Expr], inputs: Sequence[sp.Symbol]) -> Tape:
    """Compile expressions to one tape.

    Args:
        expressions: what is to be computed.
        inputs: their symbols, in the order in which values will be given.

    Raises:
        LawdslError: an expression that has no real value (1/0), or a function outside the table.
    """
    instructions: list[Instruction] = []
    positions: dict[sp.Basic, int] = {}
    numbers = {symbol: i for i, symbol in enumerate(inputs)}

    def emit(node: sp.Basic) -> int:
        if node in positions:
            return positions[node]
        if node in numbers:
            instruction = Instruction("input", value=numbers[node])
        elif node.is_NumberSymbol or node.is_Number and node.is_finite:
            instruction = Instruction("constant", value=node)
        elif type(node) in OPERATIONS:
            op = OPERATIONS[type(node)]
            # the second argument of SymPy's Heaviside is its value at 0
            parts = node.args[:1] if op == "step" else node.args
            instruction = Instruction(op, tuple(emit(part) for part in parts))
        elif type(node) in SLOPES:
            instruction = Instruction(SLOPES[type(node)], (emit(node.args[0]),))
        else:
            message = f"`{node}` has no real value"
            raise LawdslError(Diagnostic("L0501", message, help="correct the formula"))
        instructions.append(instruction)
        positions[node] = len(instructions) - 1
        return positions[node]

    outputs = tuple(emit(expression) for expression in expressions)
    return Tape(tuple(instructions), len(inputs), outputs)
