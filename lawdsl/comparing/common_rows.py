"""One table as several laws see it: the same rows, in the same order, for all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.binding import Runs, bind
from lawdsl.data.table import Table, places
from lawdsl.language.keywords import nearest
from lawdsl.law.law import Law

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
SAME_VALUE = 1e-12  # relative: what converting a unit may change in a measured value


@dataclass(frozen=True)
class Measured:
    """The rows that all laws can use.

    They stand in the order of their values, so nothing depends on the order of the table.

    Attributes:
        table: the rows as they were read, in that order.
        columns: for each law its variables in its units, shape (variables, rows).
        target: the measured output, shape (rows,).
        variables: name -> values, of all variables of all laws; of two laws that share a name but
            not a unit, the first one's.
        bound: variable or output -> the column it was read from.
        digest: SHA-256 of the numbers.
        dropped: how many rows were left out because they were bad for some law.
        warnings: what is odd but usable.
    """

    table: Table
    columns: tuple[Array, ...]
    target: Array
    variables: Mapping[str, Array]
    bound: Mapping[str, str]
    digest: str
    dropped: int
    warnings: tuple[Diagnostic, ...]

    @property
    def rows(self) -> int:
        return len(self.target)

    def values(self, name: str) -> Array:
        """A variable of the laws, or a column of the table, as numbers, shape (rows,).

        Raises:
            LawdslError: neither is called so, or a cell is not a number.
        """
        if name in self.variables:
            return self.variables[name]
        self._known(name)
        return self.table.numbers(name)

    def groups(self, name: str) -> tuple[Labels, tuple[str, ...]]:
        """Which of the distinct values of a variable or column each row has.

        Returns:
            The number of the value, shape (rows,), and each value as text; numbers in their
            order, texts in theirs.

        Raises:
            LawdslError: neither a variable nor a column is called so, or a cell is empty.
        """
        if name not in self.variables:
            self._known(name)
            if not self.table.readable(name).all():
                texts = self.table.texts(name)
                if "" in texts:
                    line = self.table.rows[texts.index("")]
                    message = f"column {name} is empty: the row belongs to no group"
                    place = f"{self.table.name}:{line} column {name}"
                    help = "fill it in, or choose rows with --where"
                    raise LawdslError(Diagnostic("F0202", message, place=place, help=help))
                distinct, label = np.unique(np.array(texts, dtype=object), return_inverse=True)
                return label, tuple(map(str, distinct))
        numbers, label = np.unique(self.values(name), return_inverse=True)
        return label, tuple(f"{x:g}" for x in numbers)

    def curves(self, along: str | None) -> Labels:
        """Which curve each row lies on: rows that differ in the variable `along` alone.

        Returns:
            The number of the curve, shape (rows,).
        """
        others = [v for name, v in self.variables.items() if along not in (name, self.bound[name])]
        if not others:
            return np.zeros(self.rows, dtype=np.int64)
        label: Labels = np.unique(np.stack(others), axis=1, return_inverse=True)[1].reshape(-1)
        return label

    def _known(self, name: str) -> None:
        if name in self.table.columns:
            return
        listed = [*self.variables, *(c for c in self.table.columns if c not in self.variables)]
        alike = nearest(name, listed)
        meant = f"did you mean `{alike}`? " if alike else ""
        message = f"neither a variable nor a column is called `{name}`"
        help = f"{meant}there are {', '.join(listed)}"
        raise LawdslError(Diagnostic("F0202", message, place=self.table.name, help=help))


def measured(
    laws: Sequence[Law],
    table: Table,
    bindings: Mapping[str, str],
    *,
    where: Sequence[str],
    drop_bad: bool,
    positive: bool,
) -> Measured:
    """The rows of a table that all laws can use.

    Args:
        laws: the laws.
        table: the table.
        bindings: variable or output -> column; each concerns the laws that have such a name.
        where: conditions that rows must meet.
        drop_bad: leave out rows that are bad for some law, instead of refusing the table.
        positive: whether the output must be above 0.

    Raises:
        LawdslError: columns or rows that cannot be used; laws that predict different things.
    """
    names = [{law.output, *(q.name for q in law.variables)} for law in laws]
    for name in bindings:
        if not any(name in own for own in names):
            listed = sorted(set().union(*names))
            alike = nearest(name, listed)
            help = f"did you mean `{alike}`?" if alike else f"they have {', '.join(listed)}"
            message = f"none of the laws has a variable `{name}`"
            raise LawdslError(Diagnostic("D0116", message, help=help))
    runs = [
        bind(
            law,
            table,
            {name: column for name, column in bindings.items() if name in own},
            where=where,
            drop_bad=drop_bad,
            positive=positive,
        )
        for law, own in zip(laws, names, strict=True)
    ]
    return _together(laws, table, runs)


def _together(laws: Sequence[Law], table: Table, runs: Sequence[Runs]) -> Measured:
    """The rows that all laws have read, in an order that is the same for all."""
    common = runs[0].rows
    for one in runs[1:]:
        common = np.intersect1d(common, one.rows)
    if len(common) == 0:
        message = "no row is good for all the laws"
        help = "compare laws of the same domain, or choose rows with --where"
        raise LawdslError(Diagnostic("D0103", message, place=table.name, help=help))
    common = np.sort(common)
    found = [places(one.rows, common) for one in runs]
    targets = [_target(one)[at] for one, at in zip(runs, found, strict=True)]
    _one_output(laws, runs, targets)
    columns = [one.columns[:, at] for one, at in zip(runs, found, strict=True)]
    variables: dict[str, Array] = {}
    for law, own in zip(laws, columns, strict=True):
        for q, values in zip(law.variables, own, strict=True):
            variables.setdefault(q.name, values)
    order = np.lexsort((*reversed(variables.values()), targets[0]))
    kept = table.at(common[order])
    bound = {name: column for one in reversed(runs) for name, column in one.bound.items()}
    variables = {name: values[order] for name, values in variables.items()}
    return Measured(
        table=kept,
        columns=tuple(own[:, order] for own in columns),
        target=targets[0][order],
        variables=variables,
        bound=bound,
        digest=_digest(variables, targets[0][order]),
        dropped=max(one.dropped + len(one.rows) for one in runs) - len(common),
        warnings=tuple(dict.fromkeys(d for one in runs for d in one.warnings)),
    )


def _target(runs: Runs) -> Array:
    assert runs.target is not None
    return runs.target


def _one_output(laws: Sequence[Law], runs: Sequence[Runs], targets: Sequence[Array]) -> None:
    """Refuse laws that predict different things: their errors could not be compared."""
    first, column = laws[0], runs[0].bound[laws[0].output]
    for law, one, target in zip(laws, runs, targets, strict=True):
        other = one.bound[law.output]
        if other == column and np.allclose(target, targets[0], rtol=SAME_VALUE, atol=0):
            continue
        what = f"column {other}" if other != column else f"column {other} in another unit"
        message = f"`{first.name}` predicts column {column}, `{law.name}` {what}"
        help = f"bind them to one column: {law.output}={column}"
        if other == column:
            help = "declare one unit for the output of both"
        raise LawdslError(Diagnostic("F0203", message, help=help))


def _digest(variables: Mapping[str, Array], target: Array) -> str:
    digest = hashlib.sha256()
    for name, values in [*variables.items(), ("", target)]:
        digest.update(f"{name}\n".encode())
        digest.update(np.ascontiguousarray(values, dtype="<f8").data)
    return digest.hexdigest()
