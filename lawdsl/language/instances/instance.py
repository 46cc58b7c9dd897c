"""The labels at which a law with index sets is instantiated: plain records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Annotated, Protocol

from lawdsl.core.records import MAY_BE_ABSENT


class LabelledIndex(Protocol):
    """An index of a law."""

    @property
    def over(self) -> str:
        """The set that it runs over."""
        ...


class IndexedOutput(Protocol):
    """The output of a law with index sets."""

    @property
    def indices(self) -> tuple[str, ...]:
        """Its subscripts."""
        ...

    @property
    def rows(self) -> tuple[str, ...]:
        """The indices that are free in its formula besides."""
        ...


class IndexedLaw(Protocol):
    """The part of the declarations of a law that an instance depends on; the declarations contain
    the instance that they were taken at.
    """

    @property
    def indices(self) -> Mapping[str, LabelledIndex]:
        """Name -> index."""
        ...

    @property
    def output(self) -> IndexedOutput:
        """The predicted quantity."""
        ...


@dataclass(frozen=True)
class Instance:
    """The labels that a law with index sets is taken at.

    Attributes:
        labels: set -> its labels, in their order.
        at: index of the rows -> the one label that all rows have. An index of the rows that is not
            named here differs from row to row.
        by_row: variables with subscripts whose value each row says, in one column.
        left_out: variable in a simplex -> the label whose share is written as 1 minus the others.
        open: sets that have further labels than those named, any number of them: what holds then
            holds for every set.
    """

    labels: Mapping[str, tuple[str, ...]]
    at: Mapping[str, str] = field(default_factory=dict)
    by_row: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    open: Annotated[tuple[str, ...], MAY_BE_ABSENT] = ()

    def of(self, declared: IndexedLaw, index: str) -> tuple[str, ...]:
        """The labels that an index runs over.

        Args:
            declared: the law.
            index: the index.
        """
        return self.labels[declared.indices[index].over]

    def rows(self, declared: IndexedLaw) -> dict[str, IndexValue]:
        """Index of the rows -> its label, or a placeholder where it differs from row to row."""
        return {name: self.at.get(name) or Differing(name) for name in row_indices(declared)}

    def assignments(self, declared: IndexedLaw, indices: Sequence[str]) -> Iterator[dict[str, str]]:
        """Every way to give indices labels.

        Args:
            declared: the law.
            indices: the indices.
        """
        for labels in product(*(self.of(declared, name) for name in indices)):
            yield dict(zip(indices, labels, strict=True))

    @property
    def text(self) -> str:
        """The label of the rows: `github`, or nothing."""
        return ", ".join(self.at.values())


@dataclass(frozen=True)
class Differing:
    """The placeholder for the label of an index that differs from row to row."""

    index: str

    def __str__(self) -> str:
        return self.index


IndexValue = str | Differing  # what an index stands for


def row_indices(declared: IndexedLaw) -> tuple[str, ...]:
    """The indices of which each measured row has one label: those of the output, and those free
    in its formula."""
    return (*declared.output.indices, *declared.output.rows)


def indicator(index: str, label: str) -> str:
    """The variable that is 1 in the rows with a label and 0 in the others: Iverson's bracket (Knuth
    (1992), "Two notes on notation", American Mathematical Monthly 99).
    """
    return f"[{index} = {label}]"
