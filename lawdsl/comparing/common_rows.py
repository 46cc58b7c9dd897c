"""Laws + table -> the rows that all laws can use, in one order for all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.binding import Runs
from lawdsl.data.default_runs import bind_laws_with_runs
from lawdsl.data.table import Table, positions_of
from lawdsl.fitting.extrapolation.fitted_surface import size_variables
from lawdsl.fitting.extrapolation.run_size import run_size
from lawdsl.fitting.options import FitOptions
from lawdsl.language.keywords import did_you_mean, nearest
from lawdsl.law.law import Law

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
UNIT_CONVERSION_RTOL = 1e-12  # relative rounding error of a conversion of units


@dataclass(frozen=True)
class CommonRows:
    """The rows that all laws can use.

    They are sorted by their values, so no result depends on the order of the table.

    Attributes:
        table: the rows as they were read, in that order.
        columns: for each law the values of its variables in its units, shape (variables, rows).
        target: the measured output, shape (rows,).
        variables: name -> values, for all variables of all laws; if two laws use one name with
            different units, the values for the first law.
        bound: variable or output -> the column it was read from.
        digest: SHA-256 of the numbers.
        dropped: the number of rows excluded because they were bad for some law.
        warnings: warnings about data that are unusual but usable.
        runs: the number of each row's training run, shape (rows,); None where they are unknown.
        run_columns: the columns that identify a run.
        cost: the formula of the cost of a row, as given by the user; None without one.
        default_cost: the formula that the laws imply; None if they have no model size and tokens.
    """

    table: Table
    columns: tuple[Array, ...]
    target: Array
    variables: Mapping[str, Array]
    bound: Mapping[str, str]
    digest: str
    dropped: int
    warnings: tuple[Diagnostic, ...]
    runs: Labels | None = None
    run_columns: tuple[str, ...] = ()
    cost: str | None = None
    default_cost: str | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.target)

    def values(self, name: str) -> Array:
        """The values of a variable of the laws, or of a numeric column of the table, shape (rows,).

        Raises:
            LawdslError: an unknown name, or a cell that is not a number.
        """
        if name in self.variables:
            return self.variables[name]
        self._known(name)
        return self.table.numbers(name)

    def groups(self, name: str) -> tuple[Labels, tuple[str, ...]]:
        """The distinct values of a variable or column, and the index of each row's value.

        Returns:
            The index of each row's value, shape (rows,), and the values as text; numbers in
            numerical order, texts in alphabetical order.

        Raises:
            LawdslError: an unknown name, or an empty cell.
        """
        if name not in self.variables:
            self._known(name)
            if not self.table.readable(name).all():
                texts = self.table.texts(name)
                if "" in texts:
                    line = self.table.rows[texts.index("")]
                    message = f"column {name} is empty: the row belongs to no group"
                    cell_place = f"{self.table.name}:{line} column {name}"
                    help = "fill it in, or choose rows with --where"
                    raise LawdslError(Diagnostic("F0202", message, place=cell_place, help=help))
                distinct, label = np.unique(np.array(texts, dtype=object), return_inverse=True)
                return label, tuple(map(str, distinct))
        numbers, label = np.unique(self.values(name), return_inverse=True)
        return label, _distinct_texts(numbers)

    def curves(self, along: str | None) -> Labels:
        """The index of each row's curve, shape (rows,): rows of one curve differ in the variable
        `along` only.

        Args:
            along: the name of a variable; None for groups of rows with equal variables.
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
        similar = nearest(name, listed)
        meant = f"did you mean `{similar}`? " if similar else ""
        message = f"neither a variable nor a column is called `{name}`"
        help = f"{meant}there are {', '.join(listed)}"
        raise LawdslError(Diagnostic("F0202", message, place=self.table.name, help=help))


def _distinct_texts(numbers: Array) -> tuple[str, ...]:
    """Numbers as distinct texts of few digits."""
    for digits in range(6, 17):
        texts = tuple(f"{x:.{digits}g}" for x in numbers)
        if len(set(texts)) == len(texts):
            return texts
    return tuple(f"{x:.17g}" for x in numbers)


def common_rows(
    laws: Sequence[Law],
    table: Table,
    options: FitOptions,
    *,
    positive: bool,
    cost: str | None = None,
) -> CommonRows:
    """Select the rows of a table that all laws can use.

    Args:
        laws: the laws.
        table: the table.
        options: the options of the fits: which rows and columns they use; each entry of `columns`
            applies to the laws that have such a name.
        positive: whether the output must be above 0.
        cost: the formula of the cost of a row.

    Raises:
        LawdslError: columns or rows that cannot be used; laws that predict different outputs.
    """
    names = [{law.output, *(q.name for q in law.variables)} for law in laws]
    for name in options.columns:
        if not any(name in law_names for law_names in names):
            listed = sorted(set().union(*names))
            help = did_you_mean(name, listed, f"they have {', '.join(listed)}")
            message = f"none of the laws has a variable `{name}`"
            raise LawdslError(Diagnostic("D0116", message, help=help))
    runs = bind_laws_with_runs(
        laws,
        table,
        [
            {name: column for name, column in options.columns.items() if name in law_names}
            for law_names in names
        ],
        where=options.where,
        drop_bad=options.drop_bad,
        positive=positive,
        run=options.run,
    )
    aligned = _align_rows(laws, table, runs)
    return replace(aligned, cost=cost, default_cost=_default_cost(laws, aligned.columns))


def _default_cost(laws: Sequence[Law], columns: Sequence[Array]) -> str | None:
    """The formula of the training compute, 6·N·D, also if N and D have other names or no units.

    Args:
        laws: the laws.
        columns: for each law its variables, shape (variables, rows).

    Returns:
        The formula; None where the laws have no such variables.
    """
    if {"N", "D"} <= {q.name for law in laws for q in law.variables}:
        return "6*N*D"
    sizes = (run_size(size_variables(law), x) for law, x in zip(laws, columns, strict=True))
    return next((size.text for size in sizes if size.is_compute), None)


def _align_rows(laws: Sequence[Law], table: Table, runs: Sequence[Runs]) -> CommonRows:
    """The rows that every law has read, sorted by variables and target, in one order for all laws."""
    common = runs[0].rows
    for law_runs in runs[1:]:
        common = np.intersect1d(common, law_runs.rows)
    if len(common) == 0:
        message = "no row is good for all the laws"
        help = "compare laws of the same domain, or choose rows with --where"
        raise LawdslError(Diagnostic("D0103", message, place=table.name, help=help))
    common = np.sort(common)
    positions = [positions_of(law_runs.rows, common) for law_runs in runs]
    targets = [
        _target(law_runs)[position] for law_runs, position in zip(runs, positions, strict=True)
    ]
    _check_output(laws, runs, targets)
    columns = [
        law_runs.columns[:, position] for law_runs, position in zip(runs, positions, strict=True)
    ]
    variables: dict[str, Array] = {}
    for law, law_columns in zip(laws, columns, strict=True):
        for q, values in zip(law.variables, law_columns, strict=True):
            variables.setdefault(q.name, values)
    groups = None if runs[0].groups is None else runs[0].groups[positions[0]]
    # rows of equal values may be of different runs, which decide their order
    tie_breakers = () if groups is None else (groups,)
    order = np.lexsort((*tie_breakers, *reversed(variables.values()), targets[0]))
    aligned = table.at(common[order])
    # reversed: if laws bind a name differently, the first law decides
    bound = {name: column for law_runs in reversed(runs) for name, column in law_runs.bound.items()}
    variables = {name: values[order] for name, values in variables.items()}
    return CommonRows(
        table=aligned,
        columns=tuple(law_columns[:, order] for law_columns in columns),
        target=targets[0][order],
        variables=variables,
        bound=bound,
        digest=_digest_of(variables, targets[0][order]),
        dropped=max(law_runs.dropped + len(law_runs.rows) for law_runs in runs) - len(common),
        warnings=tuple(dict.fromkeys(d for law_runs in runs for d in law_runs.warnings)),
        runs=None if groups is None else np.unique(groups[order], return_inverse=True)[1],
        run_columns=runs[0].run_columns,
    )


def _target(runs: Runs) -> Array:
    assert runs.target is not None
    return runs.target


def _check_output(laws: Sequence[Law], runs: Sequence[Runs], targets: Sequence[Array]) -> None:
    """Raise an error for laws that predict different outputs, whose errors could not be compared."""
    first, column = laws[0], runs[0].bound[laws[0].output]
    for law, law_runs, target in zip(laws, runs, targets, strict=True):
        other = law_runs.bound[law.output]
        if other == column and np.allclose(target, targets[0], rtol=UNIT_CONVERSION_RTOL, atol=0):
            continue
        what = f"column {other}" if other != column else f"column {other} in another unit"
        message = f"`{first.name}` predicts column {column}, `{law.name}` {what}"
        help = f"bind them to one column: {law.output}={column}"
        if other == column:
            help = "declare one unit for the output of both"
        raise LawdslError(Diagnostic("F0203", message, help=help))


def _digest_of(variables: Mapping[str, Array], target: Array) -> str:
    digest = hashlib.sha256()
    for name, values in [*variables.items(), ("", target)]:
        digest.update(f"{name}\n".encode())
        # little-endian on every machine, so that the digest of a table is the same everywhere
        digest.update(np.ascontiguousarray(values, dtype="<f8").data)
    return digest.hexdigest()
