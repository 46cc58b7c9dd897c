"""A cell that is not a number -> what to write in its place, as advice."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lawdsl.core.meant_units import dimension_of, is_magnitude, meant_unit, size_of
from lawdsl.core.units import PREFIXES, Dimension, is_unit
from lawdsl.data.drafts.column_names import read_name

MISSING = ("na", "n/a", "none", "null", "-", "?", "<na>", "--", "—", "–", "#n/a", "#value!", ".")
_MISSING_WORD = re.compile(
    r"(?:n/?a|none|null|missing|failed|crashed|diverged|error|oom|killed|tbd|todo|pending|running)\b"
)
SUMMARIES = (
    "mean average avg sum total totals median std stdev min max count overall all summary best "
    "mittelwert summe gesamt moyenne"
).split()
"""Words that begin a row of a summary."""
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_OTHER_MONTHS = {"mär": 3, "mrz": 3, "mai": 5, "okt": 10, "dez": 12, "fév": 2, "avr": 4, "août": 8}
_DAY_MONTH = re.compile(r"([0-9]{1,2})[.\-/ ]{1,2}([A-Za-zäûé]{3,})\.?(?:[.\-/ ]+[0-9]{2,4})?")
_MONTH_DAY = re.compile(r"([A-Za-zäûé]{3,})\.?[.\-/ ]+([0-9]{1,4})(?:[,.\-/ ]+[0-9]{2,4})?")
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*|[0-9]{1,2}[./-][0-9]{1,2}[./-](?:[0-9]{2}|[0-9]{4})"
)
UNITS_OF = {"N": "Mparam", "D": "Gtoken", "C": "EFLOP", "S": "step", "L": "nat/token"}
"""Quantity that a column's name states -> an example of its unit."""
EXAMPLES = {"param": "Mparam", "token": "Gtoken", "FLOP": "EFLOP"}


def number(cell: str) -> float | None:
    """The number in a cell, or None; unlike `float`, it refuses `1_000` and non-ASCII digits."""
    if "_" in cell or not cell.isascii():
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def cell_advice(
    name: str,
    cells: Sequence[str],
    dimension: Dimension | None = None,
    *,
    header: str = "",
    every: bool = False,
) -> str:
    """The advice for cells that are not numbers; it is about the first.

    Args:
        name: the column.
        cells: the cells, stripped; at least one.
        dimension: the dimension of the variable that the column is read as; None if not known.
        header: the unit in its header; empty for none.
        every: whether these are all cells of the column.
    """
    cell = cells[0]
    if not cell:
        return "fill it in, or leave such rows out with --drop-bad"
    if cell.endswith("%") and (percent := number(cell[:-1].strip())) is not None:
        return f"write shares as numbers: {percent / 100:g} for {cell}"
    if (date := _date(cell)) is not None:
        return date
    if cell.translate(str.maketrans("", "", ",._ ' ")).lstrip("+-").isdigit():
        return "write numbers without separators, with a point: 1000000 or 2.5"
    if (suffixed := _suffixed(name, cells, dimension, header, every)) is not None:
        return suffixed
    if _MISSING_WORD.match(cell.lower()) or cell.lower() in MISSING:
        return "leave such rows out with --drop-bad"
    for sign in ("±", "+/-", "+-"):
        value, found, deviation = cell.partition(sign)
        if found and number(value.strip()) is not None:
            error = deviation.strip() or "0.01"
            return f"write `{value.strip()}`, and `{error}` in a column of its own, se_{name}"
    alone = re.findall(r"[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", cell)
    if len(alone) == 1 and re.match(r"[^0-9+-]*[^0-9\s.+-]\W*[0-9]", cell):  # ca. 2.53
        return f"write `{alone[0]}` alone"
    if re.match(r"[<>≤≥~≈]=?\s*[0-9]", cell):
        return "write the number alone, or leave such rows out with --drop-bad"
    if cell.lower().split()[0].strip(":.") in SUMMARIES:
        return "remove the row, which is not a run, or leave it out with --drop-bad"
    return f"a cell is a plain number; its unit goes in the header, as `{name} [{_unit(name, dimension)}]`"


def _unit(name: str, dimension: Dimension | None, prefix: str | None = None) -> str:
    """A unit of the column's quantity, as an example or with a given prefix."""
    if dimension and dimension != ((dimension[0][0], 1),):
        return "/".join(base for base, _ in sorted(dimension, key=lambda factor: -factor[1]))
    example = EXAMPLES.get(dimension[0][0], dimension[0][0]) if dimension else ""
    example = example or UNITS_OF.get(read_name(name).quantity, "Gtoken")
    if prefix is None or "/" in example:
        return example
    base = example[1:] if example[:1] in PREFIXES and is_unit(example[1:]) else example
    return prefix + base


def _suffixed(
    name: str, cells: Sequence[str], dimension: Dimension | None, header: str, every: bool
) -> str | None:
    """The advice for numbers with a magnitude or a unit, `44M`, `2.7 nats`."""
    matches = [
        re.fullmatch(r"([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z][\w/ ]*)", c) for c in cells
    ]
    first = matches[0]
    if first is None or number(first[1]) is None:
        return None
    suffix = first[2].strip()
    same = all(m is None or m[2].strip() == suffix for m in matches)
    known = dimension or _dimension_by_name(name)
    unit = meant_unit(suffix, known) if known else meant_unit(suffix)
    if unit is None and len(suffix) == 1:
        return f"write numbers without `{suffix}`: `{first[1]}`, and say the unit in the header"
    if unit is None or dimension and dimension_of(unit) != dimension:
        return None
    if is_unit(header) and dimension_of(header) != dimension_of(unit):
        return None
    if header or not every and known and is_magnitude(suffix):
        # the other numbers are in the unit of the header
        size = size_of(unit) / (size_of(header) if is_unit(header) else 1.0)
        written = f"{float(first[1]) * size:.12g}".replace("e+", "e")
        return f"write it out, as the other numbers: `{written}`"
    if same:
        return (
            f"write the number alone, `{first[1]}`, and the unit in the header: `{name} [{unit}]`"
        )
    return f"write all numbers in one unit, and this unit in the header: `{name} [{unit}]`"


def _dimension_by_name(name: str) -> Dimension | None:
    unit = UNITS_OF.get(read_name(name).quantity)
    return dimension_of(unit) if unit else None


def _date(cell: str) -> str | None:
    """The advice for a date, which a spreadsheet has made of a number: 2.4 becomes 2.Apr."""
    day = _DAY_MONTH.fullmatch(cell)
    month = _MONTH_DAY.fullmatch(cell)
    example = "2.4"
    if day is not None and (number_ := _month(day[2])) is not None:
        example = f"{int(day[1])}.{number_}"
    elif month is not None and _month(month[1]) is not None:
        example = f"{_month(month[1])}.{month[2]}"
    elif not _DATE.fullmatch(cell):
        return None
    return f"this is a date, which a spreadsheet makes of a number: write the number, such as {example}"


def _month(word: str) -> int | None:
    start = word.lower()[:3]
    full = "january february march april may june july august september october november december"
    known = word.lower() in {*_MONTHS, "sept"} or any(
        m.startswith(word.lower()) for m in full.split()
    )
    if known and start in _MONTHS:
        return _MONTHS.index(start) + 1
    return _OTHER_MONTHS.get(word.lower()) or _OTHER_MONTHS.get(start)
