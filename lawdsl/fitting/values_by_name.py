"""Values by names of variables -> columns of a table, and results in their common shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import conjunction
from lawdsl.language.keywords import did_you_mean

Array = NDArray[np.float64]
Column = NDArray[Any]


@dataclass(frozen=True)
class ValuesByName:
    """Values of several names, broadcast to one shape and written as columns.

    Attributes:
        columns: name -> its values, shape (points,): numbers or, for labels, text.
        shape: the shape that the values broadcast to; () where all are scalars.
    """

    columns: Mapping[str, Column]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, numbers: Mapping[str, Any], labels: Mapping[str, Any]) -> ValuesByName:
        """Broadcast values.

        Args:
            numbers: name -> number, or array of numbers.
            labels: name -> label, or array of labels.

        Raises:
            LawdslError: a value that is not a number (D0106), shapes that do not broadcast (D0151).
        """
        arrays: dict[str, Column] = {name: _numbers(name, x) for name, x in numbers.items()}
        arrays |= {name: np.asarray(x, dtype=np.str_) for name, x in labels.items()}
        try:
            shape = np.broadcast_shapes(*(x.shape for x in arrays.values()))
        except ValueError:
            shapes = ", ".join(f"{name} {x.shape}" for name, x in arrays.items())
            message = f"the shapes of the values do not broadcast: {shapes}"
            help = "give scalars, and arrays whose shapes agree as NumPy's do"
            raise LawdslError(Diagnostic("D0151", message, help=help)) from None
        columns = {name: np.broadcast_to(x, shape).ravel() for name, x in arrays.items()}
        return cls(columns, shape)

    def shaped(self, values: Array) -> Any:
        """Results in the shape of the values: a float if all values are scalars.

        Args:
            values: shape (points,).
        """
        return values.reshape(self.shape) if self.shape else float(values[0])


def check_names(law: str, given: Iterable[str], names: Sequence[str]) -> None:
    """Raise an error for values of names that a law does not have.

    Args:
        law: the name of the law.
        given: the names for which values are given.
        names: the names that the law has.

    Raises:
        LawdslError: D0116.
    """
    problems = []
    for name in given:
        if name not in names:
            help = did_you_mean(name, names, f"it has {', '.join(names)}")
            problems.append(Diagnostic("D0116", f"`{law}` has no variable `{name}`", help=help))
    if problems:
        raise LawdslError(problems)


def check_complete(law: str, given: Iterable[str], needed: Sequence[str]) -> None:
    """Refuse values without one of a variable that a prediction needs.

    Args:
        law: the name of the law.
        given: the names that were given values.
        needed: the variables.

    Raises:
        LawdslError: D0104.
    """
    missing = [name for name in needed if name not in set(given)]
    if missing:
        message = f"`{law}` needs a value of {conjunction(missing)}"
        help = f"give all of its variables: fit({', '.join(f'{name}=…' for name in needed)})"
        raise LawdslError(Diagnostic("D0104", message, help=help))


def elements(name: str, value: Any, texts: Mapping[str, str]) -> dict[str, Any]:
    """The elements of a variable with subscripts.

    Args:
        name: the variable.
        value: a mapping of labels to numbers or arrays, or an array whose last axis is that of the
            labels, in their order.
        texts: label -> name of its element, `r[web]`.

    Returns:
        Name of an element -> its values.

    Raises:
        LawdslError: a label that was not fitted (D0120), or an array of another length (D0151).
    """
    if isinstance(value, Mapping):
        for label in value:
            if label not in texts:
                message = f"{name}: `{label}` is none of {', '.join(texts)}"
                help = "give values of the labels that were fitted"
                raise LawdslError(Diagnostic("D0120", message, help=help))
        return {texts[label]: x for label, x in value.items()}
    array = _numbers(name, value)
    if not array.ndim or array.shape[-1] != len(texts):
        message = f"{name} needs a value for each of {', '.join(texts)}; its shape is {array.shape}"
        help = f"give a mapping of labels, or an array whose last axis has length {len(texts)}"
        raise LawdslError(Diagnostic("D0151", message, help=help))
    return {text: array[..., k] for k, text in enumerate(texts.values())}


def _numbers(name: str, value: Any) -> Array:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        message = f"{name} = {str(value)[:40]} is not a number, or an array of numbers"
        raise LawdslError(Diagnostic("D0106", message, help="give plain numbers")) from None
