"""Conditions `size = 70M`, `step > 0` -> the rows of a table that satisfy them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.quantities import MAGNITUDES
from lawdsl.data.table import Table, number
from lawdsl.language.keywords import did_you_mean, nearest

ORDER_RELATIONS: Mapping[str, Callable[..., NDArray[np.bool_]]] = {
    ">": np.greater,
    ">=": np.greater_equal,
    "<": np.less,
    "<=": np.less_equal,
}

_FORM = re.compile(r"\s*(?P<column>[^<>=!]+?)\s*(?P<op><=|>=|!=|==|=|<|>)\s*(?P<value>.*?)\s*")


_SPELLED = re.compile(r"=>|=<|<>|><|=!|~=")
_JOINED = re.compile(r"\s+(?:and|or|AND|OR)\s+|\s*(?:&&?|\|\|?)\s*")
_OR = re.compile(r"\s(?:or|OR)\s|\|")


@dataclass(frozen=True)
class RowCondition:
    """A relation between a column and a value; `value` is None where `text` is not a number, and
    `quoted` says that the text was in quotes, as a text is.
    """

    column: str
    relation: str
    text: str
    value: float | None
    quoted: bool = False

    @property
    def is_order(self) -> bool:
        """Whether the relation is an order, which is defined for numbers only."""
        return self.relation in ORDER_RELATIONS

    def holds(self, table: Table) -> NDArray[np.bool_]:
        """The mask of the rows that satisfy the condition, shape (rows,); numbers compare as
        numbers, 70 = 70.0.

        Raises:
            LawdslError: an order relation with a cell that is not a number, D0106; a number compared
                with texts, or a text with numbers, which are never equal; D0115.
        """
        if self.is_order:
            return ORDER_RELATIONS[self.relation](table.numbers(self.column), self.value)
        same = self._same(table)
        return ~same if self.relation == "!=" else same

    def _same(self, table: Table) -> NDArray[np.bool_]:
        if self.value is not None:
            try:
                equal: NDArray[np.bool_] = table.numbers(self.column) == self.value
                return equal
            except LawdslError:
                pass  # some cells are text: they are compared individually
        text, value = self.text, self.value
        cells = table.texts(self.column)
        numbers = [number(c) for c in cells]
        same = np.array(
            [
                c == text or (value is not None and n == value)
                for c, n in zip(cells, numbers, strict=True)
            ],
            dtype=bool,
        )
        if not same.any() and any(cells):
            self._check_kind(table, cells, numbers)
        return same

    def _check_kind(
        self, table: Table, cells: Sequence[str], numbers: Sequence[float | None]
    ) -> None:
        """Refuse a number for a column of texts, and a text for a column of numbers."""
        known = [n for cell, n in zip(cells, numbers, strict=True) if cell]
        kind = ""
        if self.value is not None and not self.quoted and all(n is None for n in known):
            kind, other = "texts", "number"
            alike = _texts_of_number(self.value, cells) or nearest(self.text, dict.fromkeys(cells))
            example = alike or next(cell for cell in cells if cell)
            help = f'write a text of the column: `{self.column} {self.relation} "{example}"`'
        elif self.value is None and not self.quoted and all(n is not None for n in known):
            kind, other = "numbers", "text"
            bare = re.match(r"[-+]?[0-9.]+", self.text)
            in_column = bare is not None and number(bare[0]) in known
            meant = bare[0] if bare is not None and in_column else _number_meant(self.text)
            example = meant or next(cell for cell in cells if cell)
            help = f"write a number: `{self.column} {self.relation} {example}`"
        if kind:
            message = f"column {self.column} holds {kind}, and `{self.text}` is a {other}"
            raise LawdslError(Diagnostic("D0115", message, place=table.name, help=help))


def _texts_of_number(value: float, cells: Sequence[str]) -> str | None:
    """The text of a column that stands for a number with a magnitude: `0.64M` for 0.64e6."""
    for cell in dict.fromkeys(cells):
        meant = _number_meant(cell)
        if meant is not None and math.isclose(float(meant), value, rel_tol=1e-9):
            return cell
    return None


def _number_meant(text: str) -> str | None:
    """The number of a text with a magnitude, `70M` or `70Mparam`; None if it is not one."""
    match = re.fullmatch(r"([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(k|K|[MBGT]|bn|mn)\w*", text)
    if match is None or number(match[1]) is None:
        return None
    return f"{float(match[1]) * MAGNITUDES.get(match[2], 1e6):g}".replace("e+0", "e").replace(
        "e+", "e"
    )


def parse_condition(text: str, table: Table) -> RowCondition:
    """Parse a condition, for the columns of a table.

    Args:
        text: the condition as written.
        table: the table.

    Raises:
        LawdslError: a malformed condition, a column that the table lacks, or an order relation with
                text; D0115.
    """
    match = _FORM.fullmatch(text)
    spelled = _SPELLED.search(text)
    if match is None or not match["value"] or spelled:
        help = "write COLUMN, a relation (= != < <= > >=) and a value, as `step > 0`"
        column = text.split()[0] if text.split() else ""
        if column in table.columns and text.split()[1:2] in (["in"], ["between"]):
            numbers = re.findall(r"-?[0-9][\w.]*(?:[eE][-+]?[0-9]+)?", text.removeprefix(column))
            low, high = numbers if len(numbers) == 2 else ("0", "1")
            help = f'write two conditions: --where "{column} >= {low}" --where "{column} <= {high}"'
        worded = re.fullmatch(r"(\S+)\s+(?:is\s+)?(not|ne|is|eq)\s+(.+)", text)
        if worded and worded[1] in table.columns:
            help = f"write `{worded[1]} {'!=' if worded[2] in ('not', 'ne') else '='} {worded[3]}`"
        if spelled:
            relation = {"=>": ">=", "=<": "<=", "<>": "!=", "><": "!=", "=!": "!=", "~=": "!="}[
                spelled[0]
            ]
            help = f"write `{text.replace(spelled[0], relation)}`"
        raise LawdslError(Diagnostic("D0115", f"`{text}` is not a condition", help=help))
    name, relation, value = match["column"], match["op"], match["value"].strip("\"'")
    quoted = match["value"] != value
    parts = [part.strip() for part in _JOINED.split(text)]
    if len(parts) > 1 and all(_FORM.fullmatch(part) for part in parts):
        options = " ".join(f'--where "{part}"' for part in parts)
        help = f"give each by itself: {options}"
        if _OR.search(text):
            help = "conditions hold together: choose the rows in the table itself"
        raise LawdslError(Diagnostic("D0115", f"`{text}` is several conditions", help=help))
    if name not in table.columns:
        listed = f"the columns are {', '.join(table.source_columns)}"
        help = did_you_mean(name, table.source_columns, listed)
        message = f"the table has no column `{name}`, of `{text}`"
        raise LawdslError(Diagnostic("D0115", message, place=table.name, help=help))
    row_condition = RowCondition(name, relation, value, number(value), quoted)
    if row_condition.is_order and row_condition.value is None:
        message = f"`{value}` in `{text}` is not a number"
        help = "compare text with = or !="
        if (meant := _number_meant(value)) is not None:
            help = f"write `{name} {relation} {meant}`"
        raise LawdslError(Diagnostic("D0115", message, help=help))
    return row_condition
