"""The operations of tapes on PyTorch tensors, and parameters inside their domains.

It needs PyTorch; it is imported only where a module of PyTorch is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from lawdsl.compiling.instructions import NO_FACTOR, Parts, Sum
from lawdsl.compiling.model import Model
from lawdsl.core.functions import CHOICE, DERIVED, FUNCTIONS, named, value_in
from lawdsl.fitting.transforms import MAX_EXPONENT, Limit, Transform, Transforms


class _Tensors:
    """PyTorch as an arithmetic."""

    def sign(self, x: Tensor) -> Tensor:
        return torch.where(x == x, torch.sign(x), x)  # torch.sign(NaN) is 0

    def step(self, x: Tensor) -> Tensor:
        return torch.where(x == x, torch.heaviside(x, x.new_full((), 0.5)), x)

    def __getattr__(self, name: str) -> Any:
        return named(torch, name)


TENSORS: Any = _Tensors()


def chosen(g: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """a where g > 0, b elsewhere, and NaN where g has no value."""
    return torch.where(g > 0, a, torch.where(g <= 0, b, g))


OPERATIONS: Mapping[str, Callable[..., Tensor]] = {
    "add": lambda *x: reduce(torch.add, x),
    "multiply": lambda *x: reduce(torch.mul, x),
    "power": torch.pow,
    "min": lambda *x: reduce(torch.minimum, x),
    "max": lambda *x: reduce(torch.maximum, x),
    CHOICE: chosen,
    **{name: value_in(TENSORS, name) for name in FUNCTIONS | DERIVED},
}
"""Operation -> its function of tensors."""


def value_of(parts: Parts, inputs: Sequence[Tensor], parameters: Tensor) -> Tensor:
    """The value of a compiled law.

    Args:
        parts: the law.
        inputs: its variables, and then its parameters.
        parameters: the parameters, shape (parameters,).
    """
    results: list[Tensor] = []
    tape = parts.tapes[0]
    for step in tape.instructions:
        if step.op == "input":
            assert isinstance(step.value, int)
            results.append(inputs[step.value])
        elif step.op == "constant":
            results.append(parameters.new_full((), float(step.value)))  # type: ignore[arg-type]
        else:
            results.append(OPERATIONS[step.op](*(results[k] for k in step.arguments)))
    outputs = [results[k] for k in tape.outputs]

    def total(terms: Sum) -> Tensor:
        each = [
            outputs[k] if factor == NO_FACTOR else parameters[factor] * outputs[k]
            for factor, k in terms
        ]
        return reduce(torch.add, each, parameters.new_zeros(()))

    linear = [parameters[j] * total(c) for j, c in zip(parts.linear, parts.columns, strict=True)]
    return reduce(torch.add, linear, total(parts.offset))


@dataclass(frozen=True)
class Domains:
    """The maps of unconstrained parameters into their domains: those of a fit.

    Attributes:
        free, above, below, between: positions of parameters without limits, with a lower one, an
            upper one, and both, and the limits.
        coupled: position of a parameter with a limit that depends on others, its transform, and the
            position of the first parameter of its fit.
    """

    free: tuple[int, ...]
    above: tuple[tuple[int, float], ...]
    below: tuple[tuple[int, float], ...]
    between: tuple[tuple[int, float, float], ...]
    coupled: tuple[tuple[int, Transform, slice], ...]

    @classmethod
    def of(cls, fits: Sequence[Transforms]) -> Domains:
        """The domains of the parameters of several fits, one after the other."""
        free: list[int] = []
        above: list[tuple[int, float]] = []
        below: list[tuple[int, float]] = []
        between: list[tuple[int, float, float]] = []
        coupled: list[tuple[int, Transform, slice]] = []
        first = 0
        for transforms in fits:
            own = slice(first, first + len(transforms))
            for i, transform in enumerate(transforms, first):
                low, high = transform.sides
                if transform.coupled:
                    coupled.append((i, transform, own))
                elif low is not None and high is not None:
                    between.append((i, low.number, high.number))
                elif low is not None:
                    above.append((i, low.number))
                elif high is not None:
                    below.append((i, high.number))
                else:
                    free.append(i)
            first = own.stop
        return cls(tuple(free), tuple(above), tuple(below), tuple(between), tuple(coupled))

    def values(self, free: Tensor) -> Tensor:
        """The parameters at unconstrained ones, both of shape (parameters,)."""

        def at(positions: Sequence[int]) -> Tensor:
            return free[torch.tensor(positions, dtype=torch.long, device=free.device)]

        values, order = [at(self.free)], list(self.free)
        # each kind by itself: an exponential that is not needed would make a gradient of NaN
        for rows, sign in ((self.above, 1), (self.below, -1)):
            positions = [i for i, _ in rows]
            limit = free.new_tensor([x for _, x in rows])
            values.append(limit + sign * torch.exp(_clipped(at(positions))))
            order += positions
        positions = [i for i, _, _ in self.between]
        low = free.new_tensor([x for _, x, _ in self.between])
        high = free.new_tensor([x for _, _, x in self.between])
        values.append(low + (high - low) * torch.sigmoid(_clipped(at(positions))))
        order += positions
        positions = [i for i, _, _ in self.coupled]
        values.append(free.new_zeros(len(positions)))
        order += positions
        inverse = sorted(range(len(order)), key=order.__getitem__)
        theta = torch.cat(values)[torch.tensor(inverse, dtype=torch.long, device=free.device)]
        # in the order of the parameters: a limit depends only on earlier parameters
        for i, transform, own in self.coupled:
            value = _coupled_value(transform, _clipped(free[i]), theta[own])
            theta = torch.cat([theta[:i], value[None], theta[i + 1 :]])
        return theta


def _clipped(u: Tensor) -> Tensor:
    return torch.clamp(u, -MAX_EXPONENT, MAX_EXPONENT)


def _coupled_value(transform: Transform, u: Tensor, theta: Tensor) -> Tensor:
    low, high = (None if side is None else _limit(side, theta) for side in transform.sides)
    if low is not None and high is not None:
        return low + (high - low) * torch.sigmoid(u)
    if low is not None:
        return low + torch.exp(u)
    assert high is not None
    return high - torch.exp(u)


def _limit(limit: Limit, theta: Tensor) -> Tensor:
    """The value of a limit at parameters of shape (parameters,)."""
    if limit.formula is None:
        return theta.new_full((), limit.number)
    assert isinstance(limit.formula, Model)
    parts = limit.formula.parts
    return value_of(parts, [theta.new_ones(())] * parts.variables + list(theta), theta)
