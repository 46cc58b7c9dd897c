"""Parts of a compiled law <-> plain data, for files; what is read is checked, and nothing of it is executed.

Values and gradients are stored, and Hessians where they are needed. Constants become float64, as arrays use them:
a stored law has the same values, to the last digit, as the one that it was made from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from lawdsl.compiling.arrays import SLOPES, VALUES
from lawdsl.compiling.instructions import NO_FACTOR, Instruction, Parts, Sum, Tape
from lawdsl.core.functions import CHOICE

MAX_INSTRUCTIONS = 20_000
ARITIES = {"power": (2, 2), CHOICE: (3, 3)} | dict.fromkeys(
    ("add", "multiply", "min", "max"), (2, MAX_INSTRUCTIONS)
)
"""Operation -> least and largest number of arguments; other operations have one."""


def plain_parts(parts: Parts, second: bool = False) -> dict[str, Any]:
    """A compiled law as plain data.

    Args:
        parts: the law.
        second: whether with the second derivatives.
    """
    return {
        "tapes": [plain_tape(tape) for tape in parts.tapes[: 3 if second else 2]],
        "offset": parts.offset,
        "columns": parts.columns,
        "gradient": parts.gradient,
        "linear": parts.linear,
        "hessian": parts.hessian if second else None,
    }


def parts_of_plain(content: Any, variables: int, parameters: int) -> Parts:
    """Rebuild a compiled law from the plain data of `plain_parts`.

    Args:
        content: from a file that anybody may have written.
        variables, parameters: how many of either the law has.

    Raises:
        ValueError, TypeError, LookupError, AttributeError, OverflowError: data of another form, an
            unknown operation, or a position that does not exist.
    """
    tapes = [tape_of_plain(tape, variables + parameters) for tape in content["tapes"]]
    one, two, three = tapes if len(tapes) == 3 else (*tapes, tapes[1])
    linear = tuple(_position(k, parameters) for k in content["linear"])
    offset = _sum(content["offset"], linear, len(one.outputs))
    columns = tuple(_sum(terms, linear, len(one.outputs)) for terms in content["columns"])
    gradient = tuple(_sum(terms, linear, len(two.outputs)) for terms in content["gradient"])
    if len(columns) != len(linear) or len(gradient) != parameters or len(set(linear)) < len(linear):
        raise ValueError(
            "not one column for each linear parameter, or one slope for each parameter"
        )
    hessian = None
    if content["hessian"] is not None:
        hessian = tuple(
            (
                _position(k, parameters),
                _position(other, parameters),
                _sum(terms, linear, len(three.outputs)),
            )
            for k, other, terms in content["hessian"]
        )
    return Parts((one, two, three), offset, columns, gradient, hessian, variables, linear)


def plain_tape(tape: Tape) -> dict[str, Any]:
    """A tape as plain data.

    Args:
        tape: the tape.
    """
    steps = (
        [s.op, float(s.value) if s.op == "constant" else s.value, s.arguments]  # type: ignore[arg-type]
        for s in tape.instructions
    )
    return {"instructions": list(steps), "outputs": tape.outputs}


def tape_of_plain(content: Any, inputs: int) -> Tape:
    """Rebuild a tape from the plain data of `plain_tape`.

    Args:
        content: from a file that anybody may have written.
        inputs: how many values it takes.

    Raises:
        ValueError, TypeError, LookupError, AttributeError: data of another form.
    """
    listed = content["instructions"]
    if type(listed) is not list or len(listed) > MAX_INSTRUCTIONS:
        raise ValueError("no list of instructions")
    outputs = tuple(_position(k, len(listed)) for k in content["outputs"])
    return Tape(tuple(_instructions(listed, inputs)), inputs, outputs)


def _instructions(listed: list[Any], inputs: int) -> Iterator[Instruction]:
    for number, (op, value, arguments) in enumerate(listed):
        if op == "input":
            value = _position(value, inputs)
        elif op == "constant":
            if type(value) is not float or not math.isfinite(value):
                raise ValueError(f"{value!r:.40} is not a constant")
        elif value is not None or (op not in VALUES and op not in SLOPES):
            raise ValueError(f"{op!r:.40} is not an operation")
        least, largest = (0, 0) if op in ("input", "constant") else ARITIES.get(op, (1, 1))
        if not least <= len(arguments) <= largest:
            raise ValueError(f"{op} of {len(arguments)} arguments")
        yield Instruction(op, tuple(_position(k, number) for k in arguments), value)


def _sum(content: Any, linear: tuple[int, ...], outputs: int) -> Sum:
    terms = tuple((factor, _position(output, outputs)) for factor, output in content)
    if any(type(k) is not int or (k != NO_FACTOR and k not in linear) for k, _ in terms):
        raise ValueError("a factor that is not a linear parameter")
    return terms


def _position(value: Any, count: int) -> int:
    """A position in a list of `count`."""
    # the exact type, since True is an instance of int
    if type(value) is not int or not 0 <= value < count:
        raise ValueError(f"{value!r:.40} is not a position among {count}")
    return value
