"""Comment lines of a table -> settings of a law.

    # setting D_min = 40960 unit token

A line of this form, the syntax of a law file, applies to every law with such a setting: the
smallest measured D, for example, is known when the table is written. `--set` overrides it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.units import parse_unit, size_and_dimension
from lawdsl.data.table import Table, number
from lawdsl.language.law_changes import LawChanges

if TYPE_CHECKING:
    from lawdsl.law.law import Law

_LINE = re.compile(r"setting\s+(?P<name>[A-Za-z]\w*)\s*=\s*(?P<value>\S+)(\s+unit\s+(?P<unit>.+))?")


def with_settings_of(law: Law, table: Table) -> Law:
    """The law with the settings stated in a table, except those that already have given values.

    Args:
        law: the law.
        table: the table.

    Raises:
        LawdslError: a setting whose unit cannot be converted to the law's; D0112.
    """
    given_values = dict(law.given)
    units = {
        s.name: s.unit
        for s in law.settings
        if s.name not in given_values and s.name not in law.fixed
    }
    values = {}
    for name, (value, unit) in settings_of(table).items():
        if name not in units:
            continue
        try:
            size, dimension = size_and_dimension(parse_unit(unit) if unit else units[name] or ())
        except (KeyError, ValueError):
            size, dimension = 0.0, ()
        own_size, own_dimension = size_and_dimension(units[name] or ())
        if not size or dimension != own_dimension:
            message = f"the table says that {name} = {value:g} {unit}, which is not the law's unit"
            help = f"correct the line in the table, or overrule it: --set {name}=…"
            raise LawdslError(Diagnostic("D0112", message, place=table.name, help=help))
        values[name] = value * (size / own_size)  # converted like columns, with the same rounding
    return LawChanges(settings=values).apply(law)


def settings_of(table: Table) -> Mapping[str, tuple[float, str]]:
    """Setting -> its value and unit, as stated in the notes of a table."""
    settings = {}
    for line in table.notes:
        match = _LINE.fullmatch(line.strip())
        value = number(match["value"]) if match else None
        if match and value is not None:
            settings[match["name"]] = (value, (match["unit"] or "").strip())
    return settings
