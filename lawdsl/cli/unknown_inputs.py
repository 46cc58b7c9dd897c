"""A value for a name that a fit does not predict from -> the variable that is meant, as advice."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lawdsl.cli.meant_values import NUMBER
from lawdsl.data.drafts.column_names import read_name
from lawdsl.language.keywords import nearest

_WITH_UNIT = re.compile(r"(?P<source>.+?)\s*\[(?P<unit>[^\[\]]+)\]\s*")


def unknown_input(
    name: str,
    texts: Mapping[str, str],
    accepted: Sequence[str],
    output: str,
    fitted: Mapping[str, str],
) -> str:
    """The message about a name that is not a variable of a law.

    Args:
        name: the name.
        texts: all names, with their values as text.
        accepted: the variables.
        output: what is predicted.
        fitted: variable -> the column that it was fitted to, which may be a formula or have a unit.
    """
    message = f"the law has no variable {name!r}; it has {', '.join(accepted)}"
    if name == output:
        return f"{name} is what is predicted: leave it out; the variables are {', '.join(accepted)}"
    parts = {variable: _source(column) for variable, column in fitted.items()}
    bound = next((v for v, (source, _) in parts.items() if source == name and v in accepted), None)
    if bound is not None:
        unit = parts[bound][1]
        of_unit = f", in {unit}" if unit else ""
        written = " ".join(_renamed(name, text, accepted, parts) for name, text in texts.items())
        return f"`{name}` is the column that {bound} was fitted to{of_unit}: write {written}"
    for variable, (source, _) in parts.items():
        if variable in accepted and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", source):
            return (
                f"`{name}` is a column of `{source}`, to which {variable} was fitted: "
                f"write {variable}=VALUE"
            )
    meant = {other: _by_name(other, accepted) for other in texts if other not in accepted}
    if any(v is None or v in texts for v in meant.values()):
        return message
    values = {meant.get(n) or n: "VALUE" if read_name(n).prefix else t for n, t in texts.items()}
    return f"{message}; write {' '.join(f'{n}={text}' for n, text in values.items())}"


def _by_name(name: str, accepted: Sequence[str]) -> str | None:
    """The variable that a word names."""
    says = read_name(name)
    if says.logarithm:
        return None
    subscripted = [other for other in accepted if other.endswith(f"[{name}]")]
    if len(subscripted) == 1:  # `code` of r[code]
        return subscripted[0]
    alike = nearest(name, accepted) or (says.quantity if says.quantity in accepted else None)
    return alike or (accepted[0] if len(accepted) == 1 else None)


def _source(column: str) -> tuple[str, str]:
    match = _WITH_UNIT.fullmatch(column)
    return (match["source"], match["unit"].strip()) if match else (column, "")


def _renamed(
    name: str, text: str, accepted: Sequence[str], parts: Mapping[str, tuple[str, str]]
) -> str:
    """NAME=VALUE with the variable for its column, and the unit of the column."""
    variable = next((v for v, (source, _) in parts.items() if source == name), None)
    if name in accepted or variable is None:
        return f"{name}={text}"
    unit = parts[variable][1]
    values = [part.strip() for part in text.split(",")]
    if unit and all(re.fullmatch(NUMBER, value) for value in values):
        values = [f"{value}{unit}" for value in values]
    return f"{variable}={','.join(values)}"
