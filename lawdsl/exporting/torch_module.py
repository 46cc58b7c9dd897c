"""Fit, fits or law -> a `torch.nn.Module`, which computes the steps of the formula with PyTorch.

No text is generated or executed: the module interprets the steps of `program`. It needs PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from lawdsl.compiling.indexed_leaves import OUTER_AXES, Leaf
from lawdsl.exporting.build import elements_of, exported
from lawdsl.exporting.content import Exported
from lawdsl.exporting.torch_inputs import Inputs, read_inputs
from lawdsl.exporting.torch_values import OPERATIONS, Domains
from lawdsl.fitting.preparation.parameter_bounds import transforms_of
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.transforms import Transforms, to_free
from lawdsl.language.instances.instance import Differing, IndexValue
from lawdsl.law.law import Law

LEVEL = 0.95  # of intervals, which a module does not have


class LawModule(torch.nn.Module):  # type: ignore[misc]
    """A fitted law as a module of PyTorch: `module(N=n, D=d)` predicts, and can be trained on.

    The trained parameters are the unconstrained coordinates of the fit, `unconstrained`: log(A) of
    a parameter A > 0, log(C - C0) of C > C0, a logit between two bounds, the parameter itself
    without bounds. So every step of an optimiser stays inside the domains. `parameter_values()`
    returns the parameters themselves. Fixed parameters and settings are buffers; tied ones follow
    the others.

    Args:
        made: the law with its values.
        free: free parameter -> fitted value, of all fits.
        domains: the transforms of the parameters of each fit, in the order of `free`.
        terms: for each free parameter the elements that move with it: coefficient, and position
            among the elements of all parameters.
        dtype: the type of floats.
        device: the device.

    Attributes:
        law: the name of the law.
        labels: set -> its labels, in the order in which tensors have them.
        unconstrained: free parameter -> trained parameter, a scalar; a full stop in a label is
            written as an underscore.
    """

    def __init__(
        self,
        made: Exported,
        free: Mapping[str, float],
        domains: Sequence[Transforms],
        terms: Sequence[Sequence[tuple[float, int]]],
        dtype: torch.dtype,
        device: Any,
    ) -> None:
        super().__init__()
        self.law, self.labels = made.name, dict(made.labels)
        self._made, self._domains = made, Domains.of(domains)
        self._names = tuple(free)
        self._keys = _keys(self._names)
        starts = _starts(list(free.values()), domains)
        kind = {"dtype": dtype, "device": device}
        self.unconstrained = torch.nn.ParameterDict(
            {
                key: torch.nn.Parameter(torch.tensor(x, **kind))
                for key, x in zip(self._keys, starts, strict=True)
            }
        )
        elements = [x for c in made.constants for x in np.ravel(np.array(c.values)).tolist()]
        listed = [(row, k, x) for k, each in enumerate(terms) for x, row in each]
        values = list(free.values())
        for row, k, x in listed:
            elements[row] -= x * values[k]
        self.register_buffer("elements", torch.tensor(elements, **kind))
        for name, numbers in (
            ("_rows", [row for row, _, _ in listed]),
            ("_columns", [k for _, k, _ in listed]),
        ):
            index = torch.tensor(numbers, dtype=torch.long, device=device)
            self.register_buffer(name, index, persistent=False)
        coefficients = torch.tensor([x for _, _, x in listed], **kind)
        self.register_buffer("_coefficients", coefficients, persistent=False)

    def parameter_values(self) -> dict[str, Tensor]:
        """Free parameter -> its value, inside its domain, with its gradient."""
        return dict(zip(self._names, self._theta(), strict=True))

    def forward(self, inputs: Mapping[str, Any] | None = None, /, **named: Any) -> Tensor:
        """Predict the output.

        Args:
            inputs: variable -> number, array or tensor, in the law's units; they broadcast. Of a
                variable with subscripts a mapping of labels to these, or a tensor whose last axis
                is that of the labels; one share may be omitted, which is 1 minus the others.
                Set -> label, an array of labels, or a tensor of their positions in `labels`.
            named: entries of `inputs` as keywords.

        Returns:
            The predictions, of the common shape; for a law with one prediction per label, with a
            last axis for the labels unless a label is given.

        Raises:
            ValueError: a value outside the domain of a variable, an unknown or a missing name.
        """
        given = {**(inputs or {}), **named}
        return self._value(read_inputs(self._made, given, self.elements))

    def extra_repr(self) -> str:
        """The law, its parameters and its inputs."""
        names = [v.name for v in self._made.variables]
        return f"{self.law}, inputs={names}, parameters={list(self._names)}"

    def _theta(self) -> Tensor:
        if not self._keys:
            return self.elements.new_zeros(0)
        return self._domains.values(torch.stack([self.unconstrained[key] for key in self._keys]))

    def _constants(self) -> dict[str, Tensor]:
        """Parameter or setting -> its values, with an axis for each subscript."""
        moved = self._coefficients * self._theta()[self._columns]
        elements = self.elements.index_add(0, self._rows, moved)
        values, first = {}, 0
        for constant in self._made.constants:
            shape = [len(self.labels[over]) for over in constant.over]
            count = int(np.prod(shape, dtype=int))
            values[constant.name] = elements[first : first + count].reshape(shape)
            first += count
        return values

    def _value(self, inputs: Inputs) -> Tensor:
        """The output, of the shape of the inputs."""
        program, axes = self._made.program, len(self._made.index_sets)
        constants = self._constants()
        results: list[Tensor] = []
        for op, arguments, data in program.steps[: program.value + 1]:
            operands = [results[k] for k in arguments]
            if op == "number":
                value = self.elements.new_full((1,) * axes, cast(float, data))
            elif op == "leaf":
                value = self._leaf(cast(Leaf, data), constants, inputs, axes)
            elif op in ("sum", "contract", "prod"):
                along = [k - OUTER_AXES - axes for k in cast(tuple[int, ...], data)]
                value = operands[0] * operands[1] if op == "contract" else operands[0]
                if op != "prod":
                    value = value.sum(dim=along, keepdim=True)
                else:
                    for axis in along:
                        value = value.prod(dim=axis, keepdim=True)
            else:
                value = OPERATIONS[op](*operands)
            results.append(value)
        value = results[program.value]
        return value.reshape(value.shape[: value.ndim - axes]).expand(inputs.shape).clone()

    def _leaf(
        self, leaf: Leaf, constants: Mapping[str, Tensor], inputs: Inputs, axes: int
    ) -> Tensor:
        """The array of a leaf, with the axes of the inputs and one for each index."""
        name, subscripts = leaf
        trailing = (None,) * axes
        if name not in constants and name not in inputs.by_label:
            return inputs.values[name][(..., *trailing)]
        sets = self._sets_of(name)
        positions = [
            self._positions(subscript, over, inputs, axes)
            for subscript, over in zip(subscripts, sets, strict=True)
        ]
        if name in constants:
            values = constants[name]
            return values[tuple(positions)] if positions else values.reshape((1,) * axes)
        (position,) = positions
        values = inputs.by_label[name]
        # the axis of labels last, behind an axis for each index, which `gather` needs in full
        outer = torch.broadcast_shapes(values.shape[:-1], position.shape[:-axes])
        index = position.expand(*outer, *position.shape[-axes:])
        lined = values[(..., *trailing, slice(None))].expand(*index.shape, values.shape[-1])
        return torch.gather(lined, -1, index[..., None])[..., 0]

    def _sets_of(self, name: str) -> tuple[str, ...]:
        made = self._made
        of_constants = {constant.name: constant.over for constant in made.constants}
        of_variables = {variable.name: (variable.over,) for variable in made.variables}
        return (of_constants | of_variables)[name]

    def _positions(
        self, subscript: IndexValue | int, over: str, inputs: Inputs, axes: int
    ) -> Tensor:
        """The positions of the labels that a subscript takes, which broadcast."""
        device = self.elements.device
        if isinstance(subscript, int):
            shape = [1] * axes
            count = len(self.labels[over])
            shape[subscript - OUTER_AXES] = count
            return torch.arange(count, device=device).reshape(shape)
        if isinstance(subscript, Differing):
            return inputs.labels[subscript.index][(..., *(None,) * axes)]
        position = self.labels[over].index(subscript)
        return torch.full((1,) * axes, position, dtype=torch.long, device=device)


def to_torch(
    what: Fit | Fits | Law, *, dtype: torch.dtype = torch.float64, device: Any = None
) -> LawModule:
    """Make a module of PyTorch from a fit.

    Args:
        what: a fit, the fits of a law with index sets, or a law all parameters of which have
            values, which are buffers then.
        dtype: the type of floats.
        device: the device; None for the default one.

    Raises:
        LawdslError: a law without values (E0102), or a fit whose law was altered.
    """
    made = exported(what, LEVEL)
    if isinstance(what, Law):
        return LawModule(made, {}, [], [], dtype, device)
    parts = what.parts if isinstance(what, Fits) else (what,)
    laws = [part.read_law() for part in parts]
    free: dict[str, float] = {}
    terms: list[list[tuple[float, int]]] = []
    positions = dict(_positions_of_elements(made))
    for part, law in zip(parts, laws, strict=True):
        names = [q.name for q in law.parameters]
        free |= {name: part.values[name] for name in names}
        for each in elements_of(law, made, names):
            terms.append([(t.coefficient, positions[t.name, t.positions]) for t in each])
    return LawModule(made, free, [transforms_of(law) for law in laws], terms, dtype, device)


def _positions_of_elements(made: Exported) -> Iterator[tuple[tuple[str, tuple[int, ...]], int]]:
    """(Parameter, positions of its labels) -> position among the elements of all parameters."""
    number = 0
    for constant in made.constants:
        for labels in product(*(range(len(made.labels[over])) for over in constant.over)):
            yield (constant.name, labels), number
            number += 1


def _keys(names: Sequence[str]) -> list[str]:
    """The keys of parameters: their names, without what PyTorch does not permit."""
    keys: list[str] = []
    for name in names:
        key = name.replace(".", "_")
        while key in keys or hasattr(torch.nn.ParameterDict, key):
            key += "_"
        keys.append(key)
    return keys


def _starts(values: Sequence[float], domains: Sequence[Transforms]) -> list[float]:
    """The unconstrained parameters of a fit."""
    starts: list[float] = []
    with np.errstate(all="ignore"):
        for transforms in domains:
            own = np.array([values[len(starts) : len(starts) + len(transforms)]])
            starts += to_free(transforms, own)[0].tolist()
    return starts
