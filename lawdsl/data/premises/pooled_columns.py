"""Rows of equal settings -> whether a column that the law does not use tells their outputs apart.

Rows that are equal in all variables of a law are repeated measurements to it, and their differences
are noise. Where a column such as the size of the model explains these differences, the fit pools
curves that are not one, and its parameters belong to none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.enumerations import abridged, conjunction
from lawdsl.data.premises.column_roles import columns_with_role
from lawdsl.data.premises.rows import Array, Codes, PremiseRows
from lawdsl.data.row_codes import row_codes

Mask = NDArray[np.bool_]

POOLED = "D0145"
REPETITIONS = ("run", "seed")
"""Roles of columns that repeated measurements differ in."""
MIN_PER_LEVEL = 3.0  # repeated settings for each value of the column, on average
MAX_LEVELS = 20  # values of the column: more are those of a measurement
MIN_SHARE = 0.5  # of the sum of squares of the differences that the column explains
MAX_P_VALUE = 1e-6
MAX_NAMED = 3
MIN_EFFECT = 0.01  # of the standard deviation of the output: smaller differences do not matter


def pooled_column_findings(rows: PremiseRows) -> list[Diagnostic]:
    """A warning (D0145) if a column beside those of the law explains most of the differences between
    rows of equal settings.

    The test is an F test of the values of the column, in three parts along the curve, at 1e-6.
    Columns of runs and of seeds are left out.

    Args:
        rows: the rows.
    """
    output = rows.values.get(rows.law.output)
    if output is None or len(output) < 2:
        return []
    count = len(output)
    variables = [rows.values[q.name] for q in rows.law.variables]
    settings = row_codes(variables, count)
    repeated = np.bincount(settings)[settings] > 1
    if not repeated.any():
        return []
    differences = _differences(output, settings)[repeated]
    parts = _parts([x[repeated] for x in variables], len(differences))
    best = (MIN_SHARE, "")
    for column, levels in _candidates(rows, repeated):
        share, p_value = _explained(differences, parts, settings[repeated], levels)
        if share > best[0] and p_value < MAX_P_VALUE:
            best = share, column
    share, column = best
    if not column or np.std(differences) * share**0.5 < MIN_EFFECT * np.std(output):
        return []
    texts = sorted(set(rows.table.texts(column)), key=lambda text: (len(text), text))
    names = [q.name for q in rows.law.variables if np.ptp(rows.values[q.name]) > 0]
    alike = f"rows of equal {conjunction(names)}" if names else "the rows"
    message = (
        f"{alike} differ in `{column}` ({abridged(texts, MAX_NAMED)}), which explains {100 * share:.0f} % of "
        f"their differences in {rows.bound.get(rows.law.output, rows.law.output)}: they are fitted as one"
    )
    help = f"fit each by itself, --by {column}, or choose rows, --where '{column} = {texts[0]}'"
    place = f"{rows.table.name} column {column}"
    return [Diagnostic(POOLED, message, "warning", place=place, help=help)]


def _differences(output: Array, settings: Codes) -> Array:
    """The output minus its mean over the rows of equal settings, shape (rows,)."""
    counts = np.bincount(settings)
    return np.asarray(output - (np.bincount(settings, weights=output) / counts)[settings])


def _parts(variables: Sequence[Array], count: int) -> Codes:
    """A number for each third along the variable with the most values, shape (rows,): curves that
    cross differ in either direction.
    """
    if not variables:
        return np.zeros(count, dtype=np.int64)
    along = max(variables, key=lambda x: len(np.unique(x)))
    ends = np.quantile(along, [1 / 3, 2 / 3])
    return np.searchsorted(ends, along).astype(np.int64)


def _candidates(rows: PremiseRows, repeated: Mask) -> Iterator[tuple[str, Codes]]:
    """The columns that may tell repeated rows apart, with the code of each of these rows."""
    skipped = {name for role in REPETITIONS for name in columns_with_role(rows.table, role)}
    for column in rows.table.source_columns:
        if column in skipped or rows.uses(column):
            continue
        # encoded by Arrow, since texts of large tables take long
        encoded = rows.table.columns[column].combine_chunks().dictionary_encode()
        codes = encoded.indices.fill_null(len(encoded.dictionary))
        levels = codes.to_numpy(zero_copy_only=False).astype(np.int64)[repeated]
        count = len(np.unique(levels))
        if 1 < count <= MAX_LEVELS and len(levels) >= MIN_PER_LEVEL * count:
            yield column, levels


def _explained(
    differences: Array, parts: Codes, settings: Codes, levels: Codes
) -> tuple[float, float]:
    """The share of the sum of squares of differences that the values of a column explain in each
    part, and the p-value of the F test of that; 0 and 1 where there is no test.
    """
    from scipy.special import fdtrc

    cells = row_codes([parts, levels], len(parts))
    sizes = np.bincount(cells)
    means = np.bincount(cells, weights=differences) / sizes
    total = float(np.sum(differences**2))
    explained = float(np.sum(sizes * means**2))
    extra = len(sizes) - len(np.unique(parts))
    free = len(parts) - len(np.unique(settings)) - extra
    if extra < 1 or free < 1 or total <= 0:
        return 0.0, 1.0
    left = max(total - explained, 0.0)
    ratio = explained / extra / (left / free) if left > 0 else np.inf
    return explained / total, float(fdtrc(extra, free, ratio))
