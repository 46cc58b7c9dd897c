"""Options of figures: texts of a command line, or values of Python."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.language.label_texts import canonical_element, split_list

ONE_NAME = "str | None"
"""The annotation of an option that is one name."""


def check_name(option: str, value: object) -> None:
    """Refuse what is not a name.

    Args:
        option: what it is of.
        value: a text, or None for the default.

    Raises:
        LawdslError: something else (G0104).
    """
    if not (value is None or isinstance(value, str)):
        raise bad_option(option, value, f"give one name as text: {option}='NAME'")


def names_of(option: str, value: object) -> list[str] | None:
    """Several names: `a,b` of a command line, or a list of texts.

    Args:
        option: what they are of.
        value: the names, or None for the default.

    Raises:
        LawdslError: something else (G0104).
    """
    if value is None:
        return None
    if isinstance(value, str):
        return [canonical_element(part) for part in split_list(value)]
    if isinstance(value, Iterable) and not isinstance(value, (Mapping, bytes)):
        names = list(value)
        if all(isinstance(name, str) for name in names):
            return names
    raise bad_option(option, value, f"give names, as a list or with commas: {option}='a,b'")


def values_of(option: str, value: object) -> dict[str, float]:
    """Names with numbers: `a=0.1,b=0` of a command line, or a mapping; empty for None.

    Args:
        option: what they are of.
        value: the numbers.

    Raises:
        LawdslError: something else (G0104).
    """
    help = f"give names with numbers: {option}='a=0.1,b=0', in Python also {{'a': 0.1, 'b': 0}}"
    pairs: list[tuple[object, object]] = []
    if isinstance(value, str):
        for part in split_list(value):
            name, _, text = (piece.strip() for piece in part.rpartition("="))
            pairs.append((name, text))
    elif isinstance(value, Mapping):
        pairs = list(value.items())
    elif value is not None:
        raise bad_option(option, value, help)
    found: dict[str, float] = {}
    for key, number in pairs:
        read = number_of(number)
        if not isinstance(key, str) or math.isnan(read):
            raise bad_option(option, f"{key}={number}", help)
        found[key] = read
    return found


def number_of(value: Any) -> float:
    """A number, also as the text of a command line; nan for what is none."""
    if isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def bad_option(option: str, value: object, help: str) -> LawdslError:
    """The refusal of a value of an option.

    Args:
        option: its name.
        value: what was given.
        help: what it takes.
    """
    shown = value if isinstance(value, str) else repr(value)
    message = f"{option}: {shown[:60]} is not what this option takes"
    return LawdslError(Diagnostic("G0104", message, help=help))
