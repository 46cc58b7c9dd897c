"""NAME=COLUMN with a name that the law lacks -> what is meant, as advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.units import size_and_dimension
from lawdsl.data.columns import split_header
from lawdsl.data.drafts.column_names import read_name
from lawdsl.data.missing_columns import QUANTITY_OF, binding
from lawdsl.data.table import Table, number
from lawdsl.language.keywords import nearest

if TYPE_CHECKING:
    from lawdsl.law.law import Law


def unknown_variables(
    law: Law, table: Table, columns: Mapping[str, str], needed: Sequence[str]
) -> tuple[list[Diagnostic], set[str]]:
    """A message about names that a law lacks, and the variables that are meant by them.

    Args:
        law: the law.
        table: the table.
        columns: name -> what it is bound to.
        needed: the variables, and the output if it is read.
    """
    unknown = [name for name in columns if name not in needed]
    if not unknown:
        return [], set()
    meant: set[str] = set()
    advice = []
    for name in unknown:
        variable, sentence, written = _meant(law, table, name, columns[name], needed)
        meant |= {variable} if variable else set()
        advice.append((sentence, written))
    # one sentence for several names of one kind
    parts = []
    for sentence in dict.fromkeys(sentence for sentence, _ in advice):
        written = " ".join(text for other, text in advice if other == sentence and text)
        parts.append(f"{sentence}: write {written}" if written else sentence)
    names = ", ".join(f"`{name}`" for name in unknown)
    message = f"`{law.name}` has no variable{'s' if len(unknown) > 1 else ''} {names}"
    return [Diagnostic("D0116", message, help="; ".join(parts))], meant


def _meant(
    law: Law, table: Table, name: str, column: str, needed: Sequence[str]
) -> tuple[str | None, str, str]:
    """The variable or output that is meant by a name, if that is known; the advice, and what to
    write.
    """
    source, _ = split_header(name)
    if column in needed and (name in table.columns or source in table.columns):
        return column, "the variable of the law stands first", binding(column, name)
    symbol = law.declarations.symbols.get(name)
    if symbol is not None and number(column) is not None:
        if symbol.kind == "parameter":
            return None, f"`{name}` is a parameter", f"--fix {name}={column}"
        if symbol.kind == "setting":
            return None, f"`{name}` is a setting", f"--set {name}={column}"
    listed = f"it has {', '.join(needed)}"
    meant = nearest(name, needed) or _by_meaning(law, name, needed)
    if meant is None:
        return None, listed, ""
    if column in table.columns:
        return meant, listed, binding(meant, column)
    return meant, f"did you mean `{meant}`? {listed}", ""


def _by_meaning(law: Law, name: str, needed: Sequence[str]) -> str | None:
    """The variable of the quantity that a word names: the output for `loss`, parameters for `size`."""
    quantity = read_name(name).quantity
    if quantity in ("L", "perplexity") and law.output in needed:
        return law.output
    found = [
        q.name
        for q in law.variables
        if q.unit and QUANTITY_OF.get(size_and_dimension(q.unit)[1]) == quantity
    ]
    return found[0] if len(found) == 1 and found[0] in needed else None
