"""Tape + exact points -> value and slopes as balls of Arb (python-flint), by reverse accumulation.

Points are exact fractions, so the only errors are those of rounding, which Arb bounds (Johansson
(2017), IEEE Transactions on Computers 66).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

import sympy as sp
from flint import arb, fmpq

from lawdsl.compiling.tape import Tape
from lawdsl.core.functions import CHOICE, named, value_in
from lawdsl.law.functions import NAMES, ROWS

Ball = Any  # arb: python-flint has no types


class NoBall(Exception):
    """An operation without a finite value at the point, or a derivative at a kink."""


def ball(number: Fraction) -> Ball:
    """The ball that contains a fraction, at the current precision."""
    return arb(fmpq(number.numerator, number.denominator))


def value(tape: Tape, inputs: Sequence[Ball]) -> Ball:
    """The first output of a tape, as a ball that contains its exact value.

    Args:
        tape: what to compute.
        inputs: one ball for each input.

    Raises:
        NoBall: it has no finite value.
    """
    return _values(tape, inputs)[tape.outputs[0]]


def slopes(tape: Tape, inputs: Sequence[Ball], count: int) -> list[Ball]:
    """The derivatives of the first output by the first `count` inputs, as balls.

    Args:
        tape: what to compute.
        inputs: one ball for each input.
        count: how many inputs to differentiate by.

    Raises:
        NoBall: it has no finite value or slope.
    """
    results = _values(tape, inputs)
    varying = _varying(tape, count)
    adjoints: list[Ball] = [arb(0) for _ in results]
    adjoints[tape.outputs[0]] = arb(1)
    gradient = [arb(0)] * count
    for i in range(tape.outputs[0], -1, -1):
        step = tape.instructions[i]
        if not varying[i]:
            continue
        if step.op == "input":
            gradient[int(step.value)] = adjoints[i]  # type: ignore[arg-type]
            continue
        arguments = [results[k] for k in step.arguments]
        requested = [varying[k] for k in step.arguments]
        partials = _partials(step.op, arguments, results[i], requested)
        for k, partial, is_requested in zip(step.arguments, partials, requested, strict=True):
            if is_requested:
                adjoints[k] = adjoints[k] + adjoints[i] * partial
    # a derivative may be infinite, as that of sqrt at 0
    if not all(x.is_finite() for x in gradient):
        raise NoBall
    return gradient


def _values(tape: Tape, inputs: Sequence[Ball]) -> list[Ball]:
    results: list[Ball] = []
    for step in tape.instructions:
        if step.op == "input":
            value = inputs[int(step.value)]  # type: ignore[arg-type]
        elif step.op == "constant":
            value = _constant(step.value)
        else:
            value = VALUES[step.op](*(results[i] for i in step.arguments))
        if not value.is_finite():
            raise NoBall
        results.append(value)
    return results


def _varying(tape: Tape, count: int) -> list[bool]:
    """Which results depend on the first `count` inputs."""
    varying: list[bool] = []
    for step in tape.instructions:
        if step.op == "input":
            varying.append(int(step.value) < count)  # type: ignore[arg-type]
        else:
            varying.append(any(varying[k] for k in step.arguments))
    return varying


def _constant(number: Any) -> Ball:
    if number is sp.pi:
        return arb.pi()
    if number is sp.E:
        return arb(1).exp()
    exact = sp.Rational(number)
    return ball(Fraction(int(exact.p), int(exact.q)))


def _chosen(x: Ball, y: Ball, larger: bool) -> Ball:
    if not (x > y or x < y):
        raise NoBall
    return x if (x > y) == larger else y


def _taken(g: Ball) -> int:
    """Which part of a choice is taken: 1 or 2. A ball about 0 decides none, but 0 itself does."""
    if g > 0:
        return 1
    if g <= 0:
        return 2
    raise NoBall


def _sign(x: Ball) -> int:
    if not x != 0:
        raise NoBall
    return 1 if x > 0 else -1


class _Balls:
    """Arb as an arithmetic: its functions are methods of its numbers."""

    @property
    def pi(self) -> Ball:
        return arb.pi()

    def abs(self, x: Ball) -> Ball:
        return x * _sign(x)

    def sign(self, x: Ball) -> Ball:
        return arb(_sign(x))

    def step(self, x: Ball) -> Ball:
        return arb((1 + _sign(x)) // 2)

    def __getattr__(self, name: str) -> Callable[[Any], Ball]:
        method = named(arb, name)
        return lambda x: method(x if isinstance(x, arb) else arb(x))


BALLS: Any = _Balls()

VALUES: dict[str, Callable[..., Ball]] = {
    "add": lambda *x: reduce(lambda a, b: a + b, x),
    "multiply": lambda *x: reduce(lambda a, b: a * b, x),
    "power": lambda x, y: x**y,
    "min": lambda *x: reduce(lambda a, b: _chosen(a, b, False), x),
    "max": lambda *x: reduce(lambda a, b: _chosen(a, b, True), x),
    CHOICE: lambda *x: x[_taken(x[0])],
    **{NAMES[function]: value_in(BALLS, NAMES[function]) for function in ROWS},
}
SLOPES = {NAMES[function]: row.derivative for function, row in ROWS.items()}


def _partials(op: str, arguments: list[Ball], result: Ball, requested: list[bool]) -> list[Ball]:
    """The derivatives of one operation by its arguments; only the requested ones are computed."""
    if op == "add":
        return [arb(1)] * len(arguments)
    if op == "multiply":
        return [
            reduce(lambda a, b: a * b, (x for k, x in enumerate(arguments) if k != i), arb(1))
            for i in range(len(arguments))
        ]
    if op == "power":
        base, exponent = arguments
        return [
            exponent * base ** (exponent - 1) if requested[0] else arb(0),
            result * base.log() if requested[1] else arb(0),
        ]
    if op == CHOICE:
        if not arguments[0] != 0:
            raise NoBall
        return [arb(k == _taken(arguments[0])) for k in range(3)]
    if op in ("min", "max"):
        return [arb(1) if x is result else arb(0) for x in arguments]
    return [arb(SLOPES[op](BALLS, arguments[0], result))]
