"""Law with index sets -> the derivatives that are not 0: for each row, those by its own parameters.

A row of `L[i] = E[i] + A[i]/N^alpha` depends on E and A of its own label and on alpha, however many
labels there are. A slot is a place for one parameter of each row: the derivative by a leaf of the
formula, `A[i]`, at the element that belongs to the row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.indexed import IndexedProgram
from lawdsl.compiling.indexed_leaves import Leaf, Source
from lawdsl.language.instances.instance import IndexValue

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True)
class Slots:
    """Which free parameter each slot of each row is for.

    Attributes:
        index: the positions of the parameters, shape (slots, rows).
        terms: for each leaf of the formula, and each of its elements in a row: the slots to which its
            derivative contributes, with a factor by row, shape (rows,), or one for all rows.
    """

    index: Index
    terms: dict[Leaf, list[list[tuple[int, Array]]]]


def slots_of(law: IndexedProgram, columns: Array) -> Slots:
    """Assign the parameters of each row to slots.

    Args:
        law: the law, compiled to steps on arrays.
        columns: its variables, shape (variables, rows).
    """
    rows = columns.shape[1]
    source = Source(law.leaves, columns, np.zeros((1, len(law.leaves.numbers))))
    matrix, _ = law.leaves.affine_map
    begin, free, factors = matrix.indptr, matrix.indices, matrix.data
    counts = np.diff(begin)
    known: dict[bytes, int] = {}
    index: list[Index] = []
    terms: dict[Leaf, list[list[tuple[int, Array]]]] = {}
    for op, _, leaf in law.steps:
        if op != "leaf" or not law.leaves.is_parameter(leaf[0]):  # type: ignore[index]
            continue
        positions = source.numbers(*leaf)  # type: ignore[misc]
        flat = positions.reshape(len(positions), -1).T
        elements = []
        for element in flat:
            parts = []
            # a tied element stands for several free parameters
            for number in range(int(counts[element].max(initial=0))):
                has = counts[element] > number
                place = np.where(has, begin[:-1][element] + number, 0)
                factor = np.where(has, factors[place], 0.0)
                chosen = np.where(has, free[place], -1)
                chosen = np.broadcast_to(chosen.astype(np.int64), rows)
                key = chosen.tobytes()
                if key not in known:
                    known[key] = len(index)
                    index.append(chosen.copy())
                parts.append((known[key], factor))
            elements.append(parts)
        terms[leaf] = elements  # type: ignore[index]
    filled = np.array(index, dtype=np.int64).reshape(len(index), rows)
    # a slot that a row does not need repeats one of its parameters, with a factor of 0
    filled = np.where(filled < 0, np.maximum(filled.max(axis=0, initial=0), 0), filled)
    return Slots(filled, terms)


def row_slopes(
    law: IndexedProgram, slots: Slots, source: Source, rows: slice
) -> tuple[Array, Array]:
    """The law and its derivatives by the parameters of each row.

    Args:
        law: the law, compiled to steps on arrays.
        slots: the slots of all rows of the table.
        source: its leaves at the parameters, on the chosen rows.
        rows: which rows of the table these are.

    Returns:
        Shapes (starts, rows) and (starts, slots, rows).
    """
    results = law.values(source)
    shape = len(source.everything), source.columns.shape[1]
    slopes = np.zeros((shape[0], len(slots.index), shape[1]))

    def add_slope(name: str, labels: tuple[IndexValue | int, ...], adjoint: Array) -> None:
        elements = slots.terms[name, labels]
        lengths = source.numbers(name, labels).shape[1:]
        adjoints = np.broadcast_to(adjoint, (*shape, *lengths)).reshape(*shape, -1)
        for position, parts in enumerate(elements):
            for slot, factor in parts:
                by_row = factor if len(factor) == 1 else factor[rows]
                slopes[:, slot] += adjoints[:, :, position] * by_row

    law.slopes(results, add_slope)
    value = results[law.output]
    flat = value.reshape(value.shape[:2])
    return np.broadcast_to(flat, shape).copy(), slopes
