"""Valid table -> warnings about suspicious columns or rows: mixed scales, units, copied rows.

A coincidence of rounded measurements is judged by a Poisson count of equal pairs (the birthday
problem: Diaconis and Mosteller (1989), "Methods for studying coincidences", Journal of the American
Statistical Association 84).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.distributions import poisson_sf
from lawdsl.core.lazy_modules import lazy_module
from lawdsl.core.meant_units import PER_TOKEN
from lawdsl.core.units import PREFIXES, Dimension, size_and_dimension
from lawdsl.data.arrow_arrays import to_arrow, to_numpy
from lawdsl.data.drafts.column_names import logarithm_of_name, read_name
from lawdsl.data.rounding import SINGLE_RTOL, in_single_precision
from lawdsl.data.row_codes import row_codes
from lawdsl.data.table import Table, bad_rows
from lawdsl.law.quantities import unit_text

if TYPE_CHECKING:
    import pyarrow as pa

    from lawdsl.law.law import Law
else:  # it takes long to load, and values given as numbers need none of it
    pa = lazy_module("pyarrow")

Array = NDArray[np.float64]

COLUMN_IN_FORMULA = re.compile(r"[A-Za-z]\w*", re.ASCII)  # a name that a formula can contain

# nat/token: uniform guesses among 260,000 tokens, more than vocabularies have
MAX_LOSS = 12.5
MAX_COPIES_NAMED = 3  # copied rows that are named

MIN_SCALE_RATIO = 1e4  # a larger ratio of neighbouring values indicates two scales
MAX_COPIED_SHARE = (
    0.25  # of the rows: more copies than this are reported, however coarse the numbers
)
MIN_CHANCE_PROBABILITY = 1e-4  # a less likely number of equal rows is attributed to copying
# equal measurements at different settings from which coarse rounding is inferred
MIN_SHARED_VALUES = 2
DEFAULT_RELATIVE_NOISE = 1e-3  # the relative noise assumed where no setting was measured twice


@dataclass(frozen=True)
class PlausibleMagnitudes:
    """Plausible magnitudes of a quantity.

    Attributes:
        none: a column with all values below is implausible.
        small, few: a column with all values below `small` and some below `few` is implausible.
        most: a column with all values above is implausible.
        from_, to: the usual range, by which a likely unit is chosen.
    """

    none: float
    small: float
    few: float
    most: float
    from_: float
    to: float


USUAL: Mapping[Dimension, PlausibleMagnitudes] = {
    (("param", 1),): PlausibleMagnitudes(1e4, 1e6, 5e3, 1e15, 1e6, 1e13),
    (("token", 1),): PlausibleMagnitudes(1e6, 1e8, 1e5, 1e18, 1e8, 1e15),
    (("FLOP", 1),): PlausibleMagnitudes(1e9, 1e10, 1e8, 1e33, 1e12, 1e28),
}
"""Dimension -> the plausible magnitudes: model sizes, training tokens, compute."""


def two_scales(
    law: Law,
    table: Table,
    values: Mapping[str, Array],
    bound: Mapping[str, str],
    positive: bool,
) -> list[Diagnostic]:
    """Warnings about columns whose values form two clusters far apart, as after a change of units.

    The gap between neighbouring sorted values must be a ratio of at least MIN_SCALE_RATIO. Shares,
    and quantities that may be negative, come arbitrarily near to 0 and are not examined.

    Args:
        law: the law.
        table: the table, for the numbers of rows.
        values: variable or output -> its values, shape (rows,).
        bound: variable or output -> column.
        positive: whether the output must be positive.
    """
    shares = {q.name for q in law.variables if any(not b.lower for b in q.bounds)}
    diagnostics = []
    for name, numbers in values.items():
        if name in shares or np.any(numbers < 0) or (name == law.output and not positive):
            continue
        positive_numbers = numbers[numbers > 0]
        if not _has_gap_of_powers(positive_numbers):
            continue
        sizes = np.unique(positive_numbers)
        ratios = sizes[1:] / sizes[:-1]
        widest = int(np.argmax(ratios))
        if ratios[widest] < MIN_SCALE_RATIO:
            continue
        low, high = sizes[widest], sizes[widest + 1]
        above = numbers >= high
        # the smaller of the two groups is more likely to be wrong
        rows = np.flatnonzero(above if 2 * np.sum(above) <= len(numbers) else ~above)
        message = f"column {bound[name]} has two scales: nothing lies between {low:g} and {high:g}"
        help = "give all rows one unit"
        diagnostics.append(bad_rows("D0113", table, bound[name], rows, message, help))
    return diagnostics


def _has_gap_of_powers(numbers: Array) -> bool:
    """Whether the binary exponents of positive numbers have a gap that admits a ratio of
    MIN_SCALE_RATIO between neighbours; this needs no sorting.
    """
    if not len(numbers):
        return False
    powers = np.frexp(numbers)[1]
    occupied = np.flatnonzero(np.bincount(powers - np.min(powers)))
    return bool(np.any(np.diff(occupied) >= int(np.log2(MIN_SCALE_RATIO))))


def duplicates(table: Table, data: Array, output: Array, steps: Array) -> list[Diagnostic]:
    """A warning about rows that repeat another row in all columns used, unless chance explains it.

    Rows are compared in single precision. With n rows at a setting, n(n - 1)/2 pairs agree with
    probability p each (`_equal_by_chance`); no warning is raised while P(N >= repeats) >
    MIN_CHANCE_PROBABILITY for a Poisson count N with the expected number of equal pairs, unless a
    share of MAX_COPIED_SHARE of the rows is repeated.

    Args:
        table: the table, for its name and the numbers of its rows.
        data: the variables, shape (variables, rows).
        output: the measurements, shape (rows,).
        steps: the rounding steps of the measurements, shape (rows,).
    """
    count = _repeated([*data, output])
    if not count:
        return []
    import pyarrow.compute as pc  # slow to import, and few tables repeat rows

    cells = [in_single_precision(column) for column in (*data, output)]
    settings = pa.table({str(i): to_arrow(column) for i, column in enumerate(cells)})
    names = settings.column_names
    numbered = settings.append_column("row", to_arrow(table.rows))
    distinct = numbered.group_by(names).aggregate([("row", "min"), ("row", "count")])
    if count < MAX_COPIED_SHARE * len(output):
        single = SINGLE_RTOL * float(np.median(np.abs(output)))  # the error of single precision
        expected = _equal_by_chance(distinct, names, max(single, float(np.median(steps))))
        # poisson_sf(count - 1) = P(N >= count)
        if poisson_sf(count - 1, expected) > MIN_CHANCE_PROBABILITY:
            return []
    copied = distinct.filter(pc.greater(distinct["row_count"], 1)).sort_by(
        [("row_count", "descending")]
    )
    examples = [
        f"row {row} occurs {times} times"
        for row, times in zip(
            copied["row_min"][:MAX_COPIES_NAMED].to_pylist(),
            copied["row_count"][:MAX_COPIES_NAMED].to_pylist(),
            strict=True,
        )
    ]
    more = (
        f", and {copied.num_rows - MAX_COPIES_NAMED:,} more"
        if copied.num_rows > MAX_COPIES_NAMED
        else ""
    )
    verb = "repeats" if count == 1 else "repeat"
    message = f"{count:,} of {len(output):,} rows {verb} another row exactly"
    help = (
        "keep one of each: repeated rows pull the fit as new measurements would, which they are not"
    )
    notes = (", ".join(examples) + more,)
    return [Diagnostic("D0114", message, "warning", place=table.name, notes=notes, help=help)]


def _repeated(columns: Sequence[Array]) -> int:
    """The number of rows that repeat an earlier row in single precision, of columns of shape (rows,)."""
    known = np.ones(len(columns[0]), dtype=bool)  # nan equals nothing
    for column in columns:
        known &= ~np.isnan(column)
    codes = row_codes((in_single_precision(c[known]) for c in columns), int(known.sum()))
    return len(codes) - int(codes.max(initial=-1)) - 1


def _equal_by_chance(distinct: pa.Table, names: Sequence[str], step: float) -> float:
    """The expected number of rows that repeat another one by rounding alone: p·Σ n(n - 1)/2 over
    settings with n rows.

    Two measurements of one setting, each with noise of standard deviation s, are rounded to the
    same multiple of a step, small beside s, with probability p = step/(2 s sqrt(pi)), the density
    of their difference at 0 times the step. Values that also occur at other settings indicate a
    step that is not decimal, such as 1/164 for an accuracy.

    Args:
        distinct: the different rows.
        names: the names of the variables, and of the output at the end.
        step: the step that the output is rounded to.
    """
    output = names[-1]
    values = np.unique(to_numpy(distinct[output]))
    if distinct.num_rows - len(values) >= MIN_SHARED_VALUES:
        step = max(step, float(np.min(np.diff(values), initial=np.inf)))
    settings = distinct.group_by(list(names[:-1])).aggregate(
        [("row_count", "sum"), (output, "variance"), (output, "count")]
    )
    sizes = to_numpy(settings["row_count_sum"]).astype(np.float64)
    different = to_numpy(settings[f"{output}_count"])
    squares = float(np.sum(to_numpy(settings[f"{output}_variance"]) * different))
    spare = int(np.sum(different - 1))
    noise = DEFAULT_RELATIVE_NOISE * float(np.median(np.abs(to_numpy(distinct[output]))))
    if spare > 0:
        noise = float(np.sqrt(squares / spare))
    chance = min(1.0, step / (2 * noise * np.sqrt(np.pi))) if noise > 0 else 1.0
    return chance * float(np.sum(sizes * (sizes - 1) / 2))


def other_units(
    law: Law, table: Table, values: Mapping[str, Array], bound: Mapping[str, str]
) -> list[Diagnostic]:
    """A warning about columns without a unit whose numbers are implausible in the law's unit.

    Examples are a model of 50 parameters, or 300 tokens of training.

    Args:
        law: the law.
        table: the table, for its headers.
        values: variable -> its values in the law's unit, shape (rows,).
        bound: variable -> column.
    """
    diagnostics = []
    for q in law.variables:
        numbers = values.get(q.name)
        if numbers is None or not len(numbers) or table.units.get(bound[q.name]):
            continue
        size, dimension = size_and_dimension(q.unit or ())
        usual = USUAL.get(dimension)
        if usual is None or not np.min(numbers) > 0 or _is_of_a_batch(q.doc):
            continue
        low, high = float(np.min(numbers)) * size, float(np.max(numbers)) * size
        none = high < usual.none or (high < usual.small and low < usual.few) or low > usual.most
        if not none:
            continue
        unit = unit_text(q.unit or ())
        ((base, _),) = dimension
        likely = [
            prefix + base
            for prefix, factor in {"": 1.0, **PREFIXES}.items()
            if usual.from_ <= low / size * factor and high / size * factor <= usual.to
        ]
        message = (
            f"column {bound[q.name]} has {q.name} from {low / size:g} to {high / size:g} {unit}, "
            "which is implausible"
        )
        meant = f": {likely[0]}?" if likely else ""
        written = f"{bound[q.name]} [{likely[0] if likely else 'UNIT'}]"
        help = (
            f"is the column in another unit{meant} write it into the header, `{written}`, "
            f'or bind the column with it: "{q.name}={written}"'
        )
        power = _power_of_logarithm(bound[q.name], low / size, high / size, usual)
        if power is not None:
            binding = f"{q.name}={power}" if unit == base else f"{q.name}={power} [{base}]"
            logarithm = f'is the column a logarithm? bind "{binding}"'
            # the name tells; the magnitudes alone leave both possible
            help = logarithm if logarithm_of_name(bound[q.name]) else f"{help}; or {logarithm}"
        column_place = f"{table.name} column {bound[q.name]}"
        diagnostics.append(Diagnostic("D0123", message, "warning", place=column_place, help=help))
    return diagnostics


def _is_of_a_batch(doc: str | None) -> bool:
    """Whether a variable counts what a batch holds: as few tokens as a sequence, not those of a run."""
    return "batch" in (doc or "").lower().split()


def perplexities(
    law: Law, table: Table, values: Mapping[str, Array], bound: Mapping[str, str]
) -> list[Diagnostic]:
    """A warning about an output that is bound to perplexities, exp(loss), in place of their
    logarithm: the column is called so, or all its values are larger than a loss in nat/token.

    Args:
        law: the law.
        table: the table, for its name.
        values: output -> its values in the law's unit, shape (rows,).
        bound: output -> column.
    """
    output, column = values.get(law.output), bound.get(law.output, "")
    unit = law.declarations.output.unit
    dimension = size_and_dimension(unit.factors)[1] if unit else None
    says = read_name(column)
    if (
        output is None
        or not len(output)
        or np.min(output) < 1
        or dimension not in (None, PER_TOKEN)
    ):
        return []
    if read_name(law.output).quantity == "perplexity" or says.logarithm:
        return []
    named = says.quantity == "perplexity" and COLUMN_IN_FORMULA.fullmatch(column) is not None
    large = dimension == PER_TOKEN and float(np.min(output)) > MAX_LOSS
    if not named and not large:
        return []
    low, high = float(np.min(output)), float(np.max(output))
    message = f"column {column} looks like perplexities, {low:.4g} to {high:.4g}, not like losses"
    help = f"bind their logarithm: '{law.output}=log({column})'"
    place = f"{table.name} column {column}"
    return [Diagnostic("D0123", message, "warning", place=place, help=help)]


def _power_of_logarithm(
    column: str, low: float, high: float, usual: PlausibleMagnitudes
) -> str | None:
    """The formula of a column whose logarithm a column seems to be: `10^log10_N`; None if its name
    says nothing of a logarithm and its values, as decimal logarithms, are not usual either.
    """
    named = logarithm_of_name(column)
    if not COLUMN_IN_FORMULA.fullmatch(column):
        return None
    bases = {"10": math.log(10), "e": 1.0, "2": math.log(2)}
    tried = {named: bases[named]} if named in bases else bases if named else {"10": bases["10"]}
    for base, factor in tried.items():
        if math.log(usual.from_) <= low * factor and high * factor <= math.log(usual.to):
            return f"exp({column})" if base == "e" else f"{base}^{column}"
    if not named:
        return None
    return f"exp({column})" if named == "e" else f"{named.replace('?', '10')}^{column}"
