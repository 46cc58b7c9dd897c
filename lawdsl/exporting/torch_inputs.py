"""The inputs of a module of PyTorch: numbers, tensors and labels -> tensors inside their domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lawdsl.compiling.indexed_leaves import SHARE_ATOL
from lawdsl.exporting.content import Exported, ExportedVariable
from lawdsl.language.keywords import did_you_mean

SUM_ATOL = 0.02  # shares may be rounded, as in a table


@dataclass(frozen=True)
class Inputs:
    """Tensors that broadcast.

    Attributes:
        values: variable -> its values.
        by_label: variable with subscripts -> its values; the last axis is that of the labels.
        labels: index -> positions of labels.
        shape: the common shape of the predictions.
    """

    values: Mapping[str, Tensor]
    by_label: Mapping[str, Tensor]
    labels: Mapping[str, Tensor]
    shape: tuple[int, ...]


def read_inputs(made: Exported, given: Mapping[str, Any], like: Tensor) -> Inputs:
    """Check and convert the inputs of a law.

    Args:
        made: the law.
        given: variable or set -> value.
        like: a tensor of the type and on the device of the results.

    Raises:
        ValueError: an unknown or missing name, an unknown label, a value outside its domain, or
            shapes that do not broadcast.
    """
    sets = {made.rows[index]: index for index in made.rows}
    names = [v.name for v in made.variables]
    for name in given:
        if name not in names and name not in sets:
            help = did_you_mean(name, [*names, *sets], f"there are {', '.join([*names, *sets])}")
            raise ValueError(f"`{made.name}` has no variable {name!r}: {help}")
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(f"`{made.name}` needs values of {', '.join(missing)}")
    values = {v.name: _number(v, v.name, given[v.name], like) for v in made.variables if not v.over}
    by_label = {v.name: _by_label(made, v, given[v.name], like) for v in made.variables if v.over}
    labels = {
        index: _label_positions(name, made.labels[made.index_sets[index]], given[name], like)
        for name, index in sets.items()
        if name in given
    }
    unsaid = []
    for name, index in sets.items():
        if index not in labels:
            count = len(made.labels[made.index_sets[index]])
            labels[index] = torch.arange(count, device=like.device)
            unsaid += [name] if count > 1 else []
            labels[index] = labels[index] if count > 1 else labels[index][0]
    if len(unsaid) > 1:
        raise ValueError(f"give the labels of all but one of {', '.join(unsaid)}")
    if unsaid:  # one prediction for each label, along a last axis
        values = {name: x[..., None] for name, x in values.items()}
        by_label = {name: x[..., None, :] for name, x in by_label.items()}
        labels = {
            index: x if made.rows[index] == unsaid[0] else x[..., None]
            for index, x in labels.items()
        }
    shapes = [x.shape for x in (*values.values(), *labels.values())]
    shapes += [x.shape[:-1] for x in by_label.values()]
    try:
        shape = tuple(torch.broadcast_shapes(*shapes))
    except RuntimeError:
        listed = ", ".join(str(tuple(each)) for each in shapes)
        raise ValueError(f"the shapes of the inputs do not broadcast: {listed}") from None
    return Inputs(values, by_label, labels, shape)


def _tensor(name: str, x: Any, like: Tensor) -> Tensor:
    try:
        tensor = torch.as_tensor(x, dtype=like.dtype, device=like.device)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"{name} = {x!r:.80} is neither a number nor a tensor of them") from None
    _require(name, tensor, torch.isfinite(tensor), "a finite number")
    return tensor


def _number(variable: ExportedVariable, name: str, x: Any, like: Tensor) -> Tensor:
    """A variable, or an element of one, inside its domain."""
    tensor = _tensor(name, x, like)
    for bound in variable.bounds:
        inside = {
            ">": tensor > bound.limit,
            ">=": tensor >= bound.limit,
            "<": tensor < bound.limit,
            "<=": tensor <= bound.limit,
        }[bound.relation]
        _require(name, tensor, inside, f"{bound.relation} {bound.limit:g}")
    return tensor


def _by_label(made: Exported, variable: ExportedVariable, x: Any, like: Tensor) -> Tensor:
    """A variable with subscripts, whose last axis is that of the labels."""
    name, labels, rest = variable.name, made.labels[variable.over], variable.left_out
    if isinstance(x, Mapping):
        unknown = [label for label in x if label not in labels]
        absent = [label for label in labels if label not in x]
        if unknown or len(absent) > (rest is not None):
            which = (unknown or absent)[0]
            raise ValueError(f"{name} needs a value for each of {', '.join(labels)}: {which}")
        each = {
            label: _tensor(f"{name}[{label}]", x[label], like) for label in labels if label in x
        }
        for label in absent:  # one share may be omitted
            each[label] = 1 - sum(each.values(), start=like.new_zeros(()))
        values = torch.stack(torch.broadcast_tensors(*(each[label] for label in labels)), dim=-1)
    else:
        values = _tensor(name, x, like)
        if values.shape[-1:] != (len(labels),):
            raise ValueError(f"the last axis of {name} has a value for each of {', '.join(labels)}")
    if rest is None:
        return _number(variable, name, values, like)
    _require(name, values, values >= -SHARE_ATOL, "at least 0")
    total = values.sum(dim=-1)
    _require(f"the sum of {name}", total, torch.abs(total - 1) <= SUM_ATOL, "1")
    others = [values[..., k] for k in range(len(labels))]
    left = 1 - sum((s for k, s in enumerate(others) if k != rest), start=like.new_zeros(()))
    others[rest] = torch.where(left < SHARE_ATOL, torch.zeros_like(left), left)
    return torch.stack(others, dim=-1)


def _label_positions(name: str, labels: Sequence[str], x: Any, like: Tensor) -> Tensor:
    """The positions of labels, which may be given by name or by position."""
    if isinstance(x, torch.Tensor):
        if x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
            raise ValueError(f"{name}: positions of labels are whole numbers, not {x.dtype}")
        positions = x.to(device=like.device, dtype=torch.long)
        _require(name, positions, (positions >= 0) & (positions < len(labels)), "a position")
        return positions
    names = np.asarray(x)
    numbers = {label: k for k, label in enumerate(labels)}
    unknown = [label for label in map(str, names.ravel().tolist()) if label not in numbers]
    if unknown:
        raise ValueError(f"{name} = {unknown[0]!r} is none of {', '.join(labels)}")
    found = [numbers[str(label)] for label in names.ravel().tolist()]
    return torch.tensor(found, dtype=torch.long, device=like.device).reshape(names.shape)


def _require(name: str, x: Tensor, inside: Tensor, domain: str) -> None:
    """Raise an error for a value outside its domain."""
    if not bool(torch.all(inside)):
        bad = x.reshape(-1)[~inside.reshape(-1)][0].item()
        raise ValueError(f"{name} = {bad:g} is outside its domain: {domain}")
