"""Law -> scikit-learn estimator, for pipelines, cross-validation and searches.

It needs scikit-learn, the extra `sklearn`; no other module of the package imports this one.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from lawdsl.data.label_columns import binding_name
from lawdsl.data.read import read_table
from lawdsl.data.table import Table
from lawdsl.fitting.fit import fit_with
from lawdsl.fitting.options import AUTO, FitOptions
from lawdsl.fitting.result_by_label import Fits
from lawdsl.language.law_changes import LawChanges
from lawdsl.law.law import Law, load

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils import check_consistent_length, column_or_1d
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    message = "LawRegressor needs scikit-learn 1.6 or later: pip install 'lawdsl[sklearn]'"
    raise ImportError(message, name="sklearn") from error

Array = NDArray[np.float64]


class LawRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn regressor that fits the parameters of a law.

    Args:
        law: a law, or the name or path of one.
        columns: variable of the law -> column, by name or by position, where they differ. Without
            it an array has the law's variables as columns, in the law's order, and no others. For a
            law with index sets also set -> column of labels, patterns such as `"r_*"` for data
            frames, and elements by position for arrays: {"validation": 0, "r[web]": 1, …}.
        starts: how many starts the engine chooses, `"declared"`, or one start.
        objective: a loss and the scale of its residuals, in place of the law's own: huber(log),
            squared(raw), absolute(log), quantile(log) and so on.
        delta: Huber's delta in place of the law's own.
        quantile: the share of the measurements below the fit, of the loss quantile, in place of the
            law's own.
        over: how many times an over-estimate counts, predicted above measured, relative to an
            under-estimate, in place of the law's own.
        settings: values in place of those of the law's settings.
        without: one bound of the law to leave out, or several.
        fix: parameter -> value at which it is fixed, inside its domain.
        tie: parameter -> formula of others that it equals, {"beta": "alpha"}.
        enforce: satisfy the law's claims, by bounds of the parameters.
        intervals: the method: auto, delta, profile or bootstrap.
        level: the level of the intervals.
        seed: the seed of the starts and of a bootstrap.

    Attributes:
        fit_: the fit, with its verdict, diagnostics and certificates.
        parameters_: parameter -> fitted value, in the law's units.
        n_features_in_: the number of columns of X.
        feature_names_in_: their names, where X was a data frame.

    For a law with index sets each row of X has a label for each of its outputs, in a column such as
    `validation`, and y its one loss. Labels that were not fitted cannot be predicted.

    A data frame may have columns that the law does not need, also of text; a header such as `N
    [Mparam]` gives a unit, which is converted. A fit that is not trusted raises a
    ConvergenceWarning.
    """

    def __init__(
        self,
        law: Law | str | Path,
        *,
        columns: Mapping[str, str | int] | None = None,
        starts: int | str | Mapping[str, float] = AUTO,
        objective: str | None = None,
        delta: float | None = None,
        quantile: float | None = None,
        over: float | None = None,
        settings: Mapping[str, float] | None = None,
        without: str | Sequence[str] = (),
        fix: Mapping[str, float] | None = None,
        tie: Mapping[str, str] | None = None,
        enforce: bool = False,
        intervals: str = AUTO,
        level: float = 0.95,
        seed: int = 0,
    ) -> None:
        self.law = law
        self.columns = columns
        self.starts = starts
        self.objective = objective
        self.delta = delta
        self.quantile = quantile
        self.over = over
        self.settings = settings
        self.without = without
        self.fix = fix
        self.tie = tie
        self.enforce = enforce
        self.intervals = intervals
        self.level = level
        self.seed = seed

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the law.

        Args:
            X: the variables, shape (rows, columns): an array or a data frame.
            y: the measured output, shape (rows,), in the law's unit.
            sample_weight: how many rows each row stands for, shape (rows,): any numbers from 0;
                rows of weight 0 are left out.

        Raises:
            LawdslError: a law or table that cannot be used.
            ValueError: arrays of the wrong shape or kind.
        """
        law = self.law if isinstance(self.law, Law) else load(self.law)
        if _named(X):
            X, y = validate_data(self, X, y, skip_check_array=True)
            y = np.asarray(column_or_1d(y, warn=True), dtype=np.float64)
            check_consistent_length(X, y)
        elif law.indexed:  # an array of objects, if labels are texts
            X, y = validate_data(
                self, X, y, dtype=None, ensure_all_finite="allow-nan", y_numeric=True
            )
        else:
            fixed = {*(self.fix or {}), *(self.tie or {})}
            least = max(1, sum(q.name not in fixed for q in law.parameters))
            X, y = validate_data(
                self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=least
            )
        sets = {binding_name(law.declarations, index) for index in law.declarations.indices}
        self._labels = {(self.columns or {}).get(name, name) for name in sets} | sets
        if not hasattr(self, "feature_names_in_"):
            self._names = _names(law, self.n_features_in_, self.columns)
        bound = {} if law.indexed and not _named(X) else self.columns or {}
        table, target = _with_target(self._table(X), np.asarray(y, dtype=np.float64))
        weights = None if sample_weight is None else _weights(sample_weight, len(table))
        bindings = {v: _name(table, column) for v, column in bound.items()}
        changes = LawChanges.of(
            settings=self.settings, without=self.without, fix=self.fix, tie=self.tie
        )
        options = FitOptions(
            columns={**bindings, law.output: target},
            starts=self.starts,
            objective=self.objective,
            delta=self.delta,
            quantile=self.quantile,
            over=self.over,
            claims=False,
            enforce=self.enforce,
            intervals=self.intervals,
            level=self.level,
            weights=weights,
            seed=self.seed,
        )
        self.fit_ = fit_with(changes.apply(law), table, options)
        self.parameters_ = self.fit_.values
        if self.fit_.verdict == "not trusted":
            why = [d for d in self.fit_.diagnostics if d.severity == "error"]
            message = f"the fit is not trusted: {'; '.join(d.message for d in why)}"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def predict(self, X: Any) -> Array:
        """Predict the output for the rows of X: shape (rows,), in the law's unit.

        Args:
            X: the variables, shape (rows, columns): an array or a data frame.

        Raises:
            LawdslError: a value outside the law's domain.
            ValueError: other columns than those fitted.
        """
        check_is_fitted(self)
        indexed = isinstance(self.fit_, Fits)
        if _named(X):
            X = validate_data(self, X, reset=False, skip_check_array=True)
        elif indexed:
            X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite="allow-nan")
        else:
            X = validate_data(self, X, reset=False, dtype=np.float64)
        # cross-validation holds out the ends of ranges as a matter of course
        values: Array = self.fit_.predict_with_warnings(self._table(X))[0]
        return values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # a law does not describe the arbitrary data of scikit-learn's checks
        tags.regressor_tags.poor_score = True
        return tags

    def _table(self, X: Any) -> Table:
        """X as a table; an array's columns have the names that were fitted."""
        if _named(X):
            return read_table(X)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = self._names
        columns = zip(names, X.T, strict=True)
        return read_table({n: _cells(c, is_label=n in self._labels) for n, c in columns})


def _named(X: Any) -> bool:
    """Whether X is a data frame whose columns all have names."""
    if not nw.dependencies.is_into_dataframe(X):
        return False
    return all(isinstance(name, str) for name in nw.from_native(X).columns)


def _names(law: Law, count: int, columns: Mapping[str, str | int] | None) -> list[str]:
    """The names of an array's columns: the law's variables, or x0, x1, … if they are bound; of a law
    with index sets what is bound to them, as in `r[web]`.
    """
    if law.indexed:
        return _names_of_elements(law, count, columns or {})
    if columns:
        return [f"x{i}" for i in range(count)]
    names = [q.name for q in law.variables]
    if len(names) != count:
        listed = ", ".join(names)
        raise ValueError(
            f"X has {count} feature(s), `{law.name}` {len(names)} variable(s): {listed}; "
            f"say which is which: columns={{{names[0]!r}: 0}}"
        )
    return names


def _names_of_elements(law: Law, count: int, columns: Mapping[str, str | int]) -> list[str]:
    """The names of an array's columns, for a law with index sets."""
    names = [f"x{i}" for i in range(count)]
    for name, column in columns.items():
        if not (isinstance(column, int) and 0 <= column < count):
            raise ValueError(f"X has {count} feature(s) without names: unknown column {column!r}")
        names[column] = name
    if not columns:
        message = f"`{law.name}` has index sets: give a data frame, or say which columns of X have"
        raise ValueError(f"{message} its variables and labels: columns={{'r[web]': 0, …}}")
    return names


def _cells(column: NDArray[Any], is_label: bool) -> Any:
    """A column of an array: texts, as they are written, if it has labels; else numbers if all are."""
    if not is_label or column.dtype.kind == "f":
        try:
            return np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError):  # a message names the column and the first such cell
            pass
    return [str(cell) for cell in column]


def _name(table: Table, column: str | int) -> str:
    """The name of a column that is given by name or position."""
    if isinstance(column, str):
        return column
    names = list(table.columns)[:-1]  # the last is the target
    if not 0 <= column < len(names):
        raise ValueError(f"X has {len(names)} feature(s), counted from 0: unknown column {column}")
    return names[column]


def _with_target(table: Table, y: Array) -> tuple[Table, str]:
    """The table with the measurements as its last column, and the name of that column."""
    name = "y"
    while name in table.columns:
        name += "_"
    return replace(table, columns={**table.columns, name: pa.chunked_array([y])}), name


def _weights(weights: ArrayLike, rows: int) -> Array:
    """Validated weights, shape (rows,)."""
    numbers = np.asarray(weights, dtype=np.float64)
    if numbers.shape != (rows,):
        raise ValueError(f"sample_weight has the shape {numbers.shape}, not ({rows},)")
    if not (np.all(np.isfinite(numbers)) and np.all(numbers >= 0)):
        raise ValueError("sample_weight has values that are not numbers from 0")
    if not np.any(numbers):
        raise ValueError("sample_weight is zero in every row")
    return numbers
